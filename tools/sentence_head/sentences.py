"""The sentences that the pre-trained head learns from, drawn from the files of a corpus."""

import bz2
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

THOUSANDS: Final[Mapping[str, int]] = {
    "books": 40, "counselling": 20, "definitions_wordnet": 25, "definitions_wordset": 25, "dialogues": 160, "irc": 15,
    "medical_questions": 50, "meetings": 15, "podcasts": 40, "reddit": 240, "textbooks": 10, "web_treebank": 10, "wikinews": 130,
    "wikipedia": 140,
}  # fmt: skip
"""Thousands of sentences of each file: what people write to each other, news and encyclopedia count most."""

_SEED: Final = 5
_OF_A_LINE: Final = 3
"""Sentences of a long line, at most."""
_WORDS: Final = 24
_PASSAGE_SHARE: Final = 0.12
_PASSAGE_WORDS: Final = 48
"""Words of a sentence, and of the passages of several sentences that so many lines give instead, at most."""
_SHORTEST, _LONGEST = 2, 40
"""Words of the sentences that are taken."""

_END: Final = re.compile(r"(?<=[.!?])\s+")


def draw_sentences(files: Sequence[Path]) -> list[str]:
    """Return distinct sentences of files named like `wikipedia.txt.bz2`, in random order: the same ones for the same files.

    Raises:
        SystemExit: for a file that `THOUSANDS` does not name.
    """
    rng, found = random.Random(_SEED), []
    for file in sorted(files):
        name = file.name.partition(".")[0]
        if name not in THOUSANDS:
            raise SystemExit(f"{file}: only {', '.join(THOUSANDS)} are known.")
        with bz2.open(file, "rt", encoding="utf-8") as lines:
            pool = list(dict.fromkeys(sentence for line in lines for sentence in _sentences(line, rng)))
        rng.shuffle(pool)
        found += pool[: 1000 * THOUSANDS[name]]
    rng.shuffle(found)
    return list(dict.fromkeys(found))


def _sentences(line: str, rng: random.Random) -> Iterator[str]:
    """Yield sentences of a line, or its beginning."""
    parts = _END.split(line.strip())
    if rng.random() < _PASSAGE_SHARE:
        words = line.split()
        if len(words) > _WORDS:
            yield " ".join(words[:_PASSAGE_WORDS])
            return
    for part in parts if len(parts) <= _OF_A_LINE else rng.sample(parts, _OF_A_LINE):
        words = part.split()
        if _SHORTEST <= len(words) <= _LONGEST:
            yield " ".join(words[:_WORDS])
