"""The network that is pre-trained, quantization-aware, in Keras 3 ops (any backend)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops

from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.grid import channel_scale, fake_quantize, snap
from retvec_lite.model.weight_files import Embedding
from retvec_lite.pretraining.augment import WORD_LENGTH
from retvec_lite.pretraining.similarity import Tensor, multi_similarity_loss

BITS = 21  # every Unicode scalar value fits; the paper's 24 have three leading digits that are always zero
EMBEDDING_DIM = 256


def bits_of(codepoints: Tensor) -> Tensor:
    """Binary digits, most significant first: float32 [B, 16, 21] from int32 [B, 16]."""
    places = ops.arange(BITS - 1, -1, -1, dtype="int32")
    return ops.cast(ops.bitwise_and(ops.right_shift(codepoints[..., None], places), 1), "float32")


def _first_clipping() -> keras.initializers.Initializer:
    return keras.initializers.Constant(0.85)  # near what four bits of a normal distribution want


@dataclass(frozen=True)
class NetworkSettings:
    """What decides the network and its grid. The defaults are what ships; the others are compared in `benchmarks/`.

    Attributes:
        word_length: characters a word.
        embedding_dim: width of all three layers' outputs.
        weight_bits: of the grid that the last part of training computes on, 2 to 8.
        per_tensor: one scale for a whole kernel, which old runtimes need, and not one for each output channel.
        learned_clipping: train the scales too (LSQ), and do not take each channel's largest weight for its limit.
        projection: train the similarities of a fourth layer that is dropped afterwards, as the paper does, and not those of
            the embedding itself.
    """

    word_length: int = WORD_LENGTH
    embedding_dim: int = EMBEDDING_DIM
    weight_bits: int = 4
    per_tensor: bool = False
    learned_clipping: bool = True
    projection: bool = False

    @property
    def levels(self) -> int:
        """The grid's largest integer."""
        return int(2 ** (self.weight_bits - 1)) - 1


class QuantizableDense(keras.layers.Layer):  # type: ignore[misc]
    """A dense layer that computes with its kernel on the grid while `active` is 1, and learns the float one."""

    def __init__(
        self, units: int, activation: str, active: keras.Variable, seed: int, settings: NetworkSettings, **options: Any
    ) -> None:
        super().__init__(**options)
        self.units, self.activation, self.active, self.seed, self.settings = units, activation, active, seed, settings

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Create kernel float32 [in, units], bias float32 [units] and, where it is learned, the clipping [units]."""
        glorot = keras.initializers.GlorotUniform(seed=self.seed)
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), initializer=glorot, name="kernel")
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")
        if self.settings.learned_clipping:
            # A share of the largest weight: it stays right while weights grow, is never more than all of it (so that a
            # quantizer which looks for the largest weight finds the same grid), and the weights' learning rate fits it.
            width = 1 if self.settings.per_tensor else self.units
            self.clipping = self.add_weight(shape=(width,), initializer=_first_clipping(), name="clipping")

    def scale(self) -> Tensor:
        """The grid's step: float32 [1, units], or [1, 1] per tensor."""
        largest = channel_scale(self.kernel, self.settings.levels, per_tensor=self.settings.per_tensor)
        if not self.settings.learned_clipping:
            return largest
        return ops.stop_gradient(largest) * ops.clip(self.clipping, 0.1, 1.0)

    def call(self, inputs: Tensor) -> Tensor:
        """float32 [B, in] -> float32 [B, units]."""
        scale = self.scale() if self.settings.learned_clipping or self.settings.per_tensor else None
        quantized = fake_quantize(self.kernel, self.settings.levels, scale)
        values = ops.matmul(inputs, self.kernel + self.active * (quantized - self.kernel)) + self.bias
        # GELU is the exact one: Keras's default is exact, but the contract should not hang on a default.
        return ops.gelu(values, approximate=False) if self.activation == "gelu" else ops.tanh(values)

    def arrays(self, *, snapped: bool) -> tuple[Floats, Floats]:
        """Kernel and bias as NumPy, the kernel on its grid if `snapped`."""
        kernel = ops.convert_to_numpy(self.kernel).astype(np.float32)
        if snapped:
            kernel = snap(kernel, self.settings.levels, ops.convert_to_numpy(self.scale()))
        return kernel, ops.convert_to_numpy(self.bias).astype(np.float32)


