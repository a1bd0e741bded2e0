"""Copies of texts: which are found, which are not, and what may be divided."""

import random
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.data import copies
from retvec_lite.data.copies import (
    as_written,
    copy_groups,
    count_copies,
    count_independent,
    find_copies,
    telling,
    undivided,
)
from retvec_lite.data.dataset import Dataset, read_dataset, starter_file


def are_copies(one: str, other: str, *others: str) -> bool:
    groups = find_copies([one, other, *others])
    return bool(groups[0] == groups[1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("where is my parcel", "Where is my PARCEL?!"),
        ("where is my parcel", "  where\tis my parcel\n"),
        ("where is my parcel", "hi, where is my parcel"),
        ("where is my parcel", "where is my parcel please"),
        ("where is my parcel", "my parcel, where is"),
        ("where is my parcel", "where is my parsel"),
        ("where is my parcel", "where is my pacrel"),
        ("where is my parcel", "where is my parce"),
        ("where is my parcel", "where is my parrcel"),
        ("where is my parcel", "hi where is my pacel"),
        ("I can't log in today", "i cant log in today"),
        ("your code is 482913", "Your code is 7"),
        ("wake me up at 7:30", "wake me up at 18:45"),
        ("top-up did not arrive", "top up did not arrive"),
        ("ＷＨＥＲＥ is my parcel", "where is my parcel"),
        ("wo ist mein Paket in Köln", "Wo ist mein Paket in Ko\u0308ln"),
        ("where is my par\u00adcel", "where is my parcel"),
        ("明天早上七点叫我起床", "明天早上七点叫我起床。"),
        ("пожалуйста где моя посылка сегодня", "где моя посылка сегодня"),
        ("play jazz", "Play  jazz!"),
        ("one two three four five six seven eight nine ten", "one two three four five six seven eight nine zero"),
        ("", " "),
        ("?!", "?!"),
        ("\ud800 is a lone surrogate", "\ud800 is a lone surrogate!"),
    ],
)
def test_copies_are_found(one: str, other: str) -> None:
    assert are_copies(one, other) and are_copies(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("play jazz", "play rock"),
        ("play jazz", "play jazz now"),
        ("play", "plays"),
        ("room 101", "room 102"),
        ("7", "8"),
        ("turn on the lights", "turn off the lights"),
        ("turn on the lights in the kitchen", "turn off the lights in the kitchen"),
        ("increase the volume", "decrease the volume"),
        ("I am coming home for dinner", "I am not coming home for dinner"),
        ("where is my parcel", "where is my order"),
        ("打开客厅的灯", "关闭客厅的灯"),
        ("👍", "👎"),
        ("?!", "!!"),
        ("", "a"),
    ],
)
def test_others_are_not(one: str, other: str) -> None:
    assert not are_copies(one, other) and not are_copies(other, one)


def test_a_word_of_other_texts_is_not_a_typo() -> None:
    pair = "why was I charged twice", "why was I changed twice"
    assert are_copies(*pair)
    assert not are_copies(*pair, "my charged card", "they changed it")


def test_groups_are_numbered_by_their_first_text() -> None:
    texts = [
        "play rock",
        "where is my parcel",
        "play jazz",
        "Where is my parcel?",
        "PLAY ROCK",
        "hi where is my parcel",
    ]
    groups = find_copies(texts)
    assert groups.dtype == np.int64 and groups.tolist() == [0, 1, 2, 1, 0, 1]
    assert count_copies(groups) == {"texts": 3, "groups": 2}
    found = copy_groups(texts, "aabbac", groups)
    assert [(group.rows, group.text, group.labels) for group in found] == [
        ((0, 4), "play rock", ("a",)),
        ((1, 3, 5), "where is my parcel", ("a", "b", "c")),
    ]
    assert find_copies([]).tolist() == [] and count_copies(find_copies([])) == {"texts": 0, "groups": 0}


@pytest.mark.parametrize(
    ("small", "large"),
    [("order the lamp for 100 EUR", "order the lamp for 1000 EUR"), ("★★★★☆ what a fine lamp this is to read by at night and in the morning", "★☆☆☆☆ what a fine lamp this is to read by at night and in the morning"),
     ("ring house number 5 on Main Street", "ring house number 5b on Main Street"),
     ("the coffee in this place ** was", "the coffee in this place ***** was"), ("the coffee was what I hoped :) really", "the coffee was what I hoped :( really"),
     ("it is -5 degrees out here now", "it is 5 degrees out here now"), ("our team won this game 3:0", "our team won this game 0:3"),
     ("the price of it is 1,000 euros", "the price of it is 1.000 euros"), ("we go to 🇩🇪 on our next journey", "we go to 🇫🇷 on our next journey")],
)  # fmt: skip
def test_numbers_and_symbols_are_a_reason_for_another_label(small: str, large: str) -> None:
    texts = [small, large, f"{small}!", large.upper(), f"hello {large}"]
    groups = np.zeros(5, np.int64)
    assert [group.labels for group in copy_groups(texts, "slsll", groups)] == [("s",), ("l",)]
    assert [group.labels for group in copy_groups(texts, "slsls", groups)] == [("s",), ("l", "s")]
    assert [group.rows for group in copy_groups(texts, "sssss", groups)] == [(0, 1, 2, 3, 4)], (
        "numbers count as one where labels are one"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [("मेरा पार्सल कहाँ है", "मेरा पार्सल कहाँ है?"), ("मेरा पार्सल कहाँ है।", "मेरा पार्सल कहाँ है"), ("أين طردي؟", "أين طردي"),
     ("where is it。", "WHERE is it"), ("I can't top-up", "i can't  top-up!"), ("“good” coffee", "good coffee")],
)  # fmt: skip
def test_what_ends_a_word_tells_nothing_in_any_script(one: str, other: str) -> None:
    assert as_written([one]) == as_written([other]) and telling([one, other]) == [(), ()]


