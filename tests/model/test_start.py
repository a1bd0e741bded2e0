"""How TensorFlow starts for a training."""

import subprocess
import sys

import tensorflow as tf

from retvec_lite.model import run_operations_side_by_side

SCRIPT = """
from retvec_lite.model import load_tensorflow, run_operations_side_by_side
run_operations_side_by_side()
load_tensorflow()
import tensorflow as tf
print(tf.config.threading.get_intra_op_parallelism_threads(), float(tf.reduce_sum(tf.ones([1000, 1000]))))
"""


def test_each_operation_gets_one_thread() -> None:
    found = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["1", "1000000.0"]


def test_a_tensorflow_that_runs_is_left_as_it_is() -> None:
    tf.constant(0)
    before = tf.config.threading.get_intra_op_parallelism_threads()
    run_operations_side_by_side()
    assert tf.config.threading.get_intra_op_parallelism_threads() == before
