"""Labelled texts that a small classifier can tell apart in seconds."""

import random
from pathlib import Path

from retvec_lite.contract import EncoderConfig
from retvec_lite.data.dataset import Dataset
from retvec_lite.training.plan import FitSettings

WORDS = {
    "alarm": ("wake", "alarm", "clock", "目覚"),
    "music": ("play", "song", "louder", "音楽"),
    "weather": ("rain", "sunny", "umbrella", "погода"),
    "other, 🙂": ("hello", "thanks", "maybe", "مرحبا"),
}
FILLERS = ("please", "now", "the", "a", "tomorrow", "me")

TINY_CONFIG = EncoderConfig(max_chars=64, max_words=8)
QUICK = FitSettings(
    epochs=14, patience=14, batch_size=16, learning_rate=1e-2, typo_rate=0.2, variants=2, dropout=0.1, seed=3
)


def tiny_dataset(texts: int = 30, seed: int = 0, counts: dict[str, int] | None = None) -> Dataset:
    """`texts` short texts of each of the four classes (or `counts` of some), of seven words: four of its class, then three of any.

    All of one length, so that XLA compiles one step and no test waits for four.
    """
    draw = random.Random(seed)
    rows = [
        (" ".join(draw.choices(WORDS[label], k=4) + draw.sample(FILLERS, 3)), label)
        for label, count in (counts or dict.fromkeys(WORDS, texts)).items()
        for _ in range(count)
    ]
    draw.shuffle(rows)
    return Dataset(tuple(text for text, _ in rows), tuple(label for _, label in rows), Path("tiny.csv"))
