"""Hashed character n-grams: the frozen rules from text to bucket numbers, and their reference in plain Python.

Like the contract's words, n-grams must be the same in training, in every exported file and on every runtime. Every number of
the hash stays below 2**22, so that float32 computes it exactly on any device. docs/contract.md states the rules.
"""

import dataclasses
import functools
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import SEPARATING, EncoderConfig, Floats, Ints, visible_characters
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.normal_form import UNKNOWN_LETTER

PRIME: Final = 65521
"""Modulus of the hash: the largest prime below 2**16."""

FACTOR: Final = 46
"""Multiplier of the hash: the largest for which `65520 * FACTOR + 0x10FFFF + 1/2` has a quotient by `PRIME` that float32
rounds to the right side (below 2**22)."""

LOWER_CASE: Final[tuple[tuple[int, int, int, int], ...]] = (
    (0x41, 0x5A, 1, 32), (0xC0, 0xD6, 1, 32), (0xD8, 0xDE, 1, 32), (0x100, 0x12E, 2, 1),
    (0x130, 0x130, 1, -199), (0x132, 0x136, 2, 1), (0x139, 0x147, 2, 1), (0x14A, 0x176, 2, 1),
    (0x178, 0x178, 1, -121), (0x179, 0x17D, 2, 1), (0x18F, 0x18F, 1, 202), (0x1A0, 0x1A4, 2, 1),
    (0x1AF, 0x1AF, 1, 1), (0x1CD, 0x1DB, 2, 1), (0x1DE, 0x1EE, 2, 1), (0x1F8, 0x21E, 2, 1),
    (0x386, 0x386, 1, 38), (0x388, 0x38A, 1, 37), (0x38C, 0x38C, 1, 64), (0x38E, 0x38F, 1, 63),
    (0x391, 0x3A1, 1, 32), (0x3A3, 0x3AB, 1, 32), (0x400, 0x40F, 1, 80), (0x410, 0x42F, 1, 32),
    (0x460, 0x480, 2, 1), (0x48A, 0x4BE, 2, 1), (0x4C1, 0x4CD, 2, 1), (0x4D0, 0x52E, 2, 1),
    (0x531, 0x556, 1, 48), (0x1C90, 0x1CBA, 1, -3008), (0x1CBD, 0x1CBF, 1, -3008),
    (0x1E00, 0x1E94, 2, 1), (0x1EA0, 0x1EFE, 2, 1),
)  # fmt: skip
"""Upper case of Latin, Greek, Cyrillic, Armenian and Georgian as (first, last, step, difference to the lower case), from
UnicodeData.txt. Rare letters are left out. All of it lies below `LOWER_CASE_END`."""

LOWER_CASE_END: Final = 0x1EFF
"""Code points from here on are not folded."""

LETTERS_FOR: Final[tuple[tuple[str, str], ...]] = (
    ("0123456789@$|", "oizeasgtbgasl"),
    ("Ⱥɐẚ", 3 * "a"),
    ("ƀƁƂƃɃɓ", 6 * "b"),
    ("ƇƈȻȼɕ", 5 * "c"),
    ("ĐđƊƋƌȡɖɗ", 8 * "d"),
    ("ƎƐǝɆɇɘɛ", 7 * "e"),
    ("Ƒƒ", 2 * "f"),
    ("ƓǤǥɠ", 4 * "g"),
    ("Ħħɦ", 3 * "h"),
    ("ıƗɨ", 3 * "i"),
    ("Ɉɉɟʄʝ", 5 * "j"),
    ("Ƙƙ", 2 * "k"),
    ("ĿŀŁłƚȴȽɫɬɭ", 10 * "l"),
    ("ɱ", "m"),
    ("ƝƞȠȵɲɳ", 6 * "n"),
    ("ØøƆƟǾǿɔɵ", 8 * "o"),
    ("Ƥƥ", 2 * "p"),
    ("ɋʠ", 2 * "q"),
    ("Ɍɍɼɽɾ", 5 * "r"),
    ("ȿʂ", 2 * "s"),
    ("ŦŧƫƬƭƮȶȾʈ", 9 * "t"),
    ("Ʉʉ", 2 * "u"),
    ("Ʋʋ", 2 * "v"),
    ("ƳƴɎɏỾ", 5 * "y"),
    ("ƵƶȤȥɀʐʑ", 7 * "z"),
)
"""What `NgramConfig.plain_letters` reads as other letters: digits, signs, and Latin letters whose name in Unicode is that of an ASCII
letter with a stroke, hook, tail or the like, or of an open, barred, turned or reversed vowel, where they have no decomposition."""

