"""Who says which labels the unlabelled texts of a training have: encoders with a regression on their vectors, or a classifier.

The file that is exported knows nothing of them: it learns from the texts and the labels that they were given. In a cross-validation, the
regression is fitted to the texts that a fold learns from, so that no answer to a held-out text has seen its label.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.labels import label_of
from retvec_lite.errors import RetvecLiteError
from retvec_lite.terminal import Progress
from retvec_lite.training.described import Origin
from retvec_lite.training.examples import Rows, TrainingData
from retvec_lite.training.sentence_encoders import Encode, ask_once, encode_of

_STRENGTH: Final = 10.0
"""C of the regression, chosen on validation texts of 22 sets in 14 languages."""
_NEIGHBOURS: Final = 5
"""How many texts are nearest to a text. Chosen on the hidden labels of the inboxes of 22 sets: with 15, .007 more are right in the mean, and
labels with few texts lose them."""
_TINY: Final = 1e-9
_STRANGE: Final = 0.07
"""A text without a label is strange if all labelled texts are farther from it than all others are from this share of the labelled texts. Chosen on
eight inboxes, some of whose labels had no text: half of it recognizes fewer of their texts, and more costs other answers."""
_MOST_STRANGE: Final = 0.2
"""The largest share of the texts without labels that may be strange: one person may have written all labelled texts, which are then alike."""


class Neighbours:
    """The nearest texts of each text: they mostly have its label, so half of what is said of it comes from them, labelled or not.

    See Wu et al. 2019 (https://arxiv.org/abs/1902.07153) and Zhou et al. 2003 (Learning with local and global consistency).

    Args:
        vectors: of texts, float32 `[texts, width]` of length 1 or 0, dense or sparse: of length 0, nothing is known of a text, and it has no neighbours.
        rows: the places of these texts among all; others have no neighbours.
        count: how many there are in all.
    """

    def __init__(self, vectors: Any, rows: Rows, count: int) -> None:
        from scipy.sparse import csr_matrix
        from sklearn.neighbors import kneighbors_graph
        from sklearn.preprocessing import normalize

        self._shares = csr_matrix((count, count), dtype=np.float32)
        # A vector of length 0 would be nearer to most than any other.
        known = np.flatnonzero((vectors != 0).sum(axis=1))
        if len(known) > 1:
            near = kneighbors_graph(vectors[known], min(_NEIGHBOURS, len(known) - 1)).tocoo()
            places = (rows[known[near.row]], rows[known[near.col]])
            linked = csr_matrix((near.data.astype(np.float32), places), (count, count))
            self._shares = normalize(linked + linked.T, "l1")

    def mix(self, said: Floats) -> Floats:
        """Return what is `said` of all texts, float32 `[texts, numbers]`, mixed: half of it comes from their neighbours, and half of that from theirs."""
        found: Floats = (said + self._shares @ ((said + self._shares @ said) / 2)) / 2
        return found

    def answers(self, said: Floats, rows: Rows, targets: Ints, asked: Rows) -> tuple[Ints, Floats]:
        """Return the labels of the `asked` texts and how much each counts, see `Encoders.answers`, of the answers to all texts, float32 `[texts, labels]`."""
        said[rows] = targets[rows][:, None] == np.arange(said.shape[1])
        table = self.mix(said)[asked]
        found: Ints = table.argmax(axis=1).astype(np.int32)
        return found, _sureness(found, _ahead(table))


class Encoders:
    """What encoders say of the texts of a training and their neighbours, side by side, and a regression on it.

    Args:
        encoders: by name.
        data: the texts.
        progress: told of "encoding texts by NAME".
        kept: see `ask_once`.

    Raises:
        RetvecLiteError: for an encoder that fails, or returns anything but finite vectors of one length.
    """

    def __init__(
        self, encoders: Mapping[str, Encode], data: TrainingData, progress: Progress, kept: Path | None
    ) -> None:
        from sklearn.preprocessing import normalize

        self._none, self._origins = data.none, data.origins
        texts = [data.clean[row] for row in data.sentences.tolist()]
        parts = [ask_once(name, encode, texts, progress, kept) for name, encode in encoders.items()]
        middle = [part[-data.count(Origin.UNLABELLED) :].mean(axis=0) for part in parts]
        vectors = np.concatenate([normalize(part - mean) for part, mean in zip(parts, middle, strict=True)], axis=1)
        self._neighbours = Neighbours(vectors, data.sentences, len(data.clean))
        self._vectors = np.zeros((len(data.clean), vectors.shape[1]), np.float32)
        self._vectors[data.sentences] = vectors
        self._vectors = normalize(self._neighbours.mix(self._vectors))

    def answers(self, rows: Rows, targets: Ints, asked: Rows, *, reject: bool = True) -> tuple[Ints, Floats]:
        """Return the labels of the `asked` rows of `TrainingData.clean`, int32 `[asked]`, and how much each text counts, see `_sureness`.

        It is told the labels of other `rows`; `targets` are those of all. What labels are called and mean is learned from where a label has no
        text. With `reject`, a text that is farther from all `rows` than nearly all of these from each other is strange, from 0 to 1 for the
        strangest one. If it is stranger than its label is ahead of the next, both from 0 to 1, it has none of the labels.
        """
        from sklearn.linear_model import LogisticRegression

        is_given = self._origins[rows] == Origin.GIVEN
        without = (self._origins[rows] != Origin.RELATED) & ~np.isin(targets[rows], targets[rows[is_given]])
        rows = rows[is_given | without]
        if len(np.unique(targets[rows])) < 2:
            return np.full(len(asked), targets[rows[0]], np.int32), np.ones(len(asked), np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a text or two of each label are no numbers to be predicted
            fitted = LogisticRegression(C=_STRENGTH).fit(self._vectors[rows], targets[rows])
        table = fitted.predict_proba(self._vectors).astype(np.float32)
        table[rows] = targets[rows][:, None] == fitted.classes_
        table = self._neighbours.mix(table)[asked]
        found: Ints = fitted.classes_[table.argmax(axis=1)].astype(np.int32)
        ahead = _ahead(table)
        if reject and self._none is not None:
            known = self._vectors[rows]
            alike = known @ known.T
            np.fill_diagonal(alike, -1.0)
            near = (self._vectors[asked] @ known.T).max(axis=1)
            least = min(np.quantile(alike.max(axis=1), _STRANGE), np.quantile(near, _MOST_STRANGE))
            strange = (least - near) / max(least - near.min(), _TINY)
            found[strange > ahead] = self._none
            ahead = np.maximum(ahead, strange)
        return found, _sureness(found, ahead)

    def accuracy(self, data: TrainingData) -> float:
        """Return the share of the texts of a cross-validation that are labelled right, as they are."""
        known = data.examples.targets
        right = [
            self.answers(rows[rows < data.labelled], known, others, reject=False)[0] == known[others]
            for rows, others in data.splits
        ]
        return float(np.concatenate(right).mean())


class Answers:
    """What a classifier says of the texts of a training: it has learned elsewhere.

    The `classifier` has `predict_proba` and `classes_`, as those of scikit-learn. Other arguments and errors are as of `Encoders`; it must
    know the labels.
    """

    def __init__(self, name: str, classifier: Any, data: TrainingData, progress: Progress, kept: Path | None) -> None:
        known = [label_of(label) for label in classifier.classes_]
        if lacking := [label for label in data.labels if label not in known]:
            raise RetvecLiteError(
                f"The teacher {name} does not know the label {lacking[0]!r}: it knows {', '.join(map(str, known[:5]))}. Pass one that was fitted to "
                "the same labels, or an encoder."
            )
        table = ask_once(name, classifier.predict_proba, data.clean[data.labelled :], progress, kept)
        if table.shape[1] != len(known) or not ((table >= 0).all() and np.allclose(table.sum(axis=1), 1, atol=0.01)):
            raise RetvecLiteError(
                f"The teacher {name} answers what is no probability: predict_proba returns {len(known)} numbers from 0 to 1 for each text, one for each "
                "of classes_, which add up to 1."
            )
        self._first = data.labelled
        self._table = table[:, [known.index(label) for label in data.labels]]

    def answers(self, rows: Rows, targets: Ints, asked: Rows) -> tuple[Ints, Floats]:
        """Return labels and how much each text counts, see `Encoders.answers`; the classifier learns nothing of `rows` and `targets`."""
        table = self._table[asked - self._first]
        found: Ints = table.argmax(axis=1).astype(np.int32)
        return found, _sureness(found, _ahead(table))


Teacher = Encoders | Answers


def make_teacher(given: Mapping[str, Any], data: TrainingData, progress: Progress, folder: Path | None) -> Teacher:
    """Return the teacher of a training of what `read_teacher` found, which is not nothing; see `ask_once` for the `folder`."""
    encoders = {name: encode for name, each in given.items() if (encode := encode_of(each))}
    (name, only), *_ = given.items()
    return Encoders(encoders, data, progress, folder) if encoders else Answers(name, only, data, progress, folder)


def _ahead(table: Floats) -> Floats:
    """Return how far the best answer to each text is ahead of the next, float32 `[texts]`, of answers, float32 `[texts, labels]`."""
    return np.diff(np.sort(table, axis=1)[:, -2:], axis=1)[:, 0]


def _sureness(found: Ints, ahead: Floats) -> Floats:
    """Return how much each text counts, float32 `[texts]`, from 0 to 2: 1 if its label is as far `ahead` as is usual for the label that was `found`.

    Labels with few texts are less ahead, since most neighbours of a text are of others, and count no less.
    """
    sums, counts = np.bincount(found, ahead), np.bincount(found)
    usual = (sums / np.maximum(counts, 1))[found] + _TINY
    weights: Floats = (2 * (ahead + _TINY) / (ahead + usual + _TINY)).astype(np.float32)
    return weights
