"""The encoder as a Core ML graph: rules 1 to 6 of the contract, from code points to bits.

It computes the same as `model/encoder_graph.py` in another way:

- No scatter, which coremltools' value inference (the tests' second opinion) cannot compute. The place of the k-th character, run
  or piece is the number of characters before it, counted by comparing a running total with k. Every such count lies between 0
  and the text's length, so no input can make a gather leave its tensor. A code point's row of the character table is counted as
  well, because a list of where rows begin is smaller than a table of them.
- No integer division, whose rounding differs between compute units.
- Only int32 and float32, because float16 loses code points above 2048.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from coremltools.converters.mil import Builder as mb

from retvec_lite.contract import BITS, PIECES, EncoderConfig, Piece
from retvec_lite.converters.coreml.network import from_palette
from retvec_lite.errors import RetvecLiteError
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

Var = Any  # a value of a MIL program

MAX_CHARS: Final = 4096
"""Counting compares every character with every place, so the cost grows with the square of the text's length."""

_SPACED: Final = 1
"""The class of words that white space ends; those of `PIECES` follow, and separators have 0."""

_PURE: Final = 2.0**17
_VETO: Final = 2.0**72
"""As in the TensorFlow graph."""


class Characters(NamedTuple):
    """The characters of one text in its normal form; behind them come zeros, which are separators.

    Attributes:
        codes: Unicode scalar values, int32 `[1, max_chars]`.
        classes: int32 `[1, max_chars]`: 0 for separators, 1 for spaced scripts, then one for each unspaced script.
    """

    codes: Var
    classes: Var


def check_encoder(config: EncoderConfig) -> None:
    """Raise RetvecLiteError for texts of more than `MAX_CHARS` code points."""
    if config.max_chars > MAX_CHARS:
        raise RetvecLiteError(
            f"Core ML takes at most {MAX_CHARS} code points a text, this classifier {config.max_chars}. Train it with fewer."
        )


def sanitize(codepoints: Var, config: EncoderConfig) -> Characters:
    """Bring one text, int32 `[1, config.max_chars]`, into its normal form: rules 1 to 3. Any int32 value is allowed."""
    table = character_table(config.letters_only)
    length = config.max_chars
    kind = _with_flags(_kinds(codepoints, table, length), codepoints, table, length)
    if config.letters_only:
        kind = _without_technical(kind, table, length)
    own = mb.sub(x=mb.cast(x=codepoints, dtype="fp32"), y=_look_up(table.target, kind), name="own_number")
    group = _look_up(table.group.astype(np.int32), kind)
    keeps = _keeps(group, table, length)
    text = mb.add(x=_look_up(table.base, kind), y=mb.mul(x=own, y=keeps), name="read_text")
    text = _compacted(text, _look_up(table.kept, group), length)
    text = _joined(text, length)
    classes = mb.floor(x=mb.mul(x=text, y=_float(1 / CLASS)))
    codes = mb.sub(x=text, y=mb.mul(x=classes, y=_float(CLASS)))
    return Characters(mb.cast(x=codes, dtype="int32", name="codes"), mb.cast(x=classes, dtype="int32", name="classes"))


def _kinds(codepoints: Var, table: CharacterTable, length: int) -> Var:
    """Return the kind of each code point, int32 `[1, max_chars]`."""
    pages, rows, high = table.pages
    (borders,) = np.nonzero(np.diff(pages))
    column = mb.reshape(x=codepoints, shape=[length, 1], name="codepoint")
    passed = mb.greater_equal(x=column, y=(borders * PAGE).astype(np.int32)[None], name="passed_borders")
    changes = mb.mul(x=_flags(passed), y=np.diff(pages)[borders][None].astype(np.int32), name="row_changes")
    row = mb.reshape(x=mb.reduce_sum(x=changes, axes=[1], keep_dims=False), shape=[1, length], name="table_row")
    # Huge values are rounded here to multiples of a page; their row holds one kind only.
    number = mb.cast(x=codepoints, dtype="fp32")
    page = mb.floor(x=mb.mul(x=number, y=_float(1 / PAGE)))
    column_of_row = mb.sub(x=number, y=mb.mul(x=page, y=_float(PAGE)), name="table_column")
    place = mb.add(x=mb.mul(x=row, y=np.int32(PAGE)), y=mb.cast(x=column_of_row, dtype="int32"), name="table_place")
    levels = np.arange(256, dtype=np.float32)
    kinds = from_palette(rows.reshape(-1, 1), levels, 8, "character_kinds")
    found = mb.reshape(x=mb.gather(x=kinds, indices=place, axis=0), shape=[1, length])
    kind = mb.cast(x=found, dtype="int32", name="kind")
    if high == len(rows):
        return kind
    above = mb.mul(x=_flags(mb.greater_equal(x=row, y=np.int32(high))), y=np.int32(256))
    return mb.add(x=kind, y=above, name="kind_of_all")


