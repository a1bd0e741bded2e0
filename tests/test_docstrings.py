"""Every example in a docstring, and of what people build, runs as it stands, and every file that is named exists."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest
from api_folder import ApiFolder

import retvec_lite


def _modules() -> list[ModuleType]:
    names = [
        name
        for _, name, _ in pkgutil.walk_packages(retvec_lite.__path__, "retvec_lite.")
        if not name.endswith("__main__")
    ]
    converters = importlib.import_module("retvec_lite.converters")
    names += [name for _, name, _ in pkgutil.walk_packages(converters.__path__, "retvec_lite.converters.")]
    return [retvec_lite, *(importlib.import_module(name) for name in dict.fromkeys(names))]


def test_examples_run(api_folder: ApiFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finder, seen = doctest.DocTestFinder(exclude_empty=True), 0
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    failures: list[str] = []
    page = re.sub(r"^```.*$", "", (Path(__file__).parents[1] / "docs" / "tasks.md").read_text("utf-8"), flags=re.M)
    found = [example for module in _modules() for example in finder.find(module, module.__name__) if example.examples]
    for example in [*found, doctest.DocTestParser().get_doctest(page, {}, "docs/tasks.md", None, 0)]:
        place = tmp_path / f"{seen}"
        api_folder.copy_to(place)
        monkeypatch.chdir(place)
        seen += 1
        report: list[str] = []
        if runner.run(example, out=report.append).failed:
            failures.append("".join(report))
    assert seen >= 20, "the examples were not found"
    assert not failures, "\n".join(failures)


def test_files_that_are_named_exist() -> None:
    """In docstrings, comments and messages of the package, between backticks; `numpy.py` is one that must not be run."""
    root = Path(retvec_lite.__file__).parents[1]
    packages, others = ("retvec_lite", "converters"), ("engine", "tests")
    there = {file.as_posix() for folder in (*packages, *others) for file in (root / folder).rglob("*.*")}
    for file in (file for folder in packages for file in (root / folder).rglob("*.py")):
        named = re.findall(r"`([\w/]+\.(?:py|c|h))`", file.read_text(encoding="utf-8"))
        missing = [
            name for name in named if name != "numpy.py" and not any(path.endswith(f"/{name}") for path in there)
        ]
        assert not missing, f"{file} names {missing}"
