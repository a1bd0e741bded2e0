"""What a training answered to labelled texts that the answering fit had not seen: the evidence behind its report."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset

if TYPE_CHECKING:
    from retvec_lite.data.suspects import Check


@dataclass(frozen=True)
class HeldOut:
    """Texts, and what parts of the classifier that had not learned from them answered.

    Attributes:
        dataset: the texts as they were given, with their labels. Cross-validated, these are all training texts, in their order.
        rows: row of each text in the training data, counted from 0; empty where the texts are from elsewhere.
        labels: in the order of the columns.
        probabilities: float32 `[texts, labels]`, by the share of mistyped words; 0.0 is the texts as they were given.
        disguised: the same where the texts are disguised, or have an ending; None where the training disguised none.
        warnings: sentences about what is odd in the data.
    """

    dataset: Dataset
    rows: tuple[int, ...]
    labels: tuple[str, ...]
    probabilities: Mapping[float, Floats]
    disguised: Floats | None = None
    warnings: tuple[str, ...] = ()

    @functools.cached_property
    def check(self) -> "Check":
        """What the answers say about the labels, computed once: a training and its page both tell it."""
        from retvec_lite.data.suspects import check_answers

        return check_answers(self)
