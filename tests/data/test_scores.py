import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from retvec_lite.data.dataset import Dataset
from retvec_lite.data.outcome import Outcome
from retvec_lite.data.scores import Confusion, Evaluation, TypoPoint, calibration_error, evaluate, reliability, score
from retvec_lite.data.typos import mistype_many
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError

LABELS = ("a", "b", "c", "d")


def one_hot(guesses: Sequence[str]) -> npt.NDArray[np.float32]:
    return np.array([[guess == label for label in LABELS] for guess in guesses], np.float32)


def scored(truth: Sequence[str], guesses: Sequence[str]) -> Evaluation:
    dataset = Dataset(tuple(truth), tuple(truth))
    return score(Outcome.of(dataset, dataset.texts, one_hot(guesses), LABELS, Decision()))


def test_a_small_table_by_hand() -> None:
    result = scored("aaabbc", "aabbac")
    assert result.texts == 6 and result.accuracy == pytest.approx(4 / 6)
    assert [row.label for row in result.classes] == ["a", "b", "c"]  # d is neither in the data nor predicted
    assert result.classes[0] == ("a", 2 / 3, 2 / 3, 2 / 3, 3)
    assert result.classes[1] == ("b", 1 / 2, 1 / 2, 1 / 2, 2)
    assert result.macro_f1 == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    assert result.confusions == (Confusion("a", "b", 1), Confusion("b", "a", 1))


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=40))
def test_scores_follow_their_definitions(pairs: list[tuple[str, str]]) -> None:
    result = scored([truth for truth, _ in pairs], [guess for _, guess in pairs])
    assert result.accuracy == pytest.approx(sum(truth == guess for truth, guess in pairs) / len(pairs))
    f1 = {}
    for label in {label for pair in pairs for label in pair}:
        hits = pairs.count((label, label))
        said, there = sum(guess == label for _, guess in pairs), sum(truth == label for truth, _ in pairs)
        precision, recall = hits / said if said else 0.0, hits / there if there else 0.0
        f1[label] = 2 * precision * recall / (precision + recall) if hits else 0.0
        found = next(row for row in result.classes if row.label == label)
        assert found[1:4] == pytest.approx((precision, recall, f1[label])) and found.texts == there
    assert result.macro_f1 == pytest.approx(sum(f1.values()) / len(f1))
    for row in result.confusions:
        assert row.texts == pairs.count((row.expected, row.predicted)) and row.expected != row.predicted
    assert sum(row.texts for row in result.confusions) == sum(truth != guess for truth, guess in pairs)
    assert [row.texts for row in result.confusions] == sorted((row.texts for row in result.confusions), reverse=True)


def test_unknown_labels_are_named() -> None:
    dataset = Dataset(("x",) * 8, ("a", *"zyxwvut"), Path("d.csv"))
    told = refusal(evaluate, lambda texts: one_hot(["a"] * len(texts)), LABELS, dataset)
    assert "d.csv" in told and "'t', 'u', 'v', 'w', 'x' and 2 more" in told


def test_the_typo_curve_mistypes_that_share_of_the_words() -> None:
    """A classifier that knows one spelling: its accuracy on one-word texts is the share of words left alone."""
    dataset = Dataset(("parcel", "refund") * 500, ("a", "b") * 500, Path("d.csv"))
    seen = []

    def classify(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        seen.append(list(texts))
        return one_hot([{"parcel": "a", "refund": "b"}.get(text, "c") for text in texts])

    def curve() -> tuple[TypoPoint, ...]:
        return evaluate(classify, LABELS, dataset, typos=(0.0, 0.2, 1.0), seed=3).typos

    found = curve()
    assert [point.rate for point in found] == [0.0, 0.2, 1.0]
    assert found[0] == (0.0, 1.0, 1.0, 0.0, 0.0, None) and found[2] == (1.0, 0.0, 0.0, 1.0, 0.0, None)
    assert found[1].accuracy == pytest.approx(0.8, abs=0.04)
    assert mistype_many(dataset.texts, 0.2, 3) == [text for part in seen[2:4] for text in part]
    assert found == curve()
    assert evaluate(classify, LABELS, dataset, typos=(rate for rate in (0.0, 0.2, 1.0)), seed=3).typos == found  # type: ignore[arg-type]


def test_texts_without_a_label_count_for_rejection_alone() -> None:
    dataset = Dataset(("aa", "ab", "bb", "xx", "yy"), ("a", "a", "b", "oos", "oos"), Path("d.csv"))

    def classify(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        shares = [[text.count("a"), text.count("b"), 1, text.count("x")] for text in texts]
        return np.array([[share / sum(row) for share in row] for row in shares], np.float32)

    labels = ("a", "b", "c", "oos")
    found = evaluate(classify, labels, dataset, unknown_label="oos", typos=())
    assert (found.texts, found.accuracy) == (3, 1.0) and all(row.label != "oos" for row in found.classes)
    assert found.rejection is not None and found.rejection.unknown_recognized == 0.0
    told = evaluate(classify, labels, dataset, decision=Decision(threshold=0.6, unknown_label="oos"), typos=(0,))
    assert told.rejection is not None and told.accuracy == 1.0
    assert told.rejection.in_scope_accuracy == pytest.approx(2 / 3), "'ab' is rejected"
    assert told.rejection.unknown_recognized == 0.5, "'xx' has the label oos, 'yy' certainly another"
    assert told.typos[0].unknown == pytest.approx(1 / 3)
    # A classifier that was trained without such texts.
    others = evaluate(lambda texts: classify(texts)[:, :3], labels[:3], dataset, unknown_label="oos", typos=())
    assert others.rejection is not None and others.rejection.unknown_texts == 2
    with pytest.raises(RetvecLiteError, match="'nowhere' does not occur"):
        evaluate(classify, labels, dataset, unknown_label="nowhere")
    with pytest.raises(RetvecLiteError, match=r"does not know these labels .*--unknown-label"):
        evaluate(lambda texts: classify(texts)[:, :3], labels[:3], dataset)


def test_importing_imports_no_plotting() -> None:
    code = "import sys, retvec_lite.data.scores; print({'matplotlib', 'rich'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_the_calibration_error_by_hand() -> None:
    probability = np.array([0.05, 0.05, 0.95, 0.95, 0.95, 0.95, 1.0])
    right = np.array([False, True, True, True, True, False, True])
    bins = reliability(probability, right)
    assert [(part.least, part.texts) for part in bins] == [(0.0, 2), (pytest.approx(14 / 15), 5)]
    assert [part.accuracy for part in bins] == pytest.approx([0.5, 0.8])
    assert calibration_error(bins) == pytest.approx(2 / 7 * 0.45 + 5 / 7 * (0.96 - 0.8))


def test_probabilities_that_come_true_have_no_error() -> None:
    probability = np.repeat([0.1, 0.5, 0.9], 10)
    right = np.concatenate([np.arange(10) < share for share in (1, 5, 9)])
    assert calibration_error(reliability(probability, right)) == pytest.approx(0.0, abs=1e-12)
