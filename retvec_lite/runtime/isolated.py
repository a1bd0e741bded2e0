"""Run an exported file in a worker process: a file that crashes the runtime, or keeps it busy for ever, is an error."""

import contextlib
import os
import pickle
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import IO, Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import EMBED, Artifact
from retvec_lite.runtime.interpreters import Engine, import_runtime, one_line, worker_command

TIMEOUT: Final = 60.0
"""Seconds for one answer, and for loading the file."""

MEMORY: Final = 128 << 20
"""Bytes of data that a worker may hold on Linux. Python, NumPy and the runtime with a classifier of 64 words hold 30 MB; code
and the rest, up to 60 MB, are not counted."""

_STACK: Final = 8 << 20
"""Bytes of data that each further thread takes."""

_SIZE: Final = struct.Struct("<I")
"""The length of the message that follows it."""

_LOAD, _PROBABILITIES, _EMBEDDING, _WORDS = b"l", b"p", b"e", b"w"
"""First byte of a request: a pickled file follows, or a text."""

_MESSAGE_LIMIT: Final = 2000
"""Longest error message that is read, in bytes."""

_ADVICE: Final = "Do not use this file, or export it again."

_ANSWERED, _REFUSED = b"\0", b"\1"
"""First byte of an answer: numbers follow, or the message of an error."""


class IsolatedEngine:
    """Like `Engine`, in a worker process that this one does not trust: it reads numbers of known size from it, no objects.

    The worker starts with the engine, and again with the next text after a crash. It ends with the engine.
    """

    def __init__(self, artifact: Artifact, num_threads: int, runtime: str) -> None:
        """Start the worker and let it load the file.

        Args:
            artifact: the file.
            num_threads: threads per call.
            runtime: the distribution, `ai-edge-litert` or `tflite-runtime`.

        Raises:
            RetvecLiteError: when the runtime is missing or cannot run the file, crashes, hangs or takes too much memory.
        """
        self._num_threads, self._runtime = num_threads, runtime
        self._worker: _Worker | None = None
        self.load(artifact)

    def load(self, artifact: Artifact) -> None:
        """Load a file in place of the one before, in the same worker if it is still there.

        Raises:
            RetvecLiteError: as when the engine is made.
        """
        self._artifact = artifact
        # Only this process writes pickles, and only the worker reads them.
        self._ask(_LOAD + pickle.dumps((artifact, self._num_threads, self._runtime)), 0)

    def probabilities(self, text: str) -> Floats:
        """Return the probabilities, float32 `[classes]`."""
        found = np.frombuffer(self._answer(_PROBABILITIES, text, 4 * len(self._artifact.labels)), "<f4")
        if not np.isfinite(found).all():
            raise RetvecLiteError(f"{self._artifact.path} answers with NaN or infinity. {_ADVICE}")
        return found

    def embedding(self, text: str) -> Floats:
        """Return the embedding of the text, float32 `[dimension]`. The file must have the signature `embed`."""
        return np.frombuffer(self._answer(_EMBEDDING, text, 4 * self._dimension()), "<f4")

    def words(self, text: str) -> tuple[Ints, Floats]:
        """Return the slots, int32 `[max_words, word_length]`, and their embeddings, float32 `[max_words, dimension]`."""
        slots, length, dimension = (
            self._artifact.config.max_words,
            self._artifact.config.word_length,
            self._dimension(),
        )
        content = self._answer(_WORDS, text, 4 * slots * (length + dimension))
        words = np.frombuffer(content, "<i4", slots * length).reshape(slots, length)
        return words, np.frombuffer(content, "<f4", offset=words.nbytes).reshape(slots, dimension)

    def _dimension(self) -> int:
        return next(found.dimension or 0 for found in self._artifact.signatures if found.kind == EMBED)

    def _answer(self, kind: bytes, text: str, size: int) -> bytes:
        """Return `size` bytes of numbers for a text."""
        if self._worker is None:
            self.load(self._artifact)
        return self._ask(kind + text[: self._artifact.config.max_chars].encode("utf-8", "surrogatepass"), size)

    def _ask(self, request: bytes, size: int) -> bytes:
        """Return the numbers that answer a request, `size` bytes; raise what the worker reports instead."""
        worker = self._worker = self._worker or _Worker()
        try:
            answer = worker.ask(request, max(1 + size, _MESSAGE_LIMIT))
            if answer[:1] == _REFUSED:
                raise RetvecLiteError(one_line(answer[1:].decode("utf-8", "replace")))
            if answer[:1] != _ANSWERED or len(answer) != 1 + size:
                problem = f"{self._runtime} {worker.problem()} while it ran {self._artifact.path}"
                raise RetvecLiteError(f"{problem}. {_ADVICE}")
        except BaseException:
            # Whatever happened, the next answer must belong to the next request.
            self._worker = None
            worker.stop()
            raise
        return answer[1:]


