"""Write the character tables of the wrapper that reads texts itself, in Kotlin: run `python -m tools.wrapper_tables`."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from retvec_lite.condensing import ENTITIES, INLINE
from retvec_lite.contract import MAX_CODE_POINT, SEPARATING, UNSPACED
from retvec_lite.kinds import CODE_LETTERS, DIGITS, FROM_RIGHT, MARKS, OPTIONAL, PILED, SCRIPTS, SIGNS
from retvec_lite.letters import TWINS
from retvec_lite.normal_form import IGNORED, Ranges, ranges_hold

ROOT: Final = Path(__file__).parents[1]
KOTLIN: Final = ROOT / "android/retvec-lite-litert/src/main/kotlin/org/retveclite/Tables.kt"

KINDS: Final[Mapping[str, Ranges]] = {
    "separator": tuple((code, code) for code in SEPARATING),
    "sign": SIGNS,
    "mark": MARKS,
    "piled": (*MARKS, *PILED),
    "ignored": IGNORED,
    "han": UNSPACED["han_piece"],
    "kana": UNSPACED["kana_piece"],
    "sea": UNSPACED["sea_piece"],
    "digit": DIGITS,
}
"""What a wrapper asks about a code point, from the lowest bit on: 9 bits, below the 21 of the code point itself."""

_ABOUT: Final = {
    "kinds": "Where what is asked about a code point changes: (code point << 9 | kinds), hexadecimal and sorted.",
    "scripts": "The first and last code points of scripts that do not lie in one row of 128 (rule 0d), hexadecimal.",
    "optional": "The first and last code points of what people leave out (rule 0c), hexadecimal.",
    "code_letters": "The first and last letters of codes (rule 0e), hexadecimal.",
    "twins": "Scripts of rule 0g: the first and last code point, how many letters look the same, and the letters, Latin ones first.",
    "leftward": "The first and last code points of scripts that are written from right to left (rule 0c), hexadecimal.",
    "inline": "Tags that nothing stands for (rule 0a).",
    "entities": "Names of characters, and the code points that they stand for (rule 0a), hexadecimal.",
}
_HEAD: Final = "// Character tables. Written by `python -m tools.wrapper_tables`: do not edit."
_WIDTH: Final = 118


def kotlin() -> str:
    """Return the text of Tables.kt.

    Example:
        >>> from tools.wrapper_tables import kotlin
        >>> "internal const val SIGN = 0x2" in kotlin()
        True
    """
    bits = (f"internal const val {name.upper()} = {1 << bit:#x}" for bit, name in enumerate(KINDS))
    parts = [_HEAD, "package org.retveclite\n", *bits]
    for name, words in _tables().items():
        lines = (f'    "{line}"' for line in _lines(words))
        parts += [f"\n/** {_ABOUT[name]} */", f"internal val {name.upper()} =", " +\n".join(lines)]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Write the file."""
    KOTLIN.write_text(kotlin(), encoding="ascii", newline="\n")
    print(f"{KOTLIN.name}: {KOTLIN.stat().st_size:,} bytes")


def _tables() -> dict[str, list[str]]:
    return {
        "kinds": [f"{value:x}" for value in _changes()],
        "scripts": [f"{edge:x}" for edges in SCRIPTS for edge in edges],
        "optional": [f"{edge:x}" for edges in OPTIONAL for edge in edges],
        "code_letters": [f"{edge:x}" for edges in CODE_LETTERS for edge in edges],
        "twins": [
            word
            for first, last, latin, own, alike in TWINS
            for word in (f"{first:x}", f"{last:x}", f"{alike:x}", *(f"{ord(char):x}" for char in latin + own), "0")
        ],
        "leftward": [f"{edge:x}" for edges in FROM_RIGHT for edge in edges],
        "inline": sorted(INLINE),
        "entities": [word for name, char in ENTITIES.items() for word in (name, f"{ord(char):x}")],
    }


def _changes() -> list[int]:
    """Return where the kinds change, each as (code point << 9 | kinds)."""
    edges = {0, *(edge for ranges in KINDS.values() for first, last in ranges for edge in (first, last + 1))}
    found: list[int] = []
    for code in sorted(edge for edge in edges if edge <= MAX_CODE_POINT):
        kinds = sum(1 << bit for bit, ranges in enumerate(KINDS.values()) if ranges_hold(ranges, code))
        if not found or found[-1] & 0x1FF != kinds:
            found.append(code << 9 | kinds)
    return found


def _lines(words: list[str]) -> list[str]:
    """Return the words in lines that make one text when they are joined."""
    lines = textwrap.wrap(" ".join(words), _WIDTH, break_on_hyphens=False)
    return [*(f"{line} " for line in lines[:-1]), lines[-1]]


if __name__ == "__main__":
    main()
