"""A text in the order in which it is displayed: without what was typed and taken back, and read from left to right where an override turns it.

Both hide words from a program, but not from a person (Boucher et al. 2021, "Bad Characters"). Levels are those of the Unicode Bidirectional
Algorithm (UAX #9, rules X1 to X8 and L2), as far as they matter: what no override turns is read as it was written.
"""

import functools
import re
from typing import Final

from retvec_lite.contract import BLANK
from retvec_lite.kinds import FROM_RIGHT, MARKS, SIGNS, class_of

DIRECTIONS: Final = ((0x202A, 0x202E), (0x2066, 0x2069))
"""What begins and ends embeddings, overrides and isolates."""

BACKSPACES: Final = "\b\x7f"
"""What takes back the letter before it."""

HELD: Final = 768
"""Code points in which something may be taken back or turned; of so many, the first half is passed on."""
_DEEPEST: Final = 125
"""The highest level; what would be above is not counted."""

_OVERRIDE: Final = "\u202e"
_END: Final = "\u202c"
_END_OF_ISOLATE: Final = "\u2069"
_FIRST_ISOLATE: Final = "\u2066"
_BOUNDARY: Final = "\ud800"
"""Where an isolate begins or ends: texts have no surrogates here."""

_CHANGED: Final = re.compile(f"[{BACKSPACES}{_OVERRIDE}]")
_ALL_DIRECTIONS: Final = frozenset(chr(code) for first, last in DIRECTIONS for code in range(first, last + 1))
_PARTS: Final = re.compile(
    f"[{BACKSPACES}]+|[\n\r]|[{class_of(DIRECTIONS)}]+|[^{BACKSPACES}\n\r{class_of(DIRECTIONS)}]+"
)
_GAP: Final = re.compile(f"[{re.escape(BLANK)}{class_of(SIGNS)}]")
_NEUTRAL: Final = f"[{re.escape(BLANK)}{class_of(SIGNS)}{class_of(MARKS)}]"
_RIGHT: Final = f"(?!{_NEUTRAL})[{class_of(FROM_RIGHT)}]"
_RUNS: Final = re.compile(f"{_NEUTRAL}+|(?:{_RIGHT})+|(?:(?!{_NEUTRAL})[^{class_of(FROM_RIGHT)}])+")
_IS_NEUTRAL: Final = re.compile(_NEUTRAL)
_IS_RIGHT: Final = re.compile(_RIGHT)
_SAME_LEVEL: Final = re.compile(rb"(.)\1*", re.DOTALL)
_LETTER: Final = re.compile(f".[{class_of(MARKS)}{_BOUNDARY}]*", re.DOTALL)
_MARKS: Final = frozenset(chr(code) for first, last in MARKS for code in range(first, last + 1)) | {_BOUNDARY}


def is_reordered(text: str) -> bool:
    """Return whether something in a text may not be displayed where it was written."""
    return bool(_CHANGED.search(text))


def displayed(text: str) -> str:
    r"""Return a text without surrogates as it is displayed, without `DIRECTIONS`: rule 0c of the contract.

    Example:
        >>> from retvec_lite.display import displayed
        >>> displayed("frx\bee \u202eyenom\u202c now")
        'free money now'
    """
    line = _Line()
    for part in _PARTS.findall(text):
        if part[0] in BACKSPACES:
            line.take_back(len(part))
        elif part[0] in _ALL_DIRECTIONS:
            for control in part:
                line.turn(control)
        else:
            line.add(part)
    return line.all_in_order()


@functools.lru_cache(4096)
def _kind(char: str) -> str:
    return "neutral" if _IS_NEUTRAL.match(char) else "right" if _IS_RIGHT.match(char) else "left"


