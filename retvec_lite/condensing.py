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
from retvec_lite.normal_form import IGNORED, Ranges

MOST_GIVEN: Final = 1 << 19
"""Code points of a text that are looked at, however few of them are left."""

MOST_MARKS: Final = 5
"""Combining marks that a letter keeps: no word of the languages in Tatoeba and the Declaration of Human Rights has more."""
_MOST_COMPOSED: Final = 8
"""Combining marks in a row that are composed with their letter."""
_MOST_SIGNS: Final = 3
"""Signs in a row, and such rows between two letters or digits; of more, the first is left."""
_MOST_BLANKS: Final = 3
"""Separators in a row, until gaps are compared: spread words have wider gaps between them than inside."""
_MOST_PEEKED: Final = 256
"""Code points of a tag or of the text of a link."""


def _hex(listed: str) -> Ranges:
    return tuple(
        (int(first, 16), int(last or first, 16)) for first, _, last in (part.partition("-") for part in listed.split())
    )


SIGNS: Final[Ranges] = _hex(
    "21-2F 3A-40 5B-60 7B-7E A1-A9 AB-AC AE-B1 B4 B6-B8 BB-BF D7 F7 2010-2027 2030-205E 20A0-20CF 2190-245F 2500-2775 2794-2800 2840-2BFF 2E00-2E7F "
    "3001-3004 3008-3020 3030 30FB FE10-FE1F FE30-FE6F FF01-FF0F FF1A-FF20 FF3B-FF40 FF5B-FF65 FFE0-FFFD 1D000-1D24F 1F000-1F0FF "
    "1F18A-1F1E5 1F200-1FAFF"
)
"""Punctuation, symbols and emoji; not what is written for letters and digits, such as those in circles and Braille, nor flags."""

MARKS: Final[Ranges] = _hex(
    "483-487 591-5BD 5BF 5C1-5C2 5C4-5C5 5C7 610-61A 64B-65F 670 6D6-6DC 6DF-6E4 6E7-6E8 6EA-6ED 711 730-74A 7A6-7B0 7EB-7F3 7FD "
    "816-819 81B-823 825-827 829-82D 859-85B 897-89F 8CA-8E1 8E3-903 93A-93C 93E-94F 951-957 962-963 981-983 9BC 9BE-9CD 9D7 9E2-9E3 "
    "9FE-A03 A3C-A51 A70-A71 A75 A81-A83 ABC ABE-ACD AE2-AE3 AFA-B03 B3C B3E-B57 B62-B63 B82 BBE-BCD BD7 C00-C04 C3C C3E-C56 C62-C63 "
    "C81-C83 CBC CBE-CD6 CE2-CE3 CF3 D00-D03 D3B-D3C D3E-D4D D57 D62-D63 D81-D83 DCA-DDF DF2-DF3 E31 E34-E3A E47-E4E EB1 EB4-EBC "
    "EC8-ECE F18-F19 F35 F37 F39 F3E-F3F F71-F84 F86-F87 F8D-FBC FC6 102B-103E 1056-1059 105E-1060 1062-1064 1067-106D 1071-1074 "
    "1082-108D 108F 109A-109D 135D-135F 1712-1715 1732-1734 1752-1753 1772-1773 17B6-17D3 17DD 1885-1886 18A9 1920-193B 1A17-1A1B "
    "1A55-1A7F 1B00-1B04 1B34-1B44 1B6B-1B73 1B80-1B82 1BA1-1BAD 1BE6-1BF3 1C24-1C37 1CD0-1CD2 1CD4-1CE8 1CED 1CF4 1CF7-1CF9 "
    "2CEF-2CF1 2D7F 2DE0-2DFF 302A-302F 3099-309A A66F-A672 A674-A67D A69E-A69F A6F0-A6F1 A802 A806 A80B A823-A827 A82C A880-A881 "
    "A8B4-A8C5 A8E0-A8F1 A8FF A926-A92D A947-A953 A980-A983 A9B3-A9C0 A9E5 AA29-AA36 AA43 AA4C-AA4D AA7B-AA7D AAB0 AAB2-AAB4 "
    "AAB7-AAB8 AABE-AABF AAC1 AAEB-AAEF AAF5-AAF6 ABE3-ABEA ABEC-ABED FB1E 101FD 102E0 10376-1037A 10A01-10A0F 10A38-10A3F "
    "10AE5-10AE6 10D24-10D27 10D69-10D6D 10EAB-10EAC 10EFC-10EFF 10F46-10F50 10F82-10F85 11000-11002 11038-11046 11070 11073-11074 "
    "1107F-11082 110B0-110BA 110C2 11100-11102 11127-11134 11145-11146 11173 11180-11182 111B3-111C0 111C9-111CC 111CE-111CF "
    "1122C-11237 1123E-11241 112DF-112EA 11300-11303 1133B-1133C 1133E-1134D 11357 11362-11374 113B8-113C0 113C2 113C5 113C7-113CA "
    "113CC-113D0 113D2 113E1-113E2 11435-11446 1145E 114B0-114C3 115AF-115C0 115DC-115DD 11630-11640 116AB-116B7 1171D-1172B "
    "1182C-1183A 11930-1193E 11940 11942-11943 119D1-119E0 119E4 11A01-11A0A 11A33-11A39 11A3B-11A3E 11A47 11A51-11A5B 11A8A-11A99 "
    "11C2F-11C3F 11C92-11CB6 11D31-11D45 11D47 11D8A-11D97 11EF3-11EF6 11F00-11F01 11F03 11F34-11F3A 11F3E-11F42 11F5A 13440 "
    "13447-13455 1611E-1612F 16AF0-16AF4 16B30-16B36 16F4F 16F51-16F92 16FE4 16FF0-16FF1 1BC9D-1BC9E 1CF00-1CF46 1D165-1D169 "
    "1D16D-1D172 1D17B-1D182 1D185-1D18B 1D1AA-1D1AD 1D242-1D244 1DA00-1DA36 1DA3B-1DA6C 1DA75 1DA84 1DA9B-1DAAF 1E000-1E02A 1E08F "
    "1E130-1E136 1E2AE 1E2EC-1E2EF 1E4EC-1E4EF 1E5EE-1E5EF 1E8D0-1E8D6 1E944-1E94A"
)
"""Combining marks of scripts (categories Mn, Mc and Me of Unicode 16), those of `IGNORED` aside."""

