"""Models on one runtime in a process of their own: two runtimes, or TensorFlow and a runtime, break each other in one.

Run as `python -m retvec_lite.converters.runtime_worker RUNTIME [MODEL SIGNATURE INPUT.npz OUTPUT.npz ...]`; `run_models` does so.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime import import_runtime

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
        _run(command, runtime)
        for number in range(len(jobs)):
            with np.load(folder / f"{number}.output.npz", allow_pickle=False) as outputs:
                yield {name: outputs[name] for name in outputs.files}


def _run(command: Sequence[str], runtime: str) -> None:
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


def main(arguments: Sequence[str]) -> int:
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
    sys.exit(main(sys.argv[1:]))
