"""What attacks count, and what they see. Those of textattack run where it is installed (lab/benchmarks/README.md); elsewhere each is skipped."""

import importlib.util
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from benchmarks.experiments.attacks import (
    ATTACKS,
    BAD_CHARACTERS,
    STOPWORDS,
    Found,
    attack_all,
    outcome,
    show,
    transferred,
)

Classifier = Callable[[Sequence[str]], np.ndarray]
TEXT = "Congratulations friend, you won a wonderful prize today. Please answer quickly."
# Packages below textattack warn when they are imported.
pytestmark = pytest.mark.filterwarnings("ignore")
needs_textattack = pytest.mark.skipif(
    importlib.util.find_spec("textattack") is None, reason="textattack is not installed"
)
RECIPES = [name for name in ATTACKS if not name.startswith(BAD_CHARACTERS)]


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


def test_a_classifier_shows_all_or_whole_percent_or_its_answer() -> None:
    given = np.array([[0.1234, 0.8766, 0.0], [0.4996, 0.5004, 0.0]])
    assert show(given, "probabilities") == pytest.approx(given)
    assert show(given, "label").tolist() == [[0, 1, 0], [0, 1, 0]]
    rounded = show(given, "rounded")
    assert rounded.sum(axis=1) == pytest.approx(1)
    assert rounded == pytest.approx(np.array([[0.12, 0.88, 0], [0.5, 0.5, 0]]), abs=1e-3)
    assert rounded.argmax(axis=1).tolist() == [1, 1], "the answer is what it is without rounding"


def test_an_outcome_counts_what_happened() -> None:
    found = [Found("a", True, 10, 0.5), None, Found("b", False, 30, 0.2), Found("c", True, 20, 0.1)]
    assert outcome(found) == pytest.approx(
        {
            "texts": 4,
            "original_accuracy": 0.75,
            "accuracy_under_attack": 0.25,
            "success_rate": 2 / 3,
            "mean_queries": 20.0,
            "mean_changed": 0.3,
        }
    )
    assert outcome([None])["success_rate"] == 0.0


def test_texts_made_against_another_classifier_count_where_both_were_right() -> None:
    texts = ["free prize", "free voucher", "nothing", "prize draw", "free gift"]
    labels = [1, 1, 0, 1, 1]
    made = [
        Found("fre prize", True, 5, 0.5),  # fools the other one only
        Found("free vouchr", True, 5, 0.5),  # fools both
        Found("nothing prize", True, 5, 0.5),
        None,  # the other one was wrong to begin with
        Found("free gif", True, 5, 0.5),  # this one was
    ]
    found = transferred(made, finds("prize", "voucher"), texts, labels)
    assert [one and one.success for one in found] == [False, True, True, None, None]
    assert sum(one.queries for one in found if one) == 0


@needs_textattack
@pytest.mark.parametrize("name", RECIPES)
def test_one_decisive_word_is_found_and_changed_alone(name: str) -> None:
    (found,) = attack_all(name, finds("wonderful"), [TEXT], [1], 0)
    assert found and found.success
    assert "wonderful" not in found.text.split()
    assert [word for word in TEXT.split() if word != "wonderful"] == [
        word for word in found.text.split() if word in TEXT.split()
    ]
    assert finds("wonderful")([found.text])[0].argmax() == 0


@needs_textattack
@pytest.mark.parametrize("name", ATTACKS)
def test_bad_characters_and_recipes_count_every_query_and_repeat(name: str) -> None:
    text = "claim the wonderful prize"
    probabilities, asked = counted(stubborn)
    (found,) = attack_all(name, probabilities, [text], [1], 1)
    assert found and not found.success
    assert found.queries >= len(set(asked)) > 1
    assert attack_all(name, stubborn, [text], [1], 1) == [found]
    (other,) = attack_all(name, finds("wonderful"), [TEXT], [1], 1)
    assert other and other.success, "a word that must stay as it is does not"
    if name.startswith(BAD_CHARACTERS):
        assert other.queries < 500, "the search stops at success"


@needs_textattack
@pytest.mark.parametrize("name", ATTACKS)
def test_odd_texts_are_no_error_and_wrong_ones_are_not_attacked(name: str) -> None:
    odd = ["", " ", "a", "?!", "no it is", "天气"]
    found = attack_all(name, stubborn, odd, [1] * len(odd), 0)
    assert all(one and not one.success for one in found)
    assert attack_all(name, stubborn, [TEXT], [0], 0) == [None]


@needs_textattack
@pytest.mark.parametrize("name", RECIPES)
def test_stop_words_stay(name: str) -> None:
    text = "the message about your delivery and the invoice was never answered"
    probabilities, asked = counted(stubborn)
    attack_all(name, probabilities, [text], [1], 0)
    stop = [word for word in text.split() if word in STOPWORDS]
    assert any([word for word in tried.split() if word in STOPWORDS] == stop for tried in asked if tried != text)


@needs_textattack
def test_a_hidden_probability_helps_nobody() -> None:
    seen, asked = counted(finds("wonderful"))
    shown = attack_all("DeepWordBug", seen, [TEXT], [1], 0)
    with_probabilities = len(asked)
    hidden = attack_all("DeepWordBug", finds("wonderful"), [TEXT], [1], 0, "label")
    assert shown[0] and hidden[0]
    assert with_probabilities <= hidden[0].queries or hidden[0].success
