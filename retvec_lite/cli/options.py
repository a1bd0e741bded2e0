"""What the light commands share."""

import argparse

from retvec_lite.runtime.interpreters import RUNTIMES, silent_standard_error
from retvec_lite.runtime.text_classifier import TextClassifier


def add_runtime_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--runtime`."""
    parser.add_argument(
        "--runtime", choices=RUNTIMES, help="what runs the model (default: the first that is installed)"
    )


def positive_integer(text: str) -> int:
    """An argparse type: an integer of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, received {number}")
    return number


positive_integer.__name__ = "integer"  # argparse puts it into "invalid integer value: 'x'"


def load_quietly(path: str, runtime: str | None, workers: int | None = None) -> TextClassifier:
    """Load a model and run it once, without the notes that LiteRT's C++ code prints on standard error meanwhile.

    Raises:
        RetvecLiteError: like `TextClassifier.load`; errors reach the user through it and are not lost.
    """
    with silent_standard_error():
        classifier = TextClassifier.load(path, runtime=runtime, workers=workers)
        classifier.probabilities("")
    return classifier
