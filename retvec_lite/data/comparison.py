"""Two classifiers on the same texts: what the new one gains and loses, and whether that could be chance."""

import dataclasses
import os
from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from retvec_lite.arguments import checked
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.labels import join_labels
from retvec_lite.files import write_csv
from retvec_lite.terminal import Table, counted, draw, one_line, percent

GAINED, LOST, WRONG = "gained", "lost", "both wrong"
"""What became of a text that the two answer differently: wrong before and right now, right before and wrong now, wrong twice."""

NONE: Final = "(none)"
"""What tables show where a text has no label; CSV files have an empty cell."""

_CHANCE: Final = 0.05
"""Least p-value of a difference that may be chance."""

_FEWEST: Final = 6
"""Texts that must be gained or lost before a difference can be more than chance: 2 / 2 ** 5 is above `_CHANCE`."""

_LABELS: Final = 10
_TEXTS: Final = 5
_LENGTH: Final = 60
"""Labels, texts of a kind, and characters of a text that are printed; `to_dict` and CSV files have them all."""


class GivenLabels(NamedTuple):
    """The labels that a text got, none or several, sorted, and the probability of the answer.

    That is the probability of the least probable label; without one, of the label that was rejected, or None where a text may have several.
    """

    labels: tuple[str, ...]
    probability: float | None


class Change(NamedTuple):
    """A text that the two answer differently.

    Attributes:
        row: in the data, counted from 0, without the header.
        label: the right one, as it stands in the data.
        old: answer of the old one; empty where it gives no label, with `|` between several.
        old_probability: how probable that is, see `GivenLabels`.
        new: answer of the new one.
        new_probability: likewise.
        change: "gained", "lost" or "both wrong".
        text: the text.
    """

    row: int
    label: str
    old: str
    old_probability: float | None
    new: str
    new_probability: float | None
    change: str
    text: str


class LabelChange(NamedTuple):
    """What became of the texts of a label.

    Where a text may have several, a text is right for a label if it gets the label exactly where it has it.

    Attributes:
        label: the label; None for the texts that belong to none.
        texts: how many have it.
        old: share that the old one got right; with several labels a text, of all texts.
        new: likewise.
        gained: texts that only the new one got right.
        lost: texts that only the old one got right.
    """

    label: str | None
    texts: int
    old: float
    new: float
    gained: int
    lost: int


