"""The measured biases of a model card."""

import numpy as np
import pytest

from makers.meaning.biases import ASSOCIATIONS, describe_biases, effect_size


def test_effect_sizes_by_hand() -> None:
    east, north = np.eye(2, dtype=np.float32)
    one, other = np.stack([east, 2 * east]), np.stack([north, 3 * north])
    # Nearness 1, 1, -1, -1: difference 2, standard deviation 2 / sqrt(3).
    assert effect_size(one, other, one, other) == pytest.approx(np.sqrt(3))
    assert effect_size(other, one, one, other) == pytest.approx(-np.sqrt(3))
    assert effect_size(one, one, one, other) == 0
    assert effect_size(one, one, one, one) == 0


def test_the_lists_are_different_words() -> None:
    for association in ASSOCIATIONS["en"]:
        words = [word for names in association.words for word in names.split()]
        assert len(words) == len(set(words)) and all(len(names.split()) >= 6 for names in association.words)


def test_a_sentence_names_what_is_measured() -> None:
    words = [word for names in ASSOCIATIONS["en"][0].words for word in names.split()]
    vectors = np.random.default_rng(0).normal(size=(len(words), 64)).astype(np.float32)
    said = describe_biases(words, vectors, "en")
    assert "men and women with careers and family " in said and "science" not in said
    assert said == describe_biases(words, vectors, "en")


@pytest.mark.parametrize(("words", "language"), [((), "en"), (("der", "die"), "de")])
def test_without_words_nothing_is_measured(words: tuple[str, ...], language: str) -> None:
    assert describe_biases(words, np.zeros((len(words), 64), np.float32), language).startswith("Not measured")
