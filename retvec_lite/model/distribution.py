"""Training on several machines, through one of TensorFlow's strategies: who the workers are, and sums over all of them.

Every worker runs the same program on rows of its own, with variables of its own, because Keras 3 does not work with
`MultiWorkerMirroredStrategy` (https://github.com/keras-team/keras/issues/20585). The strategy connects the workers, watches over
them and adds up their gradients. A single machine is the usual case: it is its own sum.
"""

import contextlib
import functools
import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError, reason, shown

if TYPE_CHECKING:
    import tensorflow as tf


class Workers:
    """This worker and the others. Every worker must make the same calls, in the same order.

    Attributes:
        index: of this worker, from 0.
        count: of all workers.
        is_chief: whether this one writes files: the first.
    """

    def __init__(self, strategy: "tf.distribute.Strategy | None" = None) -> None:
        self._strategy, self.index, self.count = strategy, 0, 1
        if strategy is not None:
            resolver, self.count = strategy.cluster_resolver, strategy.num_replicas_in_sync
            self.index = resolver.task_id + (resolver.task_type == "worker" and "chief" in resolver.cluster_spec().jobs)
        self.is_chief = self.index == 0

    def rows_of(self, rows: int) -> slice:
        """Return which of so many rows are this worker's."""
        return slice(rows * self.index // self.count, rows * (self.index + 1) // self.count)

    def total(self, values: Sequence[Any]) -> list[Any]:
        """Return the sums of float32 tensors over all workers, in one message. To be called inside a graph."""
        if self._strategy is None:
            return list(values)
        import tensorflow as tf

        def on_worker(given: Any) -> Any:
            # A copy made here is on a device that the strategy knows; inside a graph, what is passed in has none.
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(given))

        flat = tf.concat([tf.reshape(value, [-1]) for value in values], 0)
        parts = tf.split(self._strategy.run(on_worker, args=(flat,)), [value.shape.num_elements() for value in values])
        return [tf.reshape(part, value.shape) for part, value in zip(parts, values, strict=True)]

    def mean(self, value: float) -> float:
        """Return the mean of a number over all workers: what they decide by it, they decide alike."""
        with self.watched():
            return value if self._strategy is None else float(self._mean(np.asarray(value, np.float32)))

    def mean_of_arrays(self, values: Floats) -> Floats:
        """Return the mean of an array, float32, over all workers: they start alike, however each of them rounds."""
        if self._strategy is None:
            return values
        with self.watched():
            found: Floats = self._mean(values).numpy()
        return found

    @functools.cached_property
    def _mean(self) -> Any:
        import tensorflow as tf

        # An array is a tensor whose shape the graph knows; a number of Python would be a constant of it.
        return tf.function(lambda value: self.total([value])[0] / self.count, autograph=False)

    def agree(self, what: str, value: object) -> None:
        """Refuse to go on, by a `RetvecLiteError` that names `what`, unless all workers have the same value."""
        # Two bytes: their sums, and the mean of equal ones, are exact in float32.
        digest = int.from_bytes(hashlib.sha256(repr(value).encode()).digest()[:2], "little")
        differs = float(self.mean(digest) != digest)
        if self.mean(differs):  # a worker whose value is the mean by chance hears of it, too
            raise RetvecLiteError(
                f"The workers have different {what}. Start all of them with the same command and files, and with --out in a "
                "folder that all of them see."
            )

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Turn the death of another worker, which ends the block, into one sentence."""
        try:
            yield
        except Exception as error:
            import tensorflow as tf

            if self._strategy is None or not isinstance(error, tf.errors.OpError):
                raise
            raise RetvecLiteError(
                "Another worker is gone. Start all workers again with the same command: they go on from the last checkpoint."
            ) from error


def join_workers(strategy: "tf.distribute.Strategy | None" = None) -> Workers:
    """Connect to the other workers, and wait until all are there. Call before the first TensorFlow operation of the process.

    The strategy is a `MultiWorkerMirroredStrategy` with one device a process; without one, it is made where `TF_CONFIG` is set.

    Raises:
        RetvecLiteError: for another strategy, a `TF_CONFIG` that TensorFlow cannot use, or a worker that cannot be reached.
    """
    if strategy is None and not os.environ.get("TF_CONFIG", "").strip():
        return Workers()
    from retvec_lite.model import import_tensorflow
    from retvec_lite.runtime.interpreters import silent_standard_error

    import_tensorflow()
    import tensorflow as tf

    try:
        with silent_standard_error():
            strategy = strategy or tf.distribute.MultiWorkerMirroredStrategy()
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError, tf.errors.OpError) as error:
        raise RetvecLiteError(
            f"The workers cannot be connected: {reason(error)[:200]}. TF_CONFIG must look like "
            '{"cluster": {"worker": ["host:port", ...]}, "task": {"type": "worker", "index": 0}}.'
        ) from error
    if not isinstance(strategy, tf.distribute.Strategy):
        raise RetvecLiteError(f"strategy must be a tf.distribute.MultiWorkerMirroredStrategy, not {shown(strategy)}.")
    resolver = strategy.cluster_resolver
    machines = sum(map(len, resolver.cluster_spec().as_dict().values())) if resolver else 0
    if strategy.num_replicas_in_sync != (machines or 1):
        raise RetvecLiteError(
            "Train with a MultiWorkerMirroredStrategy of one device a process (CUDA_VISIBLE_DEVICES)."
        )
    return Workers(strategy if machines > 1 else None)
