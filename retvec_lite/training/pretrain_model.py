"""The network that is pre-trained, quantization-aware, in Keras 3 ops (any backend)."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from retvec_lite.training.augment import WORD_LENGTH
from retvec_lite.training.grid import FloatMatrix, fake_quantize, snap
from retvec_lite.training.similarity import Tensor, multi_similarity_loss
from retvec_lite.training.unicode_tables import Int32Array

BITS = 21  # every Unicode scalar value fits; the paper's 24 have three leading digits that are always zero
EMBEDDING_DIM = 256


def bits_of(codepoints: Tensor) -> Tensor:
    """Binary digits, most significant first: float32 [B, 16, 21] from int32 [B, 16]."""
    places = ops.arange(BITS - 1, -1, -1, dtype="int32")
    return ops.cast(ops.bitwise_and(ops.right_shift(codepoints[..., None], places), 1), "float32")


class QuantizableDense(keras.layers.Layer):  # type: ignore[misc]
    """A dense layer that computes with its 4-bit kernel while `active` is 1, and learns the float one (straight-through)."""

    def __init__(self, units: int, activation: str, active: keras.Variable, seed: int, **options: Any) -> None:
        super().__init__(**options)
        self.units, self.activation, self.active, self.seed = units, activation, active, seed

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Create kernel float32 [in, units] and bias float32 [units]."""
        glorot = keras.initializers.GlorotUniform(seed=self.seed)
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), initializer=glorot, name="kernel")
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")

    def call(self, inputs: Tensor) -> Tensor:
        """float32 [B, in] -> float32 [B, units]."""
        rounding = ops.stop_gradient(fake_quantize(self.kernel) - self.kernel)
        values = ops.matmul(inputs, self.kernel + self.active * rounding) + self.bias
        # GELU is the exact one: Keras's default is exact, but the contract should not hang on a default.
        return ops.gelu(values, approximate=False) if self.activation == "gelu" else ops.tanh(values)


class WordModel(keras.Model):  # type: ignore[misc]
    """Bits -> 256 GELU -> 256 GELU -> 256 tanh, and the similarity layer that only training needs (paper, 3.2)."""

    def __init__(self, seed: int) -> None:
        super().__init__(name="word_model")
        self.quantized = keras.Variable(0.0, trainable=False, dtype="float32", name="quantized")
        self.dense_layers = [
            QuantizableDense(EMBEDDING_DIM, activation, self.quantized, seed + index, name=f"dense_{index}")
            for index, activation in enumerate(("gelu", "gelu", "tanh"))
        ]
        glorot = keras.initializers.GlorotUniform(seed=seed + 3)
        self.similarity = keras.layers.Dense(EMBEDDING_DIM, kernel_initializer=glorot, name="similarity")

    def embed(self, codepoints: Tensor, keep: Tensor | None = None) -> Tensor:
        """Embedding float32 [B, 256] of words int32 [B, 16]; `keep` float32 [B, 16] multiplies characters (dropout)."""
        bits = bits_of(codepoints)
        if keep is not None:
            bits = bits * keep[..., None]
        values = ops.reshape(bits, (-1, WORD_LENGTH * BITS))
        for layer in self.dense_layers:
            values = layer(values)
        return values

    def call(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        """L2-normalized similarity vectors float32 [B, 256] of {"codepoints": [B, 16], "keep": [B, 16]}."""
        values = self.similarity(self.embed(inputs["codepoints"], inputs["keep"]))
        return values / ops.sqrt(ops.sum(ops.square(values), axis=-1, keepdims=True) + 1e-12)

    def compute_loss(
        self,
        x: Tensor = None,
        y: Tensor = None,
        y_pred: Tensor = None,
        sample_weight: Tensor = None,
        training: bool = True,
    ) -> Tensor:
        """Multi-Similarity loss of classes int32 [B] and vectors float32 [B, 256]."""
        return multi_similarity_loss(y, y_pred)

    def arrays(self, *, snapped: bool) -> dict[str, FloatMatrix]:
        """The three dense layers as NumPy arrays, `dense_0/kernel` and so on, kernels on their 4-bit grid if `snapped`."""
        found: dict[str, FloatMatrix] = {}
        for index, layer in enumerate(self.dense_layers):
            kernel = ops.convert_to_numpy(layer.kernel).astype(np.float32)
            found[f"dense_{index}/kernel"] = snap(kernel) if snapped else kernel
            found[f"dense_{index}/bias"] = ops.convert_to_numpy(layer.bias).astype(np.float32)
        return found

    def embed_words(self, words: Int32Array, batch_size: int = 1024) -> FloatMatrix:
        """Embeddings as NumPy, in batches: float32 [N, 256] of int32 [N, 16]."""
        parts = [
            ops.convert_to_numpy(self.embed(ops.convert_to_tensor(words[start : start + batch_size]))).astype(
                np.float32
            )
            for start in range(0, len(words), batch_size)
        ]
        return np.concatenate(parts)


def build_model(steps: int, seed: int, *, warmup: int, peak: float, final: float) -> WordModel:
    """A compiled model: Adam with linear warm-up to `peak` and cosine decay to `final`; XLA where the backend has it."""
    model = WordModel(seed)
    decay_steps = max(steps - warmup, 1)
    schedule = keras.optimizers.schedules.CosineDecay(
        0.0 if warmup else peak,
        decay_steps=decay_steps,
        alpha=final / peak,
        warmup_target=peak if warmup else None,
        warmup_steps=warmup,
    )
    model.compile(
        optimizer=keras.optimizers.Adam(schedule), jit_compile=keras.backend.backend() in ("tensorflow", "jax")
    )
    ones = np.ones((2, WORD_LENGTH), np.float32)
    model({"codepoints": ones.astype(np.int32), "keep": ones})
    model.optimizer.build(model.trainable_variables)
    return model


def learning_rate(step: int, steps: int, *, warmup: int, peak: float, final: float) -> float:
    """The learning rate of a step, as in `build_model` (for the log)."""
    if step < warmup:
        return peak * step / warmup
    progress = min((step - warmup) / max(steps - warmup, 1), 1.0)
    return final + (peak - final) * 0.5 * (1 + math.cos(math.pi * progress))
