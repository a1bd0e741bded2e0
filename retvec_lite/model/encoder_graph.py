"""The encoder as a TensorFlow graph: rules 1 to 6 of the contract in ops that become TFLite builtins.

Exported files have it, with a batch of 1. No int32 input can make a gather or scatter leave its
tensor: every index is bounded by construction.

Steps per text: look up the class of each code point in a two-stage table; close the gaps of dropped characters; find where
runs of one class start; find where pieces start inside runs; gather the code points of each piece.

Everything but indices is float32, which TFLite runtimes compute several times faster than int32 or bool, because XNNPACK
supports it (docs/speed.md). The arithmetic is exact: every value is an integer below 2**24, possibly divided by a power
of two. The one exception is explained in `_starts_piece`. No matrix product has code points as factors, because GPUs may
round factors to 11 bits (TensorFloat-32).
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
    PIECES,
    REPLACEMENT,
    SEPARATING,
    UNSPACED,
    EncoderConfig,
    Piece,
)
from retvec_lite.model.graph_ops import earlier, gather_in_rows, later, scatter_in_rows, to_float, to_int
from retvec_lite.model.normal_form_graph import normal_text

_INVISIBLE, _SEPARATOR, _SPACED = range(3)
"""The classes in the table; then one for each unspaced script. After the lookup, 1 is subtracted, so that
separators are 0 and spaced text is 1."""

_PAGE: Final = 256
"""Code points per page of the table."""

_CLASS: Final = float(2**BITS)
"""Code point and class are packed into one number, `class * _CLASS + code point`; separators are 0."""

_STEEP: Final = 1024.0
"""Factor that lifts values of at least 1/128 to above 1, where a minimum with 1 cuts them."""


class _ClassTable(NamedTuple):
    """A two-stage table: `classes[pages[code // 256 + 1] * 256 + code % 256]`, for codes from -1 to 0x110000.

    Values that are not Unicode scalar values fill whole pages, whose entry in `pages` is 0. Their class is that of U+FFFD.
    """

    pages: npt.NDArray[np.uint8]
    classes: npt.NDArray[np.uint8]


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


def sanitize(codepoints: tf.Tensor, config: EncoderConfig) -> tf.Tensor:
    """Apply rules 1 to 3 of the contract.

    Args:
        codepoints: int32 `[batch, config.max_chars]`; any int32 value is allowed.
        config: the parameters of the contract.

    Returns:
        `class * _CLASS + code point`, 0 for separators and padding: float32 `[batch, max_chars]`.
    """
    if config.contract_version > 1:
        return normal_text(codepoints, config)
    table = _class_table()
    # Shift by one page, so that negative values lie on page 0.
    shifted = tf.minimum(tf.maximum(to_float(codepoints), -1.0), MAX_CODE_POINT + 1.0) + _PAGE
    page = tf.floor(shifted * (1.0 / _PAGE))
    class_page = to_float(tf.gather(table.pages, to_int(page)))
    classes = to_float(tf.gather(table.classes, to_int((class_page - page) * _PAGE + shifted)))
    invalid = tf.nn.relu(1.0 - class_page)
    chars = shifted - _PAGE
    chars += invalid * (REPLACEMENT - chars)
    word_classes = tf.nn.relu(classes - _SEPARATOR)
    text = chars * tf.minimum(word_classes, 1.0) + word_classes * _CLASS
    # Dropped characters are zero already, so they add nothing to the character that takes their place.
    kept = to_int(tf.minimum(classes, 1.0))
    return scatter_in_rows(tf.cumsum(kept, axis=1, exclusive=True), text)


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


@functools.cache
def _class_table() -> _ClassTable:
    classes = np.full(MAX_CODE_POINT + 1, _SPACED, np.uint8)
    classes[[*SEPARATING]] = _SEPARATOR
    classes[list(INVISIBLE)] = _INVISIBLE
    for place, ranges in enumerate(UNSPACED.values(), start=1):
        for first, last in ranges:
            classes[first : last + 1] = _SPACED + place
    pages = classes.reshape(-1, _PAGE)
    valid = np.ones(len(pages), bool)
    valid[0xD800 // _PAGE : 0xE000 // _PAGE] = False
    distinct, numbers = np.unique(pages[valid], axis=0, return_inverse=True)
    table = np.zeros(len(pages) + 2, np.uint8)
    table[1:-1][valid] = numbers.reshape(-1) + 1
    replaced = np.full((1, _PAGE), classes[REPLACEMENT])
    return _ClassTable(table, np.concatenate([replaced, distinct]).reshape(-1))
