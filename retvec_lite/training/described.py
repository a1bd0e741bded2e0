"""What a training learns of labels beside their texts: their names, and descriptions of them. They are texts that are learned from and never tested on."""

import enum
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.descriptions import SAYS, plain_name
from retvec_lite.equal_rows import products


class Origin(enum.IntEnum):
    """Where a text comes from that is learned from."""

    GIVEN = 0
    """One of the labelled texts."""
    NAME = 1
    """What a label is called."""
    DESCRIPTION = 2
    """What the user says of a label."""
    RELATED = 3
    """Words that are related to what a label is called and means."""
    UNLABELLED = 4
    """One of the texts without labels."""


class Described(NamedTuple):
    """Names and descriptions as texts, with the label and the origin of each."""

    texts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()


NOTHING: Final = Described()


def describe(dataset: Dataset, *, few: bool) -> Described:
    """Return the names that have a word, and all descriptions; names of labels with many texts say nothing more."""
    if dataset.multi_label:
        return Described()
    counts = dataset.label_counts
    names = [label for label in dataset.classes if (few or not counts[label]) and SAYS.search(plain_name(label))]
    said = [(label, text) for label, text in dataset.descriptions if text]
    return Described(
        (*map(plain_name, names), *(text for _, text in said)),
        (*names, *(label for label, _ in said)),
        (*[Origin.NAME] * len(names), *[Origin.DESCRIPTION] * len(said)),
    )


def telling_names(texts: Floats, targets: Ints, names: Floats, of_labels: Ints) -> npt.NDArray[np.bool_]:
    """Return which names of labels mean what the texts of their label mean: *ham* is also meat, and says nothing of messages.

    Such a name is nearer to a text of its label than to another one at least half of the time, which is the area under the ROC
    curve, by ranks (Mann and Whitney 1947, https://doi.org/10.1214/aoms/1177730491). A single one would only draw texts to its label, so none is left then.

    Args:
        texts: what each text means, `[texts, 64]`, of length 1 or 0.
        targets: the label of each text, `[texts]`.
        names: the same of each name.
        of_labels: the label of each name.

    Returns:
        bool `[names]`. A name of a label without a text here is kept: it says something, or nothing does.
    """
    from scipy.stats import rankdata

    known = set(targets.tolist())
    if len(known) < 2:
        return np.ones(len(names), bool)
    ranks = rankdata(products(names, texts), axis=1)
    is_own = of_labels[:, None] == targets
    own, is_alone = is_own.sum(axis=1), ~is_own.any(axis=1)
    # Pairs of a text of the label and a farther one of another label; ties count half.
    below = (ranks * is_own).sum(axis=1) - own * (own + 1) / 2
    found = is_alone | (below >= own * (len(targets) - own) / 2)
    kept: npt.NDArray[np.bool_] = (found & (np.count_nonzero(found) > 1)) | is_alone
    return kept


def labels_of(described: Described, labels: Sequence[str]) -> Ints:
    """Return the number of the label of each text, int32 `[texts]`."""
    number = {label: place for place, label in enumerate(labels)}
    return np.array([number[label] for label in described.labels], np.int32)
