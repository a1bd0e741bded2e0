"""The benchmark of rejection: its own scores and its tables."""

from typing import Any

import numpy as np
import pytest
from modeling_cases import random_classifier
from scipy.special import softmax

import retvec_lite as rl
from benchmarks.experiments import rejection
from retvec_lite.data.dataset import Dataset
from retvec_lite.decision import Decision
from retvec_lite.model.heads import PoolHead
from retvec_lite.ngrams import NgramConfig


def test_logits_are_those_behind_the_probabilities() -> None:
    model = random_classifier(PoolHead(hidden=16), ngrams=NgramConfig(buckets=64))
    texts = ["where is my parcel", "", "我的包裹"]
    logits = np.stack([rejection.logits_of(model, text) for text in texts])
    assert softmax(logits, axis=1) == pytest.approx(rl.Classifier(model).probabilities(texts), abs=1e-5)


def test_the_nearest_text_is_the_most_similar() -> None:
    found = rejection.nearest(["wake me up", "play some jazz"], ["play some jazz", "plya some jaz", "###"])
    assert found[0] == pytest.approx(1.0) and found[0] > found[1] > 0.4 > found[2]


def row(data: str, **more: Any) -> dict[str, Any]:
    typos = [{"calibration_error": 0.01 + rate / 10, "unknown": rate / 20} for rate in rejection.RATES]
    return {"data": data, "typos": typos, "rejection": {"auroc": None}} | more


def test_tables_show_calibration_for_all_and_rejection_where_texts_have_no_label() -> None:
    found = {"auroc": 0.95, "accuracy": 0.88, "in_scope_accuracy": 0.92, "unknown_recognized": 0.7, "rule": "below 0.3"}
    scores = [{"score": "energy", "auroc": 0.9, "recognized": 0.5}]
    shown = rejection.table([row("Banking77"), row("CLINC150", rejection=found, scores=scores)])
    assert "| Banking77 | 0.010 | 0.030 | 0.060 | 0.110 | 0.0 % | 1.0 % | 2.5 % | 5.0 % |" in shown
    assert "| test | 0.880 | 0.920 | 0.700 | 0.950 | `below 0.3` |" in shown
    assert "| energy | 0.900 | 0.50 |" in shown and "Banking77, dev" not in shown


def test_a_measurement_leaves_out_labels_that_were_not_trained() -> None:
    model = random_classifier(PoolHead(hidden=16))
    classifier = rl.Classifier(model)
    assert classifier.decision == Decision()
    test = Dataset(("a", "b", "c"), (model.labels[0], "never seen", "oos"))
    found = rejection.measure(classifier, test, "oos")
    assert found["rejection"]["unknown_texts"] == 1 and len(found["typos"]) == len(rejection.RATES)
    assert "coverage" not in found["rejection"]
