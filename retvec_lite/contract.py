"""The frozen contract: how text becomes words and bits, in training, in every exported file and on every runtime.

It has three parts: the character tables, `EncoderConfig`, which every artifact carries, and the reference encoder in
plain NumPy. The reference is written for clarity, not speed. Every other encoder is tested against it, so it shares no
code with them. docs/contract.md states the rules.
"""

import dataclasses
import functools
import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.normal_form import hex_ranges, normalize

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

CONTRACT_VERSION: Final = 3
"""Version of the text-to-words contract. A runtime refuses artifacts of any other version."""

MAX_CODE_POINT: Final = 0x10FFFF
REPLACEMENT: Final = 0xFFFD
"""Replaces every value that is not a Unicode scalar value (Unicode 16, section 3.9, U+FFFD substitution)."""

BITS: Final = 21
"""Binary digits per code point: 2**21 > 0x10FFFF. The paper uses 24 digits, of which three are always zero."""

SEPARATORS: Final[tuple[int, ...]] = (
    *range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
)  # fmt: skip
"""The 25 code points with the property White_Space (Unicode 16, PropList.txt). The padding, U+0000, separates words too."""

SEPARATING: Final = frozenset((0, *SEPARATORS))
"""What ends a word, as code points."""
BLANK: Final = "".join(map(chr, SEPARATING))
"""What ends a word, as characters."""

INVISIBLE: Final[tuple[int, ...]] = (
    0x00AD, 0x061C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065),
    *range(0x2066, 0x206A), 0xFEFF,
)  # fmt: skip
"""Soft hyphen, zero-width space, joiner and non-joiner, Mongolian vowel separator, word joiner, invisible operators,
bidirectional controls (UAX 9) and byte order mark. Dropped before words are cut, because spam hides words with them."""

HAN_RANGES: Final = hex_ranges("2E80-2FDF 3005-3007 3021-3029 3038-303B 3400-4DBF 4E00-9FFF F900-FAFF 20000-3FFFF")
"""Han, as (first, last). Whole blocks, so that code points assigned later fall into the same class."""

KANA_RANGES: Final = hex_ranges("3031-3035 303C 3040-30FA 30FC-30FF 31F0-31FF FF66-FF9F 1AFF0-1B16F")
"""Hiragana and Katakana with their marks, as (first, last). The middle dot, U+30FB, is punctuation."""

SEA_RANGES: Final = hex_ranges("E00-EFF 1000-109F 1780-17FF 19E0-19FF A9E0-A9FF AA60-AA7F")
"""Thai, Lao, Myanmar and Khmer, as (first, last): South-East Asian scripts without spaces between words."""

UNSPACED: Final[Mapping[str, tuple[tuple[int, int], ...]]] = {
    "han_piece": HAN_RANGES,
    "kana_piece": KANA_RANGES,
    "sea_piece": SEA_RANGES,
}
"""Scripts without spaces between words, by their keys in `PIECES` -> their code points."""


class Piece(NamedTuple):
    """How a run of one script is cut: pieces of `length` code points, one starting every `step` code points.

    Pieces overlap when `step < length`. A piece that adds no new code point of its run is left out, so `Piece(2, 1)`
    cuts n > 1 code points into n - 1 pairs.
    """

    length: int
    step: int


PIECES: Final[Mapping[str, Piece]] = {"han_piece": Piece(1, 1), "kana_piece": Piece(2, 1), "sea_piece": Piece(6, 3)}
"""How runs of the scripts in `UNSPACED` are cut. All others are cut at white space, and where a word ends its slot."""

_WAYS: Final[Mapping[str, Any]] = {"overflow": "wrap", "drop_invisible": True}
"""Settings that files name beside those pieces, all with one value: longer words go on in the next slot, invisible characters go."""

