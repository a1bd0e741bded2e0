"""Which thresholds a training chooses, for one label a text and for several, which arguments it refuses, and how good a plain SVM is."""

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fitted import asked, train
from tiny_data import tiny_dataset

import retvec_lite as rl
from retvec_lite.contract import Floats, Ints
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.outcome import Outcome
from retvec_lite.data.rejection import measure_rejection
from retvec_lite.data.scores import Evaluation, score
from retvec_lite.data.typos import Way
from retvec_lite.errors import RetvecLiteError
from retvec_lite.training import baseline
from retvec_lite.training.baseline import plain_svm
from retvec_lite.training.examples import HeldOutExamples, Split, TrainingData, make_examples
from retvec_lite.training.label_scheme import SEVERAL_LABELS
from retvec_lite.training.thresholds import Decided, choose_thresholds_of_several, decide, micro_f1, weakest_labels
from retvec_lite.training.train import Trained, choose_folds

LABELS = ("a", "none", "z")


def held_out(base: TrainingData, truth: list[int], ways: tuple[Way, ...] = (Way.CLEAN,)) -> TrainingData:
    none = np.zeros((len(truth), 1), np.int32)
    return dataclasses.replace(
        base,
        labels=LABELS,
        clean=["Text", "5 é"],
        held_out=HeldOutExamples(dict.fromkeys(ways, none), np.array(truth, np.int32), np.ones(len(truth), np.float32)),
        held_out_texts={way: ["Text"] * len(truth) for way in ways},
    )


def chosen(tables: dict[Way, Any], data: TrainingData, keep: float, unknown_label: str | None = None) -> Decided:
    """What is decided by probabilities, of which the softmax of their logarithms makes nearly the same again."""
    logits = {way: np.log(np.array(table) + 1e-12) for way, table in tables.items()}
    return decide(logits, data, keep, unknown_label)


def row(best: float, label: int = 0, unknown: float = 0.0) -> list[float]:
    found = [1.0 - best - unknown] * 3
    found[1] = unknown
    found[label] = best
    return found


def test_the_threshold_keeps_that_share_of_the_right_answers(tiny_training_data: TrainingData) -> None:
    shares = np.linspace(0.51, 0.9, 200)
    table = np.array([row(share) for share in np.random.default_rng(0).permutation(shares)], np.float32)
    data = held_out(tiny_training_data, [0] * 200)
    for keep in (0.99, 0.9, 0.5):
        decision = chosen({Way.CLEAN: table}, data, keep).decision
        kept = ~decision.unknown(["t"] * 200, table, LABELS)
        assert kept.mean() == pytest.approx(keep, abs=1e-9)
        assert decision.threshold is not None
        larger = dataclasses.replace(decision, threshold=decision.threshold + 0.004)
        assert (~larger.unknown(["t"] * 200, table, LABELS)).mean() < keep, "the largest such threshold"
    assert (
        set("5ETXetxÉé") < set(decision.characters) and "ｔ" in decision.characters and "a" not in decision.characters
    )


def test_only_right_answers_to_texts_with_a_label_count(tiny_training_data: TrainingData) -> None:
    rows = [row(0.8), row(0.6), row(0.3, unknown=0.2), row(0.4, 0, 0.45), row(0.2, 1, 0.7), row(0.51, 2)] * 100
    data = held_out(tiny_training_data, [0, 0, 2, 0, 1, 0] * 100)
    decided = chosen({Way.CLEAN: rows}, data, 0.99, "none")
    decision = decided.decision
    # Of the six, the last is wrong, the fourth and fifth are lost to the unknown label; the third is right with 0.5.
    assert decision.threshold == pytest.approx(0.5 / 0.2**0.2, abs=2e-6)
    assert (decision.unknown_label, decision.unknown_power) == ("none", 0.2)
    scores = measure_rejection(decided.outcomes[Way.CLEAN])
    assert scores.unknown_texts == 100 and scores.unknown_recognized == 1.0
    assert scores.in_scope_unknown == pytest.approx(1 / 5)


