"""The words that pre-training learns from: lists, case restoration, balanced sampling, held-out words.

Rows are words as int32 code points `[N, 16]`, zero-padded, longer words cut off (as in the paper).
"""

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import regex

from makers.embedding.substitutes import Doubles, title_table, upper_table
from makers.embedding.word_typos import WORD_LENGTH, Indices, Mask, word_lengths
from retvec_lite.contract import SEPARATORS, Ints
from retvec_lite.data.lines import explained
from retvec_lite.errors import RetvecLiteError

Hashes = npt.NDArray[np.uint64]
_Weighted = tuple[Ints, Doubles, float]  # words int32 [n, L], their weights [n], the factor of their language

WHITE_SPACE: Final = frozenset(map(chr, SEPARATORS))

WORDFREQ: Final = "wordfreq"
"""Stands for the lists that come with Python packages, where names of files are asked for."""

WORDFREQ_SOURCE: Final = "wordfreq 3.1 (best lists) and CLDR (babel)"

# Languages of scripts without spaces, of which the encoder sees pieces and not words.
_UNSPACED_LANGUAGES: Final = ("zh", "ja", "th", "lo", "km", "my")
# The encoder cuts Han into single characters, kana into pairs and South-East Asian runs into sixes (`retvec_lite.contract.Piece`),
# and leaves shorter remainders of each.
_PIECE_LENGTHS: Final = {"zh": (1, 2, 3, 4), "ja": (1, 2, 3, 4)}
_SEA_PIECE_LENGTHS: Final = (1, 2, 3, 4, 5, 6)

# P(language) ~ count ** 0.3: Finnish (734,000 words) is drawn four times as often as Vietnamese (11,000), not 70 times.
_LANGUAGE_EXPONENT: Final = 0.3
# P(word | language) ~ frequency ** 0.25: common words are drawn about ten times as often as the rarest, so that the model
# knows the words people write, while most of a batch are the half million rare ones, from which it learns to generalize.
_FREQUENCY_EXPONENT: Final = 0.25
# CLDR holds some 190 more languages with small lists, mostly in Latin script: together they count like a few large ones.
_SMALL_LANGUAGE_SHARE: Final = 0.25
# A script that only CLDR covers is drawn 1.5 times as often as its short list would be: it has only one language.
_SCRIPT_SHARE: Final = 1.5
_CASES: Final = (0.6, 0.25, 0.15)  # as it is (casefolded), Title, UPPER

_HELD_OUT_ONE_IN: Final = 50  # 2 %

# CLDR (the data inside the package `babel`, Unicode licence v3) translates the names of territories, languages, scripts,
# currencies, units, time zones, days and months into several hundred languages: a few thousand real words each, in every
# living script that has a keyboard. Here one locale for each script that wordfreq lacks (Ethiopic and Tibetan have two).
SCRIPT_LOCALES: Final[tuple[str, ...]] = (
    *("th", "km", "lo", "my", "ka", "hy", "am", "ti", "gu", "pa", "kn", "ml", "te", "si", "bo", "dz"),
    *("or", "mn", "kk"),  # Odia likewise; Mongolian and Kazakh for the extra letters of their Cyrillic alphabets
)

# Sections that hold names; the others hold patterns ("d MMM y"), which are no words.
_SECTIONS: Final = (
    *("territories", "languages", "variants", "scripts", "months", "days", "quarters", "eras", "day_periods"),
    *("time_zones", "meta_zones", "currency_names", "currency_names_plural", "unit_display_names", "unit_patterns"),
    *("date_fields", "measurement_systems", "compound_unit_patterns", "zone_formats", "list_patterns"),
)

# A word is letters and marks (joiners are invisible and dropped by the encoder, so they are dropped here too).
_WORD: Final = regex.compile(r"[\p{L}\p{M}][\p{L}\p{M}'’·\-]*")
_INVISIBLE: Final = regex.compile(r"[\u00ad\u061c\u200b-\u200f\u2060\ufeff]")
_LATIN: Final = regex.compile(r"\p{Script=Latin}")


_DIGITS: Final = 16
"""Hexadecimal digits of a SHA-256 that tell word lists apart, and can be read in a message."""


@dataclass(frozen=True)
class WordList:
    """Words to sample from.

    Attributes:
        rows: int32 [N, L], language after language.
        cumulative: float64 [N], cumulative probability of each row; the last is 1.
        languages: name -> (first row, one past its last row).
        source: where the words come from, for the model card.
    """

    rows: Ints
    cumulative: Doubles
    languages: Mapping[str, tuple[int, int]]
    source: str

    def sample(self, count: int, rng: np.random.Generator) -> Ints:
        """Draw words with their case restored at random (60 % as listed, 25 % Title, 15 % UPPER): int32 [count, L]."""
        chosen = np.searchsorted(self.cumulative, rng.random(count), side="right")
        words = self.rows[np.minimum(chosen, len(self.rows) - 1)]
        return restore_case(restore_digits(words, rng), rng)

    @property
    def digest(self) -> str:
        """What tells word lists apart, and can be read in a message."""
        digest = hashlib.sha256(f"{self.rows.shape} {dict(self.languages)}".encode())
        digest.update(np.ascontiguousarray(self.rows, "<i4").data)
        digest.update(np.ascontiguousarray(self.cumulative, "<f8").data)
        return digest.hexdigest()[:_DIGITS]


