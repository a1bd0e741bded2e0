"""What the verdict says of made-up trainings: a sentence that decides, what speaks for it, and one next step for each case."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from retvec_lite.decision import Decision
from retvec_lite.evidence import Facts, Interval
from retvec_lite.verdict import NEXT, figures, verdict

LABELS = ["alarm", "chat", "weather"]
PLAIN = Decision(threshold=0.25, shares=(0.5, 0.3, 0.2))
WEAK = {"label": "chat", "texts": 90, "right": 70, "answered": 80, "taken_for": "alarm", "times": 15}


def facts_of(accuracy: float, texts: int = 300, **more: Any) -> dict[str, Any]:
    scores = {"accuracy": accuracy, "macro_f1": accuracy, "calibration_error": 0.02, "in_scope_unknown": 0.04}
    found = {"validation": {"0": scores}, "validation_texts": texts, "training_texts": texts, "folds": 3}
    return (
        found
        | {
            "largest_label": 0.5,
            "accuracy_error": math.sqrt(accuracy * (1 - accuracy) / texts),
            "weakest": [],
            "learning_curve": [],
        }
        | more
    )


def bounds(facts: Mapping[str, Any]) -> Interval:
    return Facts(facts, LABELS, PLAIN).bounds


def told(facts: Mapping[str, Any], labels: list[str] = LABELS, decision: Decision = PLAIN) -> list[str]:
    lines = verdict(facts, labels, decision)
    assert all(line.endswith(".") and "None," not in line and "nan" not in line and "\n" not in line for line in lines)
    assert len(lines) <= 10 and [line.startswith(NEXT) for line in lines] == [False] * (len(lines) - 1) + [True]
    return lines


def test_a_good_classifier_is_shipped_and_every_reason_is_told() -> None:
    decides, expect, compared, none, weak, step = told(facts_of(0.9, baseline=0.85, weakest=[WEAK]))
    assert decides == "Ship it if 84% right answers are enough."
    assert expect.startswith(
        "Expect 90% right answers to texts like these, 84% to 94% with 95% confidence (300 texts, cross-"
    )
    assert compared == "Always answering 'alarm' would be right about 50% of the time, and a plain SVM about 85%."
    assert none == (
        "No label where the probability of the best one is below 0.2500: 4% of these texts get none; untested, since the data have no "
        "texts of no label."
    )
    assert weak == "Weakest: 'chat', 70 of 90 found, 15 answered 'alarm'."
    assert step == "Next: nothing. Try it on texts of your users (retvec-lite evaluate)."


@pytest.mark.parametrize("threshold", [0.25, None])
def test_texts_in_which_nothing_is_known_are_counted_and_told_why(threshold: float | None) -> None:
    decision = Decision(threshold=threshold, characters="ab")
    facts = facts_of(0.9, unread=60)
    facts["validation"]["0"]["in_scope_unknown"] = 0.24
    decides, expect, _, none, *rule, step = told(facts, decision=decision)
    assert decides == "Ship it if 63% right answers are enough." and expect.startswith("Expect 70% right answers")
    assert none == "60 texts have no letter, digit or sign that the training texts taught, and get no label."
    assert [line.partition(": ")[2][:15] for line in rule] == (["4% of these tex"] if threshold else [])
    assert step.startswith("Next: add texts like the 20% that get no label since they have no letter, digit or sign")
    (one,) = (line for line in told(facts_of(0.9, unread=1), decision=decision) if "taught" in line)
    assert one == "1 text has no letter, digit or sign that the training texts taught, and gets no label."
    assert told(facts_of(0.9, unread=1))[-1].startswith("Next: nothing.")


@pytest.mark.parametrize(
    ("accuracy", "texts", "start"),
    [
        (0.45, 300, "Do not ship it: it is no better than always answering 'alarm'."),
        (0.55, 60, "Do not ship it yet: it may be no better than always answering 'alarm'."),
        (0.55, 14, "Ship or not: nobody can say yet. 14 texts are too few to say how good it is: with 20 a label, "),
        (1.0, 14, "Ship or not: nobody can say yet. "),
        (0.65, 3000, "Ship it if 62% right answers are enough."),
    ],
)
def test_the_first_sentence_decides(accuracy: float, texts: int, start: str) -> None:
    assert told(facts_of(accuracy, texts))[0].startswith(start)


def test_a_label_that_is_hardly_found_is_a_condition() -> None:
    lost = WEAK | {"right": 30, "answered": 90}
    first, *_, weak, _ = told(facts_of(0.8, weakest=[lost]))
    assert first.startswith("Not yet: less than half of the texts of 'chat' are found. Otherwise, ship it if ")
    assert weak.endswith("15 answered 'alarm'; 60 texts of other labels were answered 'chat'.")


def test_an_svm_that_is_as_good_is_admitted() -> None:
    for plain, is_said in ((0.9, True), (0.93, True), (0.899, True), (0.85, False)):
        assert any("this classifier is no better" in line for line in told(facts_of(0.9, baseline=plain))) == is_said


def test_of_very_few_texts_no_figure_is_told() -> None:
    assert not any("%" in line for line in told(facts_of(1.0, 9, baseline=0.9, weakest=[WEAK])))
    assert figures(facts_of(1.0, 9), LABELS) == [
        "9 texts are too few to say how good it is: with 20 a label, this says more."
    ]
    copies = facts_of(1.0, 90, copies={"texts": 80, "groups": 5})
    assert told(copies)[0].startswith("Ship or not: nobody can say yet. 10 different texts are too few ")
    of_one_label = told(facts_of(1.0, 60, folds=0, largest_label=1.0))
    assert of_one_label == [
        "Ship or not: nobody can say yet. 60 texts of one label are too few to say how good it is: with 20 a label, this says more.",
        "Next: test it on 20 texts of each label.",
    ]
    assert told(facts_of(1.0, 1))[0].startswith("Ship or not: nobody can say yet. One text is too few ")
    set_aside = facts_of(1.0, 9, folds=0, training_texts=90)
    assert told(set_aside) == [
        "Ship or not: nobody can say yet. 9 texts are too few to say how good it is: with 20 a label, this says more.",
        "Next: test it on 20 texts of each label.",
    ]
    held_out = facts_of(0.9, 14, folds=0, training_texts=4000)
    assert told(held_out)[0].startswith("Ship it if "), "a classifier of many texts, tested on some"


def test_all_right_is_an_interval_with_one_side() -> None:
    first, expect, *_ = told(facts_of(1.0, 50))
    assert expect.startswith(
        "Expect at least 90% right answers to texts like these, with 95% confidence: all were right (50 texts, "
    )
    assert first == "Ship it if 90% right answers are enough."


def test_percents_never_round_to_what_they_are_not() -> None:
    _, expect, *_ = told(facts_of(0.9996, 2500))
    assert expect.startswith("Expect 99.96% right answers ") and " to 100.0% with " in expect
    assert "Expect 99% right" in told(facts_of(0.99, 100))[1], "a decimal says more than is known"


def test_several_labels_a_text_are_told_by_their_f1() -> None:
    facts = facts_of(0.4, largest_label=None, accuracy_error=0.02)
    facts["validation"]["0"] |= {"micro_f1": 0.9, "in_scope_unknown": None}
    first, expect, step = told(facts, decision=Decision(thresholds=(0.5, 0.5, 0.5)))
    assert first == "Ship it if a micro F1 of 84% is enough." and expect.startswith(
        "Expect a micro F1 of 90% on texts "
    )
    assert step.startswith(NEXT)


def test_what_is_rejected_is_told_where_texts_without_a_label_were_there() -> None:
    facts = facts_of(0.9)
    facts["validation"]["0"]["unknown_recognized"] = 0.75
    assert any("4% of these texts get none, and 75% of the texts of no label." in line for line in told(facts))


# --- the next step ----------------------------------------------------------------------------------------------------

CLIMBS = [[50, 0.6], [100, 0.7], [200, 0.8]]
SPOKEN = {"used": True, "language": "en", "words": 9, "known_words": 0.7, "spoken": {"en": 0.6, "de": 0.3, "fr": 0.06}}
STEPS: dict[str, tuple[dict[str, Any], str]] = {
    "leaks": ({"leaked": 60}, "take the 60 texts that are training texts as well, or nearly so, out of the validation data."),
    "repeats": ({"copies": {"texts": 120, "groups": 30}}, "collect other texts: 120 of 300 repeat others"),
    "one label": ({"one_label": ["chat", "talk", 30]}, "merge 'chat' and 'talk' if they mean the same, which costs about 10 points now"),
    "doubtful": ({"doubtful": 24}, "look at the 24 texts whose labels are doubtful (retvec-lite check DATA --output doubtful.csv): up to "),
    "worse": ({"baseline": 0.95}, "train with other options, or none: a plain SVM is 15 points ahead."),
    "meaningless": ({"largest_label": 0.79}, "look at the labels (retvec-lite check): the texts hardly tell them apart."),
    "languages": ({"meaning": SPOKEN}, "train with --languages de: 30% of the texts are in languages whose words it does not know."),
    "small": ({"smallest_label": ["chat", 4]}, "collect texts of 'chat', which has 4: 20 teach more."),
    "missed": (
        {"weakest": [WEAK | {"texts": 20, "right": 11}]},
        "collect texts of 'chat': 9 of its 20 are missed, which costs 3 points.",
    ),
    "more": ({"learning_curve": CLIMBS, "weakest": [WEAK]}, "collect more texts, of 'chat' first: twice as many give about 5 points more."),
}  # fmt: skip


def step_of(facts: Mapping[str, Any]) -> str:
    return told(facts)[-1].removeprefix(NEXT)


@pytest.mark.parametrize("case", STEPS)
def test_each_fault_has_its_next_step(case: str) -> None:
    more, start = STEPS[case]
    assert step_of(facts_of(0.8, **more)).startswith(start)


def test_the_step_that_is_worth_most_comes_first() -> None:
    """With all that follows in the list as well, each step is still the one that is told."""
    for place, case in enumerate(STEPS):
        rest = {name: value for other in reversed(list(STEPS)[place:]) for name, value in STEPS[other][0].items()}
        assert step_of(facts_of(0.8, **rest)).startswith(STEPS[case][1]), case
    assert step_of(facts_of(0.8, 9, learning_curve=CLIMBS)) == "collect 20 texts of each label."


def test_doubtful_labels_are_a_share_of_the_texts_that_were_looked_at() -> None:
    """Of many texts a tenth is held out: 24 doubtful ones of 300 are many, however many were learned from."""
    facts = facts_of(0.8, folds=0, training_texts=9_000, doubtful=24)
    assert step_of(facts) == (
        "look at the 24 of 300 tested texts whose labels are doubtful (retvec-lite check DATA --output doubtful.csv): up to 8 points of "
        "the errors may be theirs."
    )
    assert step_of({**facts, "baseline": 0.95}).endswith("up to 5 points of the errors may be theirs.")


def test_labels_that_a_plain_svm_tells_are_not_doubted() -> None:
    assert step_of(facts_of(0.5, doubtful=24, baseline=0.99)).startswith("train with other options, or none")
    assert step_of(facts_of(1.0, doubtful=24, baseline=1.0)).startswith("nothing")


def test_copies_in_the_training_texts_say_nothing_of_other_texts_to_test_on() -> None:
    facts = facts_of(0.8, folds=0, training_texts=300, copies={"texts": 150, "groups": 30})
    assert "150 of all 600 repeat others and count once" in told(facts)[1]
    assert "1 of all 600 repeats another one and counts once" in told(facts | {"copies": {"texts": 1, "groups": 1}})[1]
    elsewhere = facts | {"options": {"validation": "0123456789abcdef"}}
    assert "repeat" not in told(elsewhere)[1] and step_of(elsewhere).startswith("collect other texts: 150 of 300 ")
    assert bounds(elsewhere) == bounds(facts | {"copies": {"texts": 0, "groups": 0}})


@pytest.mark.parametrize(
    "more",
    [
        {"copies": {"texts": 20, "groups": 9}},
        {"leaked": 3},
        {"learning_curve": [[50, 0.79], [100, 0.8], [200, 0.8]]},
        {"learning_curve": [[50, 0.76], [100, 0.78], [200, 0.8]]},
        {"learning_curve": [[200, 0.8]]},
        {"learning_curve": [[0, 0.0], [0, 0.0]]},
        {"smallest_label": ["chat", 15]},
        {"meaning": SPOKEN | {"languages": {"en": 5, "de": 4}}},
        {"meaning": SPOKEN | {"used": False, "left_out": "the file has no room for it"}},
    ],
    ids=str,
)
def test_what_is_worth_little_is_no_step(more: dict[str, Any]) -> None:
    assert step_of(facts_of(0.8, **more)).startswith("nothing.")


def test_of_labels_to_merge_and_doubtful_ones_what_costs_more_comes_first() -> None:
    both = step_of(facts_of(0.8, one_label=["chat", "talk", 30], doubtful=24))
    assert both.startswith("merge 'chat'") and "; then look at the 24 texts" in both
    assert step_of(facts_of(0.8, one_label=["chat", "talk", 12], doubtful=24)).startswith("look at the 24 texts")


def test_a_few_doubtful_labels_are_told_where_nothing_else_is() -> None:
    assert step_of(facts_of(0.8, doubtful=3)).startswith("look at the 3 texts whose labels are doubtful")
    assert step_of(facts_of(0.8, doubtful=1)).startswith("look at the text whose label is doubtful")


def test_scores_of_training_texts_decide_nothing() -> None:
    first, *_, step = told(facts_of(0.99, leaked=60, folds=0))
    assert first == "Ship or not: this does not tell. 60 of 300 validation texts are training texts as well."
    assert step.startswith("Next: take the 60 texts")


# --- classifiers of others --------------------------------------------------------------------------------------------


def test_earlier_releases_say_less() -> None:
    new = {"largest_label", "weakest", "baseline", "smallest_label", "one_label", "copies", "doubtful"}
    old = {name: value for name, value in facts_of(0.9).items() if name not in new}
    assert [line.split()[0] for line in told(old)] == ["Ship", "Expect", "No", "Next:"]
    assert verdict({}, LABELS, PLAIN) == verdict({"validation": {}}, LABELS, PLAIN) == figures({}, LABELS) == []


def test_labels_steer_no_terminal() -> None:
    evil = "\x1b[2J\nShip it"
    weak = WEAK | {"label": evil, "taken_for": evil}
    facts = facts_of(0.9, weakest=[weak], smallest_label=[evil, 2], one_label=[evil, evil, 40])
    decision = Decision(threshold=0.5, unknown_label=evil, unknown_power=0.1, shares=(0.5, 0.3, 0.2))
    assert not any("\x1b" in line for line in told(facts, [evil, "b", "c"], decision))
    assert not any("Ship" in line for line in figures(facts, [evil, "b", "c"])), "a card names no label"


@pytest.mark.parametrize("accuracy", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("texts", [1, 2, 30, 2**62])
@pytest.mark.parametrize("error", [0, 1e-300, 1e300])
@pytest.mark.parametrize("copies", [0, 2**62])
def test_odd_facts_give_bounds_all_the_same(accuracy: float, texts: int, error: float, copies: int) -> None:
    facts = facts_of(accuracy, texts, accuracy_error=error, copies={"texts": copies, "groups": 1})
    low, high = Facts(facts, LABELS, PLAIN).bounds
    assert 0.0 <= low <= accuracy <= high <= 1.0
    told(facts)


@pytest.mark.parametrize("accuracy", [0.3, 0.8, 0.95, 0.995])
def test_the_interval_covers_the_accuracy_of_a_classifier(accuracy: float) -> None:
    """Of one that does not change: in trainings it does, for which it is wider."""
    draw = np.random.default_rng(1)
    for texts in (10, 30, 100, 500):
        right = draw.binomial(texts, accuracy, 2000) / texts
        found = [bounds(facts_of(share, texts, accuracy_error=0.0)) for share in right.tolist()]
        assert np.mean([low <= accuracy <= high for low, high in found]) >= 0.95


def test_copies_and_folds_that_differ_make_it_wider() -> None:
    def width(**more: Any) -> float:
        low, high = bounds(facts_of(0.8, **more))
        return high - low

    usual = width(accuracy_error=0.0)
    assert width(accuracy_error=0.0, copies={"texts": 225, "groups": 75}) > 1.8 * usual
    assert width(accuracy_error=0.05) > 1.8 * usual
    assert bounds(facts_of(0.8, learning_curve=CLIMBS)).high > bounds(facts_of(0.8)).high + 0.09