LETTER: Final = 2.0**21
"""What `fold_table` adds to a letter that replaces others, so that it is above all differences: a power of two."""

_LONGEST: Final = 6

MOST_BUCKETS: Final = PRIME
"""The hash has no more values."""

INTEGERS: Final = 127
"""The largest integer of the stored table and squares: 8 bits, in every recipe."""

CODES: Final = 256
"""Rows of a codebook: a code takes 8 bits."""

MOST_CODEBOOKS: Final = 8
MOST_RANK: Final = 256

_OPTIONAL: Final = frozenset(("codebooks", "rank", "plain_letters"))
"""Fields that a file leaves out where they are 0."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NgramConfig:
    """Which n-grams a classifier reads. Immutable, validated, with an exact JSON round trip.

    Attributes:
        buckets: rows of the table, 16 to 65,521.
        longest: characters of the longest n-grams, 1 to 6.
        shortest: characters of the shortest n-grams, 1 to `longest`; all lengths between the two are read.
        codebooks: 0: the row of an n-gram is its hash modulo `buckets`. From 1 to 8: the table consists of so many codebooks of 256
            rows, and an n-gram has a row in each of them, which the weights name for each hash.
        rank: 0: a row holds a number for each label. From 1 to 256: it holds so many numbers, and the labels share them by a dense layer.
        plain_letters: Latin letters are read without their accents, and digits as the letters that they are written for.

    Raises:
        RetvecLiteError: on construction, for a value out of range.
    """

    buckets: int
    longest: int = 4
    shortest: int = 1
    codebooks: int = 0
    rank: int = 0
    plain_letters: bool = False

    def __post_init__(self) -> None:
        limits = (
            ("buckets", 16, MOST_BUCKETS),
            ("longest", 1, _LONGEST),
            ("shortest", 1, self.longest),
            ("codebooks", 0, MOST_CODEBOOKS),
            ("rank", 0, MOST_RANK),
        )
        for name, low, high in limits:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise RetvecLiteError(
                    f"{name} of the n-grams must be an integer from {low} to {high}, not {shown(value)}."
                )
        if not isinstance(self.plain_letters, bool):
            raise RetvecLiteError(
                f"plain_letters of the n-grams must be true or false, not {shown(self.plain_letters)}."
            )
        if self.codebooks and self.buckets != CODES * self.codebooks:
            raise RetvecLiteError(
                f"{self.codebooks} codebooks of n-grams have {CODES * self.codebooks} buckets, not {self.buckets}."
            )

    def to_dict(self) -> dict[str, int]:
        """Return the fields, which `from_dict` turns into an equal object; the last three only where they are not 0."""
        fields = dataclasses.asdict(self)
        return {name: value for name, value in fields.items() if value or name not in _OPTIONAL}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "NgramConfig":
        """Rebuild a config from the values of `to_dict`.

        Raises:
            RetvecLiteError: for a missing or unknown field, or a bad value.
        """
        needed = {"buckets", "longest", "shortest"}
        if not isinstance(fields, Mapping) or set(fields) - _OPTIONAL != needed:
            raise RetvecLiteError(
                f"The n-grams need the fields {', '.join(sorted(needed))}, not {shown(list(fields) if isinstance(fields, Mapping) else fields)}."
            )
        return cls(**fields)


def ngram_buckets(
    values: Sequence[int] | Ints, encoder: EncoderConfig, config: NgramConfig, codes: Floats | None = None
) -> list[int]:
    """Return the buckets of every n-gram of one text, in no particular order; an n-gram that occurs twice is there twice.

    Args:
        values: code points, any int32 values, shape `[max_chars]`.
        encoder: the parameters of the contract, which say whether invisible characters are dropped.
        config: which n-grams.
        codes: `ngrams/codes` `[65521, codebooks]`, where there are codebooks.
    """
    hashes = [hash_of(ngram) for ngram in _ngrams([int(value) for value in values], encoder, config)]
    if codes is None:
        return [found % config.buckets for found in hashes]
    return [CODES * book + int(code) for found in hashes for book, code in enumerate(codes[found])]


def ngram_logits(
    values: Sequence[int] | Ints, encoder: EncoderConfig, config: NgramConfig, weights: Mapping[str, Floats]
) -> Floats:
    """Compute what the n-grams of one text say about the labels.

    `sum(table[b]) / sqrt(sum(squares[b])) + bias` over the buckets b of all n-grams; the bias alone without n-grams. With a rank,
    the quotient is multiplied by the projection first.

    Args:
        values: code points, any int32 values, shape `[max_chars]`.
        encoder: see `ngram_buckets`.
        config: which n-grams.
        weights: `ngrams/table` `[buckets, classes]`, `ngrams/squares` `[buckets]` and `ngrams/bias` `[classes]`; with
            codebooks, also `ngrams/codes` `[65521, codebooks]`; with a rank, the table is `[buckets, rank]` of integers from
            -127 to 127, and there is `ngrams/projection` `[rank, classes]`.

    Returns:
        float32 `[classes]`.
    """
    buckets = ngram_buckets(values, encoder, config, weights.get("ngrams/codes"))
    total = weights["ngrams/table"][buckets].sum(axis=0, dtype=np.float64)
    length = weights["ngrams/squares"][buckets].sum(dtype=np.float64)
    said = total / np.sqrt(max(length, 1.0))
    if config.rank:
        said = said @ weights["ngrams/projection"].astype(np.float64)
    logits: Floats = (said + weights["ngrams/bias"]).astype(np.float32)
    return logits


def hash_of(ngram: Sequence[int]) -> int:
    """Return the hash of code points: `h = (h * FACTOR + c) mod PRIME` for each c, starting from h = 1."""
    found = 1
    for code in ngram:
        found = (found * FACTOR + code) % PRIME
    return found


def table_integers(table: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return the integers and the scale of each label of a table on its grid: int8 `[buckets, classes]`, float32 `[classes]`.

    The largest weight of a label is exactly 127 scales, see `grid.snap`.
    """
    scales: Floats = (np.abs(table).max(axis=0) / np.float32(INTEGERS)).astype(np.float32)
    scales[scales == 0] = 1.0
    return np.rint(table / scales).astype(np.int8), scales


