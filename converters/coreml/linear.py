"""What stands beside the network as a Core ML graph, in float32 whatever the recipe: n-grams, and the meaning of words.

It computes the same as `model/linear_graph.py` in another way, see `encoder.py`. The hashes of n-grams need
22 bits, which also keeps them away from the neural engine, whose numbers have 11.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from coremltools.converters.mil import Builder as mb

from retvec_lite import meaning as rules
from retvec_lite.contract import Floats
from retvec_lite.converters.coreml.encoder import Characters
from retvec_lite.converters.coreml.network import from_grid, from_palette
from retvec_lite.ngrams import CODES, FACTOR, LETTER, LOWER_CASE_END, PRIME, NgramConfig, fold_table, table_integers
from retvec_lite.normal_form import UNKNOWN_LETTER

Var = Any  # a value of a MIL program

_BYTES: Final = np.arange(256, dtype=np.float32)
_EXACT: Final = 2.0**15
"""How much more a hit of the whole word counts: above every other hit."""


class Ngrams(NamedTuple):
    """The n-grams of one text.

    Attributes:
        buckets: int32 `[1, places]`, from 0 to buckets - 1, or hashes where there are codebooks; any where there is no n-gram.
        present: float32 `[1, places]`, 1 where there is an n-gram, else 0.
    """

    buckets: Var
    present: Var


def find_ngrams(characters: Characters, config: NgramConfig, plain: Var = None) -> Ngrams:
    """Hash the n-grams of one text, in float32 whatever the recipe: the same as `model/linear_graph.py`.

    N-grams with an unknown letter are left out.
    `plain` are the characters folded to plain letters, where they are known, float32 `[1, max_chars]`.
    There is a place for each length and each of the `max_chars + 1` characters and marks that an n-gram may begin with.
    """
    starts = characters.codes.shape[1] + 1
    front, behind = np.zeros((1, 1), np.float32), np.zeros((1, config.longest), np.float32)
    chars = plain if plain is not None and config.plain_letters else _folded(characters, config.plain_letters)
    marked = mb.concat(values=[front, chars, behind], axis=1, name="marked_chars")
    is_char = mb.minimum(x=marked, y=_float(1), name="is_char")
    is_known = mb.cast(x=mb.not_equal(x=marked, y=_float(UNKNOWN_LETTER)), dtype="fp32", name="is_known")

    def shifted(values: Var, places: int) -> Var:
        return mb.slice_by_index(x=values, begin=[0, places], end=[1, places + starts])

    # The hash begins with 1.
    product: Var = _float(FACTOR)
    inner: Var = None
    known: Var = None
    hashes, present = [], []
    for length in range(1, config.longest + 1):
        code = modulo(mb.add(x=shifted(marked, length - 1), y=product), PRIME, f"hash_{length}")
        product = mb.mul(x=code, y=_float(FACTOR))
        if length > 2:
            between = shifted(is_char, length - 2)
            inner = between if inner is None else mb.mul(x=inner, y=between)
        if is_known is not None:
            last = shifted(is_known, length - 1)
            known = last if known is None else mb.mul(x=known, y=last)
        if length < config.shortest:
            continue
        hashes.append(code)
        if length == 1:
            found = shifted(is_char, 0)
        elif length == 2:
            found = mb.maximum(x=shifted(is_char, 0), y=shifted(is_char, 1))
        else:
            found = inner
        present.append(found if known is None else mb.mul(x=found, y=known))
    codes = _joined(hashes)
    buckets = codes if config.codebooks else modulo(codes, config.buckets, "bucket")
    return Ngrams(mb.cast(x=buckets, dtype="int32"), _joined(present))


def ngram_logits(ngrams: Ngrams, weights: Mapping[str, Floats]) -> Var:
    """Compute what the n-grams of one text say about the labels, float32 `[1, classes]`; see `retvec_lite.ngrams.ngram_logits`."""
    if "ngrams/codes" in weights:
        ngrams = _coded(ngrams, weights["ngrams/codes"])
    places = ngrams.present.shape[1]
    width = weights["ngrams/table"].shape[1]
    # One gather and one sum for the labels and the length.
    rows = mb.gather(x=_table(weights), indices=ngrams.buckets, axis=0, name="ngram_rows")
    present = mb.reshape(x=ngrams.present, shape=[1, 1, places])
    total = mb.reshape(x=mb.matmul(x=present, y=rows), shape=[1, width + 1], name="ngram_total")
    square = mb.slice_by_index(x=total, begin=[0, width], end=[1, width + 1])
    length = mb.sqrt(x=mb.maximum(x=square, y=_float(1)), name="ngram_length")
    said = mb.real_div(x=mb.slice_by_index(x=total, begin=[0, 0], end=[1, width]), y=length)
    if "ngrams/projection" in weights:
        projection = mb.const(val=weights["ngrams/projection"].astype(np.float32), name="ngrams_projection")
        said = mb.matmul(x=said, y=projection)
    bias = mb.const(val=weights["ngrams/bias"].astype(np.float32), name="ngrams_bias")
    return mb.add(x=said, y=bias, name="ngrams_logits")


def _coded(ngrams: Ngrams, codes: Floats) -> Ngrams:
    """Return the bucket of each hash in every codebook: a place for each of them and each place of `ngrams`."""
    places, books = ngrams.present.shape[1], codes.shape[1]
    levels = np.arange(CODES, dtype=np.float32)
    table = from_palette(codes.astype(np.uint8), levels, 8, "ngrams_codes")
    found = mb.gather(x=table, indices=ngrams.buckets, axis=0, name="ngram_codes")
    first = np.arange(books, dtype=np.float32) * np.float32(CODES)
    buckets = mb.cast(x=mb.add(x=found, y=first), dtype="int32")
    repeated = mb.mul(x=mb.reshape(x=ngrams.present, shape=[1, places, 1]), y=np.ones((1, 1, books), np.float32))
    return Ngrams(
        mb.reshape(x=buckets, shape=[1, places * books], name="bucket"),
        mb.reshape(x=repeated, shape=[1, places * books], name="ngram_present"),
    )


def _table(weights: Mapping[str, Floats]) -> Var:
    """Return the weights of all labels and, behind them, the squares: float32 `[buckets, classes + 1]`.

    The file holds 8-bit integers and a scale for each column. `gather` takes no such integers before iOS 17, so an operator
    unpacks them when the model is loaded, as Core ML's own 8-bit embeddings do.
    """
    integers, scales = table_integers(weights["ngrams/table"])
    squares = weights["ngrams/squares"].astype(np.int8)[:, None]
    stored: npt.NDArray[np.int8] = np.concatenate([integers, squares], axis=1)
    scales = np.append(scales, np.float32(1))
    return from_grid(stored, scales[None], 1, "ngrams_table")


def _folded(characters: Characters, plain_letters: bool) -> Var:
    """Return the lower case of characters, or plain letters, and a mark, 0, for separators: float32 `[1, max_chars]`."""
    places, used = fold_table(plain_letters)
    bits = 8 if plain_letters else 4
    levels = np.zeros(2**bits, np.float32)
    levels[: len(used)] = used
    table = from_palette(places[:, None], levels, bits, "ngrams_lower_case")
    is_word = mb.greater(x=characters.classes, y=np.int32(0))
    chars = mb.select(cond=is_word, a=characters.codes, b=np.int32(0), name="ngram_chars")
    found = mb.gather(x=table, indices=mb.minimum(x=chars, y=np.int32(LOWER_CASE_END)), axis=0)
    level, chars = mb.reshape(x=found, shape=[1, chars.shape[1]]), mb.cast(x=chars, dtype="fp32")
    lower = mb.add(x=chars, y=level, name="lower_case_chars" if plain_letters else "folded_chars")
    if not plain_letters:
        return lower
    replaces = mb.greater(x=level, y=_float(LETTER / 2))
    return mb.select(cond=replaces, a=mb.sub(x=level, y=_float(LETTER)), b=lower, name="folded_chars")


def modulo(values: Var, divisor: int, name: str) -> Var:
    """Return the remainder of integers below 2**22, exactly: half a unit keeps the rounded quotient on the right side."""
    share = mb.mul(x=mb.add(x=values, y=_float(0.5)), y=_float(1 / divisor))
    return mb.sub(x=values, y=mb.mul(x=mb.floor(x=share), y=_float(divisor)), name=name)


def _joined(parts: list[Var]) -> Var:
    return parts[0] if len(parts) == 1 else mb.concat(values=parts, axis=1)


class Letters(NamedTuple):
    """The characters of one text, folded to plain letters.

    Attributes:
        chars: float32 `[1, max_chars]`, 0 for separators.
        letters: float32 `[1, max_chars]`, 1 for letters of words with a meaning, else 0.
    """

    chars: Var
    letters: Var


def find_letters(characters: Characters) -> Letters:
    """Fold the characters of one text."""
    values, places = np.unique(rules.letter_table().marked, return_inverse=True)
    levels = np.zeros(256, np.float32)
    levels[: len(values)] = values
    indices = places.reshape(-1, 1).astype(np.uint8)
    table = from_palette(indices, levels, 8, "meaning_letters")
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


def find_meaning(found: Letters, weights: Mapping[str, Floats]) -> Var:
    """Compute the meaning of one text, float32 `[1, 64]`, named `meaning`; see `retvec_lite.meaning.text_vector`."""
    words = _words(found)
    number, known = _look_up(words, weights)
    table = from_palette(weights["meaning/codes"].astype(np.uint8), _BYTES, 8, "meaning_codes")
    codes = mb.gather(x=table, indices=mb.cast(x=number, dtype="int32"), axis=0, name="meaning_word_codes")
    first = np.arange(rules.SUBSPACES, dtype=np.float32) * _float(CODES)
    places = mb.cast(x=mb.add(x=codes, y=first), dtype="int32", name="meaning_codebook_rows")
    books = weights["meaning/codebooks"].astype(np.int8).reshape(rules.CODEBOOK_ROWS)
    ones = np.ones((1, books.shape[1]), np.float32)
    rows = mb.gather(
        x=from_grid(books, ones, 1, "meaning_codebooks"),
        indices=places,
        axis=0,
        name="meaning_word_parts",
    )
    count = words.shape[0]
    vectors = mb.reshape(x=rows, shape=[count, rules.DIMENSION], name="meaning_word_vectors")
    total = mb.matmul(x=mb.reshape(x=known, shape=[1, count]), y=vectors, name="meaning_total")
    square = mb.reduce_sum(x=mb.mul(x=total, y=total), axes=[1], keep_dims=True)
    length = mb.sqrt(x=mb.maximum(x=square, y=_float(1)), name="meaning_length")
    return mb.real_div(x=total, y=length, name="meaning")


def meaning_logits(meaning: Var, weights: Mapping[str, Floats]) -> Var:
    """Compute what the meaning says about the labels, float32 `[1, classes]`."""
    projection = mb.const(val=weights[rules.PROJECTION].astype(np.float32), name="meaning_projection")
    return mb.matmul(x=meaning, y=projection, name="meaning_logits")


def _words(found: Letters) -> Var:
    """Return the numbers of each word's letters, 0 behind it and for words that are too long: float32 `[words, 17]`."""
    length = found.chars.shape[1]
    count, width = rules.word_limit(length), rules.LONGEST + 1
    spread = mb.mul(x=found.chars, y=_float(rules.LETTER_SPREAD))
    share = mb.floor(x=mb.mul(x=spread, y=_float(1 / rules.LETTER_NUMBERS)))
    number = mb.add(x=mb.sub(x=spread, y=mb.mul(x=share, y=_float(rules.LETTER_NUMBERS))), y=_float(1))
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
    ends = mb.slice_by_index(x=behind, begin=[0, rules.LONGEST], end=[count, width])
    fits = mb.cast(x=mb.greater(x=ends, y=_float(0.5)), dtype="fp32")
    inside = mb.mul(x=mb.cast(x=mb.less(x=behind, y=_float(0.5)), dtype="fp32"), y=fits)
    return mb.mul(x=found_numbers, y=inside, name="meaning_word_numbers")


