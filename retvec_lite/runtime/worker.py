"""Worker processes: an isolated Python that runs functions for this process, which trusts nothing that it answers.

A file that crashes the runtime, or keeps it busy for ever, is an error where it runs in one. Both sides send messages that begin with their length. This process sends pickles, which only the worker reads; the worker answers
with bytes, which whoever asked checks. A worker ends when its input does, so it never outlives this process.
"""

import contextlib
import functools
import importlib.util
import io
import os
import pickle
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.meaning import DIMENSION
from retvec_lite.runtime import onnx_file
from retvec_lite.runtime.artifact import Artifact
from retvec_lite.runtime.interpreters import RUNTIMES, Engine, import_runtime
from retvec_lite.runtime.native import NativeEngine, Texts

_PACKAGES: Final = ("retvec_lite", "numpy", "pyarrow", *RUNTIMES.values(), onnx_file.RUNTIME)
"""What a worker imports."""

_SIZE: Final = struct.Struct("<I")
_LONGEST: Final = (1 << 32) - 1

_MESSAGE_LIMIT: Final = 2000
"""Longest error message that is read, in bytes."""

_ANSWERED, _REFUSED = b"\0", b"\1"
"""First byte of an answer: what the function returned follows, or the message of its error."""

TIMEOUT: Final = 60.0
"""Seconds for one answer, and for loading the file."""

MEMORY: Final = 128 << 20
"""Bytes of data that a worker may hold on Linux. Python, NumPy and the runtime with a classifier of 64 words hold 30 MB; code
and the rest, up to 60 MB, are not counted."""

_JOB_TIMEOUT: Final = 600.0
"""Seconds for one job of `run_models`; a runtime that needs longer hangs."""

_STACK: Final = 8 << 20
"""Bytes of data that each further thread takes."""

_TEXTS: Final = 256
_BYTES: Final = 4 << 20
"""Most texts of one request, and most bytes of its answer: a worker has little memory, and a limit of time."""

_ADVICE: Final = "Do not use this file, or export it again."

_engine: Engine | NativeEngine | None = None
"""In a worker process: the file that it has loaded."""


class WorkerFailed(Exception):
    """A worker gave no right answer; the message tells why, such as "crashed with signal 11"."""


