"""Make what English words mean in requests: what a large sentence encoder says of open sentences, shared out among their words.

    python -m tools.meaning_requests TEXTS... --start FILE --valence CSV --run DIR [--out FILE]

TEXTS are the files of a corpus, such as `wikipedia.txt.bz2`; FILE is what `retvec-lite pretrain-meaning` makes of them; what words mean
there counts half. DIR is that of `tools.sentence_head.make`: the vectors of the sentences are the same. They take 80 minutes
of a core, the rest ten.
"""

import argparse
import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import tensorflow as tf
from scipy import sparse

from retvec_lite.contract import Floats, Ints
from retvec_lite.meaning import DIMENSION
from retvec_lite.model.meaning_file import WORD_BYTES, MeaningFile
from retvec_lite.model.product_codes import codes_of, nearest_codebooks
from retvec_lite.pretraining.meaning.biases import describe_biases
from retvec_lite.pretraining.meaning.codes import balanced_axes, importance, on_grid
from retvec_lite.pretraining.meaning.valence import read_valence, with_valence
from retvec_lite.pretraining.meaning.words import meaning_words_of
from retvec_lite.version import __version__
from tools.meaning_languages import WEIGHTS
from tools.sentence_head.learn import HELD_OUT
from tools.sentence_head.sentences import draw_sentences
from tools.sentence_head.vectors import PART, embed_sentences, read_part

