"""Golden texts: what every artifact is run on.

The texts are chosen for where implementations differ: every bit at every character position, odd code points, each kind of
separator, scripts without spaces, words and texts that are too long. They depend only on the encoder's config.
"""

import functools
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from retvec_lite import contract
from retvec_lite.contract import INVISIBLE, MAX_CODE_POINT, SEPARATORS, UNSPACED, EncoderConfig
from retvec_lite.converters.parity.oracle import Sample
from retvec_lite.letters import compatibility_forms, faint_lookalikes, lookalikes
from retvec_lite.normal_form import IGNORED, OTHER_SCRIPTS, REGIONAL, alphabets
from retvec_lite.windows import cut_windows, read_limit, read_text

Item = TypeVar("Item")

BIT_TEXTS: Final = "bits:"
"""Prefix of the names of texts whose words set bits that no real text sets together."""

_GREEK: Final = 9
"""The place of Greek letters in the list below."""
_BY_HIGHEST_BIT: Final[tuple[tuple[int, ...], ...]] = (
    (0x1,),
    (0x2, 0x3),
    (0x4, 0x6, 0x5),
    (0xE, 0x8, 0xF),
    (0x1B, 0x10, 0x1F),
    (0x21, 0x35, 0x2D, 0x3F, 0x30),
    tuple(map(ord, "bTazQ")),
    tuple(map(ord, "éßÑçö")),
    tuple(map(ord, "ďłžŏƀ")),
    tuple(map(ord, "αωΩșə")),
    tuple(map(ord, "жЯשعյ")),
    tuple(map(ord, "हिकதഴ")),
    tuple(map(ord, "გლቀệᏀ")),
    tuple(map(ord, "→∑€♥☃")),
    tuple(map(ord, "䷀䷁䷂䷿䷊")),
    tuple(map(ord, "한국ꀀ힣ﬁ")),
    tuple(map(ord, "😀🚀𐍈𝔸🇫")),
    (0x20000, 0x2A6D6, 0x30000),
    (0x40000, 0x4ABCD, 0x55555),
    (0x80000, 0x8F00D, 0x9AAAA),
    (0x100000, 0x10FFFD, 0x10FFFF),
)
"""Code points by their highest set bit. As rows of a matrix they are triangular, which tells all 21 weights of a position apart.
They belong to scripts with spaces, so that a word can fill a slot (U+4DC0 lies among Han but is a symbol). Bit 17 has no such
code point: its planes are all Han."""

_BIT_17_IN_WORDS: Final = (0x60000, 0x7ABCD, 0x65555)
"""Bit 17 at every position, with bit 18 beside it."""

_EVEN: Final = (0x62, 0x3A4, 0x1F680)
"""Code points whose last bit is 0."""

