"""When a text belongs to none of the labels."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.decision import Decision, known_characters
from retvec_lite.errors import RetvecLiteError

LABELS = ("alarm", "oos", "music")


@pytest.mark.parametrize(
    "decision",
    [
        Decision(),
        Decision(threshold=0.1 + 0.2),
        Decision(threshold=0.25, unknown_label="oos", characters='"abß\U0001d538'),
        Decision(threshold=1.3, unknown_label="oos", unknown_power=0.2),
    ],
)
def test_the_round_trip_is_exact(decision: Decision) -> None:
    assert Decision.from_dict(json.loads(json.dumps(decision.to_dict()))) == decision


def test_some_labels_and_the_unknown_one() -> None:
    assert Decision(unknown_label="oos").limited(LABELS, ["music", "music"]) == [1, 2]
    assert Decision().limited(LABELS, ("alarm",)) == [0]
    for labels, name, found in (
        (("zh-Hans", "zh-Hant", "zu"), "zh", "zh-Hans, zh-Hant"),
        (LABELS, "alrm", "alarm"),
        (LABELS, "?", "alarm, oos, music"),
        (("zh-Hans", "zh-Hant", "zu"), "ZH", "zh-Hans, zh-Hant"),
    ):
        with pytest.raises(RetvecLiteError, match=f"^There is no label '[^ ]+', but there are {found}\\.$"):
            Decision().limited(labels, [name])
    assert Decision().limited(("de", "zh-Hans", "zh-Hant"), ["DE", "zh-hans"]) == [0, 1]
    assert Decision().limited(("yes", "Yes"), ["Yes"]) == [1] and Decision().limited(("yes", "Yes"), ["YES"]) == [0, 1]
    tags = ("de", "en", "rn", "rm", "mn", "tr")
    with pytest.raises(RetvecLiteError, match=r"^There is no label 'german'\. `retvec-lite info` lists all 6\.$"):
        Decision().limited(tags, ["german"])
    for chosen in ([], "music"):
        with pytest.raises(RetvecLiteError, match=r"in a list such as \['alarm'\], not "):
            Decision().limited(LABELS, chosen)
    for wrong in (5, None, ["music"]):
        with pytest.raises(RetvecLiteError, match=r"^Name the labels to choose from as strings, not as "):
            Decision().limited(LABELS, ["music", wrong])  # type: ignore[list-item]
    with pytest.raises(RetvecLiteError, match="one label a text"):
        Decision(thresholds=(0.5,) * 3).limited(LABELS, ["music"])


def test_files_of_earlier_releases_reject_nothing() -> None:
    assert Decision.from_dict(None) == Decision()
    assert not Decision().rejects and Decision().entry() == {}
    found = Decision().unknown(["", "?"], np.array([[0.4, 0.5, 0.1]] * 2, np.float32), LABELS)
    assert not found.any()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"threshold": 1.0}, "between 0 and 1"),
        ({"threshold": 0.0}, "between 0 and 1"),
        ({"threshold": float("nan")}, "between 0 and 1"),
        ({"threshold": "0.5"}, "between 0 and 1"),
        ({"threshold": True}, "between 0 and 1"),
        ({"unknown_label": 3}, "unknown_label"),
        ({"unknown_power": 0.2}, "0 without unknown_label"),
        ({"unknown_label": "oos", "unknown_power": 1.5}, "from 0 to 1"),
        ({"unknown_label": "oos", "unknown_power": 0.2, "threshold": -1.0}, "between 0 and inf"),
        ({"characters": ["a"]}, "characters"),
    ],
)
def test_bad_values_are_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(RetvecLiteError, match=problem):
        Decision.from_dict({**Decision().to_dict(), **fields})


@pytest.mark.parametrize("fields", [{}, {"threshold": 0.5}, {**Decision().to_dict(), "more": 1}, [], "x"])
def test_other_fields_are_refused(fields: Any) -> None:
    with pytest.raises(RetvecLiteError, match="characters, threshold, unknown_label"):
        Decision.from_dict(fields)


def test_the_unknown_label_must_be_a_label() -> None:
    Decision(unknown_label="oos").check_labels(LABELS)
    with pytest.raises(RetvecLiteError, match="'none' is not among the labels"):
        Decision(unknown_label="none").check_labels(LABELS)


def test_each_rule_alone_makes_a_text_unknown() -> None:
    decision = Decision(threshold=0.4, unknown_label="oos", characters="abc")
    rows = {
        "a": [0.5, 0.45, 0.05],
        "b": [0.39, 0.3, 0.31],
        "c": [0.45, 0.5, 0.05],
        "": [0.9, 0.05, 0.05],
        "?! xyz": [0.9, 0.05, 0.05],
        "?!a": [0.05, 0.05, 0.9],
    }
    found = decision.unknown(list(rows), np.array(list(rows.values()), np.float32), LABELS)
    assert dict(zip(rows, found.tolist(), strict=True)) == {
        "a": False,
        "b": True,
        "c": True,
        "": True,
        "?! xyz": True,
        "?!a": False,
    }


def test_the_unknown_label_raises_the_threshold() -> None:
    decision = Decision(threshold=1.25, unknown_label="oos", unknown_power=0.5)
    rows = np.array([[0.65, 0.25, 0.1], [0.6, 0.25, 0.15], [0.6, 0.0, 0.4], [0.1, 0.0, 0.1]], np.float32)
    assert decision.unknown(["a"] * 4, rows, LABELS).tolist() == [False, True, False, False]
    scores = decision.scores(rows, LABELS)
    assert scores[:2] == pytest.approx([0.65 / 0.5, 0.6 / 0.5]) and (scores[2:] > 1e6).all()
    assert decision.rule == "below 1.2500 * p(oos) ** 0.5" and Decision().rule == "never"
    with pytest.raises(RetvecLiteError, match="between 0 and 1"):
        Decision(threshold=1.25, unknown_label="oos")


def test_a_probability_at_the_threshold_is_enough() -> None:
    rows = np.array([[0.25, 0.75], [0.5, 0.5]], np.float32)
    assert Decision(threshold=0.5).unknown(["a", "b"], rows, ("x", "y")).tolist() == [False, False]
    assert Decision(threshold=0.75001).unknown(["a", "b"], rows, ("x", "y")).tolist() == [True, True]


def test_known_characters_have_both_cases() -> None:
    found = set(known_characters(["Straße 5!", "٣ 我 \ud800 ❤️"]))
    assert set("5STRAEstraeß٣我") <= found and not set("!❤ẞ \ud800") & found, "upper() makes two letters of ß"
    assert known_characters([" ", ""]) == ""


def test_forms_of_known_letters_are_known() -> None:
    found = known_characters(["ｈi 5"])
    assert {"h", "H", "i", "I", "5", "ｈ", "𝐡", "ⓗ", "🅷", "ʜ", "⁵"} <= set(found)
    assert not set(found) & set("jｊіｊ🅹")
    assert "һ" not in found
    assert {"ì", "Ḧ", "ħ"} <= set(found), "accents"
    assert {"é", "e"} <= set(known_characters(["É"])) and "@" not in known_characters(["a"])


def test_rare_lookalikes_of_known_letters_are_known() -> None:
    found = set(known_characters(["hi 5"]))
    assert {"h", "ꓧ", "Ꮋ", "𐌷", "𐐐", "⠓", "🇭", "❺"} <= found and not found & set("һꓙᒍꓕ")


def test_signs_are_known_of_texts_that_hold_nothing_else() -> None:
    texts = ["😍👏🏽", "❤️ !", "great 🎉", "&#128545;", "<b>☀</b>", "🇩🇪", "⠙", "ok"]
    found = set(known_characters(texts))
    assert set("😍👏❤😡☀🇩🇪⠙!！oK") <= found and not set("🎉d&#< \ufe0f") & found
    decision = Decision(characters="".join(sorted(found)))
    read = {"😍😍": True, "🚀": False, "?": False, "привет 😡": True, "привет": False}
    assert {text: decision.reads(text) for text in read} == read
    assert "letters, digits and signs of the training texts" in str(decision)
    assert "letters and digits of the training texts" in str(Decision(characters=known_characters(["max", "🎉 pi 5"])))


def test_few_texts_of_punctuation_are_slips() -> None:
    texts = [f"text {row}" for row in range(300)]
    assert not {"?", "-", "$", "…"} & set(known_characters([*texts, "?", "- $ …"]))
    assert {"?", "-", "$", "…"} <= set(known_characters([*texts, "?", "- $ …", "??", "?!"]))
    assert "😍" in known_characters([*texts, "😍"]), "which stands in no other texts by chance"


@given(st.lists(st.text()))
def test_characters_are_closed_under_case(texts: list[str]) -> None:
    found = known_characters(texts)
    assert list(found) == sorted(set(found))
    assert set(found) >= {char for text in texts for char in text if char.isalnum()}
    forms = {form for char in found if char.isascii() for form in (char.lower(), char.upper())}
    assert {form for form in forms if len(form) == 1} <= set(found)
    decision = Decision(characters=found)
    assert all(decision.reads(text) for text in texts if any(char.isalnum() for char in text))


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Decision(), ("the most probable one.", "never.", "never.")),
        (
            Decision(threshold=0.25, characters="ab"),
            (
                "the most probable one.",
                "a text whose best label is below 0.2500, or without any of the 2 letters and digits of the training texts.",
                "never.",
            ),
        ),
        (
            Decision(threshold=1.3, unknown_label="oos", unknown_power=0.2),
            (
                "the most probable one, 'oos' aside.",
                "a text whose best label is below 1.3000 * p(oos) ** 0.2, or for which 'oos' is the most probable.",
                "never.",
            ),
        ),
        (
            Decision(thresholds=(0.31, 0.7, 0.5)),
            (
                "where only one reaches its threshold.",
                "a text none of whose labels reaches its threshold.",
                "all that reach their thresholds, 0.31 to 0.70 (3 labels).",
            ),
        ),
        (
            Decision(thresholds=(0.5, 0.5), characters="a" * 2000),
            (
                "where only one reaches its threshold.",
                "a text none of whose labels reaches its threshold, or without any of the 2,000 letters and digits of the training "
                "texts.",
                "all that reach their thresholds, 0.50 for all (2 labels).",
            ),
        ),
    ],
)
def test_a_decision_says_in_three_lines_what_it_does(decision: Decision, expected: tuple[str, str, str]) -> None:
    names = ("One label", "None of these", "Several labels")
    assert str(decision).splitlines() == [f"{name}: {text}" for name, text in zip(names, expected, strict=True)]


def test_a_label_stays_within_its_line() -> None:
    decision = Decision(threshold=1.3, unknown_label="a\n\x1b[2Jb", unknown_power=0.2)
    assert len(str(decision).splitlines()) == 3 and "\x1b" not in str(decision)
