"""Rule 0 of the contract: what is left of a text, rule by rule, and whatever the text is."""

import itertools
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retvec_lite import condensing
from retvec_lite.condensing import MOST_MARKS, condense
from retvec_lite.contract import BLANK
from retvec_lite.kinds import CODE_LETTERS, DIGITS, MARKS, OPTIONAL, SIGNS
from retvec_lite.letters import TWINS
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
    "איפה החבילה שלי? שלום",
    "荷物はどこですか？カタカナ、ー々〆もある。ば",
    "내 소포는 어디에 있나요? 안녕하세요",
    "if (a < b && c > d) { x = 100 % 7; } /* 5 * 3 */",
    "I <3 you, R&D is 50% of it; a_b_c@example.org, C:\\users and [sic]",
)

CASES = {
    "padding behind": ("hi" + 1000 * ".", "hi."),
    "padding in front, with blanks": (500 * " !" + "hi", "! hi"),
    "an emoticon behind signs": ("thanks" + 15 * "!" + " :-) 😀😀", "thanks! :-) 😀😀"),
    "sequences of a pair": ("hi " + 60 * ".-", "hi ."),
    "a rating of ten in brackets": (
        "(★★★★★★★★★☆) Rating:★★★★★☆☆☆☆☆! 'Score:(●●●●○○○○○○)' or [##########]",
        "(★★★★★★★★★☆) Rating:★★★★★☆☆☆☆☆! 'Score:(●●●●○○○○○○)' or [##########]",
    ),
    "fourteen signs in a row": (7 * "★☆" + "a " + 7 * "★☆" + "★", 7 * "★☆" + "a ★"),
    "ten signs in a row, twenty in a gap": (
        "a!!!!!!!!!! ?????????? b... ?!?!?!?!",
        "a!!!!!!!!!! ?????????? b... ?!?!?!?!",
    ),
    "more signs in a gap": ("a!!! ?????????? ........b", "a!!! b"),
    "rows of a gap that is full": ("a.! " + 20 * "? " + "!? b", "a.! b"),
    "a row that ends in a gap that is not": ("a!!!!!!!!!! ????? " + 15 * "." + " b", "a!!!!!!!!!! ????? . b"),
    "amounts": ("100 1000 10000, zip 10005, 1.000.000", "100 1000 10000, zip 10005, 1.000.000"),
    "digits of other scripts": ("١٠٠٠ १००० １０００ 二〇〇〇年 ①⓪⓪⓪ 10⁰⁰⁰", "١٠٠٠ १००० １０００ 二〇〇〇年 ①⓪⓪⓪ 10⁰⁰⁰"),
    "codes": ("AAA AAAA XXXL XVIII B000X 777X ООО ΑΑΑ LR03AAA", "AAA AAAA XXXL XVIII B000X 777X ООО ΑΑΑ LR03AAA"),
    "codes with a digit": (
        "aaabbb123 aabbb123 #ffff00 1zaaaa999aa10123 ٣яяяяя",
        "aaabbb123 aabbb123 #ffff00 1zaaaa999aa10123 ٣яяяяя",
    ),
    "Roman numerals and sizes": (
        "xxiii xxxiii (lxxxviii) xxxxl xxl iiiiiiii",
        "xxiii xxxiii (lxxxviii) xxxxl xxl iiiiiiii",
    ),
    "short words": ("aaa aaaa xxxl iii, viii.www", "aaa aaaa xxxl iii, viii.www"),
    "ratings": ("★☆☆☆☆ ★★★★★ ★ ★ ★ ☆ ☆ x $$ $$$$ €€€ 👍👍👎", "★☆☆☆☆ ★★★★★ ★ ★ ★ ☆ ☆ x $$ $$$$ €€€ 👍👍👎"),
    "drawn out": (
        "soooo NOOOOOOOO Yesss hahaaaaaaaaaa1000 xxxxxxxxx привееет 哈哈哈哈哈哈",
        "soo NOO Yess hahaa1000 xx привеет 哈哈",
    ),
    "drawn out and spread": ("n o o o o o o! No " + 40 * "a ", "noo! No aa"),
    "vowel marks and tatweel": ("السَّلَامُ عَلَيْكُمْ مرحبـــا سؤال آمن ٱلله", "السلام عليكم مرحبا سؤال آمن ٱلله"),
    "hamza behind a vowel mark": ("سُا\u064e\u0654ل ي\u0650\u0654", "سأل ئ"),
    "points of Hebrew and Syriac": ("שָׁלוֹם עֲלֵיכֶם שׁ ܫܠܳܡܳܐ ܫܠܵܡܵܐ", "שלום עליכם ש ܫܠܡܐ ܫܠܡܐ"),
    "vowels of scripts that write them": ("ދިވެހި हिन्दी ที่ བོད", "ދިވެހި हिन्दी ที่ བོད"),
    "Latin letters in words of other scripts": (
        "мyзыкy нa зaвтpa, kyпить ëжика, kαλημέρα xλωρός Oղջույն hայ",
        "музыку на завтра, купить ёжика, καλημέρα χλωρός Օղջույն հայ",
    ),
    "Latin letters that tell Latin words": ("kαι τi ώpα eίναι τώρα, как dела", "και τι ώρα είναι τώρα, как dела"),
    "Latin words among others": ("купил iPhone и SIM для Toyota", "купил iPhone и SIM для Toyota"),
    "words that hide in other letters": ("Fгее mоnеу fοr уоu, Ρlease сall", "Fгее mоnеу fοr уоu, Ρlease сall"),
    "long numbers": ("call " + "8347" * 5 + " now " + 17 * "٣", "call now"),
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
    "emphasis": ("**free**，_a_😀 *mo*ney __now__！ (`x1`) ~~b~~—c", "free，_a_😀 *mo*ney now！ (x1) b—c"),
    "emphasis that was taken back": ("to *\b_\bwin_", "to win_"),
    "emphasis that never closes": ("***Great ~~5 _x `y (**z *free **money*", "***Great ~~5 _x `y (**z free **money"),
    "emphasis that closes late": ("*" + 128 * "xy" + "*", 128 * "xy"),
    "emphasis that closes too late": ("*z" + 128 * "xy" + "*", "*z" + 128 * "xy" + "*"),
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
    *"ААOОoоyуkкмtαa★☆$٣〇一ـ\u064e\u0654ا", "AAA", "ООО", "000", 9 * "X", 15 * "★", 16 * "x", "mузыкy", "<b>", "</b>", "<br>", *"\b\x7f\u202a\u202b\u202c\u202d\u202e\u202e\u2066\u2069", "&#8;", "🇫 🇷 🇪 🇪",  "<a href=x>", "<!--x-->", "&amp;", "&#102;", "&#x301;", "%20", "%C3%A9", "%F0%9F%98%80", "\\u0041",
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
    assert len(condense(text + 20 * text, limit)) <= limit
    for word in condensing._WORD.findall(shown):
        drawn = {char for char in word if 3 * char in word and not ranges_hold(DIGITS, ord(char))}
        assert (
            len(word) <= 4
            or not drawn
            or (len(word) <= 8 and all(ranges_hold(CODE_LETTERS, ord(char)) for char in word))
            or (len(word) <= 16 and any(ranges_hold(DIGITS, ord(char)) for char in word))
        )
    for gap in condensing._GAPS.findall(shown):
        assert sum(char not in BLANK for char in gap) <= 20


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(1, 60))
def test_a_long_text_is_read_in_parts_as_it_is_at_once(text: str, limit: int) -> None:
    long = 40 * text
    assert condense(long, limit) == condensing._joined_gaps(condensing._shown(long)[:limit])


