"""Read first, cut then: rule 0 of the contract, which version 3 applies to a text before it is cut into windows.

What a person does not see takes no place: markup, escapes, invisible characters, foreign marks, repeats and wide gaps. Padding of any length
leaves a few characters, so it cannot push a text out of what is read. docs/contract.md states the rules, which wrappers in other languages
repeat; the tables are pinned here.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from html.entities import html5
from typing import Final

from retvec_lite.contract import BLANK, MAX_CODE_POINT
from retvec_lite.display import BACKSPACES, DIRECTIONS, HELD, displayed, is_reordered
from retvec_lite.kinds import CODE_LETTERS, DIGITS, MARKS, OPTIONAL, PILED, SCRIPTS, SIGNS, class_of
from retvec_lite.letters import TWINS, Twins
from retvec_lite.normal_form import IGNORED, REGIONAL

MOST_GIVEN: Final = 1 << 19
"""Code points of a text that are looked at, however few of them are left."""

MOST_MARKS: Final = 5
"""Combining marks that a letter keeps: no word of the languages in Tatoeba and the Declaration of Human Rights has more."""
_MOST_COMPOSED: Final = 8
"""Combining marks in a row that are composed with their letter."""
_MOST_SIGNS: Final = 14
"""Signs in a row, as many as a rating of ten has with brackets and what stands around them; of more, the first is left."""
_MOST_OF_GAP: Final = 20
"""Signs between two letters or digits; of more, the first row is left."""
_LONGEST_SHORT: Final = 4
_LONGEST_CODE: Final = 8
_LONGEST_NUMBER: Final = 16
"""Letters and digits of words in which repeats mean something: of any, of `CODE_LETTERS` alone, and with a digit."""
_LEAST_SPREAD: Final = 4
"""Single letters of spread words; they have one gap less."""
_LEAST_OWN: Final = 3
"""What letters that tell a script must have on top of two for each that tells of another one."""
_MOST_BLANKS: Final = 3
"""Separators in a row, until gaps are compared: spread words have wider gaps between them than inside."""
_MOST_PEEKED: Final = 256
"""Code points of a tag or of the text of a link."""
_SPARE: Final = 4 * _MOST_PEEKED + HELD
"""More than the code points that may change with what is behind them: composing makes three of one at most."""


ENTITIES: Final = {
    name: html5[f"{name};"]
    for name in (
        "amp", "lt", "gt", "quot", "apos", "nbsp", "shy", "copy", "reg", "deg", "cent", "pound", "yen", "euro", "times", "middot",
        "bull", "hellip", "ndash", "mdash", "lsquo", "rsquo", "ldquo", "rdquo",
    )
}  # fmt: skip
"""Common character references of HTML by name, and what they stand for."""

INLINE: Final = frozenset(
    ("a", "b", "big", "code", "del", "em", "font", "i", "ins", "mark", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "tt", "u")
)  # fmt: skip
"""Tags inside a word or a line: nothing stands in their place. In that of others stands a space."""


_BLANKS: Final = re.escape(BLANK)
_SIGN: Final = class_of(SIGNS)
_DIGIT: Final = class_of(DIGITS)
_GAP: Final = _BLANKS + _SIGN
_HEX: Final = "[0-9A-Fa-f]"
_NEXT: Final = f"%[89ABab]{_HEX}"
_EMPHASIS: Final = r"(?:\*{1,3}|_{1,3}|~~|`{1,3})"
_CLOSES: Final = rf"(?<=[^{_BLANKS}(\[{{\"'*_~`])%s(?![^{_GAP}]|[*_~`])"

_MARKUP: Final = re.compile(
    "|".join(
        (
            f"(?P<escape>%[2-7]{_HEX}|%0[9AaDd]|%[CcDd]{_HEX}{_NEXT}|%[Ee]{_HEX}(?:{_NEXT}){{2}}|%[Ff][0-4](?:{_NEXT}){{3}})",
            rf"(?P<unit>\\u[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}}|\\u{_HEX}{{4}})",
            f"(?P<number>(?<![{_DIGIT}])[{_DIGIT}]{{17,}})",
            f"(?P<tag><[^<>]{{1,{_MOST_PEEKED}}}>)",
            f"(?P<entity>&(?:#[0-9]{{1,7}}|#[xX]{_HEX}{{1,6}}|[A-Za-z]{{2,6}});)",
            rf"(?P<link>\[(?=[^\[\]]{{1,{_MOST_PEEKED}}}\]\()|\]\([^{_BLANKS}()]{{1,{_MOST_PEEKED}}}\))",
            rf"(?P<opens>(?<![^{_BLANKS}(\[{{\"'])(?P<same>{_EMPHASIS})(?=[^{_GAP}])"
            rf"(?![^{_BLANKS}{BACKSPACES}]{{0,{_MOST_PEEKED - 1}}}[{BACKSPACES}])(?=(?s:.){{1,{_MOST_PEEKED}}}?{_CLOSES % '(?P=same)'}))",
            f"(?P<closes>{_CLOSES % _EMPHASIS})",
        )
    )
)
"""Rule 0a: what is written for characters, and what is not shown."""

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_ALL_MARKS: Final = class_of(MARKS) + class_of(PILED)
_PILED: Final = re.compile(f"([{_ALL_MARKS}]{{{_MOST_COMPOSED}}})[{_ALL_MARKS}]+")
_UNREAD: Final = class_of(IGNORED) + class_of(OPTIONAL)
_IGNORED: Final = re.compile(f"[{_UNREAD}]+")
_IGNORED_BUT_DIRECTIONS: Final = re.compile(f"(?![{class_of(DIRECTIONS)}])[{_UNREAD}]")
_MARKED: Final = re.compile(f"([^{class_of(MARKS)}]?)([{class_of(MARKS)}]+)")
_WORD: Final = re.compile(f"[^{_GAP}]+")
_REPEATED: Final = re.compile(rf"([^{_GAP}{_DIGIT}])\1\1+")
_CODE: Final = re.compile(f"[{class_of(CODE_LETTERS)}]{{1,{_LONGEST_CODE}}}|.{{1,{_LONGEST_SHORT}}}", re.DOTALL)
_SIGN_RUN: Final = re.compile(f"([{_SIGN}])[{_SIGN}]{{{_MOST_SIGNS},}}")
_SIGN_RUNS: Final = re.compile(f"[{_SIGN}](?:[{_BLANKS}]*[{_SIGN}]){{{_MOST_OF_GAP},}}")
_WIDE: Final = re.compile(f"([{_BLANKS}]{{{_MOST_BLANKS}}})[{_BLANKS}]+")
_BLANK_RUN: Final = re.compile(f"([{_BLANKS}])[{_BLANKS}]+")
_NO_SINGLES: Final = class_of(((0x1100, 0x1DFF), (0x2000, REGIONAL[0] - 1), (REGIONAL[1] + 1, MAX_CODE_POINT)))
_SINGLE: Final = f"[^{_GAP}{class_of(MARKS)}{_NO_SINGLES}](?![^{_GAP}])"
_SPREAD: Final = re.compile(f"(?<![^{_GAP}]){_SINGLE}(?:[{_GAP}]+{_SINGLE}){{{_LEAST_SPREAD - 1},}}")
_LETTER_OF_REGIONAL: Final = {code: code - REGIONAL[0] + ord("A") for code in range(REGIONAL[0], REGIONAL[1] + 1)}
_GAPS: Final = re.compile(f"[{_GAP}]+")
_HAS_SIGN: Final = re.compile(f"[{_SIGN}]")
_DECIMAL: Final = re.compile(f"[{_DIGIT}]")
_LATIN: Final = re.compile(f"[A-Za-z{''.join(twins.latin for twins in TWINS)}]")
_TWINNED: Final = re.compile(f"[{class_of([twins[:2] for twins in TWINS])}]")

_SEEN: Final = re.compile(f"[\ud800-\udfff{_UNREAD}{class_of(MARKS)}]")
_MAY_BE_MARKUP: Final = re.compile(r"[<&%*_~`\\]|\]\(|(?:[0-9]|[^\0-\x7f]){17}")
_MARKS_UP: Final = re.compile(rf"[<&%*_~`\\]|\]\(|[{_DIGIT}]{{17}}")
_MAY_REPEAT: Final = re.compile(r"(.)\1\1", re.DOTALL)
_CHANGES: Final = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        rf"[{_SIGN}](?:[{_BLANKS}]?[{_SIGN}]){{{_MOST_SIGNS}}}",
        rf"[{_BLANKS}]{{2}}|\A[{_BLANKS}]|[{_BLANKS}]\Z",
        _SPREAD.pattern,
    )
)
"""What no text has that stays as it is; `_SEEN` is for texts of more than ASCII. One pattern for all takes three times as long."""


def condense(text: str, limit: int) -> str:
    """Return what is read of a text: rule 0 of the contract.

    Args:
        text: as it was given, any length.
        limit: the most code points to return, see `windows.read_limit`.

    Example:
        >>> from retvec_lite.condensing import condense
        >>> condense("  f - r - e - e   <b>m&#111;ney</b>!!!!!!!!!!!!!!!%20now" + 1000 * " .", 512)
        'free money! now .'
    """
    if len(text) <= limit and _stays(text):
        return text
    given = text[:MOST_GIVEN]
    size = 4 * limit + _SPARE
    while len(shown := _shown(given[:size])) < limit + _SPARE and size < len(given):
        size *= 4
    return _joined_gaps(shown[:limit])


def _stays(text: str) -> bool:
    """Return whether a text is surely read as it is: most are."""
    if any(sign in text for sign in BACKSPACES) or any(pattern.search(text) for pattern in _CHANGES):
        return False
    if _has_markup(text) or _repeats(text):
        return False
    if text.isascii():
        return True
    mixes = _TWINNED.search(text) and _LATIN.search(text)
    return not (mixes or _SEEN.search(text) or not unicodedata.is_normalized("NFC", text))


def _shown(text: str) -> str:
    """Apply rules 0a to 0e."""
    plain = _without_markup(_SURROGATES.sub("\ufffd", text))
    if not plain.isascii():
        plain = unicodedata.normalize("NFC", _PILED.sub(r"\1", plain))
    if is_reordered(plain):
        plain = displayed(_IGNORED_BUT_DIRECTIONS.sub("", plain))
    if not plain.isascii():
        plain = _MARKED.sub(_own_marks, _IGNORED.sub("", plain))
    plain = _SIGN_RUNS.sub(_first_run, _SIGN_RUN.sub(r"\1", plain))
    return _WIDE.sub(r"\1", without_repeats(plain))


def _joined_gaps(text: str) -> str:
    """Apply rules 0f and 0g."""
    return _in_own_letters(_BLANK_RUN.sub(r"\1", _SPREAD.sub(_joined, text)).strip(BLANK))


def _without_markup(text: str) -> str:
    """Apply rule 0a."""
    if not _has_markup(text):
        return text
    parts: list[str] = []
    open_signs: dict[str, str] = {}
    done = at = 0
    while found := _MARKUP.search(text, at):
        kind, what = str(found.lastgroup), found.group()
        shown = _READERS[kind](what) if kind in _READERS else ""
        if kind == "opens":
            open_signs[what[0]] = what
        elif kind == "closes" and open_signs.pop(what[0], "") != what:
            shown = None
        if shown is None:
            at = found.start() + 1
            continue
        parts += [text[done : found.start()], shown]
        done = at = found.end()
    return "".join([*parts, text[done:]])


def _has_markup(text: str) -> bool:
    """Return whether rule 0a may change a text."""
    return bool(_MAY_BE_MARKUP.search(text) and _MARKS_UP.search(text))


def _escape(what: str) -> str | None:
    try:
        return bytes.fromhex(what.replace("%", "")).decode()
    except UnicodeDecodeError:
        return None


def _unit(what: str) -> str | None:
    units = bytes.fromhex(what.replace("\\u", ""))
    try:
        return units.decode("utf-16-be")
    except UnicodeDecodeError:
        return None


def _entity(what: str) -> str | None:
    name = what[1:-1]
    if name[0] != "#":
        return ENTITIES.get(name)
    code = int(name[2:], 16) if name[1] in "xX" else int(name[1:])
    return chr(code) if 0 < code <= MAX_CODE_POINT and not 0xD800 <= code <= 0xDFFF else None


_TAG: Final = re.compile(
    f"</?([A-Za-z][A-Za-z0-9]{{0,15}})(?:[{_BLANKS}/]+|[{_BLANKS}/][^<>]*=[^<>]*)?>|<!--.*-->", re.DOTALL
)


def _tag(what: str) -> str | None:
    found = _TAG.fullmatch(what)
    if not found:
        return None
    return " " if found[1] and found[1].lower() not in INLINE else ""


_READERS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "escape": _escape, "unit": _unit, "number": lambda what: " ", "tag": _tag, "entity": _entity,
}  # fmt: skip
"""What markup stands for by its kind, None for what only looks like markup; nothing stands for the other kinds."""


def _own_marks(found: re.Match[str]) -> str:
    """Return a letter and the marks of its script, as many as it may have."""
    letter, marks = found.groups()
    own = [mark for mark in marks if letter and _of_one_script(ord(letter), ord(mark))]
    return letter + "".join(own[:MOST_MARKS])


def _of_one_script(letter: int, mark: int) -> bool:
    return letter >> 7 == mark >> 7 or any(
        first <= min(letter, mark) and max(letter, mark) <= last for first, last in SCRIPTS
    )


def _first_run(found: re.Match[str]) -> str:
    """Return the first row of signs, and the separators between the others."""
    text = found.group()
    first = next((at for at, char in enumerate(text) if char in BLANK), len(text))
    return text[:first] + "".join(char for char in text[first:] if char in BLANK)


def without_repeats(text: str) -> str:
    """Drop letters behind two like them, but in short words and codes: rule 0e.3."""
    return _WORD.sub(_once, text) if _repeats(text) else text


def _repeats(text: str) -> bool:
    """Return whether a letter stands three times in a row; the quick pattern spares most texts the other one."""
    return bool(_MAY_REPEAT.search(text) and _REPEATED.search(text))


def _once(found: re.Match[str]) -> str:
    word = found.group()
    stays = _CODE.fullmatch(word) or (len(word) <= _LONGEST_NUMBER and _DECIMAL.search(word))
    return word if stays else _REPEATED.sub(r"\1\1", word)


def _joined(found: re.Match[str]) -> str:
    """Join single letters, and end words at the gaps that differ from those inside of words."""
    text = found.group()
    letters, gaps = _GAPS.split(text), _GAPS.findall(text)
    if sum(not _DECIMAL.match(letter) for letter in letters) < _LEAST_SPREAD:
        return text
    kinds = [(bool(_HAS_SIGN.search(gap)), len(gap)) for gap in gaps]
    ((inside, times),) = Counter(kinds).most_common(1)
    if times < _LEAST_SPREAD - 1:
        return text
    words = "".join(" " * (kind != inside) + letter for kind, letter in zip(kinds, letters[1:], strict=True))
    return without_repeats((letters[0] + words).translate(_LETTER_OF_REGIONAL))


class _Evidence:
    """What tells whether words are in a script."""

    def __init__(self, twins: Twins) -> None:
        alike, own = twins.latin[: twins.alike], twins.own[: twins.alike]
        script = f"{chr(twins.first)}-{chr(twins.last)}"
        self._reads = str.maketrans(twins.latin, twins.own)
        self.any = re.compile(f"[{script}]")
        self._own = re.compile(f"(?![{own}])[{script}]")
        self._others = re.compile(f"(?![{alike}{script}])[A-Za-z\u0370-\u058f]")

    def of(self, word: str) -> tuple[int, int]:
        """Return how many letters tell of the script, and of Latin or another one."""
        return len(self._own.findall(word)), len(self._others.findall(word))

    def read(self, found: re.Match[str]) -> str:
        word = found.group()
        own, others = self.of(word)
        return word.translate(self._reads) if own >= others and self.any.search(word) else word


_EVIDENCE: Final = tuple(map(_Evidence, TWINS))


def _in_own_letters(text: str) -> str:
    """Apply rule 0g."""
    if not (_TWINNED.search(text) and _LATIN.search(text)):
        return text
    for script in _EVIDENCE:
        counts = [script.of(word) for word in _WORD.findall(text) if script.any.search(word)]
        if sum(own - 2 * others for own, others in counts) >= _LEAST_OWN:
            text = _WORD.sub(script.read, text)
    return text
