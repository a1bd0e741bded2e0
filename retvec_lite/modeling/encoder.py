"""The encoder as a TensorFlow graph: the contract's rules 1 to 6 in ops that become TFLite builtins.

One implementation serves training (any batch) and export (batch 1). All index arithmetic is bounded by construction: no
int32 input can make a gather or scatter leave its tensor.

The plan, per text: look every code point's class up in a two-stage table; close the gaps of dropped characters; find
where runs of one class start; find where pieces start inside runs; gather each piece's code points.
"""

import functools
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from retvec_lite.config import (
    BITS,
    INVISIBLE,
    MAX_CODE_POINT,
    REPLACEMENT,
    SEPARATORS,
    UNSPACED,
    EncoderConfig,
    Piece,
)

_SEPARATOR, _SPACED, _INVISIBLE, _INVALID, _FIRST_UNSPACED = range(5)
_UNSPACED: Final = {name: _FIRST_UNSPACED + place for place, name in enumerate(UNSPACED)}
_PAGE: Final = 256


class _ClassTable(NamedTuple):
    """Two-stage lookup: `classes[pages[code // 256] * 256 + code % 256]`; page 0 of `pages` stands for code points < 0."""

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
    chars, classes = _classify(codepoints, config)
    if config.drop_invisible:
        chars, classes = _drop_invisible(chars, classes, length)

    before = tf.pad(classes, [[0, 0], [1, 0]])[:, :length]
    is_word = tf.not_equal(classes, _SEPARATOR)
    run_start = tf.logical_and(is_word, tf.not_equal(classes, before))
    run = tf.cumsum(_int(run_start), axis=1)
    index = tf.range(length, dtype=tf.int32)[None, :]
    first = _scatter(tf.where(run_start, run, 0), tf.where(run_start, index, 0), length + 1)
    position = index - _gather(first, run, length + 1)
    run = tf.where(is_word, run, 0)

    start = tf.logical_and(is_word, _starts_piece(position, classes, run, rules, length))
    piece = tf.cumsum(_int(start), axis=1)
    slot = tf.where(start, tf.minimum(piece, slots + 1), 0)
    # Empty slots point at the zeros behind the text, so the scattered value is a distance from its end.
    offsets = _scatter(slot, tf.where(start, index - length, 0), slots + 2)[:, 1 : slots + 1] + length

    padded = length + width
    behind = [[0, 0], [0, width]]
    window = offsets[:, :, None] + tf.range(width, dtype=tf.int32)
    window_chars = _gather(tf.pad(tf.where(is_word, chars, 0), behind), window, padded)
    window_runs = _gather(tf.pad(run, behind), window, padded)
    inside = tf.equal(window_runs, window_runs[:, :, :1])
    if any(rule.length < width for rule in rules.values()):
        lengths = _per_class({key: rule.length for key, rule in rules.items()})
        piece_length = tf.gather(lengths, _gather(tf.pad(classes, behind), offsets, padded))
        inside = tf.logical_and(inside, tf.range(width, dtype=tf.int32) < piece_length[:, :, None])
    return tf.where(inside, window_chars, 0)


def word_bits(words: tf.Tensor) -> tf.Tensor:
    """Every code point as its 21 binary digits, most significant first.

    Float32 arithmetic, exact because code points stay below 2**24: digit k of c is floor(c / 2**k) - 2 floor(c / 2**(k+1)).

    Args:
        words: int32 `[batch, words, word_length]`, Unicode scalar values.

    Returns:
        float32 `[batch, words, word_length * 21]` of zeros and ones.
    """
    slots, width = words.shape[1], words.shape[2]
    powers = np.arange(BITS - 1, -1, -1, dtype=np.float32)
    chars = tf.cast(words, tf.float32)[..., None]
    digits = tf.floor(chars * np.exp2(-powers)) - 2.0 * tf.floor(chars * np.exp2(-powers - 1.0))
    return tf.reshape(digits, [-1, slots, width * BITS])


