"""The starter data: 9,309 labelled short messages in ten languages that this project wrote for a first model.

What they are, and what they are not, stands in `starter/README.md`.
"""

import atexit
import contextlib
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retvec_lite.errors import RetvecLiteError

if TYPE_CHECKING:
    from retvec_lite.dataset import Dataset

SPLITS: Final = ("train", "test")


@cache
def starter_file(split: str) -> Path:
    """The CSV file of one split, with the columns `text`, `label` and `lang`.

    Args:
        split: `train` or `test`.

    Returns:
        A path that exists until the process ends, even if the package is imported from a zip file.

    Raises:
        RetvecLiteError: for another split.
    """
    if split not in SPLITS:
        raise RetvecLiteError(f"Expected the split to be {' or '.join(map(repr, SPLITS))}, received {split!r}.")
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(as_file(files("retvec_lite") / "starter" / f"{split}.csv"))


def starter_files() -> tuple[Path, Path]:
    """The paths of the training and the test split, see `starter_file`."""
    return starter_file("train"), starter_file("test")


def load_starter(split: str) -> "Dataset":
    """The texts and labels of one split.

    Args:
        split: `train` or `test`.

    Raises:
        RetvecLiteError: for another split.
    """
    from retvec_lite.dataset import read_dataset

    return read_dataset(starter_file(split))
