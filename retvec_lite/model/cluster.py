"""Training on several machines: what workers tell each other, through TensorFlow's collective operations.

Keras 3 does not work with `tf.distribute.MultiWorkerMirroredStrategy` (https://github.com/keras-team/keras/issues/20585), and the
metric loss compares words of all workers, which no strategy does by itself. So every worker runs its own model with variables of its
own, and the strategy does what it is good at: it connects the workers, watches over them, gathers vectors and adds up gradients.
"""

import contextlib
import functools
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.errors import RetvecLiteError

VARIABLE: Final = "TF_CONFIG"
"""Environment variable that tells a worker who the others are, and which one it is."""

_KINDS: Final = ("chief", "worker")

_EXACT: Final = 2**24
"""Integers below are exact in float32."""


def cluster_size() -> int:
    """Return how many workers `TF_CONFIG` names; 1 where it is not set. Loads nothing.

    Raises:
        RetvecLiteError: when it is not what TensorFlow expects.
    """
    return len(_config()[0])


@functools.cache
def join_cluster() -> "Cluster | None":
    """Connect to the other workers; None where `TF_CONFIG` names no others. Waits until all are there.

    Must come before the first TensorFlow operation of the process.

    Raises:
        RetvecLiteError: for a `TF_CONFIG` that TensorFlow cannot use, or a worker that cannot be reached.
    """
    workers, index = _config()
    if len(workers) == 1:
        return None
    from retvec_lite.runtime.interpreters import silent_standard_error

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with silent_standard_error():
        import tensorflow as tf

    try:
        with silent_standard_error():
            strategy = tf.distribute.MultiWorkerMirroredStrategy()
    except (RuntimeError, ValueError, tf.errors.OpError) as error:
        raise RetvecLiteError(f"The workers of {VARIABLE} cannot be connected: {_sentence(error)}.") from error
    return Cluster(strategy, index, len(workers))


class Cluster:
    """This worker and the others. Every worker must make the same calls, in the same order.

    Attributes:
        index: of this worker, from 0.
        count: of all workers.
        is_chief: whether this one writes files: the first.
    """

    def __init__(self, strategy: Any, index: int, count: int) -> None:
        self._strategy = strategy
        self.index, self.count = index, count
        self.is_chief = index == 0

    def gather(self, values: Any) -> Any:
        """Return the tensors of all workers, in their order, joined along the first axis; each has as many rows."""
        import tensorflow as tf

        found = self._run(lambda context, given: context.all_gather(given, axis=0), values)
        return tf.ensure_shape(found, [self.count * values.shape[0], *values.shape[1:]])

    def add(self, values: Sequence[Any]) -> list[Any]:
        """Return the sums of tensors over all workers, float32, in one message."""
        import tensorflow as tf

        flat = tf.concat([tf.reshape(value, [-1]) for value in values], 0)
        total = self._run(lambda context, given: context.all_reduce(tf.distribute.ReduceOp.SUM, given), flat)
        parts = tf.split(total, [value.shape.num_elements() for value in values])
        return [tf.reshape(part, value.shape) for part, value in zip(parts, values, strict=True)]

    def of_chief(self, values: Sequence[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        """Return the arrays of the chief on every worker; the others' give shapes and types. Integers below 2**24 are exact."""
        with self.watched():
            sent = [np.asarray(value, np.float32) * np.float32(self.is_chief) for value in values]
            import tensorflow as tf

            found = tf.function(self.add, autograph=False)([tf.constant(value) for value in sent])
            return [np.asarray(one).astype(value.dtype) for one, value in zip(found, values, strict=True)]

    def bytes_of_chief(self, content: bytes) -> bytes:
        """Return the bytes of the chief on every worker; what the others pass plays no role."""
        (sizes,) = self.of_chief([np.array(divmod(len(content), _EXACT), np.int64)])
        size = int(sizes[0]) * _EXACT + int(sizes[1])
        if not size:
            return b""
        given = np.frombuffer(content, np.uint8) if self.is_chief else np.zeros(size, np.uint8)
        return self.of_chief([given])[0].tobytes()

    def agree(self, what: str, value: object) -> None:
        """Refuse to go on unless all workers have the same value.

        Raises:
            RetvecLiteError: naming `what` differs.
        """
        import hashlib

        import tensorflow as tf

        digest = hashlib.sha256(repr(value).encode()).digest()[:6]
        with self.watched():
            value_of = tf.constant([int.from_bytes(digest, "little")], tf.int64)
            found = np.asarray(tf.function(self.gather, autograph=False)(value_of))
        if len(set(found.tolist())) > 1:
            raise RetvecLiteError(
                f"The workers have different {what}. Start all of them with the same command and files."
            )

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Turn the death of another worker, which ends the block, into one sentence."""
        import tensorflow as tf

        try:
            yield
        except (
            tf.errors.UnavailableError,
            tf.errors.InternalError,
            tf.errors.AbortedError,
            tf.errors.CancelledError,
            tf.errors.DeadlineExceededError,
            tf.errors.FailedPreconditionError,
        ) as error:
            raise RetvecLiteError(
                "Another worker is gone. Start all workers again with the same command: they go on from the last checkpoint."
            ) from error

    def _run(self, operation: Any, values: Any) -> Any:
        import tensorflow as tf

        def on_worker(given: Any) -> Any:
            # A copy made here is on a device that the strategy knows; inside a graph, what is passed in has none.
            return operation(tf.distribute.get_replica_context(), tf.identity(given))

        return self._strategy.run(on_worker, args=(values,))


def _config() -> tuple[list[str], int]:
    """Return the addresses of the workers, the chief first, and the place of this one among them."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return [""], 0
    try:
        found = json.loads(text)
        given = _object(found, "the whole")
        cluster = _object(given.get("cluster") or {}, "cluster")
        task = _object(given.get("task") or {"type": "worker", "index": 0}, "task")
        if any(kind not in _KINDS for kind in (*cluster, task.get("type"))):
            raise ValueError(f"only {' and '.join(_KINDS)} are known")
        addresses = {kind: _addresses(cluster.get(kind, [])) for kind in _KINDS}
        workers = [address for kind in _KINDS for address in addresses[kind]] or [""]
        if len(workers) > 1 and not given.get("task"):
            raise ValueError("task is missing")
        own = task.get("index")
        if not isinstance(own, int) or not 0 <= own < (len(addresses[task["type"]]) or workers == [""]):
            raise ValueError(f"there is no {task['type']} {own}")
        index = own + (len(addresses["chief"]) if task["type"] == "worker" else 0)
    except ValueError as error:
        raise RetvecLiteError(
            f"{VARIABLE} is not valid ({_sentence(error)}): expected "
            '{"cluster": {"worker": ["host:port", ...]}, "task": {"type": "worker", "index": 0}}.'
        ) from error
    return workers, index


def _object(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no JSON object")
    return value


def _addresses(value: object) -> list[str]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is no list of addresses")
    for address in value:
        if not isinstance(address, str) or not re.fullmatch(r".+:[0-9]+", address):
            raise ValueError(f"{address!r} is no host:port")
    return value


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")
