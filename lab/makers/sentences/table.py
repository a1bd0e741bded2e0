"""What English words mean: vectors whose sums say what the teachers say of sentences."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import tensorflow as tf

from makers.meaning.biases import NOT_FOR, describe_biases
from makers.meaning.codes import balanced_axes, coded, importance
from makers.sentences.corpus import READ, WORDS, Vocabulary
from makers.sentences.lessons import HELD_OUT, TEACHERS, Lessons, ahead, distance, rate_at
from makers.stage import Arrays, Stage
from retvec_lite.contract import Floats, Ints
from retvec_lite.model.meaning_file import WIDTH, WORD_BYTES, MeaningFile
from retvec_lite.training.reading import TextReader
from retvec_lite.version import __version__

LANGUAGE: Final = "en"
SPACE: Final = "sentences-1"
"""What the numbers of the table mean: those of another training, even on the same sentences, do not go together with them."""
SIZE: Final = 40_000
"""Words of the table."""
ROUNDS: Final = 8
"""Times that each sentence is learned from."""

_BATCH: Final = 4096
_CHECKPOINT: Final = 20
"""Visits between two checkpoints."""
_RATE: Final = 2.5e-3
_WARM_UP: Final = 300
_FORGOTTEN: Final = 0.08
"""Share of the words that a step does not see: a word has to say something by itself."""
_NOISE: Final = 0.3
"""Standard deviation of the vectors to begin with."""
_NOISE_OF_START: Final = 0.02
"""That of the numbers, and of the words, which the file to start from lacks."""


class TableTrainer:
    """Vectors of words, and the kernel that makes what the teachers say of their sums.

    Args:
        start: vectors to begin with, float32 `[words, 128]`.
        width: numbers of the teachers' vectors.
        steps: how many there will be.
    """

    def __init__(self, start: Floats, width: int, steps: int) -> None:
        kernel = np.random.default_rng(0).normal(size=(WIDTH, width)) * np.sqrt(1.5 / WIDTH)
        # Row 0 stands for unknown words and empty places; no step sees it.
        self._table = tf.Variable(np.pad(start, ((1, 0), (0, 0))))
        self._kernel = tf.Variable(kernel.astype(np.float32))
        self._optimizer = tf.keras.optimizers.Adam(_RATE, beta_2=0.98, global_clipnorm=1.0)
        self._optimizer.build([self._table, self._kernel])
        shapes = [tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, width]), tf.TensorSpec([2], tf.int32)]
        self._step = tf.function(self._learn, input_signature=shapes, autograph=False)
        self._steps, self._done = steps, 0

    def visit(self, ids: Ints, wanted: Floats, number: int) -> float:
        """Learn from each of some sentences once; return the mean loss.

        Args:
            ids: numbers of the words, 0 behind the last one, int32 `[sentences, words]`.
            wanted: what the teachers say, float32 `[sentences, width]`.
            number: of the visit.
        """
        rows, losses = np.random.default_rng([2, number]).permutation(len(ids)), []
        for some in np.split(rows, range(_BATCH, len(rows), _BATCH)):
            self._optimizer.learning_rate.assign(rate_at(self._done, self._steps, _RATE, _WARM_UP))
            losses.append(float(self._step(ids[some], wanted[some], np.array([0, self._done], np.int32))))
            self._done += 1
        return float(np.mean(losses))

    def cosine(self, ids: Ints, wanted: Floats) -> float:
        """Return the mean cosine of sentences to the teachers' vectors."""
        return float((self._answer(ids, _seen(ids)).numpy() * wanted).sum(axis=1).mean())

    @property
    def vectors(self) -> Floats:
        """The vectors of words, float32 `[words, 128]`, stretched as the kernel stretches them: cosines of sums are those of its answers."""
        kernel = self._kernel.numpy()
        squares, axes = np.linalg.eigh(kernel @ kernel.T)
        found: Floats = self._table.numpy()[1:] @ (axes * np.sqrt(np.maximum(squares, 0.0)))
        return found

    def state(self) -> Arrays:
        """Return all that is trained, and the optimizer's variables."""
        variables = [self._table, self._kernel, *self._optimizer.variables]
        return {**{str(place): value.numpy() for place, value in enumerate(variables)}, "steps": np.asarray(self._done)}

    def restore(self, state: Arrays) -> None:
        """Go on from a state."""
        for place, value in enumerate([self._table, self._kernel, *self._optimizer.variables]):
            value.assign(state[str(place)])
        self._done = int(state["steps"])

    def _answer(self, ids: tf.Tensor, seen: tf.Tensor) -> tf.Tensor:
        words = tf.reduce_sum(tf.gather(self._table, ids) * seen[:, :, None], axis=1)
        return tf.math.l2_normalize(tf.matmul(tf.math.l2_normalize(words, axis=1), self._kernel), axis=1)

    def _learn(self, ids: tf.Tensor, wanted: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        drawn = tf.random.stateless_uniform(tf.shape(ids), seed)
        with tf.GradientTape() as tape:
            found = self._answer(ids, _seen(ids) * tf.cast(drawn > _FORGOTTEN, tf.float32))
            loss = distance(found, wanted)
        variables = [self._table, self._kernel]
        slopes = [tf.convert_to_tensor(slope) for slope in tape.gradient(loss, variables)]
        self._optimizer.apply_gradients(zip(slopes, variables, strict=True))
        return loss


def _seen(ids: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.not_equal(ids, 0), tf.float32)


def first_vectors(words: Sequence[str], start: MeaningFile | None) -> Floats:
    """Return vectors to begin with, float32 `[words, 128]`: noise, or what a file says of the words that it knows."""
    rng = np.random.default_rng(3)
    if start is None:
        return rng.normal(0.0, _NOISE, (len(words), WIDTH)).astype(np.float32)
    found = rng.normal(0.0, _NOISE_OF_START, (len(words), WIDTH)).astype(np.float32)
    places = {word: place for place, word in enumerate(start.words)}
    known = [number for number, word in enumerate(words) if word in places]
    vectors = start.vectors[[places[words[number]] for number in known]]
    found[known, : vectors.shape[1]] = vectors * (_NOISE / max(float(vectors.std()), 1e-9))
    return found


def learn_table(
    lessons: Lessons, vocabulary: Vocabulary, start: MeaningFile | None, folder: Path, rounds: int
) -> MeaningFile:
    """Train the table, or go on training it.

    Args:
        lessons: sentences, and what the teachers say of them.
        vocabulary: the words of the table.
        start: what words mean to begin with; None for noise.
        folder: of the checkpoint.
        rounds: how often each sentence is learned from.
    """
    count = lessons.visits(rounds)
    first = first_vectors(vocabulary.words, start)
    trainer = TableTrainer(first, lessons.width, lessons.steps(rounds, _BATCH))

    def read(number: int) -> tuple[Ints, Floats]:
        lesson = lessons.visit(number)
        return numbered(vocabulary, lesson.sentences), lesson.vectors

    settings = {
        "sentences": lessons.digest,
        "rounds": rounds,
        "words": len(vocabulary.words),
        "start": start and digest_of(start),
    }
    visits = Stage(folder / "table.npz", settings).steps(trainer, count, _CHECKPOINT)
    for number, (ids, wanted) in ahead(read, visits, count):
        print(f"table, visit {number + 1} of {count}: loss {trainer.visit(ids, wanted, number):.4f}", flush=True)
    held_out = lessons.held_out
    cosine = trainer.cosine(numbered(vocabulary, held_out.sentences), held_out.vectors)
    return _packed(trainer.vectors, vocabulary, lessons, cosine, start)


def digest_of(meaning: MeaningFile) -> str:
    """Return what tells tables apart."""
    return hashlib.sha256(meaning.to_bytes()).hexdigest()


def numbered(vocabulary: Vocabulary, sentences: Sequence[str]) -> Ints:
    """Return the numbers of the known words of sentences, int32 `[sentences, 48]`, 0 behind the last one."""
    found: Ints = vocabulary.numbers(TextReader(sentences, READ), sentences).matrix(2 * WORDS)
    return found


def _packed(
    vectors: Floats, vocabulary: Vocabulary, lessons: Lessons, cosine: float, start: MeaningFile | None
) -> MeaningFile:
    """Return the file of vectors: principal axes, in product codes."""
    counts = importance(vocabulary.counts)
    exact = (vectors / np.linalg.norm(vectors, axis=1).mean()).astype(np.float32)
    exact = exact @ balanced_axes(exact, counts, WORD_BYTES[-1])
    codes, codebooks = coded(exact, counts, WORD_BYTES[-1])
    begun = f"what neighbours say ({start.card.get('method', 'not stated')})" if start else "noise"
    card = {
        "biases": describe_biases(vocabulary.words, exact, LANGUAGE),
        "counts": f"{len(lessons.sentences):,} sentences read; their {len(vocabulary.words):,} most frequent words kept",
        "created_by": f"retvec-lite {__version__}, makers.sentences",
        "method": (
            f"vectors whose sums say what {TEACHERS} say of the sentences, begun from {begun}: a mean cosine of {cosine:.3f} to those of "
            f"{HELD_OUT:,} unseen sentences; principal axes, product codes of {WORD_BYTES[-1]} bytes"
        ),
        "not_for": NOT_FOR,
    }
    return MeaningFile(vocabulary.words, codes, codebooks, LANGUAGE, SPACE, card)
