"""Write the character tables of Python for the page: src/tables.json.

python web_demo/scripts/make_tables.py           # needs `pip install confusable-homoglyphs` for the look-alikes
"""

import json
import string
import sys
from pathlib import Path
from typing import Any

from retvec_lite.contract import BITS, INVISIBLE, SEPARATORS
from retvec_lite.data import typos

TARGET = Path(__file__).resolve().parents[1] / "src" / "tables.json"

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


def tables() -> dict[str, Any]:
    """Return what the page needs, ready for JSON."""
    return {
        "bits": BITS,
        "separators": [0, *SEPARATORS],
        "invisible": list(INVISIBLE),
        "typoKinds": list(typos.TYPO_KINDS),
        "scripts": [[script.first, script.last, script.alphabet] for script in typos._SCRIPTS],
        "neighborKeys": typos._NEIGHBORS,
        "latin": typos._LATIN,
        "leet": LEET,
        "homoglyphs": _look_alikes(),
    }


def text() -> str:
    """Return the text of `TARGET`, with one key on each line for readable diffs."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in tables().items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes", file=sys.stderr)
