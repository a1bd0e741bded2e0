"""One stage of a maker's work, kept in a file: after a kill, the same command goes on from there, to the same bytes."""

import dataclasses
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.files import atomic_write

Arrays = dict[str, npt.NDArray[Any]]
Made = TypeVar("Made")

_SETTINGS: Final = "settings"
_DONE: Final = "done"
_DAMAGED: Final = (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)
"""What NumPy and those who read its arrays raise for a damaged archive."""


class Trainer(Protocol):
    """What takes steps: all that it is between two of them goes through arrays."""

    def state(self) -> Arrays:
        """Return all that is trained."""

    def restore(self, state: Arrays) -> None:
        """Go on from a state; raises KeyError or ValueError for one that does not fit."""


@dataclasses.dataclass(frozen=True)
class Stage:
    """A stage of a run.

    Attributes:
        path: its file.
        settings: all that its result depends on, by the names that messages use; values that JSON knows.
    """

    path: Path
    settings: Mapping[str, Any]

    def once(self, make: Callable[[], Arrays], read: Callable[[Arrays], Made]) -> Made:
        """Return what `read` makes of the stage's arrays, which `make` makes once.

        Raises:
            RetvecLiteError: for a file of other settings, or a damaged one.
        """
        if not self.path.exists():
            self.write(make())
        return self._read(read)

    def steps(self, trainer: Trainer, count: int, every: int) -> Iterator[int]:
        """Yield the numbers of the steps that are left, of 0 to `count` - 1; what is trained is kept after `every` so many.

        Raises:
            RetvecLiteError: see `once`.
        """

        def restore(arrays: Arrays) -> int:
            trainer.restore(arrays)
            return int(arrays[_DONE])

        done = self._read(restore) if self.path.exists() else 0
        for number in range(done, count):
            yield number
            if (number + 1) % every == 0 or number + 1 == count:
                self.write({**trainer.state(), _DONE: np.asarray(number + 1)})

    def write(self, arrays: Arrays) -> None:
        """Write the stage's file, whole or not at all."""
        content = io.BytesIO()
        np.savez(content, **{_SETTINGS: np.asarray(json.dumps(self.settings))}, **arrays)
        atomic_write(self.path, content.getvalue())

    def _read(self, read: Callable[[Arrays], Made]) -> Made:
        try:
            with self.path.open("rb") as file, np.load(file) as stored:
                arrays = {name: stored[name] for name in stored.files}
            before = dict(json.loads(str(arrays.pop(_SETTINGS))))
            now = json.loads(json.dumps(self.settings))
            changed = [name for name in dict.fromkeys((*now, *before)) if before.get(name) != now.get(name)]
            if not changed:
                return read(arrays)
        except _DAMAGED as error:
            raise RetvecLiteError(f"{self.path} is damaged ({reason(error)}). Remove it to begin again.") from error
        was, given = (", ".join(f"{name}={each.get(name)}" for name in changed) for each in (before, now))
        raise RetvecLiteError(f"The run in {self.path.parent} has {was}, not {given}: name another folder with --out.")
