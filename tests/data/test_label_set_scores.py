"""Scores where a text may have several labels: compared with scikit-learn's, and shown."""

from collections.abc import Sequence

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score

from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset, as_dataset
from retvec_lite.data.outcome import Outcome
from retvec_lite.data.scores import evaluate, score
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError

LABELS = ("a", "b", "c", "never")
DECISION = Decision(thresholds=(0.5, 0.4, 0.6, 0.5), characters="x")
DATA = as_dataset(["x1", "x2", "x3", "?"], [["a", "b"], [], ["c"], ["a"]], multi_label=True)


def classify(texts: Sequence[str]) -> Floats:
    known = {"x1": (0.5, 0.4, 0.1, 0.0), "x2": (0.2, 0.3, 0.59, 0.1), "x3": (0.9, 0.1, 0.7, 0.0)}
    return np.array([known.get(text, (1.0, 0.0, 0.0, 0.0)) for text in texts], np.float32)


def test_scores_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, has = rng.random((2, 200, 6)) < 0.3
    names = [f"label {column}" for column in range(6)]
    found = score(Outcome(["x"] * 200, truth, rng.random((200, 6)), names, given=has))
    assert found.micro_f1 == pytest.approx(f1_score(truth, has, average="micro"))
    assert found.macro_f1 == pytest.approx(f1_score(truth, has, average="macro"))
    assert found.accuracy == pytest.approx((truth == has).all(axis=1).mean())
    assert [row.precision for row in found.classes] == pytest.approx(precision_score(truth, has, average=None))
    assert not found.confusions and found.rejection is None


def test_evaluate_answers_with_the_thresholds_of_the_decision() -> None:
    found = evaluate(classify, LABELS, DATA, decision=DECISION, typos=(0,))
    # Right: a and b of x1, c of x3. Wrong: a of x3. Missing: a of "?", in which nothing can be read.
    assert found.micro_f1 == pytest.approx(2 * 3 / (4 + 4))
    assert found.accuracy == 0.5 and [row.label for row in found.classes] == ["a", "b", "c"]
    assert found.typos[0].micro_f1 == found.micro_f1 and found.typos[0].unknown == 0.5
    shown = str(found)
    assert "micro F1 0.7500" in shown and "all labels right 0.5000" in shown and "no label" in shown
    assert found.to_dict()["micro_f1"] == found.micro_f1 and found.to_dict()["typos"][0]["micro_f1"] == found.micro_f1


def test_calibration_is_that_of_all_pairs() -> None:
    truth = np.repeat([[True, False], [False, True]], 5, axis=0)
    found = Outcome(["x"] * 10, truth, np.full((10, 2), 0.5), ("a", "b"), given=np.zeros((10, 2), bool))
    assert score(found).calibration_error == pytest.approx(0.0)
    assert score(found.select(np.arange(5))).micro_f1 == 0.0


def test_data_with_several_labels_is_refused_by_a_classifier_of_one() -> None:
    with pytest.raises(RetvecLiteError, match=r"1 of 4 rows of .* have several labels, such as 'a\|b', but this"):
        evaluate(classify, LABELS, DATA)
    rows = Dataset(("x1", "x2", "x3"), ("a|b", "a", "b|c"))
    with pytest.raises(RetvecLiteError, match=r"2 of 3 rows of .* have several labels, such as 'a\|b', but this"):
        evaluate(classify, LABELS, rows)
    assert evaluate(classify, ("a|b", "a", "b|c", "d"), rows, typos=()).texts == 3, "its own labels may hold a |"


def test_an_unknown_label_is_for_classifiers_of_one_label() -> None:
    with pytest.raises(RetvecLiteError, match="unknown_label"):
        evaluate(classify, LABELS, DATA, decision=DECISION, unknown_label="a")