PILED: Final[Ranges] = tuple(part for part in IGNORED if part[0] in (0x300, 0x488, 0x1AB0, 0x1DC0, 0x20D0, 0xFE20))
"""The combining marks of `IGNORED`."""

SCRIPTS: Final[Ranges] = _hex(
    "370-3FF 400-52F 590-5FF 600-8FF 900-97F F00-FFF 1000-109F 1200-139F 1A00-1AFF 3000-30FF A640-A69F 11A50-11AAF 11C70-11CBF 11D60-11DAF "
    "13000-1345F 16B00-16B8F 16F00-16F9F 1BC00-1BC9F 1D100-1D1FF 1D800-1DAAF 1E800-1E8DF"
)
"""Code points of one script that do not lie in one row of 128."""

ENTITIES: Final = {
    name: html5[f"{name};"]
    for name in (
        *(
            "amp",
            "lt",
            "gt",
            "quot",
            "apos",
            "nbsp",
            "shy",
            "copy",
            "reg",
            "deg",
            "cent",
            "pound",
            "yen",
            "euro",
            "times",
            "middot",
        ),
        *("bull", "hellip", "ndash", "mdash", "lsquo", "rsquo", "ldquo", "rdquo"),
    )
}
"""Common character references of HTML by name, and what they stand for."""

INLINE: Final = frozenset(
    ("a", "b", "big", "code", "del", "em", "font", "i", "ins", "mark", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "tt", "u")
)  # fmt: skip
"""Tags inside a word or a line: nothing stands in their place. In that of others stands a space."""


def _of(ranges: Ranges) -> str:
    """Return the inside of a character class."""
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges)


_BLANKS: Final = re.escape(BLANK)
_SIGN: Final = _of(SIGNS)
_GAP: Final = _BLANKS + _SIGN
_HEX: Final = "[0-9A-Fa-f]"
_NEXT: Final = f"%[89ABab]{_HEX}"
_EMPHASIS: Final = r"(?:\*{1,3}|_{1,3}|~~|`{1,3})"

