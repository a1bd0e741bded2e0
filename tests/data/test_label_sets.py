"""Data where a text may have several labels, or none: read from files and from Python, split, and told from data with one label."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refusal

import retvec_lite as rl
from retvec_lite.data.dataset import Dataset, as_dataset, read_dataset
from retvec_lite.data.warnings import check_separated, check_single, check_trainable, data_warnings
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


LISTS = {
    "Python": "['a', 'b']",
    "Python, a tuple": "('a', 'b')",
    "Python, a set": "{'b', 'a'}",
    "JSON": '["a", "b"]',
    "NumPy": "['a' 'b']",
    "NumPy, many": "['a'\n 'b']",
    "NumPy, as pandas shows it": "array(['a', 'b'], dtype=object)",
    "PostgreSQL": "{a,b}",
    "Spark": "[a, b]",
    "Label Studio": '{"choices": ["a", "b"]}',
}
"""Who writes a list into a cell -> how."""


@pytest.mark.parametrize("cell", LISTS.values(), ids=LISTS)
def test_a_list_in_a_cell_is_several_labels_or_refused_and_never_a_class(tmp_path: Path, cell: str) -> None:
    rows = [{"text": "1", "label": cell}, {"text": "2", "label": "b"}, {"text": "3", "label": "a"}]
    with (tmp_path / "d.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, ["text", "label"])
        table.writeheader()
        table.writerows(rows)
    for data in (tmp_path / "d.csv", rows):
        found = as_dataset(data, multi_label=True)
        assert found.label_sets == (("a", "b"), ("b",), ("a",)) and found.classes == ("a", "b")
        for given in (None, False):
            told = refusal(as_dataset, data, multi_label=given)
            assert (
                "'label' is a list of labels: [" in told
                and "--multi-label (multi_label=True)" in told
                and "skip" not in told
            )


@pytest.mark.parametrize(
    "cell", ["['a']", "('a',)", "{'a'}", '["a"]', "array(['a'], dtype=object)", '{"choices": ["a"]}', "[ 'a' ]"]
)
def test_a_list_of_one_label_is_that_label(tmp_path: Path, cell: str) -> None:
    for several in (None, True):
        assert as_dataset(["x"], [cell], multi_label=several).labels == ("a",)
        assert as_dataset(["x"], [["a"]], multi_label=several).labels == ("a",)
    path = write(tmp_path, "d.jsonl", '{"text":"x","label":["a"]}\n{"text":"y","label":{"choices":["b"]}}\n')
    assert read_dataset(path).labels == ("a", "b") and not read_dataset(path).multi_label


@pytest.mark.parametrize("cell", ["[]", "{}", "()", "set()", " [ ] ", '{"choices": []}', "['']"])
def test_an_empty_list_is_no_label(cell: str) -> None:
    assert as_dataset(["x", "y"], [cell, "a"], multi_label=True).label_sets == ((), ("a",))
    with pytest.raises(RetvecLiteError, match=r"the column 'label' is empty\. Pass --multi-label"):
        as_dataset(["x", "y"], [cell, "a"])


def test_words_in_brackets_are_labels() -> None:
    labels = ["[spam]", "(late)", "{x}", "billing [old]", "(a) or (b)", "(1)", "(a, b)", ":-)", "a, b", "[a] [b]", "[1"]
    assert as_dataset(list("0123456789x"), labels).labels == tuple(labels)
    assert as_dataset(["x", "y"], ["[a, b]", "[a]"], multi_label=True).label_sets == (("a", "b"), ("a",)), "Spark's"


@pytest.mark.parametrize("cell", ["[0 1 0]", "[0, 1, 0]", "[0. 1. 0.]", [0, 1, 0], np.array([1, 0, 0])])
def test_a_row_of_zeros_and_ones_is_no_list_of_labels(cell: Any) -> None:
    for several in (False, True):
        with pytest.raises(RetvecLiteError, match=r"a row of numbers, one for each label: \[.* List the names"):
            as_dataset(["x"], [cell], multi_label=several)


@pytest.mark.parametrize(
    ("cell", "problem"),
    [('{"a": 1}', "must be a string"), ('[[0, 5, "PER"]]', "must be a string"), ("[null]", "not null")],
)
def test_what_lists_something_else_is_refused(cell: str, problem: str) -> None:
    for several in (False, True):
        with pytest.raises(RetvecLiteError, match=problem):
            as_dataset(["x"], [cell], multi_label=several)


@pytest.mark.parametrize(
    ("labels", "count", "sign"),
    [
        (["a, b", "a", "b"], 1, ","),
        (["a, urgent", "a", "b, urgent", "b"], 2, ","),
        (["a;b", "b;c", "c;a"], 3, ";"),
        (["a#b", "b", "a"], 1, "#"),
        (["#a#b", "#b", "#a"], 1, "#"),
        (["<a><b>", "<a>", "<b>"], 1, "><"),
        (["a/b", "a", "b"], 1, "/"),
        (["a + b", "a", "b"], 1, "+"),
        (["a & b", "a", "b", "c"], 1, "&"),
    ],
)
def test_several_labels_with_another_sign_between_them_are_refused(labels: list[str], count: int, sign: str) -> None:
    texts = [f"text {row}" for row in range(len(labels))]
    for several in (None, True):
        told = refusal(rl.check, texts * 2, labels * 2, multi_label=several)
        assert f"{2 * count} of {2 * len(labels)} labels of the given data" in told and f"several with {sign!r}" in told
        assert "write | in its place" in told and "--no-multi-label" in told
    check_trainable(as_dataset(texts * 2, labels * 2, multi_label=False))


@pytest.mark.parametrize(
    "labels",
    [
        ["Smith, John", "Smith, Jane", "Doe, John", "Doe, Jane"],
        ["card", "card/lost", "card/stolen", "account", "account/lost"],
        ["C#", "F#", "C", "C++"],
        ["#a", "#b"],
        ["World", "Sports", "Business", "Sci/Tech"],
        ["food, drinks", "snacks"],
        ["", "a"],
    ],
)
def test_names_with_signs_are_one_label(labels: list[str]) -> None:
    check_separated(labels, "d.csv")


def test_a_part_of_the_rows_stays_what_it_is() -> None:
    part = as_dataset(list("1234"), ["a|b", "", "b", "a"], multi_label=True).select([1, 0])
    assert part.label_sets == ((), ("a", "b")) and part.multi_label and part.texts == ("2", "1")


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([["a", "b|c"]], {"multi_label": True}, r"the label 'b\|c' holds '\|', which separates labels"),
        ([["a", ["b"]]], {"multi_label": True}, "must be a string"),
        ([{"a": 1}], {"multi_label": True}, "or a list of them"),
        ([["a", float("nan")]], {"multi_label": True}, "a missing value|must be a string"),
        ([["a\tb"]], {"multi_label": True}, "control character"),
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
    training, validation = data.split(0.2, seed=0)
    assert len(validation) == 20 and training.multi_label and validation.multi_label
    for name, count in (("rare", 2), ("other", 4), ("common", 18)):
        assert sum(name in names for names in validation.label_sets) == count
    assert sum(not names for names in validation.label_sets) == 2


def test_warnings_count_labels_not_sets() -> None:
    data = as_dataset(["x", "x", *map(str, range(8))], ["a|b", "a", *["a|b"] * 4, *["a"] * 4], multi_label=True)
    assert data_warnings(data) == ["1 text has different labels in different rows: 'x' ('a', 'a|b')."]
    single = as_dataset(list("1234567890"), ["a", "b"] * 5, multi_label=True)
    assert data_warnings(single) == [
        "Every text has exactly one label: without --multi-label (multi_label), the classifier would know that."
    ]


def test_how_bad_rows_are_left_out_is_told_once_and_not_to_who_does_so(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", "text,label\n1,\n2,\n")
    assert refusal(read_dataset, path).count("--skip-bad-rows") == 1
    with pytest.raises(
        RetvecLiteError, match=r"the first: .* Pass --multi-label \(multi_label=True\) if a text may have no label\.$"
    ):
        read_dataset(path, skip_bad_rows=True)
