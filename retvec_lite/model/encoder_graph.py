"""The encoder as a TensorFlow graph: the contract's rules 1 to 6 in ops that become TFLite builtins.

One implementation serves training (any batch) and export (batch 1). All index arithmetic is bounded by construction: no
int32 input can make a gather or scatter leave its tensor.

The plan, per text: look every code point's class up in a two-stage table; close the gaps of dropped characters; find
where runs of one class start; find where pieces start inside runs; gather each piece's code points.

What is not an index is float32, because TFLite's runtimes compute elementwise float32 several times faster than int32 or
bool (XNNPACK takes the one and not the other; docs/speed.md). It loses nothing: every number is an integer below 2**24, or
such a number over a power of two, but for the share of a step in `_starts_piece`, which says why it cannot err. No matrix
product sees a code point: graphics processors may round its factors to 11 bits.
"""

import functools
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite.contract import (
    BITS,
    INVISIBLE,
    MAX_CODE_POINT,
    REPLACEMENT,
    SEPARATORS,
    UNSPACED,
    EncoderConfig,
    Piece,
)

_INVISIBLE, _SEPARATOR, _SPACED = range(3)
"""The table's classes; one for each unspaced script with a rule follows. Behind the table they are one less: 0 separates."""
_PAGE: Final = 256
_CLASS: Final = float(2**BITS)
"""Code point and class travel as one number, `class * _CLASS + code point`; separators are 0."""
_STEEP: Final = 1024.0
"""Makes 1 or more of anything from a 128th on, for a minimum with 1 to follow."""


class _ClassTable(NamedTuple):
    """Two-stage lookup: `classes[pages[code // 256 + 1] * 256 + code % 256]`, for codes from -1 to 0x110000.

    Values that are no Unicode scalar value fill whole pages; for these `pages` is 0, and the class is that of U+FFFD.
    """

    pages: npt.NDArray[np.uint8]
    classes: npt.NDArray[np.uint8]


def encode_words(codepoints: tf.Tensor, config: EncoderConfig) -> tf.Tensor:
    """Cut texts into words.

    Args:
        codepoints: int32 `[batch, config.max_chars]`, zero-padded code points; any int32 value is allowed.
        config: the contract's parameters.

    Returns:
        int32 `[batch, max_words, word_length]`; a slot is empty exactly when its first code point is 0.
    """
    length, slots, width = config.max_chars, config.max_words, config.word_length
    rules = _rules(config)
    text = _sanitized(codepoints, config)
    classes = tf.floor(text * (1.0 / _CLASS))
    start = _starts_piece(classes, rules)

    # A start goes to its slot, as a distance from the text's end: empty slots then point at the zeros behind the text.
    # All else adds zero, each at a place of its own, since many additions to one place wait for each other.
    index = np.arange(length, dtype=np.float32)
    slot = _float(tf.cumsum(_int(start), axis=1, exclusive=True))
    ends = _scatter(_int(index + start * (slot - index)), start * (index - length))
    ends = ends[:, :slots] if slots <= length else tf.pad(ends, [[0, 0], [0, slots - length]])

    columns = np.arange(width, dtype=np.float32)
    window = _gather(tf.pad(text, [[0, 0], [0, width]]), _int(ends[:, :, None] + (columns + length)), length + width)
    window_classes = tf.floor(window * (1.0 / _CLASS))
    own = window_classes[:, :, :1]
    foreign = tf.abs(window_classes - own)
    if any(rule.length < width for rule in rules):
        foreign += tf.nn.relu((columns + 1.0) - _by_class(own, [rule.length for rule in rules]))
    # How much there is that does not belong to the piece, up to each column: a cumulative sum as a product, which XNNPACK
    # has. Its factors are small integers.
    behind = tf.matmul(tf.reshape(foreign, [-1, width]), np.triu(np.ones((width, width), np.float32)))
    inside = tf.nn.relu(1.0 - tf.reshape(behind, [-1, slots, width]))
    return _int((window - window_classes * _CLASS) * inside)


