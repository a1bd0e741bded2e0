"""Worker processes: an isolated Python that runs functions for this process, which trusts nothing that it answers.

Both sides send messages that begin with their length. This process sends pickles, which only the worker reads; the worker answers
with bytes, which whoever asked checks. A worker ends when its input does, so it never outlives this process.
"""

import contextlib
import importlib.util
import os
import pickle
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import IO, Any, Final

from retvec_lite.errors import RetvecLiteError

_PACKAGES: Final = ("retvec_lite", "numpy", "ai_edge_litert", "tflite_runtime", "pyarrow")
"""What a worker imports."""

_SIZE: Final = struct.Struct("<I")
_LONGEST: Final = (1 << 32) - 1

_MESSAGE_LIMIT: Final = 2000
"""Longest error message that is read, in bytes."""

_ANSWERED, _REFUSED = b"\0", b"\1"
"""First byte of an answer: what the function returned follows, or the message of its error."""


class WorkerFailed(Exception):
    """A worker gave no right answer; the message tells why, such as "crashed with signal 11"."""


class Worker:
    """A process that runs one function after the other."""

    def __init__(self) -> None:
        self._start()

    def restart(self) -> None:
        """Start another process in the place of one that failed."""
        self.stop()
        self._start()

    def _start(self) -> None:
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
        """Run a function of a module in the process. After an error it must not be asked again.

        Args:
            function: what to run.
            arguments: anything that can be pickled.
            timeout: seconds; None for any number.
            size: bytes that it must return; None for any number.

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
    """Return the next message; nothing at the end, or when it is longer than the limit."""
    head = pipe.read(_SIZE.size)
    if len(head) < _SIZE.size:
        return b""
    (size,) = _SIZE.unpack(head)
    return pipe.read(size) if size <= limit else b""


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