class Worker:
    """A process that runs one function after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            worker_command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # NumPy's threads, which the worker does not need, would take memory.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is for this process
        )
        self.stop = weakref.finalize(self, _stop, self._process, os.getpid())
        """End the process."""

    def ask(
        self, function: Callable[..., bytes], *arguments: Any, timeout: float | None = None, size: int | None = None
    ) -> bytes:
        """Run a function of a module, with arguments that can be pickled. After an error the worker must not be asked again.

        It must answer within `timeout` seconds, with `size` bytes; None allows any number.

        Raises:
            RetvecLiteError: with the message of what the function raised.
            WorkerFailed: when there is no answer in time, one of another size, or the process ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self._process.kill()

        timer = threading.Timer(timeout or 0.0, expire)
        if timeout is not None:
            timer.start()
        try:
            with contextlib.suppress(OSError):  # the process has ended: there is no answer to read
                _write(self._process.stdin, pickle.dumps((function, arguments)))
            answer = _read(self._process.stdout, _LONGEST if size is None else max(1 + size, _MESSAGE_LIMIT))
        finally:
            timer.cancel()
        if answer[:1] == _REFUSED:
            raise RetvecLiteError(" ".join(answer[1:].decode("utf-8", "replace").split()))
        if answer[:1] != _ANSWERED or size not in (None, len(answer) - 1):
            raise WorkerFailed(f"gave no answer within {timeout:g} seconds" if expired.is_set() else self._ending())
        return answer[1:]

    def _ending(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(timeout=1)
            return f"crashed with signal {-code}" if code < 0 else f"stopped with exit code {code}"
        return "gave a malformed answer"


def worker_command() -> list[str]:
    """Return the command of a worker.

    `-I` keeps the current folder, PYTHONPATH and the user's site-packages out of `sys.path`: `retvec-lite verify` must not
    run a `numpy.py` that lies beside the model. Packages that this process found outside site-packages are appended, where
    they cannot replace any other module.
    """
    specs = map(importlib.util.find_spec, _PACKAGES)
    folders = [os.path.dirname(place) for spec in specs if spec for place in spec.submodule_search_locations or ()]
    code = (
        f"import sys; sys.path += {list(dict.fromkeys(map(os.path.abspath, folders)))!a}; "
        f"from {__name__} import _serve; _serve()"
    )
    return [sys.executable, "-I", "-X", "utf8", "-c", code]


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
    """Return the next message; nothing at the end, when it is longer than the limit, or when the process ended within it."""
    head = pipe.read(_SIZE.size)
    if len(head) < _SIZE.size:
        return b""
    (size,) = _SIZE.unpack(head)
    message = pipe.read(size) if size <= limit else b""
    return message if len(message) == size else b""


def _serve() -> None:
    """Run functions until standard input ends, in the worker process."""
    answers = os.fdopen(os.dup(1), "wb")
    # What functions may print must not get among the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    while request := _read(sys.stdin.buffer, _LONGEST):
        try:
            function, arguments = pickle.loads(request)
            answer = _ANSWERED + function(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other process must hear of it
            message = str(error) if isinstance(error, RetvecLiteError) else repr(error)
            answer = _REFUSED + message.encode("utf-8", "backslashreplace")[: _MESSAGE_LIMIT - 1]
        _write(answers, answer)


class IsolatedEngine:
    """Like `Engine` or `NativeEngine`, in a worker process that this one does not trust: it reads numbers of known size from it, no objects.

    The worker starts with the engine, and again with the next text after a crash. It ends with the engine.
    """

    def __init__(self, artifact: Artifact, num_threads: int, runtime: str) -> None:
        """Start the worker and let it load the file; raises RetvecLiteError when that fails, hangs or takes too much memory."""
        self._num_threads, self._runtime = num_threads, runtime
        self._worker: Worker | None = None
        self.load(artifact)

    def load(self, artifact: Artifact) -> None:
        """Load a file in place of the one before, in the same worker if it is still there; raises as when the engine is made."""
        self.artifact = artifact
        self._worker = self._worker or Worker()
        self._ask(self._worker, 0, _load, artifact, self._num_threads, self._runtime)

    def probabilities(self, texts: Texts) -> Floats:
        """Return the probabilities, float32 `[texts, classes]`."""
        return self._floats("probabilities", texts, len(self.artifact.labels))

    def embeddings(self, texts: Texts) -> Floats:
        """Return the embeddings of texts, float32 `[texts, dimension]`. The file must have the signature `embed`."""
        return self._floats("embeddings", texts, self.artifact.dimensions[0])

    def meanings(self, texts: Texts) -> Floats:
        """Return what the words of texts mean, float32 `[texts, 64]`, of a `.retvec`."""
        return self._floats("meanings", texts, DIMENSION)

    def words(self, texts: Texts) -> tuple[Ints, Floats]:
        """Return the slots, int32 `[texts, max_words, word_length]`, and their embeddings, float32 `[texts, max_words, dimension]`."""
        config, of_words = self.artifact.config, self.artifact.dimensions[1]
        slots, embeddings = [], []
        for count, content in self._answers("words", texts, config.max_words * (config.word_length + of_words)):
            slots.append(np.frombuffer(content, "<i4", count * config.max_words * config.word_length))
            embeddings.append(np.frombuffer(content, "<f4", offset=slots[-1].nbytes))
        return (
            np.concatenate(slots).reshape(len(texts), config.max_words, config.word_length),
            np.concatenate(embeddings).reshape(len(texts), config.max_words, of_words),
        )

    def _floats(self, method: str, texts: Texts, width: int) -> Floats:
        found = np.frombuffer(b"".join(content for _, content in self._answers(method, texts, width)), "<f4")
        if not np.isfinite(found).all():
            raise RetvecLiteError(f"{self.artifact.path} answers with NaN or infinity. {_ADVICE}")
        return found.reshape(len(texts), width)

    def _answers(self, method: str, texts: Texts, width: int) -> Iterator[tuple[int, bytes]]:
        """Yield how many texts were asked at once, and their answers: `width` numbers a text."""
        together = max(1, min(_TEXTS, _BYTES // (4 * max(1, width))))
        for start in range(0, len(texts), together):
            part = texts[start : start + together]
            yield len(part), self._request(4 * len(part) * width, _numbers_of, method, part)

    def _request(self, size: int, *request: object) -> bytes:
        """Return `size` bytes from the worker, which is started again where it has ended."""
        if self._worker is None:
            self.load(self.artifact)
        assert self._worker is not None
        return self._ask(self._worker, size, *request)

    def _ask(self, worker: Worker, size: int, *request: object) -> bytes:
        try:
            return worker.ask(*request, timeout=TIMEOUT, size=size)  # type: ignore[arg-type]
        except BaseException as error:
            # Whatever happened, the next answer must belong to the next request.
            self._worker = None
            worker.stop()
            if isinstance(error, WorkerFailed):
                problem = f"{self._runtime} {error} while it ran {self.artifact.path}"
                raise RetvecLiteError(f"{problem}. {_ADVICE}") from error
            raise


def _load(artifact: Artifact, num_threads: int, runtime: str) -> bytes:
    """Load the file in the worker process."""
    global _engine  # noqa: PLW0603 - what the process is for
    _engine = None  # before the next one takes memory
    interpreter_class = None if artifact.is_native else import_runtime(runtime)[1]
    if sys.platform == "linux":
        import resource

        limit = MEMORY + (num_threads - 1) * _STACK
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with _explained():
        _engine = (
            NativeEngine(artifact)
            if interpreter_class is None
            else Engine(interpreter_class, artifact, num_threads, runtime)
        )
    return b""


def _numbers_of(method: str, texts: Texts) -> bytes:
    """Return what a method of the engine answers to texts, in the worker process."""
    with _explained():
        found = getattr(_engine, method)(texts)
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


class Job(NamedTuple):
    """Work for `run_models`.

    Attributes:
        model: a flatbuffer, or for ONNX Runtime a `ModelProto`.
        rows: its inputs, int32 `[texts, max_chars]`.
        signature: the signature to call; None runs the first graph.
    """

    model: bytes
    rows: npt.NDArray[np.int32]
    signature: str | None = None


def run_models(runtime: str, jobs: Sequence[Job]) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Run models on a runtime, LiteRT's or ONNX Runtime, in one new process, row by row on one thread.

    A graph must have one input; a signature must call it `codepoints`.

    Yields:
        For each job, the values of each output, stacked to `[texts, ...]`. The keys are the names in the signature, or
        those in the graph.

    Raises:
        RetvecLiteError: when the runtime is missing, refuses a model, fails, crashes or hangs.
    """
    worker = Worker()
    try:
        for job in jobs:
            answer = worker.ask(_run, runtime, job, timeout=_JOB_TIMEOUT)
            with np.load(io.BytesIO(answer), allow_pickle=False) as outputs:
                yield {name: outputs[name] for name in outputs.files}
    except WorkerFailed as error:
        raise RetvecLiteError(f"{runtime} {error} while it ran the model.") from error
    finally:
        worker.stop()


def _run(runtime: str, job: Job) -> bytes:
    """Run one job in the worker process; return its outputs as an .npz file."""
    opened = _session if runtime == onnx_file.RUNTIME else functools.partial(_interpreter, import_runtime(runtime)[1])
    try:
        run = opened(job)
        answers = [run(row[None]) for row in job.rows]
    except Exception as error:  # those of ONNX Runtime have no class in common
        raise RetvecLiteError(f"{runtime} cannot run the model: {reason(error)}.") from error
    outputs = io.BytesIO()
    np.savez(outputs, **{name: np.stack([answer[name][0] for answer in answers]) for name in answers[0]})
    return outputs.getvalue()


def _session(job: Job) -> Callable[[Ints], dict[str, Any]]:
    session = onnx_file.open_session(job.model, 1)
    (given,), names = session.get_inputs(), [output.name for output in session.get_outputs()]
    return lambda row: dict(zip(names, session.run(None, {given.name: row}), strict=True))


def _interpreter(interpreter_class: Any, job: Job) -> Callable[[Ints], dict[str, Any]]:
    interpreter = interpreter_class(model_content=job.model, num_threads=1)
    # Needed before the call of a signature as well; see `Engine`.
    interpreter.allocate_tensors()
    if job.signature:
        runner = interpreter.get_signature_runner(job.signature)
        return lambda row: dict(runner(codepoints=row))
    place = interpreter.get_input_details()[0]["index"]
    # By name, because runtimes order the outputs differently.
    outputs = {detail["name"]: detail["index"] for detail in interpreter.get_output_details()}

    def run(row: Ints) -> dict[str, Any]:
        interpreter.set_tensor(place, row)
        interpreter.invoke()
        return {name: interpreter.get_tensor(index) for name, index in outputs.items()}

    return run