def _look_up(words: Var, weights: Mapping[str, Floats]) -> tuple[Var, Var]:
    """Look up words, float32 `[words, 17]`; return their numbers and 1 where they are known, else 0: float32 `[words]` both."""
    count = words.shape[0]
    sums = mb.matmul(x=words, y=rules.hash_matrix(), name="meaning_sums")
    place, step, mark, first = (
        mb.slice_by_index(x=sums, begin=[0, rules.LOOK_UPS * part], end=[count, rules.LOOK_UPS * (part + 1)])
        for part in range(4)
    )

    def table(name: str) -> Var:
        values = weights[f"meaning/{name}"].astype(np.uint8)
        return from_palette(values.reshape(len(values), -1), _BYTES, 8, f"meaning_{name}")

    def looked_up(name: str, indices: Var, shape: list[int]) -> Var:
        found = mb.gather(x=table(name), indices=mb.cast(x=indices, dtype="int32"), axis=0)
        return mb.reshape(x=found, shape=shape, name=f"meaning_{name}_found")

    size = weights["meaning/displacements"].size
    displacement = looked_up("displacements", modulo(place, size, "meaning_displaced_by"), [count, rules.LOOK_UPS])
    strides = mb.add(x=modulo(step, rules.STEPS, "meaning_step"), y=_float(1))
    row = mb.add(x=first, y=mb.mul(x=displacement, y=strides))
    stored = looked_up(
        "rows", modulo(row, len(weights["meaning/rows"]), "meaning_row_of_word"), [count * rules.LOOK_UPS, 3]
    )
    powers = np.array([[1], [2**8], [2**16]], np.float32)
    value = mb.reshape(x=mb.matmul(x=stored, y=powers), shape=[count, rules.LOOK_UPS], name="meaning_row_value")
    # No letters have the fingerprint 0, which no key has.
    fingerprint = mb.add(
        x=modulo(mark, rules.FINGERPRINTS, "meaning_mark"),
        y=mb.minimum(x=mark, y=_float(1)),
        name="meaning_fingerprint",
    )
    number = mb.sub(x=value, y=mb.mul(x=fingerprint, y=_float(rules.NO_WORD + 1)), name="meaning_number_if_equal")
    hits = mb.logical_and(x=mb.greater_equal(x=number, y=_float(0)), y=mb.less(x=number, y=_float(rules.NO_WORD)))
    counts = np.array([[_EXACT] + [1.0] * rules.LONGEST], np.float32)
    score = mb.mul(x=mb.sub(x=_float(rules.NO_WORD), y=number), y=counts)
    best = mb.reduce_max(
        x=mb.select(cond=hits, a=score, b=_float(0)), axes=[1], keep_dims=False, name="meaning_best_hit"
    )
    is_exact = mb.greater_equal(x=best, y=_float(_EXACT))
    best = mb.select(cond=is_exact, a=mb.mul(x=best, y=_float(1 / _EXACT)), b=best)
    is_known = mb.greater(x=best, y=_float(0))
    number = mb.select(
        cond=is_known, a=mb.sub(x=_float(rules.NO_WORD), y=best), b=_float(0), name="meaning_word_number"
    )
    return number, mb.cast(x=is_known, dtype="fp32", name="meaning_is_known")


def _float(value: float) -> np.float32:
    return np.float32(value)