def test_what_is_behind_the_first_window_is_read(tiny_training_data: TrainingData) -> None:
    data = held_out(tiny_training_data, [0] * 100)
    data = dataclasses.replace(data, held_out_texts={Way.CLEAN: ["?" * data.config.max_chars + " Text"] * 100})
    table = np.array([row(0.8)] * 100, np.float32)
    decided = chosen({Way.CLEAN: table}, data, 0.99)
    assert decided.decision.threshold == pytest.approx(0.8, abs=2e-6)
    assert decided.facts["validation"]["0"]["in_scope_unknown"] == 0 and "unread" not in decided.facts


def test_disguised_texts_do_not_choose_the_threshold_and_are_in_no_table(tiny_training_data: TrainingData) -> None:
    data = held_out(tiny_training_data, [0] * 100, (Way.CLEAN, Way.DISGUISED))
    clean, disguised = (np.log(np.array([row(share)] * 100, np.float32) + 1e-9) for share in (0.9, 0.6))
    decided = decide({Way.CLEAN: clean, Way.DISGUISED: disguised}, data, 0.99, None)
    assert decided.decision.threshold == pytest.approx(0.9, abs=2e-6)
    assert set(decided.facts["validation"]) == {"0"}


def test_a_rare_label_counts_like_a_common_one(tiny_training_data: TrainingData) -> None:
    rows = [row(share) for share in np.linspace(0.8, 0.99, 990)] + [
        row(share, 2) for share in np.linspace(0.55, 0.7, 10)
    ]
    data = held_out(tiny_training_data, [0] * 990 + [2] * 10)
    decision = chosen({Way.CLEAN: rows}, data, 0.9).decision
    kept = ~decision.unknown(["t"] * 1000, np.array(rows, np.float32), LABELS)
    assert (kept[:990].mean(), kept[990:].mean()) == (1.0, pytest.approx(0.8))


def test_a_few_typos_lower_the_threshold_and_many_do_not(tiny_training_data: TrainingData) -> None:
    data = held_out(tiny_training_data, [0] * 100, (Way.CLEAN, Way.FEW_TYPOS, Way.MANY_TYPOS))
    clean, few, many = (np.array([row(share)] * 100, np.float32) for share in (0.9, 0.6, 0.5))
    found = chosen({Way.CLEAN: clean, Way.FEW_TYPOS: few, Way.MANY_TYPOS: many}, data, 0.99).decision
    assert found.threshold == pytest.approx(0.6, abs=2e-6)


def test_a_classifier_that_is_never_right_or_always_sure(tiny_training_data: TrainingData) -> None:
    data = held_out(tiny_training_data, [0] * 100)
    assert chosen({Way.CLEAN: [row(0.9, 2)] * 100}, data, 0.99).decision.threshold is None
    sure = chosen({Way.CLEAN: [row(1.0)] * 100}, data, 0.99).decision.threshold
    assert sure is not None and 0.999 < sure < 1.0


@pytest.mark.parametrize("answers", [1, 2, 5, 20, 99])
def test_few_right_answers_do_not_raise_the_threshold_as_high_as_they_are(
    answers: int, tiny_training_data: TrainingData
) -> None:
    """Of three labels, the usual threshold is 1/3 + 2/3 * 0.2."""
    ways = (Way.CLEAN, Way.FEW_TYPOS)
    tables = {way: np.array([row(0.98)] * answers, np.float32) for way in ways}
    found = chosen(tables, held_out(tiny_training_data, [0] * answers, ways), 0.99).decision.threshold
    usual, part = 1 / 3 + 2 / 3 * 0.2, (answers / 100) ** 0.5
    assert found == pytest.approx(0.98**part * usual ** (1 - part), abs=2e-6), "variants with typos are no more answers"
    low = {way: np.array([row(0.4, unknown=0.3)] * answers, np.float32) for way in ways}
    found = chosen(low, held_out(tiny_training_data, [0] * answers, ways), 0.99).decision.threshold
    assert found == pytest.approx(0.4, abs=2e-6), "nor is it ever above them"