def word_bits(words: tf.Tensor) -> tf.Tensor:
    """Every code point as its 21 binary digits, most significant first.

    Float32 arithmetic, exact because code points stay below 2**24: digit k of c says whether c / 2**(k+1) is half or more
    above the next integer below.

    Args:
        words: int32 `[batch, words, word_length]`, Unicode scalar values.

    Returns:
        float32 `[batch, words, word_length * 21]` of zeros and ones.
    """
    slots, width = words.shape[1], words.shape[2]
    powers = np.arange(BITS, 0, -1, dtype=np.float32)
    shifted = _float(words)[..., None] * np.exp2(-powers)
    share = shifted - tf.floor(shifted)
    return tf.reshape(tf.floor(share + share), [-1, slots, width * BITS])


def _sanitized(codepoints: tf.Tensor, config: EncoderConfig) -> tf.Tensor:
    """Rules 1 to 3, float32 `[batch, max_chars]`: `class * _CLASS + code point`, zeros for separators and behind the text."""
    table = _class_table(tuple(name for name in UNSPACED if getattr(config, name)), config.drop_invisible)
    # Shifted by a page, so that the page of negative values has number 0.
    shifted = tf.minimum(tf.maximum(_float(codepoints), -1.0), MAX_CODE_POINT + 1.0) + _PAGE
    page = tf.floor(shifted * (1.0 / _PAGE))
    class_page = _float(tf.gather(table.pages, _int(page)))
    classes = _float(tf.gather(table.classes, _int((class_page - page) * _PAGE + shifted)))
    invalid = tf.nn.relu(1.0 - class_page)
    chars = shifted - _PAGE
    chars += invalid * (REPLACEMENT - chars)
    word_classes = tf.nn.relu(classes - _SEPARATOR)
    text = chars * tf.minimum(word_classes, 1.0) + word_classes * _CLASS
    if not config.drop_invisible:
        return text
    # What is dropped is zero already, and adds nothing to the character that comes to its place.
    kept = _int(tf.minimum(classes, 1.0))
    return _scatter(tf.cumsum(kept, axis=1, exclusive=True), text)


def _starts_piece(classes: tf.Tensor, rules: Sequence[Piece]) -> tf.Tensor:
    """Rules 4 and 5: float32 like `classes`, 1 where a piece starts.

    Args:
        classes: float32 `[batch, max_chars]`, 0 for separators.
        rules: how runs of class 1, 2, ... are cut.
    """
    is_first = tf.minimum(tf.abs(classes - _later(classes, 1)), 1.0)
    # One more than the index where the run starts, by doubling: every pass looks twice as far back.
    count = np.arange(1, classes.shape[1] + 1, dtype=np.float32)
    first = is_first * count
    distance = 1
    while distance < classes.shape[1]:
        first = tf.maximum(first, _later(first, distance))
        distance *= 2
    # The position in the run, plus a half, in steps. At the start of a step its share is half of a step's inverse, and at
    # least one and a half of it elsewhere; with up to 65,536 code points and steps up to 64 it is off by less than a tenth.
    inverse = _by_class(classes, [1.0 / rule.step for rule in rules])
    steps = ((count + 0.5) - first) * inverse
    on_step = (inverse - (steps - tf.floor(steps))) * _STEEP
    may_start: tf.Tensor | float = 1.0
    for key, rule in enumerate(rules, start=1):
        overlap = rule.length - rule.step
        if overlap > 0:
            # Later pieces of overlapping rules must show a code point that the piece before has not shown.
            other_run = tf.abs(_earlier(first, overlap) - first)
            may_start -= tf.minimum(_is_class(classes, key, len(rules)), other_run)
    return tf.minimum(tf.maximum(tf.minimum(on_step, may_start), is_first), tf.minimum(classes, 1.0))


def _rules(config: EncoderConfig) -> list[Piece]:
    """How runs of each class of characters are cut, from class 1 on."""
    never = 1 << 30
    spaced = Piece(config.word_length, never if config.overflow == "truncate" else config.word_length)
    return [spaced, *(getattr(config, name) for name in UNSPACED if getattr(config, name))]


