"""The folder of a pre-training: its checkpoint, from which a run goes on, and its log."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.files import explain_os_error
from retvec_lite.foreign import require_file
from retvec_lite.model.weight_files import Embedding
from retvec_lite.pretraining.checkpoints import damaged, read_arrays, require_same, write_arrays
from retvec_lite.pretraining.model import WordModel
from retvec_lite.pretraining.options import PretrainSettings
from retvec_lite.pretraining.words import WordList

CHECKPOINT: Final = "checkpoint.npz"
LOG: Final = "log.jsonl"

_RETIRED: Final = {"decomposed_share": 0.0, "network.weight_bits": 4, "network.per_tensor": False}
"""Settings of earlier releases that only experiments changed: with these values their checkpoints go on."""


def origin(settings: PretrainSettings, words: WordList, initial: Embedding | None) -> dict[str, Any]:
    """Return all that a checkpoint depends on, by the names that messages use."""
    fields = settings.to_dict()
    fields |= {f"network.{name}": value for name, value in fields.pop("network").items()}
    return {**fields, "words": words.digest, "start_from": initial and initial.digest}


def write_checkpoint(folder: Path, model: WordModel, belongs_to: Mapping[str, Any], step: int) -> None:
    """Write a checkpoint, flushed to disk, whole or not at all."""
    from keras import ops

    arrays = {_name(index): ops.convert_to_numpy(variable) for index, variable in enumerate(_variables(model))}
    write_arrays(folder / CHECKPOINT, belongs_to, {"step": np.asarray(step), **arrays})


def read_checkpoint(folder: Path, model: WordModel, belongs_to: Mapping[str, Any], steps: int) -> int:
    """Read the checkpoint of a run of so many steps, if there is one, into the model; return the steps that are done.

    Raises:
        RetvecLiteError: for a checkpoint that does not have the `origin` of the run, or is damaged.
    """
    path, variables = folder / CHECKPOINT, _variables(model)
    if not path.exists():
        return 0
    before, stored = read_arrays(path)
    try:
        step, arrays = int(stored["step"]), [stored[_name(index)] for index in range(len(variables))]
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path, error) from error
    # What a checkpoint of an earlier release has and this release does not know may have one value alone.
    require_same(folder, before, {**{name: value for name, value in _RETIRED.items() if name in before}, **belongs_to})
    if not 0 < step <= steps or [array.shape for array in arrays] != [tuple(value.shape) for value in variables]:
        raise damaged(path, "its weights do not fit its settings")
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return step


def _name(index: int) -> str:
    return f"variable_{index}"


def _variables(model: WordModel) -> list[Any]:
    return [*model.trainable_variables, model.quantized, *model.optimizer.variables]


class RunLog:
    """Lines for people, which `tell` receives `every` so many steps, and the same facts in a JSON-lines file."""

    def __init__(
        self, folder: Path, tell: Callable[[str], None] | None, settings: PretrainSettings, every: int
    ) -> None:
        try:
            require_file(folder / LOG)
        except OSError as error:
            raise explain_os_error(error, folder) from error
        self._path, self._tell, self._settings, self._every = folder / LOG, tell, settings, every
        self._losses: list[float] = []
        self._since = time.perf_counter()

    def step(self, step: int, loss: float) -> None:
        """Note the loss of a step; write a line where one is due."""
        self._losses.append(loss)
        if step % self._every and step != self._settings.steps:
            return
        now = time.perf_counter()
        settings, mean = self._settings, float(np.mean(self._losses))
        seconds = (now - self._since) / len(self._losses)
        rate = settings.rate(step)
        left = (settings.steps - step) * seconds / 60
        words = settings.batch_size / seconds
        quantized = " 4-bit" if step > settings.quantized_from else ""
        self._write(
            f"step {step}/{settings.steps}{quantized}  loss {mean:.4f}  rate {rate:.2e}  {words:,.0f} words/s  "
            f"{seconds * 1000:.1f} ms/step  {left:.0f} min left",
            {"step": step, "loss": round(mean, 5), "rate": rate, "ms_per_step": round(seconds * 1000, 2)},
        )
        self._losses, self._since = [], now

    def found(self, step: int, found: Mapping[str, float]) -> None:
        """Write the share of right words found, by language."""
        if found:
            mean = sum(found.values()) / len(found)
            languages = "  ".join(f"{language} {share:.3f}" for language, share in found.items())
            self._write(
                f"step {step}  right word found {mean:.4f}  ({languages})",
                {"step": step, "found": {key: round(value, 4) for key, value in found.items()}},
            )
        self._since = time.perf_counter()

    def _write(self, line: str, record: Mapping[str, Any]) -> None:
        if self._tell is not None:
            self._tell(line)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
