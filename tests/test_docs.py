"""The commands, calls and names that the documentation shows are those of the code."""

import argparse
import ast
import importlib
import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import retvec_lite as rl
from retvec_lite.__main__ import COMMANDS, find_command

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("bindings/*/README.md")),
    *sorted(ROOT.glob("lab/*/README.md")),
    *sorted(ROOT.glob("lab/makers/*/README.md")),
    *(ROOT / folder / "README.md" for folder in ("android_demo", "golden", "npm", "web_demo", "retvec_lite/weights")),
    *(ROOT / folder / "README.md" for folder in ("engine", "models", "retvec_lite/starter")),
]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())


def blocks(page: Path, language: str) -> Iterator[str]:
    """The fenced blocks of a language."""
    text = page.read_text(encoding="utf-8")
    yield from re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)


def commands(page: Path) -> Iterator[list[str]]:
    """The `retvec-lite` commands in blocks and in code spans, as words without `retvec-lite`."""
    lines = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    spans = re.findall(r"`(retvec-lite [a-z-]+ [^`]+)`", page.read_text(encoding="utf-8"))
    for line in lines + spans:
        words = shlex.split(line.partition(" > ")[0], comments=True)
        if words[:1] == ["retvec-lite"]:
            yield words[1:]


def test_nobody_is_told_to_install_what_is_not_published() -> None:
    """Pages, messages and cards say the checkout's way; `errors.install` says it for messages."""
    told = re.compile(r"(?:pip|npm) install [^\n`#]*(?<![/.\w-])retvec-lite(?:-models)?(?![\w-])")
    sources = [
        file for folder in ("retvec_lite", "converters", "examples") for file in sorted((ROOT / folder).rglob("*.py"))
    ]
    assert told.search('pip install "retvec-lite[sign]"') and told.search("npm install retvec-lite retvec-lite-models")
    for file in [*PAGES, *sources, *ROOT.glob("models/*/*.md"), *ROOT.glob("npm/src/*.ts")]:
        assert not told.search(file.read_text(encoding="utf-8")), file


@each_page
def test_commands_parse(page: Path) -> None:
    for name, *arguments in commands(page):
        if name == "COMMAND":
            continue
        assert name in COMMANDS
        parser = argparse.ArgumentParser(exit_on_error=False)
        find_command(name)[0](parser)
        try:
            parser.parse_intermixed_args(arguments)
        except (SystemExit, argparse.ArgumentError) as error:
            pytest.fail(f"retvec-lite {name} {shlex.join(arguments)}: {error}")


@each_page
def test_calls_fit_their_signatures(page: Path) -> None:
    for block in blocks(page, "python"):
        for call in ast.walk(ast.parse(block)):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            owner, name = call.func.value, call.func.attr
            if not isinstance(owner, ast.Name) or owner.id not in ("rl", "classifier"):
                continue
            if owner.id == "rl":
                assert name in rl.__all__
                signature = inspect.signature(getattr(rl, name))
            else:
                signature = inspect.signature(getattr(rl.TrainedClassifier, name).__get__(0))
            keywords = {keyword.arg: None for keyword in call.keywords if keyword.arg}
            try:
                signature.bind(*[None] * len(call.args), **keywords)
            except TypeError as error:
                pytest.fail(f"{ast.unparse(call)}: {error}")


@each_page
def test_make_targets_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    shown = re.findall(r"`make ([a-z -]+)", text) + re.findall(r"^make ([a-z-]+)", "".join(blocks(page, "sh")), re.M)
    assert {target for found in shown for target in found.split()} <= targets


@each_page
def test_benchmarks_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = re.findall(r"-m ((?:benchmarks|makers|tools)[\w.]+)", text) + re.findall(
        r"`(benchmarks\.(?!md)[\w.]+)", text
    )
    for module in shown:
        place = (ROOT if module.startswith("tools") else ROOT / "lab").joinpath(*module.split("."))
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), module


def test_the_reference_has_every_public_name() -> None:
    reference = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^::: retvec_lite\.([\w.]+)", reference, re.MULTILINE)
    assert sorted(name for name in shown if "." not in name) == sorted(set(rl.__all__) - {"__version__"})
    for module, _, name in (found.rpartition(".") for found in shown if "." in found):
        assert hasattr(importlib.import_module(f"retvec_lite.{module}"), name), name


def test_every_room_exists_and_stands_once() -> None:
    """A file without a folder is in that of its row's first name."""
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("| room | what is in it |")[2].partition("\n\n")[0]
    rooms: list[Path] = []
    for row in table.splitlines()[2:]:
        names, about = row.split(" | ", 1)
        first, *others = re.findall(r"`([^`]+)`", names)
        folder = first if first.endswith("/") else first.rpartition("/")[0]

        def found(name: str, folder: str = folder) -> Path:
            places = [ROOT / name, ROOT / folder / name, ROOT / "retvec_lite" / name]
            return next((place for place in places if place.exists()), Path(f"{name} is not there"))

        rooms += map(found, (first, *others))
        assert all(found(name).exists() for name in re.findall(r"`(\w+\.(?:py|c|h))`", about)), row
    assert all(room.exists() for room in rooms), rooms
    assert len(rooms) > 40 and len(rooms) == len(set(rooms))
