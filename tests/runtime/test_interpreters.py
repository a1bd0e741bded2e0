"""Runtimes: the choice of one, and running models in a separate process."""

import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path

import few_edges
import numpy as np
import pytest
from exported import EXPORTED
from hypothesis import given
from hypothesis import strategies as st
from light import run_python
from tiny_artifact import MAX_CHARS, MODEL

import retvec_lite as rl
from retvec_lite import contract
from retvec_lite.contract import codepoint_rows
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime import interpreters
from retvec_lite.runtime.interpreters import RUNTIMES, installed_runtimes, silent_standard_error
from retvec_lite.runtime.worker import Job, run_models, worker_command

needs_litert = pytest.mark.skipif(
    importlib.util.find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)
needs_tflite_runtime = pytest.mark.skipif(
    importlib.util.find_spec("tflite_runtime") is None, reason="tflite-runtime is not installed (Linux, Python <= 3.11)"
)


@given(st.lists(st.text(st.characters(codec=None), max_size=50), max_size=6))
def test_rows_of_code_points_are_those_of_the_reference(texts: list[str]) -> None:
    rows = codepoint_rows(texts, 33)
    assert rows.shape == (len(texts), 33) and rows.dtype == np.int32
    for row, text in zip(rows, texts, strict=True):
        np.testing.assert_array_equal(row, contract.codepoints(text, 33))


# --- the choice of a runtime -----------------------------------------------------------------------------------------

CLASSIFY = "import sys, retvec_lite; c = retvec_lite.load(sys.argv[1], runtime={runtime!r}); "
REPORT = "print(c.runtime, c.predict('12 A')[0].label, sorted({'ai_edge_litert', 'tflite_runtime'} & set(sys.modules)))"


@needs_litert
@pytest.mark.parametrize("name", [None, "ai-edge-litert"])
def test_litert_is_chosen_first_and_alone(tiny_model: str, name: str | None) -> None:
    done = run_python(CLASSIFY.format(runtime=name) + REPORT, tiny_model)
    assert done.stdout == "ai-edge-litert digits ['ai_edge_litert']\n", done.stderr


@needs_tflite_runtime
def test_tflite_runtime_can_be_asked_for_and_gives_the_same(tiny_model: str) -> None:
    done = run_python(CLASSIFY.format(runtime="tflite-runtime") + REPORT, tiny_model)
    assert done.stdout == "tflite-runtime digits ['tflite_runtime']\n", done.stderr


@needs_tflite_runtime
def test_a_loaded_tflite_runtime_is_used_again(tiny_model: str) -> None:
    done = run_python("import tflite_runtime.interpreter; " + CLASSIFY.format(runtime=None) + REPORT, tiny_model)
    assert done.stdout == "tflite-runtime digits ['tflite_runtime']\n", done.stderr


@needs_litert
@needs_tflite_runtime
def test_two_runtimes_never_share_a_process(tiny_model: str) -> None:
    for first, second in (("ai-edge-litert", "tflite-runtime"), ("tflite-runtime", "ai-edge-litert")):
        code = CLASSIFY.format(runtime=first) + "retvec_lite.load(sys.argv[1], runtime=sys.argv[2])"
        done = run_python(code, tiny_model, second)
        assert f"{second} cannot be used in this process, because {first} is already loaded" in done.stderr


