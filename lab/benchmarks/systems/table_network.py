"""Heads on tables: how the compared vectorizers are trained, measured and stored.

Everything except the table is the product's own: heads, dropout, grid of the matrices, optimizer, schedule, early stopping
on the same mistyped validation texts. A table replaces the embedding and trains at the head's full learning rate, because
it starts from random numbers.
"""

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import tensorflow as tf

from benchmarks.data.sets import Corpus
from benchmarks.systems.trained import Trained
from benchmarks.systems.vectorizers import VECTORIZERS, Vectorizer, eight_bit_rows, row_scales
from retvec_lite.contract import Floats, Ints
from retvec_lite.converters.tflite.convert import Entry, to_tflite
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.data.labels import class_weights
from retvec_lite.data.typos import Way, mistype_many
from retvec_lite.files import atomic_write
from retvec_lite.model.grid import EIGHT_BITS
from retvec_lite.model.heads import HEADS, HeadSpec, head_from_dict
from retvec_lite.model.network_graph import head_logits
from retvec_lite.model.weight_files import read_safetensors, safetensors_bytes
from retvec_lite.runtime.interpreters import import_runtime, silent_standard_error
from retvec_lite.terminal import Progress
from retvec_lite.training.examples import Examples, HeldOutExamples, write_variants
from retvec_lite.training.languages import common_words, language_shares
from retvec_lite.training.network import TrainableNetwork
from retvec_lite.training.network_part import run_epochs, schedule_for
from retvec_lite.training.plan import FitSettings

TABLE: Final = "embedding/table"
_SIZES: Final = (1, 8, 64, 256)
"""Texts that are classified at a time: XLA compiles a graph for each number."""
_BATCH: Final = _SIZES[-1]
_MOST_SLOTS: Final = 256


class EightBitNetwork(TrainableNetwork):
    """`TrainableNetwork` with its matrices on the 8-bit grid."""

    levels = EIGHT_BITS


class TableNetwork(EightBitNetwork):
    """A network with a trained table instead of the word embedding."""

    def __init__(self, head: HeadSpec, weights: Mapping[str, Floats], *arguments: Any, **settings: Any) -> None:
        rows = np.arange(len(weights[TABLE]), dtype=np.int32)[:, None]
        super().__init__(head, weights, rows, *arguments, **settings)

    def _vectors(self, table: tf.Tensor, weights: Mapping[str, tf.Tensor]) -> tf.Tensor:
        # Times one: the gradient of a gather alone is sparse, which global norm clipping does not support.
        return tf.gather(weights[TABLE] * 1.0, table[:, 0])


@dataclass(frozen=True)
class TableClassifier:
    """A head on a vectorizer, as on a device: table in 8 bits, matrices on the 8-bit grid.

    Attributes:
        labels: class names in the order of the columns.
        head: the head.
        max_words: token slots.
        weights: `head/...` and `embedding/table`.
        vectorizer: the vectorizer of the table.
    """

    labels: tuple[str, ...]
    head: HeadSpec
    max_words: int
    weights: Mapping[str, Floats]
    vectorizer: Vectorizer

    @functools.cached_property
    def _answer(self) -> Any:
        """The compiled function from embeddings `[batch, slots, dimension]` and their mask to probabilities."""
        head_weights = {name: value for name, value in self.weights.items() if name != TABLE}

        def answer(embeddings: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
            return tf.nn.softmax(head_logits(embeddings, mask, self.head, head_weights))

        return tf.function(answer, jit_compile=True, autograph=False)

    def probabilities(self, texts: Sequence[str]) -> Floats:
        """Return probabilities, float32 `[texts, classes]`."""
        found = np.zeros((len(texts), len(self.labels)), np.float32)
        for start in range(0, len(texts), _BATCH):
            chunk = texts[start : start + _BATCH]
            size = next(size for size in _SIZES if len(chunk) <= size)
            embeddings, mask = self._embed(chunk, size)
            found[start : start + len(chunk)] = self._answer(embeddings, mask).numpy()[: len(chunk)]
        return found

    def _embed(self, texts: Sequence[str], size: int) -> tuple[Floats, Floats]:
        ids = np.zeros((size, self.max_words), np.int32)
        ids[: len(texts)] = padded(self.vectorizer.tokens(texts), self.max_words)
        return self.weights[TABLE][ids], (ids != 0).astype(np.float32)

    def trained(self) -> Trained:
        return Trained(self.labels, self.probabilities)

    @property
    def parameters(self) -> int:
        """The number of weights in table and head."""
        return sum(value.size for value in self.weights.values())

    def to_tflite(self) -> bytes:
        """Return the int8 network of a device: token rows int32 `[1, max_words]` -> probabilities."""
        table = self.weights[TABLE]
        scales, integers = row_scales(table), eight_bit_rows(table)[1]
        head_weights = {name: value for name, value in self.weights.items() if name != TABLE}

        def answer(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
            mask = tf.cast(tf.not_equal(codepoints, 0), tf.float32)
            # `bits` marks where the network begins. Only the network is quantized: the table already is.
            bits = tf.cast(tf.gather(integers, codepoints), tf.float32) * tf.gather(scales, codepoints)
            logits = head_logits(bits, mask, self.head, head_weights)
            return {"bits": bits, "probabilities": tf.nn.softmax(logits)}

        spec = tf.TensorSpec([1, self.max_words], tf.int32, "codepoints")
        with silent_standard_error():
            model = to_tflite([Entry(tf.function(answer, input_signature=[spec], autograph=False))])
        return quantize(model, "int8")

    def save(self, folder: Path, kind: str) -> int:
        """Write network and vocabulary of a device, and what `load_table_classifier` needs; return the bytes of the former."""
        model, vocabulary = self.to_tflite(), self.vectorizer.vocabulary()
        folder.mkdir(parents=True, exist_ok=True)
        about = {"kind": kind, "labels": self.labels, "head": self.head.to_dict(), "max_words": self.max_words}
        atomic_write(folder / "vocabulary", vocabulary)
        atomic_write(folder / "network.tflite", model)
        atomic_write(folder / "weights.safetensors", safetensors_bytes(self.weights, {"about": json.dumps(about)}))
        return len(model) + len(vocabulary)


def load_table_classifier(folder: Path) -> TableClassifier:
    """Load what `TableClassifier.save` wrote."""
    weights, metadata = read_safetensors(folder / "weights.safetensors")
    about = json.loads(metadata["about"])
    vectorizer = VECTORIZERS[about["kind"]].read((folder / "vocabulary").read_bytes())
    return TableClassifier(
        tuple(about["labels"]), head_from_dict(about["head"]), about["max_words"], weights, vectorizer
    )


def same_label_in_file(classifier: TableClassifier, folder: Path, texts: Sequence[str]) -> float:
    """Return the share of the texts to which `network.tflite` gives the same label as `probabilities`."""
    interpreter = import_runtime("ai-edge-litert")[1](model_path=str(folder / "network.tflite"), num_threads=1)
    interpreter.allocate_tensors()
    rows = padded(classifier.vectorizer.tokens(texts), classifier.max_words)
    found = []
    for row in rows:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], row[None])
        interpreter.invoke()
        found.append(int(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0].argmax()))
    return float((np.array(found) == classifier.probabilities(texts).argmax(axis=1)).mean())


