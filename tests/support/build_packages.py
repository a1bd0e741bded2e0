"""Export stand-ins for Core ML: `build_packages.py FOLDER HEAD=RECIPE,...`; see `packages.py`. The head `built` stands in FOLDER/built.safetensors."""

import dataclasses
import sys
from pathlib import Path

import standin
from few_edges import use_few_edges

from retvec_lite.converters.export import export_model
from retvec_lite.model.weight_files import load_trained_model


def main(folder: Path, orders: list[str]) -> None:
    use_few_edges()  # tests examine the packages again
    for order in orders:
        head, _, recipes = order.partition("=")
        if head == "built":
            spec = load_trained_model(folder / "built.safetensors")
        else:
            spec = dataclasses.replace(
                standin.classifier(f"{head}-snapped"),
                embedding={"name": "random", "card": {"note": "random weights, for tests of mechanics"}},
                training={"note": "not trained"},
            )
        (folder / f"{head}.safetensors").write_bytes(spec.to_bytes())
        export_model(spec, folder / head, formats=("coreml",), recipes=recipes.split(","), data=folder / "texts.csv")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
