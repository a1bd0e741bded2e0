"""Answers of an exported file that may be none of the labels; the tiny model counts digits and capitals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_artifact import LABELS, MAX_CHARS, tiny_artifact, tiny_probabilities

import retvec_lite as rl
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.answers import Prediction
from retvec_lite.runtime.artifact import read_artifact

DECISION = Decision(threshold=0.6, unknown_label=LABELS[2], characters="1ABab")


def load(folder: Path, decision: Any) -> rl.Classifier:
    path = folder / "tiny.tflite"
    path.write_bytes(tiny_artifact(decision=decision))
    return rl.load(path, workers=2)


@pytest.fixture
def classifier(tmp_path: Path) -> rl.Classifier:
    return load(tmp_path, DECISION.to_dict())


def test_the_decision_is_in_the_file(classifier: rl.Classifier, tmp_path: Path) -> None:
    assert classifier.decision == DECISION
    assert load(tmp_path, None).decision == Decision()


def test_the_answer_comes_first_and_the_unknown_label_nowhere(classifier: rl.Classifier) -> None:
    digits, capitals, _ = tiny_probabilities("11 A")
    assert classifier.predict("11 A") == [
        Prediction("digits", pytest.approx(digits, abs=1e-6)),
        Prediction("CAPITALS", pytest.approx(capitals, abs=1e-6)),
    ]
    # Too improbable: the answer is None, and what it might have been follows.
    most = pytest.approx(tiny_probabilities("1A")[0], abs=1e-6)
    assert classifier.predict("1A") == [(None, most), ("digits", most), ("CAPITALS", most)]
    assert classifier.predict("1A", top=1) == [(None, most)]
    assert classifier.predict("1A", top=2) == [(None, most), ("digits", most)]


@pytest.mark.parametrize("text", ["", "   ", "2222222", "?!", "2" * 32 * MAX_CHARS + "1"])
def test_a_text_with_nothing_to_read_is_unknown(classifier: rl.Classifier, text: str) -> None:
    assert classifier.predict(text, top=1)[0].label is None
    assert classifier.predict(text, top=1, reject=False)[0].label is not None


def test_a_known_character_anywhere_in_a_long_text_counts(classifier: rl.Classifier) -> None:
    text = "2" * MAX_CHARS + " 1111"
    assert classifier.predict(text, top=1)[0].label == "digits"


def test_the_unknown_label_is_none(classifier: rl.Classifier) -> None:
    assert tiny_probabilities("a").argmax() == 2
    assert classifier.predict("a", top=1)[0].label is None
    assert [label for label, _ in classifier.predict("a", reject=False)] == [LABELS[2], "digits", "CAPITALS"]


def test_many_texts_have_the_answers_of_one(classifier: rl.Classifier) -> None:
    texts = ["11111", "1A", "", "AAAA", "xyz", "AAAA1A"] * 100
    expected = [classifier.predict(text)[0] for text in texts[:6]] * 100
    assert [found[0] for found in classifier.predict_many(iter(texts))] == expected
    assert [found.label for found in expected[:6]] == ["digits", None, None, "CAPITALS", None, "CAPITALS"]
    answers = classifier.predict_many(["11", 5], top=1)  # type: ignore[list-item]
    assert next(answers)[0].label is not None
    with pytest.raises(RetvecLiteError, match="index 1"):
        next(answers)


def test_evaluate_rejects_or_does_not(classifier: rl.Classifier) -> None:
    texts, labels = ["1111", "AAAA", "1A", "222"], ["digits", "CAPITALS", "digits", LABELS[2]]
    found = rl.evaluate(classifier, texts, labels, typos=())
    assert found.texts == 3 and found.accuracy == 1.0 and found.rejection is not None
    assert found.rejection.in_scope_accuracy == pytest.approx(2 / 3) and found.rejection.unknown_recognized == 1.0
    without = rl.evaluate(classifier, texts, labels, typos=(), reject=False)
    assert without.texts == 4 and without.rejection is not None and without.rejection.in_scope_unknown == 0.0
    with pytest.raises(RetvecLiteError, match="'oos' does not occur"):
        rl.evaluate(classifier, texts, labels, unknown_label="oos")


@pytest.mark.parametrize(
    ("decision", "problem"),
    [
        ({"threshold": 0.5}, "must have the fields"),
        ([], "must have the fields"),
        ({**DECISION.to_dict(), "threshold": 2}, "between 0 and 1"),
        ({**DECISION.to_dict(), "unknown_label": "oos"}, "'oos' is not among the labels"),
    ],
)
def test_a_damaged_decision_is_refused(tmp_path: Path, decision: Any, problem: str) -> None:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(tiny_artifact(decision=decision))
    with pytest.raises(RetvecLiteError, match=problem):
        read_artifact(path)


def test_a_threshold_is_compared_in_double_precision(tmp_path: Path) -> None:
    """As wrappers in other languages do; in float32 this threshold would equal the probability."""
    probability = float(load(tmp_path, None).probabilities("11A")[0].max())
    above = np.nextafter(probability, 1.0)
    for threshold, label in ((probability, "digits"), (float(above), None)):
        decision = Decision(threshold=threshold).to_dict()
        assert load(tmp_path, decision).predict("11A", top=1)[0].label == label


def test_evaluate_by_a_column(classifier: rl.Classifier) -> None:
    table = {
        "text": ["1111", "AAAA", "222", "BBB", "33"],
        "label": ["digits", "CAPITALS", "CAPITALS", "CAPITALS", LABELS[2]],
        "lang": ["de", "en", "de", "en", "xx"],
    }
    found = rl.evaluate(classifier, table, typos=(), by="lang")
    assert [(group.value, group.texts, group.accuracy) for group in found.groups] == [("de", 2, 0.5), ("en", 2, 1.0)]
    assert found.groups[1].macro_f1 == 1.0 and found.to_dict()["groups"][0]["value"] == "de"
    assert "Groups of texts" in str(found) and not rl.evaluate(classifier, table, typos=()).groups
    with pytest.raises(RetvecLiteError, match="by names a column: pass a file or a table with it"):
        rl.evaluate(classifier, table["text"], table["label"], by="lang")
    with pytest.raises(RetvecLiteError, match="the column 'lang' is empty"):
        rl.evaluate(classifier, {**table, "lang": ["de", None, "de", "en", "xx"]}, by="lang")
    with pytest.raises(RetvecLiteError, match="'tongue'"):
        rl.evaluate(classifier, table, by="tongue")
