"""Spans of two joined sentences: how they are drawn, and which characters are right."""

from makers.language.joined import Joined, draw_joined, right_characters
from retvec_lite.spans import LanguageSpan

TEXT = Joined("guten Tag", "good day", ("de", "en"))


def test_sentences_are_of_two_languages_or_of_one() -> None:
    sentences = {"de": ["ja", "nein"], "en": ["yes"], "fr": []}
    assert {text.tags for text in draw_joined(sentences, 50, same=False)} == {("de", "en"), ("en", "de")}
    assert {text.tags for text in draw_joined(sentences, 50, same=True)} == {("de", "de"), ("en", "en")}


def test_characters_of_the_right_language_count_and_the_blank_between_does_not() -> None:
    def right(*spans: tuple[int, int, str]) -> float:
        return right_characters(TEXT, [LanguageSpan(start, end, label, 1.0) for start, end, label in spans])

    assert right((0, 10, "de"), (10, 18, "en")) == 1
    assert right((0, 18, "de")) == 9 / 17
    assert right((0, 5, "de"), (5, 18, "en")) == (5 + 8) / 17
    assert right((0, 18, "fr")) == 0
