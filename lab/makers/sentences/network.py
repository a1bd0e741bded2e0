"""The sentence network: beside the sums of the words' vectors, it learns to say what the teachers say of sentences, however these are written."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import tensorflow as tf

from makers.sentences.corpus import READ, Vocabulary, sums_of
from makers.sentences.lessons import distance, rate_at
from makers.stage import Arrays
from retvec_lite.contract import Floats, Ints
from retvec_lite.model.encoder_graph import word_bits
from retvec_lite.model.grid import FOUR_BITS, fake_quantize, snap
from retvec_lite.model.heads import PoolHead
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.model.network_graph import Tensors, dense, embed_bits, gelu, text_features, word_features
from retvec_lite.model.sentence_network import LAST_LAYER
from retvec_lite.model.weight_files import Embedding
from retvec_lite.training.network import distinct_words, is_matrix, used_words
from retvec_lite.training.reading import Places, Ragged, TextReader

HEAD: Final = PoolHead(hidden=256, blocks=1)

BATCH: Final = 512
_ALIKE: Final = 4096
"""Sentences, drawn at random, that batches of sentences of like length are cut from."""
_RATE: Final = 1e-3
_WARM_UP: Final = 200
_DROPOUT: Final = 0.05
"""On pooled features. A head trained without it had weights twice as large: rounding the last layer of a classifier to 4 bits cost .08 on
validation texts (CLINC150, ten a label) instead of .02."""
_ALONE: Final = 0.25
"""How much the loss of the network alone counts, beside that of network and sums."""
_COPIES: Final = 0.6
"""Share of the batches whose sentences are disguised, mistyped or with an ending."""
_WORDS_STEP: Final = 1024
"""The distinct words of a batch are padded to a multiple of this, because XLA compiles the embedding for each size."""
_PREDICTED: Final = 500
_LARGEST: Final = 3.0
_EXCESS: Final = 0.02
"""What hidden numbers above this cost, by their squares, in words of any script: English alone would let them grow tenfold in scripts that it
never sees, and the engine rounds numbers to 1/32,767 of the largest beside them."""
_FOREIGN: Final = 1024
"""Such words in a step."""
_SCRIPT: Final = 48
"""Code points of a block that the letters of such a word come from."""
_OF_WORDS: Final = ("embedding/", "head/word/")
"""What the weights are called that read each word by itself."""
SUMS: Final = "sums"
"""Name of the kernel of the sums."""


class Reading(NamedTuple):
    """Texts as the network reads them.

    Attributes:
        ids: of their words, int32 `[texts, 48]`.
        sums: of the vectors of their words, float32 `[texts, 128]`.
        words: code points of the words by id, int32 `[words, 16]`.
    """

    ids: Ints
    sums: Floats
    words: Ints


class Reader:
    """Reads texts with the words of a table.

    Args:
        meaning: the table.
    """

    def __init__(self, meaning: MeaningFile) -> None:
        self._vocabulary = Vocabulary(meaning.words, np.zeros(len(meaning.words), np.int64))
        self._vectors = meaning.vectors

    def read(self, groups: Sequence[Sequence[str]], sizes: Places | None = None) -> list[Reading]:
        """Read groups of texts; `sizes` says how many words the table of each text has, int `[texts]`, and by default it has all."""
        reader = TextReader((text for group in groups for text in group), READ)
        found = []
        for group in groups:
            numbers = self._vocabulary.numbers(reader, group)
            if sizes is not None:
                kept = numbers.items <= sizes[numbers.rows]
                numbers = Ragged(numbers.items[kept], numbers.totals(kept))
            found.append(Reading(reader.word_ids(group), sums_of(numbers, self._vectors), reader.words))
        return found


class Answers(NamedTuple):
    """What is said of texts.

    Attributes:
        features: what the last layer of the head reads, `[texts, 512]`.
        alone: what the network says, of any length, `[texts, width]`.
        both: what network and sums say, of length 1, `[texts, width]`.
    """

    features: tf.Tensor
    alone: tf.Tensor
    both: tf.Tensor


class NetworkTrainer:
    """Word embedding, head and the kernel of the sums, and their optimizer. Kernels but the last are trained on their 4-bit grid.

    Args:
        embedding: to begin with.
        sums: kernel of the sums to begin with, float32 `[128, width]`.
        steps: how many there will be.
    """

    def __init__(self, embedding: Embedding, sums: Floats, steps: int) -> None:
        inputs, width = embedding.dimension, sums.shape[1]
        weights = {**embedding.weights, **HEAD.initial_weights(np.random.default_rng(0), inputs, width, 1), SUMS: sums}
        self._variables = {name: tf.Variable(value) for name, value in weights.items()}
        self._optimizer = tf.keras.optimizers.Adam(_RATE, beta_2=0.98, global_clipnorm=1.0)
        self._optimizer.build(list(self._variables.values()))
        self._steps, self._done = steps, 0
        words, ids = tf.TensorSpec([None, embedding.word_length], tf.int32), tf.TensorSpec([None, None], tf.int32)
        read = [words, ids, tf.TensorSpec([None, sums.shape[0]])]
        learned = [*read, tf.TensorSpec([None, width]), tf.TensorSpec([2], tf.int32), words]
        self._step = tf.function(self._learn, input_signature=learned, autograph=False)
        self._predict = tf.function(self._answers, input_signature=read, autograph=False)

    def visit(self, readings: Sequence[Reading], wanted: Floats, number: int) -> float:
        """Learn from each of some sentences once, as it is or as its copy; return the mean loss.

        Args:
            readings: of sentences and of copies of them.
            wanted: what the teachers say, float32 `[sentences, width]`.
            number: of the visit.
        """
        rng, losses = np.random.default_rng([4, number]), []
        for rows in _batches(used_words(readings[0].ids), rng):
            reading = readings[int(rng.random() < _COPIES)]
            self._optimizer.learning_rate.assign(rate_at(self._done, self._steps, _RATE, _WARM_UP))
            seed = np.array([0, self._done], np.int32)
            foreign = foreign_words(rng, _FOREIGN, reading.words.shape[1])
            losses.append(float(self._step(*_local(reading, rows), wanted[rows], seed, foreign)))
            self._done += 1
        return float(np.mean(losses)) if losses else float("nan")

    def answers(self, reading: Reading) -> Answers:
        """Return what is said of texts, as NumPy arrays."""
        starts = range(0, len(reading.ids), _PREDICTED)
        rows = (slice(start, start + _PREDICTED) for start in starts)
        parts = [self._predict(*_local(reading, some)) for some in rows]
        return Answers(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def weights(self) -> dict[str, Floats]:
        """Return the weights by name, those of the sums included."""
        return {name: variable.numpy() for name, variable in self._variables.items()}

    def settle(self) -> None:
        """Move the kernels onto the grid that the file has them on: what is said from then on is what the file says."""
        for name, value in self.of_file().items():
            self._variables[name].assign(snap(value, FOUR_BITS) if name.endswith("/kernel") else value)

    def of_file(self) -> dict[str, Floats]:
        """Return the weights that the file has beside the last layer."""
        return {name: value for name, value in self.weights().items() if not name.startswith((LAST_LAYER, SUMS))}

    def state(self) -> Arrays:
        """Return all that is trained, and the optimizer's variables."""
        state = {f"optimizer/{place}": value.numpy() for place, value in enumerate(self._optimizer.variables)}
        return {**self.weights(), **state, "steps": np.asarray(self._done)}

    def restore(self, state: Arrays) -> None:
        """Go on from a state."""
        for name, variable in self._variables.items():
            variable.assign(state[name])
        for place, value in enumerate(self._optimizer.variables):
            value.assign(state[f"optimizer/{place}"])
        self._done = int(state["steps"])

    def _answers(self, words: tf.Tensor, ids: tf.Tensor, sums: tf.Tensor, seed: tf.Tensor | None = None) -> Answers:
        weights = {
            name: fake_quantize(value) if is_matrix(name) and not name.startswith(LAST_LAYER) else value
            for name, value in ((name, tf.convert_to_tensor(value)) for name, value in self._variables.items())
        }
        mask = tf.cast(tf.not_equal(ids, 0), tf.float32)
        own = {name: value for name, value in weights.items() if name.startswith(_OF_WORDS)}
        features = text_features(tf.gather(_of_words(words, own), ids), mask, HEAD, weights)
        if seed is not None:
            features = tf.nn.experimental.stateless_dropout(features, _DROPOUT, seed)
        alone = dense(features, weights, LAST_LAYER.rstrip("/"))
        return Answers(features, alone, tf.math.l2_normalize(alone + tf.matmul(sums, weights[SUMS]), axis=1))

    def _learn(
        self,
        words: tf.Tensor,
        ids: tf.Tensor,
        sums: tf.Tensor,
        wanted: tf.Tensor,
        seed: tf.Tensor,
        foreign: tf.Tensor,
    ) -> tf.Tensor:
        with tf.GradientTape() as tape:
            found = self._answers(words, ids, sums, seed)
            loss = distance(found.both, wanted)
            loss += _ALONE * distance(tf.math.l2_normalize(found.alone, axis=1), wanted)
            loss += _EXCESS * self._excess(foreign)
        variables = list(self._variables.values())
        self._optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    def _excess(self, words: tf.Tensor) -> tf.Tensor:
        """Return how far the hidden numbers of the embedding of words are above the largest that cost nothing: a scalar."""
        hidden = word_bits(words[:, None])[:, 0]
        total = tf.zeros([])
        for layer in range(2):
            name = f"embedding/dense_{layer}"
            kernel = fake_quantize(tf.convert_to_tensor(self._variables[f"{name}/kernel"]))
            hidden = gelu(tf.matmul(hidden, kernel) + self._variables[f"{name}/bias"])
            total += tf.reduce_mean(tf.reduce_sum(tf.square(tf.nn.relu(hidden - _LARGEST)), axis=1))
        return total


