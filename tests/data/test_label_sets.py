"""Data where a text may have several labels, or none: read from files and from Python, split, and told from data with one label."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retvec_lite.data.dataset import Dataset, as_dataset, read_dataset
from retvec_lite.data.splits import split
from retvec_lite.data.warnings import check_single, check_trainable, data_warnings
from retvec_lite.errors import RetvecLiteError

SETS = [("a", "b"), (), ("b",), ("a",)]


def write(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.csv", "text,label\n1,b|a\n2,\n3,b\n4,a|a\n"),
        ("d.tsv", "text\tlabel\n1\t b | a |\n2\t|\n3\tb\n4\ta\n"),
        (
            "d.jsonl",
            '{"text":"1","label":["b","a"]}\n{"text":"2","label":[]}\n{"text":"3","label":"b"}\n{"text":"4","label":"a|a"}\n',
        ),
        (
            "d.jsonl",
            '{"text":"1","label":"a|b"}\n{"text":"2","label":null}\n{"text":"3","label":["b"]}\n{"text":"4","label":["a","a"]}\n',
        ),
    ],
)
def test_files_name_several_labels_or_none(tmp_path: Path, name: str, content: str) -> None:
    dataset = read_dataset(write(tmp_path, name, content), multi_label=True)
    assert dataset.label_sets == tuple(SETS) and dataset.classes == ("a", "b") and dataset.multi_label


@pytest.mark.parametrize(
    "labels", [[list(names) for names in SETS], ["a|b", "", "b", "a"], [{"b", "a"}, None, ("b",), "a"]]
)
def test_python_names_several_labels_or_none(labels: list[Any]) -> None:
    assert as_dataset(list("1234"), labels, multi_label=True).label_sets == tuple(SETS)


def test_numbers_and_numpy_values_are_labels(tmp_path: Path) -> None:
    found = as_dataset(["x", "y"], [np.array([3, 1]), [True, np.int64(2)]], multi_label=True)
    assert found.label_sets == (("1", "3"), ("2", "true"))
    path = write(tmp_path, "d.jsonl", '{"text":"x","label":[1,true]}\n')
    assert read_dataset(path, multi_label=True).label_sets == (("1", "true"),)


def test_a_part_of_the_rows_stays_what_it_is() -> None:
    part = as_dataset(list("1234"), ["a|b", "", "b", "a"], multi_label=True).select([1, 0])
    assert part.label_sets == ((), ("a", "b")) and part.multi_label and part.texts == ("2", "1")


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([["a", "b|c"]], {"multi_label": True}, r"the label 'b\|c' holds '\|', which separates labels"),
        ([["a", ["b"]]], {"multi_label": True}, "must be a string"),
        ([{"a": 1}], {"multi_label": True}, "or a list of them"),
        (
            [["a", "b"]],
            {},
            r'is a list of labels: \["a", "b"\]\. Pass --multi-label \(multi_label=True\) if .* several\.$',
        ),
        ([["a", float("nan")]], {"multi_label": True}, "a missing value|must be a string"),
        ([["a\tb"]], {"multi_label": True}, "control character"),
        ([""], {}, "the column 'label' is empty. Pass --multi-label if a text may have no label"),
    ],
)
def test_what_is_no_set_of_labels_is_refused(labels: list[Any], options: Any, message: str) -> None:
    with pytest.raises(RetvecLiteError, match=message):
        as_dataset(["x"], labels, **options)


def test_a_single_label_dataset_is_not_taken_for_several() -> None:
    with pytest.raises(RetvecLiteError, match="one label a text"):
        as_dataset(Dataset(("x",), ("a",)), multi_label=True)


def test_labels_that_look_like_several_are_counted() -> None:
    check_single(["a", "b"], "d.csv")
    with pytest.raises(
        RetvecLiteError,
        match=r"^2 of 3 rows of d\.csv have a '\|' .* such as 'a\|b': .*--multi-label .*--no-multi-label",
    ) as caught:
        check_single(["a|b", "c", "a|c"], "d.csv")
    assert str(caught.value).count(". ") == 0


def test_a_row_without_a_label_tells_how_many_have_several(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", "text,label\n1,a|b\n2,\n3,b\n")
    with pytest.raises(
        RetvecLiteError, match=r"line 3: .* is empty\. Pass --multi-label .* \(1 of 3 rows have a '\|' in theirs\)"
    ):
        read_dataset(path)


def test_two_labels_and_two_texts_of_each_are_needed() -> None:
    check_trainable(as_dataset(list("1234"), ["a|b", "", "b", "a"], multi_label=True))
    with pytest.raises(RetvecLiteError, match="only 'a'"):
        check_trainable(as_dataset(list("12"), ["a", "a"], multi_label=True))
    with pytest.raises(RetvecLiteError, match="has none"):
        check_trainable(as_dataset(list("12"), ["", ""], multi_label=True))
    with pytest.raises(RetvecLiteError, match="1 of 'b'"):
        check_trainable(as_dataset(list("123"), ["a", "a|b", ""], multi_label=True))


def test_rare_labels_are_in_both_parts_of_a_split() -> None:
    labels = ["common|rare"] * 10 + ["common"] * 60 + ["common|other"] * 20 + [""] * 10
    data = as_dataset([str(row) for row in range(100)], labels, multi_label=True)
    assert data.strata[:1] == ("rare",) and data.strata[-1] == ""
    training, validation = split(data, 0.2, seed=0)
    assert len(validation) == 20 and training.multi_label and validation.multi_label
    for name, count in (("rare", 2), ("other", 4), ("common", 18)):
        assert sum(name in names for names in validation.label_sets) == count
    assert sum(not names for names in validation.label_sets) == 2


def test_warnings_count_labels_not_sets() -> None:
    data = as_dataset(["x", "x", *map(str, range(8))], ["a|b", "a", *["a|b"] * 4, *["a"] * 4], multi_label=True)
    assert data_warnings(data) == ["1 text has different labels in different rows: 'x' ('a', 'a|b')."]
    single = as_dataset(list("1234567890"), ["a", "b"] * 5, multi_label=True)
    assert data_warnings(single) == [
        "Every text has exactly one label: without --multi-label, the classifier would know that."
    ]


def test_how_bad_rows_are_left_out_is_told_once_and_not_to_who_does_so(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", "text,label\n1,\n2,\n")
    with pytest.raises(RetvecLiteError) as caught:
        read_dataset(path)
    assert str(caught.value).count("--skip-bad-rows") == 1
    with pytest.raises(RetvecLiteError, match=r"the first: .* Pass --multi-label if a text may have no label\.$"):
        read_dataset(path, skip_bad_rows=True)
