"""Distinct runs of characters: what stands between separators in the normal form of texts.

Neither words nor n-grams reach beyond a run, so it is enough to cut each distinct run into words and into n-grams.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints

Places = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_SHORTEST: Final = 16
_CHARS_AT_ONCE: Final = 2**17
"""Characters of a matrix of runs."""
_WORTH_A_GRAPH: Final = 2**19
"""Characters from which a graph of their own size pays: tracing one takes as long as reading about so many."""


class Runs(NamedTuple):
    """Runs, one after the other.

    Attributes:
        hashes: of their characters, uint64 `[runs]`.
        lengths: how many characters they have, int64 `[runs]`.
        characters: as the encoder's graph brings texts into normal form, float32 `[characters]`.
    """

    hashes: Hashes
    lengths: Places
    characters: Floats

    def chosen(self, rows: Any) -> "Runs":
        """Return some of the runs."""
        starts, lengths = np.cumsum(self.lengths) - self.lengths, self.lengths[rows]
        return Runs(self.hashes[rows], lengths, self.characters[ragged(starts[rows], lengths)])


class RunTable:
    """Numbers for distinct runs, in the order in which they are settled; memory stays within a small multiple of what they take."""

    def __init__(self) -> None:
        self._hashes, self._numbers = np.zeros(0, np.uint64), np.zeros(0, np.int32)
        self._runs = _joined([])
        self._added: list[Runs] = []

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, runs: Runs) -> None:
        """Add runs, known or new; they have numbers from the next `settle` on."""
        distinct, first = np.unique(runs.hashes, return_index=True)
        is_known = np.zeros(len(distinct), bool)
        if len(self):
            is_known = self._hashes[np.minimum(np.searchsorted(self._hashes, distinct), len(self) - 1)] == distinct
        self._added.append(runs.chosen(first[~is_known]))
        if sum(len(added.hashes) for added in self._added) > len(self):
            self.settle()

    def settle(self) -> None:
        """Give numbers to the runs that were added."""
        added, self._added = _joined(self._added), []
        new, first = np.unique(added.hashes, return_index=True)
        hashes = np.concatenate([self._hashes, new])
        numbers = np.concatenate([self._numbers, np.arange(len(self), len(hashes), dtype=np.int32)])
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._numbers = hashes[order], numbers[order]
        self._runs = _joined([self._runs, added.chosen(first)])

    def numbers(self, hashes: Hashes) -> Ints:
        """Return the numbers of runs that are settled, int32 `[runs]`."""
        found: Ints = self._numbers[np.searchsorted(self._hashes, hashes)]
        return found

    def matrices(self, numbers: Places) -> Iterator[tuple[Places, Floats]]:
        """Yield places in `numbers`, and the characters of these runs, zeros behind them: float32 `[places, size]`, in few sizes."""
        starts = np.cumsum(self._runs.lengths) - self._runs.lengths
        lengths = self._runs.lengths[numbers]
        for size, places in in_sizes(lengths, _SHORTEST):
            at_once = max(1, _CHARS_AT_ONCE // size)
            for start in range(0, len(places), at_once):
                part = places[start : start + at_once]
                characters = self._runs.characters[ragged(starts[numbers[part]], lengths[part])]
                matrix = np.zeros((len(part), size), np.float32)
                matrix[np.arange(size) < lengths[part, None]] = characters
                yield part, matrix


def ragged(starts: Places, lengths: Places) -> Places:
    """Return the places of rows of different lengths that stand one after the other, from where each starts: int64 `[items]`."""
    ends = np.cumsum(lengths)
    found: Places = np.arange(int(lengths.sum())) + np.repeat(starts - ends + lengths, lengths)
    return found


def in_sizes(lengths: Places, shortest: int) -> Iterator[tuple[int, Places]]:
    """Yield sizes, and the places of the lengths that a graph of this size reads: similar ones.

    Each size is twice another, from the shortest on. Lengths that are too few for a graph of their own join the next longer ones.
    """
    order = np.argsort(lengths, kind="stable")
    size, start = shortest, 0
    while start < len(order):
        end = int(np.searchsorted(lengths[order], size, side="right"))
        if end == len(order) or (end - start) * size >= _WORTH_A_GRAPH:
            yield size, order[start:end]
            start = end
        size *= 2


def _joined(parts: Sequence[Runs]) -> Runs:
    if not parts:
        return Runs(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.float32))
    return Runs(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
