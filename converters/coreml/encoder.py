"""The encoder as a Core ML graph: the contract's rules 1 to 6, from code points to bits, and hashed character n-grams.

It computes the same as `model/encoder_graph.py` in another way:

- No scatter, which coremltools' value inference (the tests' second opinion) cannot compute. The place of the k-th character, run
  or piece is the number of characters before it, counted by comparing a running total with k. Every such count lies between 0
  and the text's length, so no input can make a gather leave its tensor.
- No integer division, whose rounding differs between compute units.
- Only int32 and float32, because float16 loses code points above 2048. The hashes of n-grams need 22 bits, which also keeps them
  away from the neural engine, whose numbers have 11.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from coremltools.converters.mil import Builder as mb

from retvec_lite.contract import (
    BITS,
    INVISIBLE,
    MAX_CODE_POINT,
    REPLACEMENT,
    SEPARATORS,
    UNSPACED,
    EncoderConfig,
    Floats,
    Piece,
)
from retvec_lite.converters.coreml import Storage
from retvec_lite.converters.coreml.network import from_grid, from_palette
from retvec_lite.converters.coreml.normal_form import normal_text
from retvec_lite.errors import RetvecLiteError
from retvec_lite.ngrams import CODES, FACTOR, LETTER, LOWER_CASE_END, PRIME, NgramConfig, fold_table, table_integers

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
    """Raise RetvecLiteError for texts of more than `MAX_CHARS` code points."""
    if config.max_chars > MAX_CHARS:
        raise RetvecLiteError(
            f"Core ML takes at most {MAX_CHARS} code points a text, this classifier {config.max_chars}. Train it with fewer."
        )


def sanitize(codepoints: Var, config: EncoderConfig, for_ios18: bool = False) -> Characters:
    """Apply rules 1 to 3 of the contract to int32 `[1, config.max_chars]`; any value is allowed.

    Args:
        codepoints: the text.
        config: the contract's parameters.
        for_ios18: whether the package is for iOS 18 or newer.
    """
    if config.contract_version > 1:
        return Characters(*normal_text(codepoints, config, for_ios18))
    found = _classify(codepoints, config)
    return _drop_invisible(found, config.max_chars) if config.drop_invisible else found


def cut_words(characters: Characters, config: EncoderConfig) -> Var:
    """Cut one text into words: rules 4 and 5.

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


