"""Sections of a page: what held-out texts say of a classifier, and what is doubtful in the data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from retvec_lite.data.copies import CopyGroup
from retvec_lite.data.outcome import Bools
from retvec_lite.data.rejection import Rejection
from retvec_lite.data.scores import Confusion, Evaluation
from retvec_lite.data.suspects import COUNTED, Check, HeldOutAnswers, Suspect
from retvec_lite.data.typos import Way
from retvec_lite.data.warnings import FEWEST_TEXTS
from retvec_lite.report_page.elements import (
    Chart,
    Content,
    bar,
    counts,
    cut,
    element,
    label_text,
    matrix,
    named,
    section,
    shares,
    table,
)
from retvec_lite.terminal import counted, percent

_LABELS: Final = 200
"""Labels in the table; `report.json` has all."""

_OPEN: Final = 12
"""Labels that are seen at once."""

_MATRIX: Final = 10
"""Columns that have room in a matrix on a phone."""

_TAKEN: Final = 3
"""Labels that those of a row were taken for."""


def answered(labels: Sequence[str], is_answered: Bools) -> dict[str, str]:
    """Return which share of each label's texts gets a label, right or wrong."""
    given, kept = Counter(labels), Counter(label for label, answer in zip(labels, is_answered, strict=True) if answer)
    return {label: f"{kept[label] / texts:.0%}" for label, texts in given.items()}


def labels_section(found: Evaluation, title: str, cells: Mapping[str, str]) -> Element:
    """Return the table of labels, the weakest first, with a last column of a cell for each label that has one."""
    taken: dict[str, list[Confusion]] = {}
    for mistake in found.confusions:
        taken.setdefault(mistake.expected, []).append(mistake)
    weakest = sorted(found.classes, key=lambda row: row.f1)
    rows: list[Sequence[Content | Sequence[Content]]] = []
    for row in weakest[:_LABELS]:
        others = [
            piece
            for one in taken.get(row.label, ())[:_TAKEN]
            for piece in (", ", named(one.predicted), f" ({one.texts:,})")
        ]
        name = [named(row.label), *([element("small", "taken for ", *others[1:])] if others else [])]
        rows.append((name, f"{row.texts:,}", f"{row.precision:.0%}", f"{row.recall:.0%}", cells.get(row.label, "")))
    columns = ("label", "texts", "precision", "recall", title)
    parts = [table(columns, rows[:_OPEN])]
    if more := rows[_OPEN:]:
        parts.append(element("details", element("summary", f"{len(more):,} more"), table(columns, more)))
    cut_off = f" {_LABELS} of {len(weakest):,} are here." if len(weakest) > _LABELS else ""
    note = f"The weakest first. Precision: how many answers with the label are right. Recall: how many of its texts get it.{cut_off}"
    return section("labels", "Labels", note, *parts)


def confusions_section(found: Evaluation) -> Element:
    """Return the matrix of the labels that are confused most often, which are all where there are few."""
    texts = {row.label: row.texts for row in found.classes}
    # Labels that are confused lie side by side.
    by_confusion = dict.fromkeys(label for row in found.confusions for label in (row.expected, row.predicted))
    labels = list(dict.fromkeys([*by_confusion, *texts]))
    if is_part := len(labels) > _MATRIX:
        labels = labels[: _MATRIX - 1]
    which = f"The {len(labels)} of {len(texts):,} labels that are confused most. " if is_part else ""
    note = f"{which}A row is a label, and its cells say for which labels its texts were taken, in percent: right on the diagonal."
    return section(
        "confusions", "Confusions", note, matrix(labels, [texts[name] for name in labels], found.confusions, is_part)
    )


def ways_section(held_out: HeldOutAnswers) -> Element:
    """Return how many texts are answered rightly as written, mistyped and disguised, and how many right answers are kept."""
    names = {
        way: f"{way.rate:.0%} of the words mistyped" if way.rate else "as written"
        for way in Way
        if way.rate is not None
    }
    if held_out.clean.decision.multi_label:
        scores = [_way(name, held_out.validation[way.value].micro_f1 or 0.0) for way, name in names.items()]
        return section("typos", "Typos", "F1 over all labels of all texts.", table(("texts", "F1"), scores))
    names[Way.DISGUISED] = "disguised"
    # The unknown label is one of them: telling its texts is right.
    right = {
        way: found.probabilities.argmax(axis=1) == found.truth
        for way, found in held_out.outcomes.items()
        if way in names
    }
    clean = right[Way.CLEAN]
    rows = []
    for way, hits in right.items():
        kept = f"{(hits & clean).sum() / max(clean.sum(), 1):.0%}" if hits is not clean else ""
        rows.append((*_way(names[way], float(hits.mean())), kept))
    note = "Disguised: lookalike letters, digits for letters, spaces, or words added. Kept: right as written, and still right."
    return section("typos", "Typos and disguises", note, table(("texts", "right", "kept"), rows))


