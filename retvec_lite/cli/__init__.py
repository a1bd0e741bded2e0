"""The commands: of each, `declare_<command>(parser)` and `run_<command>(args) -> exit code`. Here: what they share."""

import argparse
import contextlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from retvec_lite.classifier import Classifier

MODEL: Final = "an exported .tflite, .retvec or .onnx, a trained folder, hf://user/model on the hub, or the name of a ready-made one, such as language"
"""What `classify` and `evaluate` run."""

UNKNOWN: Final = "unknown"
"""What is printed where a text belongs to none of the labels, and no label reads like that; JSON has null."""


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
    """Load a classifier and run it once; warnings become sentences.

    Raises:
        RetvecLiteError: like `retvec_lite.load`.
    """
    from retvec_lite.loading import load

    with told_warnings():
        classifier = load(path, runtime=runtime, workers=workers, isolated=isolated, languages=languages)
        classifier.probabilities("")
    return classifier


@contextlib.contextmanager
def told_warnings() -> Iterator[None]:
    """Print warnings as sentences."""
    with warnings.catch_warnings(record=True) as told:
        yield
    for warning in told:
        print(warning.message, file=sys.stderr)
