"""Sound .retvec files of any shape the engine computes, drawn at random: built from the format alone, without a classifier.

Weights are noise. Each layer has bits of its own, which no export does, but the format allows.
"""

import dataclasses
import json
import random
import struct
from typing import Any, Final

import numpy as np

from retvec_lite.contract import BITS
from retvec_lite.meaning import (
    CODEBOOKS,
    DIMENSION,
    FACTOR_PRIME,
    FINGERPRINTS,
    LETTER_NUMBERS,
    LETTER_SPREAD,
    NO_WORD,
    ROOTS,
    SUBSPACES,
)
from retvec_lite.ngrams import PRIME
from retvec_lite.runtime.retvec_file import HEADS, LANES, PACK, SETTINGS, aligned

KNOWN_WORD: Final = "money"
"""A word that every table of meaning finds."""

SIZES: Final = (1, 2, 7, 15, 16, 17, 24, 31, 32, 33, 48, 64, 100, 130)
"""Numbers of hidden layers: around what is padded to multiples of 2, 16 and 32."""

LABELS: Final = ("yes", "no", "maybe", "none of these", "пожалуйста", "是", "🙂", "a" * 40)


FIXED_SETTINGS: Final = {
    **{"contract_version": 3, "truncates": 0, "drop_invisible": 1, "character_window": 0},
    **{"han_length": 1, "han_step": 1, "kana_length": 2, "kana_step": 1, "sea_length": 6, "sea_step": 3},
}
"""What all files say."""


@dataclasses.dataclass
class SoundFile:
    """A file that is still in parts.

    Attributes:
        settings: name -> value, as `SETTINGS` names them.
        labels: in their order.
        sections: name -> content of all other sections, in the file's order.
    """

    settings: dict[str, int]
    labels: list[bytes]
    sections: dict[str, bytes]

    def parts(self) -> dict[str, bytes]:
        """Return all sections, in the file's order."""
        settings = struct.pack(f"<{len(SETTINGS)}I", *(self.settings[name] for name in SETTINGS))
        ends = np.cumsum([len(label) + 1 for label in self.labels]).astype("<u4").tobytes()
        labels = ends + b"".join(label + b"\0" for label in self.labels)
        return {"settings": settings, "labels": labels, **self.sections}


def sound_file(draw: random.Random) -> SoundFile:
    """Draw a head, its options and sizes, and fill all layers and tables with noise."""
    settings = _settings(draw)
    labels = [f"{draw.choice(LABELS)} {number}".encode() for number in range(settings["labels"])]
    sections = _decision(settings, draw) | _ngrams(settings, draw)
    has_meaning = draw.random() < 0.4
    if settings["head"] != HEADS.index("ngrams"):
        sections |= _network(settings, draw)
    if has_meaning:
        sections |= _meaning(settings, draw)
    size = settings["word_length"] * BITS
    if settings["has_embedding"]:
        size = struct.unpack_from("<I", sections["embedding/dense_2"], 4)[0]
    read = struct.unpack_from("<I", sections["head/vector"], 4)[0] if "head/vector" in sections else size
    text = [label.decode() for label in labels]
    dimensions = (read + (DIMENSION if has_meaning else 0), size)
    sections["metadata"] = json.dumps(_metadata(settings, text, *dimensions)).encode()
    return SoundFile(settings, labels, sections)


