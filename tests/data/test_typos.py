import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.contract import INVISIBLE, SEPARATORS
from retvec_lite.data.typos import TYPO_KINDS, mistype, mistype_many
from retvec_lite.errors import RetvecLiteError

GAPS = "".join(map(chr, (0, *SEPARATORS)))
WORDS = [
    "parcel",
    "привет",
    "καλημέρα",
    "שלום",
    "مرحبا",
    "नमस्ते",
    "สวัสดี",
    "こんにちは",
    "カタカナ",
    "你好世界",
    "안녕하세요",
]


def words_of(text: str) -> list[str]:
    for gap in GAPS:
        text = text.replace(gap, " ")
    return [word for word in text.split(" ") if word]


def gaps_of(text: str) -> str:
    return "".join(character for character in text if character in GAPS)


def is_one_typo(before: str, after: str) -> bool:
    """Whether `after` is one insertion, deletion, substitution or neighbour swap away from `before`, and differs."""
    if before == after:
        return False
    start = next(
        (i for i, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]),
        min(len(before), len(after)),
    )
    old, new = before[start:], after[start:]
    return new[1:] == old or old[1:] == new or old[1:] == new[1:] or (old[1::-1] + old[2:] == new)


texts = st.text(st.one_of(st.characters(codec=None), st.sampled_from("aAbzß 19-.\t\n\u2003é你👍🏽")), max_size=60)


@given(texts, st.sampled_from(TYPO_KINDS), st.integers(0, 2**32))
def test_at_100_percent_every_word_has_exactly_one_typo_and_every_gap_stays(text: str, kind: str, seed: int) -> None:
    mistyped = mistype(text, 1.0, seed, [kind])
    before, after = words_of(text), words_of(mistyped)
    assert len(before) == len(after)
    assert all(is_one_typo(old, new) for old, new in zip(before, after, strict=True))
    assert gaps_of(text) == gaps_of(mistyped)


@given(texts, st.floats(0, 1), st.integers(0, 2**32))
def test_the_number_of_mistyped_words_is_the_rate_rounded_up_or_down(text: str, rate: float, seed: int) -> None:
    before, after = words_of(text), words_of(mistype(text, rate, seed))
    changed = sum(old != new for old, new in zip(before, after, strict=True))
    assert abs(changed - rate * len(before)) < 1


def test_the_mean_rate_is_exact_even_for_short_texts() -> None:
    mistyped = mistype_many(["word"] * 20_000, 0.2, 1)
    assert sum(text != "word" for text in mistyped) / 20_000 == pytest.approx(0.2, abs=0.01)


def test_every_word_of_a_text_is_equally_likely_and_so_is_every_kind() -> None:
    text = "abcdefgh ijklmnop qrstuvwx yzabcdef"
    changed, kinds = [0] * 4, {"longer": 0, "shorter": 0, "same": 0}
    for mistyped in mistype_many([text] * 8_000, 0.25, 7):
        for at, (old, new) in enumerate(zip(text.split(), mistyped.split(), strict=True)):
            if old != new:
                changed[at] += 1
                kinds["longer" if len(new) > len(old) else "shorter" if len(new) < len(old) else "same"] += 1
    assert sum(changed) == 8_000
    assert all(count == pytest.approx(2_000, abs=200) for count in changed)
    assert kinds["longer"] == pytest.approx(1_600, abs=200) and kinds["shorter"] == pytest.approx(1_600, abs=200)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("kind", ["insert", "substitute"])
def test_new_letters_come_from_the_script_of_the_word(word: str, kind: str) -> None:
    def script(character: str) -> str:
        return unicodedata.name(character).split()[0]

    allowed = {script(character) for character in word}
    for seed in range(200):
        assert {script(character) for character in mistype(word, 1.0, seed, [kind])} <= allowed


def test_case_is_kept() -> None:
    for seed in range(200):
        for kind in TYPO_KINDS:
            assert mistype("ÉTUDE", 1.0, seed, [kind]).isupper()
            assert mistype("étude", 1.0, seed, [kind]).islower()
            assert mistype("ПРИВЕТ", 1.0, seed, [kind]).isupper()


def test_neighbor_keys_lie_beside_the_key() -> None:
    found: dict[str, set[str]] = {}
    for key in "aGp50":
        found[key] = {mistype(key, 1.0, seed, ["neighbor_key"]) for seed in range(200)}
    assert found == {
        "a": set("qwsz"), "G": set("FHTYVB"), "p": set("ol"), "5": set("46"), "0": set("9"),
    }  # fmt: skip


def test_no_typo_brings_a_character_that_changes_the_words() -> None:
    hidden = {0, *SEPARATORS, *INVISIBLE, *range(0xD800, 0xE000)}
    for first in range(0x21, 0x30000, 3):
        if first in hidden:
            continue
        mistyped = mistype(chr(first), 1.0, first, ["substitute", "insert"])
        assert not hidden & set(map(ord, mistyped)), hex(first)


@pytest.mark.parametrize(
    ("text", "kind"), [("I", "delete"), ("aaa", "swap"), ("a", "swap"), ("!", "neighbor_key"), ("я", "neighbor_key")]
)
def test_an_impossible_kind_becomes_a_substitution(text: str, kind: str) -> None:
    for seed in range(50):
        mistyped = mistype(text, 1.0, seed, [kind])
        assert len(mistyped) == len(text)
        assert sum(old != new for old, new in zip(text, mistyped, strict=True)) == 1


def test_the_typos_of_a_seed_never_change() -> None:
    """Pinned: published typo curves depend on them. A change of this list invalidates every figure measured before."""
    assert mistype_many(["Where is my parcel? 24h", "Где моя посылка", "今天 天气 怎么样 😀"], 1.0, 2024) == PINNED


PINNED = ["Wher si ky padcel? 2h4", "Гды мя поылка", "天今 气 怎么 😀😀"]


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), 50])
def test_a_rate_out_of_range_is_refused(rate: float) -> None:
    with pytest.raises(RetvecLiteError, match="from 0 to 1"):
        mistype("text", rate, 0)


@pytest.mark.parametrize("kinds", [[], ["typo"], "swap"])
def test_unknown_kinds_are_refused(kinds: list[str]) -> None:
    with pytest.raises(RetvecLiteError, match="neighbor_key"):
        mistype("text", 0.5, 0, kinds)
