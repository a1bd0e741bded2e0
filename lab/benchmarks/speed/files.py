"""Files to time: `python -m benchmarks.speed.files FOLDER [--quick]`, a process of its own, with TensorFlow.

LiteRT and TensorFlow do not share a process here. The classifiers have untrained weights, since time does not depend on their values.
`HEAD-SLOTS-RECIPE.tflite` is as `export` writes it, with metadata.
"""

import sys
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.systems.ours import file_contents
from retvec_lite.contract import EncoderConfig
from retvec_lite.model.heads import HEADS, HeadSpec
from retvec_lite.model.weight_files import TrainedModel, choose_embedding

LABELS: Final = 77
CHARS_PER_SLOT: Final = 8
SLOTS: Final = {"pool": (64, 128), "cnn": (64,)}
RECIPES: Final = {"pool": ("float32", "int8", "int4")}
"""The other heads have the default recipe and the smallest."""


def build_latency(folder: Path, quick: bool) -> None:
    """Write all missing files of latency.py."""
    for head in ("pool",) if quick else SLOTS:
        for slots in SLOTS[head][: 1 if quick else None]:
            recipes = RECIPES.get(head, ("int8", "int4"))
            files = {recipe: folder / f"{head}-{slots}-{recipe}.tflite" for recipe in recipes}
            # Never overwrite: another run may have mapped a file.
            if all(file.exists() for file in files.values()):
                continue
            for recipe, content in file_contents(untrained(HEADS[head](), slots), recipes).items():
                files[recipe].write_bytes(content)


def untrained(head: HeadSpec, slots: int, labels: int = LABELS, embedding: str = "default") -> TrainedModel:
    """Return a classifier on an embedding, its head fresh."""
    chosen = choose_embedding(embedding)
    assert chosen is not None
    config = EncoderConfig(max_chars=slots * CHARS_PER_SLOT, max_words=slots, word_length=chosen.word_length)
    names = tuple(f"label {number}" for number in range(labels))
    weights = head.initial_weights(np.random.default_rng(0), chosen.dimension, labels, slots)
    about = {"name": chosen.name, "card": {}}
    return TrainedModel(config, head, names, {**chosen.weights, **weights}, about, {"note": "not trained"})


if __name__ == "__main__":
    build_latency(Path(sys.argv[1]), "--quick" in sys.argv)
