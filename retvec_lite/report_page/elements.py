"""Elements of a page, and charts as SVG, which classes of page.html colour in light, in the dark and on paper.

Whatever texts and labels hold becomes characters that are seen: none is markup, and none turns the line.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple
from xml.etree.ElementTree import Element, tostring

import numpy as np

from retvec_lite.data.plots import axis_name, axis_start
from retvec_lite.data.scores import Confusion
from retvec_lite.terminal import printable

Content = Element | str

_NAME: Final = 60
"""Code points of a label that are shown."""


def element(name: str, /, *content: Content, **attributes: object) -> Element:
    r"""Return an element; `class_` stands for the attribute `class`, and `_` within a name for `-`.

    Example:
        >>> from retvec_lite.report_page.elements import element, markup
        >>> markup(element("p", "1 < 2 ", element("b", "\0"), class_="note"))
        '<p class="note">1 &lt; 2 <b>\\x00</b></p>'
    """
    made = Element(name, {key.rstrip("_").replace("_", "-"): _seen(str(value)) for key, value in attributes.items()})
    for part in content:
        if isinstance(part, Element):
            made.append(part)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + _seen(part)
        else:
            made.text = (made.text or "") + _seen(part)
    return made


def markup(made: Element) -> str:
    """Return an element as HTML."""
    return tostring(made, encoding="unicode", method="html")


def cut(text: str, most: int) -> str:
    """Return a text of `most` code points at most, the last an ellipsis where something was cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def label_text(label: str) -> str:
    """Return a label as it is shown. Where texts may have several, one may have none."""
    return cut(label, _NAME) if label.strip() else "no label"


def named(label: str) -> Element:
    """Return a label within a line, whatever the direction of its letters."""
    return element("bdi", label_text(label))


def section(name: str, title: str, note: str, *content: Content, wide: bool = False) -> Element:
    """Return a section with a heading and a sentence that says how to read it."""
    kind = {"class_": "wide"} if wide else {}
    return element("section", element("h2", title), element("p", note, class_="note"), *content, id=name, **kind)


def table(columns: Sequence[str], rows: Iterable[Sequence[Content | Sequence[Content]]]) -> Element:
    """Return a table. The first cell of a row names it; a cell may hold several pieces."""
    lines = []
    for row in rows:
        cells = [[cell] if isinstance(cell, str | Element) else cell for cell in row]
        name = element("th", *cells[0], scope="row")
        lines.append(element("tr", name, *(element("td", *cell) for cell in cells[1:])))
    head = element("thead", element("tr", *(element("th", column, scope="col") for column in columns)))
    return element("table", head, element("tbody", *lines))


def _seen(text: str) -> str:
    """Return a text with one kind of line ends, and with control characters and halves of surrogate pairs escaped, which no file can hold."""
    return printable(text.replace("\r\n", "\n").replace("\r", "\n")).encode("utf-8", "backslashreplace").decode()


_WIDTH, _HEIGHT = 340, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 22, 14, 42
"""Sizes of a chart, and of what surrounds its plot, in CSS pixels on a phone."""

_CELL: Final = 24
_NAMES: Final = 128
_HEAD: Final = 18
_LETTERS: Final = 14
"""Of a matrix: the size of a cell, the room for names of rows and numbers of columns, and how many letters of a name have room."""


class Axis(NamedTuple):
    """A linear axis from `low` to `high`, with ticks at some of its values, told by `told`."""

    title: str
    low: float
    high: float
    ticks: Sequence[float]
    told: Callable[[float], str]

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)


def shares(title: str, values: Sequence[float] = ()) -> Axis:
    """Return an axis of shares, up to 100 %, that starts a little below the least of some values and says so; at 0 without any."""
    low = axis_start(values) if values else 0.0
    step = 0.25 if not low else 0.05 if low >= 0.8 else 0.1 if low >= 0.5 else 0.2
    ticks = [1 - place * step for place in range(round((1 - low) / step + 0.499) + 1) if 1 - place * step > low - 1e-9]
    return Axis(axis_name(title, low), low, 1.0, ticks, lambda value: f"{value:.0%}")


def counts(title: str, most: float) -> Axis:
    """Return an axis of counts from 0 to `most`, with two to five ticks at round values."""
    size = 10 ** math.floor(math.log10(most))
    step = next(step for step in (size / 5, size / 2, size, 2 * size) if most / step <= 5)
    step = max(step, 1)
    return Axis(
        title, 0.0, most, [place * step for place in range(int(most / step) + 1)], lambda value: f"{value:,.0f}"
    )


