"""Cross-validation: which texts each of several models learns from, and which it is tested on."""

import dataclasses
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.data.dataset import Dataset
from retvec_lite.training.settings import FEW

Rows = npt.NDArray[np.int64]

_FOLDS: Final = 3


@dataclasses.dataclass(frozen=True)
class Folds:
    """Rows to learn from and rows to be tested on, for each fold; every text is tested on once."""

    pairs: tuple[tuple[Rows, Rows], ...]

    def __iter__(self) -> Iterator[tuple[Rows, Rows]]:
        return iter(self.pairs)

    @property
    def count(self) -> int:
        """How many folds."""
        return len(self.pairs)


def choose_folds(dataset: Dataset, seed: int) -> Folds | None:
    """Return folds with a similar share of every label in each; None for more than `FEW` texts.

    A tenth of more texts says as much, and the network is fitted once instead of four times.
    """
    if len(dataset) > FEW:
        return None
    from sklearn.model_selection import StratifiedKFold

    count = min(_FOLDS, max(Counter(dataset.strata).values()))
    with warnings.catch_warnings():
        # A label with two texts is missing in one fold of three: that fold is not tested on it.
        warnings.simplefilter("ignore", UserWarning)
        splits = StratifiedKFold(count, shuffle=True, random_state=seed).split(dataset.texts, dataset.strata)
        return Folds(tuple((np.asarray(rows), np.asarray(others)) for rows, others in splits))
