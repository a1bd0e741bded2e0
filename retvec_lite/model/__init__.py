"""The model: heads, weight files, and the network in NumPy and in TensorFlow."""

import os
from typing import Final

LOADING: Final = "Loading TensorFlow, which takes some seconds."
"""What is told before `load_tensorflow`."""


def import_tensorflow() -> None:
    """Import TensorFlow without its log lines, and start nothing: several machines must join before the first operation.

    Raises:
        ModuleNotFoundError: when TensorFlow is not installed.
    """
    from retvec_lite.runtime.interpreters import silent_standard_error

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with silent_standard_error():
        import tensorflow  # noqa: F401 - later imports find it loaded


def load_tensorflow() -> None:
    """Import TensorFlow and discard its startup messages about CUDA and oneDNN.

    Raises:
        ModuleNotFoundError: when TensorFlow is not installed.
    """
    from retvec_lite.runtime.interpreters import silent_standard_error

    import_tensorflow()
    with silent_standard_error():
        import tensorflow as tf

        # Training deliberately compiles one step per text length; the logger would warn of retracing.
        tf.get_logger().setLevel("ERROR")
        # The first operation starts the device layer, which prints messages about missing GPUs.
        tf.constant(0)
