"""Our files for `latency.py`: `latency_build.py FOLDER [--quick]`. Needs TensorFlow, so it runs in a separate process.

The classifiers have untrained weights, since time does not depend on their values:

- `HEAD-SLOTS-RECIPE.tflite`: as `export` writes it, with all signatures and metadata
- `network-...`: its graph of `classify` without the encoder
- `peak-RECIPE.tflite`: one large matrix product
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.speed.stopwatch import PEAK
from retvec_lite.contract import EncoderConfig
from retvec_lite.converters.export import convert, package
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite.graph import operator_name, shape_of
from retvec_lite.converters.tflite.model import find_tensor, pack, read_model, schema
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.model.heads import BertHead, CnnHead, HeadSpec, PoolHead, RnnHead
from retvec_lite.model.weight_files import TrainedModel, load_default_embedding
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.interpreters import silent_standard_error

LABELS: Final = 77
CHARS_PER_SLOT: Final = 8
HEADS: Final[dict[str, HeadSpec]] = {"pool": PoolHead(), "cnn": CnnHead(), "rnn": RnnHead(), "bert": BertHead()}
SLOTS: Final = {"pool": (64, 128), "cnn": (64,), "rnn": (64,), "bert": (64,)}
TIMED_RECIPES: Final = {"pool": ("float32", "int8", "int8-dynamic", "int4")}
"""The other heads have the default recipe and the fastest."""


def build(folder: Path, quick: bool) -> None:
    """Write all missing files."""
    for name, head in HEADS.items():
        if quick and name != "pool":
            continue
        recipes = TIMED_RECIPES.get(name, ("int8", "int8-dynamic"))
        for slots in SLOTS[name][: 1 if quick else None]:
            files = {recipe: folder / f"{name}-{slots}-{recipe}.tflite" for recipe in recipes}
            write_missing(files, head, slots)
            for file in files.values():
                network = file.with_name(f"network-{file.name}")
                # Never overwrite: another run may have mapped the file.
                if not network.exists():
                    network.write_bytes(without_encoder(read_artifact(file).model))
    if not all((folder / f"peak-{recipe}.tflite").exists() for recipe in ("float32", "int8-dynamic")):
        build_peak(folder)


def write_missing(files: Mapping[str, Path], head: HeadSpec, slots: int) -> None:
    """Write the files, recipe -> path, unless all exist."""
    if all(file.exists() for file in files.values()):
        return
    classifier = untrained(head, slots)
    float32 = convert(classifier)
    for recipe, file in files.items():
        oldest = dict([RECIPES[recipe].oldest_runtime])
        file.write_bytes(package(quantize(float32, recipe), classifier, RECIPES[recipe], oldest))


def untrained(head: HeadSpec, slots: int) -> TrainedModel:
    """A classifier on the embedding that ships, its head fresh."""
    config = EncoderConfig(max_chars=slots * CHARS_PER_SLOT, max_words=slots)
    labels = tuple(f"label {number}" for number in range(LABELS))
    embedding = load_default_embedding()
    weights = head.initial_weights(np.random.default_rng(0), embedding.dimension, len(labels), slots)
    about = {"name": embedding.name, "card": {"note": "the embedding that ships"}}
    return TrainedModel(config, head, labels, {**embedding.weights, **weights}, about, {"note": "not trained"})


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


def build_peak(folder: Path) -> None:
    """Write the matrix product that measures the machine's peak, in float32 and with 8-bit integers."""
    import tensorflow as tf

    rows, inputs, outputs = PEAK
    kernel = np.random.default_rng(0).normal(size=(inputs, outputs)).astype(np.float32)
    function = tf.function(lambda x: tf.matmul(x, kernel), input_signature=[tf.TensorSpec([rows, inputs])])
    for recipe, optimizations in (("float32", []), ("int8-dynamic", [tf.lite.Optimize.DEFAULT])):
        with silent_standard_error():
            converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
            converter.optimizations = optimizations
            (folder / f"peak-{recipe}.tflite").write_bytes(converter.convert())


def multiply_accumulates(file: Path) -> int:
    """Count the multiply-accumulates of a call of `classify`, from the shapes of its products and convolutions."""
    model = read_model(file.read_bytes())
    graph = model.subgraphs[0]
    total = 0
    for operator in graph.operators:
        name = operator_name(model, operator)
        shapes = [shape_of(graph.tensors[index]) for index in operator.inputs]
        made = int(np.prod(shape_of(graph.tensors[operator.outputs[0]])))
        if name == "FULLY_CONNECTED":
            total += made * shapes[1][1]
        elif name == "CONV_2D":
            total += made * int(np.prod(shapes[1][1:]))
        elif name == "BATCH_MATMUL":
            total += made * shapes[0][-1]
        elif name == "UNIDIRECTIONAL_SEQUENCE_LSTM":
            total += shapes[0][1] * sum(int(np.prod(shapes[place])) for place in range(1, 9))
    return total


if __name__ == "__main__":
    build(Path(sys.argv[1]), "--quick" in sys.argv)