def foreign_words(rng: np.random.Generator, count: int, length: int) -> Ints:
    """Return words of all scripts, int32 `[count, length]`: letters of blocks of code points, more of them from where scripts are."""
    below = rng.choice([0x3000, 0x10000, 0x110000 - _SCRIPT], count, p=[0.7, 0.2, 0.1])
    letters = rng.integers(0x20, below)[:, None] + rng.integers(0, _SCRIPT, (count, length))
    used = np.arange(length) < rng.integers(1, length + 1, count)[:, None]
    return np.where(used, letters, 0).astype(np.int32)


@tf.function(jit_compile=True, autograph=False)  # type: ignore[untyped-decorator]
def _of_words(words: tf.Tensor, weights: Tensors) -> tf.Tensor:
    """Return the features of words, float32 `[words, 256]`. This alone is fused: XLA's gradient of the maximum over a text is NaN."""
    return word_features(embed_bits(word_bits(words[:, None])[:, 0], weights), HEAD, weights)


def _batches(used: Places, rng: np.random.Generator) -> Iterator[Places]:
    """Yield the rows of full batches of sentences of like length, in random order."""
    rows = rng.permutation(len(used))
    alike = [rows[start : start + _ALIKE] for start in range(0, len(rows), _ALIKE)]
    ordered = np.concatenate([some[np.argsort(used[some], kind="stable")] for some in alike])
    batches = [ordered[start : start + BATCH] for start in range(0, len(rows) - BATCH + 1, BATCH)]
    yield from (batches[place] for place in rng.permutation(len(batches)))


def _local(reading: Reading, rows: Places | slice) -> tuple[Ints, Ints, Floats]:
    """Return the words of some texts, int32 `[words, 16]`, their ids into these, and their sums."""
    ids = reading.ids[rows]
    distinct, local = distinct_words(ids[:, : max(1, int(used_words(ids).max()))])
    words = np.zeros((-(-len(distinct) // _WORDS_STEP) * _WORDS_STEP, reading.words.shape[1]), np.int32)
    words[: len(distinct)] = reading.words[distinct]
    return words, local, reading.sums[rows]
