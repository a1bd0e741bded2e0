"""What the linear part reads, as TensorFlow graphs in ops that become TFLite builtins: hashed n-grams, and what words mean.

Like the encoder, they compute in float32, where every number is an exact integer; `retvec_lite.ngrams` and `retvec_lite.meaning` are
their references. The table of n-grams is gathered row by row, because a text has a few hundred n-grams and the table many thousand rows:
multiplying all of it would take several times longer. A word is looked up 17 times: as it is, and without each of its 16 letters. All of
its hashes are sums of its letters' numbers times constants, with factors of at most 11 bits, so they are one matrix product.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite import meaning as rules
from retvec_lite.contract import Floats
from retvec_lite.model.encoder_graph import characters, gather_in_rows, later, scatter_in_rows, to_float, to_int
from retvec_lite.ngrams import CODES, FACTOR, LETTER, LOWER_CASE_END, PRIME, NgramConfig, fold_table, table_integers
from retvec_lite.normal_form import UNKNOWN_LETTER


class Ngrams(NamedTuple):
    """The n-grams of a batch of texts.

    Attributes:
        buckets: float32 `[batch, places]` of integers, or hashes where there are codebooks; any where there is no n-gram.
        present: float32 `[batch, places]`, 1 where there is an n-gram, else 0.
    """

    buckets: tf.Tensor
    present: tf.Tensor


def find_ngrams(text: tf.Tensor, config: NgramConfig, plain: tf.Tensor | None = None) -> Ngrams:
    """Hash the n-grams of texts; those with an unknown letter are left out.

    Args:
        text: float32 `[batch, max_chars]`, from `encoder_graph.sanitize`.
        config: which n-grams.
        plain: the characters of the texts folded to plain letters, where they are known.

    Returns:
        A place for each length and each of the `max_chars + 1` characters and marks that an n-gram may begin with.
    """
    chars = plain
    if chars is None or not config.plain_letters:
        places, levels = fold_table(config.plain_letters)
        chars, _ = fold(characters(text), places, levels, config.plain_letters)
    marked = tf.pad(chars, [[0, 0], [1, config.longest]])
    starts = text.shape[1] + 1
    is_char = tf.minimum(marked, 1.0)
    is_known = tf.minimum(tf.abs(marked - UNKNOWN_LETTER), 1.0)
    code: tf.Tensor | float = 1.0
    inner: tf.Tensor | float = 1.0
    known: tf.Tensor | float = 1.0
    hashes, present = [], []
    for length in range(1, config.longest + 1):
        last = slice(length - 1, length - 1 + starts)
        code = modulo(code * float(FACTOR) + marked[:, last], PRIME)
        if length > 2:
            inner = inner * is_char[:, length - 2 : length - 2 + starts]
        known = known * is_known[:, last]
        if length < config.shortest:
            continue
        hashes.append(code)
        if length == 1:
            found = is_char[:, :starts]
        elif length == 2:
            found = tf.maximum(is_char[:, :starts], is_char[:, 1 : 1 + starts])
        else:
            found = inner
        present.append(found * known)
    codes = tf.concat(hashes, axis=1)
    return Ngrams(codes if config.codebooks else modulo(codes, config.buckets), tf.concat(present, axis=1))


def ngram_logits(ngrams: Ngrams, weights: Mapping[str, Floats]) -> tf.Tensor:
    """Compute what n-grams say about the labels, see `retvec_lite.ngrams.ngram_logits`.

    Args:
        ngrams: of a batch of texts.
        weights: `ngrams/table`, `ngrams/squares` and `ngrams/bias`, on their grid, `ngrams/codes` with codebooks, and
            `ngrams/projection` with a rank.

    Returns:
        float32 `[batch, classes]`.
    """
    buckets, present = tf.cast(ngrams.buckets, tf.int32), ngrams.present
    if "ngrams/codes" in weights:
        buckets, present = _coded(buckets, present, np.asarray(weights["ngrams/codes"]))
    projection = weights.get("ngrams/projection")
    table = np.asarray(weights["ngrams/table"])
    # With a rank, the table holds the integers themselves.
    integers, scales = table_integers(table) if projection is None else (np.rint(table).astype(np.int8), None)
    squares = np.asarray(weights["ngrams/squares"]).astype(np.int8)[:, None]
    # One gather and one sum for the labels and the length.
    rows = tf.gather(np.concatenate([integers, squares], axis=1), buckets)
    total = tf.matmul(present[:, None, :], tf.cast(rows, tf.float32))[:, 0]
    length = tf.math.rsqrt(tf.maximum(total[:, -1:], 1.0))
    said = total[:, :-1] * length
    said = said * scales if projection is None else tf.matmul(said, projection)
    return said + weights["ngrams/bias"]


def _coded(hashes: tf.Tensor, present: tf.Tensor, codes: Floats) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the bucket of each hash in every codebook, and `present` for them: both `[batch, places * codebooks]`."""
    books, places = codes.shape[1], hashes.shape[1]
    first = np.arange(books, dtype=np.int32) * CODES
    buckets = tf.cast(tf.gather(codes.astype(np.uint8), hashes), tf.int32) + first
    repeated = present[:, :, None] * np.ones((1, 1, books), np.float32)
    return tf.reshape(buckets, [-1, places * books]), tf.reshape(repeated, [-1, places * books])


