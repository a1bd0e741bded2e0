"""What an embedding is asked: to find the right words of mistyped ones that pre-training never saw, and of misspellings.

Words come from frequency lists of the user, and for other languages from wordfreq, of which pre-training leaves out 2 %
(`held_out`). A word of a user's list is asked for only when it is in no training row of any language.
"""

import dataclasses
import functools
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from makers.embedding.word_typos import KIND_NAMES, Indices, Mask, mistype_all, word_lengths
from makers.embedding.words import (
    WHITE_SPACE,
    WORDFREQ,
    Hashes,
    distinct,
    held_out,
    load_words,
    read_frequency_list,
    row_hashes,
    word_rows,
    wordfreq_languages,
    wordfreq_words,
)
from retvec_lite.contract import Floats, Ints
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError

CANDIDATES: Final = 10_000
"""Words among which the right one has to be found."""

FEWEST_QUERIES: Final = 100
"""A language with fewer words to ask for is skipped: its share would say nothing."""

# Shorter words are not asked for, as with wordfreq: they are a closed set, and pieces of other words.
_SHORTEST_QUERY: Final = 3
# Words mistyped by one kind of typo alone: this part of each language's queries; over 50 languages 3,000 words each.
_KIND_PART: Final = 8
# Misspellings are all of one language: their share takes as many queries as ten languages have.
_MISSPELLING_FACTOR: Final = 10


class Queries(NamedTuple):
    """Mistyped words to look up, int32 [Q, 16], and the row of each right word among the candidates, int64 [Q]."""

    words: Ints
    answers: Indices


@dataclasses.dataclass(frozen=True)
class RetrievalSet:
    """Find the right word for each mistyped one.

    Attributes:
        name: the language, or the file of misspellings.
        candidates: int32 [C, 16] distinct words, C up to 10,000.
        queries: what to look up.
        source: where the words come from.
        by_kind: kind of typo -> words mistyped by it alone; kinds that change no word (case in Arabic) are left out.
    """

    name: str
    candidates: Ints
    queries: Queries
    source: str = WORDFREQ
    by_kind: Mapping[str, Queries] = dataclasses.field(default_factory=dict)

    def found(self, embed: Callable[[Ints], Floats]) -> float:
        """Return the share of queries whose nearest candidate by cosine is the right one."""
        candidates, queries = (normalized(embed(rows)) for rows in (self.candidates, self.queries.words))
        return float(np.mean((queries @ candidates.T).argmax(axis=1) == self.queries.answers))


def normalized(vectors: Floats) -> Floats:
    """Return vectors scaled to length 1, so that a dot product is a cosine; zeros stay zeros."""
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled


def retrieval_set(language: str, rows: Ints, *, seed: int) -> RetrievalSet:
    """Return 500 held-out words, mistyped, among the most frequent words of their language: the metric of a pre-training.

    Rows are words by falling frequency, int32 [N, 16]. Of lists without held-out words, all words are asked for.
    """
    unseen = held_out(rows)
    if not unseen.any():
        unseen = np.ones(len(rows), np.bool_)
    pool, asked = _candidates(rows, unseen)
    return RetrievalSet(language, pool, _mistyped(pool, asked, 500, np.random.default_rng(seed)))


