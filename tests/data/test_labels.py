"""The one rule of what a label is, in every place where labels come in."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal
from tiny_artifact import tiny_artifact, tiny_metadata, tiny_retvec

import retvec_lite as rl
from retvec_lite.data.labels import check_labels, label_of, unknown_rows
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import read_artifact

BAD = ("a\nb", "a\rb", "a\x85b", "a\u2028b", "a\0b", "a\tb", "\x1b[2J", "\x7f", "\u202ebc", "\ud800")
TEXTS = ["wake me", "alarm at noon", "where is it", "track it"]


@pytest.mark.parametrize("label", BAD)
@pytest.mark.parametrize("several", [False, True])
def test_labels_that_break_files_are_refused_wherever_they_come_in(label: str, several: bool, tmp_path: Path) -> None:
    labels = [label, label, "good", "good"]
    rows = [{"text": text, "label": each} for text, each in zip(TEXTS, labels, strict=True)]
    lines = tmp_path / "d.jsonl"
    lines.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for data, given in (
        (TEXTS, labels),
        (rows, None),
        (lines, None),
        (rl.Dataset(tuple(TEXTS), tuple(labels), multi_label=several), None),
        *([(TEXTS, [[each] for each in labels])] if several else []),
    ):
        assert repr(label) in refusal(rl.train, data, given, multi_label=several)


@pytest.mark.parametrize("label", [label for label in BAD if "\ud800" not in label])
def test_labels_that_break_files_are_refused_in_files(label: str, tmp_path: Path) -> None:
    labels = ["b", label, "c"]
    members = {
        "labels.txt": "".join(f"{each}\n" for each in labels),
        "retvec_lite.json": json.dumps(tiny_metadata(labels=labels)),
    }
    for name, content in (("m.tflite", tiny_artifact(members=members)), ("m.retvec", tiny_retvec(labels=labels))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RetvecLiteError, match=r"label"):
            read_artifact(tmp_path / name)


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ("ab", "must be a list of strings"),
        (["a", 1], "must be a list of strings"),
        ({"a": 1, "b": 2}, "must be a list of strings"),
        (None, "must be a list of strings"),
        ([], "at least 2 different labels"),
        (["a"], "at least 2 different labels"),
        (["a", "a"], "at least 2 different labels"),
        (["a", ""], "is empty"),
        (["a", " "], "is empty"),
        (["a", "b\u2028"], "has more than one line"),
        *((["a", label], repr(label)) for label in BAD),
    ],
)
def test_labels_of_a_classifier(labels: Any, problem: str) -> None:
    assert problem in refusal(check_labels, labels)


def test_usual_labels_pass() -> None:
    check_labels(["ham", "spam"])
    check_labels(('other, 🙂 "quoted"', "مرحبا", "a b"))


@pytest.mark.parametrize(
    "value",
    [float("inf"), float("nan"), 10**400, -(10**5000), [1, 2], {}, None, b"a"],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_label(value: object) -> None:
    assert label_of(value) is None
    assert len(refusal(rl.train, TEXTS, [value, value, "a", "a"])) < 300


@pytest.mark.parametrize(
    ("dataset", "problem"),
    [
        (rl.Dataset(("a", "b"), ("x",)), "as many labels as texts"),
        (rl.Dataset(("a", 1), ("x", "y")), "must be strings, not 1"),  # type: ignore[arg-type]
        (rl.Dataset(("a", "b"), ("x", None)), "must be strings, not None"),  # type: ignore[arg-type]
        *(
            (rl.Dataset(("a", "b"), ("x", label)), rf"The label {re.escape(repr(label))} is empty")
            for label in ("", " ")
        ),
        *((rl.Dataset(("a", "b"), ("x", label)), "more than one line") for label in ("y\u2028", "\u2029y")),
        (rl.Dataset(("a", "b"), ("x", "y"), weights=(1.0,)), "as many weights"),
        (rl.Dataset(("a", "b"), ("x", "y"), weights=(1.0, float("nan"))), "finite numbers of at least 0, not nan"),
        (rl.Dataset(("a", "b"), ("x", "y"), weights=(1.0, 10**400)), "finite numbers of at least 0, not 1000"),
    ],
)
def test_datasets_made_by_hand_are_checked(dataset: rl.Dataset, problem: str) -> None:
    with pytest.raises(RetvecLiteError, match=problem):
        rl.train(dataset)


def test_which_rows_are_unknown() -> None:
    assert unknown_rows(["a", "oos", "b"], Path("d.csv"), {"oos"}, "oos").tolist() == [False, True, False]
    assert not unknown_rows(["a", "b"], Path("d.csv"), {"oos"}, None).any(), "that of the training need not occur"
    with pytest.raises(RetvecLiteError, match=r"'other' does not occur in d\.csv \(it has: 'a', 'b'\)"):
        unknown_rows(["a", "b"], Path("d.csv"), {"other"}, "other")
    with pytest.raises(RetvecLiteError, match=r"All texts of d\.csv"):
        unknown_rows(["oos"], Path("d.csv"), {"oos"}, "oos")