def modulo(values: tf.Tensor, divisor: int) -> tf.Tensor:
    """Return the remainder of integers below 2**22, exactly: half a unit keeps the rounded quotient on the right side."""
    return values - tf.floor((values + 0.5) * np.float32(1 / divisor)) * float(divisor)


def fold(
    chars: tf.Tensor, places: npt.NDArray[np.uint8], levels: Floats, plain_letters: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """Fold characters, float32 `[batch, max_chars]`, to lower case or plain letters, by a table as that of `ngrams.fold_table`.

    Returns:
        What the characters become, float32, and the places of their levels, int32; both `[batch, max_chars]`.
    """
    place = tf.cast(tf.gather(places, tf.cast(tf.minimum(chars, float(LOWER_CASE_END)), tf.int32)), tf.int32)
    level = tf.gather(levels, place)
    if not plain_letters:
        return chars + level, place
    # 1 where a letter takes the place of the character.
    replaces = tf.minimum(tf.maximum(level - LETTER / 2, 0.0), 1.0)
    return chars * (1.0 - replaces) + level - replaces * LETTER, place


_EXACT: Final = 2.0**15
"""How much more a hit of the whole word counts: above every other hit."""

_MISS: Final = 2.0**30
"""Pushes what is no hit below zero; above all scores of hits."""


class Letters(NamedTuple):
    """The characters of texts, folded to plain letters.

    Attributes:
        chars: float32 `[batch, max_chars]`, 0 for separators and padding.
        letters: float32 `[batch, max_chars]`, 1 for letters of words with a meaning, else 0.
    """

    chars: tf.Tensor
    letters: tf.Tensor


def find_letters(text: tf.Tensor) -> Letters:
    """Fold texts, float32 `[batch, max_chars]` from `encoder_graph.sanitize`."""
    table = rules.letter_table()
    chars, place = fold(characters(text), table.places, table.levels, True)
    return Letters(chars, tf.gather(table.letters, place))


def count_words(found: Letters) -> tf.Tensor:
    """Return how many words each text has, those included that are too long or beyond the limit: float32 `[batch]`."""
    return tf.reduce_sum(_starts(found), axis=1)


def find_meaning(found: Letters, weights: Mapping[str, Floats]) -> tf.Tensor:
    """Compute the meaning of texts, see `retvec_lite.meaning.text_vector`.

    Args:
        found: the letters of a batch of texts.
        weights: `meaning/{displacements,rows,codes,codebooks}`.

    Returns:
        float32 `[batch, 64]`, of length 1 or 0.
    """
    most = rules.word_limit(found.chars.shape[1])
    words = _words(found, most)
    number, known = _look_up(tf.reshape(words, [-1, words.shape[2]]), weights)
    codes = tf.gather(np.asarray(weights["meaning/codes"]).astype(np.uint8), to_int(number))
    books = np.asarray(weights["meaning/codebooks"]).astype(np.int8).reshape(rules.CODEBOOK_ROWS)
    vectors = tf.gather(books, tf.cast(codes, tf.int32) + np.arange(rules.SUBSPACES, dtype=np.int32) * CODES)
    vectors = tf.reshape(to_float(vectors), [-1, most, rules.DIMENSION])
    total = tf.matmul(tf.reshape(known, [-1, 1, most]), vectors)[:, 0]
    square = tf.reduce_sum(tf.square(total), axis=1, keepdims=True)
    return total * tf.math.rsqrt(tf.maximum(square, 1.0))


def _starts(found: Letters) -> tf.Tensor:
    """Return 1 where a word starts, else 0: float32 `[batch, max_chars]`."""
    return tf.nn.relu(found.letters - later(found.letters, 1))


def _words(found: Letters, words: int) -> tf.Tensor:
    """Return the numbers of each word's letters, 0 behind it and for words that are too long: float32 `[batch, words, 17]`."""
    length, width = found.chars.shape[1], rules.LONGEST + 1
    spread = found.chars * float(rules.LETTER_SPREAD)
    number = spread - tf.floor(spread * (1.0 / rules.LETTER_NUMBERS)) * float(rules.LETTER_NUMBERS)
    number = (number + 1.0) * found.letters

    # As in `encoder_graph.cut_words`: the distance of each start from the end of the text, in the order of the words.
    start = _starts(found)
    index = np.arange(length, dtype=np.float32)
    word = to_float(tf.cumsum(to_int(start), axis=1, exclusive=True))
    ends = scatter_in_rows(to_int(index + start * (word - index)), start * (index - length))[:, :words]
    columns = np.arange(width, dtype=np.float32) + length
    window = gather_in_rows(tf.pad(number, [[0, 0], [0, width]]), to_int(ends[:, :, None] + columns), length + width)
    window = tf.reshape(window, [-1, width])
    # How many places up to each are no letter; none up to the last one where the word is too long.
    behind = tf.matmul(1.0 - tf.minimum(window, 1.0), np.triu(np.ones((width, width), np.float32)))
    kept = tf.nn.relu(1.0 - behind) * tf.minimum(behind[:, rules.LONGEST :], 1.0)
    return tf.reshape(window * kept, [-1, words, width])


def _look_up(words: tf.Tensor, weights: Mapping[str, Floats]) -> tuple[tf.Tensor, tf.Tensor]:
    """Look up words, float32 `[words, 17]`; return their numbers and 1 where they are known, else 0: float32 `[words, 1]` both."""
    displacements = np.asarray(weights["meaning/displacements"]).astype(np.uint8)
    rows = np.asarray(weights["meaning/rows"]).astype(np.uint8)
    place, step, mark, first = tf.split(tf.matmul(words, rules.hash_matrix()), 4, axis=1)
    displacement = to_float(tf.gather(displacements, to_int(modulo(place, len(displacements)))))
    row = modulo(first + displacement * (modulo(step, rules.STEPS) + 1.0), len(rows))
    stored = tf.matmul(
        tf.reshape(to_float(tf.gather(rows, to_int(row))), [-1, 3]), np.array([[1], [2**8], [2**16]], np.float32)
    )
    # No letters have the fingerprint 0, which no key has.
    fingerprint = modulo(mark, rules.FINGERPRINTS) + tf.minimum(mark, 1.0)
    # The number of the word, where the fingerprints are equal; otherwise below 0 or above all numbers.
    number = tf.reshape(stored, [-1, rules.LOOK_UPS]) - fingerprint * float(rules.NO_WORD + 1)
    # A hit counts `NO_WORD - number`: above 0, more for smaller numbers, and most for the whole word.
    weight = np.array([_EXACT] + [1.0] * rules.LONGEST, np.float32)
    score = tf.nn.relu(tf.minimum((float(rules.NO_WORD) - number) * weight, (number + 0.5) * _MISS))
    best = tf.reduce_max(score, axis=1, keepdims=True)
    exact = best * (1.0 / _EXACT)
    is_exact = tf.minimum(tf.floor(exact), 1.0)
    best = best * (1.0 - is_exact) + exact * is_exact
    known = tf.minimum(best, 1.0)
    return (float(rules.NO_WORD) - best) * known, known
