"""From lessons to the file of the sentence network: its training, the layer to its vectors, and the card."""

from pathlib import Path
from typing import Final

import numpy as np

from makers.meaning.biases import ASSOCIATIONS, describe_biases
from makers.sentences.lessons import PART, TEACHERS, Lesson, Lessons, ahead, unit_rows
from makers.sentences.network import BATCH, HEAD, NetworkTrainer, Reader, Reading
from makers.sentences.table import LANGUAGE, digest_of
from makers.stage import Stage
from retvec_lite.contract import Floats
from retvec_lite.data.typos import mistype_many
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.model.sentence_network import LAST_LAYER, SentenceNetwork
from retvec_lite.model.weight_files import load_default_embedding
from retvec_lite.training.examples import write_variants
from retvec_lite.version import __version__

ROUNDS: Final = 3
"""Times that each sentence is learned from."""
DIRECTIONS: Final = 256
"""Numbers of a vector of the network: the others, two thirds of them, hold less than a hundredth of its variance."""

_CHECKPOINT: Final = 10
"""Visits between two checkpoints."""
_SIZES: Final = (40_000, 20_000, 10_000, 5_000)
"""Words that the table has, by chance: files of classifiers hold few."""
_TYPO_RATE: Final = 0.4
_SEED: Final = 6


def learn_network(lessons: Lessons, meaning: MeaningFile, folder: Path, rounds: int) -> SentenceNetwork:
    """Train the network, or go on training it.

    Args:
        lessons: sentences, and what the teachers say of them.
        meaning: the table, whose sums it stands beside.
        folder: of the checkpoint.
        rounds: how often each sentence is learned from.
    """
    reader, embedding, count = Reader(meaning), load_default_embedding(), lessons.visits(rounds)
    first = lessons.visit(0)
    (plain,) = reader.read([first.sentences])
    sums, *_ = np.linalg.lstsq(plain.sums, first.vectors, rcond=1e-3)
    trainer = NetworkTrainer(embedding, sums.astype(np.float32), lessons.steps(rounds, BATCH))

    def read(number: int) -> tuple[list[Reading], Floats]:
        lesson = lessons.visit(number)
        written = write_variants(lesson.sentences, variants=1, typo_rate=_TYPO_RATE, seed=number)[0]
        sizes = np.random.default_rng([_SEED, number]).choice(_SIZES, len(written))
        return reader.read([lesson.sentences, written], sizes), lesson.vectors

    settings = {
        "sentences": lessons.digest,
        "rounds": rounds,
        "embedding": embedding.digest,
        "table": digest_of(meaning),
    }
    visits = Stage(folder / "network.npz", settings).steps(trainer, count, _CHECKPOINT)
    for number, (readings, wanted) in ahead(read, visits, count):
        print(f"network, visit {number + 1} of {count}: loss {trainer.visit(readings, wanted, number):.4f}", flush=True)
    return finished(trainer, reader, lessons)


def finished(trainer: NetworkTrainer, reader: Reader, lessons: Lessons) -> SentenceNetwork:
    """Return the file of a trained network."""
    trainer.settle()
    kernel, bias = directions(trainer, reader.read([lessons.sentences[:PART]])[0])
    words = sorted({word for each in ASSOCIATIONS[LANGUAGE] for names in each.words for word in names.split()})
    vectors = trainer.answers(reader.read([words])[0]).features @ kernel + bias
    card = {
        "biases": describe_biases(words, vectors, LANGUAGE),
        "created_by": f"retvec-lite {__version__}, makers.sentences",
        "license": "Apache-2.0",
        "measured": _measured(trainer, reader, lessons.held_out),
        "teachers": TEACHERS,
        "texts": f"{len(lessons.sentences):,} open English sentences",
    }
    return SentenceNetwork(HEAD, trainer.of_file(), kernel, bias, card)


def directions(trainer: NetworkTrainer, reading: Reading) -> tuple[Floats, Floats]:
    """Return kernel and bias of the layer to the main directions of what the network says of texts, whose typical length is 1.

    Returns:
        float32 `[512, 256]` and `[256]`.
    """
    said = trainer.answers(reading).alone
    _, axes = np.linalg.eigh(np.cov(said, rowvar=False))
    # The sign of an axis is a matter of chance: the largest number is positive.
    axes = axes[:, : -DIRECTIONS - 1 : -1]
    axes = axes * np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0))
    axes = (axes / np.linalg.norm(said, axis=1).mean()).astype(np.float32)
    weights = trainer.weights()
    return weights[f"{LAST_LAYER}kernel"] @ axes, weights[f"{LAST_LAYER}bias"] @ axes


def _measured(trainer: NetworkTrainer, reader: Reader, lesson: Lesson) -> str:
    """Return how near texts come to the teachers' vectors, clean and mistyped."""
    texts = [lesson.sentences, mistype_many(lesson.sentences, 0.5, _SEED)]
    said = [trainer.answers(reading) for reading in reader.read(texts)]
    alone, both = (
        " and ".join(f"{(unit_rows(found) * lesson.vectors).sum(axis=1).mean():.3f}" for found in each)
        for each in ([answer.alone for answer in said], [answer.both for answer in said])
    )
    return (
        f"mean cosine to what the teachers say of {len(lesson.sentences):,} unseen sentences, as they are and with half of their words "
        f"mistyped: {alone}; beside the sums of the table of meaning {both}"
    )
