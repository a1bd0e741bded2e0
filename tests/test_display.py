"""Backspaces and bidirectional overrides: what a person sees is read, and real text of any direction stays as it is."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retvec_lite.condensing import condense
from retvec_lite.display import DIRECTIONS, HELD, displayed
from retvec_lite.kinds import FROM_RIGHT, SIGNS
from retvec_lite.normal_form import ranges_hold

LRE, RLE, PDF, LRO, RLO = "\u202a\u202b\u202c\u202d\u202e"
LRI, RLI, FSI, PDI = "\u2066\u2067\u2068\u2069"

CASES = {
    "a letter taken back": ("frx\bee", "free"),
    "letters taken back as a stack": ("fxyz\b\b\bre\x7fee", "free"),
    "nothing to take back": ("\b\bfree\b\b\b\b\b\b", ""),
    "a letter with its marks": ("क\u093f\u0902\bfree\u05b0\bx", "frex"),
    "a letter behind what is invisible": ("fx\u200b\b\u0301ree", "free"),
    "a backspace in markup": ("fx&#8;ree x\\u0008now", "free now"),
    "all of a text": (f"{RLO}!yenom eerf", "free money!"),
    "a word": (f"free {RLO}yenom{PDF} now", "free money now"),
    "until the end of a line": (f"{RLO}yenom\nnow", "money\nnow"),
    "an override in markup": ("&#8238;yenom&#x202c; \\u202ewon", "money now"),
    "isolates keep their order": (f"{RLO}{LRI}ey{PDI}{LRI}mon{PDI}", "money"),
    "embeddings without anything between are one": (f"{RLO}won {LRE}mo{PDF}{RLE}ney{PDF}", "money now"),
    "overrides in overrides": (f"{RLO}won {LRO}mo{RLO}yen{PDF}{PDF}", "money now"),
    "overrides without anything between are one": (f"{RLO}ye{PDF}{RLO}nom{PDF}", "money"),
    "an isolate ends what is in it": (f"{RLI}{RLO}yen{LRE}om{PDI} now", "omney now"),
    "ends of nothing": (f"{PDI}{PDF}fr{LRI}e{PDF}e{PDI}{PDI} {RLO}won{PDI}", "free now"),
    "deeper than can be": (200 * LRI + RLO + "ab" + PDF + 200 * PDI + RLO + "dc", "abcd"),
    "marks stay behind their letter": (f"{RLO}क\u093fग\u0941", "ग\u0941क\u093f"),
    "letters from right to left": (f"{RLO}שלום, «עולם», !?א", "שלום, «עולם», !?א"),
    "signs before and behind": (f"{RLO}?!yenom (eerf)", ")free( money!?"),
    "both in one override": (f"{RLO}won א eerf", "free א now"),
    "Arabic in an override": (f"{RLO}مجاناً الآن{PDF} now", "مجانا الآن now"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_rule(name: str) -> None:
    written, seen = CASES[name]
    assert condense(written, 512) == seen


def swapped(first: str, second: str) -> str:
    """Return what is displayed as both, the second one written first: the swap of "Bad Characters", section IV.D."""
    return f"{LRO}{LRI}{RLO}{LRI}{second}{PDI}{LRI}{first}{PDI}{PDF}{PDI}{PDF}"


def reordered(text: str, draw: random.Random) -> str:
    """Swap letters beside each other, and what was swapped with what is beside it."""
    parts = list(text)
    for _ in range(draw.randint(1, 8)):
        if len(parts) > 1:
            at = draw.randrange(len(parts) - 1)
            parts[at : at + 2] = [swapped(parts[at], parts[at + 1])]
    return "".join(parts)


def deleted(text: str, draw: random.Random) -> str:
    """Put letters in that are taken back, where backspaces are too."""
    parts = list(text)
    for _ in range(draw.randint(1, 8)):
        at = draw.randint(0, len(parts))
        count = draw.choice((1, 1, 2, 5))
        parts[at:at] = [*(draw.choice("abcXYZ19!*_<&%[") for _ in range(count)), *count * "\b"]
    return "".join(parts)


def turned(text: str, draw: random.Random) -> str:
    """Write words in reverse, each in an override, in an embedding, an isolate or none."""
    around = ((RLO, PDF), (RLI + RLO, PDF + PDI), (LRE + RLO, PDF + PDF), (RLO + "\u200b", "\u200f" + PDF))
    words = []
    for word in text.split(" "):
        begin, end = draw.choice(around)
        words.append(f"{begin}{word[::-1]}{end}" if draw.random() < 0.5 else word)
    return " ".join(words)


@pytest.mark.parametrize("disguise", [reordered, deleted, turned])
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text("abcdefghijklmnopqrstuvwxyzABC019.,'!-éжक日", min_size=1, max_size=9), max_size=9).map(" ".join),
    st.integers(0, 10**9),
)
def test_bad_characters_are_undone(disguise: Callable[[str, random.Random], str], text: str, seed: int) -> None:
    """Reorderings and deletions by their definition, over and in each other, leave the text that a person sees."""
    assert displayed(disguise(text, random.Random(seed)).replace("\u200b", "").replace("\u200f", "")) == text


def test_markup_that_is_taken_back_is_none() -> None:
    draw = random.Random(4)
    for _ in range(300):
        text = "you won a prize, call now"
        assert condense(deleted(text, draw), 512) == text


FROM_RIGHT_TEXTS = (
    "אנחנו נפגשים ב-17:30 (בערב), נכון? כתבתי ל-Dana באתר example.org אתמול.",
    "سأصل في الساعة 5:30 مساء، (إن شاء الله)! رقم الطلب ABC-123 في example.org.",
    "این کتاب را ۱۲ تومان خریدم؛ «خوب» بود. نسخهٔ Windows 11 نیست.",
    'میں نے یہ کتاب 1200 روپے میں خریدی، "بہت اچھی" ہے۔',
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(FROM_RIGHT_TEXTS), st.lists(st.tuples(st.integers(0, 80), st.integers(0, 9)), max_size=6))
def test_what_people_write_with_directions_only_loses_them(text: str, places: list[tuple[int, int]]) -> None:
    """Marks, embeddings and isolates as editors put them around words, numbers and names; never an override of Latin letters."""
    around = (
        (RLE, PDF),
        (LRE, PDF),
        (RLI, PDI),
        (LRI, PDI),
        (FSI, PDI),
        ("\u200f", ""),
        ("\u200e", ""),
        ("\u061c", ""),
        (RLE, ""),
        (RLI, ""),
    )
    words = text.split(" ")
    for place, number in places:
        begin, end = around[number]
        words[place % len(words)] = begin + words[place % len(words)] + end
    assert condense(" ".join(words), 512) == condense("x\b" + " ".join(words), 512) == condense(text, 512) == text


@given(st.text(max_size=60), st.sampled_from([RLE, LRE, LRO, LRI, RLI, FSI]))
def test_nothing_but_an_override_from_right_to_left_turns_a_text(text: str, begins: str) -> None:
    text = "".join(char for char in text if char not in "\b\x7f" + RLO and not "\ud800" <= char <= "\udfff")
    wanted = "".join(char for char in text if not ranges_hold(DIRECTIONS, ord(char)))
    # Only a text with something to take back or to turn is looked at.
    assert displayed(f"a\b{begins}{text}") == wanted


def test_every_letter_from_right_to_left_stays_in_an_override() -> None:
    for first, last in FROM_RIGHT:
        letters = "".join(chr(code) for code in range(first, last + 1) if not ranges_hold(SIGNS, code))
        for start in range(0, len(letters), 100):
            part = letters[start : start + 100]
            assert displayed(RLO + "א" + part) == "א" + part


def test_a_long_text_is_turned_in_parts() -> None:
    """Whoever writes more than is held gets the parts in order, each turned: every word but those at a seam is read."""
    words = [f"w{number}" for number in range(3000)]
    found = displayed(RLO + " ".join(words)[::-1])
    assert len(found) == len(" ".join(words))
    assert len(set(found.split()) & set(words)) > len(words) - len(found) // (HELD // 2) * 2 - 2


def test_of_letters_that_are_held_any_number_is_taken_back() -> None:
    count = HELD // 2
    assert displayed("free" + count * "x" + count * "\b" + " money") == "free money"
