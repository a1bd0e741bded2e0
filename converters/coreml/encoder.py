"""The encoder as a Core ML graph: the contract's rules 1 to 6, from code points to bits.

It computes the same as `model/encoder_graph.py` in another way:

- No scatter, which coremltools' value inference (the tests' second opinion) cannot compute. The place of the k-th character, run
  or piece is the number of characters before it, counted by comparing a running total with k. Every such count lies between 0
  and the text's length, so no input can make a gather leave its tensor.
- No integer division, whose rounding differs between compute units.
- Only int32 and float32, because float16 loses code points above 2048.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from coremltools.converters.mil import Builder as mb

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
from retvec_lite.converters.coreml.normal_form import normal_text
from retvec_lite.errors import RetvecLiteError

Var = Any  # a value of a MIL program

MAX_CHARS: Final = 4096
"""Counting compares every character with every place, so the cost grows with the square of the text's length."""

_INVALID, _INVISIBLE, _SEPARATOR, _SPACED = -2, -1, 0, 1
_FIRST_UNSPACED: Final = 2


class Characters(NamedTuple):
    """The visible characters of one text; behind them come zeros, which are separators.

    Attributes:
        codes: Unicode scalar values, int32 `[1, max_chars]`.
        classes: int32 `[1, max_chars]`: 0 for separators, 1 for spaced scripts, then one for each unspaced script.
    """

    codes: Var
    classes: Var


def check_length(config: EncoderConfig) -> None:
    """Check that texts are not too long for this graph.

    Raises:
        RetvecLiteError: for more than `MAX_CHARS` code points.
    """
    if config.max_chars > MAX_CHARS:
        raise RetvecLiteError(
            f"Core ML takes at most {MAX_CHARS} code points a text, this classifier {config.max_chars}. Train it with fewer."
        )


def encode_words(codepoints: Var, config: EncoderConfig, is_new: bool = False) -> Var:
    """Cut one text into words.

    Args:
        codepoints: int32 `[1, config.max_chars]`, zero-padded code points; any int32 value is allowed.
        config: the contract's parameters.
        is_new: see `sanitize`.

    Returns:
        int32 `[1, max_words, word_length]`, named `words`; a slot is empty exactly when its first code point is 0.
    """
    return cut_words(sanitize(codepoints, config, is_new), config)


def sanitize(codepoints: Var, config: EncoderConfig, is_new: bool = False) -> Characters:
    """Apply rules 1 to 3 of the contract.

    Args:
        codepoints: int32 `[1, config.max_chars]`; any int32 value is allowed.
        config: the contract's parameters.
        is_new: whether the package is for iOS 18 or newer.
    """
    if config.contract_version > 1:
        return Characters(*normal_text(codepoints, config, is_new))
    found = _classify(codepoints, config)
    return _drop_invisible(found, config.max_chars) if config.drop_invisible else found


def cut_words(characters: Characters, config: EncoderConfig) -> Var:
    """Cut one sanitized text into words: rules 4 and 5.

    Args:
        characters: from `sanitize`.
        config: the contract's parameters.

    Returns:
        int32 `[1, max_words, word_length]`, named `words`; a slot is empty exactly when its first code point is 0.
    """
    length, slots, width = config.max_chars, config.max_words, config.word_length
    rules = _rules(config)
    chars, classes = characters
    is_word = mb.greater(x=classes, y=_int(_SEPARATOR), name="is_word")
    before = mb.slice_by_index(x=_padded(classes, 1, front=True), begin=[0, 0], end=[1, length], name="class_before")
    starts_run = mb.logical_and(x=is_word, y=mb.not_equal(x=classes, y=before), name="starts_run")
    run = mb.cumsum(x=_flags(starts_run), axis=1, name="run")
    index = np.arange(length, dtype=np.int32)[None]
    # The first character of a run follows all characters of the runs before it.
    earlier = mb.less(x=run, y=mb.reshape(x=run, shape=[length, 1]), name="in_earlier_run")
    position = mb.sub(x=index, y=_counts(earlier, [1, length]), name="position_in_run")
    run = mb.select(cond=is_word, a=run, b=_int(0), name="run_of_word")

    runs = _padded(run, width)
    starts_piece = mb.logical_and(x=is_word, y=_on_step(position, classes, runs, rules, length), name="starts_piece")
    piece = mb.cumsum(x=_flags(starts_piece), axis=1, name="piece")
    # A slot without a piece gets the text's length: the zeros behind the text.
    too_early = mb.less_equal(x=piece, y=np.arange(slots, dtype=np.int32)[:, None], name="before_piece")
    offset = _counts(too_early, [slots, 1])

    window = mb.add(x=offset, y=np.arange(width, dtype=np.int32)[None], name="window")
    word_chars = mb.select(cond=is_word, a=chars, b=_int(0), name="word_chars")
    window_chars = _gather(_padded(word_chars, width), window, "window_chars")
    window_runs = _gather(runs, window, "window_runs")
    first_run = mb.slice_by_index(x=window_runs, begin=[0, 0], end=[slots, 1], name="first_run")
    inside = mb.equal(x=window_runs, y=first_run, name="in_same_run")
    if any(rule.length < width for rule in rules):
        piece_lengths = _per_class(_gather(_padded(classes, width), offset, "piece_class"), [r.length for r in rules])
        short = mb.less(x=np.arange(width, dtype=np.int32)[None], y=piece_lengths, name="in_piece")
        inside = mb.logical_and(x=inside, y=short, name="inside")
    cut = mb.select(cond=inside, a=window_chars, b=_int(0), name="cut")
    return mb.reshape(x=cut, shape=[1, slots, width], name="words")


