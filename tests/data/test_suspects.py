"""What held-out answers say about labels: wrong ones first, with their row, and no text of a kind that is told elsewhere."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retvec_lite.data.dataset import Dataset, as_dataset, read_dataset
from retvec_lite.data.outcome import Outcome
from retvec_lite.data.suspects import Check, HeldOutAnswers, check_answers, find_twins
from retvec_lite.data.typos import Way
from retvec_lite.errors import RetvecLiteError

LABELS = ("alarm", "music", "weather")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def answered(dataset: Dataset, rows: list[list[float]], labels: tuple[str, ...] = LABELS) -> Check:
    return check_answers(
        HeldOutAnswers(dataset, (), {Way.CLEAN: Outcome.of(dataset, dataset.texts, np.array(rows, np.float32), labels)})
    )


def sound(texts: int = 10) -> tuple[list[str], list[str], list[list[float]]]:
    """Texts of three labels, which all are answered rightly, more or less surely; no two are copies."""
    labels = [label for label in LABELS for _ in range(texts)]
    rows = [[0.7 + 0.02 * (row % 10) if name == label else 0.1 for name in LABELS] for row, label in enumerate(labels)]
    return [f"{label} {LETTERS[row // 26]}{LETTERS[row % 26]}" for row, label in enumerate(labels)], labels, rows


def test_good_labels_are_not_suspicious() -> None:
    texts, labels, rows = sound()
    found = answered(as_dataset(texts, labels), rows)
    assert (found.texts, found.suspects, found.outsiders, found.copies, found.twins, found.small) == (
        30,
        (),
        (),
        (),
        (),
        (),
    )
    assert found.repeats == 0 and "0 may have a wrong label" in str(found)


def test_wrong_labels_are_ranked_and_explained() -> None:
    texts, labels, rows = sound()
    labels[3], labels[25] = "music", "alarm"
    rows[25] = [0.12, 0.08, 0.8]
    rows[3] = [0.97, 0.01, 0.02]
    first, second = answered(as_dataset(texts, labels), rows).suspects
    assert (first.row, first.label, first.suggestion, first.text) == (3, "music", "alarm", texts[3])
    assert first.why == "taken for 'alarm' with 97%" and first.score == pytest.approx(0.99)
    assert (second.row, second.suggestion, second.why) == (25, "weather", "taken for 'weather' with 80%")


def test_a_slightly_less_probable_label_is_not_suspicious() -> None:
    texts, labels, rows = sound()
    rows[4] = [0.4, 0.5, 0.1]
    assert answered(as_dataset(texts, labels), rows).suspects == ()


def test_of_copies_under_several_labels_the_rarer_label_is_suspicious() -> None:
    texts, labels, rows = sound()
    for place, text, label in ((0, "wake me up", "alarm"), (1, "Wake me up!", "alarm"), (2, "wake me up", "music")):
        texts[place], labels[place], rows[place] = text, label, [0.5, 0.4, 0.1]
    found = answered(as_dataset(texts, labels), rows)
    ((group,), (suspect,)) = found.contradictions, found.suspects
    assert (group.rows, group.labels, found.repeats) == ((0, 1, 2), ("alarm", "music"), 2)
    assert (suspect.row, suspect.suggestion, suspect.why) == (2, "alarm", "a copy has another label")
    assert "Copies under different labels" in str(found) and "alarm, music" in str(found)


def test_texts_of_no_label_get_no_suggestion() -> None:
    texts, labels, rows = sound()
    texts[7], rows[7] = "asdf qwer", [0.33, 0.35, 0.32]
    found = answered(as_dataset(texts, labels), rows)
    (outsider,) = found.outsiders
    assert (outsider.row, outsider.suggestion, outsider.why) == (7, "", "no label has more than 35%")
    assert found.suspects == ()


def test_one_label_under_two_names_is_told_and_its_texts_are_not_suspicious() -> None:
    draw = np.random.default_rng(0)
    texts, labels, rows = sound(40)
    for row, label in enumerate(labels):
        if label != "weather":
            share = draw.uniform(0.02, 0.93)
            rows[row] = [share, 0.95 - share, 0.05]
    found = answered(as_dataset(texts, labels), rows)
    (pair,) = found.twins
    assert (pair.first, pair.second) == ("alarm", "music") and 0.4 <= pair.confused <= 0.65
    assert found.suspects == ()


def test_labels_that_are_told_apart_are_no_twins() -> None:
    texts, labels, rows = sound(40)
    for row in range(0, 80, 4):  # every fourth text of two labels is taken for the other one
        rows[row][0], rows[row][1] = rows[row][1], rows[row][0]
    assert answered(as_dataset(texts, labels), rows).twins == ()


def test_small_labels_count_different_texts() -> None:
    texts = [*sound()[0], "rain tomorrow at 7", "Rain tomorrow at 8!", "snow"]
    labels, rows = [*sound()[1], *["snow"] * 3], [[*row, 0.0] for row in sound()[2]] + [[0.0, 0.0, 0.0, 1.0]] * 3
    found = answered(as_dataset(texts, labels), rows, ("alarm", "music", "snow", "weather"))
    assert ("snow", 2) in found.small and "Labels with fewer than 5 different texts" in str(found)


def test_several_labels_lack_one_or_have_one_too_many() -> None:
    labels = [["alarm"], ["alarm", "music"], [], ["weather"]]
    rows = [[0.9, 0.1, 0.98], [0.01, 0.9, 0.2], [0.2, 0.2, 0.2], [0.1, 0.1, 0.9]]
    data = as_dataset(["wake me", "play a song", "hello", "rain"], labels, multi_label=True)
    first, second = answered(data, rows).suspects
    assert (first.row, first.label, first.suggestion) == (1, "alarm|music", "music")
    assert first.why == "has 'alarm' with 1% only"
    assert (second.row, second.suggestion, second.why) == (0, "alarm|weather", "taken for 'weather' with 98%")


def test_rows_are_those_of_the_file_whatever_was_left_out(tmp_path: Path) -> None:
    texts, labels, rows = sound()
    labels[3], rows[3] = "music", [0.97, 0.02, 0.01]
    path = tmp_path / "d.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows(
            [("text", "label"), ("", ""), ("text", "label"), ("a", "b", "c"), *zip(texts, labels, strict=True)]
        )
    found = answered(read_dataset(path, skip_bad_rows=True), rows)
    assert [suspect.row for suspect in found.suspects] == [6]
    heavy = as_dataset(["left out", *texts], ["music", *labels], sample_weight=[0.0, *[1.0] * len(texts)])
    assert [suspect.row for suspect in answered(heavy, rows).suspects] == [4]


def test_the_list_is_a_csv_file_that_is_not_replaced_unasked(tmp_path: Path) -> None:
    texts, labels, rows = sound()
    texts[3], labels[3], rows[3] = 'say "hi",\nthen =1+1 \ud800', "music", [0.97, 0.02, 0.01]
    texts[7], rows[7] = "asdf qwer", [0.33, 0.35, 0.32]
    found, path = answered(as_dataset(texts, labels), rows), tmp_path / "out.csv"
    found.to_csv(path)
    with path.open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [
            ["row", "label", "suggestion", "score", "text"],
            ["3", "music", "alarm", "0.9800", 'say "hi",\nthen =1+1 \\ud800'],
            ["7", "alarm", "", "0.6500", "asdf qwer"],
        ]
    with pytest.raises(RetvecLiteError, match="already exists"):
        found.to_csv(path)
    found.to_csv(path, force=True)


def test_the_worst_ten_are_shown_on_one_line_each() -> None:
    texts, labels, rows = sound()
    for row in range(10, 22):
        labels[row], rows[row] = "alarm", [0.001 * (row + 1), 0.97, 0.01]
        texts[row] = f"line {LETTERS[row]}\nand \x1b[2J" + "very " * 30
    shown = str(answered(as_dataset(texts, labels), rows))
    assert "Labels that may be wrong (10 of 12)" in shown and "\x1b" not in shown
    assert shown.count("taken for 'music' with 97%") == 10 and "line a" not in shown
    assert max(map(len, shown.splitlines())) < 120


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ([[20, 22, 1], [19, 21, 0], [0, 1, 40]], ["a", "b", 41]),
        ([[2, 5, 0], [9, 30, 1], [0, 1, 40]], ["a", "b", 14]),
        ([[38, 4, 1], [5, 35, 0], [0, 1, 40]], None),  # told apart
        ([[20, 22], [19, 21]], None),  # no other label
        ([[14, 14, 14], [15, 13, 13], [12, 14, 15]], None),  # nothing is told from anything
        ([[30, 33, 5], [31, 30, 6], [9, 11, 1]], None),  # nor is the third, rare one
        ([[1, 2, 0], [2, 1, 0], [0, 0, 40]], None),  # too few to tell
        ([[0, 10, 0], [0, 0, 0], [0, 0, 40]], None),  # no text of b was there
    ],
    ids=str,
)
def test_two_labels_that_may_be_one(table: list[list[int]], found: list[Any] | None) -> None:
    """The table says how many texts of each label (rows) were answered with which (columns)."""
    names = "abcd"[: len(table)]
    labels = [names[row] for row, counts in enumerate(table) for _ in range(sum(counts))]
    guess = [column for counts in table for column, count in enumerate(counts) for _ in range(count)]
    texts = [f"text {place}" for place in range(len(labels))]
    twins = find_twins(as_dataset(texts, labels), names, np.eye(len(table), dtype=np.float32)[guess])
    assert [[pair.first, pair.second, pair.texts] for pair in twins] == ([found] if found else [])