def test_few_answers_of_one_label_are_few_however_many_others_there_are(tiny_training_data: TrainingData) -> None:
    rows = np.array([row(0.9)] * 1000 + [row(0.9, 2)] * 2, np.float32)
    data = held_out(tiny_training_data, [0] * 1000 + [2] * 2)
    found = chosen({Way.CLEAN: rows}, data, 0.99).decision.threshold
    assert found is not None and found < 0.6


@pytest.mark.parametrize("several", [False, True])
def test_held_out_texts_in_which_nothing_is_known_are_counted(tiny_training_data: TrainingData, several: bool) -> None:
    data = held_out(tiny_training_data, [0] * 20 + [2] * 20)
    texts = ["?!", "привет", "", *["Text"] * 16, "&#33;", *["5"] * 20]
    truth = (
        np.eye(3, dtype=np.int32)[data.held_out.truth] * (np.arange(40) != 2)[:, None]
        if several
        else data.held_out.truth
    )
    data = dataclasses.replace(
        data, held_out_texts={Way.CLEAN: texts}, held_out=dataclasses.replace(data.held_out, truth=truth)
    )
    if several:
        data = dataclasses.replace(data, scheme=SEVERAL_LABELS)
    logits = {Way.CLEAN: np.array([row(0.9)] * 20 + [row(0.9, 2)] * 20, np.float32)}
    decided = decide(logits, data, 0.99, None)
    assert decided.facts["unread"] == (3 if several else 4), "a text without a label gets none rightly"