def _way(name: str, share: float) -> tuple[Sequence[Content], str]:
    return [name, bar(share, percent(share, 1))], percent(share, 1)


def learning_section(
    points: Sequence[tuple[float, float]], score: str, largest: float | None, is_without_network: bool
) -> Element:
    """Return the learning curve, over the share of the largest label, which no classifier needs texts for."""
    floor = [] if largest is None else [largest]
    most = max(texts for texts, _ in points)
    chart = Chart(
        f"{score} by number of training texts",
        counts("training texts", most),
        shares(score, [*(value for _, value in points), *floor]),
    )
    if largest is not None:
        chart.line([(0, largest), (most, largest)], "guide")
        chart.note(most, largest, f"always the largest label: {largest:.0%}", "end")
    chart.line(points, "curve")
    for texts, value in points:
        chart.dot(texts, value, f"{counted(round(texts), 'text')}: {value:.1%}")
        # Near the axis there is no room on the left.
        place = ("end", 10.0) if texts > 0.2 * most else ("start", -18.0)
        chart.note(texts, value, f"{value:.1%}", *place)
    without = " Measured without the network." if is_without_network else ""
    return section(
        "learning", "Would more texts help?", f"A curve that still climbs says yes.{without}", chart.element()
    )


def calibration_section(found: Evaluation) -> Element:
    """Return the reliability diagram."""
    values = [value for part in found.reliability for value in (part.probability, part.accuracy)]
    across, up = shares("probability", values), shares("right answers", values)
    chart = Chart("how often answers are right, by their probability", across, up)
    chart.line([(across.low, up.low), (1, 1)], "guide")
    for part in found.reliability:
        told = f"{counted(part.texts, 'answer')} of about {part.probability:.0%}: {part.accuracy:.0%} right"
        chart.dot(part.probability, part.accuracy, told, 3 + 9 * float(np.sqrt(part.texts / found.texts)))
    note = (
        f"Of answers with a probability of 80%, eight in ten should be right: dots on the dashed line. Larger dots are more answers. "
        f"On average they are off by {found.calibration_error:.1%}."
    )
    return section("calibration", "Are the probabilities honest?", note, chart.element())


def coverage_section(found: Rejection) -> Element:
    """Return the accuracy of the answers when only the surest are given, and where the threshold is."""
    values = [point.accuracy for point in found.coverage]
    chart = Chart(
        "accuracy by the share of texts that are answered",
        shares("texts answered, the surest first"),
        shares("right answers", [*values, found.answered_accuracy]),
    )
    chart.line([(point.coverage, point.accuracy) for point in found.coverage], "curve")
    told = f"{percent(found.answered)} answered, {percent(found.answered_accuracy, 1)} of them right"
    chart.dot(found.answered, found.answered_accuracy, told, 5, "here")
    note = f"With its threshold, {told}; the others belong to none of the labels. Fewer answers are better ones."
    if found.answered == 1:
        note = f"All texts are answered, and {percent(found.answered_accuracy, 1)} of the answers are right. A threshold gives fewer and better answers."
    return section("answered", "Answers, or none", note, chart.element())


_SHOWN: Final = 150
"""Doubtful texts of a kind on a page; a CSV has all."""

_LISTED: Final = 20
"""Pairs of labels, and small labels, that are named."""

_LONGEST: Final = 400
"""Code points of a text that are shown."""

_COPIES: Final = 5
"""Rows of copies that are named."""

_KINDS: Final = ("label may be wrong", "seems to belong to no label", "copies under different labels")


class _Doubt(NamedTuple):
    """A text, or copies of one: its kind, a number of `_KINDS`; its labels; the one suggested, or ""; where it is, and why it is doubtful."""

    kind: int
    labels: Sequence[str]
    suggestion: str
    text: str
    place: str
    why: str


