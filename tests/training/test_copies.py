"""Augmented copies: how many texts, how many words of them, by which seed."""

import numpy as np

from retvec_lite.training.copies import augmented_copies
from retvec_lite.training.settings import FitSettings

TEXTS = ["one two three four five six seven eight"] * 400


def test_without_typos_there_is_one_copy_the_texts_themselves() -> None:
    assert augmented_copies(TEXTS, FitSettings(typo_rate=0.0)) == [TEXTS]


def test_half_of_every_copy_is_untouched_and_the_other_half_mistyped_as_asked() -> None:
    copies = augmented_copies(TEXTS, FitSettings(typo_rate=0.4, copies=3))
    assert len(copies) == 3 and len({tuple(copy) for copy in copies}) == 3
    original = TEXTS[0].split()
    for copy in copies:
        changed = [
            sum(a != b for a, b in zip(text.split(), original, strict=True)) / 8 for text in copy if text != TEXTS[0]
        ]
        assert 0.4 < len(changed) / len(copy) < 0.55
        assert 0.33 < np.mean(changed) < 0.5, "a mean of 0.4, without the few that were spared by chance"
        assert max(changed) > 0.6


def test_copies_follow_the_seed() -> None:
    one, again, other = (augmented_copies(TEXTS[:50], FitSettings(seed=seed)) for seed in (1, 1, 2))
    assert one == again != other
