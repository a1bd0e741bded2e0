"""Which languages the packaged detector tells apart, and what each source of texts calls them.

Labels are BCP 47 tags (RFC 5646). What no short text can tell apart has one label; `MERGED` lists it.
"""

import re
from typing import Final

UNKNOWN: Final = "unknown"
"""The label of texts in no language: numbers, emoji, addresses, code."""

_TATOEBA: Final = (
    "afr:af amh:am ang:ang ara:ar arq:arq arz:arz ast:ast awa:awa aze:az bel:be ben:bn ber:ber bos:bs bre:br "
    "bul:bg cat:ca cbk:cbk ceb:ceb ces:cs cha:ch cmn:zh cor:kw csb:csb cym:cy dan:da deu:de dsb:dsb dtp:dtp ell:el "
    "eng:en epo:eo est:et eus:eu fao:fo fin:fi fra:fr fry:fy gla:gd gle:ga glg:gl gsw:gsw heb:he hin:hi hrv:hr "
    "hsb:hsb hun:hu hye:hy ido:io ile:ie ina:ia ind:id isl:is ita:it jav:jv jpn:ja kab:kab kat:ka kaz:kk khm:km "
    "kor:ko kur:ku kzj:dtp lat:la lfn:lfn lit:lt lvs:lv mal:ml mar:mr max:max mhr:mhr mkd:mk mon:mn nds:nds nld:nl "
    "nno:nn nob:nb nov:nov oci:oc orv:orv pam:pam pes:fa pms:pms pol:pl por:pt ron:ro rus:ru slk:sk slv:sl spa:es "
    "sqi:sq srp:sr swe:sv swg:swg swh:sw tam:ta tat:tt tel:te tgl:fil tha:th tuk:tk tur:tr tzl:tzl uig:ug ukr:uk "
    "urd:ur uzb:uz vie:vi war:war wuu:wuu xho:xh yid:yi yue:yue zsm:ms"
)
TATOEBA: Final = dict(pair.split(":") for pair in _TATOEBA.split())
"""ISO 639-3 code in Tatoeba -> tag; `zh` and `sr` are divided by script, see `tag_of`."""

_OTHERS: Final = (
    "ay bm bo chr co cv dv ee fj fur gn gu ha haw ht ig ilo iu kl kn ky lb lg ln lo mg mi mt my ne nso ny om or os "
    "pa pap ps qu rm rn rw sa sah se sg si sm sn so st su tet tg ti tn to tpi ts vec wo yo zu"
)
OTHERS: Final = tuple(_OTHERS.split())
"""Languages without texts in Tatoeba's part of the data."""

_SPLIT: Final = {"zh": ("zh-Hans", "zh-Hant"), "sr": ("sr-Cyrl", "sr-Latn")}

ROMANIZED: Final = {"el-Latn": "el", "hi-Latn": "hi", "ja-Latn": "ja", "ru-Latn": "ru"}
"""Tag -> the language that people also write in Latin letters."""

LABELS: Final = (
    *sorted({tag for code in TATOEBA.values() for tag in _SPLIT.get(code, (code,))} | {*OTHERS, *ROMANIZED}),
    UNKNOWN,
)
"""All labels, in the order of the packaged file."""

MERGED: Final = {
    "Coastal Kadazan (kzj)": ("dtp", "ISO 639-3 made it a part of Central Dusun in 2016"),
    "Tagalog (tl)": ("fil", "the standard register of one language"),
    "Dari (prs)": ("fa", "one written language"),
    "the Quechuan languages": ("qu", "a macrolanguage, with no more than one text of each"),
    "the Romansh idioms and Rumantsch Grischun": ("rm", "one language"),
    "Urdu in Latin letters": ("hi-Latn", "in chats, the two are one language"),
    "Bosnian, Croatian and Montenegrin in Cyrillic": ("sr-Cyrl", "words alone do not tell them apart"),
    "both scripts of Azerbaijani, Kurdish, Tatar, Turkmen, Uyghur and Uzbek": (
        "az, ku, tt, tk, ug, uz",
        "the script is plain to see",
    ),
}
"""What has no label of its own -> (the label it has, why)."""

_MASSIVE: Final = {"zh-CN": "zh-Hans", "zh-TW": "zh-Hant", "tl-PH": "fil"}

