"""Two sets of answers to the same texts: gains and losses by hand, the test against SciPy's, and what is told of them."""

import csv
import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.data.comparison import Comparison, GivenLabels, compare_answers, mcnemar
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError

DATA = Dataset(
    ("t0", "t1", "t2", "t3 =1+1\n\x1b[2J", 't4, "x"', "t5 \ud800"), ("a", "a", "b", "b", "oos", "oos"), Path("test.csv")
)


def answers(*labels: str | None, probability: float = 0.5) -> list[GivenLabels]:
    return [GivenLabels(() if label is None else (label,), probability) for label in labels]


OLD = answers("a", "b", "b", "a", None, "a")
NEW = answers("a", "a", None, "c", "a", "b", probability=0.75)


def compared() -> Comparison:
    return compare_answers(DATA, OLD, NEW, none={"oos"})


def test_gains_and_losses_by_hand() -> None:
    found = compared()
    assert (found.texts, found.old_accuracy, found.new_accuracy) == (6, pytest.approx(3 / 6), pytest.approx(2 / 6))
    assert (found.gained, found.lost, found.old_unanswered, found.new_unanswered) == (1, 2, 1, 1)
    assert [(change.row, change.change) for change in found.changes] == [
        (2, "lost"), (4, "lost"), (1, "gained"), (3, "both wrong"), (5, "both wrong"),
    ]  # fmt: skip
    assert found.changes[0][:6] == (2, "b", "b", 0.5, "", 0.75)
    assert [tuple(row) for row in found.labels] == [
        ("b", 2, 0.5, 0.0, 0, 1), (None, 2, 0.5, 0.0, 0, 1), ("a", 2, 0.5, 1.0, 1, 0)
    ]  # fmt: skip
    assert found.p_value == 1.0


def test_the_surest_mistakes_come_first() -> None:
    data = Dataset(("x", "y", "z"), ("a", "a", "a"))
    new = [GivenLabels(("b",), 0.5), GivenLabels(("b",), 0.9), GivenLabels((), None)]
    assert [change.row for change in compare_answers(data, answers("a", "a", "a"), new).changes] == [1, 0, 2]


def test_where_a_text_may_have_several_labels() -> None:
    data = Dataset(("x", "y", "z"), ("a|b", "", "b"), multi_label=True)
    old = [GivenLabels(("a",), 0.9), GivenLabels((), None), GivenLabels(("b", "c"), 0.6)]
    new = [GivenLabels(("a", "b"), 0.8), GivenLabels(("a",), 0.6), GivenLabels(("b",), 0.7)]
    found = compare_answers(data, old, new)
    assert (found.gained, found.lost) == (2, 1)
    assert [(change.row, change.old, change.new, change.old_probability) for change in found.changes] == [
        (1, "", "a", None), (0, "a", "a|b", 0.9), (2, "b|c", "b", 0.6)
    ]  # fmt: skip
    table = {row.label: (row.texts, row.gained, row.lost) for row in found.labels}
    assert table == {"a": (1, 0, 1), "b": (2, 1, 0), "c": (0, 1, 0)}, "also one that no text has, but was given"


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_test_is_scipys(gained: int, lost: int) -> None:
    from scipy.stats import binomtest

    expected = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert mcnemar(gained, lost) == pytest.approx(expected, rel=1e-9)


def test_the_test_of_very_many_texts() -> None:
    assert mcnemar(20_000, 20_000) == 1.0 and mcnemar(0, 40_000) == 0.0
    assert mcnemar(19_800, 20_200) == pytest.approx(0.0460, abs=5e-4)


@pytest.mark.parametrize(
    ("gained", "lost", "words"),
    [
        (0, 0, "Both are right about the same texts."),
        (40, 10, "The new one is better: 40 texts gained, 10 lost."),
        (10, 40, "The new one is worse: 10 texts gained, 40 lost."),
        (12, 10, "The difference could be chance: 12 texts gained, 10 lost."),
        (5, 0, "With fewer than 6 texts gained or lost nothing can be said."),
        (6, 0, "The new one is better: 6 texts gained, 0 lost. Two equally good ones differ as much in 3.1% of"),
        (1, 0, "The difference could be chance: 1 text gained, 0 lost."),
    ],
)
def test_the_verdict(gained: int, lost: int, words: str) -> None:
    found = dataclasses.replace(compared(), gained=gained, lost=lost, p_value=mcnemar(gained, lost))
    assert words in found.verdict and ("McNemar" in found.verdict) == bool(gained + lost)
    assert ("More texts would tell" in found.verdict) == (found.p_value >= 0.05 and gained + lost >= 6)


def test_what_is_printed_steers_no_terminal() -> None:
    found = dataclasses.replace(compared(), only_old=tuple(f"label {n}" for n in range(12)), only_new=("x\x1b",))
    shown = str(found)
    assert "6 texts of test.csv: 50.0% right with the old one, 33.3% with the new one (-16.7 points)." in shown
    assert "No label: 1 text with the old one, 1 with the new one; that is wrong where a text has one." in shown
    assert "Only the old one knows label 0, " in shown and "label 9 and 2 more." in shown
    assert "Lost: 2" in shown and "Gained: 1" in shown and "Wrong with both, in another way: 2" in shown
    assert "\x1b" not in shown and "(none)" in shown
    long = Dataset(("word " * 50,) * 30, ("a",) * 30, Path("long.csv"))
    shown = str(compare_answers(long, answers(*"a" * 30), answers(*"b" * 30)))
    assert "Lost: 5 of 30" in shown and max(map(len, shown.splitlines())) < 200


def test_many_labels_are_shown_from_both_ends() -> None:
    names = [f"l{n:02}" for n in range(30)]
    data = Dataset(tuple(names) * 2, tuple(names) * 2)
    wrong = ["l00" if name != "l00" else "l01" for name in names]
    found = compare_answers(data, answers(*names, *wrong), answers(*wrong[:15], *names[15:], *wrong[:15], *names[15:]))
    assert len(found.labels) == 30
    table = str(found).split("10 of 30 labels whose texts changed\n")[1].split("\n\n")[0]
    assert [line.split()[-2:] for line in table.splitlines()[1:]] == [["0", "1"]] * 5 + [["1", "0"]] * 5


def test_the_csv_file_holds_every_change(tmp_path: Path) -> None:
    found = compared()
    found.to_csv(tmp_path / "changes.csv")
    with open(tmp_path / "changes.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "label", "old", "old_probability", "new", "new_probability", "change", "text"]
    assert [(int(row["row"]), row["change"]) for row in rows] == [(c.row, c.change) for c in found.changes]
    assert rows[0]["new"] == "" and rows[0]["new_probability"] == "0.7500"
    assert rows[3]["text"] == DATA.texts[3] and rows[4]["text"] == "t5 \\ud800"
    assert json.loads(json.dumps(found.to_dict()))["changes"][0]["text"] == "t2"
    with pytest.raises(RetvecLiteError, match="already exists"):
        found.to_csv(tmp_path / "changes.csv")
    found.to_csv(tmp_path / "changes.csv", force=True)
