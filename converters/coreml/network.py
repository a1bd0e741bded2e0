"""The network as a Core ML graph: bits and mask -> embedding -> probabilities, for every head.

Everything between `bits` and the softmax runs in the recipe's precision.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from coremltools.converters.mil import Builder as mb

from retvec_lite.contract import Floats
from retvec_lite.converters.coreml import Palette, compressed
from retvec_lite.converters.recipes import Recipe
from retvec_lite.converters.tflite.quantize import pack_nibbles
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import (
    HEADS,
    VECTOR,
    CnnHead,
    HeadSpec,
    LinearHead,
    PoolHead,
)

Var = Any  # a value of a MIL program

_FAR: Final = 1e4
"""Pushes unused words out of a maximum: small enough for float16, far above any activation."""

_NIBBLES: Final = np.arange(-8, 8)


def probability_values(logits: Var, multi_label: bool) -> Var:
    """Return the probabilities of logits float32 `[1, classes]`, named `probability_values`."""
    if multi_label:
        return mb.sigmoid(x=logits, name="probability_values")
    return mb.softmax(x=logits, axis=-1, name="probability_values")


class CoreMLNetwork:
    """Builds the network's part of a program, with the weights as the recipe stores them."""

    def __init__(self, weights: Mapping[str, Floats], recipe: Recipe) -> None:
        """Keep the weights, named and shaped as in `HeadSpec.shapes`, with or without an embedding."""
        self._weights = weights
        self._bits = recipe.bits
        self._type: type[np.floating[Any]] = np.float32 if recipe.bits == 32 else np.float16

    def embed(self, bits: Var) -> Var:
        """Compute word embeddings of bits, float32 `[1, words, word_length * 21]`.

        Returns:
            `[1, words, dimension]` in the recipe's precision, named `embedding`; the bits themselves without an embedding.
        """
        values = self._cast(bits)
        if "embedding/dense_0/kernel" not in self._weights:
            return values
        hidden = _gelu(self._dense(values, "embedding/dense_0"))
        hidden = _gelu(self._dense(hidden, "embedding/dense_1"))
        return mb.tanh(x=self._dense(hidden, "embedding/dense_2"), name="embedding")

    def classify(
        self, vectors: Var, mask: Var, head: HeadSpec, linear: Var | None = None, multi_label: bool = False
    ) -> Var:
        """Compute label probabilities, float32 `[1, classes]`, named `probability_values`.

        The vectors are `[1, words, dimension]` in the recipe's precision; the mask is float32 `[1, words, 1]`, 1 where a slot is in
        use; n-grams and meaning add to the logits, float32 `[1, classes]`.
        """
        used = self._cast(mask)
        present = mb.mul(x=vectors, y=used, name="present")
        match head:
            case LinearHead():
                pooled = self._mean(present, used)
            case PoolHead(blocks=0):
                pooled = self._mean_and_max(self._word(present), used)
            case PoolHead():
                pooled = self._mean_and_max(*self._convolved(self._word(present), used, head.blocks))
            case CnnHead():
                regions = _gelu(self._dense(mb.mul(x=self._word(present), y=used), "head/region"))
                pooled = self._mean_and_max(*self._convolved(regions, used, head.blocks))
            case _:
                raise RetvecLiteError(f"There is no head {head.name!r} for Core ML. Choose from {', '.join(HEADS)}.")
        if f"{VECTOR}/kernel" in self._weights:
            is_any = mb.reduce_max(x=used, axes=[1], keep_dims=False)
            pooled = mb.mul(x=self._dense(pooled, VECTOR), y=is_any)
        logits = mb.cast(x=self._dense(pooled, "head/logits"), dtype="fp32", name="logits")
        if linear is not None:
            logits = mb.add(x=logits, y=linear, name="logits_with_linear_part")
        return probability_values(logits, multi_label)

    def _cast(self, values: Var) -> Var:
        return values if self._type is np.float32 else mb.cast(x=values, dtype="fp16")

    def _dense(self, values: Var, name: str) -> Var:
        """Compute `values @ kernel + bias` over the last axis."""
        weight, bias = self._kernel(f"{name}/kernel"), self._bias(f"{name}/bias")
        if weight.op.op_type == "mul":
            # `linear` takes only weights that one operator makes.
            return mb.add(x=mb.matmul(x=values, y=weight, transpose_y=True), y=bias, name=_called(name))
        return mb.linear(x=values, weight=weight, bias=bias, name=_called(name))

    def _word(self, values: Var) -> Var:
        """Apply the layer that reads each word by itself."""
        return _gelu(self._dense(values, "head/word"))

    def _mean_and_max(self, values: Var, used: Var) -> Var:
        """Return mean and maximum over the words, `[1, 2 * width]`; zeros for a text without words."""
        mean = self._mean(mb.mul(x=values, y=used), used)
        is_any = mb.reduce_max(x=used, axes=[1], keep_dims=False)
        highest = mb.reduce_max(x=self._far_unused(values, used), axes=[1], keep_dims=False)
        return mb.concat(values=[mean, mb.mul(x=highest, y=is_any)], axis=-1, name="pooled")

    def _mean(self, present: Var, used: Var) -> Var:
        """Return the mean over the words in use, `[1, width]`; unused words must be zeros."""
        count = mb.maximum(x=mb.reduce_sum(x=used, axes=[1], keep_dims=False), y=self._type(1))
        return mb.real_div(x=mb.reduce_sum(x=present, axes=[1], keep_dims=False), y=count, name="mean")

    def _far_unused(self, values: Var, used: Var) -> Var:
        """Return the values, those of unused words far below all others."""
        return mb.add(x=mb.mul(x=values, y=used), y=self._unused(used))

    def _unused(self, used: Var) -> Var:
        """Return 0 for words in use and a large negative number for others, in the shape of `used`."""
        return mb.mul(x=mb.sub(x=used, y=self._type(1)), y=self._type(_FAR))

    def _neighbours(self, values: Var) -> tuple[Var, Var, Var]:
        """Return the place before each place of axis 1, the place itself and the one behind it; zeros beyond the ends."""
        rows, places, size = values.shape
        zeros = np.zeros((rows, 1, size), self._type)
        padded = mb.concat(values=[zeros, values, zeros], axis=1)
        before, behind = (
            mb.slice_by_index(x=padded, begin=[0, start, 0], end=[rows, start + places, size]) for start in (0, 2)
        )
        return before, values, behind

    def _convolved(self, values: Var, used: Var, blocks: int) -> tuple[Var, Var]:
        """Apply residual separable convolutions, with a halving between two."""
        hidden = mb.mul(x=values, y=used)
        for block in range(blocks):
            name = f"head/block_{block}"
            around = self._neighbours(hidden)
            depthwise = enumerate(self._weights[f"{name}/depthwise"].astype(self._type))
            stored = [mb.const(val=row, name=f"{_called(name)}_depthwise_{place}") for place, row in depthwise]
            before, here, behind = (mb.mul(x=words, y=row) for words, row in zip(around, stored, strict=True))
            mixed = mb.add(x=mb.add(x=before, y=here), y=behind)
            hidden = mb.mul(x=mb.add(x=hidden, y=_gelu(self._dense(mixed, f"{name}/pointwise"))), y=used)
            if block + 1 < blocks:
                hidden, used = self._halve(hidden, used)
        return hidden, used

    def _halve(self, values: Var, used: Var) -> tuple[Var, Var]:
        """Return the maximum of each pair of words; an odd last word stays alone."""
        _, words, width = values.shape
        pairs = (words + 1) // 2
        far = self._far_unused(values, used)
        if words % 2:
            far = mb.concat(values=[far, np.full((1, 1, width), -_FAR, self._type)], axis=1)
            used = mb.concat(values=[used, np.zeros((1, 1, 1), self._type)], axis=1)
        highest = mb.reduce_max(x=mb.reshape(x=far, shape=[pairs, 2, width]), axes=[1], keep_dims=False)
        used = mb.reduce_max(x=mb.reshape(x=used, shape=[pairs, 2, 1]), axes=[1], keep_dims=False)
        used = mb.reshape(x=used, shape=[1, pairs, 1])
        return mb.mul(x=mb.reshape(x=highest, shape=[1, pairs, width]), y=used), used

    def _bias(self, name: str) -> Var:
        """Return a bias in the network's precision."""
        return mb.const(val=self._weights[name].astype(self._type), name=_called(name))

    def _kernel(self, name: str) -> Var:
        """Return a kernel `[outputs, inputs]` (transposed, compared with `HeadSpec.shapes`), stored as the recipe says, in the network's precision."""
        values, kind = np.ascontiguousarray(self._weights[name].T), self._type
        if self._bits == 32:
            return mb.const(val=values.astype(kind), name=_called(name))
        found = compressed(values, self._bits)
        if isinstance(found, Palette):
            return from_palette(found.indices, found.levels.astype(kind), self._bits, _called(name))
        if self._bits == 8:
            return from_grid(found.integers, found.scales.astype(kind), 0, _called(name))
        # There are only palettes for whole matrices: one holds the integers, and a product applies the scales.
        indices = (found.integers + _NIBBLES[-1] + 1).astype(np.uint8)
        integers = from_palette(indices, _NIBBLES.astype(kind), self._bits, f"{_called(name)}_integers")
        return mb.mul(x=integers, y=found.scales.astype(kind), name=_called(name))


def _gelu(values: Var) -> Var:
    return mb.gelu(x=values, mode="EXACT")


def _called(weight: str) -> str:
    """Return the name of a weight in a program: `head_word_kernel` for `head/word/kernel`."""
    return weight.replace("/", "_")


def from_grid(integers: npt.NDArray[Any], scales: npt.NDArray[Any], axis: int, name: str) -> Var:
    """Return a matrix of integers times a scale for each index of an axis; scales are float16 or float32, one in a row or a column."""
    zeros = np.zeros(scales.size, np.int8)
    return mb.constexpr_affine_dequantize(
        quantized_data=integers, zero_point=zeros, scale=scales.reshape(-1), axis=np.int32(axis), name=name
    )


def from_palette(indices: npt.NDArray[np.uint8], levels: npt.NDArray[Any], bits: int, name: str) -> Var:
    """Return a matrix of numbers from a list: indices uint8 `[rows, columns]`, levels float16 or float32 `[2**bits]`."""
    packed = indices.reshape(-1) if bits == 8 else pack_nibbles(indices)
    return mb.constexpr_lut_to_dense(indices=packed, lut=levels, shape=np.array(indices.shape, np.uint32), name=name)
