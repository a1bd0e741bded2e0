"""Words of languages that wordfreq lacks, from the CLDR data inside the package `babel` (Unicode licence v3).

CLDR translates the names of territories, languages, scripts, currencies, units, time zones, days and months into several
hundred languages: a few thousand real words each, in every living script that has a keyboard.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import regex

from retvec_lite.errors import RetvecLiteError

# One locale for each script that wordfreq has no language in (Ethiopic and Tibetan have two).
SCRIPT_LOCALES: tuple[str, ...] = (
    *("th", "km", "lo", "my", "ka", "hy", "am", "ti", "gu", "pa", "kn", "ml", "te", "si", "bo", "dz"),
    *("or", "mn", "kk"),  # Odia likewise; Mongolian and Kazakh for the extra letters of their Cyrillic alphabets
)

# Sections that hold names; the others hold patterns ("d MMM y"), which are no words.
_SECTIONS = (
    *("territories", "languages", "variants", "scripts", "months", "days", "quarters", "eras", "day_periods"),
    *("time_zones", "meta_zones", "currency_names", "currency_names_plural", "unit_display_names", "unit_patterns"),
    *("date_fields", "measurement_systems", "compound_unit_patterns", "zone_formats", "list_patterns"),
)

# A word is letters and marks (joiners are invisible and dropped by the encoder, so they are dropped here too).
_WORD = regex.compile(r"[\p{L}\p{M}][\p{L}\p{M}'’·\-]*")
_INVISIBLE = regex.compile(r"[\u00ad\u061c\u200b-\u200f\u2060\ufeff]")
_LATIN = regex.compile(r"\p{Script=Latin}")


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, (tuple, list)):
        for inner in value:
            yield from _strings(inner)


def cldr_words(locale: str) -> list[str]:
    """The distinct casefolded words of one locale's own CLDR data, sorted; empty where the locale holds none."""
    localedata = _localedata()
    data = localedata.load(locale, merge_inherited=False)
    found: set[str] = set()
    for section in _SECTIONS:
        for text in _strings(data.get(section, {})):
            text = regex.sub(r"\{\d\}|%\(?\d?\)?s", " ", _INVISIBLE.sub("", text))
            found.update(word.casefold() for word in _WORD.findall(text))
    # In a locale of another script, Latin words are codes and leftovers of English.
    latin = sum(bool(_LATIN.match(word)) for word in found)
    if latin * 2 < len(found):
        found = {word for word in found if not _LATIN.search(word)}
    return sorted(found)


def cldr_languages() -> list[str]:
    """All plain language locales (no territory, no script), sorted."""
    return sorted(name for name in _localedata().locale_identifiers() if "_" not in name and name != "root")


def _localedata() -> Any:
    try:
        from babel import localedata
    except ImportError as error:
        raise RetvecLiteError("Pre-training needs the package babel (CLDR words): pip install babel.") from error
    return localedata
