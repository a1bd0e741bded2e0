"""The variants of pre-training."""

import dataclasses

import numpy as np
import pytest

from benchmarks.experiments.embedding_ablation import SHIPPED, VARIANTS, info_nce
from retvec_lite.pretraining.options import PretrainSettings


def test_variants_differ_from_what_ships_in_one_setting() -> None:
    assert dataclasses.replace(SHIPPED, warmup=PretrainSettings().warmup) == PretrainSettings()
    for name, settings in VARIANTS.items():
        changed = [
            field.name
            for field in dataclasses.fields(settings)
            if getattr(settings, field.name) != getattr(SHIPPED, field.name)
        ]
        assert len(changed) <= 1 or changed == ["final_rate", "muon"], name


@pytest.mark.parametrize(("angle", "loss"), [(0.0, 0.0), (np.pi / 2, np.log(4))])
def test_info_nce_is_small_for_pairs_and_the_logarithm_of_the_words_for_strangers(angle: float, loss: float) -> None:
    words = np.eye(8, dtype=np.float32)[:4]
    turned = np.cos(angle) * words + np.sin(angle) * np.eye(8, dtype=np.float32)[4:]
    found = info_nce(np.arange(8), np.concatenate([words, turned]).astype(np.float32))
    assert float(found) == pytest.approx(loss, abs=1e-6)