def class_borders(config: EncoderConfig) -> tuple[list[int], list[int]]:
    """Return where the class of code points changes: the first code point of each stretch, and the change of the class there.

    Values below the first border and from the last one on are no Unicode scalar values.
    """
    unspaced = [name for name in UNSPACED if getattr(config, name)]
    stretches = [
        *((code, code, _SEPARATOR) for code in (0, *SEPARATORS)),
        *((code, code, _INVISIBLE) for code in (INVISIBLE if config.drop_invisible else ())),
        *((*ends, _FIRST_UNSPACED + place) for place, name in enumerate(unspaced) for ends in UNSPACED[name]),
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
    kept_chars = _gather(_padded(chars, 1), source, "kept_chars")
    return Characters(kept_chars, _gather(_padded(classes, 1), source, "kept_classes"))


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


# --- n-grams ----------------------------------------------------------------------------------------------------------


class Ngrams(NamedTuple):
    """The n-grams of one text.

    Attributes:
        buckets: int32 `[1, places]`, from 0 to buckets - 1, or hashes where there are codebooks; any where there is no n-gram.
        present: float32 `[1, places]`, 1 where there is an n-gram, else 0.
    """

    buckets: Var
    present: Var


def find_ngrams(characters: Characters, config: NgramConfig, storage: Storage, plain: Var = None) -> Ngrams:
    """Hash the n-grams of one text, in float32 whatever the recipe: the same as `model/ngram_graph.py`.

    `plain` are the characters folded to plain letters, where they are known, float32 `[1, max_chars]`.
    There is a place for each length and each of the `max_chars + 1` characters and marks that an n-gram may begin with.
    """
    starts = characters.codes.shape[1] + 1
    front, behind = np.zeros((1, 1), np.float32), np.zeros((1, config.longest), np.float32)
    chars = plain if plain is not None and config.plain_letters else _folded(characters, storage, config.plain_letters)
    marked = mb.concat(values=[front, chars, behind], axis=1, name="marked_chars")
    is_char = mb.minimum(x=marked, y=_float(1), name="is_char")

    def shifted(values: Var, places: int) -> Var:
        return mb.slice_by_index(x=values, begin=[0, places], end=[1, places + starts])

    # The hash begins with 1.
    product: Var = _float(FACTOR)
    inner: Var = None
    hashes, present = [], []
    for length in range(1, config.longest + 1):
        code = modulo(mb.add(x=shifted(marked, length - 1), y=product), PRIME, f"hash_{length}")
        product = mb.mul(x=code, y=_float(FACTOR))
        if length > 2:
            between = shifted(is_char, length - 2)
            inner = between if inner is None else mb.mul(x=inner, y=between)
        if length < config.shortest:
            continue
        hashes.append(code)
        if length == 1:
            present.append(shifted(is_char, 0))
        elif length == 2:
            present.append(mb.maximum(x=shifted(is_char, 0), y=shifted(is_char, 1)))
        else:
            present.append(inner)
    found = _joined(hashes)
    buckets = found if config.codebooks else modulo(found, config.buckets, "bucket")
    return Ngrams(mb.cast(x=buckets, dtype="int32"), _joined(present))


def ngram_logits(ngrams: Ngrams, weights: Mapping[str, Floats], storage: Storage) -> Var:
    """Compute what the n-grams of one text say about the labels, float32 `[1, classes]`; see `retvec_lite.ngrams.ngram_logits`."""
    if "ngrams/codes" in weights:
        ngrams = _coded(ngrams, weights["ngrams/codes"], storage)
    places = ngrams.present.shape[1]
    width = weights["ngrams/table"].shape[1]
    # One gather and one sum for the labels and the length.
    rows = mb.gather(x=_table(weights, storage), indices=ngrams.buckets, axis=0, name="ngram_rows")
    present = mb.reshape(x=ngrams.present, shape=[1, 1, places])
    total = mb.reshape(x=mb.matmul(x=present, y=rows), shape=[1, width + 1], name="ngram_total")
    square = mb.slice_by_index(x=total, begin=[0, width], end=[1, width + 1])
    length = mb.sqrt(x=mb.maximum(x=square, y=_float(1)), name="ngram_length")
    said = mb.real_div(x=mb.slice_by_index(x=total, begin=[0, 0], end=[1, width]), y=length)
    if "ngrams/projection" in weights:
        projection = mb.const(val=weights["ngrams/projection"].astype(np.float32), name="ngrams_projection")
        said = mb.matmul(x=said, y=projection)
    bias = mb.const(val=weights["ngrams/bias"].astype(np.float32), name="ngrams_bias")
    return mb.add(x=said, y=bias, name="ngrams_logits")


def _coded(ngrams: Ngrams, codes: Floats, storage: Storage) -> Ngrams:
    """Return the bucket of each hash in every codebook: a place for each of them and each place of `ngrams`."""
    places, books = ngrams.present.shape[1], codes.shape[1]
    levels = np.arange(CODES, dtype=np.float32)
    table = from_palette(codes.astype(np.uint8), levels, 8, storage.for_ios18, "ngrams_codes")
    found = mb.gather(x=table, indices=ngrams.buckets, axis=0, name="ngram_codes")
    first = np.arange(books, dtype=np.float32) * np.float32(CODES)
    buckets = mb.cast(x=mb.add(x=found, y=first), dtype="int32")
    repeated = mb.mul(x=mb.reshape(x=ngrams.present, shape=[1, places, 1]), y=np.ones((1, 1, books), np.float32))
    return Ngrams(
        mb.reshape(x=buckets, shape=[1, places * books], name="bucket"),
        mb.reshape(x=repeated, shape=[1, places * books], name="ngram_present"),
    )


def _table(weights: Mapping[str, Floats], storage: Storage) -> Var:
    """Return the weights of all labels and, behind them, the squares: float32 `[buckets, classes + 1]`.

    The file holds 8-bit integers and a scale for each column. `gather` takes no such integers before iOS 17, so an operator
    unpacks them when the model is loaded, as Core ML's own 8-bit embeddings do.
    """
    integers, scales = table_integers(weights["ngrams/table"])
    squares = weights["ngrams/squares"].astype(np.int8)[:, None]
    stored: npt.NDArray[np.int8] = np.concatenate([integers, squares], axis=1)
    scales = np.append(scales, np.float32(1))
    return from_grid(stored, scales[None], 1, storage.for_ios18, "ngrams_table")


def _folded(characters: Characters, storage: Storage, plain_letters: bool) -> Var:
    """Return the lower case of characters, or plain letters, and a mark, 0, for separators: float32 `[1, max_chars]`."""
    places, used = fold_table(plain_letters)
    bits = 8 if plain_letters else 4
    levels = np.zeros(2**bits, np.float32)
    levels[: len(used)] = used
    table = from_palette(places[:, None], levels, bits, storage.for_ios18, "ngrams_lower_case")
    is_word = mb.greater(x=characters.classes, y=np.int32(0))
    chars = mb.select(cond=is_word, a=characters.codes, b=np.int32(0), name="ngram_chars")
    found = mb.gather(x=table, indices=mb.minimum(x=chars, y=np.int32(LOWER_CASE_END)), axis=0)
    level, chars = mb.reshape(x=found, shape=[1, chars.shape[1]]), mb.cast(x=chars, dtype="fp32")
    lower = mb.add(x=chars, y=level, name="lower_case_chars" if plain_letters else "folded_chars")
    if not plain_letters:
        return lower
    replaces = mb.greater(x=level, y=_float(LETTER / 2))
    return mb.select(cond=replaces, a=mb.sub(x=level, y=_float(LETTER)), b=lower, name="folded_chars")


def modulo(values: Var, divisor: int, name: str) -> Var:
    """Return the remainder of integers below 2**22, exactly: half a unit keeps the rounded quotient on the right side."""
    share = mb.mul(x=mb.add(x=values, y=_float(0.5)), y=_float(1 / divisor))
    return mb.sub(x=values, y=mb.mul(x=mb.floor(x=share), y=_float(divisor)), name=name)


def _joined(parts: list[Var]) -> Var:
    return parts[0] if len(parts) == 1 else mb.concat(values=parts, axis=1)


def _float(value: float) -> np.float32:
    return np.float32(value)
