"""Run an .onnx on ONNX Runtime, in a worker: a file that crashes it is a result."""

import io
from typing import Any

import numpy as np

from retvec_lite.contract import Ints
from retvec_lite.converters import INPUT
from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.runtime.worker import Worker, WorkerFailed


class Session:
    """A worker that has loaded nothing yet; use it in a `with` block."""

    def __enter__(self) -> "Session":
        self._worker = Worker()
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.stop()

    def run(self, model: bytes, rows: Ints) -> dict[str, Any]:
        """Run a model on texts, int32 `[texts, max_chars]`, one by one; return the values of each output, `[texts, ...]`.

        Raises:
            RetvecLiteError: when ONNX Runtime refuses the model, fails or crashes.
        """
        try:
            with np.load(io.BytesIO(self._worker.ask(_answers, model, rows)), allow_pickle=False) as found:
                return {name: found[name] for name in found.files}
        except WorkerFailed as error:
            raise RetvecLiteError(f"ONNX Runtime {error} while it ran the model.") from error


def _answers(model: bytes, rows: Ints) -> bytes:
    """Return the outputs of a model as an .npz file, in the worker."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        answers = [session.run(None, {INPUT: row[None]}) for row in rows]
    except Exception as error:  # its errors have no class in common
        raise RetvecLiteError(f"ONNX Runtime cannot run the model: {reason(error)}") from error
    content = io.BytesIO()
    np.savez(content, **{name: np.stack([answer[place][0] for answer in answers]) for place, name in enumerate(names)})
    return content.getvalue()
