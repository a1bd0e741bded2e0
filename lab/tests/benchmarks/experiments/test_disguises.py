import html
import json
import re
import unicodedata
import urllib.parse
from pathlib import Path

import confusable_homoglyphs
import pytest

from benchmarks.experiments.letters import ETHIOPIC, FORMS, LOOKALIKES, MARKS, NEUTRAL_EMOJI, RUNES, SCRIPTS
from benchmarks.experiments.ways import GROUPS, KEYBOARD, WAYS, can_write, write_all
from retvec_lite.letters import compatibility_forms, faint_lookalikes, lookalikes
from retvec_lite.ngrams import folded_letters

TEXT = "Claim your FREE prize now, it is worth 500 pounds!"
WORDS = ["Claim", "your", "FREE", "prize", "now", "it", "is", "worth", "500", "pounds"]


def written(name: str, text: str = TEXT, seed: int = 0) -> str:
    return write_all([text], name, seed)[0]


@pytest.mark.parametrize("name", [name for name in WAYS if can_write(name)])
def test_a_way_changes_a_text_and_the_seed_decides(name: str) -> None:
    assert written(name) != TEXT
    assert written(name, seed=1) == written(name, seed=1)
    for odd in ("", " ", "a", "?!", "¿qué?"):
        assert written(name, odd) is not None


ADDED = ("struck through, underlined", "invisible characters", "invisible padding", "marks of other scripts")


@pytest.mark.parametrize("name", [name for kind in ADDED for name in GROUPS[kind]])
def test_what_cannot_be_seen_or_is_no_letter_taken_out_leaves_the_text(name: str) -> None:
    added = set(written(name)) - set(TEXT)
    assert added
    assert "".join(character for character in written(name) if character not in added).strip() == TEXT


@pytest.mark.parametrize("name", GROUPS["padding"] | GROUPS["long texts"] | GROUPS["a greeting, a signature"])
def test_what_stands_around_a_text_leaves_the_text(name: str) -> None:
    found = written(name)
    if name == "20 dots between words":
        assert found.split() == " ".join(TEXT.replace(" ", f" {'.' * 20} ").split()).split()
    else:
        assert found.startswith(TEXT) or found.endswith(TEXT)
    count = re.match(r"(\d+) (?:dots behind|emoji|digits|mixed|invisible)", name)
    if count:
        assert len(found) == len(TEXT) + 1 + int(count[1])
    if "neutral words" in name:
        assert len(found.split()) == len(TEXT.split()) + int(name.split(maxsplit=1)[0])


@pytest.mark.parametrize("name", GROUPS["blanks"] | GROUPS["wide gaps between letters"])
def test_gaps_leave_the_letters(name: str) -> None:
    letters = [character for character in TEXT if character.isalnum()]
    assert [character for character in written(name) if character.isalnum()] == letters
    if name in GROUPS["blanks"]:
        assert written(name).split() == TEXT.split()


@pytest.mark.parametrize("count", [1, 5, 20])
def test_so_many_marks_are_on_every_letter(count: int) -> None:
    assert re.fullmatch(rf"(?:\w[\u0300-\u036f]{{{count}}}|\W)+", written(f"{count} marks a letter"))


@pytest.mark.parametrize("name", GROUPS["markup"] | GROUPS["encodings"])
def test_a_page_shows_markup_and_encodings_as_the_text(name: str) -> None:
    shown = written(name)
    if name.startswith("%") or name == "percent-encoded":
        shown = urllib.parse.unquote(shown)
    elif name.startswith("\\u"):
        shown = shown.encode("ascii").decode("unicode_escape")
    elif name.startswith("links"):
        shown = re.sub(r"\[(\w+)\]\([^)]*\)", r"\1", shown)
    elif name.startswith(("**", "_")):
        shown = shown.replace("*", "").replace("_", "")
    else:
        shown = html.unescape(re.sub("<[^>]*>", "", shown)).replace("\xa0", " ").replace("/", " ")
    assert shown == TEXT


def test_ways_of_people_look_as_they_say() -> None:
    text = "Free 42 houses at 8 today"
    assert written("vowels as *", text) == "Fr** 42 h**s*s at 8 t*d*y"
    assert written("vowels dropped", text) == "Fr 42 hss at 8 tdy"
    assert written("doubled letters", text) == "FFrreeee 42 hhoouusseess aatt 8 ttooddaayy"
    assert written("words for digits", text).split() == ["Free", "four", "two", "houses", "at", "eight", "today"]
    assert written("Roman numerals", text) == "Free XLII houses at VIII today"
    split = written("words split in two", text)
    assert split.replace(" ", "") == text.replace(" ", "")
    assert len(split.split()) == 9
    assert re.fullmatch(r"F\?ee|Fr\?e", written("one letter of each word as ?", "Free"))
    assert written("upside down", "Free!") == "¡ǝǝɹɟ"
    assert written("regional indicators", "Hi 5") == "🇭\u200b🇮 5"
    assert written("keycaps", "at 42") == "at 4\ufe0f\u20e32\ufe0f\u20e3"
    assert written("<i> inside words", "Hi") == "H<i></i>i"