@dataclass(frozen=True)
class Comparison:
    """Two classifiers on the same labelled texts. `print(comparison)` shows what changed and whether it could be chance.

    For texts of no label "unknown" is right, for all others it is wrong.

    Attributes:
        old: what the old classifier is called.
        new: what the new one is called.
        source: where the texts came from.
        texts: how many there are.
        old_accuracy: share that the old one got right; with several labels a text, exactly right.
        new_accuracy: likewise.
        old_unanswered: texts that got no label from the old one.
        new_unanswered: likewise.
        gained: texts that only the new one got right.
        lost: texts that only the old one got right.
        p_value: chance that two equally good classifiers differ at least as much (exact McNemar test, two-sided).
        labels: what became of the texts of each label, those that lost most first.
        changes: texts that the two answer differently: lost ones first, then gained ones, then others; of each kind those first of whose
            answer the new one is surest.
        only_old: labels that only the old one knows.
        only_new: labels that only the new one knows.
        left_out: sentences about rows that were not compared.

    Example:
        >>> import retvec_lite as rl
        >>> comparison = rl.compare("classifier-int8.tflite", "classifier-int8.tflite", ["wake me at six"], ["alarm"])
        >>> comparison.gained, comparison.lost, comparison.verdict
        (0, 0, 'Both are right about the same texts.')
    """

    old: str
    new: str
    source: str
    texts: int
    old_accuracy: float
    new_accuracy: float
    old_unanswered: int
    new_unanswered: int
    gained: int
    lost: int
    p_value: float
    labels: tuple[LabelChange, ...]
    changes: tuple[Change, ...]
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Whether the new one is better, in a sentence or two."""
        if not self.gained + self.lost:
            return "Both are right about the same texts."
        counts = f"{counted(self.gained, 'text')} gained, {self.lost:,} lost"
        test = f"{percent(self.p_value, 1)} of comparisons (exact McNemar test, p = {self.p_value:.2g})"
        if self.p_value < _CHANCE:
            which = "better" if self.gained > self.lost else "worse"
            return f"The new one is {which}: {counts}. Two equally good ones differ as much in {test}."
        few = (
            f"With fewer than {_FEWEST} texts gained or lost nothing can be said."
            if self.gained + self.lost < _FEWEST
            else "More texts would tell."
        )
        return f"The difference could be chance: {counts}. Two equally good ones differ as much in {test}. {few}"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        lists = {name: [row._asdict() for row in getattr(self, name)] for name in ("labels", "changes")}
        return {**dataclasses.asdict(self), **lists, "verdict": self.verdict}

    @checked
    def to_csv(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the texts that the two answer differently, all of them, in UTF-8.

        Raises:
            RetvecLiteError: for a file that exists without `force`, or cannot be written.
        """
        write_csv(path, Change._fields, self.changes, force=force)

    def __str__(self) -> str:
        difference = 100 * (self.new_accuracy - self.old_accuracy)
        parts: list[str | Table] = [
            f"{counted(self.texts, 'text')} of {self.source}: {percent(self.old_accuracy, 1)} right with the old one, {percent(self.new_accuracy, 1)} with the "
            f"new one ({difference:+.1f} points).",
            self.verdict,
            f"Old: {one_line(self.old)}",
            f"New: {one_line(self.new)}",
            *self.left_out,
        ]
        if self.old_unanswered or self.new_unanswered:
            parts.append(
                f"No label: {counted(self.old_unanswered, 'text')} with the old one, {self.new_unanswered:,} with the new one; that is wrong "
                "where a text has one."
            )
        for which, names in (("old", self.only_old), ("new", self.only_new)):
            if names:
                more = f" and {len(names) - _LABELS:,} more" if len(names) > _LABELS else ""
                count = sum(row.texts for row in self.labels if row.label in names)
                of_texts = f", the label of {counted(count, 'text')}" if count else ""
                parts.append(f"Only the {which} one knows {', '.join(map(one_line, names[:_LABELS]))}{more}{of_texts}.")
        if moved := [row for row in self.labels if row.gained or row.lost]:
            title = "Labels" if len(moved) <= _LABELS else f"{_LABELS} of {len(moved):,} labels whose texts changed"
            # Those that lost most and those that gained most.
            shown = moved if len(moved) <= _LABELS else [*moved[: _LABELS // 2], *moved[-_LABELS // 2 :]]
            columns = ("label", "texts", "old", "new", "gained", "lost")
            rows = [
                (one_line(row.label or NONE), f"{row.texts:,}", *shares, f"{row.gained:,}", f"{row.lost:,}")
                for row in shown
                for shares in [(percent(row.old, 1), percent(row.new, 1))]
            ]
            parts.append(Table(title, columns, rows, frozenset(columns[1:])))
        for what, title in ((LOST, "Lost"), (GAINED, "Gained"), (WRONG, "Wrong with both, in another way")):
            if found := [change for change in self.changes if change.change == what]:
                parts.append(_table(title, found))
        return draw(*parts)


def compare_answers(
    dataset: Dataset, old: Sequence[GivenLabels], new: Sequence[GivenLabels], *, none: Container[str] = ()
) -> Comparison:
    """Compare what two classifiers answered to the texts of some data; labels that mean `none` of the others are never right."""
    expected = [tuple(label for label in labels if label not in none) for labels in dataset.label_sets]
    rights = [
        [answer.labels == labels for answer, labels in zip(answers, expected, strict=True)] for answers in (old, new)
    ]
    changes = []
    for row, (one, other, was, now) in enumerate(zip(old, new, *rights, strict=True)):
        if one.labels != other.labels:
            change = GAINED if now else LOST if was else WRONG
            answers = (join_labels(one.labels), one.probability, join_labels(other.labels), other.probability)
            changes.append(Change(dataset.given_rows[row], dataset.labels[row], *answers, change, dataset.texts[row]))
    order = (LOST, GAINED, WRONG)
    changes.sort(key=lambda change: (order.index(change.change), -(change.new_probability or 0.0)))
    gained, lost = (sum(change.change == what for change in changes) for what in (GAINED, LOST))
    return Comparison(
        "the old one",
        "the new one",
        dataset.path.name,
        len(dataset),
        sum(rights[0]) / len(dataset),
        sum(rights[1]) / len(dataset),
        sum(not answer.labels for answer in old),
        sum(not answer.labels for answer in new),
        gained,
        lost,
        mcnemar(gained, lost),
        _by_label(dataset, expected, old, new),
        tuple(changes),
        left_out=dataset.left_out,
    )


def mcnemar(gained: int, lost: int) -> float:
    """Return the two-sided p-value of the exact McNemar test: how probable so uneven a split is where both sides are as probable.

    McNemar 1947, https://doi.org/10.1007/BF02295996. The sum of binomial coefficients is exact.

    Example:
        >>> from retvec_lite.data.comparison import mcnemar
        >>> mcnemar(0, 5), mcnemar(7, 7)
        (0.0625, 1.0)
    """
    count, term, tail = gained + lost, 1, 1
    for place in range(min(gained, lost)):
        term = term * (count - place) // (place + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << count))


def _by_label(
    dataset: Dataset, expected: Sequence[tuple[str, ...]], old: Sequence[GivenLabels], new: Sequence[GivenLabels]
) -> tuple[LabelChange, ...]:
    """Return what became of each label, those that lost most first."""
    several = dataset.multi_label
    texts = Counter[str | None]()
    # How many texts were right before or not, and are now or not.
    became: dict[str | None, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for labels, one, other in zip(expected, old, new, strict=True):
        texts.update(labels or (None,))
        # Where a text may have several, one that it does not have can be given, too.
        for label in {*labels, *one.labels, *other.labels} if several else labels or (None,):
            right = ((label in labels) == (label in found.labels) if several else found.labels == labels for found in (one, other))  # fmt: skip
            became[label][tuple(right)] += 1  # type: ignore[index]  # a pair
    found = []
    for label, pairs in became.items():
        # What neither text nor answers have is right.
        count = len(dataset) if several else pairs.total()
        gained, lost, wrong = pairs[False, True], pairs[True, False], pairs[False, False]
        old_share, new_share = ((count - each - wrong) / count for each in (gained, lost))
        found.append(LabelChange(label, texts[label], old_share, new_share, gained, lost))
    return tuple(sorted(found, key=lambda row: (row.gained - row.lost, -row.lost, row.label is None, row.label or "")))


def _table(title: str, changes: Sequence[Change]) -> Table:
    count = f"{len(changes):,}" if len(changes) <= _TEXTS else f"{_TEXTS} of {len(changes):,}"
    rows = []
    for change in changes[:_TEXTS]:
        old, new = _shown(change.old, change.old_probability), _shown(change.new, change.new_probability)
        text = one_line(" ".join(change.text.split()), _LENGTH)
        rows.append((f"{change.row:,}", one_line(change.label) or NONE, old, new, text))
    return Table(f"{title}: {count}", ("row", "label", "old", "new", "text"), rows, frozenset({"row"}))


def _shown(answer: str, probability: float | None) -> str:
    return f"{one_line(answer) or NONE}{'' if probability is None else f' {probability:.2f}'}"
