"""The section of doubtful texts, with filters that the script of page.html works."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from retvec_lite.data.suspects import Check
from retvec_lite.report_page.elements import Content, cut, element, section

_SHOWN: Final = 300
"""Doubtful texts on a page; a CSV has all."""

_LISTED: Final = 20
"""Pairs of labels, and small labels, that are named."""

_LONGEST: Final = 400
"""Code points of a text that are shown."""

_NAME: Final = 60
"""Code points of a label that are shown."""

_KINDS: Final = ("label may be wrong", "no label fits", "copies under different labels")


class _Doubt(NamedTuple):
    """A text, or copies of one: its kind, a number of `_KINDS`; its labels; the one suggested, or ""; where it is and why it is doubtful."""

    kind: int
    labels: Sequence[str]
    suggestion: str
    text: str
    place: str
    why: str


def doubtful(check: Check) -> Element:
    """Return the section of a check: labels that are alike or small, and doubtful texts, most suspicious first."""
    found = [*_contradictions(check), *_suspects(check)]
    copies = f" {check.repeats:,} of {check.texts:,} texts repeat another one." if check.repeats else ""
    if not found:
        note = f"No label of a text looks wrong.{copies}"
    else:
        note = f"Most suspicious first; rows are counted from 0, without the header.{copies}"
    if len(found) > _SHOWN:
        note += f" The first {_SHOWN:,} of {len(found):,} are here; retvec-lite check writes all of them to a CSV file."
    shown = found[:_SHOWN]
    title = f"Doubtful texts ({len(found):,})"
    return section("doubtful", title, note, *_labels(check), *(_texts(shown) if shown else ()), wide=True)


def _contradictions(check: Check) -> list[_Doubt]:
    rows = [f"{len(group.rows):,} copies, the first in row {group.rows[0]:,}" for group in check.contradictions]
    return [
        _Doubt(2, group.labels, "", group.text, place, "nobody can tell which label is right")
        for group, place in zip(check.contradictions, rows, strict=True)
    ]


def _suspects(check: Check) -> list[_Doubt]:
    return [
        _Doubt(
            0 if one.suggestion else 1,
            [one.label],
            one.suggestion,
            one.text,
            f"row {one.row:,}, score {one.score:.2f}",
            one.why,
        )
        for one in check.suspects
    ]


def _labels(check: Check) -> list[Element]:
    """Return lists of labels that may be one, and of small ones."""
    alike = [f"{_named(one.first)} and {_named(one.second)}: {one.confused:.0%} confused" for one in check.twins]
    small = [f"{_named(label)}: {texts:,}" for label, texts in check.small]
    found = []
    for title, lines in (("Labels that may be one", alike), ("Labels with few texts", small)):
        if lines:
            more = [f"and {len(lines) - _LISTED:,} more"] if len(lines) > _LISTED else []
            items = [element("li", line) for line in [*lines[:_LISTED], *more]]
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
        _choice("label", "Label", [(place, _named(labels[place])) for place in given]),
        _choice("suggestion", "Suggestion", [(place, _named(labels[place])) for place in suggested]),
    ]
    told = element("p", id="shown", role="status", class_="note")
    items = []
    for doubt in doubts:
        filtered = {
            "data_kind": doubt.kind,
            "data_label": " ".join(str(number[label]) for label in doubt.labels),
            "data_suggestion": number[doubt.suggestion] if doubt.suggestion else "",
        }
        names: list[Content] = [", ".join(map(_named, doubt.labels))]
        if doubt.suggestion:
            names.append(f" → {_named(doubt.suggestion)}")
        about = element("p", element("b", *names), f" ({doubt.why}; {doubt.place})", class_="meta")
        text = element("p", cut(doubt.text, _LONGEST), class_="text", dir="auto")
        items.append(element("li", text, about, **filtered))
    return [element("form", *filters, hidden="hidden"), told, element("ol", *items, id="doubts")]


def _choice(name: str, title: str, options: Sequence[tuple[int, str]]) -> Element:
    every = element("option", "all", value="")
    chosen = [element("option", told, value=value) for value, told in options]
    return element("label", title, element("select", every, *chosen, name=name))


def _named(label: str) -> str:
    """Return a label as it is shown. Where texts may have several, one may have none."""
    return cut(label, _NAME) or "no label"
