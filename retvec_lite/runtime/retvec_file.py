"""The format .retvec: sections behind a header, as the C engine reads them. docs/engine.md describes it."""

import itertools
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import BITS, CONTRACT_VERSION, PIECES, EncoderConfig
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.foreign import read_file
from retvec_lite.meaning import CODEBOOKS, DIMENSION, MeaningConfig
from retvec_lite.ngrams import NgramConfig

SUFFIX: Final = ".retvec"

MAGIC: Final = b"RETVEC\r\n"
VERSION: Final = 1
"""Of the format. The number changes when older engines would answer something else."""

ORDER: Final = 0x01020304
"""As bytes of the file: 4, 3, 2, 1, which is little endian."""

ALIGN: Final = 64
"""Where sections start, in bytes, and parts of a layer."""

LANES: Final = 32
"""Rows that are added up are padded with zeros to a multiple of so many weights."""

PACK: Final = 16
"""Outputs whose weights stand together, two inputs of each side by side; the last ones are padded with zeros."""

_HEADER: Final = struct.Struct("<8sIIIIQ32x")
_ENTRY: Final = struct.Struct("<IIII")
_CHECKSUM_AT: Final = 24
_BLOCK: Final = 8192
"""Words of a file that are added up at once: they stay in the processor's cache, and their sum below 2**64."""

SECTIONS: Final[Mapping[str, int]] = {
    "settings": 1,
    "labels": 2,
    "numbers": 3,
    "characters_known": 4,
    "thresholds": 5,
    "shares": 6,
    "embedding/dense_0": 16,
    "embedding/dense_1": 17,
    "embedding/dense_2": 18,
    "head/word": 20,
    "head/region": 21,
    "head/logits": 22,
    "head/vector": 23,
    "ngrams/table": 32,
    "ngrams/codes": 33,
    "ngrams/scales": 34,
    "ngrams/bias": 35,
    "ngrams/projection": 36,
    "meaning/displacements": 40,
    "meaning/rows": 41,
    "meaning/codes": 42,
    "meaning/codebooks": 43,
    "meaning/projection": 44,
    **{
        f"head/block_{block}/{part}": 64 + 2 * block + place
        for block in range(16)
        for place, part in enumerate(("depthwise", "pointwise"))
    },
    "metadata": 0x8000,
}
"""Name of a section -> its number in the file."""

SETTINGS: Final = (
    "contract_version", "max_chars", "max_words", "word_length", "truncates", "drop_invisible", "letters_only",
    "han_length", "han_step", "kana_length", "kana_step", "sea_length", "sea_step",
    "labels", "head", "blocks", "region", "has_embedding", "character_window",
    "buckets", "longest", "shortest", "codebooks", "rank", "plain_letters",
    "multi_label", "unknown_label", "has_threshold",
)  # fmt: skip
"""The 32-bit numbers of the section `settings`, in their order."""

HEADS: Final = ("linear", "pool", "cnn", "ngrams")
"""The heads that the engine computes; their places are their numbers."""