SIGNS_ALONE = {
    "emoji": (("😍", "😊👍", "🎉🎉", "❤️", "👏🏽"), ("😡", "👎💔", "🤬", "😠😠", "💔")),
    "arrows": (("↑", "⬆", "▲", "↗", "⇧"), ("↓", "⬇", "▼", "↘", "⇩")),
    "weather": (("☀", "☀️", "🌞", "🌤", "☀🌞"), ("☁", "🌧", "☔", "⛈", "☁☔")),
    "emoticons": ((":)", ":-)", "=)", ";)", "(:"), (":/", ":-/", "=/", ";/", "/:")),
    "written as HTML": (("&#128525;", "&#x1F44D;", "<b>&#127881;</b>"), ("&#128545;", "&#x1F44E;", "<b>&#128148;</b>")),
    "flags": (("🇩🇪", "🇦🇹", "🇨🇭", "🇩🇪🇦🇹"), ("🇫🇷", "🇧🇪", "🇲🇨", "🇫🇷🇧🇪")),
    "punctuation": (("!", "!!", "! !"), ("?", "??", "? ?")),
}
"""Kinds of signs that are all of some texts: of one label, and of another one."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", SIGNS_ALONE)
def test_texts_of_signs_alone_are_answered_where_training_has_such(kind: str) -> None:
    words = ("great shop", "works well", "love it"), ("so bad", "it broke", "too slow")
    rows = [
        (text, label)
        for label, signs, said in zip(("good", "bad"), SIGNS_ALONE[kind], words, strict=True)
        for text in (*signs, *signs, *signs, *said)
    ]
    texts, labels = map(list, zip(*rows, strict=True))
    classifier = rl.train(texts, labels, head="linear", ngram_kb=20, typo_rate=0.0)
    answers = [found[0].label for found in classifier.predict(texts, top=1)]
    assert None not in answers and answers == labels
    assert classifier.predict("привет", top=1)[0].label is None


def test_training_decides(trained: Trained) -> None:
    decision, facts = trained.model.decision, trained.model.training
    assert decision.threshold is not None and 0.0 < decision.threshold < 1.0 and decision.unknown_label is None
    assert {"w", "W", "目", "п", "П"} <= set(decision.characters) and " " not in decision.characters
    assert facts["reject_at"] == 0.99
    for rate, found in facts["validation"].items():
        assert 0.0 <= found["in_scope_unknown"] <= 1.0 and found["unknown_recognized"] is None
        assert found["calibration_error"] == trained.held_out.validation[float(rate)].calibration_error


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.1, float("nan"), "0.9", True, None])
def test_a_share_that_is_none_is_refused(share: Any) -> None:
    with pytest.raises(RetvecLiteError, match=r"reject_at must be a (share above 0 and below 1|number), not"):
        train(tiny_dataset(2), reject_at=share)


def test_an_unknown_label_that_is_not_in_the_data_is_refused() -> None:
    with pytest.raises(RetvecLiteError, match=r"'oos' does not occur in tiny\.csv \(it has: 'alarm', "):
        train(tiny_dataset(2), unknown_label="oos")
    asked(Dataset(tuple("wxyz"), ("a", "oos") * 2), unknown_label="oos")


def test_texts_to_be_tested_on_have_labels() -> None:
    """Of nothing but texts of no label, scores are no numbers, and a folder with them could not be read again."""
    data = tiny_dataset(6)
    alone = data.select(row for row, label in enumerate(data.labels) if label == "weather")
    with pytest.raises(RetvecLiteError, match="All texts to be tested on have the unknown label 'weather'"):
        train(data, validation=alone, unknown_label="weather", head="linear")


def test_texts_of_the_unknown_label_are_never_an_answer() -> None:
    data = tiny_dataset(12)
    found = train(data, head="linear", unknown_label="weather", reject_at=0.9, typo_rate=0.0)
    decision = found.model.decision
    assert decision.unknown_label == "weather" and "weather" in found.model.labels
    recognized = found.model.training["validation"]["0"]["unknown_recognized"]
    assert recognized is not None and recognized > 0.8


# --- several labels: each label's own threshold where its texts say enough, the common one where they do not ------------


def drawn(cuts: list[float], texts: int, seed: int = 0) -> tuple[Floats, Ints, Ints]:
    """Probabilities where label k is right exactly from `cuts[k]` on, and the group of each text."""
    rng = np.random.default_rng(seed)
    probabilities = rng.random((texts, len(cuts))).astype(np.float32)
    return probabilities, (probabilities >= cuts).astype(np.int32), rng.integers(0, 3, texts)


def test_labels_with_many_texts_get_thresholds_of_their_own() -> None:
    probabilities, truth, groups = drawn([0.2, 0.5, 0.8], 3000)
    found = choose_thresholds_of_several(probabilities, truth, groups)
    assert found.values == pytest.approx((0.2, 0.5, 0.8), abs=0.011)
    assert micro_f1(found.answers, truth) > 0.98


def test_a_rare_label_gets_nearly_the_threshold_of_all() -> None:
    probabilities, truth, groups = drawn([0.5] * 8, 2000)
    rare = np.zeros((2000, 1), np.int32)
    rare[7] = 1  # its only text has a probability that says nothing
    probabilities = np.concatenate([probabilities, np.full((2000, 1), 0.02, np.float32)], axis=1)
    probabilities[7, -1] = 0.97
    found = choose_thresholds_of_several(probabilities, np.concatenate([truth, rare], axis=1), groups)
    assert found.values[-1] == pytest.approx(0.5, abs=0.1)


def test_answers_are_those_of_thresholds_that_did_not_see_the_text() -> None:
    # In one group the label is right from .2 on, in the other from .8: each is scored with the other's threshold.
    probabilities = np.tile(np.linspace(0.05, 0.95, 91, dtype=np.float32), 2)[:, None]
    groups = np.repeat([0, 1], 91)
    truth = np.where(groups[:, None] == 0, probabilities >= 0.2, probabilities >= 0.8).astype(np.int32)
    answers = choose_thresholds_of_several(np.tile(probabilities, 2), np.tile(truth, 2), groups).answers
    assert answers[(groups == 0), 0].sum() == pytest.approx((probabilities[:91] >= 0.8).sum(), abs=2)
    assert answers[(groups == 1), 0].sum() == pytest.approx((probabilities[91:] >= 0.2).sum(), abs=2)


def test_micro_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    answers = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0]], bool)
    truth = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 0]], np.int32)
    precision, recall = 2 / 3, 2 / 3
    assert micro_f1(answers, truth) == pytest.approx(2 * precision * recall / (precision + recall))
    assert micro_f1(np.zeros((2, 2), bool), np.zeros((2, 2), np.int32)) == 1.0


def test_a_label_that_no_text_has_is_no_error() -> None:
    probabilities, truth, groups = drawn([0.5, 0.5], 300)
    truth[:, 1] = 0
    assert 0.0 < choose_thresholds_of_several(probabilities, truth, groups).values[1] < 1.0


# --- labels that are told badly ---------------------------------------------------------------------------------------


def scored(table: list[list[int]], names: str = "abcd") -> Evaluation:
    """Scores of answers: how many texts of each label (rows) were answered with which (columns)."""
    truth = np.array([row for row, counts in enumerate(table) for _ in range(sum(counts))])
    guess = [column for counts in table for column, count in enumerate(counts) for _ in range(count)]
    return score(Outcome(["x"] * len(truth), truth, np.eye(len(table), dtype=np.float32)[guess], names[: len(table)]))


def test_the_weakest_labels_and_what_they_are_taken_for() -> None:
    found = weakest_labels(scored([[40, 0, 0, 0], [6, 10, 4, 0], [0, 1, 30, 0], [0, 0, 9, 3]]))
    assert found == [
        {"label": "d", "texts": 12, "right": 3, "answered": 3, "taken_for": "c", "times": 9},
        {"label": "b", "texts": 20, "right": 10, "answered": 11, "taken_for": "a", "times": 6},
    ]
    assert weakest_labels(scored([[9, 0], [0, 3]])) == [], "nothing is missed"
    assert [row["label"] for row in weakest_labels(scored([[9, 0], [2, 3]]))] == ["b"], "of a, no text is missed"
    never = weakest_labels(scored([[9, 0], [3, 0]]))
    assert never == [{"label": "b", "texts": 3, "right": 0, "answered": 0, "taken_for": "a", "times": 3}]


def read(training: Dataset, tested: Dataset | None = None, folds: Sequence[Split] = ()) -> TrainingData:
    return make_examples(training, tested or training, variants=0, typo_rate=0.0, seed=0, folds=folds)


def test_it_is_tested_on_the_same_texts() -> None:
    data = tiny_dataset(12)
    assert plain_svm(read(data, folds=choose_folds(data, 0))) == 1.0
    assert plain_svm(read(data, tiny_dataset(5, seed=7))) == 1.0
    wrong = Dataset(data.texts, tuple(reversed(data.labels)), data.path)
    assert (plain_svm(read(data, wrong)) or 0.0) < 0.5, "it answers by the training texts, and is scored by the others"


def test_no_text_is_scored_by_an_svm_that_saw_it() -> None:
    draw = random.Random(5)
    texts = tuple(" ".join("".join(draw.choices("abcdefgh", k=5)) for _ in range(4)) for _ in range(90))
    data = Dataset(texts, tuple(draw.choice("xy") for _ in texts), Path("random.csv"))
    assert plain_svm(read(data)) == 1.0, "what was seen is known by heart"
    assert 0.3 < (plain_svm(read(data, folds=choose_folds(data, 0))) or 0.0) < 0.7


def test_what_would_take_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiny_dataset(4)
    characters = sum(map(len, data.texts))
    labels = len(data.classes) + 20
    for work, is_done in ((characters * labels, True), (characters * labels - 1, False)):
        monkeypatch.setattr(baseline, "_WORK", work)
        assert (plain_svm(read(data, folds=choose_folds(data, 0))) is not None) == is_done
        assert plain_svm(read(data, data)) is None, "twice as many characters"


def test_without_anything_to_learn_there_is_none() -> None:
    data = tiny_dataset(4)
    several = Dataset(data.texts, data.labels, data.path, multi_label=True)
    assert plain_svm(read(several)) is None
    alone = np.flatnonzero(np.array(data.labels) == data.labels[0])
    assert plain_svm(read(data, folds=[(alone, alone), (alone, alone)])) is None, "a fold of one label"
    blank = Dataset((" ", "  ") * 3, ("a", "b") * 3, data.path)
    assert plain_svm(read(blank)) is None, "no n-gram"