def test_most_marks_of_a_letter() -> None:
    assert condense("क" + "\u093f\u0902" * 40, 512) == "क" + ("\u093f\u0902" * 40)[:MOST_MARKS]


def test_optional_marks_and_digits_are_those_of_unicode() -> None:
    for code in range(0x80, 0x110000):
        category = unicodedata.category(chr(code))
        if category == "Nd":
            assert ranges_hold(DIGITS, code), hex(code)
        if ranges_hold(OPTIONAL, code) and category != "Cn":
            assert unicodedata.bidirectional(chr(code)) in ("NSM", "AL"), hex(code)
            assert unicodedata.name(chr(code)).split()[0] in ("HEBREW", "ARABIC", "SYRIAC"), hex(code)
    assert not any(ranges_hold(OPTIONAL, ord(char)) for char in "آأؤإئ\u0653\u0654\u0655אבג\u05be")
    assert all(
        chr(code).isupper() or chr(code) in "ivxlcdm"
        for first, last in CODE_LETTERS
        for code in range(first, last + 1)
        if chr(code).isalpha()
    )


def test_twins_are_letters_of_the_script_in_the_same_case() -> None:
    for twins in TWINS:
        assert len(twins.latin) == len(set(twins.latin)) == len(set(twins.own)) == len(twins.own) >= twins.alike
        for latin, own in zip(twins.latin, twins.own, strict=True):
            assert unicodedata.name(latin).startswith("LATIN") and twins.first <= ord(own) <= twins.last
            assert latin.isupper() == own.isupper(), (latin, own)


@settings(max_examples=200, deadline=None)
@given(st.text("авгдежзиклмнопрстуфхцчшщыьэюя", min_size=4, max_size=12), st.integers(0, 2**12))
def test_a_word_is_read_in_its_own_letters(word: str, which: int) -> None:
    """Whatever letters of a word are written in Latin, as long as three that look like no Latin letter are left."""
    reads = dict(zip(TWINS[0].own[: TWINS[0].alike], TWINS[0].latin, strict=False))
    mixed = "".join(reads.get(char, char) if which >> at & 1 else char for at, char in enumerate(word))
    word = condense(word, 64)
    if sum(char not in reads for char in word) >= 3:
        assert condense(mixed, 64) == word