def test_letters_of_a_script_are_of_that_script() -> None:
    for name, table in SCRIPTS.items():
        script = name.split(",")[0].upper()
        assert all(script in unicodedata.name(letter) for letter in "".join(table.values())), name
    assert {unicodedata.name(letter).split()[0] for letter in (*ETHIOPIC, *RUNES.values())} == {"ETHIOPIC", "RUNIC"}
    for name, marks in MARKS.items():
        assert all(
            unicodedata.name(mark).startswith(name.upper()) and unicodedata.category(mark) == "Mn" for mark in marks
        )


def test_keyboards_are_those_of_the_text() -> None:
    pytest.importorskip("multypo")
    for text in (TEXT, "Старая лодка лежит на берегу, и дети каждый день красят её"):
        found = written(KEYBOARD, text)
        assert found != text
        assert set(found.lower()) - set(text.lower()) <= set(
            "qwertzuiopüasdfghjklöäyxcvbnmßабвгдеёжзийклмнопрстуфхцчшщъыьэюя"
        )
        assert found == written(KEYBOARD, text)


@pytest.mark.parametrize("name", FORMS)
def test_another_form_has_the_same_letters_to_unicode(name: str) -> None:
    if name != "small capitals":  # these are letters of their own
        plain = "".join(unicodedata.normalize("NFKC", character) for character in written(name))
        assert plain == (TEXT if name != "squared" else TEXT.upper())


def test_lookalikes_replace_half_of_the_letters_or_all() -> None:
    found = written("lookalikes, mixed").replace(",", "").replace("!", "").split()
    for old, new in zip(WORDS, found, strict=True):
        changed = [(one, other) for one, other in zip(old, new, strict=True) if one != other]
        assert len(changed) <= max(1, round(len(old) / 2))
        assert changed or old == "500"
        assert all(one.isascii() and not other.isascii() for one, other in changed)
    assert not set("aceiopxy") & set(written("lookalikes for every letter, Cyrillic"))


def confusables(letter: str) -> set[str]:
    """What Unicode calls confusable with a letter; it has capital I and its doubles in one class with small l."""
    path = Path(confusable_homoglyphs.__file__).parent / "confusables.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    return {entry["c"] for key in (letter, "l" if letter in "Il" else letter) for entry in found.get(key, [])}


def test_mixed_lookalikes_are_some_by_unicode_and_unlisted_ones_none() -> None:
    for letter, doubles in LOOKALIKES["mixed"].items():
        for double in doubles:
            same = double in confusables(letter) or unicodedata.normalize("NFKC", double) == letter
            assert same or double == "\u04cf", (letter, double)
    for name in ("unlisted", "hooks and strokes"):
        for letter, doubles in LOOKALIKES[name].items():
            assert not set(doubles) & confusables(letter), letter


def test_letters_and_emoji_are_not_those_of_training() -> None:
    training = pytest.importorskip("retvec_lite.data.disguises", reason="training has no disguises yet")
    learned = set("".join(training._LOOKALIKES.values()))
    scripts = {*ETHIOPIC, *RUNES.values(), *"".join("".join(table.values()) for table in SCRIPTS.values())}
    assert not scripts & (learned | set(training._FOREIGN))
    for name in ("unlisted", "hooks and strokes"):
        assert not set("".join(LOOKALIKES[name].values())) & (learned | set(training._FOREIGN)), name
    known = {**folded_letters(True), **faint_lookalikes(), **lookalikes(), **compatibility_forms()}
    counts = {"Cyrillic": (31, 32), "Greek": (29, 29), "mixed": (99, 99), "Armenian": (15, 16), "unlisted": (35, 37)}
    for name, expected in {**counts, "hooks and strokes": (29, 31)}.items():
        pairs = [(letter, ord(double)) for letter, doubles in LOOKALIKES[name].items() for double in doubles]
        read = [letter for letter, double in pairs if chr(known.get(double, 0)).lower() == letter.lower()]
        assert (len(read), len(pairs)) == expected, f"{name}: other letters are read than before"
    assert not set(NEUTRAL_EMOJI) & set(training._EMOJI)
    emoji = set("".join(written(name, seed=seed) for name in GROUPS["emoji"] for seed in range(20))) - set(TEXT)
    assert not emoji & set(training._EMOJI)
