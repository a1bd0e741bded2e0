"""Keyboard layouts, whose neighbouring keys are mistyped for each other."""

from collections.abc import Mapping
from typing import Final

# The keyboard layouts equal those of xkeyboard-config 2.35 (`xkb-data`), for most names that country's default, but:
# - Armenian is xkb's "eastern-alt", made after the layout of Windows; the default there is another. Bulgarian is there
#   twice, phonetic ("bg") and the default ("bg_bds"). Sinhala and Urdu are xkb's defaults, which are phonetic. Korean is
#   Dubeolsik, which xkb leaves to the input method.
# - The Arabic lam-alef key and one Khmer vowel key are empty: they type two characters, a substitution is one for one.
# - Empty too are the Malayalam key of the invisible joiner and the Latin "z" that xkb leaves in Gurmukhi and Gujarati.
#
# No maintained Python package holds layouts, so they are written here as data: level 1 (plain) and, in "_shift", level 2.
# Four rows each, from the digit row down. On a staggered keyboard the key at column c touches columns c-1 and c+1 of its
# own row, c and c+1 of the row above and c-1 and c of the row below (the digit row sits half a key to the left).
#
# A space stands for a key that types no single character (a dead key, or see above). The rows of letters begin at the key
# right of Tab, of Caps Lock and of Shift; the digit row begins at the key "1".
LAYOUTS: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "us": ("1234567890-=", "qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./"),
    "us_shift": ("!@#$%^&*()_+", "QWERTYUIOP{}", 'ASDFGHJKL:"', "ZXCVBNM<>?"),
    "fr": ("&é\"'(-è_çà)=", "azertyuiop $", "qsdfghjklmù", "wxcvbn,;:!"),
    "fr_shift": ("1234567890°+", "AZERTYUIOP £", "QSDFGHJKLM%", "WXCVBN?./§"),
    "de": ("1234567890ß ", "qwertzuiopü+", "asdfghjklöä", "yxcvbnm,.-"),
    "de_shift": ('!"§$%&/()=? ', "QWERTZUIOPÜ*", "ASDFGHJKLÖÄ", "YXCVBNM;:_"),
    "es": ("1234567890'¡", "qwertyuiop +", "asdfghjklñ ", "zxcvbnm,.-"),
    "se": ("1234567890+ ", "qwertyuiopå ", "asdfghjklöä", "zxcvbnm,.-"),
    "tr": ("1234567890*-", "qwertyuıopğü", "asdfghjklşi", "zxcvbnmöç."),
    "ru": ("1234567890-=", "йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю."),
    "ru_shift": ('!"№;%:?*()_+', "ЙЦУКЕНГШЩЗХЪ", "ФЫВАПРОЛДЖЭ", "ЯЧСМИТЬБЮ,"),
    "ua": ("1234567890-=", "йцукенгшщзхї", "фівапролджє", "ячсмитьбю."),
    "bg": ("1234567890-=", "явертъуиопшщ", "асдфгхйкл;'", "зьцжбнм,./"),
    "gr": ("1234567890-=", ";ςερτυθιοπ[]", "ασδφγηξκλ '", "ζχψωβνμ,./"),
    "il": ("1234567890-=", "/'קראטוןםפ][", "שדגכעיחלךף,", "זסבהנמצתץ."),
    "ara": ("1234567890-=", "ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤر ىةوزظ"),
    "ir": ("۱۲۳۴۵۶۷۸۹۰-=", "ضصثقفغعهخحجچ", "شسیبلاتنمکگ", "ظطزرذدپو./"),
    "in_deva": ("१२३४५६७८९०-ृ", "ौैाीूबहगदजड़", "ोे्िुपरकतचट", "ॆंमनवलस,.य"),
    "th": ("ๅ/-ภถุึคตจขช", "ๆไำพะัีรนยบล", "ฟหกดเ้่าสวง", "ผปแอิืทมใฝ"),
    "kr": ("1234567890-=", "ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔ[]", "ㅁㄴㅇㄹㅎㅗㅓㅏㅣ;'", "ㅋㅌㅊㅍㅠㅜㅡ,./"),
    "ge": ("1234567890-=", "ქწერტყუიოპ[]", "ასდფგჰჯკლ;'", "ზხცვბნმ,./"),
    "am": ("։ձյ՛,-.«»օռժ", "խւէրտեըիոպչջ", "ասդֆքհճկլթփ", "զցգվբնմշղծ"),
    "bg_bds": ("1234567890-.", ",уеишщксдзц;", "ьяаожгтнвмч", "юйъэфхпрлб"),
    "mk": ("1234567890-=", "љњертѕуиопшѓ", "асдфгхјклчќ", "зџцвбнм,./"),
    "rs": ("1234567890'+", "љњертзуиопшђ", "асдфгхјклчћ", "жџцвбнм,.-"),
    "kz": ('"әіңғ,.үұқөһ', "йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю№"),
    "mn": ("1234567890ещ", "фцужэнгшүзкъ", "йыбөахролдп", "ячёсмитьвю"),
    "hu": ("123456789öüó", "qwertzuiopőú", "asdfghjkléá", "yxcvbnm,.-"),
    "cz": ("+ěščřžýáíé= ", "qwertzuiopú)", "asdfghjklů§", "yxcvbnm,.-"),
    "pk": ("1234567890-=", "قوعرتےءیہپ][", "اسدفگحجکل؛'", "زشچطبنم،۔/"),
    "bd": ("১২৩৪৫৬৭৮৯০-=", "ঙযডপটচজহগড়[]", "ৃুিব্াকতদ;'", "ঁোেরনসম,./"),
    "in_guru": ("੧੨੩੪੫੬੭੮੯੦ਃ=", "ੌੈਾੀੂਬਹਗਦਜਡ਼", "ੋੇ੍ਿੁਪਰਕਤਚਟ", " ਂਮਨਵਲਸ,.ਯ"),
    "in_gujr": ("૧૨૩૪૫૬૭૮૯૦-ઋ", "ૌૈાીૂબહગદજડ઼", "ોે્િુપરકતચટ", " ંમનવલસ,.ય"),
    "in_orya": ("୧୨୩୪୫୬୭୮୯୦ଃୃ", "ୌୈାୀୂବହଗଦଜଡ଼", "ୋେ୍ିୁପରକତଚଟ", " ଂମନଵଲସ,.ଯ"),
    "in_taml": ("௧௨௩௪௫௬௭௮௯௰௱௲", "ௌைாீூ ஹ  ஜ ஞ", "ோே்ிுபரகதசட", "ெஂமநவலஸ,.ய"),
    "in_telu": ("౧౨౩౪౫౬౭౮౯౦ఃృ", "ౌైాీూబహగదజడఞ", "ోే్ిుపరకతచట", "ెంమనవలస,.య"),
    "in_knda": ("೧೨೩೪೫೬೭೮೯೦ಃೃ", "ೌೈಾೀೂಬಹಗದಜಡ಼", "ೋೇ್ಿುಪರಕತಚಟ", "ೆಂಮನವಲಸ,.ಯ"),
    "in_mlym": ("൧൨൩൪൫൬൭൮൯൦-ൃ", "ൌൈാീൂബഹഗദജഡ", "ോേ്ിുപരകതചട", "െംമനവലസ,.യ"),
    "lk": ("1234567890-=", "ඍඇඑරතයඋඉඔප[]", "අසදෆගහජකල;'", "ඤඳචවබනම,./"),
    "kh": ("១២៣៤៥៦៧៨៩០ឥឲ", "ឆឹេរតយុិោផៀឪ", "ាសដថងហ្កលើ់", "ឋខចវបនម ។៊"),
    "la": ("ຢຟໂຖຸູຄຕຈຂຊໍ", "ົໄຳພະິີຣນຍບລ", "ັຫກດເ້່າສວງ", "ຜປແອຶືທມໃຝ"),
    "mm": ("၁၂၃၄၅၆၇၈၉၀-=", "ဆတနမအပကငသစဟဩ", "ေျိ်ါ့ြုူး'", "ဖထခလဘညာ,./"),
    "bt": ("༡༢༣༤༥༦༧༨༩༠༔།", "ཀཁགངིེོུཅཆཇཉ", "ཏཐདནཔཕབམཙཚཛ", "ཞཟའཡརལཤསཧཨ"),
}
