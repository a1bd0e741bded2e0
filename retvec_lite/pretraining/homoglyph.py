"""Characters that look alike, from the Unicode confusables table (UTS 39) as packaged by `confusable-homoglyphs`."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from retvec_lite.errors import RetvecLiteError
from retvec_lite.pretraining.unicode_tables import Choices, make_choices


@functools.cache
def homoglyphs() -> Choices:
    """For every code point the single code points that Unicode calls confusable with it (both directions).

    Confusables of several characters ("rn" for "m") are left out: a substitution replaces one character by one.
    """
    try:
        import confusable_homoglyphs
    except ImportError as error:
        raise RetvecLiteError(
            "Pre-training needs the package confusable-homoglyphs (Unicode confusables): pip install confusable-homoglyphs."
        ) from error
    path = Path(confusable_homoglyphs.__file__).parent / "confusables.json"
    table: dict[str, list[dict[str, str]]] = json.loads(path.read_text(encoding="utf-8"))
    lists: dict[int, list[int]] = {}
    for char, options in table.items():
        singles = [ord(option["c"]) for option in options if len(option["c"]) == 1 and not option["c"].isspace()]
        singles = [code for code in singles if not 0xD800 <= code <= 0xDFFF]
        if len(char) == 1 and singles:
            lists[ord(char)] = singles
    return make_choices(lists)
