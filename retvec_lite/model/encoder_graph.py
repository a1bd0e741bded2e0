"""The encoder as a TensorFlow graph: rules 1 to 6 of the contract in ops that become TFLite builtins.

Exported files have it, with a batch of 1. No int32 input can make a gather or scatter leave its
tensor: every index is bounded by construction.

Steps per text: look up the class of each code point in a two-stage table; close the gaps of dropped characters; find where
runs of one class start; find where pieces start inside runs; gather the code points of each piece.

Everything but indices is float32, which TFLite runtimes compute several times faster than int32 or bool, because XNNPACK
supports it (docs/speed.md). The arithmetic is exact: every value is an integer below 2**24, possibly divided by a power
of two. The one exception is explained in `_starts_piece`. No matrix product has code points as factors, because GPUs may
round factors to 11 bits (TensorFloat-32).

In the normal form, sums over words and texts mix weights of very different size and are inexact, but only their sign matters, and a
heavier kind of letter always outweighs all lighter ones (see `character_table`).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
import tensorflow as tf

from retvec_lite.contract import BITS, MAX_CODE_POINT, PIECES, EncoderConfig, Piece
from retvec_lite.model.character_table import (
    CLASS,
    DIGIT,
    FIRST_SYMBOL,
    LIKE_LATIN,
    PAGE,
    SIGN,
    CharacterTable,
    character_table,
)
from retvec_lite.normal_form import REGIONAL


def to_int(values: tf.Tensor) -> tf.Tensor:
    """Return values as int32."""
    return tf.cast(values, tf.int32)


def to_float(values: tf.Tensor) -> tf.Tensor:
    """Return values as float32."""
    return tf.cast(values, tf.float32)


def later(values: tf.Tensor, distance: int) -> tf.Tensor:
    """Shift values `distance` places towards the end and fill with zeros."""
    return tf.pad(values, [[0, 0], [distance, 0]])[:, : values.shape[1]]


def earlier(values: tf.Tensor, distance: int) -> tf.Tensor:
    """Shift values `distance` places towards the start and fill with zeros."""
    return tf.pad(values, [[0, 0], [0, distance]])[:, distance:]


def gather_in_rows(values: tf.Tensor, indices: tf.Tensor, size: int) -> tf.Tensor:
    """Compute `values[row, indices[row, ...]]` for `values` `[batch, size]` as one flat gather."""
    rows = _rows(_batch(values), size, indices.shape.rank)
    return tf.gather(tf.reshape(values, [-1]), indices if rows is None else indices + rows)


def scatter_in_rows(indices: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Add `values` to zeros at `indices` of each row; all are `[batch, size]`."""
    batch, size = _batch(indices), indices.shape[1]
    rows = _rows(batch, size, 2)
    flat = tf.reshape(indices if rows is None else indices + rows, [-1, 1])
    scattered = tf.scatter_nd(flat, tf.reshape(values, [-1]), [batch * size])
    return tf.reshape(scattered, [-1, size])


def _rows(batch: tf.Tensor | int, size: int, rank: int) -> tf.Tensor | None:
    """Return where each row of `[batch, size]` starts when flattened; None for a single text, which needs no offset."""
    if isinstance(batch, int) and batch == 1:
        return None
    return tf.reshape(tf.range(batch, dtype=tf.int32) * size, [-1] + [1] * (rank - 1))


def _batch(tensor: tf.Tensor) -> tf.Tensor | int:
    static = tensor.shape[0]
    return tf.shape(tensor)[0] if static is None else int(static)


_BLOCK: Final = 128
"""Rows per block: three stages take half the bytes of two."""

_PURE: Final = 2.0**17
_VETO: Final = 2.0**72
"""Make up for the largest weight of a word of lookalikes, and outweigh all letters of a text."""


def sanitize(codepoints: tf.Tensor, config: EncoderConfig) -> tf.Tensor:
    """Bring texts, int32 `[batch, config.max_chars]` of any values, into their normal form: rules 1 to 3 of the contract.

    Returns:
        `class * CLASS + code point`, 0 for separators and padding: float32 `[batch, max_chars]`.
    """
    table = character_table(config.letters_only)
    kind = _with_flags(_kinds(codepoints, table), codepoints, table)
    if config.letters_only:
        kind = _without_technical(kind, table)
    own = to_float(codepoints) - tf.gather(table.target, kind)
    group = to_int(tf.gather(table.group, kind))
    text = tf.gather(table.base, kind) + own * _keeps(group, table)
    # Dropped characters are zero already, so they add nothing to the character that takes their place.
    text = scatter_in_rows(tf.cumsum(tf.gather(table.kept, group), axis=1, exclusive=True), text)
    return _joined(text)


