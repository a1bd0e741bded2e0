"""Run an exported file in a worker process: a file that crashes the runtime, or keeps it busy for ever, is an error."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import EMBED, Artifact
from retvec_lite.runtime.interpreters import Engine, import_runtime
from retvec_lite.runtime.worker import Worker, WorkerFailed

TIMEOUT: Final = 60.0
"""Seconds for one answer, and for loading the file."""

MEMORY: Final = 128 << 20
"""Bytes of data that a worker may hold on Linux. Python, NumPy and the runtime with a classifier of 64 words hold 30 MB; code
and the rest, up to 60 MB, are not counted."""

_STACK: Final = 8 << 20
"""Bytes of data that each further thread takes."""

_ADVICE: Final = "Do not use this file, or export it again."

_engine: Engine | None = None
"""In a worker process: the file that it has loaded."""


class IsolatedEngine:
    """Like `Engine`, in a worker process that this one does not trust: it reads numbers of known size from it, no objects.

    The worker starts with the engine, and again with the next text after a crash. It ends with the engine.
    """

    def __init__(self, artifact: Artifact, num_threads: int, runtime: str) -> None:
        """Start the worker and let it load the file; arguments as for `Engine`.

        Raises:
            RetvecLiteError: when the runtime is missing or cannot run the file, crashes, hangs or takes too much memory.
        """
        self._num_threads, self._runtime = num_threads, runtime
        self._worker: Worker | None = None
        self.load(artifact)

    def load(self, artifact: Artifact) -> None:
        """Load a file in place of the one before, in the same worker if it is still there; raises as when the engine is made."""
        self._artifact = artifact
        self._worker = self._worker or Worker()
        self._ask(self._worker, 0, _load, artifact, self._num_threads, self._runtime)

    def probabilities(self, text: str) -> Floats:
        """Return the probabilities, float32 `[classes]`."""
        found = np.frombuffer(self._answer("probabilities", text, 4 * len(self._artifact.labels)), "<f4")
        if not np.isfinite(found).all():
            raise RetvecLiteError(f"{self._artifact.path} answers with NaN or infinity. {_ADVICE}")
        return found

    def embedding(self, text: str) -> Floats:
        """Return the embedding of the text, float32 `[dimension]`. The file must have the signature `embed`."""
        return np.frombuffer(self._answer("embedding", text, 4 * self._dimension()), "<f4")

    def words(self, text: str) -> tuple[Ints, Floats]:
        """Return the slots, int32 `[max_words, word_length]`, and their embeddings, float32 `[max_words, dimension]`."""
        slots, length = self._artifact.config.max_words, self._artifact.config.word_length
        content = self._answer("words", text, 4 * slots * (length + self._dimension()))
        words = np.frombuffer(content, "<i4", slots * length).reshape(slots, length)
        return words, np.frombuffer(content, "<f4", offset=words.nbytes).reshape(slots, -1)

    def _dimension(self) -> int:
        return next(found.dimension or 0 for found in self._artifact.signatures if found.kind == EMBED)

    def _answer(self, method: str, text: str, size: int) -> bytes:
        """Return `size` bytes of numbers for a text."""
        if self._worker is None:
            self.load(self._artifact)
        assert self._worker is not None
        return self._ask(self._worker, size, _numbers, method, text[: self._artifact.config.max_chars])

    def _ask(self, worker: Worker, size: int, *request: object) -> bytes:
        try:
            return worker.ask(*request, timeout=TIMEOUT, size=size)  # type: ignore[arg-type]
        except BaseException as error:
            # Whatever happened, the next answer must belong to the next request.
            self._worker = None
            worker.stop()
            if isinstance(error, WorkerFailed):
                problem = f"{self._runtime} {error} while it ran {self._artifact.path}"
                raise RetvecLiteError(f"{problem}. {_ADVICE}") from error
            raise


def _load(artifact: Artifact, num_threads: int, runtime: str) -> bytes:
    """Load the file in the worker process."""
    global _engine  # noqa: PLW0603 - what the process is for
    _engine = None  # before the next one takes memory
    _, interpreter_class = import_runtime(runtime)
    if sys.platform == "linux":
        import resource

        limit = MEMORY + (num_threads - 1) * _STACK
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with _explained():
        _engine = Engine(interpreter_class, artifact, num_threads, runtime)
    return b""


def _numbers(method: str, text: str) -> bytes:
    """Return what a method of the engine answers to a text, in the worker process."""
    with _explained():
        found = getattr(_engine, method)(text)
    return b"".join(part.tobytes() for part in (found if isinstance(found, tuple) else (found,)))


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Turn whatever a model makes the runtime raise into one sentence."""
    try:
        yield
    except RetvecLiteError:
        raise
    except MemoryError as error:
        raise RetvecLiteError(f"The model needs more than {MEMORY >> 20} MB. {_ADVICE}") from error
    except Exception as error:
        raise RetvecLiteError(f"The model cannot run: {error!r}. {_ADVICE}") from error