def doubtful(check: Check) -> Element:
    """Return the section of a check: warnings, labels that are alike or small, and doubtful texts, most suspicious first."""
    kinds = [[_suspect(0, one) for one in check.suspects], [_suspect(1, one) for one in check.outsiders]]
    kinds.append([_copies(group) for group in check.contradictions])
    total, shown = sum(map(len, kinds)), [doubt for kind in kinds for doubt in kind[:_SHOWN]]
    note = f"Most suspicious first. {COUNTED}" if total else "No label looks wrong."
    if check.repeats:
        note += f" {check.repeats:,} of {check.texts:,} texts repeat others, or nearly so."
    if len(shown) < total:
        note += f" The first {_SHOWN} of each kind are here; retvec-lite check writes all to a CSV file."
    title = f"Doubtful texts ({total:,})"
    return section("doubtful", title, note, *_lists(check), *(_texts(shown) if shown else ()), wide=True)


def _suspect(kind: int, one: Suspect) -> _Doubt:
    return _Doubt(kind, [one.label], one.suggestion, one.text, f"row {one.row:,}, score {one.score:.2f}", one.why)


def _copies(group: CopyGroup) -> _Doubt:
    more = ", ..." if len(group.rows) > _COPIES else ""
    place = f"rows {', '.join(f'{row:,}' for row in group.rows[:_COPIES])}{more}"
    return _Doubt(2, group.labels, "", group.text, place, f"{len(group.rows):,} copies")


def _lists(check: Check) -> list[Element]:
    """Return lists of warnings, of labels that may be one, and of those with few texts."""
    alike = [(named(one.first), " and ", named(one.second), f": {one.confused:.0%}") for one in check.twins]
    small = [(named(label), f": {texts:,}") for label, texts in check.small]
    found = []
    for title, lines in (
        ("Warnings", [(cut(warning, _LONGEST),) for warning in check.warnings]),
        ("Labels that may be one, by how often they are confused (50% is chance)", alike),
        (f"Labels with fewer than {FEWEST_TEXTS} different texts", small),
    ):
        if lines:
            more = [(f"and {len(lines) - _LISTED:,} more",)] if len(lines) > _LISTED else []
            items = [element("li", *line) for line in [*lines[:_LISTED], *more]]
            found.append(element("div", element("h3", title), element("ul", *items)))
    return found


def _texts(doubts: Sequence[_Doubt]) -> list[Element]:
    """Return the filters, which show where scripts run, and the list."""
    kinds = sorted({doubt.kind for doubt in doubts})
    labels = sorted({label for doubt in doubts for label in (*doubt.labels, doubt.suggestion)})
    number = {label: place for place, label in enumerate(labels)}
    given = sorted({number[label] for doubt in doubts for label in doubt.labels})
    suggested = sorted({number[doubt.suggestion] for doubt in doubts if doubt.suggestion})
    search = element("input", type="search", name="search", autocomplete="off")
    filters = [
        element("label", "Search", search),
        _choice("kind", "Kind", [(kind, _KINDS[kind]) for kind in kinds]),
        _choice("label", "Label", [(place, label_text(labels[place])) for place in given]),
        _choice("suggestion", "Suggestion", [(place, label_text(labels[place])) for place in suggested]),
    ]
    told = element("p", id="shown", role="status", class_="note")
    items = []
    for doubt in doubts:
        filtered = {
            "data_kind": doubt.kind,
            "data_label": " ".join(str(number[label]) for label in doubt.labels),
            "data_suggestion": number[doubt.suggestion] if doubt.suggestion else "",
        }
        names = [piece for label in doubt.labels for piece in (", ", named(label))][1:]
        if doubt.suggestion:
            names += [" → ", named(doubt.suggestion)]
        about = element("p", element("b", *names), f" ({doubt.why}; {doubt.place})", class_="meta")
        text = element("p", cut(doubt.text, _LONGEST), class_="text", dir="auto")
        items.append(element("li", text, about, **filtered))
    return [element("form", *filters, hidden="hidden"), told, element("ol", *items, id="doubts")]


def _choice(name: str, title: str, options: Sequence[tuple[int, str]]) -> Element:
    every = element("option", "all", value="")
    chosen = [element("option", told, value=value) for value, told in options]
    return element("label", title, element("select", every, *chosen, name=name))
