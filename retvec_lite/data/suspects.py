"""Texts whose labels may be wrong, and labels that may be: what the answers to held-out texts say about the data.

Every text is answered by a classifier that has not seen it, nor a copy of it. The less probable its label is, the more suspicious, as
in confident learning (Northcutt et al. 2021, https://arxiv.org/abs/1911.00068); listed are those with a far more probable label.
"""

import functools
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.arguments import checked
from retvec_lite.data.copies import CopyGroup, alike_but_for_labels, copy_groups
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.labels import join_labels, label_table
from retvec_lite.data.outcome import Outcome, auroc
from retvec_lite.data.scores import Evaluation, score
from retvec_lite.data.typos import Way
from retvec_lite.data.warnings import FEWEST_TEXTS
from retvec_lite.files import write_csv
from retvec_lite.terminal import Table, counted, draw, one_line, printable

_TIMES: Final = 5.0
"""How many times as probable as the label of a listed text another one is."""
_USUAL: Final = 0.75
"""How probable that one is, as a share of what texts of it find it on average: labels differ in how sure answers are."""
_WRONG: Final = 0.95
"""How far the probability of a listed text's label is from what it says, where a text may have several."""
_SURE: Final = 0.002
"""Share of the right answers that are less sure than those to texts of no label."""
_TOGETHER: Final = 0.5
"""Least share of the texts of twins that are taken for one of the two."""
_CONFUSED: Final = 0.25
"""Share of the texts of the rarer twin that are taken for the other one, or the other way round."""
_APART: Final = 0.6
"""Largest area under the ROC curve of twins. Of 24 labels cut in two at random (3,000 texts each of Banking77, AG News, SMS spam and the
starter data), 21 were found, and no others."""
COUNTED: Final = "Rows are counted from 0, without the header."
"""As everywhere: in Python, in tables, and in files and pages that are written. Lines of a text file are counted from 1."""
_SHOWN: Final = 10
"""Rows of a table on screen."""
_WIDTH: Final = 60
"""Characters of a text on screen."""


@dataclass(frozen=True)
class Suspect:
    """A text whose label may be wrong.

    Attributes:
        row: in the data, counted from 0, without the header.
        label: the one that it has; in multi-label data its labels, joined by `|`.
        suggestion: the label that the other texts suggest; empty where none fits.
        score: how suspicious the label is, from 0 to 1.
        text: the text as it was given.
        why: what speaks against the label, in a few words.
    """

    row: int
    label: str
    suggestion: str
    score: float
    text: str
    why: str


@dataclass(frozen=True)
class Twins:
    """Two labels that may be one under two names.

    Attributes:
        first: a label.
        second: the other one.
        confused: how often a text of one seems more like the other one than a text of that does: a half where nobody can tell them apart.
        texts: how many texts of one are taken for the other.
    """

    first: str
    second: str
    confused: float
    texts: int


