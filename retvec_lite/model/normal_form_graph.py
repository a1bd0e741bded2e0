"""The normal form as a TensorFlow graph: rules 1 to 3 of version 2 of the contract, in ops that become TFLite builtins.

Like the encoder, it computes with integers in float32. Sums over words and texts mix weights of very different size and are
inexact, but only their sign matters, and a heavier kind of letter always outweighs all lighter ones (see `character_table`).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import tensorflow as tf

from retvec_lite.contract import MAX_CODE_POINT, EncoderConfig
from retvec_lite.model.character_table import (
    CLASS,
    DIGIT,
    FIRST_SYMBOL,
    FOREIGN_LETTER,
    LIKE_LATIN,
    SIGN,
    CharacterTable,
    character_table,
)
from retvec_lite.model.graph_ops import gather_in_rows, scatter_in_rows, to_float, to_int

_PAGE: Final = 32
"""Code points per row of the table."""

_BLOCK: Final = 128
"""Rows per block: three stages take half the bytes of two."""

_PURE: Final = 2.0**17
"""Makes up for the largest weight of a word of lookalikes."""

_VETO: Final = 2.0**45


def normal_text(codepoints: tf.Tensor, config: EncoderConfig) -> tf.Tensor:
    """Bring texts into their normal form.

    Args:
        codepoints: int32 `[batch, config.max_chars]`; any int32 value is allowed.
        config: the parameters of the contract.

    Returns:
        `class * CLASS + code point`, 0 for separators and padding: float32 `[batch, max_chars]`.
    """
    table = character_table(config.letters_only)
    kind = _kinds(codepoints, table)
    if config.letters_only:
        kind = _without_technical(kind, table)
    own = to_float(codepoints) - tf.gather(table.target, kind)
    group = to_int(tf.gather(table.group, kind))
    text = tf.gather(table.base, kind) + own * _keeps(group, table)
    # Dropped characters are zero already, so they add nothing to the character that takes their place.
    return _joined(scatter_in_rows(tf.cumsum(tf.gather(table.kept, group), axis=1, exclusive=True), text))


def _kinds(codepoints: tf.Tensor, table: CharacterTable) -> tf.Tensor:
    """Look up the kind of each code point, int32 `[batch, max_chars]`."""
    pages, rows = table.pages(_PAGE)
    # One block in front holds what is negative, and one behind everything above the last code point.
    padded = np.zeros((len(pages) - 2) // _BLOCK * _BLOCK + 2 * _BLOCK, np.uint8)
    padded[_BLOCK : len(pages) - 2 + _BLOCK] = pages[1:-1]
    blocks, numbers = np.unique(padded.reshape(-1, _BLOCK), axis=0, return_inverse=True)
    size = _PAGE * _BLOCK
    shifted = tf.minimum(tf.maximum(to_float(codepoints), -1.0), MAX_CODE_POINT + 1.0) + size
    block, page = tf.floor(shifted * (1.0 / size)), tf.floor(shifted * (1.0 / _PAGE))
    number = to_float(tf.gather(numbers.reshape(-1).astype(np.uint8), to_int(block)))
    row = to_float(tf.gather(blocks.reshape(-1), to_int((number - block) * _BLOCK + page)))
    return to_int(tf.gather(rows.reshape(-1), to_int((row - page) * _PAGE + shifted)))


def _without_technical(kind: tf.Tensor, table: CharacterTable) -> tf.Tensor:
    """Turn words with a sign of `TECHNICAL` into spaces; what ends words, and what rule 2a drops, stays."""
    word = tf.cumsum(tf.gather(table.ends, kind), axis=1, exclusive=True)
    words = tf.minimum(scatter_in_rows(word, tf.gather(table.technical, kind)), 1.0)
    of_word = tf.gather((table.kept[table.group] - table.ends).astype(np.float32), kind)
    spaces = gather_in_rows(words, word, kind.shape[1]) * of_word
    return to_int(to_float(kind) + spaces * (table.space - to_float(kind)))


def _keeps(group: tf.Tensor, table: CharacterTable) -> tf.Tensor:
    """Return 1 where a code point keeps its own number, else 0: rules 2b and 2c."""
    length = group.shape[1]
    weight = tf.gather(table.weight, group)
    word = tf.cumsum(tf.gather(table.parts, group), axis=1, exclusive=True)
    words = scatter_in_rows(word, weight)
    votes = tf.reduce_sum(tf.maximum(tf.minimum(words, -LIKE_LATIN), LIKE_LATIN), axis=1, keepdims=True)
    balance = tf.reduce_sum(tf.maximum(tf.minimum(weight, -FOREIGN_LETTER), FOREIGN_LETTER), axis=1, keepdims=True)
    of_word = gather_in_rows(words, word, length) + tf.gather(table.replaced, group)
    mixed = tf.reduce_sum(tf.nn.relu(tf.gather(table.like, group) - tf.nn.relu(1.0 - of_word)), axis=1, keepdims=True)
    # All lookalikes of a text weigh less than any other letter.
    veto = tf.minimum(balance + 1.5 * _PURE, 0.0) * _VETO
    return tf.nn.relu(1.0 - tf.nn.relu(of_word + ((tf.nn.relu(votes) + mixed) * _PURE + veto)))


def _joined(text: tf.Tensor) -> tf.Tensor:
    """Apply rules 2d and 2e, and give letters, digits, signs and symbols the class 1.

    Separators between single letters are found with convolutions, each of which saves several shifts.
    """
    length = text.shape[1]
    whole = tf.reshape(text, [-1, 1, length, 1])
    # All signs and symbols are one.
    row = tf.minimum(whole, SIGN * CLASS)
    padded = tf.pad(row, [[0, 0], [0, 0], [2, 0], [0, 0]])
    other_before = tf.math.squared_difference(row, padded[:, :, 1:-1])
    other_two_before = tf.math.squared_difference(row, padded[:, :, :-2])
    # 0 for letters; for everything else a number of its own.
    other = tf.nn.relu(row + 1.0)
    letter = tf.nn.relu(1.0 - other)
    sign, symbol = (_flag(whole, SIGN * CLASS + first) for first in (0.0, FIRST_SYMBOL))
    digit = _flag(whole, DIGIT * CLASS) - sign
    # Between single letters or digits; between letters; between and like the one before; in the middle of three that are alike.
    beside = _sum_around(letter, [0, 1, 0, 1, 0])
    between = tf.nn.relu(_sum_around(letter + digit, [-1, 1, -1, 1, -1]) - 1.0)
    of_letters = tf.nn.relu(beside + between - 2.0)
    alike = tf.nn.relu(_sum_around(of_letters, [1, 0, 1, 0, 0]) - 1.0 - other_two_before)
    middle = tf.nn.relu(_sum_around(alike, [0, 0, 1, 0, 1]) - 1.0)
    separator = tf.reduce_max(middle * other, axis=2, keepdims=True)
    joins = tf.nn.relu(between - tf.math.squared_difference(other, separator))
    repeats = tf.nn.relu(letter - other_before - other_two_before)
    decorates = tf.nn.relu(symbol + beside - 2.0)
    kept = 1.0 - tf.maximum(joins, decorates) - repeats
    raised = letter * (2.0 * CLASS) - digit * ((DIGIT - 1.0) * CLASS) - sign * ((SIGN - 1.0) * CLASS)
    found = tf.reshape((whole + raised) * kept, [-1, length])
    return scatter_in_rows(tf.cumsum(to_int(tf.reshape(kept, [-1, length])), axis=1, exclusive=True), found)


def _flag(values: tf.Tensor, least: float) -> tf.Tensor:
    """Return 1 for integers that are at least so large, else 0."""
    return tf.minimum(tf.nn.relu(values - (least - 1.0)), 1.0)


def _sum_around(values: tf.Tensor, factors: Sequence[int]) -> tf.Tensor:
    """Return the weighted sums of each place, the two before and the two after it: float32 `[batch, 1, length, 1]`."""
    kernel = np.array(factors, np.float32).reshape(1, -1, 1, 1)
    return tf.nn.conv2d(values, kernel, strides=1, padding="SAME")
