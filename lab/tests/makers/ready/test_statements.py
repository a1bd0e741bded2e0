"""Sentences of our own that are drawn from frames."""

import random
import re

import pytest

from makers.ready.messages import SPAM_LANGUAGES
from makers.ready.statements import draw, fill, read, swapped

LABELS = {
    "groups": ["hate", "none", "offensive"],
    "groups-de": ["hate", "none", "offensive"],
    "messages": ["spam", "ham"],
    "takeovers": ["attack", "none"],
    **{f"messages-{language}": ["spam", "ham"] for language in SPAM_LANGUAGES},
}


@pytest.mark.parametrize("name", LABELS)
def test_every_frame_is_filled_and_a_seed_draws_the_same(name: str) -> None:
    lists, frames = read(name)
    assert list(frames) == LABELS[name]
    for frame in (frame for own in frames.values() for frame in own):
        assert not re.search("[{}]", fill(frame, lists, random.Random(1)))
    counts = {label: 20 + place for place, label in enumerate(frames)}
    drawn = list(draw(name, counts, 3))
    assert drawn == list(draw(name, counts, 3)) != list(draw(name, counts, 4))
    assert {label: sum(one == label for _, one in drawn) for label in counts} == counts


@pytest.mark.parametrize("name", LABELS)
def test_no_frame_stands_for_two_labels(name: str) -> None:
    _, frames = read(name)
    everything = [frame for own in frames.values() for frame in set(own)]
    assert len(everything) == len(set(everything))


def test_a_vowel_takes_another_article_in_english_alone() -> None:
    drawn = [text.lower() for text, _ in draw("groups", {"none": 2000}, 1)]
    assert any(" an a" in text for text in drawn) and not any(re.search(r"\ba [aeiou]", text) for text in drawn)
    assert any(re.search(r"\ba [AEIO]", text) for text, _ in draw("messages-es", {"ham": 500}, 1))


def test_what_is_said_of_one_group_is_said_of_another() -> None:
    texts = {
        "JEWS scare me": "{} scare me",
        "my African American cook": "my {} cook",
        "womenfolk cook": "",
        "cooks": "",
    }
    for seed in range(20):
        found = list(swapped([(text, "hate") for text in texts], "groups", "nouns", "kind", seed=seed))
        assert [text for text, _ in found if text in texts] == list(texts) and {label for _, label in found} == {"hate"}
        others = [text for text, _ in found if text not in texts]
        groups = [set(read("groups")[0][key]) for key in ("nouns", "kind")]
        for text, frame, own in zip(others, [frame for frame in texts.values() if frame], groups, strict=True):
            assert any(text == frame.format(group) for group in own)