_TEXTS: Final[Mapping[str, str]] = {
    "empty": "",
    "only spaces": " " * 40,
    "one letter": "a",
    "plain English": "Where is my parcel? It should have arrived yesterday.",
    "upper case": "WHERE IS MY PARCEL? IT SHOULD HAVE ARRIVED YESTERDAY.",
    "upper case of every script that n-grams fold": "ÀÖØÞĀĮİĶĹŽŸƏƠƯǍȞ ΆΉΌΏΑΩΫ ЀАЯѠҊӁӐԮ ԱՖ ᲐᲺᲿ ḀẔẠỾ ẞǄⰀႠＡ𐐀",
    "typos": "Wehre is my parcle? It shuold have arived yestreday.",
    "leet": "Wh3r3 15 my p4rc31? FR33 M0N3Y!!! cl1ck h3re",
    "homoglyphs": "Wһеrе іѕ mу раrсеl? Fгее mопеу ⅽⅼіⅽk ｈｅｒｅ",
    "combining marks": "Wh\u0315e\u0301r\u0323e\u0300 is my p\u0334a\u0336r\u0337c\u0338e\u0302l e\u0301 \u00e9",
    "zalgo": "h\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030d\u030e\u030f\u0310i",
    "digits": "0123456789 ٠١٢٣٤٥٦٧٨٩ ०१२३४५६७८९ ０１２３ ½ Ⅷ 1,234.56 +49-170/1234567",
    "url": "see https://www.example.com/a/very/long/path?query=string&other=1#fragment or mail first.last@example.org",
    "punctuation": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ «» “” ‘’ … – — ¿¡ ・ 。、",
    "new lines and tabs": "first\nsecond\r\nthird\tfourth\x0bfifth\x0csixth",
    "German": "Donaudampfschifffahrtsgesellschaft überprüft Straßenverkehrsordnung",
    "French": "Où est mon colis\u202f? C’était prévu à l’été.",
    "Russian": "Где моя посылка? Достопримечательности превосходительства",
    "Greek": "Πού είναι το δέμα μου; Ηλεκτροεγκεφαλογράφημα",
    "Turkish": "İstanbul'dan ılık IŞIK Çekoslovakyalılaştıramadıklarımızdan",
    "Vietnamese": "Đơn hàng của tôi ở đâu rồi?",
    "Hindi": "मेरा पार्सल कहाँ है? धन्यवाद",
    "Korean": "내 소포는 어디에 있나요? 안녕하세요",
    "decomposed": unicodedata.normalize("NFD", "người được 안녕하세요 café"),
    "Georgian and Amharic": "სად არის ჩემი ამანათი? ጥቅሌ የት ነው?",
    "Arabic": "أين طردي؟ كان يجب أن يصل أمس، وبالإستقلاليتهم",
    "Hebrew": "איפה החבילה שלי? שָׁלוֹם",
    "right to left with controls": "\u202bأين\u202c \u2067שלום\u2069 \u200eabc\u200f \u202edef\u202c",
    "Chinese": "我的包裹在哪里？昨天就应该到了。",
    "Chinese, one character": "好",
    "Japanese": "荷物はどこですか？カタカナとﾊﾝｶｸ、ー々〆もある。",
    "marks of Han and kana": "〇々〆〡〸〻 〼〱〳〴〵ゝゞヽヾヿ・ㇰ゙゚ 漢々ゝヽー",
    "Thai": "พัสดุของฉันอยู่ที่ไหน ขอบคุณมากครับ",
    "Lao": "ພັດສະດຸຂອງຂ້ອຍຢູ່ໃສ",
    "Khmer": "កញ្ចប់របស់ខ្ញុំនៅឯណា",
    "Myanmar": "ကျွန်ုပ်၏ပါဆယ်ဘယ်မှာလဲ",
    "unspaced scripts mixed with Latin": "iPhone手机15Pro很好 ไทยThaiไทย漢字かなคำlaoລາວ khmerខ្មែរ中mမြန်မာ9",
    "Han beyond the BMP": "𠀀𠮷𪛖a𰀀𱍊 𠮷野家",
    "emoji": "👍 great 😀😀😀 thanks🙏🏽 ❤️‍🔥",
    "emoji joined by ZWJ": "👩‍👩‍👧‍👦 👨🏿‍🚒 🏳️‍🌈x🧑‍💻 👩‍❤️‍💋‍👨",
    "flags and keycaps": "🇩🇪🇫🇷 🇯🇵 🏴󠁧󠁢󠁳󠁣󠁴󠁿 1️⃣ #️⃣",
    "highest code point": "a\U0010ffff \U0010ffff\U0010ffffb",
    "replacement character": "a\ufffdb \ufffd \ufffe\uffff",
    "every separator alone": "".join(map(chr, SEPARATORS)),
    "near separators": "a\x08b\x0ec\x1cd\x1fe\x84f\x86g\u180eh\u200bi\u2060j\ufeffk\u115fl\u3164m\u2800n",
    "invisible characters alone": "".join(map(chr, INVISIBLE)) + " " + "".join(map(chr, INVISIBLE)),
    "invisible characters between Han": "我\u200b的\u2060包\ufeff裹",
    "NUL inside": "before\0after\0\0end",
    "10,000 characters": ("The quick brown fox jumps over the lazy dog. " * 223)[:10_000],
    "10,000 characters, one word": "abcdefghij" * 1_000,
}

