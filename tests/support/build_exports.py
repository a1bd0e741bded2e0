"""Export stand-in classifiers: `build_exports.py FOLDER NAME=RECIPE,...`. In its own process, since it needs TensorFlow.

Their weights are random, on a 4-bit grid: good for the mechanics of every recipe, no classifier of anything.
"""

import dataclasses
import sys
from pathlib import Path

import standin
from exported import EMBED

from retvec_lite.converters.export import export


def main(folder: Path, orders: list[str]) -> None:
    for order in orders:
        name, _, recipes = order.partition("=")
        spec = dataclasses.replace(
            standin.classifier(f"{name}-snapped", standin.LONG),
            embedding={"name": "random", "card": {"note": "random weights, for tests of mechanics"}},
            training={"note": "not trained"},
        )
        source = folder / f"{name}.safetensors"
        source.write_bytes(spec.to_bytes())
        export(source, folder / name, recipes.split(","), embed=name in EMBED, data=folder / "texts.csv")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