def word_rows(words: Sequence[str]) -> Ints:
    """Return words as rows of code points, int32 [N, 16], zero-padded; longer words are cut off."""
    text = "".join(word[:WORD_LENGTH].ljust(WORD_LENGTH, "\0") for word in words)
    return np.frombuffer(text.encode("utf-32-le", "replace"), "<i4").reshape(-1, WORD_LENGTH).astype(np.int32)


def row_hashes(rows: Ints) -> Hashes:
    """Return a 64-bit hash of each row, uint64 [N], the same on every machine and in every version (polynomial, then mixed)."""
    hashes = np.zeros(len(rows), np.uint64)
    for column in range(rows.shape[1]):
        hashes = hashes * np.uint64(0x100000001B3) + rows[:, column].astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    hashes ^= hashes >> np.uint64(31)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    return hashes ^ (hashes >> np.uint64(29))


def held_out(rows: Ints) -> Mask:
    """Return which casefolded words pre-training never sees, bool [N]: 2 % by hash, of three or more characters.

    Shorter words are a closed set (every Han character is one), and they are pieces of other words.
    """
    chosen: Mask = row_hashes(rows) % np.uint64(_HELD_OUT_ONE_IN) == 0
    return chosen & (word_lengths(rows) > 2)


def restore_case(words: Ints, rng: np.random.Generator) -> Ints:
    """Return each word as it is, in Title case or in UPPER case, at random: int32 [B, L]."""
    case = rng.choice(3, len(words), p=_CASES)
    words = words.copy()
    words[case == 1, 0] = title_table()[words[case == 1, 0]]
    words[case == 2] = upper_table()[words[case == 2]]
    return words


def restore_digits(words: Ints, rng: np.random.Generator) -> Ints:
    """Return words with random digits for the zeros that wordfreq writes in long numbers ("00:00", "0000"): int32 [B, L]."""
    zeros = words == ord("0")
    zeros &= (zeros.sum(axis=1) >= 2)[:, None]
    digits = rng.integers(ord("0"), ord("9") + 1, words.shape, dtype=np.int32)
    return np.where(zeros, digits, words)


def pieces(rows: Ints, sizes: Sequence[int]) -> Ints:
    """Return all distinct runs of so many characters inside words of a script without spaces: int32 [P, L]."""
    found = []
    lengths, word_length = word_lengths(rows), rows.shape[1]
    for size in sizes:
        for start in range(word_length - size + 1):
            whole = rows[lengths >= start + size, start : start + size]
            found.append(np.pad(whole, ((0, 0), (0, word_length - size))))
    every = np.concatenate(found)
    return every[distinct(every)]


def distinct(rows: Ints) -> Indices:
    """Return where each word is for the first time, ascending: int64 [D]. Words may differ behind the last place only."""
    _, first = np.unique(row_hashes(rows), return_index=True)
    return np.sort(first)


def build_word_list(lists: Iterable[tuple[str, Ints, Doubles, float]], source: str) -> WordList:
    """Return a word list with balanced languages, without the held-out words.

    Lists are (language, int32 [n, L] casefolded words, float64 [n] weights within the language, factor of the language).
    """
    rows, probabilities, languages, start = [], [], {}, 0
    for language, words, weights, factor in lists:
        kept = ~held_out(words) & (word_lengths(words) > 0)
        words, weights = words[kept], weights[kept]
        if len(words) == 0:
            continue
        rows.append(words)
        probabilities.append(weights / weights.sum() * factor * len(words) ** _LANGUAGE_EXPONENT)
        languages[language] = (start, start + len(words))
        start += len(words)
    if not rows:
        raise RetvecLiteError(f"There are no words to train on in {source}.")
    cumulative = np.cumsum(np.concatenate(probabilities))
    return WordList(np.concatenate(rows), cumulative / cumulative[-1], languages, source)


def load_words(names: Sequence[Path]) -> WordList:
    """Return the words of files and packages, as one list.

    Names are `wordfreq` (see `packaged_lists`), and UTF-8 files, one for each language and named after it: frequency lists (`.csv`, see
    `read_frequency_list`), or one word a line (what follows a blank or a tab is ignored). Words of a language that `wordfreq` has
    as well are added to its own.

    Raises:
        RetvecLiteError: for a file that cannot be read or is not UTF-8, and when there is no word to train on.
    """
    lists: dict[str, _Weighted] = {}
    for name in names:
        found = packaged_lists() if name == Path(WORDFREQ) else {name.stem: _read_list(name)}
        for language, weighted in found.items():
            lists[language] = _union(lists[language], weighted) if language in lists else weighted
    sources = [WORDFREQ_SOURCE if name == Path(WORDFREQ) else name.name for name in names]
    return build_word_list(((language, *weighted) for language, weighted in lists.items()), ", ".join(sources))