def _candidates(rows: Ints, unseen: Mask) -> tuple[Ints, int]:
    """Return the most frequent unseen words, up to half, before the most frequent others; and how many are unseen."""
    chosen = np.flatnonzero(unseen)[: CANDIDATES // 2]
    rest = np.setdiff1d(np.arange(len(rows)), chosen)[: CANDIDATES - len(chosen)]
    return np.concatenate([rows[chosen], rows[rest]]), len(chosen)


def _mistyped(pool: Ints, asked: int, queries: int, rng: np.random.Generator) -> Queries:
    """Return up to `queries` of the first `asked` rows, mistyped; answers ascend."""
    answers = np.sort(rng.permutation(asked)[:queries]).astype(np.int64)
    return Queries(mistype_all(pool[answers], rng), answers)


class WordSource(NamedTuple):
    """One language's words.

    Attributes:
        language: its code.
        origin: where they come from.
        load: reads them: int32 [N, 16] distinct casefolded words by falling frequency, and which of them pre-training
            never saw, bool [N].
    """

    language: str
    origin: str
    load: Callable[[], tuple[Ints, Mask]]


def word_sources(folder: Path | None) -> list[WordSource]:
    """Return all languages, sorted: one for each `<language>.csv` of `folder`, and those of wordfreq that it lacks.

    Raises:
        RetvecLiteError: for a folder that is missing or holds no such file.
    """

    @functools.cache
    def trained() -> Hashes:
        return row_hashes(load_words([Path(WORDFREQ)]).rows)

    paths = [] if folder is None else sorted(folder.glob("*.csv"))
    if folder is not None and not paths:
        raise RetvecLiteError(f"There are no frequency lists <language>.csv in {folder}.")
    known = {name: WordSource(name, WORDFREQ, functools.partial(_load_wordfreq, name)) for name in wordfreq_languages()}
    known |= {path.stem: WordSource(path.stem, "list", functools.partial(_load_list, path, trained)) for path in paths}
    return [known[language] for language in sorted(known)]


def _load_wordfreq(language: str) -> tuple[Ints, Mask]:
    rows, _ = wordfreq_words(language)
    return rows, held_out(rows)


def _load_list(path: Path, trained: Callable[[], Hashes]) -> tuple[Ints, Mask]:
    words = list(dict.fromkeys(word.casefold() for word, _ in read_frequency_list(path)))
    rows = word_rows(words)
    first = distinct(rows)
    rows = rows[first]
    lettered = np.asarray([any(char.isalpha() for char in words[index]) for index in first], np.bool_)
    return rows, lettered & (word_lengths(rows) >= _SHORTEST_QUERY) & ~np.isin(row_hashes(rows), trained())


def language_set(source: WordSource, *, queries: int) -> RetrievalSet | None:
    """Return mistyped unseen words of a language among its most frequent words, also by kind of typo.

    The most frequent unseen words make up to half of the candidates; the rest are the most frequent others. The same is
    asked of every embedding, whichever other languages there are. A language with fewer than `FEWEST_QUERIES` words to ask
    for has no set.
    """
    rows, unseen = source.load()
    pool, asked = _candidates(rows, unseen)
    if asked < FEWEST_QUERIES:
        return None
    rng = np.random.default_rng((0, zlib.crc32(source.language.encode())))
    found = _mistyped(pool, asked, queries, rng)
    return RetrievalSet(source.language, pool, found, source.origin, _by_kind(pool, found.answers, rng))


def _by_kind(pool: Ints, answers: Indices, rng: np.random.Generator) -> dict[str, Queries]:
    found = {}
    for kind in KIND_NAMES:
        right = rng.permutation(answers)[: max(len(answers) // _KIND_PART, 1)]
        mistyped = mistype_all(pool[right], rng, kind=kind)
        changed = (mistyped != pool[right]).any(axis=1)
        if changed.any():
            found[kind] = Queries(mistyped[changed], right[changed])
    return found


def misspelling_set(pairs: Dataset, *, queries: int) -> RetrievalSet:
    """Return human misspellings, whose right words are among themselves and the most frequent English words.

    A pair counts if both are single words, they differ once casefolded and cut off at 16 characters, and the misspelling is
    no candidate itself: without a sentence around it, "their" is no misspelling of "there".

    Texts of `pairs` are misspellings, labels the right words; at most ten times `queries` are looked up.

    Raises:
        RetvecLiteError: for a file without any such pair.
    """
    single = {
        (wrong.casefold(), right.casefold())
        for wrong, right in zip(pairs.texts, pairs.labels, strict=True)
        if not (WHITE_SPACE & set(wrong + right))
    }
    ordered = sorted(single)
    wrong, right = (word_rows([pair[side] for pair in ordered]) for side in (0, 1))
    differ = np.flatnonzero((wrong != right).any(axis=1))
    picked = np.random.default_rng(0).permutation(differ)[: min(_MISSPELLING_FACTOR * queries, CANDIDATES // 2)]
    _, first = np.unique(row_hashes(right[picked]), return_index=True)
    rights = right[picked[first]]
    frequent, _ = wordfreq_words("en")
    others = frequent[~np.isin(row_hashes(frequent), row_hashes(rights))]
    candidates = np.concatenate([rights, others[: CANDIDATES - len(rights)]])
    asked = picked[~np.isin(row_hashes(wrong[picked]), row_hashes(candidates))]
    if len(asked) == 0:
        raise RetvecLiteError(
            f"{pairs.path} has no pair of a misspelled single word (column text) and its right form (column label)."
        )
    order = np.argsort(row_hashes(rights))
    answers = order[np.searchsorted(row_hashes(rights), row_hashes(right[asked]), sorter=order)].astype(np.int64)
    return RetrievalSet(pairs.path.name, candidates, Queries(wrong[asked], answers), "misspellings")
