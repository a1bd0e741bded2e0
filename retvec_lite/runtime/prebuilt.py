"""Classifiers that come with the package, by name: `language` tells which language a text is in."""

import os
from importlib import resources
from pathlib import Path
from typing import Final

PREBUILT: Final = ("language",)
"""Their names. Each has `NAME.tflite`, `NAME.safetensors` (its weights) and `NAME.md` (its model card) in the folder `prebuilt`."""


def is_prebuilt(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is the name of a classifier in the package; a file of that name is `./NAME`.

    Example:
        >>> from retvec_lite.runtime.prebuilt import is_prebuilt
        >>> is_prebuilt("language"), is_prebuilt("./language")
        (True, False)
    """
    return isinstance(path, str) and path in PREBUILT


def locate(path: str | os.PathLike[str], suffix: str = ".tflite") -> Path:
    """Return the file that a path means: that of a classifier in the package for its name, otherwise the path itself.

    Example:
        >>> from retvec_lite.runtime.prebuilt import locate
        >>> locate("language").name, locate("dist/classifier-int8.tflite").name
        ('language.tflite', 'classifier-int8.tflite')
    """
    if not is_prebuilt(path):
        return Path(path)
    return Path(str(resources.files("retvec_lite"))) / "prebuilt" / f"{os.fspath(path)}{suffix}"