@given(
    st.lists(st.text(max_size=4) | st.sampled_from(["", " ", "?!", "\0", "\u200b", "\ud800"]), min_size=2, max_size=8)
)
def test_texts_of_any_characters_may_be_copies_with_several_labels(texts: list[str]) -> None:
    copied = [*texts, *texts]
    labels = ["a"] * len(texts) + ["b"] * len(texts)
    found = copy_groups(copied, labels, find_copies(copied))
    assert {copied[row] for group in found for row in group.rows} == set(texts)
    assert all(group.labels == ("a", "b") for group in found)


@pytest.mark.parametrize("times", [1, 2, 8])
def test_copies_count_once(times: int) -> None:
    assert count_independent(np.repeat(np.arange(30), times)) == pytest.approx(30)


def rewritten(text: str, draw: random.Random) -> str:
    """The text with a letter mistyped, or a greeting, or in capitals, with other signs at its end."""
    way = draw.choice(("greeting", "typo", "case"))
    if way == "greeting":
        return f"hello {text}"
    if way == "case":
        return text.upper() + draw.choice("!.?")
    places = [place for place, letter in enumerate(text) if letter in string.ascii_lowercase]
    place = draw.choice(places or [0])
    return text[:place] + draw.choice("qxzjk") + text[place + 1 :]


def test_nearly_all_rewritten_texts_are_found_among_many_and_few_others_are() -> None:
    draw = random.Random(0)
    rows = zip(read_dataset(starter_file("train")).texts, read_dataset(starter_file("train")).labels, strict=True)
    texts = [text for text, _ in rows if len(text.split()) >= 6 and text.isascii()][:1500]
    copies = [rewritten(text, draw) for text in texts]
    groups = find_copies([*texts, *copies])
    found = np.mean(groups[: len(texts)] == groups[len(texts) :])
    assert found >= 0.9
    assert len(set(find_copies(texts).tolist())) >= 0.97 * len(texts)


@given(st.lists(st.tuples(st.integers(0, 8), st.sampled_from("abc")), min_size=1, max_size=40))
def test_groups_are_divided_only_where_a_label_has_no_other(rows: list[tuple[int, str]]) -> None:
    numbers = {number: place for place, number in enumerate(dict.fromkeys(number for number, _ in rows))}
    groups, strata = np.array([numbers[number] for number, _ in rows]), [label for _, label in rows]
    units, of_units = undivided(groups, strata)
    assert sorted(row for unit in units for row in unit) == list(range(len(rows)))
    assert len(units) == len(of_units)
    spread = {label: {number for number, other in rows if other == label} for label in strata}
    for group in set(groups.tolist()):
        members = [row for row in range(len(rows)) if groups[row] == group]
        is_single = any(len(spread[strata[row]]) == 1 for row in members)
        assert is_single or members in units
    for unit, label in zip(units, of_units, strict=True):
        assert len({groups[row] for row in unit}) == 1 and label in {strata[row] for row in unit}
    for label in set(strata):
        assert strata.count(label) == 1 or sum(label in {strata[row] for row in unit} for unit in units) >= 2


def test_a_split_keeps_copies_on_one_side() -> None:
    texts = [
        f"{ending}{word} {word} {word}{sign}"
        for word in map(str, [*string.ascii_letters])
        for ending, sign in (("", ""), ("", "!"))
    ]
    data = Dataset(tuple(texts), ("a", "b") * (len(texts) // 2))
    training, validation = data.split(0.2, 0)
    kept = {text.rstrip("!").casefold() for text in training.texts}
    assert len(validation) >= 10 and not kept & {text.rstrip("!").casefold() for text in validation.texts}


def test_long_texts_that_share_half_of_their_words_take_no_long_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each odd word compared with each one would be millions of comparisons for every pair of documents."""
    draw, compared = random.Random(0), []
    words = ["".join(draw.choices("abcdefghij", k=8)) for _ in range(3000)]
    texts = [
        " ".join(word if draw.random() < 0.7 else "".join(draw.choices("klmnopq", k=8)) for word in words)
        for _ in range(4)
    ]
    is_mistyped = copies._is_mistyped
    monkeypatch.setattr(copies, "_is_mistyped", lambda *args: compared.append(args) or is_mistyped(*args))
    assert find_copies(texts).tolist() == [0, 1, 2, 3]
    assert len(compared) < 100_000