class _Worker:
    """A process that answers each message with one message."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            worker_command(worker_main, ()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # NumPy's threads, which the worker does not need, would take memory.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is for this process; the worker ends when its input does
        )
        self._timed_out = False
        self.stop = weakref.finalize(self, _stop, self._process, os.getpid())
        """End the process."""

    def ask(self, message: bytes, limit: int) -> bytes:
        """Return the answer to a message; nothing for none in time, one above the limit, or a process that ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(TIMEOUT, self._expire)
        timer.start()
        try:
            _write(self._process.stdin, message)
            return _read(self._process.stdout, limit)
        except OSError:
            return b""
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self._timed_out = True
        self._process.kill()

    def problem(self) -> str:
        """Return why there was no right answer."""
        if self._timed_out:
            return f"gave no answer within {TIMEOUT:g} seconds"
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(timeout=1)
            return f"crashed with signal {-code}" if code < 0 else f"stopped with exit code {code}"
        return "gave a malformed answer"


def _stop(process: "subprocess.Popen[bytes]", owner: int) -> None:
    """End a worker; does nothing in a child that `fork()` gave a copy of it."""
    if os.getpid() != owner:
        return
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # a message that could not be sent
                pipe.close()


def _write(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_SIZE.pack(len(message)) + message)
    pipe.flush()


def _read(pipe: IO[bytes], limit: int) -> bytes:
    """Return the next message; nothing at the end, or when it is longer than the limit."""
    head = pipe.read(_SIZE.size)
    if len(head) < _SIZE.size:
        return b""
    (size,) = _SIZE.unpack(head)
    return pipe.read(size) if size <= limit else b""


def worker_main(_: Sequence[str]) -> int:
    """Load the file and answer texts until standard input ends, in the worker process."""
    answers = os.fdopen(os.dup(1), "wb")
    # What the runtime may print must not get among the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    requests = sys.stdin.buffer
    engine: Engine | None = None
    while request := _read(requests, 1 << 31):
        kind, content = request[:1], request[1:]
        try:
            if kind == _LOAD:
                engine = None  # before the next one takes memory
                engine, numbers = _load(content), b""
            else:
                assert engine is not None
                numbers = _numbers(engine, kind, content.decode("utf-8", "surrogatepass"))
            answer = _ANSWERED + numbers
        except Exception as error:  # noqa: BLE001 - whatever it is, the other process must hear of it
            answer = _REFUSED + _message(error).encode("utf-8", "backslashreplace")[: _MESSAGE_LIMIT - 1]
        _write(answers, answer)
    return 0


def _load(task: bytes) -> Engine:
    artifact, num_threads, runtime = pickle.loads(task)
    _, interpreter_class = import_runtime(runtime)
    if sys.platform == "linux":
        import resource

        limit = MEMORY + (num_threads - 1) * _STACK
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return Engine(interpreter_class, artifact, num_threads, runtime)


def _numbers(engine: Engine, kind: bytes, text: str) -> bytes:
    if kind == _PROBABILITIES:
        return engine.probabilities(text).tobytes()
    if kind == _EMBEDDING:
        return engine.embedding(text).tobytes()
    return b"".join(part.tobytes() for part in engine.words(text))


def _message(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"The model needs more than {MEMORY >> 20} MB. {_ADVICE}"
    return str(error) if isinstance(error, RetvecLiteError) else f"The model cannot run: {error!r}. {_ADVICE}"