class _Line:
    """The code points in which something may still change, each with its level: odd ones are read from right to left."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._chars: list[str] = []
        self._levels = bytearray()
        self._open = [(0, True)]
        """The levels of embeddings, overrides and isolates, and which are isolates, as the text itself is."""
        self._lost = 0
        """How many are open that are too deep to count."""
        self._is_from_left = False
        """Whether the last letter in an override is not of a script that is written from right to left."""

    def add(self, text: str) -> None:
        """Add code points other than backspaces and directions: the end of a line, or others."""
        if text in "\n\r":
            self._open, self._lost = [(0, True)], 0
        level, _ = self._open[-1]
        if level % 2 == 0:
            self._push(text, level)
            return
        for run in _RUNS.findall(text) if len(text) > 1 else text:
            kind = _kind(run[0])
            if kind == "left" and not self._is_from_left:
                self._turn_gap(level)
            if kind != "neutral":
                self._is_from_left = kind == "left"
            self._push(run, level + (not self._is_from_left))

    def take_back(self, times: int) -> None:
        """Leave out the last letters with their marks."""
        chars, left = self._chars, len(self._chars)
        while times and left:
            left -= 1
            times -= chars[left] not in _MARKS
        del chars[left:], self._levels[left:]

    def turn(self, control: str) -> None:
        """Begin or end an embedding, an override or an isolate."""
        level, is_isolate = self._open[-1]
        ends = control in (_END, _END_OF_ISOLATE)
        inside = level + 1 | 1 if control == _OVERRIDE else level + 2 & ~1
        self._is_from_left = False
        if self._lost or (inside > _DEEPEST and not ends):
            self._lost += -1 if ends else 1
        elif control == _END:
            if not is_isolate:
                self._open.pop()
        elif control == _END_OF_ISOLATE:
            isolate = len(self._open) - 1
            while not self._open[isolate][1]:
                isolate -= 1
            if isolate:
                del self._open[isolate:]
                self._add_boundary()
        else:
            if control >= _FIRST_ISOLATE:
                self._add_boundary()
            self._open.append((inside, control >= _FIRST_ISOLATE))

    def all_in_order(self) -> str:
        """Return the whole text."""
        self._pass_on(len(self._chars))
        return "".join(self._done)

    def _add_boundary(self) -> None:
        level, _ = self._open[-1]
        if self._chars and self._chars[-1] == _BOUNDARY:
            self._levels[-1] = min(self._levels[-1], level)
        else:
            self._push(_BOUNDARY, level)

    def _turn_gap(self, level: int) -> None:
        """Let what is between letters from right to left and others stand with these."""
        at = len(self._chars) - 1
        while at >= 0 and self._levels[at] == level + 1 and _GAP.fullmatch(self._chars[at]):
            self._levels[at] = level
            at -= 1

    def _push(self, text: str, level: int) -> None:
        if len(text) == 1 and len(self._chars) < HELD - 1:
            self._chars.append(text)
            self._levels.append(level)
            return
        at = 0
        while at < len(text):
            some = text[at : at + HELD - len(self._chars)]
            self._chars.extend(some)
            self._levels.extend(bytes((level,)) * len(some))
            at += len(some)
            if len(self._chars) == HELD:
                self._pass_on(HELD // 2)

    def _pass_on(self, count: int) -> None:
        self._done.append(_in_order("".join(self._chars[:count]), self._levels[:count]).replace(_BOUNDARY, ""))
        del self._chars[:count], self._levels[:count]


def _in_order(chars: str, levels: bytearray) -> str:
    """Return code points from left to right: those of each level, with what is above in between, are in reverse if it is odd."""
    if not any(level % 2 for level in set(levels)):
        return chars
    open_levels: list[tuple[int, list[str]]] = [(0, [])]
    for found in _SAME_LEVEL.finditer(levels + b"\0"):
        level = found.group()[0]
        while open_levels[-1][0] > level:
            above, parts = open_levels.pop()
            if open_levels[-1][0] < level:
                open_levels.append((level, []))
            open_levels[-1][1].append("".join(parts[::-1] if above % 2 else parts))
        if open_levels[-1][0] < level:
            open_levels.append((level, []))
        part = chars[found.start() : found.end()]
        open_levels[-1][1].append("".join(_LETTER.findall(part)[::-1]) if level % 2 and len(part) > 1 else part)
    return "".join(open_levels[0][1])
