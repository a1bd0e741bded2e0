"""The model: heads, weight files, and the network in NumPy and in TensorFlow."""

import os
import sys
from typing import Any, Final

from retvec_lite.terminal import Progress, silent

_LOADING: Final = "Loading TensorFlow, which takes some seconds."


def import_tensorflow() -> None:
    """Import TensorFlow without its log lines, and start nothing: several machines must join before the first operation.

    It imports Keras where it finds it, which we do not use and which takes as long as the rest: later, whoever asks for it gets it.

    Raises:
        ModuleNotFoundError: when TensorFlow is not installed.
    """
    from retvec_lite.runtime.interpreters import silent_standard_error

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    modules: dict[str, Any] = sys.modules
    hides = modules.setdefault("keras", None) is None
    try:
        with silent_standard_error():
            import tensorflow  # noqa: F401 - later imports find it loaded
    finally:
        if hides:
            del modules["keras"]


def load_tensorflow(progress: Progress = silent) -> None:
    """Import TensorFlow, tell so unless that is done, and discard its startup messages about CUDA and oneDNN.

    Raises:
        ModuleNotFoundError: when TensorFlow is not installed.
    """
    from retvec_lite.runtime.interpreters import silent_standard_error

    if "tensorflow" not in sys.modules:
        progress(_LOADING, 0, 0)
    import_tensorflow()
    with silent_standard_error():
        import tensorflow as tf

        # Training deliberately compiles one step per text length; the logger would warn of retracing.
        tf.get_logger().setLevel("ERROR")
        # The first operation starts the device layer, which prints messages about missing GPUs.
        tf.constant(0)
