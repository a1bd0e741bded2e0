"""Rule 0 of the contract: what is left of a text, rule by rule, and whatever the text is."""

import itertools
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retvec_lite import condensing
from retvec_lite.condensing import MOST_MARKS, condense
from retvec_lite.contract import BLANK
from retvec_lite.kinds import MARKS, SIGNS
from retvec_lite.normal_form import IGNORED, ranges_hold

HINDI = "मेरा पार्सल कहाँ है? धन्यवाद"
REAL = (
    "Where is my parcel? It should have arrived on 24/12, at 5:30 p.m. (I paid $12.50!)",
    "Où est mon colis\u202f? C’était prévu à l’été.",
    HINDI,
    "พัสดุของฉันอยู่ที่ไหน ขอบคุณมากครับ",
    "ကျွန်ုပ်၏ပါဆယ်ဘယ်မှာလဲ",
    "កញ្ចប់របស់ខ្ញុំនៅឯណា",
    "أين طردي؟ كان يجب أن يصل أمس، وبالإستقلاليتهم",
    "איפה החבילה שלי? שָׁלוֹם",
    "荷物はどこですか？カタカナ、ー々〆もある。ば",
    "내 소포는 어디에 있나요? 안녕하세요",
    "if (a < b && c > d) { x = 100 % 7; } /* 5 * 3 */",
    "I <3 you, R&D is 50% of it; a_b_c@example.org, C:\\users and [sic]",
)