_UDHR: Final = {
    "az": ("az-Latn", "az-Cyrl"),
    "bs": ("bs-Latn",),
    "de": ("de-1996", "de-1901"),
    "el": ("el-monoton",),
    "fa": ("fa", "fa-AF"),
    "fil": ("tl",),
    "ha": ("ha", "ha-NE", "ha-NG"),
    "mn": ("mn-Cyrl",),
    "ms": ("zlm-Latn",),
    "pt": ("pt-BR", "pt-PT"),
    "qu": ("qu", "quy", "quz", "qul", "quh", "qug"),
    "rm": ("rm", "rm-rumgr", "rm-sursilv", "rm-vallader", "rm-puter", "rm-surmiran", "rm-sutsilv"),
    "sq": ("als",),
    "sr-Cyrl": ("sr-Cyrl", "bs-Cyrl"),
    "ta": ("ta", "ta-LK"),
    "tk": ("tk-Latn", "tk-Cyrl"),
    "ug": ("ug-Arab", "ug-Latn"),
    "uz": ("uz-Latn", "uz-Cyrl"),
    "zh-Hans": ("zh",),
}

_SPOKEN: Final = {
    8.0: "en",
    4.0: "es fr de pt it ru zh-Hans ja ar hi",
    2.5: "id tr ko vi nl pl fa uk th bn ur",
    1.5: (
        "ro el cs hu sv zh-Hant he ta te mr da fi nb sk bg hr sr-Cyrl sr-Latn ca lt sl lv et fil ms sw ka hy az kk uz be "
        "mk sq gu kn ml pa my ne si km af is am"
    ),
    0.5: (
        "ang arq arz ast awa ay ber bm bs cbk ch chr co csb dsb dtp ee fj fo fur gsw haw hsb ia ie ilo io iu kab kl kw la lfn max mhr "
        "nds nov nso oc orv pam pap pms rm rn sa se sg sm swg tet to tpi ts tzl vec war wuu yue"
    ),
}
"""How often a word of the languages occurs, next to 1 for all others: by orders of magnitude of speakers on the internet, so that
a word of several languages gets the one that is meant most often."""

WEIGHTS: Final = {tag: weight for weight, tags in _SPOKEN.items() for tag in tags.split()}

_COMMON: Final = (
    "en es fr de pt it ru zh ja ar hi id tr ko vi nl pl fa uk th bn ur ro el cs hu sv he ta te mr da fi nb sk bg hr "
    "ca lt sl lv et fil sw ka hy az kk be mk sq is af"
)
COMMON: Final = tuple(_COMMON.split())
"""The common languages, in which peers are compared: tags without script."""

_CYRILLIC: Final = re.compile("[\u0400-\u04ff]")


def massive_tag(locale: str) -> str:
    """Return the tag of a locale of MASSIVE.

    Example:
        >>> massive_tag("zh-TW"), massive_tag("de-DE")
        ('zh-Hant', 'de')
    """
    return _MASSIVE.get(locale, locale.partition("-")[0])


def udhr_labels(tag: str) -> tuple[str, ...]:
    """Return what the translations of the Declaration of Human Rights in a language are labelled.

    Example:
        >>> udhr_labels("fil"), udhr_labels("fr")
        (('tl',), ('fr',))
    """
    return _UDHR.get(tag, (tag,))


def list_code(tag: str) -> str:
    """Return the code of a language in lists of words, which mostly have two letters.

    Example:
        >>> list_code("zh-Hant"), list_code("nb")
        ('zh', 'nb')
    """
    return tag.partition("-")[0]


def tag_of(code: str, text: str, traditional: frozenset[str], simplified: frozenset[str]) -> str:
    """Return the tag of a text of Tatoeba.

    Args:
        code: its ISO 639-3 code.
        text: the text; its script decides for Serbian and Chinese. Chinese that both scripts write alike is simplified.
        traditional: characters of traditional Chinese only.
        simplified: characters of simplified Chinese only.

    Example:
        >>> tag_of("srp", "Добро јутро", frozenset(), frozenset())
        'sr-Cyrl'
    """
    tag = TATOEBA[code]
    if tag == "sr":
        return "sr-Cyrl" if _CYRILLIC.search(text) else "sr-Latn"
    if tag == "zh":
        marks = sum((char in traditional) - (char in simplified) for char in text)
        return "zh-Hant" if marks > 0 else "zh-Hans"
    return tag
