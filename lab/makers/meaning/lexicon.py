"""Which words of one language stand for which of another, from sentences and their translations: IBM model 1.

Brown et al. 1993, The mathematics of statistical machine translation, https://aclanthology.org/J93-2003, section 4.1: every word of a
translation comes from one word of the sentence or from none, and how likely it is for each is learned by expectation maximization.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

SOURCES: Final = 6_000
"""Words of a language that get translations: the most frequent ones."""
LONGEST: Final = 25
"""Words of a sentence that are read."""
TENTHS: Final = 10

_PASSES: Final = 6
_MOST: Final = 4
"""Most translations of a word."""
_LEAST_SHARE: Final = 0.05
"""Share of the best translation that another one needs."""
_LEAST_COUNT: Final = 0.5
"""How often a word must have become another one in all pairs together."""
_TINY: Final = 1e-12

Numbers = npt.NDArray[np.int64]
Shares = npt.NDArray[np.floating[Any]]


def learn_lexicon(
    pairs: Iterable[tuple[Sequence[str], Sequence[str]]], sources: Sequence[str], targets: Sequence[str]
) -> Mapping[str, Mapping[str, int]]:
    """Return the likeliest translations of words, each with its share in tenths, 1 at least.

    Args:
        pairs: the words of each sentence and those of its translation.
        sources: words that get translations.
        targets: words that may be translations.
    """
    known = {word: place for place, word in enumerate(sources, start=1)}
    names: dict[str, int] = {}
    left: list[int] = []
    right: list[int] = []
    tokens: list[int] = []
    count = 0
    for sentence, translation in pairs:
        # 0 is no word; words that get no translations are one word, which explains what they do.
        numbers = [0, *(known.get(word, len(known) + 1) for word in sentence[:LONGEST])]
        for word in translation[:LONGEST]:
            left += numbers
            right += [names.setdefault(word, len(names))] * len(numbers)
            tokens += [count] * len(numbers)
            count += 1
    arrays = (np.array(column, np.int64) for column in (left, right, tokens))
    chances, counts, from_, to = _expectation_maximization(*arrays, names=len(names))
    spelled, allowed = list(names), frozenset(targets)
    order = np.lexsort((-chances, from_))
    found: dict[str, Mapping[str, int]] = {}
    for place, rows in itertools.groupby(order.tolist(), key=lambda row: int(from_[row])):
        if 0 < place <= len(sources):
            likely = [row for row in rows if spelled[to[row]] in allowed and counts[row] >= _LEAST_COUNT][:_MOST]
            likely = [row for row in likely if chances[row] >= _LEAST_SHARE * chances[likely[0]]]
            total = float(chances[likely].sum())
            if likely:
                found[sources[place - 1]] = {
                    spelled[to[row]]: max(1, round(TENTHS * float(chances[row]) / total)) for row in likely
                }
    return found


def _expectation_maximization(
    left: Numbers, right: Numbers, tokens: Numbers, *, names: int
) -> tuple[Shares, Shares, Numbers, Numbers]:
    """Return for each pair of words how likely the left one becomes the right one, how often it did, and both words.

    Args:
        left: of every pair of words that stand in a sentence and its translation, int64 `[n]`.
        right: the same of the translation, 0 to `names` - 1.
        tokens: which word of all translations that is.
        names: different words of the translations.
    """
    keys, places = np.unique(left * names + right, return_inverse=True)
    from_, to = keys // names, keys % names
    chances: Shares = np.ones(len(keys))
    counts: Shares = np.zeros(len(keys))
    for _ in range(_PASSES):
        each = chances[places]
        each /= np.bincount(tokens, each)[tokens]
        counts = np.bincount(places, each, len(keys)).astype(np.float64)
        chances = counts / np.maximum(np.bincount(from_, counts)[from_], _TINY)
    return chances, counts, from_, to
