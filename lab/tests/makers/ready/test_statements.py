"""Sentences of our own that are drawn from frames."""

import random
import re

import pytest

from makers.ready.messages import SPAM_LANGUAGES
from makers.ready.statements import draw, fill, read, swapped

LABELS = {
    "groups": ["hate", "none", "offensive"],
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
    rows = [("Trans women scare me", "hate"), ("my gay uncle cooks", "none"), ("my uncle cooks", "none")]
    found = list(swapped(rows, "groups", "nouns", "kind"))
    assert [row for row in found if row in rows] == rows and len(found) == 5
    (hateful, other), (kind, same) = (row for row in found if row not in rows)
    assert (other, same) == ("hate", "none")
    assert re.fullmatch(r"(?!.*omen).+ scare me|.+(women|girls) scare me", hateful) and re.fullmatch(
        r"my .+ uncle cooks", kind
    )
