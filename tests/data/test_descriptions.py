"""Names and descriptions of labels: a mapping or a file, and one sentence for each fault."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from retvec_lite.data.dataset import Dataset
from retvec_lite.data.descriptions import is_described, plain_name, read_descriptions
from retvec_lite.data.warnings import check_trainable, data_warnings
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.facts import data_hash

ROWS = (("refund", "wants money back"), ("delivery", "where is my parcel"), ("delivery", "it came late"), ("other", ""))
SAID: dict[str, Any] = {"refund": "wants money back", "delivery": ["where is my parcel", "it came late"], "other": None}


def test_a_mapping_has_none_one_or_several_descriptions_a_label() -> None:
    assert read_descriptions(SAID) == ROWS
    assert read_descriptions({"a b": "", 1: ["x  y", "X y", ""], 2.0: []}) == (
        ("a b", ""), ("1", "x y"), ("1", "X y"), ("1", ""), ("2", ""),
    )  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "csv.gz"])
def test_files_say_the_same(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"labels.{suffix}"
    mark = "\t" if suffix == "tsv" else ";"
    content = f"label{mark}description\n" + "".join(f"{label}{mark}{text}\n" for label, text in ROWS) + f"{mark}\n"
    if suffix.startswith("json"):
        objects = [{"label": label, "description": text or None} for label, text in ROWS]
        content = json.dumps(objects) if suffix == "json" else "\n".join(map(json.dumps, objects))
    path.write_bytes(gzip.compress(content.encode()) if suffix.endswith("gz") else content.encode())
    assert read_descriptions(path) == read_descriptions(str(path)) == ROWS


def test_a_file_of_one_column_has_names_alone(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("label\nrefund\ndelivery\n")
    assert read_descriptions(tmp_path / "labels.csv") == (("refund", ""), ("delivery", ""))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "There are no labels in labels"),
        ({"a": "wants money", "b": "Wants  money"}, "'a' and 'b' have the same description"),
        ({"a": 7}, "description of 'a' must be a string, a list of strings or None, not 7"),
        ({"a": ["x", 7]}, "description of 'a' must be"),
        ({None: "x"}, "name of a label must be a string, not None"),
        ({" ": "x"}, "name of a label must be a string, not ' '"),
        ({"a\nb": "x"}, "label 'a.nb' "),
    ],
)
def test_a_mapping_that_cannot_be_meant_is_refused(given: Any, told: str) -> None:
    with pytest.raises(RetvecLiteError, match=told) as found:
        read_descriptions(given)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("labels.csv", "", "is empty"),
        ("labels.csv", "label,description\n", "There are no labels in"),
        ("labels.csv", "name,description\na,b\n", r"No column 'label' in .*\(found: 'name', 'description'\)\."),
        ("labels.csv", "label,about\na,b\n", r"No column 'description' in .* name the one of the descriptions"),
        ("labels.csv", "label,description\n,money\n", "line 2: the column 'label' is empty"),
        ("labels.csv", "label,description\na,b\nb,b\n", "have the same description"),
        ("labels.jsonl", '{"name": "a"}\n', r"no field 'label' \(found: 'name'\)\."),
        ("labels.jsonl", '{"label": "a", "description": 7}\n', "'description' must be a string, not 7"),
        ("labels.txt", "a\n", "the name of a file of labels ends in"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(tmp_path: Path, name: str, content: str, told: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(RetvecLiteError, match=told) as found:
        read_descriptions(tmp_path / name)
    assert "--text-column" not in str(found.value), "no option names this column"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match=r"Cannot read .*no\.csv: No such file"):
        read_descriptions(tmp_path / "no.csv")


def test_labels_of_texts_are_no_descriptions() -> None:
    assert [is_described(labels) for labels in (None, ["a"], ("a",), {"a": None}, "labels.csv", Path("labels.csv"))] == [
        False, False, False, True, True, True,
    ]  # fmt: skip


def test_described_labels_are_labels_and_count_in_the_hash() -> None:
    data = Dataset(("hi",), ("greeting",))
    described = Dataset(("hi",), ("greeting",), descriptions=ROWS)
    assert described.classes == ("delivery", "greeting", "other", "refund")
    assert described.smallest_label == ("delivery", 0) and data.smallest_label == ("greeting", 1)
    assert described.select([]).classes == ("delivery", "other", "refund"), "a part of the texts keeps what labels mean"
    hashes = {data_hash(data), data_hash(described), data_hash(Dataset(("hi",), ("greeting",), descriptions=ROWS[:1]))}
    assert len(hashes) == 3


def test_what_says_nothing_cannot_be_trained_on() -> None:
    check_trainable(Dataset((), (), descriptions=(("refund", ""), ("7", "seven"))))
    check_trainable(Dataset((), (), descriptions=(("退款", ""), ("快递", ""))))
    check_trainable(Dataset(("seven",), ("7",), descriptions=(("refund", ""), ("7", ""))))
    for wrong, told in ((("7", ""), "what the label '7' of"), (("7", "?!"), "what the label '7' of")):
        with pytest.raises(RetvecLiteError, match=told):
            check_trainable(Dataset((), (), descriptions=(("refund", ""), wrong)))
    with pytest.raises(RetvecLiteError, match="2 different labels, but has only 'refund'"):
        check_trainable(Dataset((), (), descriptions=(("refund", ""), ("refund", "money"))))


def test_warnings_of_labels_without_texts() -> None:
    assert data_warnings(Dataset((), (), descriptions=ROWS)) == []
    found = data_warnings(Dataset(("hi",), ("greeting",), descriptions=ROWS[:1]))
    assert found == ["2 labels have fewer than 5 texts: 'refund' (0), 'greeting' (1). Add some."]


def test_names_are_read_as_people_write_them() -> None:
    assert [plain_name(label) for label in ("card_arrival", "cardArrival", "Sci/Tech", "SPAM")] == [
        "card arrival", "card Arrival", "Sci Tech", "SPAM",
    ]  # fmt: skip