def _by_class(classes: tf.Tensor, values: Sequence[float]) -> tf.Tensor | float:
    """The value of each class, from class 1 on; meaningless for class 0. A table would need a gather, the dearest op."""
    usual = np.float32(Counter(values).most_common(1)[0][0])
    result: tf.Tensor | float = float(usual)
    for key, value in enumerate(values, start=1):
        if np.float32(value) != usual:
            result += _is_class(classes, key, len(values)) * (np.float32(value) - usual)
    return result


def _is_class(classes: tf.Tensor, key: int, last: int) -> tf.Tensor:
    """1 where the class is `key`, else 0; meaningless for class 0."""
    if key == last:
        return tf.nn.relu(classes - (key - 1.0))
    if key == 1:
        return tf.nn.relu(2.0 - classes)
    return tf.nn.relu(1.0 - tf.abs(classes - float(key)))


@functools.cache
def _class_table(unspaced: tuple[str, ...], drops_invisible: bool) -> _ClassTable:
    classes = np.full(MAX_CODE_POINT + 1, _SPACED, np.uint8)
    classes[[0, *SEPARATORS]] = _SEPARATOR
    if drops_invisible:
        classes[list(INVISIBLE)] = _INVISIBLE
    for place, name in enumerate(unspaced, start=1):
        for first, last in UNSPACED[name]:
            classes[first : last + 1] = _SPACED + place
    pages = classes.reshape(-1, _PAGE)
    valid = np.ones(len(pages), bool)
    valid[0xD800 // _PAGE : 0xE000 // _PAGE] = False
    distinct, numbers = np.unique(pages[valid], axis=0, return_inverse=True)
    table = np.zeros(len(pages) + 2, np.uint8)
    table[1:-1][valid] = numbers.reshape(-1) + 1
    replaced = np.full((1, _PAGE), classes[REPLACEMENT])
    return _ClassTable(table, np.concatenate([replaced, distinct]).reshape(-1))


def _int(values: tf.Tensor) -> tf.Tensor:
    return tf.cast(values, tf.int32)


def _float(values: tf.Tensor) -> tf.Tensor:
    return tf.cast(values, tf.float32)


def _later(values: tf.Tensor, distance: int) -> tf.Tensor:
    """Everything `distance` places further to the end, zeros before it."""
    return tf.pad(values, [[0, 0], [distance, 0]])[:, : values.shape[1]]


def _earlier(values: tf.Tensor, distance: int) -> tf.Tensor:
    """Everything `distance` places nearer to the start, zeros behind it."""
    return tf.pad(values, [[0, 0], [0, distance]])[:, distance:]


def _rows(batch: tf.Tensor | int, size: int, rank: int) -> tf.Tensor | None:
    """Where each text's row starts in a flattened `[batch, size]`; None for a single text, whose graph needs no offset."""
    if isinstance(batch, int) and batch == 1:
        return None
    return tf.reshape(tf.range(batch, dtype=tf.int32) * size, [-1] + [1] * (rank - 1))


def _batch(tensor: tf.Tensor) -> tf.Tensor | int:
    static = tensor.shape[0]
    return tf.shape(tensor)[0] if static is None else int(static)


def _gather(values: tf.Tensor, indices: tf.Tensor, size: int) -> tf.Tensor:
    """`values[row, indices[row, ...]]` for `values` `[batch, size]`, as one flat gather."""
    rows = _rows(_batch(values), size, indices.shape.rank)
    return tf.gather(tf.reshape(values, [-1]), indices if rows is None else indices + rows)


def _scatter(indices: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Zeros `[batch, size]` with `values`, of the same shape, added at `indices` of each row."""
    batch, size = _batch(indices), indices.shape[1]
    rows = _rows(batch, size, 2)
    flat = tf.reshape(indices if rows is None else indices + rows, [-1, 1])
    scattered = tf.scatter_nd(flat, tf.reshape(values, [-1]), [batch * size])
    return tf.reshape(scattered, [-1, size])