CASES = {
    "padding behind": ("hi" + 1000 * ".", "hi."),
    "padding in front, with blanks": (500 * " !" + "hi", "! hi"),
    "an emoticon behind signs": ("thanks!!!!! :-) 😀😀", "thanks! :-) 😀😀"),
    "sequences of a pair": ("hi " + 60 * ".-", "hi ."),
    "three signs stay, two of a kind": ("wow!!! :-) ?!?", "wow!! :-) ?!?"),
    "digits and letters": ("soooo 50000000", "soo 5000"[:7]),
    "long numbers": ("call " + "8347" * 5 + " now", "call now"),
    "sixteen digits": ("card 1234567890123456", "card 1234567890123456"),
    "blanks": (" \t a" + 300 * " " + "b \n", "a b"),
    "invisible": ("f\u200br" + 400 * "\u2060" + "ee\ufe0f", "free"),
    "tags inside a word": ("fr<b>e</b>e", "free"),
    "tags between words": ("free<br/>money<p class='x'>now</p>", "free money now"),
    "what is no tag": ("a<b and c>d <me@x.org>", "a<b and c>d <me@x.org>"),
    "a comment": ("fr<!-- x -->ee", "free"),
    "entities": ("a&nbsp;b &amp;&#102;&#x72;", "a\xa0b &fr"),
    "what is no entity": ("R&D; &nosuch; &#0;", "R&D; &nosuch; &#0;"),
    "entities are decoded once": ("&amp;lt;", "&lt;"),
    "percent-encoding": ("caf%C3%A9%20100%", "café 100%"),
    "wrong percent-encoding": ("%C3%28 %ED%A0%80", "%C3( %ED%A0%80"),
    "escapes": ("\\u0066ree \\uD83D\\uDE00 \\uD83D", "free 😀 \\uD83D"),
    "emphasis": ("**free** *mo*ney __now__, (`x1`)", "free mo*ney now, (x1)"),
    "emphasis that was taken back": ("to *\b_\bwin_", "to win_"),
    "what is no emphasis": ("fr** 2 * 3 * 4 snake_case_name", "fr** 2 * 3 * 4 snake_case_name"),
    "links": ("[click](https://x.org/a) ![pic](y.png) [sic]", "click !pic [sic]"),
    "foreign marks": ("p\u0591a\u05b0y\u0e31p\u093fal", "paypal"),
    "marks beyond reason": ("e" + 20 * "\u0301", "é"),
    "own marks": ("क" + 9 * "\u093f\u0902", "क" + "\u093f\u0902\u093f\u0902\u093f"),
    "spread words": ("f - r - e - e m - o - n - e - y", "free money"),
    "spread by two blanks": ("f  r  e  e    m  o  n  e  y", "free money"),
    "spread by a sign": ("f.r.e.e m.o.n.e.y, now", "free money, now"),
    "spread regional indicators": ("🇫 🇷 🇪 🇪   🇮 🇹! 🇫🇷 🇩🇪 🇮🇹 🇪🇸 🇵🇹", "FREE IT! 🇫🇷 🇩🇪 🇮🇹 🇪🇸 🇵🇹"),
    "one flag in parts": ("🇫 🇷 🇪", "🇫 🇷 🇪"),
    "three letters are not spread": ("U.S.A. and I, a man", "U.S.A. and I, a man"),
    "numbers are not spread": ("1 2 3 4 5", "1 2 3 4 5"),
    "nothing": (" \u200b\t<b></b>", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_each_rule(name: str) -> None:
    given, wanted = CASES[name]
    assert condense(given, 512) == wanted


@pytest.mark.parametrize("text", REAL)
def test_what_people_write_stays(text: str) -> None:
    assert condense(text, 512) == text


def test_what_is_read_is_composed() -> None:
    assert condense(unicodedata.normalize("NFD", "người được 안녕"), 512) == "người được 안녕"
    assert condense("e&#769;", 512) == "é"


def test_the_limit_counts_what_is_left() -> None:
    padded = "".join(f"{300 * ' '}{200 * '<b>'}word{chr(97 + number % 26)}" for number in range(400))
    assert condense(padded, 79).startswith(" ".join(f"word{letter}" for letter in "abcdefghi"))


def test_a_surrogate_is_a_replacement_character() -> None:
    assert condense("a\ud800b", 512) == "a\ufffdb"


def test_marks_and_signs_are_those_of_unicode() -> None:
    """This Python's Unicode may be older than the tables, but not contradict them."""
    for code in range(0x80, 0x20000):
        category = unicodedata.category(chr(code))
        if category == "Cn":
            continue
        is_mark = category in ("Mn", "Mc", "Me") and not ranges_hold(IGNORED, code)
        assert ranges_hold(MARKS, code) == is_mark, hex(code)
        if ranges_hold(SIGNS, code):
            assert category[0] in "PSCN" or is_mark or code == 0x2E2F, hex(code)


PIECES = st.sampled_from(
    [*" \t\n\u3000\0", *".-!*_~`/<>&%\\[]()#;=\"'", *"abeiEI0179éжक哈か한", *"\u0301\u0316\u05b0\u093f\u0e31\u200b\u00ad\ufe0f\U000e0041\ud800",
    "<b>", "</b>", "<br>", *"\b\x7f\u202a\u202b\u202c\u202d\u202e\u202e\u2066\u2069", "&#8;", "🇫 🇷 🇪 🇪",  "<a href=x>", "<!--x-->", "&amp;", "&#102;", "&#x301;", "%20", "%C3%A9", "%F0%9F%98%80", "\\u0041",
    "\\uD83D\\uDE00", "**", "__", "```", "](x)", "[y](", "😀", "🇩🇪", 17 * "3", 9 * "x", 30 * " ", 12 * ".", "a b c d ", "a.b.c.d"]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.characters(), max_size=60).map("".join)


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.integers(1, 80))
def test_whatever_the_text_is(text: str, limit: int) -> None:
    found = condense(text, limit)
    assert len(found) <= limit
    assert found == found.strip(BLANK)
    assert not any(ranges_hold(IGNORED, ord(char)) for char in found)
    assert not any(first in BLANK and second in BLANK for first, second in itertools.pairwise(found))
    shown = condensing._shown(text)
    assert not any(shown[at : at + 3] == 3 * char for at, char in enumerate(shown) if char not in BLANK)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(1, 60))
def test_a_long_text_is_read_in_parts_as_it_is_at_once(text: str, limit: int) -> None:
    long = 40 * text
    assert condense(long, limit) == condensing._joined_gaps(condensing._shown(long)[:limit])


def test_most_marks_of_a_letter() -> None:
    assert condense("क" + "\u093f\u0902" * 40, 512) == "क" + ("\u093f\u0902" * 40)[:MOST_MARKS]
