import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.contract import SEPARATORS, EncoderConfig
from retvec_lite.decision import Decision
from retvec_lite.windows import answer_in_windows, combine, cut_windows, mean_embedding, read_limit, read_text

BLANK = "".join(map(chr, (0, *SEPARATORS)))
TEXTS = st.text(st.sampled_from("ab é\u0301字😀\u2003\0"), max_size=120)


SHARED = json.loads((Path(__file__).parent / "data" / "windows.json").read_text("utf-8"))
"""What the tests of the wrappers in other languages read as well."""


def joined(table: list[list[float]], labels: str, decision: Decision, windows: Sequence[str] = ()) -> np.ndarray:
    """Combine the probabilities of windows, of "a" if they do not matter."""
    return combine(np.array(table, np.float32), labels, decision, windows or ["a"] * len(table))


def config(max_chars: int) -> EncoderConfig:
    return EncoderConfig(max_chars=max_chars)


@given(TEXTS, st.integers(1, 40))
def test_windows_hold_all_letters_in_order_and_fit(text: str, most: int) -> None:
    windows = cut_windows(text, config(most))
    read = read_text(text, config(most))
    if len(read) <= most:
        assert windows == [read]
        return
    assert all(len(window) <= most for window in windows)
    assert all(window[:1] not in BLANK for window in windows[1:])
    assert [char for window in windows for char in window if char not in BLANK] == [c for c in read if c not in BLANK]
    # A window is at least half as long as it may be, but for the last.
    assert all(len(window) >= -(-most // 2) for window in windows[:-1])


@given(st.lists(st.sampled_from(["an", "parcel", "refund!", "字字"]), min_size=1, max_size=60), st.integers(20, 60))
def test_no_word_is_cut_that_is_not_longer_than_a_third_of_a_window(words: list[str], most: int) -> None:
    windows = cut_windows(" ".join(words), config(most))
    assert [word for window in windows for word in window.split(" ") if word] == words


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("aaaa bbbb cccc", ["aaaa bbbb", "cccc"]),
        ("adeadeade bbb", ["adeadeade", "bbb"]),
        ("adead bfgbfgbf", ["adead", "bfgbfgbf"]),
        ("aaaa bfgbfgbfg", ["aaaa bf", "gbfgbfg"]),
        ("aa bb. cc dd ee", ["aa bb.", "cc dd ee"]),
        ("aaa. bb cdecd", ["aaa. bb", "cdecd"]),
        ("adeade b! cccc", ["adeade b!", "cccc"]),
        ("adeadef" * 3, ["adeadef"] * 3),
        ("  adeadeadea\0  ", ["adeadeadea"]),
        (" " * 30, [""]),
    ],
)
def test_where_windows_of_ten_end(text: str, windows: list[str]) -> None:
    assert cut_windows(text, config(10)) == windows


@pytest.mark.parametrize(
    ("max_chars", "limit"), [(1, 32), (104, 3_328), (512, 16_384), (2_048, 16_384), (5_000, 20_000)]
)
def test_no_more_than_the_limit_is_read(max_chars: int, limit: int) -> None:
    assert read_limit(config(max_chars)) == limit
    assert sum(map(len, cut_windows("xy" * 50_000, config(max_chars)))) == limit


def test_the_cases_of_the_wrappers_are_right() -> None:
    for max_chars, text, windows in SHARED["cut"]:
        assert cut_windows(text, config(max_chars)) == windows
    for max_chars, limit in SHARED["limits"]:
        assert read_limit(config(max_chars)) == limit
    for case in SHARED["combine"]:
        unknown, thresholds = case["unknown"], (0.5,) * 3 if case["several"] else None
        shares = tuple(case["shares"]) if case["shares"] else None
        unknown_label = None if unknown is None else "abc"[unknown]
        decision = Decision(unknown_label=unknown_label, thresholds=thresholds, shares=shares)
        assert joined(case["windows"], "abc", decision) == pytest.approx(case["text"], abs=1e-6)


def test_windows_of_no_label_but_the_unknown_one_have_a_mean() -> None:
    assert joined([[0, 1], [0, 1]], "ab", Decision(unknown_label="b")).tolist() == [0, 1]


def test_windows_that_say_what_any_text_may_say_count_little() -> None:
    shares = (0.1, 0.9)
    table = [[0.9, 0.1], *[[0.05, 0.95]] * 4]
    assert joined(table, "ab", Decision())[0] < 0.3
    assert joined(table, "ab", Decision(shares=shares))[0] > 0.5
    assert joined([[0.1, 0.9]] * 3, "ab", Decision(shares=shares)) == pytest.approx(shares)


def test_windows_without_a_known_letter_count_only_if_all_are_so() -> None:
    table, known = [[0.9, 0.1], [0.0, 1.0]], Decision(characters="abc")
    assert joined(table, "ab", known, ["abc", "字字"]) == pytest.approx(table[0])
    assert joined(table, "ab", known, ["字", "字字"])[0] == joined(table, "ab", Decision())[0]


def test_of_several_labels_those_of_any_window_count() -> None:
    assert joined([[0.9, 0.2], [0.1, 0.8]], "ab", Decision(thresholds=(0.5, 0.5))) == pytest.approx([0.9, 0.8])


def test_embeddings_have_length_1_or_are_zeros() -> None:
    assert mean_embedding(np.array([[1, 0], [0, 1]], np.float32)).tolist() == pytest.approx([0.5**0.5] * 2)
    assert mean_embedding(np.zeros((2, 2), np.float32)).tolist() == [0, 0]


def test_every_different_window_is_answered_once() -> None:
    asked: list[str] = []

    def answer(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return np.array([[len(text)] for text in texts], np.float32)

    found = answer_in_windows(
        answer,
        [cut_windows(text, config(5)) for text in ("aaaa bbb", "b", "bbb aaaa")],
        lambda rows, _: rows.sum(axis=0),
    )
    assert found.tolist() == [[7], [1], [7]]
    assert asked == ["aaaa", "bbb", "b"]