def word_bits(words: Var) -> Var:
    """Turn every code point into its 21 binary digits, most significant first.

    Exact in float32: digit k of c is floor(c / 2**k) - 2 floor(c / 2**(k+1)), and code points stay below 2**24.

    Args:
        words: int32 `[1, words, word_length]`, Unicode scalar values.

    Returns:
        float32 `[1, words, word_length * 21]` of zeros and ones, named `bits`.
    """
    _, slots, width = words.shape
    powers = np.arange(BITS - 1, -1, -1, dtype=np.float32)
    chars = mb.reshape(x=mb.cast(x=words, dtype="fp32"), shape=[slots * width, 1])
    halves = mb.floor(x=mb.mul(x=chars, y=np.exp2(-powers)[None]))
    pairs = mb.floor(x=mb.mul(x=chars, y=np.exp2(-powers - 1)[None]))
    digits = mb.sub(x=halves, y=mb.mul(x=pairs, y=np.float32(2)), name="digits")
    return mb.reshape(x=digits, shape=[1, slots, width * BITS], name="bits")


def word_mask(words: Var) -> Var:
    """Return float32 `[1, words, 1]`: 1 where a slot is in use."""
    slots = words.shape[1]
    first = mb.slice_by_index(x=words, begin=[0, 0, 0], end=[1, slots, 1], name="first_char")
    return mb.cast(x=mb.greater(x=first, y=_int(0)), dtype="fp32", name="mask")


def class_borders(config: EncoderConfig) -> tuple[list[int], list[int]]:
    """Return where the class of code points changes: the first code point of each stretch, and the change of the class there.

    Values below the first border and from the last one on are no Unicode scalar values.
    """
    unspaced = [name for name in UNSPACED if getattr(config, name)]
    stretches = [
        *((code, code, _SEPARATOR) for code in (0, *SEPARATORS)),
        *((code, code, _INVISIBLE) for code in (INVISIBLE if config.drop_invisible else ())),
        *(
            (first, last, _FIRST_UNSPACED + place)
            for place, name in enumerate(unspaced)
            for first, last in UNSPACED[name]
        ),
        (0xD800, 0xDFFF, _INVALID),
    ]
    entered = []
    behind = 0
    for first, last, kind in [*sorted(stretches), (MAX_CODE_POINT + 1, MAX_CODE_POINT + 1, _INVALID)]:
        if behind < first:
            entered.append((behind, _SPACED))
        entered.append((first, kind))
        behind = last + 1
    kinds = [_INVALID, *(kind for _, kind in entered)]
    changes = [
        (start, kind - before) for (start, kind), before in zip(entered, kinds[:-1], strict=True) if kind != before
    ]
    return [start for start, _ in changes], [step for _, step in changes]