_MARKUP: Final = re.compile(
    "|".join(
        (
            f"(?P<escape>%[2-7]{_HEX}|%0[9AaDd]|%[CcDd]{_HEX}{_NEXT}|%[Ee]{_HEX}(?:{_NEXT}){{2}}|%[Ff][0-4](?:{_NEXT}){{3}})",
            rf"(?P<unit>\\u[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}}|\\u{_HEX}{{4}})",
            "(?P<number>(?<![0-9])[0-9]{17,})",
            f"(?P<tag><[^<>]{{1,{_MOST_PEEKED}}}>)",
            f"(?P<entity>&(?:#[0-9]{{1,7}}|#[xX]{_HEX}{{1,6}}|[A-Za-z]{{2,6}});)",
            rf"(?P<link>\[(?=[^\[\]]{{1,{_MOST_PEEKED}}}\]\()|\]\([^{_BLANKS}()]{{1,{_MOST_PEEKED}}}\))",
            rf"(?P<opens>(?<![^{_BLANKS}(\[{{\"']){_EMPHASIS}(?=[^{_GAP}]))",
            rf"(?P<closes>(?<=[^{_BLANKS}(\[{{\"'*_~`]){_EMPHASIS}(?=[{_BLANKS}.,;:!?)\]}}\"']|\Z))",
        )
    )
)
"""Rule 0a: what is written for characters, and what is not shown."""

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_ALL_MARKS: Final = _of(MARKS) + _of(PILED)
_PILED: Final = re.compile(f"([{_ALL_MARKS}]{{{_MOST_COMPOSED}}})[{_ALL_MARKS}]+")
_IGNORED: Final = re.compile(f"[{_of(IGNORED)}]+")
_MARKED: Final = re.compile(f"([^{_of(MARKS)}]?)([{_of(MARKS)}]+)")
_REPEATED: Final = re.compile(rf"([^{_BLANKS}])\1\1+")
_SIGN_RUN: Final = re.compile(f"([{_SIGN}])[{_SIGN}]{{{_MOST_SIGNS},}}")
_SIGN_RUNS: Final = re.compile(f"([{_SIGN}]+)((?:[{_BLANKS}]+[{_SIGN}]+){{{_MOST_SIGNS},}})")
_WIDE: Final = re.compile(f"([{_BLANKS}]{{{_MOST_BLANKS}}})[{_BLANKS}]+")
_BLANK_RUN: Final = re.compile(f"([{_BLANKS}])[{_BLANKS}]+")
_SINGLE: Final = f"[^{_GAP}{_of(MARKS)}\u1100-\u1dff\u2000-\U0010ffff](?![^{_GAP}])"
_SPREAD: Final = re.compile(f"(?<![^{_GAP}]){_SINGLE}(?:[{_GAP}]+{_SINGLE}){{{_MOST_SIGNS},}}")
_GAPS: Final = re.compile(f"[{_GAP}]+")
_HAS_SIGN: Final = re.compile(f"[{_SIGN}]")

_SEEN: Final = re.compile(f"[\ud800-\udfff{_of(IGNORED)}{_of(MARKS)}]")
_MAY_BE_MARKUP: Final = re.compile(r"[<&%*_~`\\]|\]\(|[0-9]{17}")
_CHANGES: Final = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        _MAY_BE_MARKUP.pattern,
        r"(.)\1\1",
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
        >>> condense("  f - r - e - e   <b>m&#111;ney</b>!!!!!!%20now" + 1000 * " .", 512)
        'free money! now .'
    """
    if len(text) <= limit and _stays(text):
        return text
    given = text[:MOST_GIVEN]
    size = 4 * limit + 4 * _MOST_PEEKED
    while len(shown := _shown(given[:size])) < limit + 4 * _MOST_PEEKED and size < len(given):
        size *= 4
    return _joined_gaps(shown[:limit])


def _stays(text: str) -> bool:
    """Return whether a text is surely read as it is: most are."""
    if any(pattern.search(text) for pattern in _CHANGES):
        return False
    return text.isascii() or not (_SEEN.search(text) or not unicodedata.is_normalized("NFC", text))


def _shown(text: str) -> str:
    """Apply rules 0a to 0d."""
    plain = _without_markup(_SURROGATES.sub("\ufffd", text))
    if not plain.isascii():
        plain = unicodedata.normalize("NFC", _PILED.sub(r"\1", plain))
        plain = _MARKED.sub(_own_marks, _IGNORED.sub("", plain))
    plain = _SIGN_RUNS.sub(_first_run, _SIGN_RUN.sub(r"\1", plain))
    plain = _REPEATED.sub(r"\1\1", plain)
    return _WIDE.sub(r"\1", plain)


def _joined_gaps(text: str) -> str:
    """Apply rule 0e."""
    return _BLANK_RUN.sub(r"\1", _SPREAD.sub(_joined, text)).strip(BLANK)


def _without_markup(text: str) -> str:
    """Apply rule 0a."""
    if not _MAY_BE_MARKUP.search(text):
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
    first, others = found.groups()
    return first + "".join(char for char in others if char in BLANK)


def _joined(found: re.Match[str]) -> str:
    """Join single letters, and end words at the gaps that differ from those inside of words."""
    text = found.group()
    letters, gaps = _GAPS.split(text), _GAPS.findall(text)
    if sum(not letter.isdecimal() for letter in letters) <= _MOST_SIGNS:
        return text
    kinds = [(bool(_HAS_SIGN.search(gap)), len(gap)) for gap in gaps]
    ((inside, times),) = Counter(kinds).most_common(1)
    if times < _MOST_SIGNS:
        return text
    return letters[0] + "".join(
        " " * (kind != inside) + letter for kind, letter in zip(kinds, letters[1:], strict=True)
    )
