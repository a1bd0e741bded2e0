"""Write small exports of random classifiers: run `python tests/data/make_exported.py FOLDER HEAD=RECIPE,...`.

Their weights lie on a 4-bit grid: good for the mechanics of every recipe, no classifier of anything. exported/ holds what this wrote:
the folder of `pool` is a whole export; of the others the artifacts and the float reference are kept.
"""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import standin
from exported import EMBED, WIDTH, call_it_kept_version, texts_csv

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
    main(Path(sys.argv[1]), sys.argv[2:])
