import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.experiments.attacks import ATTACKS, STOPWORDS, Found, Victim, Words, attack_many

Classifier = Callable[[Sequence[str]], np.ndarray]


def finds(*words: str) -> Classifier:
    """Label 1 for every text with one of the words as it is written, else label 0."""

    def probabilities(texts: Sequence[str]) -> np.ndarray:
        found = np.array([any(word in text.split() for word in words) for text in texts], float)
        return np.stack([1 - found, found], axis=1) * 0.8 + 0.1

    return probabilities


def stubborn(texts: Sequence[str]) -> np.ndarray:
    """Label 1 whatever happens."""
    return np.tile([0.2, 0.8], (len(texts), 1))


def counted(probabilities: Classifier) -> tuple[Classifier, list[str]]:
    asked: list[str] = []

    def count(texts: Sequence[str]) -> np.ndarray:
        asked.extend(texts)
        return probabilities(texts)

    return count, asked


def edit_distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for at, left in enumerate(one, start=1):
        before, row[0] = row[0], at
        for place, right in enumerate(other, start=1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (left != right))
    return row[-1]


TEXT = "Congratulations friend, you won a wonderful prize today. Please answer quickly."
EVERY = pytest.mark.parametrize("attack", ATTACKS)


@given(st.text())
def test_words_put_back_together_are_the_text(text: str) -> None:
    assert Words(text).join() == text


@EVERY
def test_one_decisive_word_is_found_and_changed_alone(attack: str) -> None:
    found = ATTACKS[attack](Victim(finds("wonderful")), TEXT, 1, random.Random(0))
    assert found.success
    assert found.changed == 1
    assert "wonderful" not in found.text
    assert [word for word in TEXT.split() if word != "wonderful"] == [
        word for word in found.text.split() if word in TEXT.split()
    ]
    assert finds("wonderful")([found.text])[0].argmax() == 0


@EVERY
def test_every_text_that_is_asked_about_counts(attack: str) -> None:
    probabilities, asked = counted(stubborn)
    found = ATTACKS[attack](Victim(probabilities), TEXT, 1, random.Random(0))
    assert not found.success
    assert found.queries == len(asked) > 0


@EVERY
def test_the_same_seed_gives_the_same_attack(attack: str) -> None:
    def run(seed: int) -> Found:
        return ATTACKS[attack](Victim(stubborn), TEXT, 1, random.Random(seed))

    assert run(1) == run(1)
    assert run(1).text != run(2).text or attack == "Pruthi"  # which tries all there is


@EVERY
@pytest.mark.parametrize("text", ["", " ", "a", "?!", "no it is"])
def test_texts_with_nothing_to_change_are_no_error(attack: str, text: str) -> None:
    found = ATTACKS[attack](Victim(stubborn), text, 1, random.Random(0))
    assert not found.success
    if not text.strip():
        assert found.text == text


def test_deep_word_bug_stays_within_its_edits_and_asks_for_every_score() -> None:
    text = " ".join(["character"] * 60)
    probabilities, asked = counted(stubborn)
    found = ATTACKS["DeepWordBug"](Victim(probabilities), text, 1, random.Random(0))
    assert 25 <= edit_distance(text, found.text) <= 30
    # 61 beginnings, 60 ends, four candidates for each of the words that were changed while edits were left
    assert 121 < len(asked) <= 121 + 4 * 31


def test_text_bugger_edits_at_most_a_fifth_and_no_stopwords() -> None:
    text = "the message about your delivery and the invoice was never answered"
    found = ATTACKS["TextBugger"](Victim(stubborn), text, 1, random.Random(0))
    assert 1 <= edit_distance(text, found.text) <= 0.2 * len(text)
    assert [word for word in text.split() if word in STOPWORDS] == [
        word for word in found.text.split() if word in STOPWORDS
    ]


def test_pruthi_changes_the_inside_of_one_long_word() -> None:
    text = "this offer ends with our next letter"
    probabilities, asked = counted(stubborn)
    found = ATTACKS["Pruthi"](Victim(probabilities), text, 1, random.Random(0))
    assert found.changed == 1
    for tried in asked:
        words = list(zip(text.split(), tried.split(), strict=True))
        changed = [(old, new) for old, new in words if old != new]
        assert len(changed) == 1
        (old, new) = changed[0]
        assert old in {"offer", "ends", "next", "letter"}  # four letters or more, no stop word
        assert (old[0], old[-1]) == (new[0], new[-1])
        assert edit_distance(old, new) <= 2


def test_an_outcome_counts_what_happened() -> None:
    texts = ["free holiday voucher", "nothing special here", "voucher voucher", "another message"]
    labels = [1, 0, 1, 1]  # the last one is misclassified from the beginning, the second cannot be moved
    outcome = attack_many("Pruthi", finds("voucher", "vouchre"), texts, labels, seed=0)
    assert outcome["texts"] == 4
    assert outcome["original_accuracy"] == 0.75
    assert outcome["accuracy_under_attack"] == 0.5  # of "voucher voucher" one is left; "nothing special here" stays
    assert outcome["success_rate"] == pytest.approx(1 / 3)
    assert outcome["mean_changed"] == pytest.approx(1 / 3)
    assert outcome["mean_queries"] > 0
