"""Print how large the project is beside the last release, so that growth is seen in review: `python -m tools.house`, part of `make lint`.

It only prints. `--release` writes the figures of a version into tools/house.json, when that version is published.
"""

import argparse
import ast
import json
from pathlib import Path
from typing import Final

from retvec_lite.version import __version__

_ROOT: Final = Path(__file__).parents[1]
_FIGURES: Final = Path(__file__).with_suffix(".json")

_AREAS: Final = {
    "package": ("retvec_lite/**/*.py", "converters/**/*.py"),
    "makers, tools": ("makers/**/*.py", "tools/**/*.py"),
    "engine": ("engine/*.c", "engine/*.h"),
    "other languages": (
        *("npm/src/*.ts", "android/*/src/main/**/*.kt", "swift/Retvec*/*.swift"),
        *("bindings/go/*.go", "bindings/rust/**/*.rs", "bindings/csharp/*.cs", "bindings/dart/**/*.dart"),
        *("bindings/react-native/**/*.ts", "bindings/react-native/**/*.kt", "bindings/react-native/**/*.swift"),
    ),
    "tests": ("tests/**/*.py",),
    "benchmarks": ("benchmarks/**/*.py",),
}
"""Area -> patterns of its files, from the root."""
_GENERATED: Final = ("engine/tables.h", "android/retvec-lite-litert/src/main/kotlin/org/retveclite/Tables.kt")


def measure() -> dict[str, int]:
    """Return modules and lines of each area, and the parameters of the functions that start things."""
    found = {}
    for area, patterns in _AREAS.items():
        paths = [path for pattern in patterns for path in _ROOT.glob(pattern)]
        sources = [path for path in paths if path.relative_to(_ROOT).as_posix() not in _GENERATED]
        found[f"{area}: files"] = len(sources)
        found[f"{area}: lines"] = sum(len(path.read_text("utf-8").splitlines()) for path in sources)
    for function in ast.parse((_ROOT / "retvec_lite/api.py").read_text("utf-8")).body:
        if isinstance(function, ast.FunctionDef) and not function.name.startswith("_"):
            given = function.args
            count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs) + bool(given.kwarg)
            found[f"parameters of {function.name}"] = count
    return found


def main() -> None:
    """Print the table, or keep the figures of a release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", action="store_true", help=f"keep the figures as those of {__version__}")
    now = measure()
    if parser.parse_args().release:
        figures = json.dumps({"version": __version__, **now}, indent=2)
        _FIGURES.write_text(figures + "\n", encoding="utf-8", newline="\n")
        return
    before = json.loads(_FIGURES.read_text("utf-8"))
    print(f"{'':28}{'now':>9}{before['version']:>9}")
    for name, value in now.items():
        print(f"{name:28}{value:>9,}{before.get(name, '-'):>9}")


if __name__ == "__main__":
    main()