def _classify(codepoints: tf.Tensor, config: EncoderConfig) -> tuple[tf.Tensor, tf.Tensor]:
    """Sanitized code points and their classes, both int32 `[batch, max_chars]`."""
    table = _class_table(tuple(name for name in UNSPACED if getattr(config, name)), config.drop_invisible)
    bounded = tf.clip_by_value(codepoints, -1, MAX_CODE_POINT + 1)
    page = tf.math.floordiv(bounded, _PAGE)
    low = bounded - page * _PAGE
    class_page = tf.cast(tf.gather(table.pages, page + 1), tf.int32)
    classes = tf.cast(tf.gather(table.classes, class_page * _PAGE + low), tf.int32)
    invalid = tf.equal(classes, _INVALID)
    return tf.where(invalid, REPLACEMENT, bounded), tf.where(invalid, _SPACED, classes)


def _drop_invisible(chars: tf.Tensor, classes: tf.Tensor, length: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Move the kept code points to the front. Class and code point travel as one number: 21 bits and the class above."""
    kept = tf.not_equal(classes, _INVISIBLE)
    target = tf.where(kept, tf.cumsum(_int(kept), axis=1), 0)
    packed = _scatter(target, tf.where(kept, classes * 2**BITS + chars, 0), length + 1)[:, 1:]
    classes = tf.math.floordiv(packed, 2**BITS)
    return packed - classes * 2**BITS, classes


def _starts_piece(
    position: tf.Tensor, classes: tf.Tensor, run: tf.Tensor, rules: dict[int, Piece], length: int
) -> tf.Tensor:
    """Where a piece starts, given each code point's position in its run; meaningless on separators."""
    steps = tf.gather(_per_class({key: rule.step for key, rule in rules.items()}), classes)
    on_step = tf.equal(tf.math.floormod(position, steps), 0)
    for key, rule in rules.items():
        overlap = rule.length - rule.step
        if overlap > 0:
            # Later pieces of overlapping rules must show a code point that the piece before has not shown.
            ahead = tf.pad(run, [[0, 0], [0, overlap]])[:, overlap : overlap + length]
            shows_more = tf.logical_or(tf.equal(position, 0), tf.equal(ahead, run))
            on_step = tf.logical_and(on_step, tf.logical_or(shows_more, tf.not_equal(classes, key)))
    return on_step


def _rules(config: EncoderConfig) -> dict[int, Piece]:
    never = 1 << 30
    step = never if config.overflow == "truncate" else config.word_length
    rules = {_SPACED: Piece(config.word_length, step)}
    return rules | {key: getattr(config, name) for name, key in _UNSPACED.items() if getattr(config, name)}


def _per_class(values: dict[int, int]) -> npt.NDArray[np.int32]:
    """A table over all classes; the ones without a rule (separators) get 1, which no result depends on."""
    return np.array([values.get(key, 1) for key in range(_FIRST_UNSPACED + len(UNSPACED))], np.int32)


@functools.cache
def _class_table(unspaced: tuple[str, ...], drops_invisible: bool) -> _ClassTable:
    classes = np.full(MAX_CODE_POINT + 1, _SPACED, np.uint8)
    classes[[0, *SEPARATORS]] = _SEPARATOR
    if drops_invisible:
        classes[list(INVISIBLE)] = _INVISIBLE
    classes[0xD800:0xE000] = _INVALID
    for name in unspaced:
        for first, last in UNSPACED[name]:
            classes[first : last + 1] = _UNSPACED[name]
    outside = np.full((1, _PAGE), _INVALID, np.uint8)
    pages = np.concatenate([outside, classes.reshape(-1, _PAGE), outside])
    unique, inverse = np.unique(pages, axis=0, return_inverse=True)
    return _ClassTable(inverse.reshape(-1).astype(np.uint8), unique.reshape(-1))


def _int(flags: tf.Tensor) -> tf.Tensor:
    return tf.cast(flags, tf.int32)


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


def _scatter(indices: tf.Tensor, values: tf.Tensor, size: int) -> tf.Tensor:
    """Zeros `[batch, size]` with `values` added at `indices` of each row; index 0 is where ignored zeros may pile up."""
    batch = _batch(indices)
    rows = _rows(batch, size, 2)
    flat = tf.reshape(indices if rows is None else indices + rows, [-1, 1])
    scattered = tf.scatter_nd(flat, tf.reshape(values, [-1]), [batch * size])
    return tf.reshape(scattered, [-1, size])
