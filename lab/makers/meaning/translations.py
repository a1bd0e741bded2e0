"""From files of translations to sparse counts: which words a sentence has, and what it means by the words of its English translation."""

import dataclasses
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from makers.meaning.corpus import FEWEST_KEPT, read_lines, refuse_unspaced
from makers.meaning.words import meaning_words_of, unspaced_letters
from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.terminal import Progress

FEWEST_PAIRS: Final = 10_000
"""From fewer pairs, most words of a language stay unknown."""

SUFFIX: Final = ".tsv"

_FREQUENT: Final = 40_000
"""Words of wordfreq's list that get a vector even if no translation has them."""

_LISTS: Final = {"no": "nb"}
"""Tag of a language -> that of its list in wordfreq, where it is another one."""

_SHORTEST_BORROWED: Final = 4
"""Letters of a word that is taken for an English one if it is spelled like it."""

_LEAST_LENGTH: Final = 1e-6


@dataclasses.dataclass(frozen=True)
class Translations:
    """Sentences and entries of dictionaries, side by side with what their English translations mean.

    Attributes:
        words: of the language, those of the pairs first.
        shares: float64 `[words]`, how often each occurs: its share of the pairs' words plus that of wordfreq's.
        sentences: the English words of each pair, and its words of the language.
        texts: how often each word occurs in each pair, sparse float32 `[pairs, words]`.
        targets: float32 `[pairs, 128]`, the sum of the vectors of the words of the translation; not zero.
        pairs: how many there are; the rows of `texts` behind them are words that are English too.
        frequent: whether there was a list of frequent words.
    """

    words: tuple[str, ...]
    shares: npt.NDArray[np.float64]
    sentences: Sequence[tuple[Sequence[str], Sequence[str]]]
    texts: Any
    targets: Floats
    pairs: int
    frequent: bool


def translation_files(folder: Path, language: str) -> list[Path]:
    """Return the files of a folder whose name ends in the language, such as `pairs_de.tsv.bz2`.

    Raises:
        RetvecLiteError: for a folder without any.
    """
    found = sorted(folder.glob(f"*_{language}{SUFFIX}*"))
    if not found:
        raise RetvecLiteError(f"{folder} has no translations: name them like pairs_{language}{SUFFIX}.bz2.")
    return found


def read_translations(files: Sequence[Path], space: MeaningFile, language: str, progress: Progress) -> Translations:
    """Read pairs: English, a tab, the other language; other lines are left out.

    Args:
        files: UTF-8, packed or not.
        space: the meanings of the English words.
        language: of the other side; says which list of frequent words joins in.
        progress: told how many bytes of the files are read.

    Raises:
        RetvecLiteError: for a file that cannot be read, fewer than 10,000 pairs, or a script without spaces between words.
    """
    places = {word: place for place, word in enumerate(space.words)}
    vectors, counts = space.vectors, Counter[str]()
    texts: list[list[str]] = []
    sources: list[list[str]] = []
    targets: list[Floats] = []
    letters = unspaced = 0
    for english, other in split_pairs(read_lines(files, progress)):
        unspaced += unspaced_letters(other)
        words = [sys.intern(word) for word in meaning_words_of(other)]
        letters += sum(map(len, words))
        source = [sys.intern(word) for word in meaning_words_of(english) if word in places]
        target = vectors[[places[word] for word in source]].sum(axis=0)
        counts.update(words)
        if words and np.linalg.norm(target) > _LEAST_LENGTH:
            texts.append(words)
            sources.append(source)
            targets.append(target)
    refuse_unspaced(letters, unspaced)
    if len(texts) < FEWEST_PAIRS:
        raise RetvecLiteError(
            f"The files have {len(texts):,} pairs of English and another language with a tab between, too few: at least "
            f"{FEWEST_PAIRS:,} are needed, and 50,000 are better."
        )
    frequent = _frequent_words(language)
    names = [word for word, _ in counts.most_common()]
    names += [word for word, _ in Counter(frequent).most_common(_FREQUENT) if word not in counts]
    if len(names) < FEWEST_KEPT:
        raise RetvecLiteError(
            f"The pairs have {len(names):,} words of the language, and at least {FEWEST_KEPT} are needed."
        )
    # Names and borrowed words mean what they mean in English; false friends that are frequent have many pairs against this one.
    borrowed = [name for name in names if len(name) >= _SHORTEST_BORROWED and name in places]
    sentences = list(zip(sources, texts, strict=True))
    texts += [[name] for name in borrowed]
    targets += list(vectors[[places[name] for name in borrowed]])
    shares = _shares(names, counts) + _shares(names, frequent)
    counted = count_rows(texts, names)
    return Translations(tuple(names), shares, sentences, counted, np.stack(targets), len(sentences), bool(frequent))


def count_rows(texts: Iterable[Sequence[str]], names: Iterable[str]) -> Any:
    """Return how often each name occurs in each text: sparse float32 `[texts, names]`."""
    places = {name: place for place, name in enumerate(names)}
    columns: list[int] = []
    bounds = [0]
    for text in texts:
        columns += [places[name] for name in text if name in places]
        bounds.append(len(columns))
    found = sparse.csr_matrix(
        (np.ones(len(columns), np.float32), np.asarray(columns, np.int32), bounds), shape=(len(bounds) - 1, len(places))
    )
    found.sum_duplicates()
    return found


def split_pairs(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield English and the other language of each line that is such a pair."""
    for line in lines:
        english, tab, other = line.partition("\t")
        if tab and "\t" not in other:
            yield english, other


def _shares(names: Sequence[str], counts: Mapping[str, float]) -> npt.NDArray[np.float64]:
    found = np.asarray([counts.get(name, 0.0) for name in names], np.float64)
    return found / max(sum(counts.values()), _LEAST_LENGTH)


def _frequent_words(language: str) -> dict[str, float]:
    """Return how frequent the words of a language are, in plain letters; empty for a language that wordfreq does not know."""
    import wordfreq

    name = _LISTS.get(language, language)
    found: dict[str, float] = {}
    if name in wordfreq.available_languages("best"):
        for word, share in wordfreq.get_frequency_dict(name).items():
            words = list(meaning_words_of(word))
            if len(words) == 1:
                found[words[0]] = found.get(words[0], 0.0) + share
    return found
