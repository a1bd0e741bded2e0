"""What the commands of all makers share: options, folders, and one sentence for what goes wrong."""

import argparse
import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from retvec_lite.errors import RetvecLiteError
from retvec_lite.terminal import printable

ROOT: Final = Path(__file__).resolve().parents[2]
OUT: Final = ROOT / "out" / "makers"
"""Folder of what is made, ignored by git: what is good is copied to the package by hand."""

USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130


def count(text: str) -> int:
    """Return a number of the command line, 1 or more."""
    found = int(text)
    if found < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {found}")
    return found


count.__name__ = "integer"  # argparse says "invalid integer value: 'x'"


class Command:
    """The command line of a maker, with a subcommand for each thing that it does.

    Args:
        name: of the maker's package.
        doc: its docstring, shown as help.
    """

    def __init__(self, name: str, doc: str | None) -> None:
        self._name = name
        self._parser = argparse.ArgumentParser(
            prog=f"python -m makers.{name}", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        self._commands = self._parser.add_subparsers(metavar="COMMAND", required=True)

    def add(
        self, name: str, run: Callable[[argparse.Namespace], None], *, makes: bool = True
    ) -> argparse.ArgumentParser:
        """Declare a subcommand, and return the parser of its arguments.

        Args:
            name: of the subcommand.
            run: what it does; its docstring is the help.
            makes: whether it makes files: adds `--out` and `--quick`.
        """
        about = (run.__doc__ or "").strip()
        parser: argparse.ArgumentParser = self._commands.add_parser(name, help=about, description=about)
        parser.set_defaults(run=run)
        if makes:
            parser.add_argument(
                "--out",
                type=Path,
                default=OUT / self._name,
                metavar="DIR",
                help=f"folder of the files and of what is done so far (default: out/makers/{self._name})",
            )
            parser.add_argument("--quick", action="store_true", help="a few steps, to try the command")
        return parser

    def main(self, arguments: list[str] | None = None) -> int:
        """Run a subcommand; return 0, 2 for bad input, or 130 after Ctrl-C, from which the same command goes on."""
        args = self._parser.parse_args(arguments)
        try:
            args.run(args)
        except ModuleNotFoundError as error:
            return self._fail(f"The package {error.name} is not installed. Run: make install-lab")
        except (RetvecLiteError, OSError, csv.Error) as error:
            return self._fail(str(error))
        except KeyboardInterrupt:
            print(f"{self._parser.prog}: interrupted", file=sys.stderr)
            return INTERRUPTED
        return 0

    def _fail(self, sentence: str) -> int:
        print(f"{self._parser.prog}: error: {printable(' '.join(sentence.split()))}", file=sys.stderr)
        return USAGE_ERROR