class WordModel(keras.Model):  # type: ignore[misc]
    """Bits -> 256 GELU -> 256 GELU -> 256 tanh, and the similarities that are trained (paper, 3.2)."""

    def __init__(self, seed: int, settings: NetworkSettings) -> None:
        super().__init__(name="word_model")
        self.settings = settings
        self.quantized = keras.Variable(0.0, trainable=False, dtype="float32", name="quantized")
        self.dense_layers = [
            QuantizableDense(
                settings.embedding_dim, activation, self.quantized, seed + index, settings, name=f"dense_{index}"
            )
            for index, activation in enumerate(("gelu", "gelu", "tanh"))
        ]
        if settings.projection:
            glorot = keras.initializers.GlorotUniform(seed=seed + 3)
            self.similarity = keras.layers.Dense(settings.embedding_dim, kernel_initializer=glorot, name="similarity")

    def embed(self, codepoints: Tensor, keep: Tensor | None = None) -> Tensor:
        """Embedding float32 [B, D] of words int32 [B, L]; `keep` float32 [B, L] multiplies characters (dropout)."""
        bits = bits_of(codepoints)
        if keep is not None:
            bits = bits * keep[..., None]
        values = ops.reshape(bits, (-1, self.settings.word_length * BITS))
        for layer in self.dense_layers:
            values = layer(values)
        return values

    def call(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        """L2-normalized similarity vectors float32 [B, D] of {"codepoints": [B, L], "keep": [B, L]}."""
        values = self.embed(inputs["codepoints"], inputs["keep"])
        if self.settings.projection:
            values = self.similarity(values)
        return values / ops.sqrt(ops.sum(ops.square(values), axis=-1, keepdims=True) + 1e-12)

    def compute_loss(
        self,
        x: Tensor = None,
        y: Tensor = None,
        y_pred: Tensor = None,
        sample_weight: Tensor = None,
        training: bool = True,
    ) -> Tensor:
        """Multi-Similarity loss of classes int32 [B] and vectors float32 [B, D]."""
        return multi_similarity_loss(y, y_pred)

    def arrays(self, *, snapped: bool) -> dict[str, Floats]:
        """The three dense layers as NumPy arrays, `dense_0/kernel` and so on, kernels on their grid if `snapped`."""
        found: dict[str, Floats] = {}
        for index, layer in enumerate(self.dense_layers):
            found[f"dense_{index}/kernel"], found[f"dense_{index}/bias"] = layer.arrays(snapped=snapped)
        return found

    def load(self, embedding: Embedding) -> None:
        """Take the weights of an embedding.

        Raises:
            RetvecLiteError: when it has another word length or width.
        """
        given, wanted = (
            (embedding.word_length, embedding.dimension),
            (
                self.settings.word_length,
                self.settings.embedding_dim,
            ),
        )
        if given != wanted:
            raise RetvecLiteError(
                f"Expected an embedding with word length {wanted[0]} and {wanted[1]} dimensions, received {embedding.name} "
                f"with {given[0]} and {given[1]}."
            )
        for index, layer in enumerate(self.dense_layers):
            layer.kernel.assign(embedding.weights[f"embedding/dense_{index}/kernel"])
            layer.bias.assign(embedding.weights[f"embedding/dense_{index}/bias"])

    def embed_words(self, words: Ints, batch_size: int = 1024) -> Floats:
        """Embeddings as NumPy, in batches: float32 [N, 256] of int32 [N, 16]."""
        parts = [
            ops.convert_to_numpy(self.embed(ops.convert_to_tensor(words[start : start + batch_size]))).astype(
                np.float32
            )
            for start in range(0, len(words), batch_size)
        ]
        return np.concatenate(parts)


def build_model(schedule: Schedule, seed: int, settings: NetworkSettings) -> WordModel:
    """A compiled model, with XLA where the backend has it."""
    model = WordModel(seed, settings)
    model.compile(optimizer=schedule.optimizer(), jit_compile=keras.backend.backend() in ("tensorflow", "jax"))
    ones = np.ones((2, settings.word_length), np.float32)
    model({"codepoints": ones.astype(np.int32), "keep": ones})
    model.optimizer.build(model.trainable_variables)
    return model


@dataclass(frozen=True)
class Schedule:
    """Linear warm-up to `peak`, then cosine decay to `final`.

    Attributes:
        steps: training steps in all.
        warmup: steps of warm-up.
        peak, final: learning rates.
        muon: whether matrices are trained by Muon, and everything else by Adam at the same rate; otherwise all by Adam.
    """

    steps: int
    warmup: int
    peak: float
    final: float
    muon: bool

    def rate(self, step: int) -> float:
        """The learning rate of a step (for the log)."""
        if step < self.warmup:
            return self.peak * step / self.warmup
        progress = min((step - self.warmup) / max(self.steps - self.warmup, 1), 1.0)
        return self.final + (self.peak - self.final) * 0.5 * (1 + math.cos(math.pi * progress))

    def optimizer(self) -> keras.optimizers.Optimizer:
        """Adam, or Muon for matrices (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/), with this rate."""
        rate = keras.optimizers.schedules.CosineDecay(
            0.0 if self.warmup else self.peak,
            decay_steps=max(self.steps - self.warmup, 1),
            alpha=self.final / self.peak,
            warmup_target=self.peak if self.warmup else None,
            warmup_steps=self.warmup,
        )
        return keras.optimizers.Muon(rate, weight_decay=None) if self.muon else keras.optimizers.Adam(rate)