def test_no_runtime_at_all_gives_one_sentence(tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for package in interpreters.RUNTIMES.values():
        monkeypatch.delitem(sys.modules, package, raising=False)
    with pytest.raises(RetvecLiteError, match="pip install ai-edge-litert"):
        rl.load(tiny_model)
    with pytest.raises(RetvecLiteError, match="pip install tflite-runtime"):
        rl.load(tiny_model, runtime="tflite-runtime")


def test_installed_runtimes_are_listed_with_versions() -> None:
    found = installed_runtimes()
    assert found and set(found) <= set(interpreters.RUNTIMES) and all(found.values())


# --- the worker process --------------------------------------------------------------------------------------------------


def test_a_runtime_runs_in_its_own_process(runtime: str) -> None:
    was_loaded = RUNTIMES[runtime] in sys.modules
    rows = np.zeros((3, 32), np.int32)
    rows[1, :3] = [ord("1"), ord("2"), ord("3")]
    first, second = run_models(runtime, [Job(MODEL, rows), Job(MODEL, rows[::-1])])
    (name,) = first
    assert first[name].shape == (3, 3)
    np.testing.assert_array_equal(first[name], second[name][::-1])
    assert first[name][1].argmax() == 0
    assert (RUNTIMES[runtime] in sys.modules) == was_loaded


def test_a_model_that_a_runtime_refuses_is_one_sentence(runtime: str) -> None:
    with pytest.raises(RetvecLiteError, match=f"{runtime} cannot run the model: .+"):
        list(run_models(runtime, [Job(b"\0\0\0\0TFL3 but nothing else", np.zeros((1, 32), np.int32))]))


def test_an_unknown_runtime_is_one_sentence() -> None:
    with pytest.raises(RetvecLiteError, match="Unknown runtime 'tflite'"):
        list(run_models("tflite", [Job(MODEL, np.zeros((1, 32), np.int32))]))


HOSTILE = "from pathlib import Path; Path(__file__).with_name('executed').write_text(__name__); raise SystemExit(9)"


def hostile_folder(folder: Path) -> Path:
    """A folder whose modules leave a trace when they are imported, under every name that the worker imports early."""
    folder.mkdir()
    for name in ("numpy", "retvec_lite", *RUNTIMES.values(), "json", "os", "site", "sitecustomize", "usercustomize"):
        (folder / f"{name}.py").write_text(HOSTILE)
    return folder


def test_the_worker_imports_nothing_from_the_current_folder_or_the_environment(
    runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A received folder may hold a `numpy.py` beside the model."""
    current, environment = hostile_folder(tmp_path / "current"), hostile_folder(tmp_path / "environment")
    monkeypatch.chdir(current)
    monkeypatch.setenv("PYTHONPATH", str(environment))
    (answers,) = run_models(runtime, [Job(MODEL, np.zeros((1, MAX_CHARS), np.int32))])
    assert next(iter(answers.values())).shape == (1, 3)
    assert not list(tmp_path.rglob("executed"))


def test_the_hostile_folder_is_hostile(tmp_path: Path) -> None:
    """An ordinary Python started there does execute it."""
    folder = hostile_folder(tmp_path / "current")
    subprocess.run([sys.executable, "-m", "retvec_lite"], cwd=folder, capture_output=True, check=False)
    assert (folder / "executed").exists()


def test_the_worker_finds_a_package_outside_site_packages_but_prefers_those_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With PYTHONPATH or `pip install --user`, packages lie where an isolated Python does not look."""
    outside = tmp_path / "outside"
    (outside / "tflite_runtime").mkdir(parents=True)
    (outside / "tflite_runtime" / "__init__.py").touch()
    (outside / "numpy.py").write_text("raise SystemExit(9)")
    monkeypatch.syspath_prepend(outside)
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "tflite_runtime", raising=False)
    command = worker_command()
    code = command[command.index("-c") + 1]
    assert code.startswith("import sys; sys.path += [") and str(outside) in code
    command[command.index("-c") + 1] = (
        code.partition("from retvec_lite")[0] + "import numpy; print(sys.path, numpy.__file__)"
    )
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert repr(str(outside)) in done.stdout and not done.stdout.strip().endswith(f"{outside / 'numpy.py'}")


@pytest.mark.slow
def test_nothing_but_answers_is_written_from_training_to_prediction(tmp_path: Path) -> None:
    """In a notebook, what TensorFlow, coremltools and the runtimes tell everyone would stand in red below a call that went well."""
    code = (
        "import retvec_lite as rl\n"
        "from few_edges import use_few_edges\n"
        "use_few_edges()\n"
        "texts = [f'{word} {number}' for number in range(12) for word in ('wake me up at', 'play the song')]\n"
        "classifier = rl.train(texts, ['alarm', 'music'] * 12, epochs=1)\n"
        "classifier.export('dist', formats='all')\n"
        "for suffix in ('tflite', 'retvec', 'onnx'):\n"
        "    rl.load(f'dist/classifier-int8.{suffix}').predict(['wake me up', ''])\n"
    )
    usual = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    usual["PYTHONPATH"] = str(Path(few_edges.__file__).parent)
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=usual, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_loading_and_running_a_file_writes_nothing(runtime: str) -> None:
    if runtime not in installed_runtimes():
        pytest.skip(f"{runtime} is not installed")
    file = EXPORTED / "pool" / "classifier-int8.tflite"
    code = f"import retvec_lite as rl; rl.load({str(file)!r}, runtime={runtime!r}).predict(['wake me up', 'a ' * 99])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_threads_that_discard_standard_error_at_once_restore_it(capfd: pytest.CaptureFixture[str]) -> None:
    """Two that overlap: the second must not take the first one's nothing for what is to be restored."""
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))

    def first() -> None:
        with silent_standard_error():
            first_is_in.set()
            second_is_in.wait(0.5)
        first_is_out.set()

    def second() -> None:
        first_is_in.wait()
        with silent_standard_error():
            second_is_in.set()
            first_is_out.wait(0.5)

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(2, b"still there")
    assert capfd.readouterr().err == "still there"
