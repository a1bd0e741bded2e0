"""Export small classifiers that read meaning or n-grams alone: `meaning_export.py FOLDER NAME...`; a folder of files for each."""

import dataclasses
import sys
from pathlib import Path

from few_edges import use_few_edges
from meaning_cases import table
from modeling_cases import SMALL_HEADS, random_classifier
from standin import ngram_weights, ngrams_alone, snapped

from retvec_lite.contract import EncoderConfig
from retvec_lite.converters.export import export_model
from retvec_lite.decision import Decision
from retvec_lite.model.heads import LinearHead, NgramHead, PoolHead
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import NgramConfig

CONFIG = EncoderConfig(max_chars=160, max_words=20)
LABELS = ("no", "yes", "other")


def classifiers() -> dict[str, tuple[TrainedModel, dict[str, object]]]:
    """Return name -> a classifier and how to export it."""
    ngrams = NgramConfig(buckets=50, plain_letters=True)
    pool = random_classifier(PoolHead(hidden=24, vector=8), ngrams=ngrams, meaning=True, config=CONFIG)
    vector = random_classifier(PoolHead(hidden=24, blocks=1, vector=8), config=CONFIG)
    linear = random_classifier(LinearHead(), meaning=True, config=CONFIG)
    several = dataclasses.replace(linear, decision=Decision(thresholds=(0.5, 0.4, 0.6)))
    sizes, weights = table(len(LABELS))
    alone = TrainedModel(
        dataclasses.replace(CONFIG, max_words=1),
        NgramHead(),
        LABELS,
        {**ngram_weights(ngrams, len(LABELS)), **weights},
        {"name": "none"},
        {},
        ngrams,
        meaning=sizes,
    )
    # On the grid of every recipe, as training leaves weights.
    pool, vector, several, alone = (
        dataclasses.replace(
            model,
            weights={
                name: snapped(value) if name.endswith(("kernel", "/projection")) else value
                for name, value in model.weights.items()
            },
        )
        for model in (pool, vector, several, alone)
    )
    found: dict[str, tuple[TrainedModel, dict[str, object]]] = {
        "pool": (pool, {"recipes": ["float32", "int8"], "embed": True}),
        "vector": (vector, {"recipes": ["float32", "int8", "int4"], "embed": True}),
        "package": (pool, {"recipes": ["int8"], "formats": ["coreml"]}),
        "several": (several, {"recipes": ["int8"]}),
        "alone": (alone, {"recipes": ["int4"], "formats": ["tflite", "coreml"]}),
        "ngrams": (ngrams_alone(), {"recipes": ["int8"]}),
    }
    for head in SMALL_HEADS[1:2]:
        model = random_classifier(head, meaning=True, config=CONFIG)
        found[head.name] = (model, {"recipes": ["float32"]})
    return found


if __name__ == "__main__":
    use_few_edges()  # tests verify the files again
    for name in sys.argv[2:]:
        model, options = classifiers()[name]
        export_model(model, Path(sys.argv[1], name), **options)  # type: ignore[arg-type]