_NORMAL_TEXTS: Final[Mapping[str, str]] = {
    "ignored code points, marks that decorate": "fr\u034fee mo\ufe0fn\u3164ey \U000e0041c\u115fl\u17b4i\u206ack\u180b \ufff0he\uffa0r\U0001bca0e "
    "f\u0336r\u0332e\u20dde\u0338 \u0489m\u0301\u0302y 1\ufe0f\u20e3 e\u0301",
    "forms of letters": "Ｆｒｅｅ　𝐦𝑜𝓃𝔢𝕪 𝖼𝗅𝘪𝙘𝚔 ①２³！ ⒻⓡⒺⓔ 🅜🄾🅽🄴🅈 ⒞⒧⒤⒞⒦ 🄐🄓 ꜰʀᴇᴇ ᴍᴏɴᴇʏ ᶜˡⁱᶜᵏ ₕₑᵣₑ ℎºª ﺍﻟﺴﻼﻡ ﭘﺎﮐ ｱｲｳﾊﾞﾝ",
    "lookalikes in a Latin text": "Frее mоnеу wіthουt Ꮢisk fοr уоu, ꓖo send сору to а сосо now",
    "letters that look like none, or like one with a stroke": "ЖuҌ thiцgs ыoᲀ kдοw, ҫoҏҷ ⱥ ᵽlaᶆ Ἀll ἐs ok, שgo العgo 漢дa д",
    "lookalikes in a Cyrillic text": "проверь copy а сосо вiн незабаром повернеться",
    "lookalikes in a Greek text": "κάνε mute την ώρα",
    "letters set apart": "f.r.e.e f-r-e-e w i n a a.b.c _p_a_y_ 1.2.3.4 x+y+z+w f.r-e.e a b.c d a.b.c d.e.f (f/r/e/e) f\u200b.r.\u034fe.\u0336e",
    "signs that change, and digits": "f.r-e*e m_o/n~e-y, a-b 1.2-3 g1v3n4w n o w 5 x 0%1%2 u－s＿e－d 1a1b1c1",
    "symbols between letters": "fr🔥ee m⭐o⭐n⭐ey 5⭐5 a🇩🇪b fr\u2800ee m\U0001d159oney a🔥b-c🔥d e😀😀f 漢🔥字",
    "letters repeated": "soooo looool ааа ΑΑΑA 1000 !!! かかか ggg.g.g.g xxx\u200bx Ｆ．ｒ．е．\u0336е ＣＡＡＡＳＨ",
}
"""Texts for the normal form."""

