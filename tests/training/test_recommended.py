"""The recommended settings follow the number of texts and what is trained; what is asked for wins."""

import pytest

from retvec_lite.training.plan import FitSettings, recommended
from retvec_lite.training.request import FEW


def test_settings_follow_the_size_of_the_data_and_what_is_trained() -> None:
    few, many = 19_999, 20_000
    assert [recommended(texts).epochs for texts in (few, many)] == [13, 8]
    assert [recommended(texts).epochs for texts in (FEW, FEW + 1, 9_000)] == [20, 30, 30]
    assert [recommended(texts, multi_label=True).epochs for texts in (few, many)] == [60, 32]
    assert [recommended(few, multi_label=several).patience for several in (False, True)] == [7, 10]
    assert recommended(few, multi_label=True, epochs=3).epochs == 3, "what is asked for wins"
    assert [recommended(texts).linear_variants for texts in (40, FEW, 19_999, 20_000)] == [2, 2, 2, 1]
    assert recommended(FEW, linear_variants=1).linear_variants == 1


@pytest.mark.parametrize("texts", [4, 50, 400, 2000])
def test_few_texts_get_a_least_number_of_steps(texts: int) -> None:
    found = recommended(texts)
    steps_an_epoch = found.steps(texts) // found.epochs
    assert 480 <= found.steps(texts) < 480 + steps_an_epoch or found.epochs == 20


@pytest.mark.parametrize(("texts", "batch", "steps"), [(1, 1, 10), (7, 1, 70), (40, 10, 40), (255, 63, 40), (1000, 128, 70)])  # fmt: skip
def test_very_few_texts_take_four_steps_an_epoch(texts: int, batch: int, steps: int) -> None:
    assert ((settings := FitSettings(epochs=10)).batch(texts), settings.steps(texts)) == (batch, steps)
