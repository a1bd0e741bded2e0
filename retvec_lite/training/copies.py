"""Augmented copies of the training texts: what a classifier meets besides the texts as they are."""

from collections.abc import Sequence

import numpy as np

from retvec_lite.data.typos import mistype
from retvec_lite.training.settings import FitSettings


def augmented_copies(texts: Sequence[str], settings: FitSettings) -> list[list[str]]:
    """Differently mistyped copies of the texts.

    One half of each copy is untouched; in the other a share of the words up to twice `typo_rate`, drawn per text, is
    mistyped, so that a classifier meets clean and hopeless texts alike.
    """
    if settings.typo_rate == 0.0:
        return [list(texts)]
    rng = np.random.default_rng(settings.seed)
    copies = []
    for _ in range(settings.copies):
        rates = np.minimum(rng.uniform(0.0, 2.0 * settings.typo_rate, len(texts)), 1.0)
        rates[rng.random(len(texts)) < 0.5] = 0.0
        seeds = rng.integers(0, 2**31, len(texts))
        copies.append(
            [
                mistype(text, float(rate), int(seed)) if rate else text
                for text, rate, seed in zip(texts, rates, seeds, strict=True)
            ]
        )
    return copies
