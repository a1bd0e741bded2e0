"""Open texts of no label: they say how sure answers are to texts that belong nowhere, where no text of the training can be held out.

That they also say which n-grams are rare, and in which directions texts differ, was tried and gained nothing.
"""

import csv
import random
from typing import Final

from retvec_lite.data.dataset import starter_file
from retvec_lite.model.meaning_file import MeaningFile

_TEXTS: Final = 300
_WORDS: Final = (3, 15)
"""How many texts there are, and how many words those have that are drawn."""
_COMMON: Final = 10_000
_FIRST: Final = 20
"""Words that are drawn, the most frequent ones; about so many of them are equally frequent."""


def background_texts(file: MeaningFile) -> tuple[str, ...]:
    """Return open texts in the language of a file: starter texts, or its words as often as they occur where the starter data lack it."""
    rng = random.Random(0)
    with starter_file("train").open(encoding="utf-8", newline="") as opened:
        found = [row["text"] for row in csv.DictReader(opened) if row["lang"] == file.language]
    if found:
        return tuple(rng.sample(found, min(_TEXTS, len(found))))
    return tuple(" ".join(common_words(file, rng, rng.randint(*_WORDS))) for _ in range(_TEXTS))


def common_words(file: MeaningFile, rng: random.Random, count: int) -> list[str]:
    """Draw words of a language as often as they occur (Zipf's law)."""
    words = file.words[:_COMMON]
    return rng.choices(words, [1.0 / (_FIRST + rank) for rank in range(len(words))], k=count)
