"""Write engine/tables.h: the character tables of the C engine, from those of the contract. Run `python -m tools.engine_tables`."""

import itertools
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from retvec_lite.condensing import ENTITIES, INLINE
from retvec_lite.contract import MAX_CODE_POINT, SEPARATING, UNSPACED
from retvec_lite.kinds import CODE_LETTERS, DIGITS, FROM_RIGHT, MARKS, OPTIONAL, PILED, SCRIPTS
from retvec_lite.kinds import SIGNS as SHOWN_SIGNS
from retvec_lite.letters import (
    COMPATIBILITY,
    NEWER_FORMS,
    TWINS,
    faint_lookalikes,
    in_runs,
    lookalikes,
    usual_lookalikes,
)
from retvec_lite.meaning import factors
from retvec_lite.ngrams import LETTER, LOWER_CASE_END, fold_table
from retvec_lite.normal_form import (
    ALPHABETS,
    IGNORED,
    NEWER_ALPHABETS,
    OTHER_SCRIPTS,
    REGIONAL,
    RIGHT_TO_LEFT,
    SIGNS,
    SYMBOLS,
    UNKNOWN_LETTER,
    is_ignored,
    is_latin,
    ranges_hold,
)

HEADER: Final = Path(__file__).parents[1] / "engine" / "tables.h"

FLAGS: Final = ("SEPARATOR", "IGNORED", "FORM", "LATIN", "OTHER", "LETTER", "LIKE", "HAN", "KANA", "SEA")
"""What the engine asks about a code point, from the lowest bit on: 10 bits, below the 21 of the code point itself."""

_PLAIN: Final = 0x4000
"""Added to the letters of the folding levels, so that they are above all differences and fit into 16 bits."""

_PAGE: Final = 32
"""Code points of a page of the folding tables."""

UNICODE: Final = "14.0.0"
"""Of the tables of composition: the version that Python 3.11 has. What later versions compose is new in them."""

_MARKS: Final = 0x300
"""The first combining mark."""

_PLANE: Final = 0x10000
"""Code points of a plane. Tables of 16 bits have a part for each of the first two, the only ones with marks and signs."""

_IDEOGRAPHS: Final = ((0xF900, 0xFAD9), (0x2F800, 0x2FA1D))
"""The first and last ideographs that are composed to others."""

_GAP: Final = 5
"""Code points without a letter that a run of letters goes on behind: another run would take as many bytes."""

_WIDTH: Final = 118