def _with_flags(kind: Var, codepoints: Var, table: CharacterTable, length: int) -> Var:
    """Make symbols of two regional indicators side by side, which are letters otherwise."""
    least, most = (mb.greater_equal(x=codepoints, y=np.int32(border)) for border in (REGIONAL[0], REGIONAL[1] + 1))
    regional = mb.cast(x=mb.logical_xor(x=least, y=most), dtype="fp32", name="is_regional")
    around = mb.sub(x=mb.add(x=regional, y=_shifted(regional, 1, length)), y=_shifted(regional, -1, length))
    pair = mb.sub(x=around, y=_shifted(regional, 2, length), name="pair_of_regional")
    first = mb.cast(x=mb.equal(x=pair, y=_float(2)), dtype="fp32", name="first_of_flag")
    flag = mb.greater(x=mb.add(x=first, y=_shifted(first, -1, length)), y=_float(0), name="is_flag")
    return mb.select(cond=flag, a=np.full((1, length), table.symbol, np.int32), b=kind, name="kind_with_flags")


def _without_technical(kind: Var, table: CharacterTable, length: int) -> Var:
    """Turn words with a sign of `TECHNICAL` into spaces; what ends words, and what rule 2a drops, stays."""
    ends = _look_up(table.ends, kind)
    word = mb.sub(x=mb.cumsum(x=ends, axis=1), y=ends, name="technical_word")
    words = _sums(_look_up(table.technical, kind), word, length)
    is_technical = mb.greater(x=mb.gather(x=words, indices=word, axis=0), y=_float(0.5))
    of_word = mb.equal(x=_look_up(table.kept[table.group] - table.ends, kind), y=np.int32(1))
    spaces = mb.logical_and(x=is_technical, y=of_word, name="no_text")
    return mb.select(cond=spaces, a=np.full((1, length), table.space, np.int32), b=kind, name="kind_of_text")


def _sums(values: Var, word: Var, length: int) -> Var:
    """Return the sum of each word's values, float32 `[max_chars]`, from their words' numbers."""
    of_word = mb.equal(x=word, y=np.arange(length, dtype=np.int32)[:, None])
    return mb.reduce_sum(x=mb.mul(x=mb.cast(x=of_word, dtype="fp32"), y=values), axes=[1], keep_dims=False)


def _keeps(group: Var, table: CharacterTable, length: int) -> Var:
    """Return 1 where a code point keeps its own number, else 0, float32 `[1, max_chars]`: rules 2b and 2c."""
    weight = _look_up(table.weight, group)
    parts = _look_up(table.parts, group)
    word = mb.sub(x=mb.cumsum(x=parts, axis=1), y=parts, name="read_word")
    words = _sums(weight, word, length)
    votes = mb.minimum(x=mb.maximum(x=words, y=_float(LIKE_LATIN)), y=_float(-LIKE_LATIN))
    votes = mb.maximum(x=mb.reduce_sum(x=votes, axes=[0], keep_dims=True), y=_float(0), name="votes")
    balance = mb.reduce_sum(x=_look_up(table.balance, group), axes=[1], keep_dims=False)
    veto = mb.minimum(x=balance, y=_float(0), name="veto")
    of_word = mb.add(x=mb.gather(x=words, indices=word, axis=0), y=_look_up(table.replaced, group), name="for_the_word")
    is_replaced = mb.cast(x=mb.greater(x=of_word, y=_float(0.5)), dtype="fp32")
    mixed = mb.reduce_sum(
        x=mb.mul(x=is_replaced, y=_look_up(table.like, group)), axes=[1], keep_dims=False, name="mixed"
    )
    for_latin = mb.mul(x=mb.add(x=votes, y=mixed), y=_float(_PURE))
    text = mb.add(x=for_latin, y=mb.mul(x=veto, y=_float(_VETO)), name="for_the_text")
    replaced = mb.add(x=of_word, y=text)
    return mb.cast(x=mb.less(x=replaced, y=_float(0.5)), dtype="fp32", name="keeps")