def _classify(codepoints: Var, config: EncoderConfig) -> Characters:
    """Return sanitized code points and their classes; invisible characters have a class of their own."""
    starts, steps = class_borders(config)
    column = mb.reshape(x=codepoints, shape=[config.max_chars, 1], name="codepoint")
    passed = mb.greater_equal(x=column, y=np.array(starts, np.int32)[None], name="passed_borders")
    changes = mb.mul(x=_flags(passed), y=np.array(steps, np.int32)[None], name="class_changes")
    total = mb.reduce_sum(x=changes, axes=[1], keep_dims=False)
    classes = mb.add(x=mb.reshape(x=total, shape=[1, config.max_chars]), y=_int(_INVALID), name="class")
    invalid = mb.equal(x=classes, y=_int(_INVALID), name="is_invalid")
    chars = mb.select(cond=invalid, a=_int(REPLACEMENT), b=codepoints, name="chars")
    return Characters(chars, mb.select(cond=invalid, a=_int(_SPACED), b=classes, name="classes"))


def _drop_invisible(characters: Characters, length: int) -> Characters:
    """Move the kept characters to the front; behind them come zeros, which are separators."""
    chars, classes = characters
    kept = mb.cumsum(x=_flags(mb.not_equal(x=classes, y=_int(_INVISIBLE))), axis=1, name="kept")
    places = np.arange(length, dtype=np.int32)[:, None]
    source = _counts(mb.less_equal(x=kept, y=places, name="before_kept"), [1, length])
    return Characters(
        _gather(_padded(chars, 1), source, "kept_chars"),
        _gather(_padded(classes, 1), source, "kept_classes"),
    )


def _on_step(position: Var, classes: Var, runs: Var, rules: Sequence[Piece], length: int) -> Var:
    """Return where a piece may start, given each character's position in its run; meaningless on separators.

    Whether the step divides the position is computed in float32 with half a unit of room on either side, so that it does not
    depend on how a compute unit rounds a quotient.
    """
    steps = [rule.step for rule in rules]
    place = mb.cast(x=position, dtype="fp32")
    share = _per_class(classes, [np.float32(1) / np.float32(step) for step in steps])
    whole = mb.floor(x=mb.mul(x=mb.add(x=place, y=np.float32(0.5)), y=share), name="steps_passed")
    reached = mb.mul(x=whole, y=_per_class(classes, [np.float32(step) for step in steps]))
    on_step = mb.equal(x=place, y=reached, name="on_step")
    for kind, rule in enumerate(rules, start=_SPACED):
        overlap = rule.length - rule.step
        if overlap > 0 and kind > _SPACED:
            # A later piece of an overlapping rule must hold a code point that the piece before does not.
            ahead = mb.slice_by_index(x=runs, begin=[0, overlap], end=[1, overlap + length])
            here = mb.slice_by_index(x=runs, begin=[0, 0], end=[1, length])
            first = mb.equal(x=position, y=_int(0))
            shows_more = mb.logical_or(x=first, y=mb.equal(x=ahead, y=here))
            other = mb.not_equal(x=classes, y=_int(kind))
            on_step = mb.logical_and(x=on_step, y=mb.logical_or(x=shows_more, y=other))
    return on_step


def _rules(config: EncoderConfig) -> list[Piece]:
    """Return how each class of words is cut, from `_SPACED` on."""
    never = 1 << 30
    spaced = Piece(config.word_length, never if config.overflow == "truncate" else config.word_length)
    return [spaced, *(piece for piece in (getattr(config, name) for name in UNSPACED) if piece)]


def _per_class(classes: Var, values: Sequence[int] | Sequence[np.float32]) -> Var:
    """Look up the value of each class; separators get the first value."""
    table = np.array([values[0], *values])
    return mb.gather(x=table.astype(np.float32 if table.dtype.kind == "f" else np.int32), indices=classes, axis=0)


def _gather(row: Var, indices: Var, name: str) -> Var:
    """Return `row[0, indices]` for a `row` `[1, size]`."""
    return mb.gather(x=mb.reshape(x=row, shape=[row.shape[1]]), indices=indices, axis=0, name=name)


def _counts(flags: Var, shape: list[int]) -> Var:
    """Count the set flags of each row: bool `[rows, columns]` -> int32, one element a row, in a given shape."""
    return mb.reshape(x=mb.reduce_sum(x=_flags(flags), axes=[1], keep_dims=False), shape=shape)


def _padded(row: Var, count: int, front: bool = False) -> Var:
    """Pad a row with zeros behind it or in front: int32 `[1, size + count]`."""
    zeros = np.zeros((1, count), np.int32)
    return mb.concat(values=[zeros, row] if front else [row, zeros], axis=1)


def _flags(flags: Var) -> Var:
    return mb.cast(x=flags, dtype="int32")


def _int(value: int) -> np.int32:
    return np.int32(value)
