"""The meaning of words: the frozen rules from a text to 64 numbers, and their reference in NumPy.

A file may hold a table from words to product codes (https://hal.inria.fr/inria-00514462, section III) of vectors that say what words
mean. A word is found exactly, or with one letter left out, so one typo is undone. Every number of the hash stays below 2**22, so that
float32 computes it exactly on any device. docs/contract.md states the rules.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import SEPARATING, EncoderConfig, Floats, Ints, visible_characters
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.ngrams import CODES, LOWER_CASE_END, fold_table, folded_letters
from retvec_lite.normal_form import ALPHABETS, OTHER_SCRIPTS, ranges_hold

Word = tuple[int, ...]
"""A word as its code points."""

DIMENSION: Final = 64
"""Numbers of a vector."""

SUBSPACES: Final = 8
"""Codes of a word; each stands for `DIMENSION // SUBSPACES` numbers, a row of its codebook."""

CODEBOOKS: Final = (SUBSPACES, CODES, DIMENSION // SUBSPACES)
CODEBOOK_ROWS: Final = (SUBSPACES * CODES, DIMENSION // SUBSPACES)
"""The shape of the codebooks, and that of all their rows as one matrix, as files store them."""

LONGEST: Final = 16
"""Letters of the longest word that is looked up."""

LOOK_UPS: Final = LONGEST + 1
"""How often graphs look a word up: as it is, and without each of its letters; without those that it lacks, as it is."""

CHARS_PER_WORD: Final = 5
"""A text is read up to its `max_chars // CHARS_PER_WORD`-th word. English has 5.5 characters a word, its space included."""

LETTER_NUMBERS: Final = 2048
LETTER_SPREAD: Final = 389
"""The number of a letter c is `c * LETTER_SPREAD mod LETTER_NUMBERS + 1`. An odd spread keeps neighbours apart and distinct; numbers
of 11 bits stay exact where GPUs round factors (TensorFloat-32)."""

FACTOR_PRIME: Final = 127
ROOTS: Final = (43, 58, 85, 101)
"""Primitive roots modulo `FACTOR_PRIME`. The i-th letter has the factor `root**i mod FACTOR_PRIME` in each sum, i from 1 on. They give
the place of a displacement, the first row, the step between rows and the fingerprint."""

STEPS: Final = 251
"""Different steps between rows: the largest prime for which all sums stay below 2**22."""

FINGERPRINTS: Final = 1023
"""Different fingerprints of words, from 1 on. Without letters the fingerprint is 0."""

NO_WORD: Final = 2**14 - 1
"""The number in rows without a key, above the number of every word."""

MOST_ROWS: Final = 2**16

PROJECTION: Final = "meaning/projection"
"""The only weight of meaning that is not stored as integers of its own."""

SPELLING_WEIGHT: Final = 0.5
"""What the word embedding's part of a text embedding is multiplied by, beside that of meaning."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeaningConfig:
    """The sizes of a table of meaning. Immutable, validated, with an exact JSON round trip.

    Attributes:
        words: words with a vector, 1 to 16,383.
        rows: places for keys, 1 to 65,536. Keys are the words, and words without one of their letters.
        displacements: 1 to 65,536. Each is shared by the keys whose first hash it is; see `row_of`.

    Raises:
        RetvecLiteError: on construction, for a value out of range.
    """

    words: int
    rows: int
    displacements: int

    def __post_init__(self) -> None:
        for name, high in (("words", NO_WORD), ("rows", MOST_ROWS), ("displacements", MOST_ROWS)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= high:
                raise RetvecLiteError(f"{name} of the meaning must be an integer from 1 to {high}, not {shown(value)}.")

    def to_dict(self) -> dict[str, int]:
        """Return the fields, which `from_dict` turns into an equal object."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "MeaningConfig":
        """Rebuild a config from the values of `to_dict`.

        Raises:
            RetvecLiteError: for anything else, such as a form of a newer release.
        """
        names = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(fields, Mapping) or set(fields) != names:
            raise RetvecLiteError(
                f"The meaning needs the fields {', '.join(sorted(names))}, not {shown(fields)}. Use the release that wrote the file."
            )
        return cls(**fields)


def meaning_shapes(config: MeaningConfig, classes: int) -> dict[str, tuple[int, ...]]:
    """Return name -> shape of the weights of meaning."""
    return {
        "meaning/displacements": (config.displacements,),
        "meaning/rows": (config.rows, 3),
        "meaning/codes": (config.words, SUBSPACES),
        "meaning/codebooks": CODEBOOKS,
        PROJECTION: (DIMENSION, classes),
    }


def check_weights(config: MeaningConfig, weights: Mapping[str, Floats]) -> None:
    """Check that a table holds whole numbers of its range, and names no word that it lacks.

    Raises:
        RetvecLiteError: naming the first weight that is wrong.
    """
    limits = {"displacements": (0, 255), "rows": (0, 255), "codes": (0, 255), "codebooks": (-127, 127)}
    for name, (low, high) in limits.items():
        values = weights[f"meaning/{name}"]
        if not ((values >= low) & (values <= high) & (values == np.rint(values))).all():
            raise RetvecLiteError(f"meaning/{name} needs whole numbers from {low} to {high}.")
    numbers = weights["meaning/rows"] @ np.array([1, 1 << 8, 1 << 16], np.float64) % (NO_WORD + 1)
    if not ((numbers < config.words) | (numbers == NO_WORD)).all():
        raise RetvecLiteError(f"meaning/rows names words from {config.words:,} on, which are not there.")


def word_limit(max_chars: int) -> int:
    """Return how many words of a text of at most `max_chars` code points are read."""
    return max(1, max_chars // CHARS_PER_WORD)


@functools.cache
def is_meaning_letter(code: int) -> bool:
    """Return whether a code point, after the fold to plain letters, is a letter of a word with meaning."""
    return code < LOWER_CASE_END and (ranges_hold(ALPHABETS, code) or ranges_hold(OTHER_SCRIPTS, code))


class LetterTable(NamedTuple):
    """How graphs fold to plain letters, and tell letters: a list of levels as in `ngrams.fold_table`, some of them twice.

    Attributes:
        places: uint8 `[LOWER_CASE_END + 1]`: the level of each code point; that of all later ones is the last.
        levels: float32 `[levels]`, see `ngrams.fold_table`.
        letters: float32 `[levels]`, 1 where the folded code point is a letter of a word, else 0.
    """

    places: npt.NDArray[np.uint8]
    levels: Floats
    letters: Floats

    @property
    def marked(self) -> Floats:
        """The level of each code point, and a half more where it becomes a letter: float32 `[LOWER_CASE_END + 1]`."""
        found: Floats = (self.levels + self.letters / 2)[self.places]
        return found


@functools.cache
def letter_table() -> LetterTable:
    """Return the table of plain letters."""
    places, levels = fold_table(True)
    folded = folded_letters(True)
    letters = [is_meaning_letter(folded.get(code, code)) for code in range(len(places))]
    pairs, found = np.unique(2 * places.astype(np.int32) + letters, return_inverse=True)
    return LetterTable(found.reshape(-1).astype(np.uint8), levels[pairs // 2], (pairs % 2).astype(np.float32))


def count_words(values: Sequence[int] | Ints, encoder: EncoderConfig) -> int:
    """Return how many words a text has, those included that are too long or beyond the limit."""
    return sum(1 for _ in _runs(values, encoder))


def meaning_words(values: Sequence[int] | Ints, encoder: EncoderConfig) -> list[Word]:
    """Return the words of a text that are looked up, in their order: runs of letters, those longer than `LONGEST` left out.

    Args:
        values: code points, any int32 values, shape `[max_chars]`.
        encoder: the parameters of the contract.

    Example:
        >>> from retvec_lite.contract import EncoderConfig
        >>> from retvec_lite.meaning import meaning_words
        >>> ["".join(map(chr, word)) for word in meaning_words(list(map(ord, "Café, the 1st!")), EncoderConfig())]
        ['cafe', 'the', 'ist']
    """
    read = itertools.islice(_runs(values, encoder), word_limit(encoder.max_chars))
    return [word for word in read if len(word) <= LONGEST]


def _runs(values: Sequence[int] | Ints, encoder: EncoderConfig) -> Iterator[Word]:
    """Yield the runs of letters of a text, in their order."""
    folded = folded_letters(True)
    chars = [
        0 if code in SEPARATING else folded.get(code, code)
        for code in visible_characters([int(value) for value in values], encoder)
    ]
    return (tuple(run) for is_word, run in itertools.groupby(chars, is_meaning_letter) if is_word)


def look_up(words: Sequence[Word], config: MeaningConfig, weights: Mapping[str, Floats]) -> list[int]:
    """Return the number of each word in the table, -1 where it has none.

    A word that is a key has the number of that key. Any other has the smallest number among the keys that it becomes by leaving one
    of its letters out.
    """
    letters = np.zeros((len(words), LONGEST), np.int32)
    for row, word in zip(letters, words, strict=True):
        row[: len(word)] = word
    found: list[int] = numbers_of(letters, config, weights).tolist()
    return found


def numbers_of(letters: Ints, config: MeaningConfig, weights: Mapping[str, Floats]) -> Ints:
    """Return `look_up` of words as their letters, int32 `[words, 16]`, with zeros behind them: int32 `[words]`."""
    numbers = np.where(letters > 0, letters * LETTER_SPREAD % LETTER_NUMBERS + 1, 0).astype(np.float32)
    sums = (numbers @ hash_matrix()[:LONGEST]).astype(np.int32).reshape(len(letters), len(ROOTS), LOOK_UPS)
    place, step, mark, first = np.moveaxis(sums, 1, 0)
    displacement = weights["meaning/displacements"].astype(np.int32)[place % config.displacements]
    rows = weights["meaning/rows"].astype(np.int32) @ np.array([1, 1 << 8, 1 << 16], np.int32)
    # The row of a key, its fingerprint, which is 0 without letters, and what is stored there.
    row = (first + displacement * (step % STEPS + 1)) % config.rows
    fingerprint = np.where(mark > 0, mark % FINGERPRINTS + 1, 0)
    stored = rows[row]
    found = stored & NO_WORD
    found = np.where(stored >> 14 == fingerprint, found, NO_WORD)
    found = np.where(found[:, 0] < NO_WORD, found[:, 0], found.min(axis=1))
    return np.where(found < NO_WORD, found, -1).astype(np.int32)


def word_vectors(numbers: Sequence[int] | Ints, weights: Mapping[str, Floats]) -> Floats:
    """Return the vectors of words by their numbers, integers as float32 `[words, 64]`."""
    codes = weights["meaning/codes"][np.array(numbers, np.int64)].astype(np.int64)
    found: Floats = weights["meaning/codebooks"][np.arange(SUBSPACES), codes].reshape(len(codes), DIMENSION)
    return found


def text_vector(
    values: Sequence[int] | Ints, encoder: EncoderConfig, config: MeaningConfig, weights: Mapping[str, Floats]
) -> Floats:
    """Return the meaning of a text: the sum of its words' vectors, scaled to length 1; zeros where no word is known.

    Args:
        values: code points, any int32 values, shape `[max_chars]`.
        encoder: the parameters of the contract.
        config: the sizes of the table.
        weights: `meaning/...`, see `meaning_shapes`; the codebooks hold integers.

    Returns:
        float32 `[64]`.
    """
    known = [number for number in look_up(meaning_words(values, encoder), config, weights) if number >= 0]
    total = word_vectors(known, weights).sum(axis=0, dtype=np.float64)
    # Below 1 there is only 0: the sums are integers.
    vector: Floats = (total / max(float(np.linalg.norm(total)), 1.0)).astype(np.float32)
    return vector


def meaning_logits(
    values: Sequence[int] | Ints, encoder: EncoderConfig, config: MeaningConfig, weights: Mapping[str, Floats]
) -> Floats:
    """Compute what the meaning of one text says about the labels: `text_vector @ meaning/projection`, float32 `[classes]`."""
    vector = text_vector(values, encoder, config, weights).astype(np.float64)
    logits: Floats = (vector @ weights[PROJECTION].astype(np.float64)).astype(np.float32)
    return logits


def without_a_letter(word: Sequence[int]) -> Iterator[Word]:
    """Yield a word without its first, second, ... last letter; nothing for a word of one letter."""
    if len(word) > 1:
        yield from (tuple(word[:place]) + tuple(word[place + 1 :]) for place in range(len(word)))


@functools.cache
def factors() -> Ints:
    """Return the factor of each letter in each sum, int32 `[LONGEST, 4]`."""
    return np.array([[pow(root, place, FACTOR_PRIME) for root in ROOTS] for place in range(1, LONGEST + 1)], np.int32)


def hash_matrix() -> Floats:
    """Return what a word's letters are multiplied by, float32 `[17, 4 * 17]`: for each sum the whole word, then it without each letter.

    The sums are in the order displacement, step, fingerprint, first row. The last letter, which no word has, counts nothing.
    """
    of_letters = factors().astype(np.float32)
    matrix = np.zeros((LONGEST + 1, of_letters.shape[1], LOOK_UPS), np.float32)
    matrix[:LONGEST, :, 0] = of_letters
    for left_out in range(LONGEST):
        matrix[:left_out, :, left_out + 1] = of_letters[:left_out]
        matrix[left_out + 1 : LONGEST, :, left_out + 1] = of_letters[left_out : LONGEST - 1]
    return matrix[:, [0, 2, 3, 1]].reshape(LONGEST + 1, -1)


def sums_of(words: Sequence[Sequence[int]]) -> Ints:
    """Return the four sums of each word, int32 `[words, 4]`: its letters' numbers times their factors."""
    numbers = np.zeros((len(words), LONGEST), np.int32)
    for row, word in zip(numbers, words, strict=True):
        row[: len(word)] = [code * LETTER_SPREAD % LETTER_NUMBERS + 1 for code in word]
    found: Ints = numbers @ factors()
    return found
