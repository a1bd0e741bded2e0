"""Measure what exported files hold beside weights: `python -m tools.graph_sizes` writes retvec_lite/model/graph_sizes.json (ten minutes).

Small classifiers of random weights are exported in every format but `.retvec`, which is always smaller. What is not their weights is told
apart by least squares: what each part of a network, a code point, a word slot and a label takes.
"""

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.converters.coreml import IOS, load_coremltools
from retvec_lite.converters.format import about, details
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite.format import convert, package
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.decision import Decision
from retvec_lite.meaning import PROJECTION, MeaningConfig, meaning_shapes
from retvec_lite.model.file_sizes import GRAPH_SIZES, LARGEST, parts_of, stored_bytes, text_bytes
from retvec_lite.model.grid import EIGHT_BITS, FOUR_BITS, snap
from retvec_lite.model.heads import HEADS, ngram_shapes
from retvec_lite.model.weight_files import TrainedModel, load_default_embedding
from retvec_lite.ngrams import NgramConfig

RECIPE: Final = RECIPES[LARGEST]


def random_model(
    head: str = "pool",
    words: int = 24,
    chars: int | None = None,
    labels: int = 10,
    ngrams: NgramConfig | None = None,
    meaning: int = 0,
    decision: Decision | None = None,
    **sizes: Any,
) -> TrainedModel:
    """Return a classifier of random weights: a head of some sizes, the shipped embedding, and so many words with a meaning."""
    rng, embedding, spec = np.random.default_rng(0), load_default_embedding(), HEADS[head](**sizes)
    shapes = spec.shapes(embedding.dimension, labels, words)
    weights: dict[str, Floats] = {
        name: snap(rng.normal(size=shape).astype(np.float32), FOUR_BITS)
        if len(shape) > 1
        else rng.normal(size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    config = MeaningConfig(words=meaning, rows=2 * meaning + 1, displacements=meaning) if meaning else None
    tables = ngram_shapes(ngrams, labels) if ngrams else {}
    tables |= meaning_shapes(config, labels) if config else {}
    for name, shape in tables.items():
        if name in ("ngrams/table", PROJECTION):
            weights[name] = snap(rng.normal(size=shape).astype(np.float32), EIGHT_BITS)
        else:
            weights[name] = rng.integers(1, 127, shape).astype(np.float32)
    return TrainedModel(
        EncoderConfig(max_chars=chars or 6 * words, max_words=words),
        spec,
        tuple(f"label {number}" for number in range(labels)),
        {**embedding.weights, **weights},
        {"name": embedding.name, "card": embedding.card},
        {"data": "none"},
        ngrams,
        decision or Decision(threshold=0.123456789, characters="abcdefghij"),
        config,
    )


def measure(model: TrainedModel) -> dict[str, int]:
    """Return the bytes of a classifier's files, by the names in `file_sizes`."""
    found = {}
    for name, embeds in (("tflite", False), ("tflite embed", True)):
        graph = quantize(convert(model, embeds), RECIPE.name)
        found[name] = len(package(graph, model, RECIPE, dict([RECIPE.oldest_runtime])))
    load_coremltools()
    from retvec_lite.converters.coreml.build import build_package

    facts = details(model, RECIPE.name, {"iOS": str(IOS)})
    found["coreml"] = sum(map(len, build_package(model, RECIPE, about(model, RECIPE.name), facts).values()))
    return found


def cases() -> Iterable[dict[str, Any]]:
    """Yield the arguments of `random_model`: every part with and without the others, in short, usual and long texts."""
    # The largest kind of n-grams: which one suits the texts is chosen after the room was measured.
    ngrams = NgramConfig(buckets=256, shortest=3, longest=5, codebooks=1, plain_letters=True)
    beside = ({}, {"ngrams": ngrams}, {"ngrams": ngrams, "meaning": 500})
    for head, words, parts in itertools.product(HEADS, (16, 40), beside):
        yield {"head": head, "words": words, **parts}
    for blocks, words, parts in itertools.product((1, 2), (16, 40), (beside[0], beside[2])):
        yield {"blocks": blocks, "words": words, **parts}
    for words, parts in itertools.product((16, 40), (beside[0], beside[2])):
        yield {"blocks": 1, "vector": 64, "words": words, **parts}
    for words, chars in ((4, 24), (8, 48), (24, 144), (24, 240), (64, 512), (128, 640), (256, 1536)):
        yield {"words": words, "chars": chars, **beside[2]}
    # Texts in scripts without spaces.
    for (words, chars), parts in itertools.product(((40, 128), (48, 160), (96, 128)), beside):
        yield {"words": words, "chars": chars, **parts}
    for words, parts in itertools.product((16, 40), ({}, beside[2])):
        yield {"words": words, "labels": 150, **parts}
        yield {"words": words, "labels": 2, **parts}


def fit(measured: Iterable[tuple[TrainedModel, Mapping[str, int]]]) -> dict[str, dict[str, float]]:
    """Return format -> part -> bytes, such that no file that was measured is larger than estimated."""
    rows: dict[str, list[tuple[dict[str, int], float]]] = {}
    for model, sizes in measured:
        shapes = {name: value.shape for name, value in model.weights.items()}
        for name, size in sizes.items():
            rest = size - stored_bytes(name, shapes) - text_bytes(model.labels, model.decision)
            rows.setdefault(name, []).append((parts_of(shapes, model.encoder, model.labels), rest))
    found: dict[str, dict[str, float]] = {}
    for name, measurements in rows.items():
        names = list(dict.fromkeys(part for parts, _ in measurements for part in parts))
        table = np.array([[parts.get(part, 0) for part in names] for parts, _ in measurements])
        rest = np.array([rest for _, rest in measurements])
        solved, *_ = np.linalg.lstsq(table, rest, rcond=None)
        off = rest - table @ solved
        print(f"{name}: off by {off.min():,.0f} to {off.max():,.0f} bytes")
        found[name] = {}
        for part, size in zip(names, solved, strict=True):
            found[name][part] = round(float(size + (off.max() if part == "graph" else 0.0)), 1)
    return found


def main() -> None:
    """Measure everything, and write the file."""
    models = (random_model(**case) for case in cases())
    GRAPH_SIZES.write_text(
        json.dumps(fit((model, measure(model)) for model in models), indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
