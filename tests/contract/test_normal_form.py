"""The normal form of texts, rule 2 of the contract: by example, and its tables against Unicode's."""

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.contract import SEPARATORS, UNSPACED
from retvec_lite.letters import compatibility_forms, lookalikes
from retvec_lite.normal_form import (
    ALPHABETS,
    IGNORED,
    LATIN,
    NEWER_ALPHABETS,
    OTHER_SCRIPTS,
    alphabets,
    is_latin,
    is_letter,
    is_other_letter,
    normalize,
    ranges_hold,
)

SEPARATING = frozenset((0, *SEPARATORS))


def normal(text: str, letters_only: bool = False) -> str:
    composed = unicodedata.normalize("NFC", text)
    found = normalize([*map(ord, composed)], SEPARATING, list(UNSPACED.values()), letters_only=letters_only)
    return "".join(map(chr, found))


@pytest.mark.parametrize(
    "ignored",
    "\u00ad\u034f\u061c\u115f\u17b4\u180b\u200b\u202e\u2060\u206f\u3164\ufe00\ufe0f\ufeff\uffa0\U000e0041\U000e0100",
)
def test_ignored_code_points_are_dropped(ignored: str) -> None:
    assert normal(f"fr{ignored}ee{ignored} x{ignored}{ignored}") == "free x"
    assert normal(ignored * 3) == ""


def test_marks_that_form_no_letter_are_dropped_and_others_stay() -> None:
    assert normal("f\u0336r\u0332e\u20dde \u0489x 1\ufe0f\u20e3") == "free x 1"
    assert normal("cafe\u0301 a\u0308\u0336 Z\u0351\u0300a\u0300\u0301lgo") == "café ä Zàlgo"
    for word in ("ที่", "हिन्दी", "שָׁלוֹם", "كَتَبَ", "người", "їжак"):
        assert normal(word) == unicodedata.normalize("NFC", word)


@pytest.mark.parametrize(
    "disguised",
    ["Ｈｅｌｌｏ", "𝐇𝐞𝐥𝐥𝐨", "ℋℯ𝓁𝓁ℴ", "𝓗𝓮𝓵𝓵𝓸", "𝔥𝔢𝔩𝔩𝔬", "ℍ𝕖𝕝𝕝𝕠", "𝖧𝖾𝗅𝗅𝗈", "𝙷𝚎𝚕𝚕𝚘", "Ⓗⓔⓛⓛⓞ", "🅷🅴🅻🅻🅾", "🄷🄴🄻🄻🄾", "🅗🅔🅛🅛🅞", "⒣⒠⒧⒧⒪", "ʜᴇʟʟᴏ", "ᴴᵉˡˡᵒ", "ₕₑₗₗₒ"],
)  # fmt: skip
def test_forms_become_their_letters(disguised: str) -> None:
    assert normal(disguised).lower() == "hello"


def test_other_forms_and_what_stays() -> None:
    assert normal("①２³𝟜 ５：３０！") == "1234 5:30!"
    assert normal("ｱｲｳ ﺍﻟﺴﻼﻡ") == "アイウ الس\ufefcم"
    for text in ("ﬁ № ™ ½ …", "🇩🇪 👍🏽 😀", "ıŞğ ßøđłəɛɔ", "ㅋㅋ ㄱ", "⼀ ㊀"):
        assert normal(text) == text


@pytest.mark.parametrize(
    ("disguised", "read"),
    [
        ("Frее mоnеу", "Free money"),
        ("Fгее мопеу тодау", "Free money тодау"),
        ("send сору to me", "send copy to me"),
        ("wіn саѕһ аѕ а gіft", "win cash as a gift"),
        ("αccοunτ βalαnce", "account balance"),
        ("Ꮢefund ցet ꓖo ⲟk", "Refund get Go ok"),
        ("Ｆгее", "Free"),
        ("ҫоҏӱ ἀll ⱥ ᵽlⱥⱪ", "copy all a plak"),
        ("Ѝow ҭҳіs ɓɗ", "Now txis ɓɗ"),
        ("mюпeჯ сosо", "m\u02adne\u02ad coso"),
        ("Ыait д for me", "\u02adait д for me"),
    ],
)
def test_lookalikes_in_latin_texts(disguised: str, read: str) -> None:
    assert normal(disguised) == read


@pytest.mark.parametrize(
    "text",
    [
        "сосо а он",
        "Проверь почту в Gmail",
        "проверь gmail",
        "IT-отдел и USB-порт",
        "вiн незабаром повернеться",
        "Πού είναι το δέμα μου;",
        "κάνε mute την ώρα",
        "Въпроси за сметката",
        "Где моја пошиљка?",
        "Որտե՞ղ է իմ ծանրոցը",
        "სად არის ჩემი ამანათი",
        "ᎣᏏᏲ ᏙᎯᏧ",
        "我的 а 包裹",
        "הGoogle шלiPhone",
        "iPhoneを買う 漢дa",
    ],
)
def test_texts_of_other_scripts_stay(text: str) -> None:
    assert normal(text) == text