_CONDENSED_TEXTS: Final[Mapping[str, str]] = {
    "padding": "... !!!!!! 😀🎉😀🎉 - - - - - .-.-.-.- now"
    + 30 * " ."
    + 30 * "\u200b"
    + 30 * " "
    + "a" * 9
    + "1" * 9
    + "哈" * 9,
    "blanks and new lines": " \t\n a  b\u3000 \u2003 cd\r\n\r\nef \0\0 gh ",
    "tags": "<p>fr<b>e</b>e</p> x<br/>y <A HREF='?a=1'>link</A> <!-- none --> a<b and c>d <3 <me@x.org> </ b> <x/y=z> <b =>",
    "entities": "a&nbsp;b &amp;&lt;b&gt; &#102;r&#x65;&#X65; &quot;&euro;&hellip; &amp;amp; &bad; &#0; &#xD800; &#1114112; &#769; & &amp e&#769;",
    "percent-encoding": "a%20b%c3%a9%E2%82%AC%F0%9F%98%80 100% 5%C3 %00 %7F%80 %ED%A0%80 %E0%80%80 %F5%80%80%80 %0A%41",
    "escapes": "\\u0041\\u00e9 \\uD83D\\uDE00 \\uD83D \\uDE00 \\u12 \\\\u0042 \\u200b\\u0301",
    "emphasis": '**bold** *its* __all__ _be_ ~~so~~ `cd` ```do``` f*ck fr** 12*34 (*xy*). **ab* *cd** "_qu_" ***all***， ****no**** *open **by *it',
    "links": "[text](https://x.org/a_b) ![alt](y.png) [sic] [a](b c) [a](b(c)) a](b) [x[y](z)",
    "long numbers, repeats, Latin letters in Cyrillic words": "1234567890123456 12345678901234567 1234567890123456٣ 1000 二〇〇〇 AAA xxxiii aaab1 ООО ★★☆ ☆☆ $$$$ "
    "sooooo NOOOOOOOOO x!!!!!!!!!!!!!!! mузыкy нa kyпить",
    "marks of other scripts": "p\u0591a\u05b0y\u0e31p\u0e34a\u093fl क\u0e31ा \u093f ת\u05b0\u064b x\u200d\u05b0 か\u3099 ༀ\u0f71\u0f72 1\u0e31 مُا\u064e\u0654ـ",
    "many marks": "e"
    + 20 * "\u0301"
    + " क"
    + 9 * "\u093f"
    + " a"
    + 12 * "\u0316"
    + "\u0301 "
    + "ת"
    + 4 * "\u05b0\u200b\u05b8",
    "letters taken back": "frx\bee *\bmo_xyz\b\b\b\bney, e\u0301\b\b ק\u05b0\bx\x7f&#8;n\\u0008now \b",
    "letters in reverse": "\u202e!yenom eerf\u202c m\u202d\u2066\u202e\u2066o\u2069\u2066n\u2069\u202c\u2069\u202cey &#8238;won\\u202c \u202eקרא\u05b0, éti\u2067ab\u2069\ncd",
    "directions in directions": "\u202ea\u202bxy\u202c\u202azw\u202cb\u202c\u202ed\u202ef\u2067\u202eon\u2069e\u202c\u2069\u202cc क\u202e\u0917\u093fक\u0941\u202c "
    + 63 * "\u202e\u2066"
    + "ba\u202c\u202edc"
    + 66 * "\u2069",
    "regional indicators set apart": "🇫 🇷 🇪 🇪   🇮 🇹! 🇫🇷 🇩🇪 🇮🇹 🇪🇸 🇵🇹",
    "spread words": "f - r - e - e   m . o . n . e . y,  c  a  s  h    n  o  w",
    "spread words of one gap": "f.r.e.e m.o.n.e.y; f r e e, n o w",
    "spread letters and numbers": "1 2 3 4 5 6, a 1 b 2, N.A.S.A. I, a b c1 d é.è-ñ_ü",
    "letters of rare scripts": "ᖴᖇᗴᗴ ᎷᎾᏁᎬᎽ ꓠꓳꓪ, ⲥⲗⲓⲥⲕ 𐌷𐌴𐍂𐌴 𐐻𐐭 𐌐𐌀𐌙!",
    "words of rare scripts": "The word ᎣᏏᏲ means hello, ᐃᓄᒃ ꓡꓲ-ꓢꓴ 𐌸𐌿",
    "real text of a rare script": "𐌰𐍄𐍄𐌰 𐌿𐌽𐍃𐌰𐍂 𐌸𐌿 𐌹𐌽 𐌷𐌹𐌼𐌹𐌽𐌰𐌼",
    "letters for any letter": "Where is mд моnჩზ δюᒥe ʭ aʭb",
    "regional indicators, Braille, upside down": "🇫🇷🇪🇪 🇩🇪 🇼 🇮 🇳 🇳 🇴 🇼 Viva🇮🇹 ⠋⠗⠑⠑ ɥǝʎ ❶⓿🯱🄂 ⠿⠿",
}
"""Texts that apps condense."""

_VALUES: Final[Mapping[str, tuple[int, ...]]] = {
    "unpaired surrogates": (0x61, 0xD800, 0x62, 0x20, 0xDBFF, 0xDC00, 0x20, 0xDFFF, 0xD83D, 0xDE00, 0x63),
    "a separator that composing replaces": (0x61, 0x2000, 0x62),
    "another separator that composing replaces": (0x61, 0x2001, 0x62),
    "negative values": (0x61, -1, 0x62, 0x20, -(2**31), -2, 0x20, -0x61, -0x20, -256, -65536, 0x63),
    "huge values": (
        0x61,
        0x110000,
        0x62,
        0x20,
        2**31 - 1,
        2**30,
        0x20,
        *(2**24 + 0x61, 2**21, 0x1FFFFF, 0x7F000020),
        0x63,
    ),
    "around the surrogates": (0xD7FF, 0x20, 0xE000, 0x20, 0xD800, 0x20, 0xDFFF),
}
"""Inputs that no string gives, but that int32 allows."""


@dataclass(frozen=True)
class GoldenText:
    """One golden text: `codepoints` is the model's input, int32 `[max_chars]`; `text` is None where no string gives it."""

    name: str
    text: str | None
    codepoints: npt.NDArray[np.int32]


