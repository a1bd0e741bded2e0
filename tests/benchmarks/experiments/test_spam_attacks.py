import json
import random
import unicodedata
from pathlib import Path

import confusable_homoglyphs
import pytest

from benchmarks.experiments import spam_attacks
from benchmarks.experiments.spam_attacks import DISGUISES, MIXED, NAMES, disguise

TEXT = "Claim your FREE prize now, it is worth 500 pounds!"
WORDS = ["Claim", "your", "FREE", "prize", "now", "it", "is", "worth", "500", "pounds"]


def disguised(name: str, rate: float = 1.0, seed: int = 0) -> str:
    return disguise(TEXT, name, rate, random.Random(seed))


@pytest.mark.parametrize("name", NAMES)
def test_no_word_disguised_is_the_text_and_the_seed_decides(name: str) -> None:
    assert disguised(name, 0.0) == TEXT
    assert disguised(name) != TEXT
    assert disguised(name, 0.5, 1) == disguised(name, 0.5, 1)


@pytest.mark.parametrize("name", ["zero-width characters", "bidi marks"])
def test_invisible_characters_taken_out_leave_the_text(name: str) -> None:
    visible = "".join(character for character in disguised(name) if unicodedata.category(character) != "Cf")
    assert visible == TEXT


def test_a_reversed_word_is_shown_forwards() -> None:
    assert disguise("free money", "bidi reversal", 1.0, random.Random(0)) == "\u202eeerf\u202c \u202eyenom\u202c"


def test_spaces_dots_and_emoji_are_all_that_is_added() -> None:
    assert disguised("spaced-out letters").replace(" ", "") == TEXT.replace(" ", "")
    letters = [character for character in disguised("dotted letters") if character.isalnum()]
    assert letters == [character for character in TEXT if character.isalnum()]
    without = "".join(character for character in disguised("emoji inside") if unicodedata.category(character) != "So")
    assert without.replace("\u2757", "") == TEXT


def test_the_share_of_words_is_kept() -> None:
    for seed in range(20):
        words = disguised("bidi reversal", 0.5, seed).split()
        assert sum("\u202e" in word for word in words) == 5
    counts = [disguise("one two three", "emoji inside", 0.5, random.Random(seed)).isascii() for seed in range(200)]
    assert not any(counts)  # one word or two, never none


def test_leet_replaces_every_letter_that_has_a_sign() -> None:
    found = disguise("free bits", "LEET", 1.0, random.Random(0))
    assert found[:5] == "fr33 "
    assert not set(found) & set("eabgilost")


def test_homoglyphs_replace_half_of_the_letters_by_others_that_look_the_same() -> None:
    for old, new in zip(WORDS, disguised("homoglyphs").replace(",", "").replace("!", "").split(), strict=True):
        changed = [(one, other) for one, other in zip(old, new, strict=True) if one != other]
        assert len(changed) <= max(1, round(len(old) / 2))
        assert changed or old == "500"
        assert all(one.isascii() and not other.isascii() for one, other in changed)


def test_every_double_is_one_by_unicode() -> None:
    path = Path(confusable_homoglyphs.__file__).parent / "confusables.json"
    confusables = json.loads(path.read_text(encoding="utf-8"))
    for letter, doubles in spam_attacks._HOMOGLYPHS.items():
        # UTS 39 has capital I, its doubles and those of small l in one class, which the packaged table lists under l.
        alike = {
            entry["c"] for key in (letter, "l" if letter in "Il" else letter) for entry in confusables.get(key, [])
        }
        for double in doubles:
            assert double in alike or unicodedata.normalize("NFKC", double) == letter or double == "\u04cf", (
                letter,
                double,
            )


def test_the_mixed_disguise_uses_several() -> None:
    found = " ".join(disguise(TEXT, MIXED, 1.0, random.Random(seed)) for seed in range(10))
    assert "\u202e" in found  # reversal
    assert any(unicodedata.category(character) == "So" for character in found)  # emoji
    assert len(DISGUISES) + 1 == len(NAMES)
