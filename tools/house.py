"""Hold the project at its size: `python -m tools.house`, part of `make lint`, fails where a figure is above its ceiling.

tools/house.json has the ceilings. `--lower` lowers those that can be lowered.
"""

import argparse
import ast
import importlib
import inspect
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

_ROOT: Final = Path(__file__).parents[1]
_FIGURES: Final = Path(__file__).with_suffix(".json")

_HOUSES: Final = {
    "package": ("retvec_lite/**/*.py", "converters/**/*.py"),
    "tools": ("tools/**/*.py",),
    "engine": ("engine/*.c", "engine/*.h"),
    "other languages": (
        *("npm/src/*.ts", "android/*/src/main/**/*.kt", "swift/Retvec*/*.swift"),
        *(f"bindings/**/*.{ending}" for ending in ("c", "cs", "go", "h", "rs")),
    ),
    "tests": ("tests/**/*.py",),
    "lab": ("lab/makers/**/*.py", "lab/benchmarks/**/*.py"),
    "lab tests": ("lab/tests/**/*.py",),
}
"""House -> patterns of its files, from the root."""
_GENERATED: Final = "engine/tables.h"
_LONGEST: Final = 400


def count_files() -> dict[str, int]:
    """Return files and lines of each house, and how many files are too long."""
    found, lengths = {}, []
    for house, patterns in _HOUSES.items():
        paths = {path for pattern in patterns for path in _ROOT.glob(pattern)} - {_ROOT / _GENERATED}
        lines = [len(path.read_text("utf-8").splitlines()) for path in paths]
        found[f"{house}: files"], found[f"{house}: lines"] = len(lines), sum(lines)
        lengths += lines
    return {**found, f"files over {_LONGEST} lines": sum(length > _LONGEST for length in lengths)}


def count_branches() -> dict[str, int]:
    """Return constants and branches of the training."""
    trees = [ast.parse(path.read_text("utf-8")) for path in (_ROOT / "retvec_lite/training").glob("*.py")]
    return {
        "training: constants": sum(isinstance(node, ast.AnnAssign) for tree in trees for node in tree.body),
        "training: ifs": sum(isinstance(node, (ast.If, ast.IfExp)) for tree in trees for node in ast.walk(tree)),
    }


def count_circles() -> dict[str, int]:
    """Return circles of imports and the modules in them; imports for type checkers and inside of functions count."""
    paths = {}
    for folder, package in (("retvec_lite", "retvec_lite"), ("converters", "retvec_lite.converters")):
        for path in (_ROOT / folder).rglob("*.py"):
            place = path.relative_to(_ROOT / folder).with_suffix("").parts
            paths[".".join((package, *place)).removesuffix(".__init__")] = path
    numbers = {name: number for number, name in enumerate(paths)}
    arrows = [(numbers[name], numbers[other]) for name in paths for other in _imports(paths[name]) if other in numbers]
    rows, columns = zip(*arrows, strict=True) if arrows else ((), ())
    graph = coo_array(([1] * len(rows), (rows, columns)), shape=(len(numbers),) * 2)
    members = Counter(connected_components(graph, connection="strong")[1].tolist())
    circles = [count for count in members.values() if count > 1]
    return {"circles of imports": len(circles), "modules in circles": sum(circles)}


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def count_surface() -> dict[str, int]:
    """Return how much users face, and how many modules they import by loading a file."""
    package = importlib.import_module("retvec_lite")
    commands = importlib.import_module("retvec_lite.__main__")
    options = 0
    for name in commands.COMMANDS:
        parser = argparse.ArgumentParser(add_help=False)
        commands.find_command(name)[0](parser)
        options += sum(bool(action.option_strings) for action in parser._actions)
    loading = "import sys, retvec_lite; retvec_lite.load('golden/plain.retvec'); print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", loading], text=True, cwd=_ROOT).split()
    return {
        "public names": len(package.__all__),
        "members of Classifier": sum(not name.startswith("_") for name in dir(package.Classifier)),
        "arguments of train": len(inspect.signature(package.train).parameters),
        "commands": len(commands.COMMANDS),
        "options of commands": options,
        "modules that load imports": sum(name.partition(".")[0] == "retvec_lite" for name in loaded),
    }


def faults_of(now: dict[str, int], kept: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return what is wrong: figures above their ceilings, and ceilings that were raised since `before` without a line that says why."""
    ceilings, known = kept["ceilings"], before.get("ceilings", {})
    new_lines = [line for line in kept["raised"] if line not in before.get("raised", [])]
    above = [
        f"{name}: {value:,} is above its ceiling of {ceilings.get(name, 0):,}. Take something out instead."
        for name, value in now.items()
        if value > ceilings.get(name, 0)
    ]
    return above + [
        f'{name}: the ceiling rose from {known[name]:,} to {value:,}. Add a line "{name}: why; what was deleted" to "raised".'
        for name, value in ceilings.items()
        if value > known.get(name, value) and not any(line.startswith(f"{name}: ") for line in new_lines)
    ]


def committed() -> dict[str, Any]:
    """Return what the last commit has in tools/house.json."""
    shown = ["git", "show", "HEAD:tools/house.json"]
    return json.loads(subprocess.run(shown, check=False, capture_output=True, text=True, cwd=_ROOT).stdout or "{}")


def main() -> None:
    """Compare the project with its ceilings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lower", action="store_true", help="lower the ceilings that can be lowered")
    lowers = parser.parse_args().lower
    now = {**count_files(), **count_branches(), **count_circles(), **count_surface()}
    kept = json.loads(_FIGURES.read_text("utf-8"))
    if faults := faults_of(now, kept, committed()):
        sys.exit("\n".join(faults))
    if lower := {name: value for name, value in now.items() if value < kept["ceilings"][name]}:
        print("Below their ceilings (`python -m tools.house --lower`):")
        print(*(f"  {name}: {kept['ceilings'][name]:,} -> {value:,}" for name, value in lower.items()), sep="\n")
    if lowers:
        kept["ceilings"].update(lower)
        _FIGURES.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