def golden_texts(config: EncoderConfig) -> tuple[GoldenText, ...]:
    """Return the golden texts of a config, always the same in the same order, with distinct names."""
    length = config.word_length
    texts = dict(_bit_texts(config)) | dict(_TEXTS) | dict(_character_texts(config))
    texts |= {**_NORMAL_TEXTS, **_CONDENSED_TEXTS}
    for name, size in (("words as long as a slot", length), ("words one longer than a slot", length + 1)):
        texts[name] = " ".join((ascii_lowercase * 3)[start : start + size] for start in range(3))
    slots = config.max_words
    for name, count in (("as many words as slots", slots), ("more words than slots", slots + 3)):
        texts[name] = " ".join(f"{index % 10}" for index in range(count))
    for name, count in (("Chinese, as many pieces as slots", slots), ("Chinese, more pieces than slots", slots + 9)):
        texts[name] = "".join(chr(0x4E00 + 7 * index) for index in range(count))
    # An app reads what is longer in windows, which are texts of their own.
    fits = {name: len(unicodedata.normalize("NFC", text)) <= config.max_chars for name, text in texts.items()}
    texts = {name: text if fits[name] else contract.composed(text, config.max_chars) for name, text in texts.items()}
    texts |= {name: window for window, name in golden_windows(config).items()}
    rows = [_golden(name, text, config) for name, text in texts.items()]
    condensed = {f"{name}, condensed": text for name, text in texts.items() if read_text(text, config) != text}
    rows += [
        GoldenText(name, text, contract.codepoints(read_text(text, config), config.max_chars))
        for name, text in condensed.items()
        if len(read_text(text, config)) <= config.max_chars
    ]
    hostile = tuple(value for index in range(slots + 1) for value in (-(7**index) % 2**32 - 2**31, 0x20))
    for name, values in {**_VALUES, "more hostile words than slots": hostile}.items():
        row = np.zeros(config.max_chars, np.int32)
        row[: len(values)] = values[: config.max_chars]
        rows.append(GoldenText(name, None, row))
    return tuple(rows)


def _golden(name: str, text: str, config: EncoderConfig) -> GoldenText:
    """Return a golden text of the code points of a text, whether or not an app passes them as they are."""
    composed = contract.composed(text, config.max_chars)
    is_read = read_text(text, config) == composed
    return GoldenText(name, text if is_read else None, contract.codepoints(composed, config.max_chars))


def is_reachable(text: GoldenText, config: EncoderConfig) -> bool:
    """Return whether an app that gets a text, or only its code points, passes these code points to the model."""
    if text.text is not None:
        return True
    given = "".join(map(chr, contract.sanitized(np.trim_zeros(text.codepoints, "b").tolist())))
    return read_text(given, config) == given