@functools.cache
def folded_letters(plain_letters: bool) -> Mapping[int, int]:
    """Return what code points below `LOWER_CASE_END` become, where they change."""
    lower = {
        code: code + difference for first, last, step, difference in LOWER_CASE for code in range(first, last + 1, step)
    }
    if not plain_letters:
        return lower
    plain = {
        ord(char): ord(letter) for chars, letters in LETTERS_FOR for char, letter in zip(chars, letters, strict=True)
    }
    # All of these blocks is assigned, and Unicode never changes a decomposition.
    for code in range(0xC0, LOWER_CASE_END):
        base = unicodedata.normalize("NFD", chr(lower.get(code, code)))[0]
        if base.isascii() and base.isalpha():
            plain[code] = ord(base.lower())
    return lower | plain | {code: plain[small] for code, small in lower.items() if small in plain}


@functools.cache
def fold_table(plain_letters: bool) -> tuple[npt.NDArray[np.uint8], Floats]:
    """Return how graphs fold: the place of every code point up to `LOWER_CASE_END` in a list of levels, and the list.

    A level below 2**20 is a difference, to be added; with `plain_letters`, a level above it is a letter, plus 2**21.

    Returns:
        uint8 `[LOWER_CASE_END + 1]`; float32 `[levels]`, at most 16, with `plain_letters` at most 64.
    """
    levels = np.zeros(LOWER_CASE_END + 1)
    for code, folded in folded_letters(plain_letters).items():
        is_plain = plain_letters and folded < 0x80 and folded != folded_letters(False).get(code)
        levels[code] = folded + LETTER if is_plain else folded - code
    names, places = np.unique(levels, return_inverse=True)
    return places.astype(np.uint8), names.astype(np.float32)


def fold(codes: npt.NDArray[Any], plain_letters: bool) -> Ints:
    """Return what characters become before they are hashed, int32 like `codes`."""
    places, levels = fold_table(plain_letters)
    found = codes.astype(np.int32)
    change = levels.astype(np.int32)[places[np.minimum(found, LOWER_CASE_END)]]
    return np.where(change >= int(LETTER) // 2, change - int(LETTER), found + change)


def _ngrams(values: list[int], encoder: EncoderConfig, config: NgramConfig) -> Iterator[list[int]]:
    """Yield the n-grams of a text: windows of its folded characters with a mark, 0, for every separator and both ends.

    A window may begin or end with a mark, but not have one inside, and not consist of marks. It has no unknown letter: what a word says without it is read.
    """
    folded = folded_letters(config.plain_letters)
    chars = (0 if code in SEPARATING else folded.get(code, code) for code in visible_characters(values, encoder))
    marked = [0, *chars, 0]
    for start in range(len(marked)):
        for length in range(config.shortest, config.longest + 1):
            window = marked[start : start + length]
            if len(window) == length and any(window) and all(window[1:-1]) and UNKNOWN_LETTER not in window:
                yield window
