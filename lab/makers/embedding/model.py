"""The network that is pre-trained, quantization-aware, and its loss, in Keras 3 ops (any backend)."""

from typing import TYPE_CHECKING, Any, Final

import keras
import numpy as np
from keras import ops

from makers.embedding.batches import WordBatch
from makers.embedding.word_typos import WORD_LENGTH
from makers.stage import Arrays
from retvec_lite.contract import BITS, Floats, Ints
from retvec_lite.model.grid import FOUR_BITS, channel_scale, fake_quantize, snap
from retvec_lite.model.weight_files import Embedding

if TYPE_CHECKING:
    from makers.embedding.train import Round

Tensor = Any  # a tensor of whichever Keras backend is in use

FINAL_RATE: Final = 2e-5
"""The last learning rate."""

DIMENSION: Final = 256
"""Width of all three layers' outputs."""

_ALPHA, _BETA, _CENTER, _MARGIN = 4.0, 40.0, 0.5, 0.1
_OUT_OF_RANGE: Final = 3.0  # beyond every cosine, also after the margin


def bits_of(codepoints: Tensor) -> Tensor:
    """Return binary digits, most significant first: float32 [B, 16, 21] from int32 [B, 16]."""
    places = ops.arange(BITS - 1, -1, -1, dtype="int32")
    return ops.cast(ops.bitwise_and(ops.right_shift(codepoints[..., None], places), 1), "float32")


class QuantizableDense(keras.layers.Layer):  # type: ignore[misc]
    """A dense layer that computes with its kernel on the grid while `active` is 1, and learns the float one."""

    def __init__(self, activation: str, active: keras.Variable, seed: int, learned_clipping: bool, name: str) -> None:
        super().__init__(name=name)
        self.activation, self.active, self.seed, self.learned_clipping = activation, active, seed, learned_clipping

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Create kernel float32 [in, 256], bias float32 [256] and, where it is learned, the clipping [256]."""
        glorot = keras.initializers.GlorotUniform(seed=self.seed)
        self.kernel = self.add_weight(shape=(input_shape[-1], DIMENSION), initializer=glorot, name="kernel")
        self.bias = self.add_weight(shape=(DIMENSION,), initializer="zeros", name="bias")
        if self.learned_clipping:
            # A share of the largest weight: it stays right while weights grow, is never more than all of it (so that a
            # quantizer which looks for the largest weight finds the same grid), and the weights' learning rate fits it.
            start = keras.initializers.Constant(0.85)  # near what four bits of a normal distribution want
            self.clipping = self.add_weight(shape=(DIMENSION,), initializer=start, name="clipping")

    def scale(self) -> Tensor:
        """Return the step of the grid: float32 [1, 256]."""
        largest = channel_scale(self.kernel, FOUR_BITS)
        if not self.learned_clipping:
            return largest
        return ops.stop_gradient(largest) * ops.clip(self.clipping, 0.1, 1.0)

    def call(self, inputs: Tensor) -> Tensor:
        """Return the outputs, float32 [B, 256], of float32 [B, in]."""
        quantized = fake_quantize(self.kernel, FOUR_BITS, self.scale() if self.learned_clipping else None)
        values = ops.matmul(inputs, self.kernel + self.active * (quantized - self.kernel)) + self.bias
        # The exact GELU, whatever Keras's default is.
        return ops.gelu(values, approximate=False) if self.activation == "gelu" else ops.tanh(values)

    def arrays(self, *, snapped: bool) -> tuple[Floats, Floats]:
        """Return kernel and bias, the kernel on its grid if `snapped`."""
        kernel = ops.convert_to_numpy(self.kernel).astype(np.float32)
        if snapped:
            kernel = snap(kernel, FOUR_BITS, ops.convert_to_numpy(self.scale()))
        return kernel, ops.convert_to_numpy(self.bias).astype(np.float32)


class WordModel(keras.Model):  # type: ignore[misc]
    """Bits -> 256 GELU -> 256 GELU -> 256 tanh, compiled, with XLA where the backend has it (RETVec paper, embedding model)."""

    def __init__(self, settings: "Round") -> None:
        super().__init__(name="word_model")
        self.quantized = keras.Variable(0.0, trainable=False, dtype="float32", name="quantized")
        self.dense_layers = [
            QuantizableDense(
                activation, self.quantized, settings.seed + index, settings.learned_clipping, f"dense_{index}"
            )
            for index, activation in enumerate(("gelu", "gelu", "tanh"))
        ]
        self.compile(optimizer=_optimizer(settings), jit_compile=keras.backend.backend() in ("tensorflow", "jax"))
        ones = np.ones((2, WORD_LENGTH), np.float32)
        self({"codepoints": ones.astype(np.int32), "keep": ones})
        self.optimizer.build(self.trainable_variables)

    def embed(self, codepoints: Tensor, keep: Tensor | None = None) -> Tensor:
        """Return the embedding, float32 [B, 256], of words int32 [B, 16]; `keep` float32 [B, 16] multiplies characters (dropout)."""
        bits = bits_of(codepoints)
        if keep is not None:
            bits = bits * keep[..., None]
        values = ops.reshape(bits, (-1, WORD_LENGTH * BITS))
        for layer in self.dense_layers:
            values = layer(values)
        return values

    def call(self, inputs: dict[str, Tensor], training: bool = False) -> Tensor:
        """Return L2-normalized vectors, float32 [B, 256], of {"codepoints": [B, 16], "keep": [B, 16]}."""
        values = self.embed(inputs["codepoints"], inputs["keep"])
        return values / ops.sqrt(ops.sum(ops.square(values), axis=-1, keepdims=True) + 1e-12)

    def compute_loss(
        self,
        x: Tensor = None,
        y: Tensor = None,
        y_pred: Tensor = None,
        sample_weight: Tensor = None,
        training: bool = True,
    ) -> Tensor:
        """Return the Multi-Similarity loss of classes int32 [B] and vectors float32 [B, 256]."""
        return multi_similarity_loss(y, y_pred)

    def step(self, batch: WordBatch) -> float:
        """Learn from a batch once; return the loss."""
        inputs = {"codepoints": batch.codepoints, "keep": batch.keep}
        return float(np.asarray(self.train_on_batch(inputs, batch.classes)).ravel()[0])

    def use_grid(self, active: bool) -> None:
        """Compute with the kernels on their grid, or with the float ones."""
        self.quantized.assign(float(active))

    def state(self) -> Arrays:
        """Return all that is trained, and the optimizer's variables."""
        return {f"variable_{place}": ops.convert_to_numpy(value) for place, value in enumerate(self._everything())}

    def restore(self, state: Arrays) -> None:
        """Go on from a state."""
        for place, value in enumerate(self._everything()):
            value.assign(state[f"variable_{place}"])

    def _everything(self) -> list[keras.Variable]:
        return [*self.trainable_variables, self.quantized, *self.optimizer.variables]

    def arrays(self, *, snapped: bool) -> dict[str, Floats]:
        """Return the three layers as `dense_0/kernel`, `dense_0/bias` and so on, kernels on their grid if `snapped`."""
        found: dict[str, Floats] = {}
        for index, layer in enumerate(self.dense_layers):
            found[f"dense_{index}/kernel"], found[f"dense_{index}/bias"] = layer.arrays(snapped=snapped)
        return found

    def load(self, embedding: Embedding) -> None:
        """Take the weights of an embedding."""
        for index, layer in enumerate(self.dense_layers):
            layer.kernel.assign(embedding.weights[f"embedding/dense_{index}/kernel"])
            layer.bias.assign(embedding.weights[f"embedding/dense_{index}/bias"])

    def embed_words(self, words: Ints, batch_size: int = 1024) -> Floats:
        """Return embeddings, float32 [N, 256], of int32 [N, 16], computed in batches."""
        batches = (
            ops.convert_to_tensor(words[start : start + batch_size]) for start in range(0, len(words), batch_size)
        )
        return np.concatenate([ops.convert_to_numpy(self.embed(batch)).astype(np.float32) for batch in batches])