def long_texts(config: EncoderConfig) -> dict[str, str]:
    """Return name -> text of what apps read in windows; each window is a golden text."""
    size = config.max_chars
    greeting = "Hello there, I hope that you and your family are doing well. "
    return {
        "a request behind a greeting": greeting * (size // len(greeting) + 1) + "Where is my parcel?",
        "three windows": ("see you at noon near the old bridge " * size)[: 2 * size + 9],
        # No separator to end at; two UTF-16 units a character, or two code points before they are composed.
        "one word": "parcel\U00020bb7e\u0301" * (size // 6),
        "blanks at both ends": "\0" + " " * size + "play some jazz" + "\n\u3000" * 9,
        "more than is read": "ab" * (read_limit(config) // 2) + " Where is my parcel?",
        "padding in front": ". " * read_limit(config) + "Where is my parcel?",
    }


def golden_windows(config: EncoderConfig) -> dict[str, str]:
    """Return the windows of the long texts, each once -> their names as golden texts."""
    names: dict[str, str] = {}
    for name, text in long_texts(config).items():
        for number, window in enumerate(cut_windows(text, config), start=1):
            names.setdefault(window, f"{name}, window {number}")
    return names


@functools.lru_cache(maxsize=4)
def edge_sample(config: EncoderConfig) -> Sample:
    """Return texts with every letter of the alphabets, the ends of every other range of the contract, and their neighbours outside.

    A graph keeps the ranges as constants. The golden texts hold characters of all of them, but not every edge: with every edge,
    `golden.json` would grow by a quarter under the default config.
    """
    ranges = [(code, code) for code in (*SEPARATORS, *INVISIBLE)] + [(0xD800, 0xDFFF), (0, MAX_CODE_POINT)]
    ranges += [found for script in UNSPACED.values() for found in script]
    ranges += [REGIONAL, *IGNORED, *alphabets(), *OTHER_SCRIPTS]
    # A graph tells each letter of the alphabets by a byte of its own.
    letters = (code for first, last in alphabets() for code in range(first, last + 1))
    # Rules 2b and 2c may replace these by a letter of their own.
    ranges += [(code, code) for code in (*letters, *{*compatibility_forms(), *lookalikes(), *faint_lookalikes()})]
    edges = sorted({code for low, high in ranges for code in (low - 1, low, high, high + 1)})
    # Three of a kind tell all cutting rules apart; with their neighbours they need at most five slots.
    together = max(1, min(config.max_words // 5, config.max_chars // 6))
    names, rows = [], []
    for start in range(0, len(edges), together):
        part = edges[start : start + together]
        values = [value for code in part for value in (0x61, code, code, code, 0x62, 0x20)]
        row = np.zeros(config.max_chars, np.int32)
        row[: len(values)] = values[: config.max_chars]
        names.append(f"around {', '.join(f'U+{code & 0xFFFFFFFF:04X}' for code in part)}")
        rows.append(row)
    for name, text in (*_mixed_words(config.max_chars), *_kept_lookalikes(config)):
        names.append(name)
        rows.append(contract.codepoints(text, config.max_chars))
    return Sample.of(names, rows, config)


def _kept_lookalikes(config: EncoderConfig) -> Iterator[tuple[str, str]]:
    """Yield texts with every lookalike in a word of another script, where it stays as it is, and of lookalikes alone."""
    like = sorted({*lookalikes(), *faint_lookalikes()})
    # Few in a text: a wrong letter among many words changes too little.
    for name, part in _parts("lookalikes that stay", like, max(1, min(6, config.max_words, config.max_chars // 3))):
        yield name, " ".join(f"ж{chr(code)}" for code in part)
    for name, part in _parts("lookalikes alone", sorted(lookalikes()), min(6, config.max_chars)):
        yield name, "".join(map(chr, part))


def _mixed_words(size: int) -> Iterator[tuple[str, str]]:
    """Yield texts whose only letters are a Latin one and a lookalike behind it, as words of sixteen numbers under rule 2c.

    A graph counts words by what ends them, and keeps the numbers as constants. With a second such word in the text, a
    wrong number would change nothing.
    """
    for number in sorted({sixteenth * size // 16 for sixteenth in range(16)}):
        yield f"a lookalike in word {number}", " " * number + "pа"


def _bit_texts(config: EncoderConfig) -> Iterator[tuple[str, str]]:
    """Yield texts whose words set every bit at every position to 0 and to 1, with as many words in a text as fit."""
    length = min(config.word_length, config.max_chars)
    pools = [*_BY_HIGHEST_BIT, _BIT_17_IN_WORDS, _EVEN]
    pools = [tuple(code for code in pool if code not in compatibility_forms()) for pool in pools]
    pools[_GREEK] = tuple(map(ord, "λφΩψδ"))  # like no Latin letter
    words = [
        "".join(chr(pool[(place + turn) % len(pool)]) for place in range(length)) for turn, pool in enumerate(pools)
    ]
    together = max(1, min(config.max_words, (config.max_chars + 1) // (length + 1)))
    # A Han word needs more than one slot, so it gets a text of its own.
    han = words.pop(17)
    yield f"{BIT_TEXTS} highest bit 17, Han", han
    for number, start in enumerate(range(0, len(words), together), start=1):
        yield f"{BIT_TEXTS} every bit at every position, part {number}", " ".join(words[start : start + together])


def _character_texts(config: EncoderConfig) -> Iterator[tuple[str, str]]:
    """Yield every separator and every invisible character where it matters, in as many texts as needed."""
    separated = [f"w{chr(65 + index)}{chr(code)}" for index, code in enumerate(SEPARATORS)]
    together = max(1, min(config.max_words - 1, (config.max_chars - len("end")) // 3))
    for name, part in _parts("every separator between words", separated, together):
        yield name, "".join(part) + "end"
    hidden = [f"fr{chr(code)}ee{index}" for index, code in enumerate(INVISIBLE)]
    together = max(1, min(config.max_words, (config.max_chars + 1) // (max(map(len, hidden)) + 1)))
    for name, part in _parts("every invisible character inside a word", hidden, together):
        yield name, " ".join(part)


def _parts(name: str, items: Sequence[Item], together: int) -> Iterator[tuple[str, Sequence[Item]]]:
    """Yield the items in groups of `together`, numbered where there is more than one group."""
    for number, start in enumerate(range(0, len(items), together), start=1):
        yield name if together >= len(items) else f"{name}, part {number}", items[start : start + together]