def layer(draw: random.Random, inputs: int, outputs: int, bits: int, *, adds_rows: bool = False) -> bytes:
    """Return a dense layer of noise whose outputs are about as large as its inputs."""
    rng = np.random.default_rng(draw.randrange(2**32))
    columns, rows = (outputs, inputs) if adds_rows else (inputs, outputs)
    padded = (rows, columns + -columns % LANES) if adds_rows else (rows + -rows % PACK, columns + columns % 2)
    scales = rng.uniform(0.5, 1.5, outputs) / (2 ** (bits - 1) * inputs**0.5)
    parts = (
        struct.pack("<III", inputs, outputs, bits),
        *(_floats(part) for part in (scales, rng.normal(size=outputs))),
    )
    return b"".join(map(aligned, parts)) + rng.bytes(padded[0] * padded[1] * bits // 8)


def _settings(draw: random.Random) -> dict[str, int]:
    head, word_length = draw.randrange(len(HEADS)), draw.choice((6, 7, 16, 16, 20))
    is_cnn, has_words = head == HEADS.index("cnn"), head != HEADS.index("ngrams")
    labels = draw.choice((2, 3, 5, 15, 16, 17, 32, 33, 64, 70, 257))
    found = {
        "max_chars": draw.choice((1, 2, 7, 48, 48, 200)),
        "max_words": draw.choice((1, 2, 9, 9, 40)),
        "word_length": word_length,
        "labels": labels,
        "head": head,
        "blocks": draw.randint(1, 3) if is_cnn else 0,
        "region": draw.randrange(2) if is_cnn else 0,
        "has_embedding": draw.randrange(2) if has_words else 0,
        "unknown_label": draw.choice((0, 1, labels)),
    }
    found |= FIXED_SETTINGS
    for name in ("letters_only", "plain_letters", "multi_label", "has_threshold"):
        found[name] = draw.randrange(2)
    names = ("buckets", "longest", "shortest", "codebooks", "rank")
    found |= dict.fromkeys(names, 0)
    if not has_words or draw.random() < 0.5:
        longest, books = draw.randint(1, 6), draw.choice((0, 0, 0, 0, 0, 0, 1, 3))
        rank = draw.choice((0, 1, 5, 16, 17, 31, 33, 64, 100, 256))
        buckets = 256 * books if books else draw.choice((1, 2, 37, 300))
        found |= dict(zip(names, (buckets, longest, draw.randint(1, longest), books, rank), strict=True))
    return found


def _decision(settings: dict[str, int], draw: random.Random) -> dict[str, bytes]:
    known = draw.choice(((), (97, 122), (48, 57, 97, 122, 0x4E00, 0x9FFF)))
    found = {
        "numbers": struct.pack("<2d", draw.random(), draw.choice((0.0, 0.4, 3.0))),
        "characters_known": struct.pack(f"<{len(known)}I", *known),
    }
    if settings["multi_label"]:
        found["thresholds"] = b"".join(struct.pack("<d", draw.random()) for _ in range(settings["labels"]))
    if draw.random() < 0.5:
        found["shares"] = b"".join(struct.pack("<d", 1.0 - draw.random()) for _ in range(settings["labels"]))
    return found


def _network(settings: dict[str, int], draw: random.Random) -> dict[str, bytes]:
    """The layers that read words. Mostly all have the same bits, or one has others."""
    share, head = draw.choice((0.0, 1.0, 0.5, 0.15)), HEADS[settings["head"]]
    found: dict[str, bytes] = {}

    def add(name: str, inputs: int, outputs: int, *, adds_rows: bool = False) -> int:
        found[name] = layer(draw, inputs, outputs, 4 if draw.random() < share else 8, adds_rows=adds_rows)
        return outputs

    size = settings["word_length"] * BITS
    if settings["has_embedding"]:
        for place in range(3):
            size = add(f"embedding/dense_{place}", size, draw.choice(SIZES), adds_rows=place == 0)
    if head in ("pool", "cnn"):
        size = add("head/word", size, draw.choice(SIZES))
    if settings["region"]:
        size = add("head/region", size, draw.choice(SIZES))
    blocks = {
        f"head/block_{block}/depthwise": _floats(np.random.default_rng(block).normal(size=3 * size))
        for block in range(settings["blocks"])
    }
    for block in range(settings["blocks"]):
        add(f"head/block_{block}/pointwise", size, size)
    size *= 1 if head == "linear" else 2
    if head in ("pool", "cnn") and draw.random() < 0.3:
        # Of another size than what it is made of: without it, no file is sound.
        size = add("head/vector", size, draw.choice([each for each in SIZES if each != size]))
    add("head/logits", size, settings["labels"])
    return found | blocks


def _ngrams(settings: dict[str, int], draw: random.Random) -> dict[str, bytes]:
    if not settings["buckets"]:
        return {}
    rng, columns = np.random.default_rng(draw.randrange(2**32)), settings["rank"] or settings["labels"]
    found = {
        "ngrams/table": rng.bytes(settings["buckets"] * (columns + 1)),
        "ngrams/scales": _floats(rng.normal(size=columns)),
    }
    if settings["codebooks"]:
        found["ngrams/codes"] = rng.bytes(PRIME * settings["codebooks"])
    if settings["rank"]:
        found["ngrams/projection"] = layer(draw, columns, settings["labels"], draw.choice((4, 8)))
    else:
        found["ngrams/bias"] = _floats(rng.normal(size=columns))
    return found


def _meaning(settings: dict[str, int], draw: random.Random) -> dict[str, bytes]:
    """A table in which every row has the fingerprint of `KNOWN_WORD`, and mostly a word."""
    rng, words, rows = np.random.default_rng(draw.randrange(2**32)), draw.choice((1, 3, 200)), draw.choice((1, 5, 300))
    factors = (ROOTS[3] ** (place + 1) % FACTOR_PRIME for place in range(len(KNOWN_WORD)))
    numbers = (ord(letter) * LETTER_SPREAD % LETTER_NUMBERS + 1 for letter in KNOWN_WORD)
    mark = sum(number * factor for number, factor in zip(numbers, factors, strict=True)) % FINGERPRINTS + 1
    stored = (draw.choice((0, words - 1, draw.randrange(words), NO_WORD)) | mark << 14 for _ in range(rows))
    return {
        "meaning/displacements": rng.bytes(draw.choice((1, 9, 100))),
        "meaning/rows": b"".join(struct.pack("<I", number)[:3] for number in stored),
        "meaning/codes": rng.bytes(words * SUBSPACES),
        "meaning/codebooks": rng.bytes(int(np.prod(CODEBOOKS))),
        "meaning/projection": layer(draw, DIMENSION, settings["labels"], draw.choice((4, 8))),
    }


def _metadata(settings: dict[str, int], labels: list[str], of_text: int, of_word: int) -> dict[str, Any]:
    """What an export says about itself, as far as Python reads it."""
    encoder = {
        **{name: settings[name] for name in ("contract_version", "max_chars", "max_words", "word_length")},
        **{"han_piece": [1, 1], "kana_piece": [2, 1], "sea_piece": [6, 3], "overflow": "wrap", "drop_invisible": True},
    }
    if settings["letters_only"]:
        encoder["letters_only"] = True
    sizes = {name: settings[name] for name in ("max_chars", "max_words")}
    signatures: list[dict[str, Any]] = [{"name": "classify", **sizes}]
    if settings["head"] != HEADS.index("ngrams"):
        other = {"word_dimension": of_word} if of_word != of_text else {}
        signatures.append({"name": "embed", **sizes, "dimension": of_text, **other})
    return {
        "format": "retvec-lite",
        "contract_version": settings["contract_version"],
        "encoder": encoder,
        "labels": labels,
        "signatures": signatures,
    }


def _floats(values: Any) -> bytes:
    return np.asarray(values).astype("<f4").tobytes()
