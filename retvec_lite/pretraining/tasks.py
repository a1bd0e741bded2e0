"""What an embedding is asked: mistyped words that pre-training never saw, and people's own misspellings.

Where words come from: frequency lists of the user, and for other languages those of wordfreq, of which pre-training left out
2 % (`held_out`). A word of a user's list is asked for only when no training row of any language is that word.
"""

from __future__ import annotations

import csv
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import SEPARATORS, Ints
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.pretraining.augment import TYPO_KINDS, BoolArray, augment, word_lengths
from retvec_lite.pretraining.retrieval import candidate_words, mistyped_queries
from retvec_lite.pretraining.words import (
    UInt64Array,
    decode_word,
    encode_words,
    held_out,
    load_wordfreq,
    row_hashes,
    wordfreq_languages,
    wordfreq_words,
)

IntArray = npt.NDArray[np.int64]

CANDIDATES: Final = 10_000
"""Words among which the right one is to be found."""

FEWEST_QUERIES: Final = 100
"""A language with fewer words to ask for is skipped: its share would say nothing."""

# A list's shorter words are left alone, as those of wordfreq are: they are a closed set, and pieces of other words.
_SHORTEST_QUERY: Final = 3
# Typos of one kind: this part of the queries of each language, which over 50 languages still are 3,000 words a kind.
_KIND_PART: Final = 8
# Misspellings all lie in one language, so that their share needs as many queries as ten languages have.
_MISSPELLING_FACTOR: Final = 10
_WHITE_SPACE: Final = frozenset(map(chr, SEPARATORS))


@dataclass(frozen=True)
class Task:
    """Find the right word for each mistyped one.

    Attributes:
        name: the language, or the file of misspellings.
        source: where its words come from.
        candidates: int32 [C, 16] distinct words, C up to 10,000.
        queries: int32 [Q, 16], mistyped words.
        answers: int64 [Q], the row of the right one in `candidates`.
        kind_queries: int32 [K, 16], words mistyped in one way each ...
        kind_answers: int64 [K], ... their right ones ...
        kinds: int64 [K], ... and the way, an index of `TYPO_KINDS`.
    """

    name: str
    source: str
    candidates: Ints
    queries: Ints
    answers: IntArray
    kind_queries: Ints
    kind_answers: IntArray
    kinds: IntArray

    def scripts(self) -> list[str]:
        """The script of the right word of each query."""
        return [script_of(decode_word(row)) for row in self.candidates[self.answers]]


@dataclass(frozen=True)
class WordSource:
    """One language's words.

    Attributes:
        language: its code.
        origin: where they come from.
        load: reads them: int32 [N, 16] distinct casefolded words by falling frequency, and which of them pre-training
            never saw, bool [N].
    """

    language: str
    origin: str
    load: Callable[[], tuple[Ints, BoolArray]]


def word_sources(folder: Path | None) -> list[WordSource]:
    """All languages, sorted: one for each `<language>.csv` of `folder`, and those of wordfreq that it lacks.

    Raises:
        RetvecLiteError: for a folder that is missing or holds no such file.
    """
    lists = {} if folder is None else _list_files(folder)
    sources = [
        WordSource(name, "wordfreq", _wordfreq_loader(name)) for name in wordfreq_languages() if name not in lists
    ]
    trained: list[UInt64Array] = []

    def hashes() -> UInt64Array:
        if not trained:
            trained.append(np.sort(row_hashes(load_wordfreq().rows)))
        return trained[0]

    sources += [WordSource(name, "list", _list_loader(path, hashes)) for name, path in lists.items()]
    return sorted(sources, key=lambda source: source.language)


def word_task(source: WordSource, *, seed: int, queries: int) -> Task | None:
    """Mistyped unseen words of a language, as the paper mistypes them, against its most frequent words.

    The most frequent unseen words make up to half of the candidates; the rest are the most frequent others. The same seed
    asks the same of every embedding, whichever other languages are asked for.

    Args:
        source: the words.
        seed: of the choice of words and of their typos.
        queries: mistyped words to look up, at most.

    Returns:
        The task; None for a language with fewer than `FEWEST_QUERIES` words to ask for.
    """
    rows, unseen = source.load()
    pool, asked = candidate_words(rows, unseen, CANDIDATES)
    if asked < FEWEST_QUERIES:
        return None
    rng = np.random.default_rng((seed, zlib.crc32(source.language.encode())))
    answers, mistyped = mistyped_queries(pool, asked, queries, rng)
    return Task(source.language, source.origin, pool, mistyped, answers, *_by_kind(pool, answers, rng))


