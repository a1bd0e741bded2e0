"""Elements of a page. Whatever texts and labels hold becomes characters that are seen: none is markup, and none turns the line."""

from collections.abc import Iterable, Sequence
from typing import Final
from xml.etree.ElementTree import Element, tostring

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
