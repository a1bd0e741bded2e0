"""Texts that are kept come back as they were, and newer ones join them by one rule."""

from pathlib import Path

import pytest

from retvec_lite.data.dataset import Dataset, read_dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.learning import joined, read_texts_file, texts_bytes

ODD = (" two\nlines\r\n ", 'quoted "twice", with; a\tTAB', "\u2028\x85\x0b\x00", "text", "日本語 🙂", "0", "\\n", "nan")


def written(dataset: Dataset, path: Path) -> Dataset:
    path.write_bytes(texts_bytes(dataset))
    return read_texts_file(path, dataset.multi_label)


@pytest.mark.parametrize("weights", [(), tuple(0.1 + number for number in range(len(ODD)))])
def test_every_text_comes_back(weights: tuple[float, ...], tmp_path: Path) -> None:
    data = Dataset(ODD, ("label", "a|b", *"abcdef"), weights=weights)
    found = written(data, tmp_path / "texts.jsonl")
    assert (found.texts, found.labels, found.weights) == (data.texts, data.labels, data.weights)
    several = Dataset(ODD, ("a|b", "", *"abcdef"), multi_label=True)
    assert written(several, tmp_path / "texts.jsonl").labels == several.labels


def test_a_person_and_the_reader_can_read_it(tmp_path: Path) -> None:
    data = Dataset(("where is my parcel? 📦", "日本語"), ("delivery", "日"))
    found = written(data, tmp_path / "texts.jsonl")
    assert "日本語" in (tmp_path / "texts.jsonl").read_text(encoding="utf-8")
    again = read_dataset(tmp_path / "texts.jsonl")
    assert (again.texts, again.labels) == (found.texts, found.labels) == (data.texts, data.labels)


def test_half_a_character_becomes_a_mark(tmp_path: Path) -> None:
    assert written(Dataset(("a\ud800b", "c"), ("x", "y")), tmp_path / "texts.jsonl").texts == ("a\ufffdb", "c")


@pytest.mark.parametrize(
    "line",
    [
        '{"text": 1, "label": "a"}',
        "[]",
        "{",
        '{"text": "a"}',
        '{"text": "a", "label": "b", "weight": NaN}',
        "7",
        "\xff",
    ],
)
def test_a_damaged_line_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_bytes(b'{"text": "a", "label": "b"}\n' + line.encode("latin-1") + b"\n")
    with pytest.raises(RetvecLiteError, match="line 2"):
        read_texts_file(path, False)


def test_a_removed_row_is_gone_and_some_weights_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_bytes(b'{"text": "a", "label": "b"}\n\n{"text": "c", "label": "d"}\n')
    assert read_texts_file(path, False).texts == ("a", "c")
    path.write_bytes(b'{"text": "a", "label": "b"}\n{"text": "c", "label": "d", "weight": 2}\n')
    with pytest.raises(RetvecLiteError, match=r"texts\.jsonl is damaged"):
        read_texts_file(path, False)


@pytest.mark.parametrize(
    ("one", "other"),
    [("at 6", "at 7"), ("*****", "*"), (":)", ":("), ("-5", "5"), ("3:0", "0:3"), ("1,000", "1.000"), ("C++", "C#"), ("👍", "👎"), ("?!", "!?")],
)  # fmt: skip
def test_numbers_signs_and_their_order_tell_texts_apart_and_case_does_not(one: str, other: str) -> None:
    """A correction of one must not take the other one away."""
    kept = Dataset((f"Coffee {one}", f"coffee {other}"), ("a", "a"))
    both, lesson = joined(kept, Dataset((f" coffee  {one}",), ("b",)))
    assert both.texts == (f"coffee {other}", f" coffee  {one}") and lesson.corrected == 1


def test_the_newer_label_wins_and_nothing_is_learned_twice() -> None:
    old = Dataset(
        ("one", "two", "Two!", "three", "three"), ("a", "a", "b", "a", "b"), weights=(1.0, 2.0, 3.0, 4.0, 5.0)
    )
    new = Dataset(("TWO", "one", "four", "three", "four"), ("b", "a", "a", "c", "b"))
    # "two" had two labels, and has one from now on; "three" gets a third one; of "four", the last one counts.
    both, lesson = joined(old, new)
    assert (lesson.added, lesson.corrected, lesson.new_labels) == (1, 2, ("c",))
    assert lesson.repeated == 2, "'one', and 'four' the first time"
    assert both.texts == ("one", "TWO", "three", "four") and both.labels == ("a", "b", "c", "b")
    assert both.weights == (1.0, 3.0, 3.0, 3.0), "newer texts are as heavy as older ones on average"
    assert joined(both, new)[1].changes == 0
