"""The makers' command lines: what READMEs and pages show parses, and what goes wrong is one sentence."""

import argparse
import importlib
import re
import shlex
from pathlib import Path

import pytest

from benchmarks.data.prepare import UnavailableError
from makers.command import Command

ROOT = Path(__file__).parents[3]
PAGES = [*ROOT.glob("lab/makers/*/README.md"), *ROOT.glob("docs/*.md"), ROOT / "retvec_lite" / "weights" / "README.md"]


def shown(page: Path) -> list[str]:
    """Every command of a page, with what follows a backslash at a line's end."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(r"python -m makers\.([^`\n#]+)", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_the_commands_of_a_page_parse(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(argparse.ArgumentParser, "exit", lambda *_: pytest.fail("does not parse"))
    for line in shown(page):
        name, *arguments = shlex.split(line)
        found = importlib.import_module(f"makers.{name}.__main__").command()
        if len(arguments) < 2:  # a name alone
            assert set(arguments) <= set(found._commands.choices)
        else:
            found._parser.parse_args(arguments)


def test_there_are_commands_for_every_maker() -> None:
    makers = {path.parent.name for path in ROOT.glob("lab/makers/*/__main__.py")}
    assert makers == {"embedding", "language", "meaning", "ready", "sentences"}
    for name in makers:
        assert any(line.startswith(name) for line in shown(ROOT / "lab" / "makers" / name / "README.md"))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ModuleNotFoundError("No module", name="gensim"), 2, "error: The package gensim is not installed. Run: make "),
        (FileNotFoundError(2, "No such file or directory", "a\nb"), 2, "error: [Errno 2] No such file or directory: "),
        (UnavailableError("Cannot fetch a.zip: put it at b.zip."), 2, "error: Cannot fetch a.zip: put it at b.zip."),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=["package", "file", "owner's file", "Ctrl-C"],
)
def test_what_goes_wrong_is_one_line(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(args: argparse.Namespace) -> None:
        """Do nothing but fail."""
        raise error

    command = Command("nothing", "A command.")
    command.add("fail", run)
    assert command.main(["fail"]) == code
    printed = capsys.readouterr().err
    assert printed.startswith(f"python -m makers.nothing: {said}") and printed.count("\n") == 1
