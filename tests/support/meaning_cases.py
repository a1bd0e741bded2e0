"""Small tables of meaning for tests, and what they must answer, by another way than the package's."""

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.meaning import MeaningConfig
from retvec_lite.training.meaning_table import build_table

WORDS = (
    "the", "to", "and", "of", "a", "in", "i", "is",
    "for", "that", "where", "my", "parcel", "terrible", "film", "great",
    "price", "arrived", "yesterday", "order", "please", "refund", "card", "lost",
    "abcdefghijklmnop", "zoza", "пожалуйста", "посылка", "φξδ", "हिन्दी",
)  # fmt: skip
"""Plain letters, the most frequent first; the last but a few fill the longest word, and other scripts."""


@functools.cache
def table(classes: int = 3, keys: int = 120) -> tuple[MeaningConfig, Mapping[str, Floats]]:
    """Return the sizes and all weights of meaning of a small classifier."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 256, (len(WORDS), 8)).astype(np.uint8)
    config, weights = build_table(WORDS, codes, rng.normal(size=(8, 256, 8)).astype(np.float32), keys)
    projection = np.rint(rng.normal(size=(64, classes)) * 20).clip(-63, 63) / 16
    return config, {**weights, "meaning/projection": projection.astype(np.float32)}


def naive_number(word: str, config: MeaningConfig, weights: Mapping[str, Floats]) -> int:
    """Return the number of a key by the contract's formulas, written once more with Python's integers; -1 without a hit."""
    sums = [0, 0, 0, 0]
    for place, char in enumerate(word):
        number = (ord(char) * 389) % 2048 + 1
        for index, root in enumerate((43, 58, 85, 101)):
            sums[index] += number * (root ** (place + 1) % 127)
    displacement = int(weights["meaning/displacements"][sums[0] % config.displacements])
    low, middle, high = (
        int(value) for value in weights["meaning/rows"][(sums[1] + displacement * (1 + sums[2] % 251)) % config.rows]
    )
    stored = low | middle << 8 | high << 16
    number, mark = stored & 0x3FFF, stored >> 14
    return number if mark == 1 + sums[3] % 1023 and number != 0x3FFF else -1


def naive_look_up(word: str, config: MeaningConfig, weights: Mapping[str, Floats]) -> int:
    """Return the number of a word with at most one typo; -1 without a hit."""
    found = naive_number(word, config, weights)
    if found >= 0 or len(word) < 2:
        return found
    others = {naive_number(word[:place] + word[place + 1 :], config, weights) for place in range(len(word))} - {-1}
    return min(others) if others else -1


def naive_vector(words: Sequence[str], config: MeaningConfig, weights: Mapping[str, Floats]) -> Floats:
    """Return the text's vector, float32 `[64]`."""
    total = np.zeros(64)
    for word in words:
        number = naive_look_up(word, config, weights)
        if number >= 0:
            total += [
                value
                for book, code in enumerate(weights["meaning/codes"][number])
                for value in weights["meaning/codebooks"][book][int(code)]
            ]
    length = np.sqrt((total**2).sum())
    return (total / length if length else total).astype(np.float32)
