"""Write the character tables of Python for TypeScript: npm/src/tables.ts, and src/tables.json for the page alone.

python web_demo/scripts/make_tables.py           # needs `pip install confusable-homoglyphs` for the look-alikes
"""

import json
import string
import sys
from pathlib import Path
from typing import Any

from retvec_lite.contract import BITS, CONTRACT_VERSION, INVISIBLE, SEPARATORS, UNSPACED
from retvec_lite.data import typos
from retvec_lite.runtime.explanation import LENGTHS

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (ROOT / "npm" / "src" / "tables.ts", ROOT / "web_demo" / "src" / "tables.json")

LEET = {"a": "4@", "b": "8", "e": "3", "g": "9", "i": "1!", "l": "1", "o": "0", "s": "5$", "t": "7", "z": "2"}
"""Letter -> the digits and symbols that stand for it, in upper and lower case."""


def _look_alikes() -> dict[str, str]:
    """Return ASCII letter -> Greek and Cyrillic letters confusable with it (Unicode UTS 39), as used in real fraud.

    The full table consists mostly of mathematical alphabets, which look unusual in a word.
    """
    import confusable_homoglyphs

    path = Path(confusable_homoglyphs.__file__).parent / "confusables.json"
    table = json.loads(path.read_text(encoding="utf-8"))
    found = {}
    for letter in string.ascii_uppercase + string.ascii_lowercase:
        others = {other["c"] for other in table.get(letter, ()) if len(other["c"]) == 1}
        letters = sorted(other for other in others if 0x370 <= ord(other) <= 0x52F and other.isalpha())
        if letters:
            found[letter] = "".join(letters)
    return found


def of_contract() -> str:
    """Return what the npm package needs, as TypeScript."""
    unspaced = {script: {"length": LENGTHS[script], "ranges": ranges} for script, ranges in UNSPACED.items()}
    return (
        "/** Tables of the contract, written by web_demo/scripts/make_tables.py from the Python code. */\n"
        f"export const CONTRACT_VERSION = {CONTRACT_VERSION};\n"
        "/** What separates words, the padding as well. */\n"
        f"export const SEPARATORS: ReadonlySet<number> = new Set({json.dumps([0, *SEPARATORS])});\n"
        f"export const UNSPACED = {json.dumps(unspaced)} as const;\n"
    )


def of_page() -> dict[str, Any]:
    """Return what only the page needs, ready for JSON."""
    return {
        "bits": BITS,
        "invisible": list(INVISIBLE),
        "typoKinds": list(typos.TYPO_KINDS),
        "scripts": [[script.first, script.last, script.alphabet] for script in typos._SCRIPTS],
        "neighborKeys": typos._NEIGHBORS,
        "latin": typos._LATIN,
        "leet": LEET,
        "homoglyphs": _look_alikes(),
    }


def texts() -> list[str]:
    """Return the texts of `TARGETS`, with one key on each line for readable diffs."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in of_page().items()]
    return [of_contract(), "{\n" + ",\n".join(lines) + "\n}\n"]


if __name__ == "__main__":
    for target, text in zip(TARGETS, texts(), strict=True):
        target.write_text(text, encoding="utf-8")
        print(f"{target}: {target.stat().st_size:,} bytes", file=sys.stderr)