LANGUAGE: Final = "en"
_MOST_WORDS: Final = 60
"""Words of a sentence that are read."""
_BATCH: Final = 256
_ROUNDS: Final = 3
_RATE: Final = 0.004
_WARM_UP: Final = 200
_FORGOTTEN: Final = 0.1
"""Share of the words that a step does not see: a word has to say something by itself."""
_LIKENESS_WEIGHT: Final = 3.0
"""How much the cosines between the sentences of a batch count, beside those to the encoder's vectors."""
_SHARE_OF_START: Final = 0.5
"""Length of what neighbours say of a text, beside what the encoder says: it knows news better (ten texts a label of AG News, SVM: .807 instead
of .801). Where both count alike, intents lose."""
BYTES: Final = WORD_BYTES[-1]
"""Of a word."""
_SENTENCES_OF_AXES: Final = 40_000
"""Sentences that choose which 64 of 128 numbers are kept."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", type=Path, metavar="TEXTS", help="files of sentences, packed by bzip2")
    parser.add_argument(
        "--start", type=Path, required=True, metavar="FILE", help="meanings that were learned from them"
    )
    parser.add_argument("--valence", type=Path, required=True, metavar="CSV", help="how good or bad words are")
    parser.add_argument("--run", type=Path, required=True, metavar="DIR", help="folder of what is done")
    parser.add_argument("--out", type=Path, default=WEIGHTS / f"requests_{LANGUAGE}.safetensors", metavar="FILE")
    args = parser.parse_args(arguments)
    sentences, vectors = draw_sentences(args.texts), args.run / "vectors"
    embed_sentences(sentences, vectors, lambda done, all_: print(f"vectors {done:,} of {all_:,}", flush=True))
    learn(sentences, vectors, MeaningFile.load(args.start), read_valence(args.valence)).save(args.out)


def learn(sentences: Sequence[str], vectors: Path, start: MeaningFile, valence: Mapping[str, float]) -> MeaningFile:
    """Return the words of `start` with what they mean now.

    Args:
        sentences: to learn from.
        vectors: folder of what the encoder says of them.
        start: what words mean to begin with.
        valence: how good some words are, -1 to 1.
    """
    numbers = word_numbers(sentences, start.words)
    counts = np.bincount(numbers.reshape(-1), minlength=len(start.words) + 1)[1:] + 1
    learned, cosine = distil(numbers, vectors, start.vectors)
    exact = main_directions(learned, start.vectors, numbers)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    exact = with_valence(exact / np.maximum(lengths, 1e-9), start.words, valence) * lengths
    exact = (exact / lengths.mean()).astype(np.float32)
    exact = exact @ balanced_axes(exact, counts, BYTES)
    codebooks = on_grid(nearest_codebooks(exact, importance(counts), BYTES, seed=0))
    bare = MeaningFile(start.words, codes_of(exact, codebooks), codebooks, LANGUAGE, {})
    return dataclasses.replace(bare, card=_card(bare, start, len(sentences), cosine))


def _card(found: MeaningFile, start: MeaningFile, sentences: int, cosine: float) -> dict[str, str]:
    """Return the card: that of `start`, but for what is new."""
    method = (
        f"the vectors that all-MiniLM-L6-v2 (Apache-2.0) gives {sentences:,} open sentences, shared out among their words (cosine of "
        f"{cosine:.3f} to those of {HELD_OUT:,} unseen sentences); beside them, counting half, what pretrain-meaning had learned: "
        f"{start.card.get('method', 'not stated')}; {DIMENSION} main directions of both, product codes of {BYTES} bytes"
    )
    kept = {name: text for name, text in start.card.items() if name != "settings"}
    biases = describe_biases(found.words, found.vectors, LANGUAGE)
    created_by = f"retvec-lite {__version__}, tools.meaning_requests"
    return {**kept, "biases": biases, "created_by": created_by, "method": method}


def word_numbers(sentences: Sequence[str], words: Sequence[str]) -> Ints:
    """Return the numbers of the words of each sentence, from 1 on; 0 for unknown ones and behind the last: int32 `[sentences, 60]`."""
    places = {word: place + 1 for place, word in enumerate(words)}
    found = np.zeros((len(sentences), _MOST_WORDS), np.int32)
    for row, sentence in zip(found, sentences, strict=True):
        numbers = [places.get(word, 0) for word in meaning_words_of(sentence)][:_MOST_WORDS]
        row[: len(numbers)] = numbers
    return found


class WordTrainer:
    """Vectors of words whose sums are as similar as the encoder says that sentences are.

    Args:
        start: what words mean to begin with, float32 `[words, 64]`.
        dimension: of the encoder's vectors.
        steps: how many there will be.
    """

    def __init__(self, start: Floats, dimension: int, steps: int) -> None:
        rng = np.random.default_rng(0)
        table = np.concatenate([np.zeros((1, DIMENSION)), start / np.linalg.norm(start, axis=1).mean()])
        self._table = tf.Variable(table.astype(np.float32))
        self._kernel = tf.Variable(0.05 * rng.normal(size=(DIMENSION, dimension)).astype(np.float32))
        self._optimizer = tf.keras.optimizers.Adam(_RATE)
        self._optimizer.build([self._table, self._kernel])
        shapes = [tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, dimension]), tf.TensorSpec([2], tf.int32)]
        self._step = tf.function(self._learn, input_signature=shapes, autograph=False)
        self._done, self._steps = 0, steps

    def step(self, ids: Ints, wanted: Floats) -> float:
        """Learn from some sentences once; return the loss."""
        share = min(1.0, self._done / self._steps)
        rate = _RATE * min(1.0, self._done / _WARM_UP) * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * share)))
        self._optimizer.learning_rate.assign(rate)
        used = max(1, int(np.flatnonzero(ids.any(axis=0)).max(initial=0)) + 1)
        self._done += 1
        return float(self._step(ids[:, :used], wanted, np.array([0, self._done], np.int32)))

    def cosine(self, ids: Ints, wanted: Floats) -> float:
        """Return the mean cosine of sentences to the encoder's vectors, of length 1."""
        return float((self._answer(ids, (ids != 0).astype(np.float32)).numpy() * wanted).sum(axis=1).mean())

    def vectors(self) -> Floats:
        """Return the vectors of words, float32 `[words, 64]`, stretched as the kernel stretches them: cosines of sums are those of its answers."""
        kernel = self._kernel.numpy()
        squares, axes = np.linalg.eigh(kernel @ kernel.T)
        found: Floats = self._table.numpy()[1:] @ (axes * np.sqrt(np.maximum(squares, 0.0)))
        return found

    def _answer(self, ids: tf.Tensor, seen: tf.Tensor) -> tf.Tensor:
        words = tf.reduce_sum(tf.gather(self._table, ids) * seen[:, :, None], axis=1)
        return tf.math.l2_normalize(tf.matmul(tf.math.l2_normalize(words, axis=1), self._kernel), axis=1)

    def _learn(self, ids: tf.Tensor, wanted: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            known = tf.cast(tf.not_equal(ids, 0), tf.float32)
            found = self._answer(ids, tf.nn.experimental.stateless_dropout(known, _FORGOTTEN, seed))
            likeness = tf.matmul(found, found, transpose_b=True) - tf.matmul(wanted, wanted, transpose_b=True)
            away = 1.0 - tf.reduce_mean(tf.reduce_sum(found * wanted, axis=1))
            loss = away + _LIKENESS_WEIGHT * tf.reduce_mean(tf.square(likeness))
        variables = [self._table, self._kernel]
        slopes = [tf.convert_to_tensor(slope) for slope in tape.gradient(loss, variables)]
        self._optimizer.apply_gradients(zip(slopes, variables, strict=True))
        return loss


def distil(numbers: Ints, folder: Path, start: Floats) -> tuple[Floats, float]:
    """Return `WordTrainer.vectors` of all sentences, and the mean cosine of those that were not learned from.

    Args:
        numbers: see `word_numbers`.
        folder: has the encoder's vectors.
        start: see `WordTrainer`.
    """
    parts, mean = -(-len(numbers) // PART), read_part(folder, 0).mean(axis=0)

    def lesson(part: int) -> tuple[Ints, Floats]:
        wanted = read_part(folder, part) - mean
        return numbers[part * PART : (part + 1) * PART], wanted / np.linalg.norm(wanted, axis=1, keepdims=True)

    trainer = WordTrainer(start, len(mean), _ROUNDS * (len(numbers) // _BATCH))
    rng = np.random.default_rng(0)
    for round_ in range(_ROUNDS):
        for part in rng.permutation(parts).tolist():
            ids, wanted = lesson(part)
            rows = rng.permutation(np.arange(HELD_OUT if part == 0 else 0, len(ids)))
            losses = [
                trainer.step(ids[some], wanted[some]) for some in np.split(rows, range(_BATCH, len(rows), _BATCH))
            ]
            print(f"round {round_ + 1} of {_ROUNDS}, part {part}: loss {np.mean(losses):.4f}", flush=True)
    ids, wanted = lesson(0)
    return trainer.vectors(), trainer.cosine(ids[:HELD_OUT], wanted[:HELD_OUT])


def main_directions(learned: Floats, start: Floats, numbers: Ints) -> Floats:
    """Return the 64 main directions of both kinds of vectors, as texts vary in them: float32 `[words, 64]`."""
    some = numbers[:_SENTENCES_OF_AXES]
    rows, _ = used = np.nonzero(some)
    shape = (len(some), len(learned))
    texts = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, some[used] - 1)), shape)
    parts = [vectors / np.sqrt(np.square(texts @ vectors).sum(axis=1).mean()) for vectors in (learned, start)]
    both = np.concatenate([parts[0], _SHARE_OF_START * parts[1]], axis=1)
    found = texts @ both
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    _, axes = np.linalg.eigh(np.cov(found, rowvar=False))
    kept: Floats = (both @ axes[:, : -DIMENSION - 1 : -1]).astype(np.float32)
    return kept


if __name__ == "__main__":
    main()
