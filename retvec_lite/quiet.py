"""Sparing users the notes that C++ libraries print on standard error."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def silent_standard_error() -> Iterator[None]:
    """Nothing reaches standard error meanwhile, not even from C++ code; exceptions pass as always."""
    if sys.stderr is not None:
        sys.stderr.flush()
    try:
        saved = os.dup(2)
    except OSError:  # standard error is closed: nobody to be spared
        yield
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nothing)


def load_tensorflow() -> None:
    """Import TensorFlow without its greetings about CUDA and oneDNN, and keep its C++ code at errors only.

    Raises:
        ModuleNotFoundError: when it is not installed.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with silent_standard_error():
        import tensorflow as tf

        # Training compiles a step for each of a few lengths on purpose; Python's logger warns of "retracing".
        tf.get_logger().setLevel("ERROR")
        # The first operation starts the device layer, which has something to say about missing GPUs.
        tf.constant(0)
