"""A model on one runtime in a process of its own: two runtimes, or TensorFlow and a runtime, break each other in one.

Run as `python -m retvec_lite.converters.runtime_worker RUNTIME MODEL INPUT.npz OUTPUT.npz`; `run_model` does so.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime import import_runtime

_TIMEOUT: Final = 600
"""Seconds for one batch of texts; a runtime that needs longer hangs."""


def run_model(runtime: str, model: bytes, rows: npt.NDArray[np.int32]) -> dict[str, npt.NDArray[Any]]:
    """Run a model on a runtime, one row after the other, in a new process with one thread.

    Args:
        runtime: the distribution, `ai-edge-litert` or `tflite-runtime`.
        model: a flatbuffer with one input.
        rows: int32 `[texts, max_chars]`.

    Returns:
        For each output of the graph, by tensor name, its values stacked: `[texts, ...]`.

    Raises:
        RetvecLiteError: when the runtime is missing, refuses the model, fails, crashes, or does not come to an end.
    """
    with tempfile.TemporaryDirectory(prefix="retvec-lite-") as folder:
        files = [Path(folder) / name for name in ("model.tflite", "input.npz", "output.npz")]
        files[0].write_bytes(model)
        np.savez(files[1], rows=rows)
        command = [sys.executable, "-m", __name__, runtime, *map(str, files)]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, errors="replace", check=False
            )
        except subprocess.TimeoutExpired as error:
            raise RetvecLiteError(f"Expected {runtime} to answer within {_TIMEOUT} seconds, but it did not.") from error
        if done.returncode < 0:
            raise RetvecLiteError(
                f"Expected {runtime} to run the model, but it crashed with signal {-done.returncode}."
            )
        if done.returncode:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            raise RetvecLiteError(
                lines[-1] if lines else f"Expected {runtime} to run the model, but it gave up silently."
            )
        with np.load(files[2], allow_pickle=False) as outputs:
            return {name: outputs[name] for name in outputs.files}


def main(arguments: Sequence[str]) -> int:
    """What the process does; on failure the last line on standard error is one sentence."""
    runtime, model, source, target = arguments
    try:
        name, interpreter_class = import_runtime(runtime)
        with np.load(source, allow_pickle=False) as data:
            rows = data["rows"]
        try:
            outputs = _answers(interpreter_class(model_path=model, num_threads=1), rows)
        except (ValueError, RuntimeError) as error:
            sentence = " ".join(str(error).split())
            raise RetvecLiteError(f"Expected {name} to run the model, received: {sentence}") from error
    except RetvecLiteError as error:
        print(error, file=sys.stderr)
        return 1
    np.savez(target, **outputs)
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
