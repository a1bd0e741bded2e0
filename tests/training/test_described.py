"""Names and descriptions of labels as texts of a training, and texts of related words."""

import numpy as np
import pytest

from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.model.meaning_file import packaged_meaning
from retvec_lite.training.described import Described, Origin, describe, labels_of, telling_names, with_related


def named(*labels: str) -> Dataset:
    return Dataset(descriptions=tuple((label, "") for label in labels), texts=(), labels=())


def test_names_that_say_something_are_texts() -> None:
    names = ("card_arrival", "World", "Sci/Tech", "cardArrival", "SPAM", "7", "_", "größer als", "C 64", "退款")
    found = describe(named(*names), few=True)
    said = dict(zip(found.labels, found.texts, strict=True))
    assert said == {
        "card_arrival": "card arrival",
        "World": "World",
        "Sci/Tech": "Sci Tech",
        "cardArrival": "card Arrival",
        "SPAM": "SPAM",
        "größer als": "größer als",
        "退款": "退款",
    }
    assert found.origins == (Origin.NAME,) * 7
    assert describe(named("a", "b"), few=True) == Described()


def test_descriptions_stand_behind_names_and_names_of_labels_with_many_texts_are_left_out() -> None:
    data = Dataset(
        ("hi",), ("greeting",), descriptions=(("refund", "money back"), ("refund", "return it"), ("7", "seven"))
    )
    found = describe(data, few=True)
    assert found.texts == ("greeting", "refund", "money back", "return it", "seven")
    assert found.origins == (Origin.NAME,) * 2 + (Origin.DESCRIPTION,) * 3
    assert labels_of(found, data.classes).tolist() == [1, 2, 2, 2, 0]
    assert describe(data, few=False).texts == ("refund", "money back", "return it", "seven")
    assert describe(Dataset(("hi",), ("a|b",), multi_label=True), few=True) == Described()


def test_names_are_told_that_mean_what_their_texts_mean() -> None:
    meat, message, prize = np.eye(3, dtype=np.float32)
    texts, targets = np.stack([message, message, prize, prize]), np.array([0, 0, 1, 1], np.int32)

    def telling(*names: Floats, labels: tuple[int, ...] = (0, 1)) -> list[bool]:
        return telling_names(texts, targets, np.stack(names), np.array(labels, np.int32)).tolist()

    assert telling(message, prize) == [True, True]
    assert telling(meat, prize) == [True, True], "a name that is as far from all texts says nothing wrong"
    assert telling(prize, message) == [False, False]
    assert telling(prize, prize) == [False, False], "one name that is left would only draw texts to its label"
    assert telling(message, prize, prize, labels=(0, 1, 0)) == [True, True, False]
    assert telling(message, prize, meat, labels=(0, 1, 2)) == [True] * 3, "a label without a text here"
    slightly = (message + 0.9 * prize) / np.linalg.norm(message + 0.9 * prize)
    assert telling(slightly, prize) == [True, True]


def test_related_words_are_those_of_the_label_and_not_of_the_others() -> None:
    described = Described(("sports", "business"), ("a", "b"), (Origin.NAME,) * 2)
    found = with_related(described, ("a", "b"), {}, packaged_meaning("en"), seed=0)
    assert found.texts[:2] == described.texts and found.origins[2:] == (Origin.RELATED,) * 40
    words = {
        label: " ".join(text for text, own in zip(found.texts, found.labels, strict=True) if own == label)
        for label in "ab"
    }
    assert "football" in words["a"] and "football" not in words["b"]
    assert "companies" in words["b"] and "companies" not in words["a"]
    assert with_related(described, ("a", "b"), {}, packaged_meaning("en"), seed=0) == found


@pytest.mark.parametrize("texts", [("qwxyzt", "zzqqjj"), ("sports", "zzqqjj")])
def test_nothing_is_related_to_words_that_are_not_known(texts: tuple[str, str]) -> None:
    described = Described(texts, ("a", "b"), (Origin.NAME,) * 2)
    assert with_related(described, ("a", "b"), {}, packaged_meaning("en"), seed=0) == described


def test_many_labels_share_the_texts_of_related_words() -> None:
    words = packaged_meaning("en").words[200:600]
    found = with_related(
        Described(words, words, (Origin.NAME,) * len(words)), words, {}, packaged_meaning("en"), seed=0
    )
    assert found.origins.count(Origin.RELATED) <= 1_000 and set(found.labels[len(words) :]) == set(words)