def _by_kind(pool: Ints, answers: IntArray, rng: np.random.Generator) -> tuple[Ints, IntArray, IntArray]:
    """Words mistyped in each of the 22 ways alone; what a way cannot change (case in Arabic) is left out."""
    queries, rights, kinds = [], [], []
    for kind in range(len(TYPO_KINDS)):
        right = rng.permutation(answers)[: max(len(answers) // _KIND_PART, 1)]
        mistyped = augment(pool[right], rng, share=1.0, kinds=[kind])
        changed = (mistyped != pool[right]).any(axis=1)
        queries.append(mistyped[changed])
        rights.append(right[changed])
        kinds.append(np.full(int(changed.sum()), kind, np.int64))
    return np.concatenate(queries), np.concatenate(rights), np.concatenate(kinds)


def misspelling_task(pairs: Dataset, *, seed: int, queries: int) -> Task:
    """People's misspellings against the right words and the most frequent English ones.

    Pairs count that are single words, differ once casefolded and cut off at 16 characters, and whose misspelling is no
    candidate itself: without a sentence around it, "their" is no misspelling of "there".

    Args:
        pairs: texts are misspellings, labels the right words.
        seed: of the choice of pairs.
        queries: ten times as many pairs are looked up, at most.

    Raises:
        RetvecLiteError: for a file without any such pair.
    """
    single = {
        (wrong.casefold(), right.casefold())
        for wrong, right in zip(pairs.texts, pairs.labels, strict=True)
        if not (_WHITE_SPACE & set(wrong + right))
    }
    ordered = sorted(single)
    wrong, right = (encode_words([pair[side] for pair in ordered]) for side in (0, 1))
    differ = np.flatnonzero((wrong != right).any(axis=1))
    picked = np.random.default_rng(seed).permutation(differ)[: min(_MISSPELLING_FACTOR * queries, CANDIDATES // 2)]
    _, first = np.unique(row_hashes(right[picked]), return_index=True)
    rights = right[picked[first]]
    frequent, _ = wordfreq_words("en")
    others = frequent[~np.isin(row_hashes(frequent), row_hashes(rights))]
    candidates = np.concatenate([rights, others[: CANDIDATES - len(rights)]])
    asked = picked[~np.isin(row_hashes(wrong[picked]), row_hashes(candidates))]
    if len(asked) == 0:
        raise RetvecLiteError(
            f"Expected pairs of a single misspelled word and its right form in {pairs.path}, received none."
        )
    order = np.argsort(row_hashes(rights))
    answers = order[np.searchsorted(row_hashes(rights), row_hashes(right[asked]), sorter=order)].astype(np.int64)
    nothing = np.zeros(0, np.int64)
    return Task(pairs.path.name, "misspellings", candidates, wrong[asked], answers, wrong[:0], nothing, nothing)


def script_of(word: str) -> str:
    """The script of a word's first letter, by its Unicode name: "Latin", "Cyrillic", "Han"; "other" without a letter."""
    for char in word:
        if unicodedata.category(char)[0] == "L":
            name = unicodedata.name(char, "other").removeprefix("HALFWIDTH ").removeprefix("FULLWIDTH ")
            script = name.partition(" ")[0].partition("-")[0]
            return "Han" if script == "CJK" else script.capitalize()
    return "other"


def _wordfreq_loader(language: str) -> Callable[[], tuple[Ints, BoolArray]]:
    def load() -> tuple[Ints, BoolArray]:
        rows, _ = wordfreq_words(language)
        return rows, held_out(rows)

    return load


def _list_loader(path: Path, trained: Callable[[], UInt64Array]) -> Callable[[], tuple[Ints, BoolArray]]:
    def load() -> tuple[Ints, BoolArray]:
        words = list(dict.fromkeys(word.casefold() for word in read_frequency_list(path)))
        rows = encode_words(words)
        _, first = np.unique(row_hashes(rows), return_index=True)  # words that differ behind the last place
        first = np.sort(first)
        rows = rows[first]
        lettered = np.asarray([any(char.isalpha() for char in words[index]) for index in first], np.bool_)
        return rows, lettered & (word_lengths(rows) >= _SHORTEST_QUERY) & ~_contains(trained(), row_hashes(rows))

    return load


def _contains(ordered: UInt64Array, hashes: UInt64Array) -> BoolArray:
    """Which hashes are in an ascending array."""
    found: BoolArray = ordered[np.minimum(np.searchsorted(ordered, hashes), len(ordered) - 1)] == hashes
    return found


def _list_files(folder: Path) -> dict[str, Path]:
    paths = sorted(folder.glob("*.csv")) if folder.is_dir() else []
    if not paths:
        raise RetvecLiteError(f"Expected a folder of frequency lists <language>.csv, received {folder}.")
    for path in paths:
        # One line of each: a file of another kind is refused before the long work.
        next(_rows(path), None)
    return {path.stem: path for path in paths}


def read_frequency_list(path: Path) -> list[str]:
    """The words of a CSV file with the columns `word` and `count`, the most frequent first, none with white space.

    Raises:
        RetvecLiteError: for another header, a count that is no number, a file that is not UTF-8.
    """
    words = [row for row in _rows(path) if row[0] and not _WHITE_SPACE & set(row[0])]
    return [word for word, _ in sorted(words, key=lambda row: -row[1])]


def _rows(path: Path) -> Iterator[tuple[str, float]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if not _has_columns(reader.fieldnames):
                received = ",".join(reader.fieldnames or []) or "nothing"
                raise RetvecLiteError(f"Expected the columns word,count in {path}, received {received}.")
            for row in reader:
                try:
                    yield row["word"] or "", float(row["count"])
                except (TypeError, ValueError):
                    raise RetvecLiteError(
                        f"Expected a number as the count in {path}, line {reader.line_num}, received {row['count']!r}."
                    ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RetvecLiteError(f"Expected a UTF-8 frequency list in {path}, received: {error}.") from error


def _has_columns(names: Sequence[str] | None) -> bool:
    return names is not None and {"word", "count"} <= set(names)
