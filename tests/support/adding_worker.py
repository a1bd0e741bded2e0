"""One of two workers that add up, and disagree in the end. Prints what it found as JSON."""

import json
import sys

import tensorflow as tf

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.distribution import join_workers

workers = join_workers()


@tf.function(autograph=False)
def total(index: tf.Tensor) -> list[tf.Tensor]:
    return workers.total([tf.stack([index, 10 * index]), tf.reshape(index, [1, 1])])


pair, single = total(tf.constant(workers.index + 1.0))
rows = workers.rows_of(5)
workers.agree("files", ["the same"])
means = [workers.mean(value * workers.index) for value in (1.0, 3.0)]
print(json.dumps([pair.numpy().tolist(), single.numpy().tolist(), means, [rows.start, rows.stop], workers.is_chief]))
try:
    workers.agree("files", workers.index)
except RetvecLiteError as error:
    sys.exit(str(error))
