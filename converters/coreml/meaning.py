"""The meaning of a text as a Core ML graph: the same as `model/meaning_graph.py` in another way, in float32 whatever the recipe."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from coremltools.converters.mil import Builder as mb

from retvec_lite.contract import Floats
from retvec_lite.converters.coreml import Storage
from retvec_lite.converters.coreml.encoder import Characters, modulo
from retvec_lite.converters.coreml.network import from_grid, from_palette
from retvec_lite.meaning import (
    CODEBOOK_ROWS,
    DIMENSION,
    FINGERPRINTS,
    LETTER_NUMBERS,
    LETTER_SPREAD,
    LONGEST,
    LOOK_UPS,
    NO_WORD,
    PROJECTION,
    STEPS,
    SUBSPACES,
    hash_matrix,
    letter_table,
    word_limit,
)
from retvec_lite.ngrams import CODES, LETTER, LOWER_CASE_END

Var = Any  # a value of a MIL program

_BYTES: Final = np.arange(256, dtype=np.float32)
_EXACT: Final = 2.0**15
"""How much more a hit of the whole word counts: above every other hit."""


class Letters(NamedTuple):
    """The characters of one text, folded to plain letters.

    Attributes:
        chars: float32 `[1, max_chars]`, 0 for separators.
        letters: float32 `[1, max_chars]`, 1 for letters of words with a meaning, else 0.
    """

    chars: Var
    letters: Var


def find_letters(characters: Characters, storage: Storage) -> Letters:
    """Fold the characters of one text."""
    values, places = np.unique(letter_table().marked, return_inverse=True)
    levels = np.zeros(256, np.float32)
    levels[: len(values)] = values
    indices = places.reshape(-1, 1).astype(np.uint8)
    table = from_palette(indices, levels, 8, storage.for_ios18, "meaning_letters")
    is_word = mb.greater(x=characters.classes, y=np.int32(0))
    chars = mb.select(cond=is_word, a=characters.codes, b=np.int32(0), name="meaning_letter_chars")
    found = mb.gather(x=table, indices=mb.minimum(x=chars, y=np.int32(LOWER_CASE_END)), axis=0)
    found = mb.reshape(x=found, shape=[1, chars.shape[1]], name="meaning_letter_level")
    level = mb.floor(x=found)
    letters = mb.mul(x=mb.sub(x=found, y=level), y=_float(2), name="meaning_is_letter")
    replaces = mb.greater(x=level, y=_float(LETTER / 2))
    lower = mb.add(x=mb.cast(x=chars, dtype="fp32"), y=level)
    plain = mb.select(cond=replaces, a=mb.sub(x=level, y=_float(LETTER)), b=lower, name="meaning_plain_chars")
    return Letters(plain, letters)


def find_meaning(found: Letters, weights: Mapping[str, Floats], storage: Storage) -> Var:
    """Compute the meaning of one text, float32 `[1, 64]`, named `meaning`; see `retvec_lite.meaning.text_vector`."""
    words = _words(found)
    number, known = _look_up(words, weights, storage)
    table = from_palette(weights["meaning/codes"].astype(np.uint8), _BYTES, 8, storage.for_ios18, "meaning_codes")
    codes = mb.gather(x=table, indices=mb.cast(x=number, dtype="int32"), axis=0, name="meaning_word_codes")
    first = np.arange(SUBSPACES, dtype=np.float32) * _float(CODES)
    places = mb.cast(x=mb.add(x=codes, y=first), dtype="int32", name="meaning_codebook_rows")
    books = weights["meaning/codebooks"].astype(np.int8).reshape(CODEBOOK_ROWS)
    ones = np.ones((1, books.shape[1]), np.float32)
    rows = mb.gather(
        x=from_grid(books, ones, 1, storage.for_ios18, "meaning_codebooks"),
        indices=places,
        axis=0,
        name="meaning_word_parts",
    )
    count = words.shape[0]
    vectors = mb.reshape(x=rows, shape=[count, DIMENSION], name="meaning_word_vectors")
    total = mb.matmul(x=mb.reshape(x=known, shape=[1, count]), y=vectors, name="meaning_total")
    square = mb.reduce_sum(x=mb.mul(x=total, y=total), axes=[1], keep_dims=True)
    length = mb.sqrt(x=mb.maximum(x=square, y=_float(1)), name="meaning_length")
    return mb.real_div(x=total, y=length, name="meaning")


def meaning_logits(meaning: Var, weights: Mapping[str, Floats]) -> Var:
    """Compute what the meaning says about the labels, float32 `[1, classes]`."""
    projection = mb.const(val=weights[PROJECTION].astype(np.float32), name="meaning_projection")
    return mb.matmul(x=meaning, y=projection, name="meaning_logits")


def _words(found: Letters) -> Var:
    """Return the numbers of each word's letters, 0 behind it and for words that are too long: float32 `[words, 17]`."""
    length = found.chars.shape[1]
    count, width = word_limit(length), LONGEST + 1
    spread = mb.mul(x=found.chars, y=_float(LETTER_SPREAD))
    share = mb.floor(x=mb.mul(x=spread, y=_float(1 / LETTER_NUMBERS)))
    number = mb.add(x=mb.sub(x=spread, y=mb.mul(x=share, y=_float(LETTER_NUMBERS))), y=_float(1))
    number = mb.mul(x=number, y=found.letters, name="meaning_letter_number")

    is_letter = mb.greater(x=found.letters, y=_float(0.5))
    padded = mb.concat(values=[np.zeros((1, 1), np.float32), found.letters], axis=1)
    before = mb.slice_by_index(x=padded, begin=[0, 0], end=[1, length])
    starts = mb.logical_and(x=is_letter, y=mb.less(x=before, y=_float(0.5)), name="meaning_starts")
    word = mb.cumsum(x=mb.cast(x=starts, dtype="int32"), axis=1, name="meaning_word")
    # The first letter of a word follows all characters before it; a word that is not there gets the zeros behind the text.
    too_early = mb.less_equal(x=word, y=np.arange(count, dtype=np.int32)[:, None])
    offset = mb.reduce_sum(x=mb.cast(x=too_early, dtype="int32"), axes=[1], keep_dims=True)
    window = mb.add(x=offset, y=np.arange(width, dtype=np.int32)[None], name="meaning_window")
    row = mb.concat(values=[number, np.zeros((1, width), np.float32)], axis=1)
    found_numbers = mb.gather(
        x=mb.reshape(x=row, shape=[length + width]), indices=window, axis=0, name="meaning_window_numbers"
    )
    outside = mb.cast(x=mb.less(x=found_numbers, y=_float(0.5)), dtype="fp32")
    behind = mb.matmul(x=outside, y=np.triu(np.ones((width, width), np.float32)), name="meaning_behind")
    ends = mb.slice_by_index(x=behind, begin=[0, LONGEST], end=[count, width])
    fits = mb.cast(x=mb.greater(x=ends, y=_float(0.5)), dtype="fp32")
    inside = mb.mul(x=mb.cast(x=mb.less(x=behind, y=_float(0.5)), dtype="fp32"), y=fits)
    return mb.mul(x=found_numbers, y=inside, name="meaning_word_numbers")