def _optimizer(settings: "Round") -> keras.optimizers.Optimizer:
    """Return Muon for matrices (https://kellerjordan.github.io/posts/muon/) and Adam for the rest."""
    rate = keras.optimizers.schedules.CosineDecay(
        0.0 if settings.warmup else settings.peak_rate,
        decay_steps=max(settings.steps - settings.warmup, 1),
        alpha=FINAL_RATE / settings.peak_rate,
        warmup_target=settings.peak_rate if settings.warmup else None,
        warmup_steps=settings.warmup,
    )
    return keras.optimizers.Muon(rate, weight_decay=None, adam_weight_decay=None)


def multi_similarity_loss(classes: Tensor, vectors: Tensor) -> Tensor:
    """Return the mean Multi-Similarity loss (Wang et al. 2019), a float32 scalar, of a batch of pairs, every row an anchor.

    Rows i and i + B/2 are variants of one word. An anchor is compared with the other half of the batch only. That half holds
    a variant of every word, so only the number of negatives halves, while similarities and their gradients cost a quarter.
    The steps that this saves are worth more (docs/embedding.md).

    Mining keeps, per anchor, the negatives that are nearer than its farthest positive and the positives that are farther
    than its nearest negative, both with a margin of 0.1. The loss is `log(1 + sum(exp(-4 (s - 0.5)))) / 4` over positives plus
    `log(1 + sum(exp(40 (s - 0.5)))) / 40` over negatives (alpha, beta and lambda of the RETVec paper, appendix).

    Args:
        classes: int32 [B], equal for variants of the same word, B even.
        vectors: float32 [B, D], L2-normalized.
    """
    half = vectors.shape[0] // 2
    similarity = ops.matmul(vectors[:half], ops.transpose(vectors[half:]))
    same = ops.equal(classes[:half, None], classes[None, half:])
    different = ops.logical_not(same)
    positives = ops.where(same, similarity, _OUT_OF_RANGE)
    negatives = ops.where(same, -_OUT_OF_RANGE, similarity)
    # One exponential for both: a pair is positive or negative, never both. Cosines bound it: exp(40 * 0.5) fits float32.
    distance = similarity - _CENTER
    power = ops.exp(ops.where(same, -_ALPHA * distance, _BETA * distance))
    losses = []
    for others in (1, 0):  # anchors of the first half (rows), then of the second (columns)
        farthest = ops.min(positives, axis=others, keepdims=True)
        nearest = ops.max(negatives, axis=others, keepdims=True)
        pull = ops.logical_and(same, similarity < nearest + _MARGIN)
        push = ops.logical_and(different, similarity > farthest - _MARGIN)
        pulled = ops.sum(ops.where(pull, power, 0.0), axis=others)
        pushed = ops.sum(ops.where(push, power, 0.0), axis=others)
        losses.append(ops.mean(ops.log1p(pulled) / _ALPHA + ops.log1p(pushed) / _BETA))
    return (losses[0] + losses[1]) / 2
