"""Letters that are read as others: forms (rule 2b of the contract) and lookalikes (rule 2c), pinned from Unicode 16 and what spam uses."""

import functools
import unicodedata
from collections.abc import Mapping
from typing import Final, NamedTuple

Pairs = tuple[tuple[str, str], ...]
"""Letters, and what they are read as, one for one."""

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER: Final = "abcdefghijklmnopqrstuvwxyz"
_DIGITS: Final = "0123456789"
_TEENS: Final = " " * 11
COMPATIBILITY: Final[tuple[tuple[int, str], ...]] = (
    (0xAA, "a"),
    (0xB2, "23"),
    (0xB9, "1o"),
    (0x17F, "s"),
    (0x251, "a"),
    (0x261, "g"),
    (0x262, "g"),
    (0x26A, "i"),
    (0x274, "n"),
    (0x280, "r"),
    (0x28F, "y"),
    (0x299, "b"),
    (0x29C, "h"),
    (0x29F, "l"),
    (0x2B0, "h jr   wy"),
    (0x2E1, "lsx"),
    (0x1D00, "a   cd e  jk m o"),
    (0x1D18, "p  tu"),
    (0x1D20, "vwz"),
    (0x1D2C, "A B DE GHIJKLMN O PRTUWa"),
    (0x1D47, "bde   g km o"),
    (0x1D56, "ptu  v"),
    (0x1D62, "iruv"),
    (0x1D6C, "bdfmnprrstz      p  bdfgklmnprs vxza de   i  u"),
    (0x1D9C, "c   f"),
    (0x1DBB, "z"),
    (0x2024, "."),
    (0x2070, "0i  456789"),
    (0x207F, "n0123456789"),
    (0x2090, "aeox hklmnpst"),
    (0x2102, "C"),
    (0x210A, "gHHHh"),
    (0x2110, "IILl N   PQRRR"),
    (0x2124, "Z   Z"),
    (0x212C, "BC eEF Mo    i"),
    (0x2145, "Ddeij"),
    (0x2160, "I   V    X  LCDMi   v    x  lcdm"),
    (0x2460, "123456789" + _TEENS + "123456789" + _TEENS + "123456789" + _TEENS + _LOWER + _UPPER + _LOWER + "0"),
    (0x2C60, "LlLPRatHhKkZz M  vWwv   e o jVSZ"),
    (0xA730, "fs"),
    (0xA740, "KkKkKk  LlOoOo  PpPpPpQqQq    Vv"),
    (0xA78E, "l NnCcchBbFf      GgKkNnRrSsH  L    J     Uu"),
    (0xA7C4, "CSZDdSs"),
    (0xA7F2, "CFQ"),
    (0xAB34, "e  lllmn"),
    (0xAB49, "r    u   u   xxxxy"),
    (0xFB50, "ٱٱٻٻٻٻپپپپڀڀڀڀٺٺٺٺٿٿٿٿٹٹٹٹڤڤڤڤڦڦڦڦڄڄڄڄڃڃڃڃچچچچڇڇڇڇڍڍڌڌڎڎڈڈژژڑڑککککگگگگڳڳڳڳڱڱڱڱںںڻڻڻڻۀۀہہہہھھھھےےۓۓ"),
    (0xFBFC, "یییی"),
    (
        0xFE80,
        "ءآآأأؤؤإإئئئئااببببةةتتتتثثثثججججححححخخخخددذذررززسسسسششششصصصصضضضضططططظظظظععععغغغغففففققققككككللللممممننننههههووىىيييي",
    ),
    (0xFF01, "".join(map(chr, range(0x21, 0x7F)))),
    (
        0xFF65,
        "・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン\u3099\u309a",
    ),
    (0x1D400, 13 * (_UPPER + _LOWER)),
    (0x1D7CE, 5 * _DIGITS),
    (0x1F110, _UPPER),
    (0x1F12B, "CR"),
    (0x1F130, _UPPER),
    (0x1F150, _UPPER),
    (0x1F170, _UPPER),
)
"""Forms of letters and digits that rule 2b replaces one for one: (first, targets of the code points from there on); a space
leaves a code point as it is. Those with a compatibility decomposition to one letter, digit or (fullwidth) sign in Unicode 16,
UnicodeData.txt; Latin in parentheses, squares and negative circles; small capitals; and U+0251 and U+0261, as in print."""