@dataclass(frozen=True)
class Layer:
    """A dense layer as a file stores it.

    Attributes:
        integers: int8 `[rows, columns]`: rows are outputs, or inputs in layers that add up rows for binary digits.
        scales: float32 `[outputs]`, one for each output.
        bias: float32 `[outputs]`.
        adds_rows: whether rows are inputs.
    """

    integers: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]
    adds_rows: bool = False

    @property
    def bits(self) -> int:
        """Bits of a weight: 4 where all integers fit, else 8."""
        return 4 if ((self.integers >= -8) & (self.integers <= 7)).all() else 8

    def to_bytes(self) -> bytes:
        """Return the section: inputs, outputs and bits; scales; bias; the padded integers."""
        rows, columns = self.integers.shape
        inputs, outputs = (rows, columns) if self.adds_rows else (columns, rows)
        if self.adds_rows:
            packed = np.pad(self.integers, ((0, 0), (0, -columns % LANES)))
        else:
            packed = np.pad(self.integers, ((0, -rows % PACK), (0, columns % 2)))
            packed = packed.reshape(-1, PACK, (columns + 1) // 2, 2).transpose(0, 2, 1, 3)
        bits = self.bits
        if bits == 4:
            low, high = (packed.reshape(-1, 2, LANES // 2) + 8).astype(np.uint8).transpose(1, 0, 2)
            packed = (low | high << 4).astype(np.uint8)
        parts = (struct.pack("<III", inputs, outputs, bits), self.scales.astype("<f4"), self.bias.astype("<f4"))
        return b"".join(aligned(bytes(part)) for part in parts) + packed.tobytes()

    @classmethod
    def from_bytes(cls, section: bytes, adds_rows: bool = False) -> "Layer":
        """Rebuild a layer from `to_bytes`; raises ValueError where the sizes do not fit."""
        inputs, outputs, bits = struct.unpack_from("<III", section)
        numbers = outputs * 4 + -outputs * 4 % ALIGN
        scales, bias = (
            np.frombuffer(section, "<f4", outputs, ALIGN + place * numbers).astype(np.float32) for place in range(2)
        )
        packed = np.frombuffer(section, np.uint8, -1, ALIGN + 2 * numbers)
        if bits == 4:
            packed = packed.reshape(-1, 1, LANES // 2)
            packed = np.concatenate([packed & 15, packed >> 4], axis=1) - np.uint8(8)
        if adds_rows:
            integers = packed.reshape(inputs, -1)[:, :outputs]
        else:
            blocks = packed.reshape(-1, (inputs + 1) // 2, PACK, 2).transpose(0, 2, 1, 3)
            integers = blocks.reshape(-1, inputs + inputs % 2)[:outputs, :inputs]
        return cls(integers.view(np.int8), scales, bias, adds_rows)

    def kernel(self) -> npt.NDArray[np.float32]:
        """Return what the engine computes with: float32 `[inputs, outputs]`."""
        integers = self.integers if self.adds_rows else self.integers.T
        return integers.astype(np.float32) * self.scales


def aligned(part: bytes) -> bytes:
    """Return bytes with zeros up to the next multiple of `ALIGN`."""
    return part + bytes(-len(part) % ALIGN)


def checksum(data: bytes) -> int:
    """Return the sum over all 32-bit words of a file, each times an odd number that grows, modulo 2**64; its own place counts as 0."""
    words = np.frombuffer(data, "<u4")
    odd, total = np.arange(1, 2 * _BLOCK, 2, dtype=np.uint64), 0
    for start in range(0, len(words), _BLOCK):
        part = words[start : start + _BLOCK].astype(np.uint64)
        total += int(part @ odd[: len(part)]) + 2 * start * int(part.sum())
    own = range(_CHECKSUM_AT // 4, min(_CHECKSUM_AT // 4 + 2, len(words)))
    return (total - sum(int(words[place]) * (2 * place + 1) for place in own)) % 2**64


def to_file(sections: Mapping[str, bytes]) -> bytes:
    """Return a file with sections, keys of `SECTIONS`, in their order."""
    table, body = b"", b""
    start = len(aligned(bytes(_HEADER.size + _ENTRY.size * len(sections))))
    for name, content in sections.items():
        table += _ENTRY.pack(SECTIONS[name], start + len(body), len(content), 0)
        body += aligned(content)
    size = start + len(body)
    whole = bytearray(aligned(_HEADER.pack(MAGIC, VERSION, ORDER, size, len(sections), 0) + table) + body)
    struct.pack_into("<Q", whole, _CHECKSUM_AT, checksum(bytes(whole)))
    return bytes(whole)


def read_retvec(file: Path) -> tuple[bytes, bytes, bytes]:
    """Read a .retvec file: return its bytes, its metadata as JSON, and its labels, one a line.

    What the engine computes with, and the checksum, the engine checks when it opens the file.

    Raises:
        RetvecLiteError: for a file that is missing, truncated, damaged or from another tool.
    """
    data = read_file(file)
    check_frame(data, str(file))
    found = sections_of(data, ("metadata", "settings", "labels"))
    if not {"metadata", "settings", "labels"} <= set(found):
        raise RetvecLiteError(f"{file} is damaged: it lacks a section. Export the model again.")
    (count,) = struct.unpack_from("<I", found["settings"].ljust(64, b"\0"), 4 * SETTINGS.index("labels"))
    return data, found["metadata"], found["labels"][4 * count :].replace(b"\0", b"\n")


def check_frame(data: bytes, name: str) -> None:
    """Check header, length and places of sections.

    Raises:
        RetvecLiteError: naming the file, for anything that is wrong.
    """
    if data[: len(MAGIC)] != MAGIC:
        raise RetvecLiteError(f"{name} is not a .retvec file.")
    if len(data) < _HEADER.size:
        raise RetvecLiteError(f"{name} is truncated: it has {len(data)} bytes. Copy or download it again.")
    _, version, order, size, count, _ = _HEADER.unpack_from(data)
    if (version, order) != (VERSION, ORDER):
        raise RetvecLiteError(
            f"{name} is of version {version}, but this retvec-lite reads version {VERSION}. Update it."
        )
    if size != len(data) or size % ALIGN:
        raise RetvecLiteError(f"{name} has {len(data):,} bytes instead of {size:,}: copy or download it again.")
    end = _HEADER.size + _ENTRY.size * count
    if end > size or any(start + length > size for _, start, length, _ in _entries(data)):
        raise RetvecLiteError(f"{name} is damaged: a section lies outside the file. Export the model again.")
    # The engine reads the first one, and whoever makes a dictionary the last.
    if len({kind for kind, *_ in _entries(data)}) < count:
        raise RetvecLiteError(f"{name} is damaged: a section is there twice. Export the model again.")


def check_sum(data: bytes, name: str) -> None:
    """Check the checksum of a file that `check_frame` passed; raises RetvecLiteError, naming the file, for a wrong one."""
    if checksum(data) != _HEADER.unpack_from(data)[5]:
        raise RetvecLiteError(f"{name} was changed after its export (wrong checksum). Export the model again.")


def _entries(data: bytes) -> list[tuple[int, int, int, int]]:
    count = _HEADER.unpack_from(data)[4]
    return [_ENTRY.unpack_from(data, _HEADER.size + _ENTRY.size * place) for place in range(count)]


def sections_of(data: bytes, names: Collection[str] = SECTIONS) -> dict[str, bytes]:
    """Return the sections of a file that `check_frame` passed, by their names; all by default."""
    known = {SECTIONS[name]: name for name in names}
    return {known[kind]: data[start : start + length] for kind, start, length, _ in _entries(data) if kind in known}


def part_sizes(data: bytes) -> dict[str, int]:
    """Return the bytes of each part of a file that `check_frame` passed, as reports name them; they add up to the file's."""
    sizes = dict.fromkeys(("encoder", "embedding", "head", "ngrams", "meaning", "graph", "metadata"), 0)
    for name, content in sections_of(data).items():
        part = name.split("/", maxsplit=1)[0]
        sizes["encoder" if part == "settings" else part if part in sizes else "metadata"] += len(content)
    sizes["graph"] = len(data) - sum(sizes.values())
    return sizes


def settings_of(config: EncoderConfig) -> dict[str, int]:
    """Return the settings of a contract, by their names in `SETTINGS`."""
    found = {
        "contract_version": CONTRACT_VERSION,
        "max_chars": config.max_chars,
        "max_words": config.max_words,
        "word_length": config.word_length,
        "truncates": 0,
        "drop_invisible": 1,
        "letters_only": int(config.letters_only),
    }
    for script, piece in PIECES.items():
        name = script.removesuffix("_piece")
        found[f"{name}_length"], found[f"{name}_step"] = piece
    return found


def labels_section(labels: Sequence[str]) -> bytes:
    """Return the section of labels: where each ends, then their bytes with a zero behind each."""
    encoded = [label.encode() + b"\0" for label in labels]
    ends = itertools.accumulate(map(len, encoded))
    return struct.pack(f"<{len(encoded)}I", *ends) + b"".join(encoded)


def decision_settings(decision: Decision, labels: Sequence[str]) -> dict[str, int]:
    """Return the settings of a decision, by their names in `SETTINGS`."""
    unknown = decision.unknown_label
    return {
        "multi_label": int(decision.multi_label),
        "unknown_label": 0 if unknown is None else labels.index(unknown) + 1,
        "has_threshold": int(decision.threshold is not None),
    }


def decision_numbers(decision: Decision) -> dict[str, bytes]:
    """Return the sections of a decision's numbers, float64, by their names in `SECTIONS`."""
    lists = {
        "numbers": (decision.threshold or 0.0, decision.unknown_power),
        "thresholds": decision.thresholds or (),
        "shares": decision.shares or (),
    }
    return {name: struct.pack(f"<{len(found)}d", *found) for name, found in lists.items() if found}


def ngram_settings(ngrams: NgramConfig | None) -> dict[str, int]:
    """Return the settings of n-grams, by their names in `SETTINGS`."""
    names = ("buckets", "longest", "shortest", "codebooks", "rank", "plain_letters")
    return {name: 0 if ngrams is None else int(getattr(ngrams, name)) for name in names}


def ranges_of(characters: str) -> bytes:
    """Return code points as (first, last) of each run: the section `characters_known`."""
    codes = np.array(sorted(map(ord, characters)), np.int64)
    starts = np.flatnonzero(np.diff(codes, prepend=-2) != 1)
    ends = np.append(starts[1:], len(codes)) - 1
    return np.stack([codes[starts], codes[ends]], axis=1).astype("<u4").tobytes() if len(codes) else b""


def disagreement(
    data: bytes,
    labels: Sequence[str],
    config: EncoderConfig,
    decision: Decision,
    dimensions: tuple[int, int],
    ngrams: NgramConfig | None,
    meaning: MeaningConfig | None,
) -> str | None:
    """Return what the metadata say otherwise than the engine, of a file that `read_retvec` read; None where they agree.

    Python sizes what it reads from a worker by the metadata, and the engine computes by its sections. All but `data` are what the metadata say; `dimensions` are those of a text's and of a word's embedding.
    """
    sections = sections_of(data)
    if len(sections["settings"]) != 4 * len(SETTINGS):
        return "settings"
    found = dict(zip(SETTINGS, struct.unpack(f"<{len(SETTINGS)}I", sections["settings"]), strict=True))
    if sections["labels"] != labels_section(labels):
        return "labels"
    told = {"labels": len(labels)} | settings_of(config) | decision_settings(decision, labels) | ngram_settings(ngrams)
    for name, value in told.items():
        if found[name] != value:
            return name
    numbers = decision_numbers(decision)
    for name in ("numbers", "thresholds", "shares"):
        if sections.get(name, b"") != numbers.get(name, b""):
            return name
    if sections.get("characters_known", b"") != ranges_of(decision.characters):
        return "characters"
    if _meaning(sections) != (meaning and meaning.to_dict()):
        return "meaning"
    return None if _dimensions(sections, found) == dimensions else "dimension"


def _meaning(sections: Mapping[str, bytes]) -> dict[str, int] | None:
    """Return the sizes of the table of meaning; None where there is none."""
    sizes = {"words": ("codes", CODEBOOKS[0]), "rows": ("rows", 3), "displacements": ("displacements", 1)}
    found = {name: len(sections.get(f"meaning/{part}", b"")) // size for name, (part, size) in sizes.items()}
    return found if any(found.values()) else None


def _dimensions(sections: Mapping[str, bytes], settings: Mapping[str, int]) -> tuple[int, int]:
    """Return the numbers of a text's and of a word's embedding."""
    if settings["head"] == HEADS.index("ngrams"):
        return 0, 0
    of_word = settings["word_length"] * BITS
    if settings["has_embedding"]:
        of_word = _outputs(sections.get("embedding/dense_2", b""))
    of_text = _outputs(sections["head/vector"]) if "head/vector" in sections else of_word
    return of_text + (DIMENSION if "meaning/rows" in sections else 0), of_word


def _outputs(layer: bytes) -> int:
    return int.from_bytes(layer[4:8], "little")
