"""Hashed character n-grams as a Core ML graph: the same as `model/ngram_graph.py`, in float32 whatever the recipe.

The numbers of the hash need 22 bits and so float32, which also keeps them away from the neural engine, whose numbers have 11.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from coremltools.converters.mil import Builder as mb

from retvec_lite.contract import Floats
from retvec_lite.converters.coreml import FOUR_BITS_SINCE, Storage
from retvec_lite.converters.coreml.encoder import Characters
from retvec_lite.converters.coreml.network import from_palette
from retvec_lite.ngrams import CODES, FACTOR, LOWER_CASE_END, PRIME, NgramConfig, lower_case_table, table_integers

Var = Any  # a value of a MIL program

_PALETTE: Final = 16
"""Colours of a palette of 4 bits; there are fewer differences between the cases."""


class Ngrams(NamedTuple):
    """The n-grams of one text.

    Attributes:
        buckets: int32 `[1, places]`, from 0 to buckets - 1, or hashes where there are codebooks; any where there is no n-gram.
        present: float32 `[1, places]`, 1 where there is an n-gram, else 0.
    """

    buckets: Var
    present: Var


def find_ngrams(characters: Characters, config: NgramConfig, storage: Storage) -> Ngrams:
    """Hash the n-grams of one text.

    Args:
        characters: from `encoder.sanitize`.
        config: which n-grams.
        storage: for which iOS the package is.

    Returns:
        A place for each length and each of the `max_chars + 1` characters and marks that an n-gram may begin with.
    """
    starts = characters.codes.shape[1] + 1
    front, behind = np.zeros((1, 1), np.float32), np.zeros((1, config.longest), np.float32)
    marked = mb.concat(values=[front, _folded(characters, storage), behind], axis=1, name="marked_chars")
    is_char = mb.minimum(x=marked, y=_float(1), name="is_char")

    def shifted(values: Var, places: int) -> Var:
        return mb.slice_by_index(x=values, begin=[0, places], end=[1, places + starts])

    # The hash begins with 1.
    product: Var = _float(FACTOR)
    inner: Var = None
    hashes, present = [], []
    for length in range(1, config.longest + 1):
        code = _modulo(mb.add(x=shifted(marked, length - 1), y=product), PRIME, f"hash_{length}")
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
    buckets = found if config.codebooks else _modulo(found, config.buckets, "bucket")
    return Ngrams(mb.cast(x=buckets, dtype="int32"), _joined(present))


def ngram_logits(ngrams: Ngrams, weights: Mapping[str, Floats], storage: Storage) -> Var:
    """Compute what n-grams say about the labels, see `retvec_lite.ngrams.ngram_logits`.

    Args:
        ngrams: of one text.
        weights: `ngrams/table`, `ngrams/squares` and `ngrams/bias`, on their grid, `ngrams/codes` with codebooks, and
            `ngrams/projection` with a rank.
        storage: for which iOS the package is.

    Returns:
        float32 `[1, classes]`, named `ngrams_logits`.
    """
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
    table = from_palette(
        codes.astype(np.uint8),
        np.arange(CODES, dtype=np.float32),
        8,
        storage.ios >= FOUR_BITS_SINCE,
        "ngrams_codes",
    )
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
    if storage.ios >= FOUR_BITS_SINCE:
        return mb.constexpr_blockwise_shift_scale(data=stored, scale=scales[None], name="ngrams_table")
    return mb.constexpr_affine_dequantize(
        quantized_data=stored,
        zero_point=np.zeros(len(scales), np.int8),
        scale=scales,
        axis=np.int32(1),
        name="ngrams_table",
    )


def _folded(characters: Characters, storage: Storage) -> Var:
    """Return the lower case of characters and a mark, 0, for separators: float32 `[1, max_chars]`."""
    places, differences = lower_case_table()
    levels = np.zeros(_PALETTE, np.float32)
    levels[: len(differences)] = differences
    table = from_palette(places[:, None], levels, 4, storage.ios >= FOUR_BITS_SINCE, "ngrams_lower_case")
    is_word = mb.greater(x=characters.classes, y=np.int32(0))
    chars = mb.select(cond=is_word, a=characters.codes, b=np.int32(0), name="ngram_chars")
    found = mb.gather(x=table, indices=mb.minimum(x=chars, y=np.int32(LOWER_CASE_END)), axis=0)
    difference = mb.reshape(x=found, shape=[1, chars.shape[1]])
    return mb.add(x=mb.cast(x=chars, dtype="fp32"), y=difference, name="folded_chars")


def _modulo(values: Var, divisor: int, name: str) -> Var:
    """Return the remainder of integers below 2**22, exactly: half a unit keeps the rounded quotient on the right side."""
    share = mb.mul(x=mb.add(x=values, y=_float(0.5)), y=_float(1 / divisor))
    return mb.sub(x=values, y=mb.mul(x=mb.floor(x=share), y=_float(divisor)), name=name)


def _joined(parts: list[Var]) -> Var:
    return parts[0] if len(parts) == 1 else mb.concat(values=parts, axis=1)


def _float(value: float) -> np.float32:
    return np.float32(value)