def _read_list(path: Path) -> _Weighted:
    if path.suffix == ".csv":
        counted = [(word.casefold(), count) for word, count in read_frequency_list(path)]
        words = [word for word, _ in counted]
        weights = np.maximum([count for _, count in counted], 1) ** _FREQUENCY_EXPONENT
    else:
        with explained(path):
            lines = path.read_text(encoding="utf-8").splitlines()
        words = [line.split()[0] for line in lines if line.strip()]
        weights = np.ones(len(words))
    return (*_first_ones(word_rows(words), weights), 1.0)


def _union(one: _Weighted, other: _Weighted) -> _Weighted:
    """Return the words of two lists of one language, each list with the same weight."""
    rows, weights = (np.concatenate(pair) for pair in zip(*((r, w / w.sum()) for r, w, _ in (one, other)), strict=True))
    return (*_first_ones(rows, weights), max(one[2], other[2]))


def _first_ones(rows: Ints, weights: Doubles) -> tuple[Ints, Doubles]:
    """Return each word once, with the weight of its first row."""
    first = distinct(rows)
    return rows[first], weights[first]


def read_frequency_list(path: Path) -> list[tuple[str, float]]:
    """Return the words and counts of a CSV file with the columns `word` and `count`, most frequent first.

    Words with white space inside are left out: the encoder would cut them.

    Raises:
        RetvecLiteError: for another header, a count that is no number, a file that is not UTF-8.
    """
    words: list[tuple[str, float]] = []
    with explained(path), path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        names = reader.fieldnames or []
        if not {"word", "count"} <= set(names):
            raise RetvecLiteError(f"No columns 'word' and 'count' in {path} (found: {', '.join(names) or 'none'}).")
        for row in reader:
            word = row["word"] or ""
            try:
                count = float(row["count"])
            except (TypeError, ValueError):
                raise RetvecLiteError(
                    f"The count in {path}, line {reader.line_num}, is no number: {row['count']!r}."
                ) from None
            if word and not WHITE_SPACE & set(word):
                words.append((word, count))
    return sorted(words, key=lambda row: -row[1])


def packaged_lists() -> dict[str, _Weighted]:
    """Return wordfreq's best lists of 42 languages, CLDR words of those it lacks, and pieces of unspaced scripts, by language."""
    lists: dict[str, _Weighted] = {language: (*wordfreq_words(language), 1.0) for language in wordfreq_languages()}
    known = {*lists, "no", "nn", "hr", "sr", "bs"}  # wordfreq calls the last three sh
    for language in cldr_languages():
        words = cldr_words(language) if language not in known else []
        if len(words) >= 200 or language in SCRIPT_LOCALES:
            rows = word_rows(words)
            rows = rows[distinct(rows)]
            factor = _SCRIPT_SHARE if language in SCRIPT_LOCALES else _SMALL_LANGUAGE_SHARE
            lists[language] = rows, np.ones(len(rows)), factor
    for language in _UNSPACED_LANGUAGES:
        if language in lists:
            every = lists[language][0]
            unspaced = every[every[:, 0] > 0x2FF]  # wordfreq's lists hold Latin words and numbers, too
            runs = pieces(unspaced, _PIECE_LENGTHS.get(language, _SEA_PIECE_LENGTHS))
            lists[f"{language}-pieces"] = runs, np.ones(len(runs)), 1.0
    return lists


def wordfreq_languages() -> list[str]:
    """Return the 42 languages of wordfreq, sorted."""
    import wordfreq

    return sorted(wordfreq.available_languages("best"))


def wordfreq_words(language: str) -> tuple[Ints, Doubles]:
    """Return casefolded words by falling frequency, int32 [N, 16], and their sampling weights, float64 [N]."""
    import wordfreq

    frequencies: dict[str, float] = wordfreq.get_frequency_dict(language, "best")
    ranked = sorted(frequencies.items(), key=lambda item: (-item[1], item[0]))
    words = [word for word, _ in ranked]
    if language == "el":  # casefolding made the final sigma a plain one
        words = [word[:-1] + "ς" if len(word) > 1 and word.endswith("σ") else word for word in words]
    rows = word_rows(words)
    weights = np.asarray([frequency for _, frequency in ranked]) ** _FREQUENCY_EXPONENT
    return _first_ones(rows, weights)


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
    """Return the distinct casefolded words of one locale's own CLDR data, sorted; empty where it has none."""
    from babel import localedata

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
    """Return all plain language locales (no territory, no script), sorted."""
    from babel import localedata

    return sorted(name for name in localedata.locale_identifiers() if "_" not in name and name != "root")
