import json
import unicodedata
from pathlib import Path

import confusable_homoglyphs
import pytest

from benchmarks.experiments.disguises import FORMS, GROUPS, LOOKALIKES, WAYS, write_all
from retvec_lite.ngrams import folded_letters
from retvec_lite.normal_form import compatibility_forms, lookalikes

TEXT = "Claim your FREE prize now, it is worth 500 pounds!"
WORDS = ["Claim", "your", "FREE", "prize", "now", "it", "is", "worth", "500", "pounds"]


def written(name: str, text: str = TEXT, seed: int = 0) -> str:
    return write_all([text], name, seed)[0]


@pytest.mark.parametrize("name", WAYS)
def test_a_way_changes_a_text_and_the_seed_decides(name: str) -> None:
    assert written(name) != TEXT
    assert written(name, seed=1) == written(name, seed=1)
    for odd in ("", " ", "a", "?!", "¿qué?"):
        assert written(name, odd) is not None


@pytest.mark.parametrize("name", GROUPS["struck through, underlined"] | GROUPS["invisible characters"])
def test_what_cannot_be_seen_or_is_no_letter_taken_out_leaves_the_text(name: str) -> None:
    added = set(written(name)) - set(TEXT)
    assert added
    assert "".join(character for character in written(name) if character not in added) == TEXT


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
    for name in ("unlisted", "hooks and strokes"):
        assert not set("".join(LOOKALIKES[name].values())) & (learned | set(training._FOREIGN)), name
    known = {**folded_letters(True), **lookalikes(), **compatibility_forms()}
    counts = {"Cyrillic": (31, 32), "Greek": (29, 29), "mixed": (99, 99), "Armenian": (14, 16), "unlisted": (13, 37)}
    for name, expected in {**counts, "hooks and strokes": (29, 31)}.items():
        pairs = [(letter, ord(double)) for letter, doubles in LOOKALIKES[name].items() for double in doubles]
        read = [letter for letter, double in pairs if chr(known.get(double, 0)).lower() == letter.lower()]
        assert (len(read), len(pairs)) == expected, f"{name}: docs/robustness.md says so"
    emoji = set("".join(written(name, seed=seed) for name in GROUPS["emoji"] for seed in range(20))) - set(TEXT)
    assert not emoji & set(training._EMOJI)
