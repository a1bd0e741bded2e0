"""The commands: of each, `declare_<command>(parser)` and `run_<command>(args) -> exit code`. Here: the options they share."""

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from retvec_lite.errors import RetvecLiteError

if TYPE_CHECKING:
    from retvec_lite.classifier import Classifier

MODEL: Final = "an exported .tflite or .retvec, a trained folder, hf://user/model on the hub, or language for the detector in the package"
"""What `classify` and `evaluate` run."""


def add_runtime_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--runtime` and `--isolated`."""
    from retvec_lite.runtime.interpreters import RUNTIMES

    parser.add_argument(
        "--runtime", choices=RUNTIMES, help="what runs the model (default: the first that is installed)"
    )
    parser.add_argument(
        "--isolated",
        action="store_true",
        help="run the model in a worker process: a file that crashes the runtime is an error",
    )


def add_reject_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--no-reject`."""
    parser.add_argument(
        "--no-reject",
        dest="reject",
        action="store_false",
        help="give every text a label (default: none to texts that belong to none)",
    )


def positive_integer(text: str) -> int:
    """Parse an integer of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


positive_integer.__name__ = "integer"  # argparse says "invalid integer value: 'x'"


def shares(text: str) -> tuple[float, ...]:
    """Parse comma-separated shares of mistyped words into ascending ones, without repeats."""
    from retvec_lite.data.scores import check_rates

    try:
        return tuple(sorted(check_rates(float(part) for part in text.split(","))))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be shares such as 0,0.2,0.5, not {text!r}") from error
    except RetvecLiteError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def png_file(text: str) -> str:
    """Parse the name of a PNG file."""
    if not text.lower().endswith(".png"):
        raise argparse.ArgumentTypeError(f"the name must end in .png: {text!r}")
    return text


def load_quietly(
    path: str,
    runtime: str | None,
    workers: int | None = None,
    isolated: bool = False,
    languages: Sequence[str] | None = None,
) -> "Classifier":
    """Load a classifier and run it once, without the notes that LiteRT's C++ code prints meanwhile; warnings become sentences.

    Raises:
        RetvecLiteError: like `retvec_lite.load`.
    """
    from retvec_lite.api import load
    from retvec_lite.runtime.interpreters import silent_standard_error

    with warnings.catch_warnings(record=True) as told, silent_standard_error():
        classifier = load(path, runtime=runtime, workers=workers, isolated=isolated, languages=languages)
        classifier.probabilities("")
    for warning in told:
        print(warning.message, file=sys.stderr)
    return classifier
