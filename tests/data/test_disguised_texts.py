import random
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.data.disguises import ENDINGS, OF_TEXTS, OF_WORDS, add_ending, disguise

TEXT = "Could you cancel my second order, please?"
texts = st.text(st.one_of(st.characters(codec=None), st.sampled_from("aAbzß 19-.\t\né你👍🏽?!")), max_size=40)


@given(texts, st.integers(0, 2**32))
def test_any_text_can_be_disguised_and_get_an_ending(text: str, seed: int) -> None:
    found = [change(text, random.Random(seed).random) for change in (disguise, add_ending) for _ in range(2)]
    assert found[0] == found[1] and found[2] == found[3], "the seed decides"
    assert bool(text.split()) <= bool(found[0].split()), "no text becomes empty"


@pytest.mark.parametrize("name", OF_WORDS)
def test_a_disguised_word_differs_and_stays_one_word_but_for_spaces(name: str) -> None:
    draw = random.Random(1).random
    for word in ("second", "Order", "you") * 30:
        assert len(OF_WORDS[name](word, draw).split()) == 1 or name in ("separated", "halved")
    changed = [OF_WORDS[name]("second", draw) != "second" for _ in range(200)]
    assert sum(changed) > 150
    assert OF_WORDS[name]("a", draw)


def test_the_disguises_look_as_they_say() -> None:
    draw = random.Random(0).random
    for word in ("second", "SECOND") * 20:
        accented = unicodedata.normalize("NFD", OF_WORDS["accents"](word, draw))
        assert "".join(filter(str.isascii, accented)) == word and len(accented) == 2 * len(word)
        assert not set(OF_WORDS["leet"](word, draw).lower()) & set("seco")
        assert set(word) - set(OF_WORDS["separated"](word, draw)) == set()
        assert len(OF_WORDS["foreign"](word, draw)) == len(word)
        assert OF_WORDS["backwards"](word, draw) == word[::-1]
        assert len(OF_WORDS["repeats"](word, draw)) > len(word)
        assert unicodedata.is_normalized("NFC", OF_WORDS["lookalikes"](word, draw))
    assert OF_TEXTS["glued"](TEXT, draw).replace(" ", "") == TEXT.replace(" ", "")
    assert "".join(filter(str.isascii, OF_TEXTS["emoji between"](TEXT, draw))).split() == TEXT.split()


def test_every_way_is_drawn() -> None:
    draw = random.Random(3).random
    found = Counter(disguise(TEXT, draw) for _ in range(500))
    assert found[TEXT] < 60 and len(found) > 250
    expected = (TEXT.upper(), "dluoC uoy lecnac ym dnoces redro, esaelp?", "Couldyou cancelmy secondorder, please?")
    assert all(found[text] > 3 for text in expected), "whole texts in the ways that draw nothing"


def test_endings_stand_behind_or_before_a_text() -> None:
    draw = random.Random(4).random
    found = [add_ending("cancel it?", draw) for _ in range(500)]
    assert all("cancel it" in text and text != "cancel it" for text in found)
    before = sum(not text.startswith("cancel it") for text in found)
    assert 20 < before < 120
    assert all(any(sign in text for text in found) for sign in "!@#:/")


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending_varies(name: str) -> None:
    draw = random.Random(5).random
    assert len({ENDINGS[name](draw) for _ in range(60)}) > 10