def _look_up(words: Var, weights: Mapping[str, Floats], storage: Storage) -> tuple[Var, Var]:
    """Look up words, float32 `[words, 17]`; return their numbers and 1 where they are known, else 0: float32 `[words]` both."""
    count = words.shape[0]
    sums = mb.matmul(x=words, y=hash_matrix(), name="meaning_sums")
    place, step, mark, first = (
        mb.slice_by_index(x=sums, begin=[0, LOOK_UPS * part], end=[count, LOOK_UPS * (part + 1)]) for part in range(4)
    )

    def table(name: str) -> Var:
        values = weights[f"meaning/{name}"].astype(np.uint8)
        return from_palette(values.reshape(len(values), -1), _BYTES, 8, storage.for_ios18, f"meaning_{name}")

    def looked_up(name: str, indices: Var, shape: list[int]) -> Var:
        found = mb.gather(x=table(name), indices=mb.cast(x=indices, dtype="int32"), axis=0)
        return mb.reshape(x=found, shape=shape, name=f"meaning_{name}_found")

    size = weights["meaning/displacements"].size
    displacement = looked_up("displacements", modulo(place, size, "meaning_displaced_by"), [count, LOOK_UPS])
    strides = mb.add(x=modulo(step, STEPS, "meaning_step"), y=_float(1))
    row = mb.add(x=first, y=mb.mul(x=displacement, y=strides))
    stored = looked_up("rows", modulo(row, len(weights["meaning/rows"]), "meaning_row_of_word"), [count * LOOK_UPS, 3])
    powers = np.array([[1], [2**8], [2**16]], np.float32)
    value = mb.reshape(x=mb.matmul(x=stored, y=powers), shape=[count, LOOK_UPS], name="meaning_row_value")
    # No letters have the fingerprint 0, which no key has.
    fingerprint = mb.add(
        x=modulo(mark, FINGERPRINTS, "meaning_mark"), y=mb.minimum(x=mark, y=_float(1)), name="meaning_fingerprint"
    )
    number = mb.sub(x=value, y=mb.mul(x=fingerprint, y=_float(NO_WORD + 1)), name="meaning_number_if_equal")
    hits = mb.logical_and(x=mb.greater_equal(x=number, y=_float(0)), y=mb.less(x=number, y=_float(NO_WORD)))
    counts = np.array([[_EXACT] + [1.0] * LONGEST], np.float32)
    score = mb.mul(x=mb.sub(x=_float(NO_WORD), y=number), y=counts)
    best = mb.reduce_max(
        x=mb.select(cond=hits, a=score, b=_float(0)), axes=[1], keep_dims=False, name="meaning_best_hit"
    )
    is_exact = mb.greater_equal(x=best, y=_float(_EXACT))
    best = mb.select(cond=is_exact, a=mb.mul(x=best, y=_float(1 / _EXACT)), b=best)
    is_known = mb.greater(x=best, y=_float(0))
    number = mb.select(cond=is_known, a=mb.sub(x=_float(NO_WORD), y=best), b=_float(0), name="meaning_word_number")
    return number, mb.cast(x=is_known, dtype="fp32", name="meaning_is_known")


def _float(value: float) -> np.float32:
    return np.float32(value)
