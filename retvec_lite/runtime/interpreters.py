"""LiteRT runtimes: which are installed, loading one, and running models in a process of its own."""

import contextlib
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.errors import RetvecLiteError


@contextlib.contextmanager
def silent_standard_error() -> Iterator[None]:
    """Nothing reaches standard error meanwhile, not even from C++ code; exceptions pass as always."""
    if sys.stderr is not None:
        sys.stderr.flush()
    try:
        saved = os.dup(2)
    except OSError:  # standard error is closed: nobody to be spared
        yield
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nothing)


RUNTIMES: Final = {"ai-edge-litert": "ai_edge_litert", "tflite-runtime": "tflite_runtime"}
"""Distribution -> package of the runtimes that can run an artifact, in the order in which they are chosen."""


def installed_runtimes() -> dict[str, str]:
    """Distribution -> version of the runtimes that are installed, without importing any of them."""
    import importlib.metadata  # costs more than the rest of the imports of this module, NumPy aside

    return {
        name: importlib.metadata.version(name)
        for name, package in RUNTIMES.items()
        if importlib.util.find_spec(package) is not None
    }


def import_runtime(name: str | None = None) -> tuple[str, Any]:
    """Import the one runtime of this process.

    Args:
        name: the distribution, a key of `RUNTIMES`; by default the one that is already loaded, else the first that is
            installed.

    Returns:
        The distribution and its `Interpreter` class.

    Raises:
        RetvecLiteError: when it is not installed or broken, or when another runtime is loaded: the two would break
            each other.
    """
    if name is not None and name not in RUNTIMES:
        raise RetvecLiteError(f"Expected a runtime out of {', '.join(RUNTIMES)}, received {name!r}.")
    loaded = [other for other, package in RUNTIMES.items() if package in sys.modules]
    found = [other for other, package in RUNTIMES.items() if importlib.util.find_spec(package) is not None]
    choice = name or next(iter(loaded or found), None)
    if choice is None or choice not in found:
        raise RetvecLiteError(
            f"Expected {name or 'a LiteRT runtime'} to be installed, but it is not: "
            f"run `pip install {name or 'ai-edge-litert'}`."
        )
    # Two runtimes in one process break each other (DESIGN.md, section 2), TensorFlow counts as one for the old runtime.
    rivals = [other for other in loaded if other != choice]
    if choice == "tflite-runtime" and "tensorflow" in sys.modules:
        rivals.append("tensorflow")
    if rivals:
        raise RetvecLiteError(
            f"Expected {choice} to be alone in this process, but {rivals[0]} is loaded and the two break each other: "
            "use another process."
        )
    try:
        return choice, importlib.import_module(f"{RUNTIMES[choice]}.interpreter").Interpreter
    except ImportError as error:
        raise RetvecLiteError(f"Expected {choice} to work here, but it cannot be imported: {error}.") from error


def load_interpreter(runtime: str | None, model: str | os.PathLike[str], num_threads: int = 1) -> Any:
    """An allocated interpreter of any .tflite, for measuring; `TextClassifier` is what runs an exported one.

    Raises:
        RetvecLiteError: like `import_runtime`, and for a model that the runtime cannot run.
    """
    name, interpreter_class = import_runtime(runtime)
    try:
        interpreter = interpreter_class(model_path=os.fspath(model), num_threads=num_threads)
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        raise RetvecLiteError(f"Expected {name} to run {model}, received: {' '.join(str(error).split())}") from error
    return interpreter


_TIMEOUT: Final = 600
"""Seconds for all models; a runtime that needs longer hangs."""


class Job(NamedTuple):
    """A model, a flatbuffer; its rows, int32 `[texts, max_chars]`; the signature to call, or none for the first graph."""

    model: bytes
    rows: npt.NDArray[np.int32]
    signature: str | None = None


def run_models(runtime: str, jobs: Sequence[Job]) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Run models on a runtime, one row after the other, in one new process with one thread.

    Args:
        runtime: the distribution, `ai-edge-litert` or `tflite-runtime`.
        jobs: what to run. A graph has one input; a signature calls it `codepoints`.

    Yields:
        For each job the values of each output, stacked: `[texts, ...]`; by its name in the signature, or else in the graph.

    Raises:
        RetvecLiteError: when the runtime is missing, refuses a model, fails, crashes, or does not come to an end.
    """
    with tempfile.TemporaryDirectory(prefix="retvec-lite-") as name:
        folder = Path(name)
        command = [sys.executable, "-m", __name__, runtime]
        written: dict[bytes, Path] = {}
        for number, job in enumerate(jobs):
            if job.model not in written:
                written[job.model] = folder / f"{number}.tflite"
                written[job.model].write_bytes(job.model)
            source, target = (folder / f"{number}.{part}.npz" for part in ("input", "output"))
            np.savez(source, rows=job.rows)
            command += [str(written[job.model]), job.signature or "", str(source), str(target)]
        _run_worker(command, runtime)
        for number in range(len(jobs)):
            with np.load(folder / f"{number}.output.npz", allow_pickle=False) as outputs:
                yield {name: outputs[name] for name in outputs.files}


def _run_worker(command: Sequence[str], runtime: str) -> None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, errors="replace", check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RetvecLiteError(f"Expected {runtime} to answer within {_TIMEOUT} seconds, but it did not.") from error
    if done.returncode < 0:
        raise RetvecLiteError(f"Expected {runtime} to run the model, but it crashed with signal {-done.returncode}.")
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise RetvecLiteError(lines[-1] if lines else f"Expected {runtime} to run the model, but it gave up silently.")


def worker_main(arguments: Sequence[str]) -> int:
    """What the process does; on failure the last line on standard error is one sentence."""
    runtime, *files = arguments
    try:
        name, interpreter_class = import_runtime(runtime)
        for model, signature, source, target in zip(*(files[part::4] for part in range(4)), strict=True):
            with np.load(source, allow_pickle=False) as data:
                rows = data["rows"]
            try:
                interpreter = interpreter_class(model_path=model, num_threads=1)
                outputs = _signature_answers(interpreter, signature, rows) if signature else _answers(interpreter, rows)
            except (ValueError, RuntimeError) as error:
                sentence = " ".join(str(error).split())
                raise RetvecLiteError(f"Expected {name} to run the model, received: {sentence}") from error
            np.savez(target, **outputs)
    except RetvecLiteError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _answers(interpreter: Any, rows: npt.NDArray[np.int32]) -> dict[str, npt.NDArray[Any]]:
    interpreter.allocate_tensors()
    place = interpreter.get_input_details()[0]["index"]
    # By name: runtimes order the outputs differently.
    outputs = {detail["name"]: detail["index"] for detail in interpreter.get_output_details()}
    answers: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in outputs}
    for row in rows:
        interpreter.set_tensor(place, row[None])
        interpreter.invoke()
        for name, index in outputs.items():
            answers[name].append(interpreter.get_tensor(index)[0])
    return {name: np.stack(values) for name, values in answers.items()}


def _signature_answers(interpreter: Any, name: str, rows: npt.NDArray[np.int32]) -> dict[str, npt.NDArray[Any]]:
    # As `retvec_lite/engine.py` does: only so are all graphs given to XNNPACK.
    interpreter.allocate_tensors()
    runner = interpreter.get_signature_runner(name)
    answers = [runner(codepoints=row[None]) for row in rows]
    return {key: np.stack([answer[key][0] for answer in answers]) for key in answers[0]}


if __name__ == "__main__":
    sys.exit(worker_main(sys.argv[1:]))
