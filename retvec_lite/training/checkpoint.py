"""Checkpoints of a training: one file from which the same training goes on after a kill.

Only the network is kept, fit by fit, because nothing else takes long; texts are prepared and n-grams fitted again, with the same
result. Keras's `BackupAndRestore` works inside `model.fit` alone, and `tf.train.Checkpoint` writes several files that a kill leaves
half-written.
"""

import dataclasses
import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.json_text import parse_json
from retvec_lite.model.checkpoints import damaged, read_arrays, write_arrays
from retvec_lite.model.distribution import Workers
from retvec_lite.training.options import Inputs, TrainOptions
from retvec_lite.training.settings import FitSettings
from retvec_lite.version import __version__

NAME: Final = "checkpoint.npz"

SECONDS: Final = 30.0
"""Between two checkpoints, each of which takes some hundredths of a second: short trainings write none."""

_DECISIVE: Final = (
    "head",
    "fine_tune_embedding",
    "max_words",
    "ngram_kb",
    "meaning_kb",
    "max_kb",
    "epochs",
    "typo_rate",
    "character_filters",
    "seed",
)
"""Options that decide the weights as they stand; others name files, whose content does."""

_FITS: Final = "fits"
_STATE: Final = "state"
"""Names inside the file; the weights of the best epoch of fit 0 are below `0`."""


@dataclasses.dataclass
class Course:
    """How far a fit of the network has come: beside the network's own state, all that its next step depends on.

    Attributes:
        epochs: that are over.
        steps: of all epochs.
        losses: of the steps of the epoch that runs.
        generator: state of the random numbers when that epoch began; empty before the first one.
        history: of each epoch that is over: its number, loss, and mean validation score.
        score: of the best epoch.
        best: number of the best epoch, counted from 1; 0 for a fit without epochs.
        is_over: no epoch is left.
        weights: of the best epoch, by name, float32.
    """

    epochs: int = 0
    steps: int = 0
    losses: list[float] = dataclasses.field(default_factory=list)
    generator: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    history: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    score: float = -math.inf
    best: int = 1
    is_over: bool = False
    weights: Mapping[str, Floats] = dataclasses.field(default_factory=dict)


class Checkpoint:
    """The checkpoint of one training, in a folder that all workers see. Every worker reads it, the chief writes it.

    `belongs_to` is the training's `origin`. With `force`, a file that is damaged or belongs to another training begins again.

    Raises:
        RetvecLiteError: for a file that is damaged or belongs to another training, or workers of different trainings.
    """

    def __init__(
        self,
        path: Path | None = None,
        belongs_to: Mapping[str, Any] | None = None,
        force: bool = False,
        workers: Workers | None = None,
    ) -> None:
        self.workers = workers or Workers()
        self._path = path
        self._belongs_to = json.loads(json.dumps(belongs_to or {}, default=str))  # as a file has it
        self._fits: list[Course] = []
        self._begun = 0
        self._state: Mapping[str, Floats] = {}
        self._written = time.monotonic()
        if path is not None and path.exists():
            try:
                self._read(path)
            except RetvecLiteError:
                if not force:
                    raise
        self.workers.agree("data or options", json.dumps(self._belongs_to, sort_keys=True))
        self.workers.agree("checkpoints", [(course.steps, course.losses) for course in self._fits])

    def begin(self) -> tuple[Course, Mapping[str, Floats]]:
        """Return how far the next fit has come, and the state that its network was left in; empty for a new network."""
        if self._begun == len(self._fits):
            self._fits.append(Course())
        course = self._fits[self._begun]
        self._begun += 1
        return course, self._state if course.steps and not course.is_over else {}

    def keep(self, state: Callable[[], Mapping[str, Floats]]) -> None:
        """Write the file, if it is time: how far all fits have come, and the state of the network of the last one.

        Raises:
            RetvecLiteError: when it cannot be written.
        """
        if self._path is None or not self.workers.is_chief or time.monotonic() - self._written < SECONDS:
            return
        facts, arrays = [], {f"{_STATE}/{name}": value for name, value in state().items()}
        for number, course in enumerate(self._fits):
            fields = {field.name: getattr(course, field.name) for field in dataclasses.fields(course)}
            arrays |= {f"{number}/{name}": value for name, value in fields.pop("weights").items()}
            facts.append(fields)
        write_arrays(self._path, self._belongs_to, {_FITS: np.asarray(json.dumps(facts)), **arrays})
        self._written = time.monotonic()

    def _read(self, path: Path) -> None:
        belongs_to, arrays = read_arrays(path)
        names = dict.fromkeys((*self._belongs_to, *belongs_to))
        others = [name for name in names if belongs_to.get(name) != self._belongs_to.get(name)]
        if others:
            raise RetvecLiteError(
                f"{path} is the checkpoint of a training that differs in {', '.join(others)}. Repeat its command to go on with "
                "it, or begin again with --force (in Python: force=True)."
            )
        try:
            fits = [Course(**fields) for fields in parse_json(str(arrays.pop(_FITS)), "its fits", finite=False)]
            parts: dict[str, dict[str, Floats]] = {}
            for name, value in arrays.items():
                part, _, rest = name.partition("/")
                parts.setdefault(part, {})[rest] = value
            for number, course in enumerate(fits):
                course.weights = parts.get(str(number), {})
        except (ValueError, KeyError, TypeError, AttributeError, RetvecLiteError) as error:
            raise damaged(path, error) from error
        self._fits, self._state = fits, parts.get(_STATE, {})


def origin(inputs: Inputs, options: TrainOptions, settings: FitSettings | None) -> dict[str, Any]:
    """Return all that the weights of a training depend on, by the names that messages use."""
    training, validation, embedding = inputs.training, inputs.validation, inputs.embedding
    held_out = _digest(validation.texts, validation.labels) if isinstance(validation, Dataset) else validation
    return {
        "data": _digest(training.texts, training.labels),
        "sample_weight": _digest(training.weights),
        "validation": held_out,
        "embedding": embedding
        and _digest(embedding.weights, [value.tobytes() for value in embedding.weights.values()]),
        "meaning": _digest(
            [file if isinstance(file, str) else file.to_bytes() for file in (*inputs.meanings, *inputs.languages)]
        ),
        "unlabelled": _digest(inputs.unlabelled),
        "class_weights": inputs.class_weights,
        **{name: getattr(options, name) for name in _DECISIVE},
        "settings": settings and dataclasses.asdict(settings),
        "version of retvec-lite": __version__,
    }


def _digest(*columns: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for row in zip(*columns, strict=True):
        digest.update(repr(row).encode())
    return digest.hexdigest()
