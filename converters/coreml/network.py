"""The network as a Core ML graph: bits and mask -> embedding -> probabilities, for every head.

Everything between `bits` and the softmax runs in the precision of the recipe; a LSTM runs in float32, which is all that its
operator knows before iOS 17.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from coremltools.converters.mil import Builder as mb

from retvec_lite.contract import BITS, Floats
from retvec_lite.converters.coreml.storage import Storage
from retvec_lite.converters.coreml.weights import WeightStore, called
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import NORM_EPSILON, BertHead, CnnHead, HeadSpec, PoolHead, RnnHead

Var = Any  # a value of a MIL program

_FAR: Final = 1e4
"""Pushes unused words out of a maximum or softmax. Small enough for float16, far above any activation."""


class Network:
    """Builds the network's part of a program, with the weights in the form that the recipe stores."""

    def __init__(self, weights: Mapping[str, Floats], storage: Storage) -> None:
        """Prepare.

        Args:
            weights: named and shaped as in `HeadSpec.shapes`, with or without an embedding and character features.
            storage: how matrices are stored.
        """
        self._weights = weights
        self._store = WeightStore(weights, storage)
        self._type = np.dtype(storage.computes).type

    def embed(self, bits: Var) -> Var:
        """Word embeddings (design, section 1.2).

        Args:
            bits: float32 `[1, words, word_length * 21]`.

        Returns:
            `[1, words, dimension]` in the recipe's precision, called `embedding`; the bits themselves without an embedding.
        """
        values = self._cast(bits)
        if "embedding/dense_0/kernel" not in self._weights:
            return values
        hidden = _gelu(self._dense(values, "embedding/dense_0"))
        hidden = _gelu(self._dense(hidden, "embedding/dense_1"))
        return mb.tanh(x=self._dense(hidden, "embedding/dense_2"), name="embedding")

    def word_vectors(self, bits: Var, embedding: Var) -> Var:
        """What the head reads of each word (`modeling.classifier.word_vectors`).

        Args:
            bits: float32 `[1, words, word_length * 21]`.
            embedding: `[1, words, dimension]` in the recipe's precision, of these bits.

        Returns:
            `[1, words, dimension + filters]` in the recipe's precision; the embedding itself without character features.
        """
        if "characters/kernel" not in self._weights:
            return embedding
        words, digits = bits.shape[1:]
        characters = mb.reshape(x=self._cast(bits), shape=[words, digits // BITS, BITS])
        windows = self._neighbours(characters, self._weights["characters/kernel"].shape[0] // BITS)
        responses = self._dense(mb.concat(values=windows, axis=-1), "characters")
        found = mb.tanh(x=mb.reduce_max(x=responses, axes=[1], keep_dims=False))
        return mb.concat(values=[embedding, mb.expand_dims(x=found, axes=[0])], axis=-1, name="word_vectors")

    def classify(self, vectors: Var, mask: Var, head: HeadSpec) -> Var:
        """Label probabilities.

        Args:
            vectors: `[1, words, dimension]` in the recipe's precision, what the head reads of each word.
            mask: float32 `[1, words, 1]`, 1 where a slot is in use.
            head: which head, with its sizes.

        Returns:
            float32 `[1, classes]`, called `probability_values`.

        Raises:
            RetvecLiteError: for a head that cannot be built.
        """
        used = self._cast(mask)
        present = mb.mul(x=vectors, y=used, name="present")
        match head:
            case PoolHead():
                hidden = self._word(present)
            case CnnHead():
                hidden, used = self._cnn(mb.mul(x=self._word(present), y=used), used, head)
            case RnnHead():
                hidden = self._lstm(mb.mul(x=self._dense(self._word(present), "head/projection"), y=used), head)
            case BertHead():
                hidden = self._bert(present, used, head)
            case _:
                raise RetvecLiteError(f"Expected the head pool, cnn, rnn or bert for Core ML, received {head.name!r}.")
        logits = self._dense(self._mean_and_max(hidden, used), "head/logits")
        return mb.softmax(x=mb.cast(x=logits, dtype="fp32", name="logits"), axis=-1, name="probability_values")

    def _cast(self, values: Var) -> Var:
        return values if self._type is np.float32 else mb.cast(x=values, dtype="fp16")

    def _number(self, value: float) -> Any:
        return self._type(value)

    def _dense(self, values: Var, name: str) -> Var:
        """`values @ kernel + bias` over the last axis."""
        weight, bias = self._store.matrix(f"{name}/kernel"), self._store.vector(f"{name}/bias")
        if weight.op.op_type == "mul":
            # `linear` takes no weights that come out of more than one operator.
            return mb.add(x=mb.matmul(x=values, y=weight, transpose_y=True), y=bias, name=called(name))
        return mb.linear(x=values, weight=weight, bias=bias, name=called(name))

    def _word(self, values: Var) -> Var:
        """The layer that reads each word by itself."""
        return _gelu(self._dense(values, "head/word"))

    def _mean_and_max(self, values: Var, used: Var) -> Var:
        """`[1, 2 * width]`; zeros for a text without words."""
        count = mb.reduce_sum(x=used, axes=[1], keep_dims=False)
        one = self._number(1)
        total = mb.reduce_sum(x=mb.mul(x=values, y=used), axes=[1], keep_dims=False)
        mean = mb.real_div(x=total, y=mb.maximum(x=count, y=one), name="mean")
        highest = mb.reduce_max(x=self._far_unused(values, used), axes=[1], keep_dims=False)
        return mb.concat(values=[mean, mb.mul(x=highest, y=mb.minimum(x=count, y=one))], axis=-1, name="pooled")

    def _far_unused(self, values: Var, used: Var) -> Var:
        """The values, with those of unused words far below all others."""
        return mb.add(x=mb.mul(x=values, y=used), y=self._unused(used))

    def _unused(self, used: Var) -> Var:
        """0 for words in use, far below for the others; in the shape of `used`."""
        return mb.mul(x=mb.sub(x=used, y=self._number(1)), y=self._number(_FAR))

    def _neighbours(self, values: Var, width: int = 3) -> list[Var]:
        """The `width` places around each place of axis 1, itself in the middle; zeros beyond the ends."""
        rows, places, size = values.shape
        side = width // 2
        if side == 0:
            return [values]
        zeros = np.zeros((rows, side, size), self._type)
        padded = mb.concat(values=[zeros, values, zeros], axis=1)
        return [
            values
            if start == side
            else mb.slice_by_index(x=padded, begin=[0, start, 0], end=[rows, start + places, size])
            for start in range(width)
        ]

    def _cnn(self, values: Var, used: Var, head: CnnHead) -> tuple[Var, Var]:
        around = self._neighbours(values, head.region)
        region = around[0] if len(around) == 1 else mb.concat(values=around, axis=-1)
        hidden = mb.mul(x=_gelu(self._dense(region, "head/region")), y=used)
        for block in range(head.blocks):
            name = f"head/block_{block}"
            depthwise = zip(self._neighbours(hidden), self._store.rows(f"{name}/depthwise"), strict=True)
            before, here, behind = (mb.mul(x=words, y=weights) for words, weights in depthwise)
            mixed = mb.add(x=mb.add(x=before, y=here), y=behind)
            hidden = mb.mul(x=mb.add(x=hidden, y=_gelu(self._dense(mixed, f"{name}/pointwise"))), y=used)
            if block + 1 < head.blocks:
                hidden, used = self._halve(hidden, used)
        return hidden, used

    def _halve(self, values: Var, used: Var) -> tuple[Var, Var]:
        """Maximum of each two neighbouring words in use; an odd last word stands alone."""
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

    def _lstm(self, values: Var, head: RnnHead) -> Var:
        _, words, width = values.shape
        steps = mb.reshape(x=values, shape=[words, 1, width])
        if self._type is not np.float32:
            steps = mb.cast(x=steps, dtype="fp32")
        start = np.zeros((1, head.units), np.float32)
        outputs, _, _ = mb.lstm(
            x=steps,
            initial_h=start,
            initial_c=start,
            weight_ih=self._store.gates("head/lstm/kernel"),
            weight_hh=self._store.gates("head/lstm/recurrent_kernel"),
            bias=self._store.gates("head/lstm/bias"),
            output_sequence=True,
            name="head_lstm",
        )
        return self._cast(mb.reshape(x=outputs, shape=[1, words, head.units]))

    def _bert(self, values: Var, used: Var, head: BertHead) -> Var:
        words = values.shape[1]
        projected = self._dense(self._word(values), "head/projection")
        hidden = mb.add(x=projected, y=self._store.vector("head/positions"))
        unused = mb.reshape(x=self._unused(used), shape=[1, 1, words])
        for layer in range(head.layers):
            name = f"head/layer_{layer}"
            hidden = mb.add(x=hidden, y=self._attention(self._normalize(hidden), unused, head, name))
            inner = _gelu(self._dense(self._normalize(hidden), f"{name}/expand"))
            hidden = mb.add(x=hidden, y=self._dense(inner, f"{name}/contract"))
        gain, bias = self._store.vector("head/final_norm/gain"), self._store.vector("head/final_norm/bias")
        return self._normalize(hidden, gamma=gain, beta=bias)

    def _attention(self, values: Var, unused: Var, head: BertHead, name: str) -> Var:
        words, size = values.shape[1], head.width // head.attention_heads
        query, key, value = (
            mb.transpose(
                x=mb.reshape(x=self._dense(values, f"{name}/{part}"), shape=[words, head.attention_heads, size]),
                perm=[1, 0, 2],
            )
            for part in ("query", "key", "value")
        )
        scores = mb.mul(x=mb.matmul(x=query, y=key, transpose_y=True), y=self._number(1 / math.sqrt(size)))
        shares = mb.softmax(x=mb.add(x=scores, y=unused), axis=-1)
        mixed = mb.transpose(x=mb.matmul(x=shares, y=value), perm=[1, 0, 2])
        return self._dense(mb.reshape(x=mixed, shape=[1, words, head.width]), f"{name}/output")

    def _normalize(self, values: Var, **gain_and_bias: Var) -> Var:
        return mb.layer_norm(x=values, axes=[-1], epsilon=self._number(NORM_EPSILON), **gain_and_bias)


def _gelu(values: Var) -> Var:
    return mb.gelu(x=values, mode="EXACT")
