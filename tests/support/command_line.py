"""Calling the command, in a process of its own or (fixture `main`) in this one, and the tables it is given."""

import csv
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

COMMAND = [sys.executable, "-c", "import sys; from retvec_lite.__main__ import main; sys.exit(main())"]

Main = Callable[..., tuple[int, str, str]]
"""Arguments -> exit code, standard output, standard error."""


def run(*arguments: str, stdin: bytes | None = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], input=stdin, capture_output=True, check=False)


def write_table(path: Path, rows: Sequence[tuple[str, str]], header: tuple[str, str] = ("text", "label")) -> str:
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)
