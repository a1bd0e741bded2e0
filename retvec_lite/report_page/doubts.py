"""The section of doubtful texts, with filters that the script of page.html works."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from retvec_lite.data.copies import CopyGroup
from retvec_lite.data.suspects import COUNTED, Check, Suspect
from retvec_lite.data.warnings import FEW
from retvec_lite.report_page.elements import cut, element, label_text, named, section

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
        (f"Labels with fewer than {FEW} different texts", small),
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
