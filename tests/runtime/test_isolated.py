"""`isolated=True`: the same answers from a worker process, whose crash, silence or hunger is an error here."""

import gc
import hashlib
import os
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from light import loaded_after
from patience import PATIENCE
from tiny_artifact import MODEL, tiny_artifact, tiny_signatures_artifact

import retvec_lite as rl
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime import worker
from retvec_lite.runtime.worker import IsolatedEngine

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the data of a process")

TEXTS = ["12 A", "", "AB", "\ud800\0 1", "x" * 500] * 30


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(tiny_signatures_artifact())
    return path


def worker_of(classifier: rl.Classifier) -> "subprocess.Popen[bytes]":
    """The process behind a classifier that has only one."""
    with classifier._runner._engines.borrow() as engine:
        assert isinstance(engine, IsolatedEngine) and engine._worker is not None
        return engine._worker._process


def test_the_answers_are_the_same(path: Path, runtime: str) -> None:
    here = rl.load(path)
    there = rl.load(path, runtime=runtime, workers=2, isolated=True)
    np.testing.assert_allclose(there.probabilities(TEXTS), here.probabilities(TEXTS), atol=1e-6)
    np.testing.assert_allclose(there.embed(TEXTS[:5]), here.embed(TEXTS[:5]), atol=1e-6)
    words, embeddings = there.embed_words("ab c")
    assert words == here.embed_words("ab c")[0]
    np.testing.assert_allclose(embeddings, here.embed_words("ab c")[1], atol=1e-6)


def test_this_process_loads_no_runtime(path: Path) -> None:
    code = f"import retvec_lite; retvec_lite.load({str(path)!r}, isolated=True).predict('a')"
    assert loaded_after(code) == []


def test_a_file_that_the_runtime_refuses_is_one_sentence(tmp_path: Path, runtime: str) -> None:
    model = b"\0\0\0\0TFL3 but nothing else"
    path = tmp_path / "bad.tflite"
    path.write_bytes(tiny_artifact(model=model, model_sha256=hashlib.sha256(model).hexdigest()))
    with pytest.raises(RetvecLiteError, match=rf"^{runtime} cannot run .*bad\.tflite, which needs "):
        rl.load(path, runtime=runtime, isolated=True)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals that kill")
def test_a_crash_is_an_error_and_the_next_text_is_answered(path: Path) -> None:
    classifier = rl.load(path, isolated=True)
    expected = classifier.probabilities(TEXTS[:3])
    worker_of(classifier).send_signal(signal.SIGSEGV)
    with pytest.raises(
        RetvecLiteError, match=rf"crashed with signal {int(signal.SIGSEGV)} while it ran .*tiny\.tflite"
    ):
        classifier.predict("12")
    np.testing.assert_array_equal(classifier.probabilities(TEXTS[:3]), expected)


@pytest.mark.parametrize(
    ("place", "value", "old_runtime"),
    [
        pytest.param(500, 2**31 - 1, "crashed with signal 11", id="crash"),
        pytest.param(1168, 1, "needs more than 128 MB", id="memory", marks=needs_linux),
        pytest.param(1400, 2**31 - 1, "utf-8", id="name"),
    ],
)
def test_a_crafted_model_is_an_error(tmp_path: Path, runtime: str, place: int, value: int, old_runtime: str) -> None:
    """An integer of the graph is changed and the checksum mended, as only a person would; LiteRT checks more of them."""
    model = MODEL[:place] + struct.pack("<i", value) + MODEL[place + 4 :]
    path = tmp_path / "crafted.tflite"
    path.write_bytes(tiny_artifact(model=model, model_sha256=hashlib.sha256(model).hexdigest()))
    with pytest.raises(RetvecLiteError, match=old_runtime if runtime == "tflite-runtime" else "crafted") as caught:
        rl.load(path, runtime=runtime, isolated=True).predict("12 A")
    assert "\n" not in str(caught.value)


def test_what_a_runtime_raises_while_it_runs_is_one_sentence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = rl.load(path)

    def fail(**_: object) -> None:
        raise RuntimeError("scatter_nd index out of bounds\nNode number 30 failed to invoke.")

    with classifier._runner._engines.borrow() as engine:
        monkeypatch.setattr(engine, "_classify", fail)
    with pytest.raises(
        RetvecLiteError, match=r"failed while it ran .*tiny\.tflite: scatter_nd index out of bounds Node"
    ):
        classifier.predict("12")


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot stop a process for a while")
def test_silence_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = rl.load(path, isolated=True)
    monkeypatch.setattr(worker, "TIMEOUT", 0.3)
    worker_of(classifier).send_signal(signal.SIGSTOP)
    with pytest.raises(RetvecLiteError, match=r"gave no answer within 0\.3 seconds"):
        classifier.predict("12")
    monkeypatch.undo()
    assert classifier.predict("12", top=1)[0].label == "digits"


@pytest.mark.parametrize(
    "answer",
    [b"", b"\1\0", b"\xff\xff\xff\xff" + bytes(100), b"\4\0\0\0\0ab?", b"\1\0\0\0\2", b"\5\0\0\0\0\0\0\0\0"],
    ids=["nothing", "half a length", "4 GB", "too short", "unknown", "one number"],
)
def test_what_a_worker_should_not_say_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    """A model that took over its worker can write what it likes."""
    classifier = rl.load(path, isolated=True)
    code = f"import sys, time; sys.stdin.buffer.read(8); sys.stdout.buffer.write({answer!r}); sys.stdout.flush()"
    with monkeypatch.context() as patch:
        patch.setattr(worker, "worker_command", lambda: [sys.executable, "-c", code])
        with pytest.raises(RetvecLiteError, match=r"malformed answer|exit code 0"):
            rl.load(path, isolated=True)
    assert classifier.predict("12", top=1)[0].label == "digits"


def test_numbers_that_are_none_are_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = rl.load(path, isolated=True)
    nan = np.full(3, np.nan, "<f4").tobytes()
    monkeypatch.setattr(IsolatedEngine, "_request", lambda *_: nan)
    with pytest.raises(RetvecLiteError, match="answers with NaN or infinity"):
        classifier.predict("12")


@needs_linux
def test_a_worker_cannot_take_all_memory(path: Path) -> None:
    classifier = rl.load(path, isolated=True)
    limits = Path(f"/proc/{worker_of(classifier).pid}/limits").read_text(encoding="utf-8")
    (line,) = [line for line in limits.splitlines() if line.startswith("Max data size")]
    assert line.split()[3:5] == [str(worker.MEMORY)] * 2


def test_the_worker_ends_with_its_classifier_and_not_with_a_thread(path: Path) -> None:
    classifier = rl.load(path, isolated=True)
    worker = worker_of(classifier)
    thread = threading.Thread(target=classifier.predict, args=("12",))
    thread.start()
    thread.join()
    assert worker.poll() is None
    del classifier
    gc.collect()
    assert worker.wait(timeout=PATIENCE) != 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
def test_a_forked_child_leaves_the_parents_worker_alone(path: Path) -> None:
    code = """
import os, sys, retvec_lite
classifier = retvec_lite.load(sys.argv[1], isolated=True)
child = os.fork()
if child == 0:
    sys.exit(classifier.predict("12", top=1)[0].label != "digits")
assert os.waitpid(child, 0)[1] == 0
with classifier._runner._engines.borrow() as engine:
    assert engine._worker._process.poll() is None
print(classifier.predict("AB", top=1)[0].label)
"""
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert done.stdout == "CAPITALS\n", done.stderr
