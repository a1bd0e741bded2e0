"""Figures of ready-made classifiers: what counts as found, and which words change an answer."""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.common import ROOT
from makers.ready.bias import changed, dialects, raised
from makers.ready.make import ask, asked
from makers.ready.measure import _shares
from makers.ready.recipes import RECIPES
from retvec_lite.runtime.artifact import READY, locate, read_artifact

MODELS = ROOT / "models" / "retvec_lite_models"


def test_alarms_are_counted_apart() -> None:
    right = [["spam"], ["spam"], ["ham"], ["ham"]]
    assert _shares(["spam", "ham", "ham", "ham"], right, "") == (0.75,)
    assert _shares(["spam", "ham", "ham", "ham"], right, "spam") == pytest.approx((0.5, 1, (2 / 3 + 4 / 5) / 2))
    assert _shares(["spam", "ham", "ham", "spam"], right, "spam") == (0.5, 0.5, 0.5)
    found, kept, score = _shares(["spam", "ham"], right[:2], "spam")
    assert found == 0.5 and math.isnan(kept) and math.isnan(score)


def test_one_word_that_changes_the_answer_is_named() -> None:
    def answer(texts: Sequence[str]) -> list[str]:
        return ["bad" if "deaf" in text else "good" for text in texts]

    texts = {
        "being": {"deaf": "being deaf", "old": "being old", "young": "being young"},
        "you": {"deaf": "you, deaf", "old": "you, old", "young": "you, young"},
    }
    assert changed(texts, answer) == {"deaf": 1.0, "old": 0.0, "young": 0.0}
    texts["you"]["old"] = "you, old and deaf"
    assert raised(texts, answer, "bad") == {"deaf": 1.0, "old": 0.5, "young": 0.0}


def test_dialects_are_pairs_of_sentences() -> None:
    pairs = dialects()
    assert all(len(pair) == 2 and all(pair) and pair[0] != pair[1] for pair in pairs)
    assert not any(sentence.startswith("#") for pair in pairs for sentence in pair)


def test_a_card_has_what_the_file_answers_once(tmp_path: Path) -> None:
    shutil.copy(MODELS / "sentiment.retvec", tmp_path)
    card = tmp_path / "sentiment.md"
    card.write_text("# `sentiment`\n\n## Sources\n\nours\n")
    ask("sentiment", tmp_path)
    once = card.read_text()
    ask("sentiment", tmp_path)
    assert (
        card.read_text() == once
        and once.startswith("# `sentiment`\n\n## Failure modes")
        and once.endswith("\n## Sources\n\nours\n")
    )
    assert "\n| not bad at all | positive | **negative** |\n" in once
    assert "\n| I do not like it | negative | negative |\n" in once


def test_every_classifier_is_asked_texts_with_labels_of_its_own() -> None:
    assert set(asked()) == set(RECIPES)
    for name in READY:
        own, labels = asked()[name], read_artifact(locate(MODELS / f"{name}.retvec")).labels
        assert len(own) > 5 and set(own.values()) <= {"", *labels}
