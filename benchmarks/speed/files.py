"""Files to time: `python -m benchmarks.speed.files {latency,features} FOLDER [--quick]`, a process of its own, with TensorFlow.

LiteRT and TensorFlow do not share a process here. The classifiers have untrained weights, since time does not depend on their values.
For latency.py:

- `HEAD-SLOTS-RECIPE.tflite`: as `export` writes it, with all signatures and metadata
- `network-...`: its graph of `classify` without the encoder

For features.py: `HEAD-NGRAMS-RECIPE.tflite`, as `export` writes it.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.systems.ours import file_contents
from retvec_lite.contract import EncoderConfig
from retvec_lite.converters.tflite import find_tensor, pack, read_model, schema
from retvec_lite.model.grid import EIGHT_BITS, snap
from retvec_lite.model.heads import HEADS, HeadSpec
from retvec_lite.model.weight_files import TrainedModel, choose_embedding
from retvec_lite.ngrams import CODES, PRIME, NgramConfig
from retvec_lite.runtime.artifact import read_artifact

LABELS: Final = 77
CHARS_PER_SLOT: Final = 8
SLOTS: Final = {"pool": (64, 128), "cnn": (64,), "rnn": (64,), "bert": (64,)}
RECIPES: Final = {"pool": ("float32", "int8", "int8-dynamic", "int4")}
"""The other heads have the default recipe and the fastest."""
NGRAMS: Final = {"none": (0, 0), "2,500 buckets": (2_500, 0), "8,192 buckets": (8_192, 0), "2 codebooks": (512, 2)}
"""Name -> buckets and codebooks."""


def build_latency(folder: Path, quick: bool) -> None:
    """Write all missing files of latency.py."""
    for head in ("pool",) if quick else SLOTS:
        for slots in SLOTS[head][: 1 if quick else None]:
            recipes = RECIPES.get(head, ("int8", "int8-dynamic"))
            files = {recipe: folder / f"{head}-{slots}-{recipe}.tflite" for recipe in recipes}
            # Never overwrite: another run may have mapped a file.
            if all(file.exists() for file in files.values()):
                continue
            for recipe, content in file_contents(untrained(HEADS[head](), slots), recipes).items():
                files[recipe].write_bytes(content)
                network = without_encoder(read_artifact(files[recipe]).model)
                files[recipe].with_name(f"network-{files[recipe].name}").write_bytes(network)


def build_features(folder: Path) -> None:
    """Write all files of features.py."""
    for head in ("pool", "cnn"):
        plain = untrained(HEADS[head](), 64)
        for name, (buckets, codebooks) in NGRAMS.items():
            classifier = with_ngrams(plain, buckets, codebooks) if buckets else plain
            for recipe, content in file_contents(classifier, ("int8", "int8-dynamic")).items():
                (folder / f"{head}-{name}-{recipe}.tflite").write_bytes(content)


def untrained(head: HeadSpec, slots: int, labels: int = LABELS, embedding: str = "default") -> TrainedModel:
    """Return a classifier on an embedding, its head fresh."""
    chosen = choose_embedding(embedding)
    assert chosen is not None
    config = EncoderConfig(max_chars=slots * CHARS_PER_SLOT, max_words=slots, word_length=chosen.word_length)
    names = tuple(f"label {number}" for number in range(labels))
    weights = head.initial_weights(np.random.default_rng(0), chosen.dimension, labels, slots)
    about = {"name": chosen.name, "card": {}}
    return TrainedModel(config, head, names, {**chosen.weights, **weights}, about, {"note": "not trained"})


def with_ngrams(plain: TrainedModel, buckets: int, codebooks: int = 0) -> TrainedModel:
    """Return a classifier with n-grams that mean nothing."""
    rng = np.random.default_rng(0)
    labels = len(plain.labels)
    weights = {
        "ngrams/table": snap(rng.normal(0, 1, (buckets, labels)).astype(np.float32), EIGHT_BITS),
        "ngrams/squares": rng.integers(1, 128, buckets).astype(np.float32),
        "ngrams/bias": np.zeros(labels, np.float32),
    }
    if codebooks:
        weights["ngrams/codes"] = rng.integers(0, CODES, (PRIME, codebooks)).astype(np.float32)
    config = NgramConfig(buckets=buckets, codebooks=codebooks)
    return replace(plain, weights={**plain.weights, **weights}, ngrams=config)


def without_encoder(model: bytes) -> bytes:
    """Return the graph of `classify` with `words` and `bits` as inputs, without the operators that compute them."""
    edited = read_model(model)
    graph = edited.subgraphs[0]
    edited.subgraphs = [graph]
    edited.signatureDefs = [entry for entry in edited.signatureDefs if entry.subgraphIndex == 0]
    stages = [find_tensor(graph, name) for name in ("words", "bits")]
    needed = {int(index) for index in graph.outputs}
    kept = []
    for operator in reversed(graph.operators):
        if needed & set(map(int, operator.outputs)) - set(stages):
            needed |= {int(index) for index in operator.inputs if index >= 0} - set(stages)
            kept.append(operator)
    graph.operators = kept[::-1]
    graph.inputs = np.array(stages, np.int32)
    entries = []
    for name, index in zip(("words", "bits"), stages, strict=True):
        entry = schema().TensorMapT()
        entry.name, entry.tensorIndex = name, index
        entries.append(entry)
    edited.signatureDefs[0].inputs = entries
    return pack(edited)


if __name__ == "__main__":
    if sys.argv[1] == "latency":
        build_latency(Path(sys.argv[2]), "--quick" in sys.argv)
    else:
        build_features(Path(sys.argv[2]))
