"""Export stand-ins for Core ML: `build_packages.py FOLDER HEAD[/IOS][+tflite]=RECIPE,...`; see `packages.py`."""

import dataclasses
import sys
from pathlib import Path

import standin

from retvec_lite.converters.export import export_model


def main(folder: Path, orders: list[str]) -> None:
    for order in orders:
        name, _, recipes = order.partition("=")
        name, *more = name.split("+")
        head, _, ios = name.partition("/")
        spec = dataclasses.replace(
            standin.classifier(f"{head}-snapped"),
            embedding={"name": "random", "card": {"note": "random weights, for tests of mechanics"}},
            training={"note": "not trained"},
        )
        target = order.partition("=")[0].replace("/", "-").replace("+", "-")
        (folder / f"{target}.safetensors").write_bytes(spec.to_bytes())
        export_model(
            spec,
            folder / target,
            formats=("coreml", *more),
            recipes=recipes.split(","),
            ios=int(ios or 16),
            data=folder / "texts.csv",
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
