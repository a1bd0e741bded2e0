"""Letters in other shapes: lookalikes, forms, marks, letters of other scripts. Facts about Unicode, and what people write online.

Training has other rare letters and emoji; what is common, such as Cyrillic lookalikes, cannot be held out.
"""

from collections.abc import Mapping
from typing import Final


def _pairs(listed: str) -> dict[str, str]:
    """Read "aаɑ bЬ" as letter -> what stands for it."""
    return {letters[0]: letters[1:] for letters in listed.split()}


def _alphabet(upper: int, lower: int, **others: str) -> dict[str, str]:
    """Return letter -> its form, of alphabets that begin at these code points, with the letters that stand elsewhere."""
    rows = ((65, upper), (97, lower))
    return {chr(row + at): chr(start + at) for row, start in rows for at in range(26)} | others


LOOKALIKES: Final[Mapping[str, Mapping[str, str]]] = {
    "Cyrillic": _pairs("aа bь cс eе iі jј kк mм nип oо pр rг sѕ tт uи xх yу AА BВ CС EЕ HН IІ KК MМ OО PР SЅ TТ XХ YУ"),
    "Greek": _pairs("aα bβ eε iι kκ nη oο pρ sς tτ uυ vν wω xχ yγ AΑ BΒ EΕ HΗ IΙ KΚ MΜ NΝ OΟ PΡ TΤ XΧ YΥ ZΖ"),
    "Armenian": _pairs("aա dժ fք gց hհ lլ nռո oօ qզ uս wա LԼ OՕ SՏ UՍ"),
    "mixed": _pairs(
        "aаɑａ bЬｂ cсϲｃ dԁｄ eеｅ gɡｇ hһｈ iіｉ jјｊ kｋ lӏｌ mｍ nոｎ oоοօｏ pрρｐ qԛｑ rгｒ sѕｓ tｔ uսυｕ vѵνｖ wԝｗ xхｘ yуγｙ zｚ "
        "AАΑＡ BВΒＢ CСＣ EЕΕＥ HНΗＨ IІΙＩ JЈＪ KКΚＫ MМΜＭ NΝＮ OОΟＯ PРΡＰ SЅＳ TТΤＴ XХΧＸ YΥＹ ZΖＺ"
    ),
    "unlisted": _pairs("aдλ bъб cҁҫ dδ eз hђћ iї kҟҡ lӆ mӎ nҥѝ oθ pҏ rґ sҙ tҭ uӵ wщ xҳӿ yчұ AД BБ EЗ NЙ OΘ WЩ XҲ YЧҰ"),
    "hooks and strokes": _pairs("aⱥ bɓ cƈȼ dɗ eɇ fʄ gꞡ hɧⱨ iᶖ jʝ kⱪ lⱡɫ mᶆ nɳ oɵ pᵽ qʠ rɽ sȿ tƭʈ uᶙ vⱱ wⱳ xᶍ yƴ zȥⱬ"),
}
"""Name -> Latin letter -> lookalikes. The mixed ones are Cyrillic, Greek, Armenian and fullwidth letters, all of them in Unicode's
list of confusables (UTS 39); of the unlisted ones, Cyrillic and Greek, and of Latin letters with hooks and strokes, it has none."""
LEET: Final = _pairs("a4@ b8 e3 g9 i1! l1| o0 s5$ t7+ z2")
_CAPITALS: Final = dict(zip("abcdefghijklmnopqrstuvwyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ", strict=True))
FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "fullwidth": {chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)},
    "mathematical bold": _alphabet(0x1D400, 0x1D41A),
    "mathematical script": _alphabet(0x1D4D0, 0x1D4EA),
    "double-struck": _alphabet(0x1D538, 0x1D552, C="ℂ", H="ℍ", N="ℕ", P="ℙ", Q="ℚ", R="ℝ", Z="ℤ"),
    "circled": _alphabet(0x24B6, 0x24D0),
    "squared": _alphabet(0x1F130, 0x1F130),
    "small capitals": _CAPITALS,
}
INVISIBLE: Final = {
    "zero-width characters": "\u200b\u200c\u200d\u2060\ufeff\u00ad",
    "direction marks": "\u200e\u200f\u061c",
    "joiners and selectors": "\u034f\ufe00\ufe0e\ufe0f\U000e0100",
    "tag characters": "\U000e0061\U000e0065\U000e006f\U000e0020",
    "invisible letters": "\u115f\u1160\u3164\uffa0\u17b4\u17b5\u180b\u180e\u206a\u206f",
    "invisible, but symbols to Unicode": "\u2800\U0001d159",
}
ACCENTS: Final = {
    "accents on vowels": _pairs("aàâãåă eèêěę iìîĩį oòôõő uùûũů yỳŷ"),
    "accents of Vietnamese on vowels": _pairs("aạảậ eẹẻệ iịỉ oọỏộ uụủự yỵỷ"),
}
EMOJI: Final = "🔥💰🎁✅⭐😀👉💯🚀❗"
NEUTRAL_EMOJI: Final = "🦊🌵🧩🧃🥐🙃🌻🐙🤷🪴"
SCRIPTS: Final[Mapping[str, Mapping[str, str]]] = {
    "Cherokee": _pairs("aᎪꭺ bᏴᏏ cᏟꮯ dᎠᏧ eᎬ fᎰ gᏀ hᎻᏂ iᎥꭵ jᎫ kᏦ lᏞ mᎷ pᏢ rᎡꮁ sᏚꮪ tᎢ vᏙꮩ wᎳꮃ yᎽ zᏃꮓ"),
    "Lisu": _pairs("aꓮ bꓐ cꓚ dꓓ eꓰ fꓝ gꓖ hꓧ iꓲ jꓙ kꓗ lꓡ mꓟ nꓠ oꓳ pꓑ rꓣ sꓢ tꓔ uꓴ vꓦ wꓪ xꓫ yꓬ zꓜ"),
    "Coptic": _pairs("aⲁ bⲃ cⲥ eⲉ hⲏ iⲓ kⲕ lⳑ mⲙ nⲛ oⲟ pⲣ rⲅ tⲧ wⲱ xⲭ yⲩ zⲍ"),
    "Canadian": _pairs("aᗩᗅ bᗷᑲ cᑕ dᗪᑯ fᖴ hᕼ jᒍ lᒪ mᗰ nᑎ pᑭ qᑫ rᖇ sᔕ uᑌ vᐯ wᗯ x᙭ᕁ zᘔ"),
    "Gothic": _pairs("a𐌰 b𐌱 d𐌳 e𐌴 f𐍆 g𐌲 h𐌷 i𐌹 j𐌾 k𐌺 l𐌻 m𐌼 n𐌽 o𐍉 p𐍀 q𐌵 r𐍂 s𐍃 t𐍄 u𐌿 w𐍅 x𐍇 z𐌶"),
    "Deseret, by sound": _pairs("a𐐰 b𐐺 c𐐿 d𐐼 e𐐯 f𐑁 g𐑀 h𐐸 i𐐮 j𐐾 k𐐿 l𐑊 m𐑋 n𐑌 o𐐱 p𐐹 q𐐿 r𐑉 s𐑅 t𐐻 u𐐲 v𐑂 w𐐶 y𐐷 z𐑆"),
    "Deseret, lookalikes": _pairs("c𐐽𐐕 l𐐛 o𐐬𐐄 s𐑈𐐠"),
    "Braille": dict(zip("abcdefghijklmnopqrstuvwxyz", "⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵", strict=True)),
}
"""Script -> letter -> what is written for it, where the script has one."""
UPSIDE_DOWN: Final = dict(zip("abcdefghijklmnopqrstuvwxyz?!.,'", "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz¿¡˙'" + ",", strict=True))
RUNES: Final = _pairs("aᚨ bᛒ dᛞ eᛖ fᚠ gᚷ hᚺ iᛁ jᛃ kᚲ lᛚ mᛗ nᚾ oᛟ pᛈ rᚱ sᛊ tᛏ uᚢ wᚹ zᛉ")
"""Letter -> the rune of its sound. Few of them look like a Latin letter."""
ETHIOPIC: Final = "ለመሠረሰቀበተነአከወዘየደገጠጰጸ"
"""Letters that look like none of the Latin ones: what a word says without them is to be read."""
MARKS: Final = {
    "Hebrew": "\u05b4\u05b7\u05b8",
    "Arabic": "\u064e\u064f\u0650",
    "Thai": "\u0e34\u0e48\u0e49",
    "Devanagari": "\u0901\u0941\u0947",
}
"""Script -> some of its combining marks."""
ANY_MARKS: Final = "".join(map(chr, range(0x300, 0x370)))
"""Combining marks of no script."""