def _kinds(codepoints: tf.Tensor, table: CharacterTable) -> tf.Tensor:
    """Look up the kind of each code point, int32 `[batch, max_chars]`."""
    pages, rows, high = table.pages
    # One block in front holds what is negative, and one behind everything above the last code point.
    padded = np.zeros((len(pages) - 2) // _BLOCK * _BLOCK + 2 * _BLOCK, np.uint8)
    padded[_BLOCK : len(pages) - 2 + _BLOCK] = pages[1:-1]
    blocks, numbers = np.unique(padded.reshape(-1, _BLOCK), axis=0, return_inverse=True)
    size = PAGE * _BLOCK
    shifted = tf.minimum(tf.maximum(to_float(codepoints), -1.0), MAX_CODE_POINT + 1.0) + size
    block, page = tf.floor(shifted * (1.0 / size)), tf.floor(shifted * (1.0 / PAGE))
    number = to_float(tf.gather(numbers.reshape(-1).astype(np.uint8), to_int(block)))
    row = to_float(tf.gather(blocks.reshape(-1), to_int((number - block) * _BLOCK + page)))
    kind = to_int(tf.gather(rows.reshape(-1), to_int((row - page) * PAGE + shifted)))
    return kind if high == len(rows) else kind + to_int(_flag(row, high) * 256.0)


def _with_flags(kind: tf.Tensor, codepoints: tf.Tensor, table: CharacterTable) -> tf.Tensor:
    """Make symbols of two regional indicators side by side, which are letters otherwise."""
    middle, reach = sum(REGIONAL) / 2, (REGIONAL[1] - REGIONAL[0]) / 2
    regional = tf.nn.relu(1.0 - tf.nn.relu(tf.abs(to_float(codepoints) - middle) - reach))
    first = tf.nn.relu(_sum_around(tf.reshape(regional, [-1, 1, kind.shape[1], 1]), [0, -1, 1, 1, -1]) - 1.0)
    flags = tf.reshape(_sum_around(first, [0, 1, 1, 0, 0]), [-1, kind.shape[1]])
    return to_int(to_float(kind) + flags * (table.symbol - to_float(kind)))


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
    balance = tf.reduce_sum(tf.gather(table.balance, group), axis=1, keepdims=True)
    of_word = gather_in_rows(words, word, length) + tf.gather(table.replaced, group)
    mixed = tf.reduce_sum(tf.nn.relu(tf.gather(table.like, group) - tf.nn.relu(1.0 - of_word)), axis=1, keepdims=True)
    veto = tf.minimum(balance, 0.0) * _VETO
    return tf.nn.relu(1.0 - tf.nn.relu(of_word + ((tf.nn.relu(votes) + mixed) * _PURE + veto)))


def _joined(text: tf.Tensor) -> tf.Tensor:
    """Apply rule 2d, and give letters, digits, signs and symbols the class 1.

    Separators between single letters are found with convolutions, each of which saves several shifts.
    """
    length = text.shape[1]
    whole = tf.reshape(text, [-1, 1, length, 1])
    # All signs and symbols are one.
    row = tf.minimum(whole, SIGN * CLASS)
    padded = tf.pad(row, [[0, 0], [0, 0], [2, 0], [0, 0]])
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
    decorates = tf.nn.relu(symbol + beside - 2.0)
    kept = 1.0 - tf.maximum(joins, decorates)
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


_CLASS: Final = float(2**BITS)
"""Code point and class are packed into one number, `class * _CLASS + code point`; separators are 0."""

_STEEP: Final = 1024.0
"""Factor that lifts values of at least 1/128 to above 1, where a minimum with 1 cuts them."""


def cut_words(text: tf.Tensor, config: EncoderConfig) -> tf.Tensor:
    """Cut sanitized texts into words: rules 4 and 5.

    Args:
        text: float32 `[batch, config.max_chars]`, from `sanitize`.
        config: the parameters of the contract.

    Returns:
        int32 `[batch, max_words, word_length]`. A slot is empty exactly when its first code point is 0.
    """
    length, slots, width = config.max_chars, config.max_words, config.word_length
    # How runs of each class are cut, from class 1 on.
    rules = [Piece(width, width), *PIECES.values()]
    classes = tf.floor(text * (1.0 / _CLASS))
    start = _starts_piece(classes, rules)

    # Scatter each start to its slot, as the distance from the end of the text, so that empty slots (0) point at the zeros
    # behind it. All other positions add zero, each to a different place: additions to one place would be serialized.
    index = np.arange(length, dtype=np.float32)
    slot = to_float(tf.cumsum(to_int(start), axis=1, exclusive=True))
    ends = scatter_in_rows(to_int(index + start * (slot - index)), start * (index - length))
    ends = ends[:, :slots] if slots <= length else tf.pad(ends, [[0, 0], [0, slots - length]])

    columns = np.arange(width, dtype=np.float32)
    window = gather_in_rows(
        tf.pad(text, [[0, 0], [0, width]]), to_int(ends[:, :, None] + (columns + length)), length + width
    )
    window_classes = tf.floor(window * (1.0 / _CLASS))
    own = window_classes[:, :, :1]
    foreign = tf.abs(window_classes - own)
    foreign += tf.nn.relu((columns + 1.0) - _by_class(own, [rule.length for rule in rules]))
    # A cumulative sum of what does not belong to the piece: 0 up to its last column. Written as a matrix product, which
    # XNNPACK supports; its factors are small integers.
    behind = tf.matmul(tf.reshape(foreign, [-1, width]), np.triu(np.ones((width, width), np.float32)))
    inside = tf.nn.relu(1.0 - tf.reshape(behind, [-1, slots, width]))
    return to_int((window - window_classes * _CLASS) * inside)


def word_bits(words: tf.Tensor) -> tf.Tensor:
    """Write every code point as its 21 binary digits, most significant first.

    Digit k of c is 1 exactly when the fraction of c / 2**(k+1) is at least 1/2. This is exact in float32, because code
    points are below 2**24.

    Args:
        words: int32 `[batch, words, word_length]`, Unicode scalar values.

    Returns:
        float32 `[batch, words, word_length * 21]` of zeros and ones.
    """
    slots, width = words.shape[1], words.shape[2]
    powers = np.arange(BITS, 0, -1, dtype=np.float32)
    shifted = to_float(words)[..., None] * np.exp2(-powers)
    share = shifted - tf.floor(shifted)
    return tf.reshape(tf.floor(share + share), [-1, slots, width * BITS])


def characters(text: tf.Tensor) -> tf.Tensor:
    """Return the code points of sanitized texts, 0 for separators and padding: float32 `[batch, max_chars]`."""
    return text - tf.floor(text * (1.0 / _CLASS)) * _CLASS


def _starts_piece(classes: tf.Tensor, rules: Sequence[Piece]) -> tf.Tensor:
    """Apply rules 4 and 5: mark where pieces start.

    Args:
        classes: float32 `[batch, max_chars]`, 0 for separators.
        rules: how runs of class 1, 2, ... are cut.

    Returns:
        float32 `[batch, max_chars]`, 1 where a piece starts, else 0.
    """
    is_first = tf.minimum(tf.abs(classes - later(classes, 1)), 1.0)
    # One more than the index where the run starts: a running maximum that looks back twice as far in every pass.
    count = np.arange(1, classes.shape[1] + 1, dtype=np.float32)
    first = is_first * count
    distance = 1
    while distance < classes.shape[1]:
        first = tf.maximum(first, later(first, distance))
        distance *= 2
    # `steps` is the position in the run plus 1/2, divided by the step. Its fraction is 0.5 / step at the start of a step and
    # at least 1.5 / step elsewhere, so comparing it with 1 / step is safe: for up to 65,536 code points and steps up to 64,
    # rounding changes it by less than 0.1 / step.
    inverse = _by_class(classes, [1.0 / rule.step for rule in rules])
    steps = ((count + 0.5) - first) * inverse
    on_step = (inverse - (steps - tf.floor(steps))) * _STEEP
    may_start: tf.Tensor | float = 1.0
    for key, rule in enumerate(rules, start=1):
        overlap = rule.length - rule.step
        if overlap > 0:
            # A later piece of an overlapping rule must show a code point that the piece before it has not shown.
            other_run = tf.abs(earlier(first, overlap) - first)
            may_start -= tf.minimum(_is_class(classes, key, len(rules)), other_run)
    return tf.minimum(tf.maximum(tf.minimum(on_step, may_start), is_first), tf.minimum(classes, 1.0))


def _by_class(classes: tf.Tensor, values: Sequence[float]) -> tf.Tensor | float:
    """Look up a value per class, from class 1 on; undefined for class 0. Avoids a gather, the slowest op."""
    usual = np.float32(Counter(values).most_common(1)[0][0])
    result: tf.Tensor | float = float(usual)
    for key, value in enumerate(values, start=1):
        if np.float32(value) != usual:
            result += _is_class(classes, key, len(values)) * (np.float32(value) - usual)
    return result


def _is_class(classes: tf.Tensor, key: int, last: int) -> tf.Tensor:
    """Return 1 where the class is `key`, else 0; undefined for class 0."""
    if key == last:
        return tf.nn.relu(classes - (key - 1.0))
    if key == 1:
        return tf.nn.relu(2.0 - classes)
    return tf.nn.relu(1.0 - tf.abs(classes - float(key)))