_LEAST_LENGTH: Final = max(piece.length for piece in PIECES.values())


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """The parameters of the contract. Immutable, validated, with an exact JSON round trip.

    Attributes:
        max_chars: code points of the input, 1 to 65536; longer texts are cut, shorter ones padded with zeros.
        max_words: word slots, 1 to 4096; the words after them are not encoded.
        word_length: code points per slot, 6 to 64; a longer word goes on in the next slot.
        letters_only: read letters alone, and no words with a sign of `normal_form.TECHNICAL`, such as links.

    Raises:
        RetvecLiteError: on construction, for a value out of range or another contract version.

    Example:
        >>> from retvec_lite.contract import EncoderConfig
        >>> config = EncoderConfig(max_words=32)
        >>> config.max_chars, config.max_words
        (512, 32)
        >>> EncoderConfig.from_dict(config.to_dict()) == config
        True
    """

    max_chars: int = 512
    max_words: int = 64
    word_length: int = 16
    letters_only: bool = False

    def __post_init__(self) -> None:
        for name, low, high in (("max_chars", 1, 65536), ("max_words", 1, 4096), ("word_length", _LEAST_LENGTH, 64)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise RetvecLiteError(f"{name} must be an integer from {low} to {high}, not {shown(value)}.")
        if not isinstance(self.letters_only, bool):
            raise RetvecLiteError(f"letters_only must be true or false, not {shown(self.letters_only)}.")

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as JSON-ready values, which `from_dict` turns into an equal object; `letters_only` only if it is on."""
        return {
            "max_chars": self.max_chars,
            "max_words": self.max_words,
            "word_length": self.word_length,
            **_WAYS,
            **({"letters_only": True} if self.letters_only else {}),
            **{script: list(piece) for script, piece in PIECES.items()},
            "contract_version": CONTRACT_VERSION,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "EncoderConfig":
        """Rebuild a config from the values of `to_dict`.

        Raises:
            RetvecLiteError: for a missing or unknown field, a bad value, or another contract version.
        """
        _check_version(fields.get("contract_version"))
        fixed = {**_WAYS, **PIECES, "contract_version": CONTRACT_VERSION}
        names = {*fixed, *(field.name for field in dataclasses.fields(cls))}
        if missing := sorted(names - {"letters_only"} - set(fields)):
            raise RetvecLiteError(f"The encoder config lacks {', '.join(missing)}.")
        if unknown := sorted(set(fields) - names):
            raise RetvecLiteError(f"The encoder config has unknown fields: {shown(', '.join(unknown))}.")
        for name, value in fixed.items():
            # As JSON, because true is no 1 for readers in other languages.
            if json.dumps(fields[name]) != json.dumps(value):
                raise RetvecLiteError(
                    f"{name} must be {json.dumps(value)}, not {shown(fields[name])}: train the classifier again with `retvec-lite train`."
                )
        return cls(**{name: value for name, value in fields.items() if name not in fixed})


def _check_version(version: object) -> None:
    # In Python, 3.0 equals 3; readers in other languages may disagree.
    if type(version) is not int or version != CONTRACT_VERSION:
        raise RetvecLiteError(
            f"The contract version is {shown(version)}, but this retvec-lite reads version {CONTRACT_VERSION} only. "
            "Use the release that wrote the file, or train the classifier again."
        )


MOST_DECOMPOSED: Final = 4
"""Code points that a composed character may have in decomposed form (Unicode Standard Annex 15, section 9, table 4)."""


def codepoints(text: str, max_chars: int) -> Ints:
    """Return the code points of a text that is read (see `windows.read_text`), cut or zero-padded: int32 `[max_chars]`.

    What an app passes to a model. Production code uses the faster `codepoint_rows`.
    """
    padded = np.zeros(max_chars, np.int32)
    values = [ord(char) for char in text[:max_chars]]
    padded[: len(values)] = values
    return padded


def codepoint_rows(texts: Sequence[str], max_chars: int) -> Ints:
    """Return the code points of windows as a model takes them, cut or zero-padded: int32 `[texts, max_chars]`.

    The one fast implementation, for inference and training; `codepoints` is its reference. Unpaired
    surrogates pass through: all other cleaning happens inside the model.
    """
    rows = np.zeros((len(texts), max_chars), np.int32)
    for index, text in enumerate(texts):
        codes = np.frombuffer(text[:max_chars].encode("utf-32-le", "surrogatepass"), "<i4")
        rows[index, : codes.size] = codes
    return rows


def composed(text: str, max_chars: int) -> str:
    """Return the first code points of a text in composed form (NFC)."""
    # A composed text of so many characters needs no more than this, and composing a hostile one takes quadratic time.
    return unicodedata.normalize("NFC", text[: MOST_DECOMPOSED * max_chars])[:max_chars]


def words(values: Sequence[int] | Ints, config: EncoderConfig) -> Ints:
    """Cut one text into word slots: rules 1 to 5 of the contract.

    Args:
        values: code points, any int32 values, shape `[config.max_chars]`.
        config: the parameters of the contract.

    Returns:
        int32 `[max_words, word_length]`, zero-padded. A slot is empty exactly when its first code point is 0.
    """
    slots = np.zeros((config.max_words, config.word_length), np.int32)
    for index, piece in enumerate(_pieces([int(value) for value in values], config)[: config.max_words]):
        slots[index, : len(piece)] = piece
    return slots


def bits(slots: Ints) -> Floats:
    """Write every code point as its 21 binary digits, most significant first: rule 6 of the contract.

    Args:
        slots: int32 `[words, word_length]`, Unicode scalar values.

    Returns:
        float32 `[words, word_length * 21]` of zeros and ones.
    """
    digits = (slots[:, :, None].astype(np.int64) >> np.arange(BITS - 1, -1, -1)) & 1
    return digits.reshape(len(slots), -1).astype(np.float32)


def _pieces(values: list[int], config: EncoderConfig) -> list[list[int]]:
    """Return every piece of a text: its visible characters, split into runs of one script and cut."""
    pieces: list[list[int]] = []
    run: list[int] = []
    run_script: str | None = None
    for char in visible_characters(values, config):
        script = _script(char)
        if script != run_script:
            pieces.extend(_cut(run, run_script, config))
            run, run_script = [], script
        run.append(char)
    pieces.extend(_cut(run, run_script, config))
    return pieces


def visible_characters(values: Sequence[int], config: EncoderConfig) -> list[int]:
    """Sanitize the code points of a text, any int32 values, and bring it into its normal form: rules 1 and 2."""
    return normalize(sanitized(values), SEPARATING, tuple(UNSPACED.values()), config.letters_only)


def sanitized(values: Sequence[int]) -> list[int]:
    """Replace every value that is no Unicode scalar value: rule 1."""
    return [
        value if 0 <= value <= MAX_CODE_POINT and not 0xD800 <= value <= 0xDFFF else REPLACEMENT for value in values
    ]


@functools.cache
def _script(char: int) -> str | None:
    """Return the cutting rule of a character: "spaced", a key of `PIECES`, or None for a separator."""
    if char in SEPARATING:
        return None
    for script, ranges in UNSPACED.items():
        if any(first <= char <= last for first, last in ranges):
            return script
    return "spaced"


def _cut(run: list[int], script: str | None, config: EncoderConfig) -> list[list[int]]:
    """Cut a run of one script into pieces."""
    if script is None:
        return []
    length, step = PIECES.get(script, Piece(config.word_length, config.word_length))
    overlap = length - step
    starts = [start for start in range(0, len(run), step) if start == 0 or start + overlap < len(run)]
    return [run[start : start + length] for start in starts]