@dataclass(frozen=True)
class Check:
    """What is doubtful in labelled texts. `print(check)` shows the worst of each kind.

    Attributes:
        name: what messages call the data.
        texts: how many were checked.
        suspects: texts whose labels may be wrong, most suspicious first.
        outsiders: texts that seem to belong to none of the labels, most suspicious first.
        copies: groups of equal and nearly equal texts, largest first.
        twins: pairs of labels that may be one, most alike first.
        small: (label, different texts) of labels with fewer than five, smallest first.
        warnings: sentences about what else is odd in the data, such as labels that differ only in case.

    Example:
        >>> import retvec_lite as rl
        >>> texts = ["wake me at six", "wake me at noon", "where is my parcel", "track my order now"]
        >>> rl.check(texts, ["alarm", "alarm", "delivery", "delivery"]).small
        (('alarm', 2), ('delivery', 2))
    """

    name: str
    texts: int
    suspects: tuple[Suspect, ...]
    outsiders: tuple[Suspect, ...]
    copies: tuple[CopyGroup, ...]
    twins: tuple[Twins, ...]
    small: tuple[tuple[str, int], ...]
    warnings: tuple[str, ...] = ()

    @property
    def repeats(self) -> int:
        """How many texts repeat another one: all of each group but one."""
        return sum(len(group.rows) - 1 for group in self.copies)

    @property
    def contradictions(self) -> tuple[CopyGroup, ...]:
        """Groups of copies under different labels."""
        return tuple(group for group in self.copies if len(group.labels) > 1)

    @checked
    def to_csv(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write suspects, then outsiders, as a CSV file with the columns row, label, suggestion, score and text.

        Raises:
            RetvecLiteError: for a file that exists without `force`, or cannot be written.
        """
        columns = ("row", "label", "suggestion", "score", "text")
        found = (*self.suspects, *self.outsiders)
        write_csv(path, columns, ([getattr(each, name) for name in columns] for each in found), force=force)

    def __str__(self) -> str:
        """Return what a terminal shows: the worst of each kind."""
        count = len(self.suspects)
        parts: list[str | Table] = [
            f"{self.name}: {counted(self.texts, 'text')}, of which {count:,} may have a wrong label. {COUNTED}"
        ]
        parts += [f"- {printable(warning)}" for warning in self.warnings]
        parts += _shown("Labels that may be wrong", self.suspects)
        parts += _shown("Texts that seem to belong to no label", self.outsiders)
        if self.copies:
            parts.append(f"\n{self.repeats:,} texts repeat others, or nearly so.")
        if self.contradictions:
            groups = [(one_line(group.text, _WIDTH), ", ".join(group.labels)) for group in self.contradictions[:_SHOWN]]
            title = f"Copies under different labels{_of(self.contradictions)}"
            parts.append(Table(title, ("text", "labels"), groups))
        if self.twins:
            pairs = [(pair.first, pair.second, f"{pair.confused:.0%}") for pair in self.twins[:_SHOWN]]
            title = f"Labels that may be one under two names{_of(self.twins)}"
            parts.append(
                Table(
                    title,
                    ("label", "label", "confused (by chance 50%)"),
                    pairs,
                    frozenset(("confused (by chance 50%)",)),
                )
            )
        if self.small:
            counts = [(label, f"{texts:,}") for label, texts in self.small[:_SHOWN]]
            title = f"Labels with fewer than {FEWEST_TEXTS} different texts{_of(self.small)}"
            parts.append(Table(title, ("label", "texts"), counts, frozenset(("texts",))))
        return draw(*parts)


def _shown(title: str, found: Sequence[Suspect]) -> list[Table]:
    rows = [(f"{each.row:,}", each.label, each.why, one_line(each.text, _WIDTH)) for each in found[:_SHOWN]]
    columns = ("row", "label", "why", "text")
    return [Table(title + _of(found), columns, rows, frozenset(("row",)))] if found else []


def _of(found: Sequence[object]) -> str:
    return f" ({_SHOWN} of {len(found):,})" if len(found) > _SHOWN else ""


@dataclass(frozen=True)
class HeldOutAnswers:
    """Texts, and the answers of fits that had not seen them.

    Attributes:
        dataset: the texts as they were given, with their labels. Cross-validated, these are all training texts, in their order.
        rows: row of each text in the training data, counted from 0; empty where the texts are from elsewhere.
        outcomes: what was answered, by the way in which the texts are written.
        warnings: sentences about what is odd in the data.
    """

    dataset: Dataset
    rows: tuple[int, ...]
    outcomes: Mapping[Way, Outcome]
    warnings: tuple[str, ...] = ()

    @property
    def clean(self) -> Outcome:
        """What was answered to the texts as they are."""
        return self.outcomes[Way.CLEAN]

    @functools.cached_property
    def validation(self) -> Mapping[float, Evaluation]:
        """The scores at each share of mistyped words; none without texts."""
        return {way.value: score(each) for way, each in self.outcomes.items() if way.rate is not None and each.texts}

    @functools.cached_property
    def check(self) -> Check:
        """What the answers say about the labels, computed once: a training and its page both tell it."""
        return check_answers(self)


def check_answers(found: HeldOutAnswers) -> Check:
    """Return what the answers to held-out texts say about their labels."""
    dataset, labels = found.dataset, found.clean.labels
    rows = found.rows or dataset.rows or range(len(dataset))
    probabilities = found.clean.probabilities.astype(np.float64)
    copies = copy_groups(dataset.texts, dataset.labels, dataset.groups, rows)
    twins = find_twins(dataset, labels, probabilities)
    names = {frozenset((pair.first, pair.second)) for pair in twins}
    find = _doubtful_sets if dataset.multi_label else _doubtful
    suspects, outsiders = (
        tuple(
            Suspect(rows[place], dataset.labels[place], suggestion, score, dataset.texts[place], why)
            for score, place, suggestion, why in sorted(each, key=lambda item: (-item[0], item[1]))
            if frozenset((dataset.labels[place], suggestion)) not in names  # nobody can tell which of the two it is
        )
        for each in find(dataset, labels, probabilities)
    )
    return Check(
        dataset.path.name,
        len(dataset),
        suspects,
        outsiders,
        tuple(sorted(copies, key=lambda group: (-len(group.rows), group.rows))),
        twins,
        _small(dataset),
        found.warnings,
    )


_Probabilities = npt.NDArray[np.float64]
"""Of each label, `[texts, labels]`: float32 would make the most suspicious ones all alike."""

_Found = tuple[float, int, str, str]
"""Score, place of the text, suggestion, and why."""


def suspicion(truth: npt.NDArray[np.int64], probabilities: _Probabilities) -> npt.NDArray[np.float64]:
    """Return how suspicious the label of each text is, float64 `[texts]`: how probable it is, for all others know, that it is wrong.

    Args:
        truth: place of the label of each text, `[texts]`.
        probabilities: of each label, `[texts, labels]`.
    """
    scores: npt.NDArray[np.float64] = 1.0 - np.take_along_axis(probabilities, truth[:, None], axis=1)[:, 0]
    return scores


def _doubtful(
    dataset: Dataset, labels: Sequence[str], probabilities: _Probabilities
) -> tuple[list[_Found], list[_Found]]:
    """Return the doubtful texts where each has one label: those of another label, and those of none."""
    truth = label_table(dataset.label_sets, labels).argmax(axis=1)
    scores = suspicion(truth, probabilities)
    others = probabilities.copy()
    np.put_along_axis(others, truth[:, None], -1.0, axis=1)
    best, most = others.argmax(axis=1), others.max(axis=1)
    texts = np.maximum(np.bincount(truth, minlength=len(labels)), 1)
    usual = np.bincount(truth, 1.0 - scores, len(labels)) / texts
    doubtful = (most >= _TIMES * (1.0 - scores)) & (most >= _USUAL * usual[best])
    found = {
        place: (float(scores[place]), place, labels[best[place]], _taken(labels[best[place]], most[place]))
        for place in np.flatnonzero(doubtful).tolist()
    }

    # Copies under several labels: what they are called most often is right, together with what the others say.
    for places in map(np.array, alike_but_for_labels(dataset.texts, dataset.labels, dataset.groups)):
        own = truth[places]
        if len(set(own.tolist())) > 1:
            votes = probabilities[places].mean(axis=0) + np.bincount(own, minlength=len(labels)) / len(own)
            right = int(votes.argmax())
            for place in places[own != right].tolist():
                score = max(1.0 - float(votes[truth[place]]) / 2, float(scores[place]))
                found[place] = (score, place, labels[right], "a copy has another label")

    # Texts of no label get a wrong answer that is less sure than nearly all right answers, and improbable.
    surest, answers = probabilities.max(axis=1), probabilities.argmax(axis=1)
    right_answers = surest[answers == truth]
    least = min(0.5, float(np.quantile(right_answers, _SURE))) if len(right_answers) else 0.0
    none = [
        (1.0 - float(surest[place]), place, "", f"no label has more than {surest[place]:.0%}")
        for place in np.flatnonzero((surest < least) & (answers != truth)).tolist()
        if place not in found
    ]
    return list(found.values()), none


def _doubtful_sets(
    dataset: Dataset, labels: Sequence[str], probabilities: _Probabilities
) -> tuple[list[_Found], list[_Found]]:
    """Return the doubtful texts where each has any number of labels: those that lack one or have one too many."""
    truth = label_table(dataset.label_sets, labels)
    away = np.abs(truth - probabilities)
    found: list[_Found] = []
    for place in np.flatnonzero(away.max(axis=1) >= _WRONG).tolist():
        worst = int(away[place].argmax())
        right = truth[place] ^ (away[place] >= _WRONG)
        suggestion = join_labels(tuple(label for label, is_right in zip(labels, right, strict=True) if is_right))
        share = float(probabilities[place, worst])
        why = f"has {labels[worst]!r} with {share:.0%} only" if truth[place, worst] else _taken(labels[worst], share)
        found.append((float(away[place, worst]), place, suggestion, why))
    return found, []


def _taken(label: str, share: float) -> str:
    return f"taken for {label!r} with {share:.0%}"


def find_twins(dataset: Dataset, labels: Sequence[str], probabilities: _Probabilities) -> tuple[Twins, ...]:
    """Return the pairs of labels that seem to be one: most of their texts are taken for one of the two, but chance decides for which.

    Texts of other labels are not, or nothing is told from anything; where there are no others, there is nothing to merge. Whether chance
    decides is the area under the ROC curve of their probabilities, over texts that have one of the two.
    """
    has = label_table(dataset.label_sets, labels)
    answers = np.eye(len(labels), dtype=bool)[probabilities.argmax(axis=1)]
    # Counts are exact in floats, whose product is many times as fast.
    confused = (has.T.astype(np.float64) @ answers).astype(np.int64)
    found = []
    counts = has.sum(axis=0)
    often = _CONFUSED * np.minimum(counts[:, None], counts)
    for first, second in zip(*np.nonzero(np.triu(confused + confused.T >= np.maximum(often, 1), 1)), strict=True):
        chosen = has[:, first] ^ has[:, second]
        pair = probabilities[np.ix_(chosen, (first, second))]
        known = answers[np.ix_(chosen, (first, second))].any(axis=1)
        if len(pair) < 2 * FEWEST_TEXTS or not 0 < has[chosen, first].sum() < len(pair):
            continue
        others = ~(has[:, first] | has[:, second])
        if not others.any() or known.mean() - answers[np.ix_(others, (first, second))].any(axis=1).mean() < _TOGETHER:
            continue
        lead, is_first = pair[:, 0] - pair[:, 1], has[chosen, first]
        area = auroc(lead[is_first], lead[~is_first])
        if area <= _APART:
            texts = int(confused[first, second] + confused[second, first])
            found.append(Twins(labels[first], labels[second], 1.0 - area, texts))
    return tuple(sorted(found, key=lambda pair: -pair.confused))


def _small(dataset: Dataset) -> tuple[tuple[str, int], ...]:
    different = {
        (label, group)
        for names, group in zip(dataset.label_sets, dataset.groups.tolist(), strict=True)
        for label in names
    }
    counts = Counter(label for label, _ in different)
    few = [(label, count) for label, count in counts.items() if count < FEWEST_TEXTS]
    return tuple(sorted(few, key=lambda item: (item[1], item[0])))
