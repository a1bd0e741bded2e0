"""What words mean by two tables of a language at once: more numbers a word, until `meaning_codes` keeps those that the texts need."""

import dataclasses
from typing import Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.model.meaning_file import MeaningFile

_USUAL: Final = 0.7
"""Length of vectors of the usual table beside those of requests, chosen on validation texts; 0.5 and 1 are about as good."""
_TYPICAL: Final = 2_000
"""First words of each table, whose vectors are brought to one mean length."""


@dataclasses.dataclass(frozen=True)
class TwoTables:
    """The words of both tables, as a `MeaningFile` has them.

    Attributes:
        words: those of requests first, then the others of the usual table.
        vectors: float32 `[words, 128]`, half of them from each table; zeros from one without the word.
        language: its tag.
    """

    words: tuple[str, ...]
    vectors: Floats
    language: str

    @classmethod
    def of(cls, usual: MeaningFile, requests: MeaningFile) -> "TwoTables":
        """Put two tables of a language side by side.

        Example:
            >>> from retvec_lite.model.meaning_file import packaged_meaning, packaged_requests
            >>> from retvec_lite.training.two_tables import TwoTables
            >>> TwoTables.of(packaged_meaning("en"), packaged_requests("en")).vectors.shape[1]
            128
        """
        words = tuple(dict.fromkeys([*requests.words, *usual.words]))
        places = {word: place for place, word in enumerate(words)}
        halves = []
        for file, length in ((usual, _USUAL), (requests, 1.0)):
            vectors = file.vectors
            half = np.zeros((len(words), vectors.shape[1]), np.float32)
            mean = float(np.linalg.norm(vectors[:_TYPICAL], axis=1).mean())
            half[[places[word] for word in file.words]] = vectors * np.float32(length / max(mean, 1e-9))
            halves.append(half)
        return cls(words, np.concatenate(halves, axis=1), usual.language)