def train_table(
    corpus: Corpus,
    vectorizer: Vectorizer,
    head: str,
    dimension: int,
    settings: FitSettings,
    progress: Progress,
) -> TableClassifier:
    """Train a head, and the vectorizer's table."""
    labels = corpus.training.classes
    truth, validation = (
        np.array([labels.index(label) for label in data.labels], np.int32)
        for data in (corpus.training, corpus.validation)
    )
    texts = corpus.training.texts
    variants = write_variants(texts, **settings.typos, common_words=common_words(language_shares(texts, settings.seed)))
    rates = {way: way.rate for way in Way if way.rate is not None}
    held_out = [mistype_many(corpus.validation.texts, rate, settings.seed + 1) for rate in rates.values()]
    groups = [*variants, *held_out]
    tokens = [vectorizer.tokens(group) for group in groups]
    max_words = slots_for(tokens[0])
    ids = [padded(group, max_words) for group in tokens]

    examples = Examples(ids[: len(variants)], truth, len(labels), np.ones(len(truth), np.float32))
    rng = np.random.default_rng(settings.seed)
    spec = HEADS[head]()
    weights = spec.initial_weights(rng, dimension, len(labels), max_words)
    schedule = schedule_for(len(corpus.training), settings)
    importance = class_weights(settings.class_weights, examples.targets, labels)
    table = rng.normal(0.0, 1.0 / math.sqrt(dimension), (vectorizer.rows, dimension)).astype(np.float32)
    network = TableNetwork(spec, {TABLE: table, **weights}, importance, schedule, settings)
    held = HeldOutExamples(dict(zip(rates, ids[len(variants) :], strict=True)), validation, np.ones(len(validation)))
    best = dict(run_epochs(network, examples, held, settings, rng, progress).weights)
    best[TABLE] = eight_bit_rows(best[TABLE])[0]
    return TableClassifier(labels, spec, max_words, best, vectorizer)


def slots_for(tokens: Sequence[Sequence[int]]) -> int:
    """Return the token slots: the 99th percentile of the training texts, rounded up to a multiple of 8, as in the product."""
    longest = float(np.percentile([len(row) for row in tokens], 99, method="lower"))
    return min(max(8, -(-int(longest) // 8) * 8), _MOST_SLOTS)


def padded(tokens: Sequence[Sequence[int]], slots: int) -> Ints:
    """Cut each text's tokens or pad them with 0, the empty slot: int32 `[texts, slots]`."""
    ids = np.zeros((len(tokens), slots), np.int32)
    for row, found in zip(ids, tokens, strict=True):
        used = found[:slots]
        row[: len(used)] = used
    return ids
