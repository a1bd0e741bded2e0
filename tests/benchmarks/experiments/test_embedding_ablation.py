"""The variants of pre-training."""

import dataclasses

from benchmarks.experiments.embedding_ablation import SHIPPED, VARIANTS
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
