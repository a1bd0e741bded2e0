"""Distinct words by a hash of their code points."""

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Ints


class WordTable:
    """Distinct words by hash; memory stays within a small multiple of what they take."""

    def __init__(self, word_length: int) -> None:
        self._hashes = np.zeros(1, np.uint64)
        self._words = np.zeros((1, word_length), np.int32)
        self._added: list[tuple[npt.NDArray[np.uint64], Ints]] = []

    def add(self, hashes: npt.NDArray[np.uint64], words: Ints) -> None:
        """Add words, known or new."""
        self._added.append((hashes, words))
        if sum(len(added) for added, _ in self._added) > len(self._hashes):
            self._merge()

    def sorted(self) -> tuple[npt.NDArray[np.uint64], Ints]:
        """Return the hashes in ascending order, the empty word's 0 first, and their words."""
        self._merge()
        return self._hashes, self._words

    def _merge(self) -> None:
        hashes = np.concatenate([self._hashes, *(added for added, _ in self._added)])
        words = np.concatenate([self._words, *(added for _, added in self._added)])
        self._hashes, first = np.unique(hashes, return_index=True)
        self._words = words[first]
        self._added = []


def hash_multipliers(width: int) -> npt.NDArray[np.uint64]:
    """Return fixed odd multipliers: the hash names words and runs within one process only, so any good constants do."""
    return np.random.default_rng(2023).integers(1, 2**63, width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def mixed(sums: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return hashes whose lower half, too, depends on all bits of the code points' sums."""
    return sums ^ (sums >> np.uint64(32))
