"""The systems of the judge of few texts, and the plain recipe among them."""

from typing import Any

import numpy as np
import pytest

import retvec_lite as rl
from benchmarks import common
from benchmarks.systems import few, recipe
from benchmarks.systems.few import SYSTEMS, system_of
from benchmarks.systems.names import (
    BAYES,
    DEFAULT_FILE,
    NETWORK,
    NGRAMS,
    NGRAMS_ALONE,
    RECIPE,
    SENTENCE_VECTOR,
    SVM,
    SVM_COPY,
)
from benchmarks.systems.recipe import WordTable, plain, train_recipe

TEXTS = [f"{word} number {number}" for number in range(6) for word in ("bread", "guitar", "cheese", "concert")]
LABELS = ["food", "play"] * 12
ASKED = ["some bread", "a guitar", "cheese", "the concert"]
ANIMALS = ["cat", "dog", "horse", "cow", "sheep", "rabbit"]
VEHICLES = ["car", "bus", "train", "bicycle", "airplane", "ship"]


def test_a_word_is_found_with_one_letter_lacking_added_or_replaced() -> None:
    vectors = np.array([[3, 0], [0, 4], [1, 1]], np.float32)
    table = WordTable(["parcel", "refund", "the"], vectors)
    for written in ("parcel", "Parcel!", "PÁRCEL", "pacel", "parrcel", "pargel", "aprcel"):
        assert table.means([written]).tolist() == [[1, 0]], written
    for unknown in ("", "th", "tha", "par", "1234", "prc"):
        assert table.means([unknown]).tolist() == [[0, 0]], unknown
    np.testing.assert_allclose(table.means(["parcel refund", "refnd"]), [[0.6, 0.8], [0, 1]], rtol=1e-6)


def test_only_frequent_words_are_repaired_and_only_the_first_letters_of_long_ones_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recipe, "_REPAIRED", 1)
    table = WordTable(["parcel", "refund", "a" * 16], np.eye(3, dtype=np.float32))
    assert table.means(["pacel", "refnd", "refundd", "a" * 20]).argmax(axis=1).tolist() == [0, 0, 1, 2]
    assert table.means(["refnd"]).tolist() == [[0, 0, 0]]


def test_marks_of_alphabets_go_and_vowel_signs_stay() -> None:
    assert plain(["CAFÉ Ёлка Ångström"]) == ["cafe елка angstrom"]
    assert plain(["हिन्दी", "한국어", "がぎ"]) == ["हिन्दी", "한국어", "がぎ"]


def test_the_recipe_reads_what_words_mean_in_languages_that_have_a_table() -> None:
    texts, labels = [*ANIMALS, *VEHICLES], ["animal"] * 6 + ["vehicle"] * 6
    asked = ["goat", "truck", "puppy", "motorcycle", "pig", "tractor"]
    told = ["animal", "vehicle"] * 3
    assert train_recipe(texts, labels, "en")(asked) == told
    assert train_recipe(texts, labels, "tlh")(asked) != told, "their letters alone do not tell"
    assert train_recipe(TEXTS, LABELS, "tlh")(ASKED) == ["food", "play"] * 2


@pytest.mark.parametrize("name", [SVM, SVM_COPY, BAYES, RECIPE, SENTENCE_VECTOR])
def test_each_system_learns_what_is_easy(name: str) -> None:
    assert list(SYSTEMS[name](TEXTS, LABELS, "en")(ASKED)) == ["food", "play"] * 2


def test_a_mistyped_copy_of_each_text_is_learned_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[Any] = []
    monkeypatch.setattr(few, "train_svm", lambda *given: learned.append(given))
    few.train_svm_copy(TEXTS, LABELS, "en")
    ((texts, labels, language),) = learned
    assert texts[: len(TEXTS)] == TEXTS and labels == [*LABELS, *LABELS] and language == "en"
    changed = sum(copy != text for copy, text in zip(texts[len(TEXTS) :], TEXTS, strict=True))
    assert len(texts) == 2 * len(TEXTS) and changed > len(TEXTS) / 2


def test_ours_answers_every_text_as_predict_does_without_rejecting(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[dict[str, Any]] = []
    golden = rl.load(common.ROOT / "golden/rejecting.retvec")

    def train(texts: list[str], labels: list[str], **options: Any) -> rl.Classifier:
        assert (texts, labels) == (TEXTS, LABELS)
        asked_for.append(options)
        return golden

    monkeypatch.setattr(rl, "train", train)
    for name in (DEFAULT_FILE, NGRAMS, NGRAMS_ALONE, NETWORK):
        guess = SYSTEMS[name](TEXTS, LABELS, "en")
    texts = ["wkae me up at six", "is it going to rain", "?!"]
    assert guess(texts) == [found.label for (found,) in golden.predict(texts, 1, reject=False)]
    assert guess(texts)[2] is not None and golden.predict("?!", 1)[0].label is None
    kept = {"keep": "nothing"}
    assert asked_for == [
        kept,
        {"head": "linear", **kept},
        {"head": "linear", "meaning": "none", **kept},
        {"head": "pool", "ngram_kb": 0, **kept},
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", [DEFAULT_FILE, NGRAMS, NGRAMS_ALONE, NETWORK])
def test_our_parts_are_trained_with_these_options(name: str) -> None:
    assert list(SYSTEMS[name](TEXTS, LABELS, "en")(ASKED)) == ["food", "play"] * 2


def test_a_system_is_named_or_a_function_of_a_module() -> None:
    assert system_of(RECIPE) is train_recipe
    assert system_of("benchmarks.systems.recipe:train_recipe") is train_recipe