def _joined(text: Var, length: int) -> Var:
    """Apply rule 2d, and give letters, digits, signs and symbols the class 1."""
    whole, text = text, mb.minimum(x=text, y=_float(SIGN * CLASS), name="signs_as_one")
    letter = mb.less(x=text, y=_float(0), name="is_letter")
    like_two_before = mb.equal(x=text, y=_shifted(text, -2, length))
    letters = mb.cast(x=letter, dtype="fp32")
    sign = mb.cast(x=mb.equal(x=text, y=_float(SIGN * CLASS)), dtype="fp32", name="is_sign")
    symbol = mb.greater_equal(x=whole, y=_float(SIGN * CLASS + FIRST_SYMBOL), name="is_symbol")
    digit = mb.cast(x=mb.greater_equal(x=text, y=_float(DIGIT * CLASS)), dtype="fp32")
    digit = mb.sub(x=digit, y=sign, name="is_digit")
    reads = mb.add(x=letters, y=digit, name="is_letter_or_digit")
    beside = mb.add(x=_shifted(letters, -1, length), y=_shifted(letters, 1, length), name="letters_beside")
    single = mb.add(x=_shifted(reads, -1, length), y=_shifted(reads, 1, length))
    for distance in (-2, 0, 2):
        single = mb.sub(x=single, y=_shifted(reads, distance, length) if distance else reads)
    between = mb.cast(x=mb.equal(x=single, y=_float(2)), dtype="fp32", name="between_single_ones")
    by_letters = mb.cast(x=mb.equal(x=beside, y=_float(2)), dtype="fp32", name="between_letters")
    alike = mb.mul(x=between, y=by_letters)
    alike = mb.mul(x=alike, y=_shifted(alike, -2, length))
    alike = mb.mul(x=alike, y=mb.cast(x=like_two_before, dtype="fp32"), name="like_one_before")
    middle = mb.mul(x=alike, y=_shifted(alike, 2, length), name="middle_of_three")
    number = mb.mul(x=middle, y=mb.add(x=text, y=_float(1)))
    separator = mb.reduce_max(x=number, axes=[1], keep_dims=True, name="separator_in_words")
    is_separator = mb.equal(x=mb.add(x=text, y=_float(1)), y=separator)
    joins = mb.mul(x=between, y=mb.cast(x=is_separator, dtype="fp32"), name="joins")
    decorates = mb.mul(x=mb.cast(x=symbol, dtype="fp32"), y=by_letters, name="decorates")
    dropped = mb.maximum(x=joins, y=decorates, name="dropped")
    raised = whole
    for is_class, number in ((letters, -1), (digit, DIGIT), (sign, SIGN)):
        raised = mb.add(x=raised, y=mb.mul(x=is_class, y=_float((1 - number) * CLASS)))
    return _compacted(raised, _flags(mb.less(x=dropped, y=_float(0.5))), length)


def _compacted(row: Var, kept: Var, length: int) -> Var:
    """Move what is kept, 1 in an int32 row, to the front; behind it come zeros."""
    total = mb.cumsum(x=kept, axis=1)
    before = mb.less_equal(x=total, y=np.arange(length, dtype=np.int32)[:, None])
    source = mb.reshape(x=mb.reduce_sum(x=_flags(before), axes=[1], keep_dims=False), shape=[1, length])
    padded = mb.concat(values=[row, np.zeros((1, 1), np.float32)], axis=1)
    return mb.gather(x=mb.reshape(x=padded, shape=[length + 1]), indices=source, axis=0)


def _shifted(row: Var, distance: int, length: int) -> Var:
    """Return what is `distance` places behind each place, 0 outside of the text."""
    zeros = np.zeros((1, abs(distance)), np.float32)
    padded = mb.concat(values=[zeros, row] if distance < 0 else [row, zeros], axis=1)
    begin = max(distance, 0)
    return mb.slice_by_index(x=padded, begin=[0, begin], end=[1, begin + length])


def _look_up(values: npt.NDArray[Any], kind: Var) -> Var:
    return mb.gather(x=values, indices=kind, axis=0)


def cut_words(characters: Characters, config: EncoderConfig) -> Var:
    """Cut one text into words: rules 4 and 5.

    Returns:
        int32 `[1, max_words, word_length]`, named `words`; a slot is empty exactly when its first code point is 0.
    """
    length, slots, width = config.max_chars, config.max_words, config.word_length
    rules = [Piece(width, width), *PIECES.values()]
    chars, classes = characters
    is_word = mb.greater(x=classes, y=_int(0), name="is_word")
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
    piece_lengths = _per_class(_gather(_padded(classes, width), offset, "piece_class"), [rule.length for rule in rules])
    short = mb.less(x=np.arange(width, dtype=np.int32)[None], y=piece_lengths, name="in_piece")
    inside = mb.logical_and(x=inside, y=short, name="inside")
    cut = mb.select(cond=inside, a=window_chars, b=_int(0), name="cut")
    return mb.reshape(x=cut, shape=[1, slots, width], name="words")


def word_bits(words: Var) -> Var:
    """Turn every code point into its 21 binary digits, most significant first: float32 `[1, words, word_length * 21]`, named `bits`.

    Exact in float32: digit k of c is floor(c / 2**k) - 2 floor(c / 2**(k+1)), and code points stay below 2**24.
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
        if overlap > 0:
            # A later piece of an overlapping rule must hold a code point that the piece before does not.
            ahead = mb.slice_by_index(x=runs, begin=[0, overlap], end=[1, overlap + length])
            here = mb.slice_by_index(x=runs, begin=[0, 0], end=[1, length])
            first = mb.equal(x=position, y=_int(0))
            shows_more = mb.logical_or(x=first, y=mb.equal(x=ahead, y=here))
            other = mb.not_equal(x=classes, y=_int(kind))
            on_step = mb.logical_and(x=on_step, y=mb.logical_or(x=shows_more, y=other))
    return on_step


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


def _float(value: float) -> np.float32:
    return np.float32(value)