def header() -> str:
    """Return the text of engine/tables.h.

    Example:
        >>> from tools.engine_tables import header
        >>> "RVL_LATIN" in header()
        True
    """
    parts = [
        "/* Character tables of the engine. Written by `python -m tools.engine_tables`: do not edit. */",
        *(f"#define RVL_{name} 0x{1 << bit:x}u" for bit, name in enumerate(FLAGS)),
        f"#define RVL_UNKNOWN_LETTER 0x{UNKNOWN_LETTER:x}u",
        *(f"#define RVL_REGIONAL_{name} 0x{code:x}u" for name, code in zip(("FIRST", "LAST"), REGIONAL, strict=True)),
        f"#define RVL_FOLD_END 0x{LOWER_CASE_END:x}u",
        f"#define RVL_FOLD_PAGE {_PAGE}u",
        f"#define RVL_PLAIN 0x{_PLAIN:x}",
        "/* The flags of ASCII. */",
        _array("uint16_t", "rvl_ascii", (_flags(code) for code in range(128))),
        *_ranges(),
        *_forms(),
        "/* Letters and digits in runs: the first of each, where its letters start, and the letters; 0 is none. The Latin letters that others look",
        " * like (rule 2c), */",
        *_runs_of("rvl_like", usual_lookalikes()),
        "/* and what no flag tells: letters and digits in runs, of forms (rule 2b), lookalikes and faint ones (rule 2c). */",
        *_runs_of("rvl_newer_form", in_runs(NEWER_FORMS)),
        *_runs_of(
            "rvl_newer_like", {code: letter for code, letter in lookalikes().items() if code not in usual_lookalikes()}
        ),
        *_runs_of("rvl_faint", faint_lookalikes()),
        _array("uint32_t", "rvl_newer_alphabets", itertools.chain(*NEWER_ALPHABETS)),
        "/* The first and last of each range of Hebrew and Arabic letters (rule 2c). */",
        _array("uint32_t", "rvl_right_to_left", itertools.chain(*RIGHT_TO_LEFT)),
        "/* The first and last of each range of signs, and of symbols (rule 2d). */",
        _array("uint32_t", "rvl_signs", itertools.chain(*SIGNS)),
        _array("uint32_t", "rvl_symbols", itertools.chain(*SYMBOLS)),
        *_folding(),
        "/* What the letters of a word with a meaning are multiplied by, in each of the four sums. */",
        _array("uint8_t", "rvl_letter_factors", factors().reshape(-1).tolist()),
        *_compositions(),
        *_replacements(),
        *_edges(),
        "/* The first and last of each range of scripts that are written from right to left (rule 0c). */",
        _array("uint32_t", "rvl_from_right", itertools.chain(*FROM_RIGHT)),
        "/* For each script of rule 0g: its first and last code point, how many of its letters Latin ones are written for, how many of them look the",
        " * same; then the Latin letters of all, and those of the scripts. */",
        _array(
            "uint16_t",
            "rvl_twin_scripts",
            (n for twins in TWINS for n in (twins.first, twins.last, len(twins.own), twins.alike)),
        ),
        _array("uint8_t", "rvl_twins_latin", (ord(char) for twins in TWINS for char in twins.latin)),
        _array("uint16_t", "rvl_twins_own", (ord(char) for twins in TWINS for char in twins.own)),
        "/* The names of entities, and what they stand for; and of tags inside a word or a line (rule 0a). */",
        _string("rvl_entities", ENTITIES),
        _array("uint16_t", "rvl_entity_codes", map(ord, ENTITIES.values())),
        _string("rvl_inline", sorted(INLINE)),
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Write the header."""
    HEADER.write_text(header(), encoding="ascii", newline="\n")
    print(f"{HEADER.name}: {HEADER.stat().st_size:,} bytes")


def _array(kind: str, name: str, values: Iterable[int]) -> str:
    lines, line = [f"static const {kind} {name}[] = {{"], ""
    for value in values:
        word = f"{value},"
        if len(line) + len(word) > _WIDTH:
            lines.append(line)
            line = ""
        line += word
    return "\n".join([*lines, line, "};"])


def _string(name: str, words: Iterable[str]) -> str:
    """Return words as one string, with a space behind each."""
    lines, line = [f"static const char {name}[] ="], ""
    for word in words:
        if len(line) + len(word) > _WIDTH - 8:
            lines.append(f'"{line}"')
            line = ""
        line += f"{word} "
    return "\n".join([*lines, f'"{line}";'])


def _flags(code: int) -> int:
    """Return the flags of a code point; letters of the tables that are called newer have none."""
    is_like, of_alphabet = code in usual_lookalikes(), ranges_hold(ALPHABETS, code)
    facts = (
        code in SEPARATING,
        is_ignored(code),
        code in in_runs(COMPATIBILITY),
        is_latin(code),
        not (is_latin(code) or is_like) and (of_alphabet or ranges_hold(OTHER_SCRIPTS, code)),
        of_alphabet or is_like,
        is_like,
        *(ranges_hold(ranges, code) for ranges in UNSPACED.values()),
    )
    return sum(1 << bit for bit, fact in enumerate(facts) if fact)


def _ranges() -> list[str]:
    """Return where the flags change, plane by plane, and to which."""
    edges = _changes()
    # A plane behind the last one, for what is no code point.
    edges += [
        (plane * _PLANE, next(flags for code, flags in edges[::-1] if code <= plane * _PLANE))
        for plane in range(MAX_CODE_POINT // _PLANE + 2)
    ]
    edges = sorted(dict(edges).items())
    kinds = sorted({flags for _, flags in edges})
    places = [sum(code < plane * _PLANE for code, _ in edges) for plane in range(MAX_CODE_POINT // _PLANE + 3)]
    return [
        "/* Where the flags of code points change, without their plane; and to which: their number among all that there are. */",
        _array("uint16_t", "rvl_range_places", places),
        _array("uint16_t", "rvl_ranges", (code % _PLANE for code, _ in edges)),
        _array("uint8_t", "rvl_range_kinds", (kinds.index(flags) for _, flags in edges)),
        _array("uint16_t", "rvl_kinds", kinds),
    ]


def _changes() -> list[tuple[int, int]]:
    """Return the code points where the flags change, with those from there on."""
    spans = (IGNORED, ALPHABETS, OTHER_SCRIPTS, *UNSPACED.values())
    edges = {0, *(edge for ranges in spans for first, last in ranges for edge in (first, last + 1))}
    # LATIN matters inside ALPHABETS only; single code points have an edge before and behind them.
    single = (*SEPARATING, *in_runs(COMPATIBILITY), *usual_lookalikes())
    edges |= {place for code in single for place in (code, code + 1)}
    edges |= {code for code in range(1, 0x10000) if is_latin(code) != is_latin(code - 1)}
    found: list[tuple[int, int]] = []
    for code in sorted(edge for edge in edges if edge <= MAX_CODE_POINT):
        flags = _flags(code)
        if not found or found[-1][1] != flags:
            found.append((code, flags))
    return found


def _forms() -> list[str]:
    """Return the replacements of rule 2b."""
    targets = "".join(text for _, text in COMPATIBILITY)
    letters = sorted(set(targets))
    places = [0]
    for _, text in COMPATIBILITY:
        places.append(places[-1] + len(text))
    return [
        "/* Runs of forms: the first of each, where its targets start, and the number of each target among all that there are (rule 2b). */",
        _array("uint32_t", "rvl_form_firsts", (first for first, _ in COMPATIBILITY)),
        _array("uint16_t", "rvl_form_places", places),
        _array("uint8_t", "rvl_form_targets", map(letters.index, targets)),
        _array("uint16_t", "rvl_form_letters", map(ord, letters)),
    ]


def _runs_of(name: str, letters: Mapping[int, int]) -> list[str]:
    """Return runs of code points that stand for ASCII: the first of each, where its letters start, and the letters."""
    firsts, places, targets = list[int](), list[int](), list[int]()
    last = -_GAP
    for code in sorted(letters):
        if code > last + _GAP:
            firsts.append(code)
            places.append(len(targets))
        else:
            targets += [0] * (code - last - 1)
        targets.append(letters[code])
        last = code
    return [
        _array("uint32_t", f"{name}_firsts", firsts),
        _array("uint16_t", f"{name}_places", [*places, len(targets)]),
        _array("uint8_t", f"{name}_letters", targets),
    ]


def _folding() -> list[str]:
    """Return both folding tables in pages: with accents, and without."""
    found, pages = [], dict[bytes, int]()
    numbers = []
    for plain in (False, True):
        places, levels = fold_table(plain)
        padded = bytes(places) + bytes([int(places[-1])]) * (-len(places) % _PAGE)
        rows = [padded[start : start + _PAGE] for start in range(0, len(padded), _PAGE)]
        numbers += [pages.setdefault(row, len(pages)) for row in rows]
        kept = [int(level - LETTER) + _PLAIN if level > LETTER / 2 else int(level) for level in levels]
        found.append(_array("int16_t", f"rvl_fold_levels_{int(plain)}", kept))
    return [
        "/* What is added to a code point to fold it; a plain letter has RVL_PLAIN on top and takes its place. */",
        *found,
        "/* The pages of code points with accents, then of those without; and the levels in each page. */",
        _array("uint8_t", "rvl_fold_pages", numbers),
        _array("uint8_t", "rvl_fold_places", b"".join(pages)),
    ]


def _compositions() -> list[str]:
    """Return what pairs of code points compose to, and the classes of marks."""
    pairs = []
    for code in range(0xC0, 2 * _PLANE):
        first, *second = unicodedata.decomposition(chr(code)).split()[:2] or ["<"]
        if first[0] != "<" and second and _composed(code) == [code]:
            pairs.append((code // _PLANE, int(second[0], 16) % _PLANE, int(first, 16) % _PLANE, code % _PLANE))
    pairs.sort()
    seconds = sorted({pair[:2] for pair in pairs})
    places = [next(row for row, pair in enumerate(pairs) if pair[:2] == second) for second in seconds]
    marks = [(code, unicodedata.combining(chr(code))) for code in range(_MARKS, 2 * _PLANE)]
    classes = _runs([(code, kind) for code, kind in marks if kind])
    return [
        "/* The second code points of pairs, sorted, without their plane; where the first ones start that compose with each; these, sorted, and",
        " * what each pair composes to (NFC). Those of plane 1 stand behind those of plane 0. */",
        f"#define RVL_LOW_SECONDS {sum(not plane for plane, _ in seconds)}u",
        _array("uint16_t", "rvl_seconds", (second for _, second in seconds)),
        _array("uint16_t", "rvl_second_places", [*places, len(pairs)]),
        _array("uint16_t", "rvl_firsts", (first for *_, first, _ in pairs)),
        _array("uint16_t", "rvl_wholes", (whole for *_, whole in pairs)),
        "/* Runs of marks of one canonical combining class: (first << 16 | how many follow << 8 | class). Those of plane 1 come last. */",
        f"#define RVL_LOW_CLASSES {sum(first < _PLANE for first, *_ in classes)}u",
        _array(
            "uint32_t",
            "rvl_classes",
            (first % _PLANE << 16 | last - first << 8 | kind for first, last, kind in classes),
        ),
    ]


def _composed(code: int) -> list[int]:
    return [ord(char) for char in unicodedata.normalize("NFC", chr(code))]


def _replacements() -> list[str]:
    """Return what code points are replaced by that stay in no composed text."""
    replaced = [code for code in range(0xC0, MAX_CODE_POINT + 1) if _composed(code) != [code]]
    ideographs = [code for first, last in _IDEOGRAPHS for code in range(first, last + 1)]
    targets = [0 if _composed(code) == [code] else _composed(code)[0] for code in ideographs]
    rows = []
    for code in sorted(set(replaced) - set(ideographs), key=lambda code: code % _PLANE):
        parts = [int(part, 16) % _PLANE for part in unicodedata.decomposition(chr(code)).split()]
        rows.append([code % _PLANE, *parts, *[0] * (2 - len(parts))])
    high = [target >= _PLANE for target in targets]
    return [
        "/* Code points that composed texts do not have, without their plane, and the one or two that stand for each. */",
        *(
            _array("uint16_t", f"rvl_replaced{name}", (row[place] for row in rows))
            for place, name in enumerate(("", "_firsts", "_seconds"))
        ),
        "/* The same of ideographs, 0 for one that stays, and a bit for each that stands for one of plane 2. */",
        *(
            f"#define RVL_{name}_IDEOGRAPHS {first:#x}u, {last:#x}u"
            for name, (first, last) in zip(("LOW", "HIGH"), _IDEOGRAPHS, strict=True)
        ),
        _array("uint16_t", "rvl_ideographs", (target % _PLANE for target in targets)),
        _array(
            "uint8_t",
            "rvl_ideograph_planes",
            (sum(bit << at for at, bit in enumerate(high[start : start + 8])) for start in range(0, len(high), 8)),
        ),
    ]


def _edges() -> list[str]:
    """Return where the kinds of code points begin and end that condensing tells apart."""
    kinds = {
        "MARKS": MARKS,
        "PILED": PILED,
        "SIGNS": SHOWN_SIGNS,
        "SCRIPTS": SCRIPTS,
        "DIGITS": sorted(DIGITS),
        "CODE_LETTERS": CODE_LETTERS,
        "OPTIONAL": OPTIONAL,
    }
    edges, places = list[int](), [0]
    for ranges in kinds.values():
        for plane in range(2):
            edges += [edge % _PLANE for first, last in ranges for edge in (first, last + 1) if first // _PLANE == plane]
            places.append(len(edges))
    return [
        "/* Where ranges of code points begin, and end, by their kind and plane (rule 0). */",
        *(f"#define RVL_{name} {2 * number}u" for number, name in enumerate(kinds)),
        _array("uint16_t", "rvl_edge_places", places),
        _array("uint16_t", "rvl_edges", edges),
    ]


def _runs(marks: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return (first, last, class) for neighbours of one class."""
    found: list[tuple[int, int, int]] = []
    for code, kind in marks:
        if found and found[-1][1] == code - 1 and found[-1][2] == kind:
            found[-1] = (found[-1][0], code, kind)
        else:
            found.append((code, code, kind))
    return found


if __name__ == "__main__":
    main()
