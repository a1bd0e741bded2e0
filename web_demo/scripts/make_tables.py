"""Write src/tables.json: the character tables that the page shares with Python.

python web_demo/scripts/make_tables.py           # needs `pip install "retvec-lite[pretrain]"` for the look-alikes
"""

import json
import sys
from pathlib import Path
from typing import Any

from retvec_lite.contract import BITS, CONTRACT_VERSION, INVISIBLE, SEPARATORS, UNSPACED
from retvec_lite.data import typos
from retvec_lite.pretraining.substitutes import lookalikes
from retvec_lite.runtime.explanation import LENGTHS

TARGET = Path(__file__).resolve().parents[1] / "src" / "tables.json"

LEET = {"a": "4@", "b": "8", "e": "3", "g": "9", "i": "1!", "l": "1", "o": "0", "s": "5$", "t": "7", "z": "2"}
"""Letter -> the digits and symbols that stand for it, in upper and lower case."""


def _look_alikes() -> dict[str, str]:
    """Return ASCII letter -> Greek and Cyrillic letters confusable with it (Unicode UTS 39), as used in real fraud.

    The full table consists mostly of mathematical alphabets, which look unusual in a word.
    """
    choices = lookalikes()
    found = {}
    for code in (*range(0x41, 0x5B), *range(0x61, 0x7B)):
        first, count = int(choices.starts[code]), int(choices.counts[code])
        others = sorted({int(other) for other in choices.members[first : first + count]})
        letters = [chr(other) for other in others if 0x370 <= other <= 0x52F and chr(other).isalpha()]
        if letters:
            found[chr(code)] = "".join(letters)
    return found


def tables() -> dict[str, Any]:
    """Return the tables, ready for JSON."""
    return {
        "contractVersion": CONTRACT_VERSION,
        "bits": BITS,
        "separators": list(SEPARATORS),
        "invisible": list(INVISIBLE),
        "unspaced": {script: {"length": LENGTHS[script], "ranges": ranges} for script, ranges in UNSPACED.items()},
        "typoKinds": list(typos.TYPO_KINDS),
        "scripts": [[script.first, script.last, script.alphabet] for script in typos._SCRIPTS],
        "neighborKeys": typos._NEIGHBORS,
        "latin": typos._LATIN,
        "leet": LEET,
        "homoglyphs": _look_alikes(),
    }


def as_text() -> str:
    """Return the file's text, with one key on each line for readable diffs."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in tables().items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    TARGET.write_text(as_text(), encoding="utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes", file=sys.stderr)
