"""Checkpoints of a pre-training: what they belong to, and writing and reading them."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.checkpoints import damaged, read_arrays, weights_digest, write_arrays
from retvec_lite.model.cluster import Cluster
from retvec_lite.model.weight_files import Embedding
from retvec_lite.pretraining.model import WordModel
from retvec_lite.pretraining.words import WordShares


def origin(settings: Any, words: WordShares, initial: Embedding | None) -> dict[str, Any]:
    """Return all that a checkpoint depends on, by the names that messages use.

    Args:
        settings: the dataclass of the run's settings.
        words: what it learns from.
        initial: the weights it begins with; None for random ones.
    """
    fields = dataclasses.asdict(settings)
    if fields["shares"] == 1:  # checkpoints of earlier releases know of no shares
        del fields["shares"]
    fields |= {f"network.{name}": value for name, value in fields.pop("network").items()}
    return {**fields, "words": words.digest, "start_from": weights_digest(initial)}


def write_checkpoint(path: Path, model: WordModel, belongs_to: Mapping[str, Any], step: int) -> None:
    """Write a checkpoint, flushed to disk, whole or not at all.

    Raises:
        RetvecLiteError: when it cannot be written.
    """
    from keras import ops

    arrays = {_name(index): ops.convert_to_numpy(variable) for index, variable in enumerate(_variables(model))}
    write_arrays(path, belongs_to, {"step": np.asarray(step), **arrays})


def read_checkpoint(path: Path, model: WordModel, belongs_to: Mapping[str, Any], steps: int) -> int:
    """Read a checkpoint into the model.

    Args:
        path: what `write_checkpoint` wrote.
        model: as `build_model` returns it.
        belongs_to: the `origin` of the run that continues.
        steps: of the whole run.

    Returns:
        The steps that are done.

    Raises:
        RetvecLiteError: for a checkpoint that belongs to another run, or is damaged.
    """
    variables = _variables(model)
    before, stored = read_arrays(path)
    try:
        step, arrays = int(stored["step"]), [stored[_name(index)] for index in range(len(variables))]
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path, error) from error
    names = dict.fromkeys((*belongs_to, *before))
    changed = [name for name in names if before.get(name) != belongs_to.get(name)]
    if changed:
        was = ", ".join(f"{name}={before.get(name)}" for name in changed)
        given = ", ".join(f"{name}={belongs_to.get(name)}" for name in changed)
        raise RetvecLiteError(
            f"The run in {path.parent} has {was}. Resume it with the same settings, not {given}, or name another folder "
            "with --resume."
        )
    if not 0 < step <= steps or [array.shape for array in arrays] != [tuple(value.shape) for value in variables]:
        raise damaged(path, "its weights do not fit its settings")
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return step


def share_checkpoint(cluster: Cluster, model: WordModel, step: int) -> int:
    """Give every worker the chief's weights, optimizer state and step; return the step."""
    from keras import ops

    variables = _variables(model)
    values = [ops.convert_to_numpy(variable) for variable in variables]
    (step_of_chief, *found) = cluster.of_chief([np.asarray([step]), *values])
    for variable, value in zip(variables, found, strict=True):
        variable.assign(value)
    return int(step_of_chief[0])


def _name(index: int) -> str:
    return f"variable_{index}"


def _variables(model: WordModel) -> list[Any]:
    return [*model.trainable_variables, model.quantized, *model.optimizer.variables]