LOOKALIKES: Final[Pairs] = (
    # Cyrillic: the alphabets of Russia, Ukraine, Belarus, Serbia, Macedonia; then rarer letters.
    ("АВЕЁКМНОРСТУХЅІЇЈЬГИП", "ABEEKMHOPCTYXSIIJbrNn"),
    ("авеёкмнорстухѕіїјьгип", "abeekmhopctyxsiijbrnn"),
    ("ҮүҺһӀӏԁԌԛԜԝѡѴѵҽғ", "YyHhIldGqWwwVvef"),
    # Greek, also with accents.
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧΆΈΉΊΌΎͿϜϺ", "ABEZHIKMNOPTYXAEHIOYJFM"),
    ("αβγεηικμνοπρστυχωςάέήίόύώϲϳ", "abyenikuvonpotuxwsaeniouwcj"),
    # Armenian.
    ("ՍՏՕԼագզցհոռսօքյլղ", "USOLwqqghnnuofjln"),
    # Cherokee, upper and lower case.
    ("ᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏃᏒᏔᏕᏙᏚᏞᏟᏢᏦᏳᏴᏂᏏᏧ", "DRTiYAJEWMHYGZRWSVSLCPKGBhbd"),
    ("ꭵꮁꮃꮓꮩꮪꮯ", "irwzvsc"),
    # Coptic.
    ("ⲎⲒⲔⲘⲚⲞⲢⲤⲦⲨⲬⳐⲅⲟⲣⲥ", "HIKMNOPCTYXLropc"),
    # Lisu.
    ("ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "BPdDTGKJCZFMNLSRVHWXYAEIOU"),
    # Canadian syllabics, Tifinagh, Georgian.
    ("ᐯᑌᑭᑯᑲᒍᒪᕼᖇᖯᖴᗅᗞᗪᗰᗷⴸⴹⵔⵕⵝყჿ", "VUPdbJLHRbFADDMBVEOQXyo"),
)
"""Letters of other scripts and the Latin letters that they look like: from the confusables of Unicode Technical Standard 39, and
those that spam uses as well. Whether they become Latin depends on the text, see rule 2c."""


NEWER_FORMS: Final[tuple[tuple[int, str], ...]] = (
    (0x183, "g"),
    (0x18E, "E"),
    (0x1DD, "e"),
    (0x250, "a"),
    (0x25F, "f"),
    (0x265, "h"),
    (0x26F, "m"),
    (0x279, "r"),
    (0x285, "l t"),
    (0x28C, "vwy"),
    (0x29E, "k"),
    (0x1D09, "i"),
    (0x1D77, "g"),
    (0x2132, "F"),
    (0x2141, "GL Y"),
    (0x214E, "f"),
    (0x24F5, "123456789 0"),
    (0x2776, 3 * "123456789 "),
    (0x2801, "a b k l cif msp e h o r djg ntq     u v     x       z    w  y"),
    (0x2C6F, "A"),
    (0xA781, "l"),
    (0x107A5, "q"),
    (0x1CCD6, _UPPER + _DIGITS),
    (0x1F100, "0" + _DIGITS + "00"),
    (0x1F18A, "P"),
    (0x1F1A5, "d"),
    (0x1F1E6, _UPPER),
    (0x1FBF0, _DIGITS),
)
"""More of them: letters upside down, digits in circles and of segments, Braille, outlined and squared
letters, and regional indicators, two of which stay a flag."""

NEWER_LOOKALIKES: Final[Pairs] = (
    # Cyrillic.
    ("Є", "E"),
    # Cherokee, with Ethiopic, in the styles of generators.
    ("ᎤᎦᎧᎮᎴᎶᎾᏁᏆᏇᏉᏋᏌᏖᏗᏝᏠᏬᏰᏵፈጀፚ", "QFOPDGONTWVEUTALJUBGCXZ"),
    # Coptic.
    ("ⲀⲂⲆⲈⲊⲌⲖⲰⳘⳲ", "ABDESZLWUV"),
    # Canadian syllabics.
    ("ᑎᑕᑗᑘᑢᑤᑫᒎᒐᒙᒚᓍᓎᓓᓰᓿᔕᕁᕓᕲᕴᕵᕽᕿᖶᖻᖽᗝᗩᗫᗯᗱᗴᘉᘔᘘᘜᘺᘻᘿᙍᙎᙓᙖᙘᙢᙣ᙭ᐸᐺᐻ", "NCUUCCqJJJJOONIISxVDQPxPTYKOADWZENZBGWMEEWEDBMZXKVV"),
    # Tifinagh, runes, Carian.
    ("ⴰⴼⵊⵎⵏⵙⵛᚷᛁᛕᛖ𐋄𐋅", "oHICloCXlKMXH"),
    # Old Italic and Gothic.
    ("𐌀𐌁𐌂𐌃𐌄𐌅𐌉𐌊𐌋𐌌𐌍𐌏𐌐𐌑𐌒𐌓𐌔𐌕𐌖𐌗𐌙𐌚𐌠𐌢", "ABCDEFIKLMNOPMQRSTVXYFlX"),
    ("𐌰𐌱𐌲𐌳𐌴𐌵𐌶𐌷𐌹𐌺𐌻𐌼𐌽𐌿𐍀𐍂𐍃𐍄𐍅𐍆𐍇𐍉", "abgdeuzhiklmnuprstwfxo"),
    # Deseret, by sound and by look.
    ("𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐝𐐞𐐠𐐡𐐢𐐣𐐤", "OUIEAOUUWYHPBTDCJKGFVLSZSRLMN"),
)
"""The same from version 3 on, with their lower case: what generators of "fancy text" write."""

FAINT: Final[Pairs] = (
    # Cyrillic.
    ("БДЖЗЙЛФЦЧШЩЪЭЯЂЃЋЌЎЏҀҠҤӘӠӨѪѰѲԐ", "BAXENLOUYWWBERHRHKYUCKNEEOMYOE"),
    ("ф", "f"),
    # Greek, with the letters of Coptic that stand there.
    ("ΓΔΘΛΞΠΣΦΨΩϘϤϢϪϬϮ", "rAOAENEOWOQQWXOT"),
    ("δζλφϐϑϕϛϝϰϱϵϻ", "dzafbvfsfkpem"),
    # Armenian.
    ("ԱԲԳԵԺԾՀՁՃՄՅՌՎՐՇԹ", "UFGTDOZQXUBNYRCA"),
    ("թժիմնտվրփէծկձ", "pdhuumynftdld"),
    # Scripts that have letters like Latin ones above; these tell them from real texts.
    ("ꓕꓘꓛꓞꓤꓥꓨꓩꓭꓯꓱꓵꓶꓷ", "TKCFRVGZBAEULD"),
    ("ⲐⲜⲠⲪ", "OEPF"),
    ("𐌾𐍈", "jo"),
    ("𐐀𐐁𐐂𐐃𐐌𐐍𐐜𐐟𐐥", "EAAOIODSN"),
)
"""Letters that are written for Latin ones, with their lower case, but count as letters that look like none: from version 3 on."""


class Twins(NamedTuple):
    """Letters of a script that Latin ones are written for: rule 0g."""

    first: int
    last: int
    latin: str
    own: str
    """The letters for `latin`, one for one."""
    alike: int
    """How many of them, from the first on, look the same. The others tell Latin words."""


TWINS: Final = (
    Twins(0x400, 0x45F, "ABCEHIJKMOPSTXYaceijopsxykmtëïËÏ", "АВСЕНІЈКМОРЅТХУасеіјорѕхукмтёїЁЇ", 25),
    Twins(0x386, 0x3CE, "ABEZHIKMNOPTYXovuaipkxetynw", "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονυαιρκχετγηω", 22),
    Twins(0x531, 0x587, "OSULouhnagq", "ՕՏՍԼօսհոագզ", 11),
)
"""Of Cyrillic, Greek and Armenian: the code points that tell of a text in the script, and what is written for its letters."""

_GREEK_AND_CYRILLIC: Final = range(0x370, 0x2000)
"""Where letters have names with others in them."""


def is_rare(code: int) -> bool:
    """Return whether a lookalike is of a script that is hardly written: above Armenian, but not Greek with accents."""
    return code >= 0x10A0 and not 0x1F00 <= code <= 0x1FFF


@functools.cache
def compatibility_forms() -> dict[int, int]:
    """Return the code points that rule 2b replaces, and what replaces each of them."""
    return in_runs(COMPATIBILITY + NEWER_FORMS)


@functools.cache
def in_runs(runs: tuple[tuple[int, str], ...]) -> dict[int, int]:
    """Return the code points of runs, and what stands for each of them; a space is none."""
    return {
        first + place: ord(target) for first, targets in runs for place, target in enumerate(targets) if target != " "
    }


@functools.cache
def usual_lookalikes() -> dict[int, int]:
    """Return the letters of `LOOKALIKES`, and those of Greek and Cyrillic that have the name of one "with" something."""
    listed = _listed(LOOKALIKES)
    return _named(listed) | listed


@functools.cache
def lookalikes() -> dict[int, int]:
    """Return the letters that rule 2c may replace, and the Latin letter for each of them.

    They are those of `LOOKALIKES`, and those of Greek and Cyrillic that have the name of one "with" an accent, a stroke, a hook, a tail
    or the like, and `NEWER_LOOKALIKES`, with the lower case of all rare ones. Unicode never changes a name.
    """
    found = usual_lookalikes()
    rare = {code: target for code, target in found.items() if is_rare(code)} | _listed(NEWER_LOOKALIKES)
    return _lower(rare) | rare | found


@functools.cache
def faint_lookalikes() -> dict[int, int]:
    """Return the letters of `FAINT`, and those that are named as one "with" something, with the Latin letter for each of them."""
    listed = _listed(FAINT)
    listed = _lower(listed) | listed
    return {code: target for code, target in (_named(listed) | listed).items() if code not in lookalikes()}


def _listed(pairs: Pairs) -> dict[int, int]:
    return {
        ord(source): ord(target) for sources, targets in pairs for source, target in zip(sources, targets, strict=True)
    }


def _lower(letters: Mapping[int, int]) -> dict[int, int]:
    return {ord(chr(code).lower()): ord(chr(target).lower()) for code, target in letters.items()}


def _named(letters: Mapping[int, int]) -> dict[int, int]:
    """Return the letters of Greek and Cyrillic that have the name of some "with" something."""
    named = {unicodedata.name(chr(code)): target for code, target in letters.items()}
    names = ((code, unicodedata.name(chr(code), "").partition(" WITH ")[0]) for code in _GREEK_AND_CYRILLIC)
    return {code: named[name] for code, name in names if name in named}
