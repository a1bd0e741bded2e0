"""Made-up texts on a few topics: words of a topic stand together, and each topic has words of its own."""

import random
from pathlib import Path

from tiny_words import SYLLABLES

TOPICS = 6
_WORDS = [a + b + c for a in SYLLABLES for b in SYLLABLES for c in (*SYLLABLES, "ne", "si", "ga")]
TOPIC_WORDS = [_WORDS[topic::TOPICS] for topic in range(TOPICS)]
"""54 words of each topic."""
COMMON = ("und", "oder")
"""Words of all topics."""


def topic_lines(blocks: int, seed: int = 0) -> list[str]:
    """Lines of a dozen words, five lines of a topic in a row."""
    draw = random.Random(seed)
    return [
        " ".join(draw.choice(COMMON) if draw.random() < 0.2 else draw.choice(words) for _ in range(12))
        for words in (draw.choice(TOPIC_WORDS) for _ in range(blocks))
        for _ in range(5)
    ]


def write_topics(path: Path, blocks: int = 400, seed: int = 0) -> Path:
    path.write_text("\n".join(topic_lines(blocks, seed)) + "\n", encoding="utf-8")
    return path
