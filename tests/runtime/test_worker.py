"""Worker processes: what they answer, and each way not to."""

import os
import signal
import sys
import time

import pytest
from patience import PATIENCE

from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime import worker
from retvec_lite.runtime.worker import Worker, WorkerFailed


def test_functions_run_one_after_the_other_in_one_process() -> None:
    one = Worker()
    first, second = (one.ask(os.getcwdb), one.ask(bytes.upper, b"abc"))
    assert first == os.getcwdb() and second == b"ABC"
    assert one.ask(bytes, 70_000, timeout=PATIENCE, size=70_000) == bytes(70_000)


def test_an_error_comes_back_as_its_message() -> None:
    with pytest.raises(RetvecLiteError, match=r"^ValueError\('negative count'\)$"):
        Worker().ask(bytes, -1)
    with pytest.raises(RetvecLiteError, match=r"MemoryError|OverflowError"):
        Worker().ask(bytes, 1 << 62)


def test_what_is_printed_is_no_answer() -> None:
    with pytest.raises(RetvecLiteError, match="TypeError"):
        Worker().ask(print, "hello")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals that kill")
def test_a_crash_is_told_with_its_signal() -> None:
    one = Worker()
    with pytest.raises(WorkerFailed, match=f"crashed with signal {int(signal.SIGKILL)}"):
        one.ask(os.kill, one._process.pid, signal.SIGKILL)
    with pytest.raises(WorkerFailed, match="crashed with signal"):
        one.ask(os.getcwdb)


def test_an_exit_and_silence_are_told() -> None:
    with pytest.raises(WorkerFailed, match="stopped with exit code 3"):
        Worker().ask(os._exit, 3)
    with pytest.raises(WorkerFailed, match=r"gave no answer within 0\.2 seconds"):
        Worker().ask(time.sleep, 30, timeout=0.2)


def test_an_answer_of_another_size_is_malformed() -> None:
    with pytest.raises(WorkerFailed, match="gave a malformed answer"):
        Worker().ask(bytes, 5, size=4)


def test_a_python_that_cannot_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "worker_command", lambda: [sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(WorkerFailed, match="exit code 3"):
        Worker().ask(os.getcwdb)


def test_half_an_answer_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    half = (
        "import sys; sys.stdout.buffer.write(bytes([9, 0, 0, 0]) + bytes(4)); sys.stdout.flush(); raise SystemExit(3)"
    )
    monkeypatch.setattr(worker, "worker_command", lambda: [sys.executable, "-c", half])
    with pytest.raises(WorkerFailed, match="exit code 3"):
        Worker().ask(os.getcwdb)


def test_it_ends_with_its_owner() -> None:
    one = Worker()
    process = one._process
    assert one.ask(os.getcwdb)
    del one
    assert process.wait(timeout=PATIENCE) != 0
