"""Write exported/, small exports of random classifiers: run `python tests/data/make_exported.py [FOLDER [HEAD=RECIPE,...]]`.

Their weights lie on a 4-bit grid: good for the mechanics of every recipe, no classifier of anything. They are kept so that the tests
of what an export contains need no TensorFlow, and as files of an earlier release, under version 1 of the contract. The folder
of `pool` is a whole export; of the others the artifacts and the float reference are kept.
"""

import dataclasses
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import standin
from exported import EMBED, EXPORTED, ORDERS, WIDTH, call_it_kept_version, texts_csv

from retvec_lite.converters.export import export_model
from retvec_lite.model.weight_files import TrainedModel


def random_classifier(head: str) -> TrainedModel:
    """The classifier that is exported for a head."""
    return dataclasses.replace(
        standin.classifier(f"{head}-snapped", standin.LONG, WIDTH),
        embedding={"name": "random", "card": {"note": "random weights, for tests of mechanics"}},
        training={"note": "not trained"},
    )


def main(folder: Path, orders: Sequence[str]) -> None:
    """Export each head as its recipes."""
    call_it_kept_version()
    texts = texts_csv(folder)
    for order in orders:
        head, _, recipes = order.partition("=")
        model = random_classifier(head)
        export_model(model, folder / head, recipes=recipes.split(","), embed=head in EMBED, data=texts, force=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), sys.argv[2:])
    else:
        shutil.rmtree(EXPORTED, ignore_errors=True)
        EXPORTED.mkdir()
        main(EXPORTED, ["=".join(order) for order in ORDERS.items()])
        for path in EXPORTED.glob("*/*"):
            if path.parent.name != "pool" and path.suffix not in (".tflite", ".safetensors"):
                path.unlink()
