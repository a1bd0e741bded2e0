"""Languages in Latin letters: usual spellings, one writer's habits, and what is left alone."""

import random

import pytest

from makers.language.romanized import spelled, writer

USUAL = {
    "ru-Latn": ("привет", {"privet", "privyet"}),
    "el-Latn": ("καλημέρα", {"kalimera", "kalhmera"}),
    "hi-Latn": ("मैं ठीक हूँ", {"main theek hoon", "main thik hun", "mai theek hu", "me theek hun"}),
    "hi": ("नमक", {"namak"}),
}


@pytest.mark.parametrize(("tag", "text", "usual"), [(tag[:7], *found) for tag, found in USUAL.items() if tag != "hi"])
def test_texts_are_spelled_as_people_do(tag: str, text: str, usual: set[str]) -> None:
    found = {spelling for _, spelling in spelled(tag, [text], 100)}
    assert found & usual == usual and all(spelling.isascii() for spelling in found)


def test_vowels_that_nobody_speaks_are_left_out() -> None:
    assert {spelling for _, spelling in spelled("hi-Latn", ["नमक"], 20)} == USUAL["hi"][1]


def test_a_writer_keeps_to_a_spelling() -> None:
    write = writer("ru-Latn", random.Random(3))
    assert write("хорошо") == write("хорошо") and write("Хорошо, ok") == f"{write('хорошо').capitalize()}, ok"


def test_what_keeps_other_letters_is_left_out() -> None:
    assert list(spelled("ru-Latn", ["привет 漢字", "漢字"], 2)) == []