class Chart:
    """A plot with two axes, to draw on."""

    def __init__(self, about: str, x: Axis, y: Axis) -> None:
        """Draw the axes; `about` says what the picture shows to those who do not see it."""
        self._x, self._y = x, y
        self._drawn: list[Element] = []
        self._about = about
        right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        for value in y.ticks:
            place = self._place(x.low, value)[1]
            self._draw("line", class_="grid", x1=_LEFT, x2=right, y1=place, y2=place)
            self._text(y.told(value), _LEFT - 6, float(place) + 4, text_anchor="end")
        for value in x.ticks:
            place = self._place(value, y.low)[0]
            self._draw("line", class_="tick", x1=place, x2=place, y1=bottom, y2=bottom + 4)
            self._text(x.told(value), float(place), bottom + 16, text_anchor="middle")
        self._text(x.title, (_LEFT + right) / 2, _HEIGHT - 6, text_anchor="middle", class_="title")

    def line(self, points: Iterable[tuple[float, float]], kind: str) -> None:
        """Draw a line through points; `kind` is a class of it."""
        self._draw("polyline", class_=kind, points=" ".join(",".join(self._place(*point)) for point in points))

    def dot(self, x: float, y: float, told: str, radius: float = 4.0, kind: str = "dot") -> None:
        """Draw a dot, which tells something where a pointer rests on it."""
        cx, cy = self._place(x, y)
        self._drawn.append(element("circle", element("title", told), class_=kind, cx=cx, cy=cy, r=f"{radius:.1f}"))

    def note(self, x: float, y: float, told: str, anchor: str = "start", above: float = 6) -> None:
        """Write a few words `above` a place of the plot."""
        left, top = map(float, self._place(x, y))
        self._text(told, left, top - above, text_anchor=anchor)

    def element(self) -> Element:
        """Return the picture, and over it the name of the vertical axis."""
        picture = element(
            "svg", *self._drawn, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", width=_WIDTH, role="img", aria_label=self._about
        )
        return element("div", element("div", self._y.title, class_="axis"), picture, class_="chart")

    def _place(self, x: float, y: float) -> tuple[str, str]:
        across = _LEFT + self._x.share(x) * (_WIDTH - _LEFT - _RIGHT)
        down = _TOP + (1 - self._y.share(y)) * (_HEIGHT - _TOP - _BOTTOM)
        return f"{across:.1f}", f"{down:.1f}"

    def _draw(self, name: str, **attributes: object) -> None:
        self._drawn.append(element(name, **attributes))

    def _text(self, text: str, x: float, y: float, **attributes: object) -> None:
        self._drawn.append(element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", **attributes))


def bar(share: float, told: str) -> Element:
    """Return a bar of a share of its width."""
    track, fill = (
        element("rect", class_=name, width=f"{width:.2%}", height=8, rx=2)
        for name, width in (("track", 1.0), ("fill", share))
    )
    return element("svg", track, fill, class_="bar", width="100%", height=8, role="img", aria_label=told)


def matrix(labels: Sequence[str], texts: Sequence[int], confusions: Sequence[Confusion], is_part: bool) -> Element:
    """Return a table of colours: a row for each label, and which shares of its texts were taken for what, in percent.

    Where the labels are a part of all, a last column is for what was taken for others.
    """
    number = {label: place for place, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels) + is_part), int)
    np.fill_diagonal(table, texts)
    for row in confusions:
        if row.expected in number:
            place = number[row.expected]
            table[place, number.get(row.predicted, len(labels))] += row.texts
            table[place, place] -= row.texts
    drawn = []
    columns = [*labels, *(["others"] if is_part else [])]
    for column, name in enumerate(columns):
        told, shift = (name, 0.9) if column == len(labels) else (f"{column + 1}", 0.5)
        drawn.append(_name(told, name, _NAMES + (column + shift) * _CELL, _HEAD - 6, "middle"))
    for place, label in enumerate(labels):
        y = _HEAD + place * _CELL
        drawn.append(_name(f"{_squeezed(label)} {place + 1}", label, _NAMES - 6, y + _CELL / 2 + 4, "end"))
        for column, count in enumerate(table[place].tolist()):
            told = f"{count:,} of {texts[place]:,} texts of {label_text(label)}: {label_text(columns[column])}"
            box = element("g", element("title", told), *_cell(count / max(texts[place], 1), column == place))
            box.set("transform", f"translate({_NAMES + column * _CELL} {y})")
            drawn.append(box)
    # The name of the last column is wider than the column.
    width, height = _NAMES + len(columns) * _CELL + 20 * is_part, _HEAD + len(labels) * _CELL
    about = f"Confusions of {len(labels)} labels; the table of labels says the same in words."
    size: dict[str, Any] = {"viewBox": f"0 0 {width} {height}", "width": width}
    return element("svg", *drawn, class_="matrix", role="img", aria_label=about, **size)


def _cell(share: float, is_right: bool) -> list[Element]:
    size: dict[str, Any] = {"x": 1, "y": 1, "width": _CELL - 2, "height": _CELL - 2, "rx": 2}
    if not share:
        return [element("rect", class_="empty", **size)]
    # A single mistake among many texts is seen, too.
    box = element("rect", class_="right" if is_right else "wrong", fill_opacity=f"{0.15 + 0.85 * share:.2f}", **size)
    told = f"{100 * share:.0f}" if share >= 0.005 else "<1"
    kind = {"class_": "strong"} if share > 0.5 else {}
    return [box, element("text", told, x=_CELL / 2, y=_CELL / 2 + 4, text_anchor="middle", **kind)]


def _name(told: str, whole: str, x: float, y: float, anchor: str) -> Element:
    title = element("title", label_text(whole))
    return element("text", title, told, x=f"{x:g}", y=f"{y:g}", text_anchor=anchor, class_="names")


def _squeezed(label: str) -> str:
    """Return a label with its middle left out where it is long: many labels begin alike."""
    label = label_text(label)
    return label if len(label) <= _LETTERS else f"{label[: _LETTERS // 2]}…{label[1 - _LETTERS // 2 :]}"
