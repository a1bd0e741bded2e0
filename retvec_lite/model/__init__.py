"""What is trained: heads, weight files, the network in NumPy and in TensorFlow."""

import os


def load_tensorflow() -> None:
    """Import TensorFlow without its notes about CUDA and oneDNN.

    Raises:
        ModuleNotFoundError: when TensorFlow is not installed.
    """
    from retvec_lite.runtime.interpreters import silent_standard_error

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with silent_standard_error():
        import tensorflow as tf

        # Training compiles a step for each of a few lengths on purpose; TensorFlow's logger would warn of retracing.
        tf.get_logger().setLevel("ERROR")
        # The first operation starts the device layer, which prints notes about missing GPUs.
        tf.constant(0)
