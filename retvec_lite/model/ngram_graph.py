"""Hashed character n-grams as a TensorFlow graph, in ops that become TFLite builtins.

Like the encoder, it computes in float32, where every number is an
exact integer (see `retvec_lite.ngrams`). The table of weights is gathered row by row, because a text has a few hundred n-grams
and the table many thousand rows: multiplying all of it would take several times longer.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite.contract import Floats
from retvec_lite.model.encoder_graph import characters
from retvec_lite.ngrams import CODES, FACTOR, LETTER, LOWER_CASE_END, PRIME, NgramConfig, fold_table, table_integers


class Ngrams(NamedTuple):
    """The n-grams of a batch of texts.

    Attributes:
        buckets: float32 `[batch, places]` of integers, or hashes where there are codebooks; any where there is no n-gram.
        present: float32 `[batch, places]`, 1 where there is an n-gram, else 0.
    """

    buckets: tf.Tensor
    present: tf.Tensor


def find_ngrams(text: tf.Tensor, config: NgramConfig, plain: tf.Tensor | None = None) -> Ngrams:
    """Hash the n-grams of texts.

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
    code: tf.Tensor | float = 1.0
    inner: tf.Tensor | float = 1.0
    hashes, present = [], []
    for length in range(1, config.longest + 1):
        last = marked[:, length - 1 : length - 1 + starts]
        code = modulo(code * float(FACTOR) + last, PRIME)
        if length > 2:
            inner = inner * is_char[:, length - 2 : length - 2 + starts]
        if length < config.shortest:
            continue
        hashes.append(code)
        if length == 1:
            present.append(is_char[:, :starts])
        elif length == 2:
            present.append(tf.maximum(is_char[:, :starts], is_char[:, 1 : 1 + starts]))
        else:
            present.append(inner)
    found = tf.concat(hashes, axis=1)
    return Ngrams(found if config.codebooks else modulo(found, config.buckets), tf.concat(present, axis=1))


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
