"""The normal form as a Core ML graph: rules 1 to 3 of version 2 of the contract.

It computes the same as `model/normal_form_graph.py`, with comparisons in place of scatters, like `encoder.py`. A code point's row
of the table is counted as well, because a list of where rows begin is smaller than a table of them.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from coremltools.converters.mil import Builder as mb

from retvec_lite.contract import UNSPACED, EncoderConfig
from retvec_lite.converters.coreml.network import from_palette
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

Var = Any  # a value of a MIL program

_PAGE: Final = 32
"""Code points per row of the table: about the size that makes rows and their borders smallest."""

_PURE: Final = 2.0**17
_VETO: Final = 2.0**45
"""As in the TensorFlow graph."""


def normal_text(codepoints: Var, config: EncoderConfig, for_ios18: bool) -> tuple[Var, Var]:
    """Bring one text into its normal form.

    Args:
        codepoints: int32 `[1, config.max_chars]`; any int32 value is allowed.
        config: the contract's parameters.
        for_ios18: whether the package is for iOS 18 or newer.

    Returns:
        Code points and classes, int32 `[1, max_chars]`, see `encoder.Characters`; both are 0 for separators.
    """
    unspaced = tuple(name for name in UNSPACED if getattr(config, name))
    table = character_table(unspaced, config.drop_invisible, config.letters_only)
    length = config.max_chars
    kind = _kinds(codepoints, table, length, for_ios18)
    if config.letters_only:
        kind = _without_technical(kind, table, length)
    own = mb.sub(x=mb.cast(x=codepoints, dtype="fp32"), y=_look_up(table.target, kind), name="own_number")
    group = _look_up(table.group.astype(np.int32), kind)
    keeps = _keeps(group, table, length)
    text = mb.add(x=_look_up(table.base, kind), y=mb.mul(x=own, y=keeps), name="read_text")
    if config.drop_invisible:
        text = _compacted(text, _look_up(table.kept, group), length)
    text = _joined(text, length)
    classes = mb.floor(x=mb.mul(x=text, y=_float(1 / CLASS)))
    codes = mb.sub(x=text, y=mb.mul(x=classes, y=_float(CLASS)))
    return mb.cast(x=codes, dtype="int32", name="codes"), mb.cast(x=classes, dtype="int32", name="classes")


def _kinds(codepoints: Var, table: CharacterTable, length: int, for_ios18: bool) -> Var:
    """Return the kind of each code point, int32 `[1, max_chars]`."""
    pages, rows = table.pages(_PAGE)
    (borders,) = np.nonzero(np.diff(pages))
    column = mb.reshape(x=codepoints, shape=[length, 1], name="codepoint")
    passed = mb.greater_equal(x=column, y=(borders * _PAGE).astype(np.int32)[None], name="passed_borders")
    changes = mb.mul(x=_flags(passed), y=np.diff(pages)[borders][None].astype(np.int32), name="row_changes")
    row = mb.reshape(x=mb.reduce_sum(x=changes, axes=[1], keep_dims=False), shape=[1, length], name="table_row")
    # Huge values are rounded here to multiples of a page; their row holds one kind only.
    number = mb.cast(x=codepoints, dtype="fp32")
    page = mb.floor(x=mb.mul(x=number, y=_float(1 / _PAGE)))
    column_of_row = mb.sub(x=number, y=mb.mul(x=page, y=_float(_PAGE)), name="table_column")
    place = mb.add(x=mb.mul(x=row, y=np.int32(_PAGE)), y=mb.cast(x=column_of_row, dtype="int32"), name="table_place")
    levels = np.arange(256, dtype=np.float32)
    kinds = from_palette(rows.reshape(-1, 1), levels, 8, for_ios18, "character_kinds")
    found = mb.reshape(x=mb.gather(x=kinds, indices=place, axis=0), shape=[1, length])
    return mb.cast(x=found, dtype="int32", name="kind")


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
    balance = mb.maximum(x=mb.minimum(x=weight, y=_float(-FOREIGN_LETTER)), y=_float(FOREIGN_LETTER))
    balance = mb.reduce_sum(x=balance, axes=[1], keep_dims=False)
    veto = mb.minimum(x=mb.add(x=balance, y=_float(1.5 * _PURE)), y=_float(0), name="veto")
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
    """Apply rules 2d and 2e, and give letters, digits, signs and symbols the class 1."""
    whole, text = text, mb.minimum(x=text, y=_float(SIGN * CLASS), name="signs_as_one")
    before, two_before = (_shifted(text, -distance, length) for distance in (1, 2))
    letter = mb.less(x=text, y=_float(0), name="is_letter")
    like_two_before = mb.equal(x=text, y=two_before)
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
    repeats = mb.logical_and(x=mb.logical_and(x=letter, y=like_two_before), y=mb.equal(x=text, y=before))
    decorates = mb.mul(x=mb.cast(x=symbol, dtype="fp32"), y=by_letters, name="decorates")
    dropped = mb.add(x=mb.maximum(x=joins, y=decorates), y=mb.cast(x=repeats, dtype="fp32"), name="dropped")
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


def _flags(flags: Var) -> Var:
    return mb.cast(x=flags, dtype="int32")


def _float(value: float) -> np.float32:
    return np.float32(value)
