"""Exported `.onnx` files: the graph of the `.tflite`, for ONNX Runtime."""

import importlib.util
from typing import Final

RUNTIME: Final = "onnxruntime"
"""What runs them: a distribution."""


def is_installed() -> bool:
    """Return whether ONNX Runtime is installed, without importing it."""
    return importlib.util.find_spec(RUNTIME) is not None