@pytest.mark.parametrize(
    ("spread", "read"),
    [
        ("f.r.e.e", "free"),
        ("f-r-e-e m-o-n-e-y n-o-w i-s", "free money now is"),
        ("f r e e", "free"),
        ("(f_r_e_e)", "(free)"),
        ("h·o·l·a", "hola"),
        ("f\u2009r\xa0e\te", "free"),
        ("f.\u200br\u0336.e.e", "free"),
        ("f.r.е.е now", "free now"),
        ("U.S.A. e.g. a b c", "U.S.A. e.g. a b c"),
        ("f.r-e.e m*o_n/e~y o-k", "free money ok"),
        ("fr%e.e f%r%e%e%e", "fr%e.e freee"),
        ("g1v3n4w m0n3y5x", "g1v3n4w m0n3y5x"),
        ("c a l l 0 8 7 n o w 2", "call087now2"),
        ("fr🔥ee🔥 m⭐o⭐ney 5⭐5 🔥a🔥", "free🔥 money 5⭐5 🔥a🔥"),
        ("fr\u2800ee m\U0001d159oney", "free money"),
        ("a🇩🇪b c😀😀d", "a🇩🇪b c😀😀d"),
        ("1.2.3.4 5-6-7-8", "1.2.3.4 5-6-7-8"),
        ("ab.cd.ef.gh", "ab.cd.ef.gh"),
        ("s-a w.h.a.t s-a", "sa what sa"),
        ("कामाताया مُحُمُدُ", "कामाताया مُحُمُدُ"),
    ],
)
def test_letters_set_apart(spread: str, read: str) -> None:
    assert normal(spread) == read


def test_the_last_of_several_separators_counts() -> None:
    assert normal("a%b%c%d e&f&g&h") == "a%b%c%d efgh"
    assert normal("a b c d  e%f%g%h") == "a b c d  efgh"
    assert normal("a漢b漢c漢d e%f%g%h") == "abcd e%f%g%h"
    assert normal("a漢b漢c漢d e-f-g-h") == "a漢b漢c漢d efgh"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("¡Hola! 😊😊", "Hola"),
        ("see you 17:30, ok?", "see you ok"),
        ("look https://example.com/Path?a=b now", "look now"),
        ("me@example.com says hi to ＠all ＃tag", "says hi to"),
        ("x_y = f(a) + a\\b", "f a"),
        ("早上好https://example.com #谢谢#", "早上好 谢谢"),
        ("नमस्ते। שָׁלוֹם! c’est", "नमस्ते। שָׁלוֹם c est"),
        ("d.a.n.k.e! Ｈｏｌａ！ ½ 3²", "danke Hola"),
        ("Frее mоnеу! 1+1", "Free money"),
    ],
)
def test_letters_only(text: str, read: str) -> None:
    assert " ".join(normal(text, letters_only=True).split()) == read


def test_every_letter_is_in_a_script_and_no_range_holds_ascii_signs() -> None:
    for ranges in (IGNORED, ALPHABETS, NEWER_ALPHABETS, LATIN, OTHER_SCRIPTS):
        assert list(ranges) == sorted(ranges)
        assert all(first <= last for first, last in ranges)
        assert all(before[1] < after[0] for before, after in itertools.pairwise(ranges))
    for code in range(0x2000):
        char = chr(code)
        if ranges_hold(IGNORED, code) or char in "µ϶\u1fbe":
            continue
        if ranges_hold(ALPHABETS, code) and unicodedata.category(char) != "Cn" and code > 0x7F:
            assert unicodedata.category(char)[0] in "LM", hex(code)
        if unicodedata.category(char) in ("Lu", "Ll"):
            known = (*lookalikes(), *compatibility_forms())
            assert is_latin(code) or is_other_letter(code) or code in known
    assert [chr(code) for code in range(128) if is_letter(code) != chr(code).isalpha()] == []
    assert all(ranges_hold(OTHER_SCRIPTS + ALPHABETS, code) for span in alphabets() for code in span if code < 0xA000)


@given(st.text(st.characters(codec="utf-8")))
def test_separators_become_spaces_and_text_never_grows(text: str) -> None:
    found = normal(text)
    assert len(found) <= len(unicodedata.normalize("NFC", text))
    assert not SEPARATING & set(map(ord, found)) - {0x20}
