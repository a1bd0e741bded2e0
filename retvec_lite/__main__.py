"""The command `retvec-lite`. The module of a command is imported only when that command runs, so that `--help` is fast."""

import argparse
import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from retvec_lite.errors import RetvecLiteError, did_you_mean, install
from retvec_lite.runtime import NOT_BUILT, is_built
from retvec_lite.version import __version__

COMMANDS: Final = {
    "train": "train a classifier on a labelled file",
    "suggest": "choose the unlabelled texts that it pays most to label next",
    "check": "find wrong labels, copies and other faults in a labelled file",
    "export": "export a trained classifier as .tflite, .mlpackage, .retvec or .onnx",
    "verify": "prove exported files against the float reference",
    "make-key": "make the key pair that signs updates of a model",
    "check-update": "check a signed export that was downloaded, before it takes the place of the installed model",
    "classify": "classify texts with an exported file or a trained classifier",
    "teach": "teach a classifier what a text is, without a training",
    "evaluate": "measure an exported file or a trained classifier on labelled data, with typos",
    "compare": "compare two classifiers on labelled data: gains, losses, and whether they could be chance",
    "nearest": "find the texts that are most like a query",
    "duplicates": "find near-duplicates among texts",
    "detect-spans": "tell which part of a text is in which language",
    "info": "show what is inside an exported file",
    "demo": "try an exported file in a browser",
}
"""Command -> what it does."""

_MODULES: Final = {
    "check": "train",
    "suggest": "train",
    "teach": "classify",
    "compare": "exported",
    "export": "exported",
    "evaluate": "exported",
    "verify": "exported",
    "info": "exported",
    "demo": "exported",
    "make-key": "exported",
    "check-update": "exported",
    "nearest": "classify",
    "duplicates": "classify",
    "detect-spans": "classify",
}
"""Command -> its module in `retvec_lite.cli`, where that is not called like the command."""

_EXTRAS: Final = {
    "rich": "evaluate",
    "matplotlib": "evaluate",
    "flatbuffers": "export",
    "pyarrow": "parquet",
    "coremltools": "coreml",
    "cryptography": "sign",
    "onnx": "onnx",
    "onnxruntime": "onnx",
}
"""Package -> the extra that brings it; every other package that can be missing belongs to `train`."""

USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""What a shell reports for a program that SIGPIPE ended."""


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in a line, and what may have been meant."""

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"unrecognized arguments: (?:.* )?(--?[^ =]+)", message)
        choice = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        if missing := re.fullmatch(r"the following arguments are required: (--[^ ,]+)", message):
            action = self._option_string_actions[missing[1]]
            what = re.split(r"[.;:] | \(", action.help or "")[0]
            message = f"{missing[1]} is missing: add {missing[1]} {action.metavar}, {what}"
        elif unknown:
            message += f".{did_you_mean(unknown[1], self._option_string_actions)}"
        elif choice:
            message += f".{did_you_mean(choice[1], re.findall(r'[^ ,]+', choice[2].replace(chr(39), '')))}"
        sys.exit(_fail(f"{message.removesuffix('.')}{'' if message.endswith('?') else '.'} See {self.prog} --help."))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the command line without the program's name; `sys.argv`'s by default.

    Returns:
        The exit code: 0; 1 when `verify` found a difference; 2 for bad usage or input; 130 after Ctrl-C; 141 for a closed pipe.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Labels and texts are Unicode whatever the locale says. An unpaired surrogate must not stop the program: its
        # backslash escape is also the right one inside JSON.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except RetvecLiteError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        print("retvec-lite: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return BROKEN_PIPE
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "retvec_lite"):
            raise
        extra = _EXTRAS.get(package, "train")
        return _fail(f"The package {package} is not installed. Run {install(f'.[{extra}]')}.")
    except OSError as error:
        _drop_output()
        return _fail(f"Cannot read or write {error.filename or 'the standard streams'}: {error.strerror or error}.")
    except MemoryError:
        return _fail("Out of memory. Use less data or a smaller model.")


def _run(arguments: list[str]) -> int:
    name = arguments[0] if arguments else None
    if name not in COMMANDS:
        _overview().parse_args(arguments)  # prints help, version or what is wrong, and exits
        raise AssertionError("unreachable: a command is required")
    declare, run = find_command(name)
    help_text = COMMANDS[name]
    parser = _Parser(prog=f"retvec-lite {name}", description=f"{help_text[0].upper()}{help_text[1:]}.")
    declare(parser)
    # Intermixed: `classify MODEL --top 3 TEXT` is what people type.
    return run(parser.parse_intermixed_args(arguments[1:])) or 0


def find_command(
    name: str,
) -> tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int | None]]:
    """Import a command, and return what declares its arguments and what runs it."""
    word = name.replace("-", "_")
    module = importlib.import_module(f"retvec_lite.cli.{_MODULES.get(name, word)}")
    return getattr(module, f"declare_{word}"), getattr(module, f"run_{word}")


def _overview() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="retvec-lite",
        description="Typo-proof text classifiers in one small file.",
        formatter_class=argparse.RawDescriptionHelpFormatter,  # the version may have two lines
    )
    version = f"retvec-lite {__version__}" + ("" if is_built() else f"\n{NOT_BUILT}")
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, help_text in COMMANDS.items():
        commands.add_parser(name, help=help_text)
    return parser


def _open_closed_streams() -> None:
    """Let output that was closed (`>&-`) go nowhere, and keep files that are opened later from taking its number."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
    # For the rest of the process.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _drop_output() -> None:
    """Keep what cannot be printed from failing again when the interpreter flushes on exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(sentence: str) -> int:
    from retvec_lite.terminal import printable

    print(f"retvec-lite: error: {printable(' '.join(sentence.split()))}", file=sys.stderr)
    return USAGE_ERROR


if __name__ == "__main__":
    sys.exit(main())
