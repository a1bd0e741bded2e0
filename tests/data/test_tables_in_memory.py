"""Labelled texts in memory: tables of any library, records, pairs, and what becomes of labels that are no strings."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from retvec_lite.data.dataset import Dataset, as_dataset
from retvec_lite.errors import RetvecLiteError

TEXTS, LABELS = ["wake me", "play jazz", "hello"], ["alarm", "music", "chat"]
FRAME = pd.DataFrame({"id": [7, 8, 9], "text": TEXTS, "label": LABELS}, index=[5, 3, 1])


class Columns:
    """A table of a library that is not installed here: Polars, Hugging Face datasets."""

    def __init__(self, **columns: list[Any]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("not row by row")


FORMS: dict[str, Any] = {
    "pandas": FRAME,
    "pandas, Arrow strings and categories": FRAME.astype({"text": "string", "label": "category"}),
    "another library": Columns(text=TEXTS, label=np.array(LABELS)),
    "mapping": {"text": np.array(TEXTS), "label": LABELS},
    "records": FRAME.to_dict("records"),
    "pairs": list(zip(TEXTS, LABELS, strict=True)),
    "pairs as lists": [[text, label] for text, label in zip(TEXTS, LABELS, strict=True)],
    "generator of pairs": (pair for pair in zip(TEXTS, LABELS, strict=True)),
    "two Series": (FRAME["text"], FRAME["label"]),
    "two lists": (TEXTS, LABELS),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_rows(form: str) -> None:
    data = as_dataset(FORMS[form])
    assert (data.texts, data.labels, data.left_out) == (tuple(TEXTS), tuple(LABELS), ())


def test_tables_of_other_libraries() -> None:
    polars = pytest.importorskip("polars")
    assert as_dataset(polars.DataFrame({"text": TEXTS, "label": LABELS})).texts == tuple(TEXTS)
    several = polars.DataFrame({"text": ["x", "y"], "label": [["b", "a"], None]})
    assert as_dataset(several, multi_label=True).labels == ("a|b", "")
    with pytest.raises(RetvecLiteError, match="Collect it into a DataFrame first"):
        as_dataset(polars.LazyFrame({"text": TEXTS, "label": LABELS}))


def test_an_arrow_table() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    data = as_dataset(pyarrow.table({"text": [*TEXTS, None], "label": [1, 2, 3, None]}))
    assert (data.texts, data.labels, data.left_out) == (tuple(TEXTS), ("1", "2", "3"), ("1 empty row skipped.",))


def test_columns_have_the_names_that_are_given() -> None:
    renamed = FRAME.rename(columns={"text": "message", "label": "kind"})
    for data in (renamed, renamed.to_dict("records"), renamed.to_dict("list")):
        assert as_dataset(data, text_column="message", label_column="kind").labels == tuple(LABELS)
        with pytest.raises(
            RetvecLiteError,
            match=r"'text' in the given data \(found: 'id', 'message', 'kind'\)\. Name it with text_column",
        ):
            as_dataset(data)


def test_rows_with_gaps() -> None:
    nothing = [None, float("nan"), pd.NA, pd.NaT, np.float32("nan")]
    frame = pd.DataFrame({"text": [*TEXTS, *nothing], "label": [0, 1, 1, *reversed(nothing)]}, dtype=object)
    data = as_dataset(frame)
    assert (data.labels, data.left_out) == (("0", "1", "1"), ("5 empty rows skipped.",))
    frame.loc[0, "text"] = frame.loc[1, "label"] = None
    with pytest.raises(RetvecLiteError, match=r"the given data, row 0: the column 'text' is empty\."):
        as_dataset(frame)
    data = as_dataset(frame, skip_bad_rows=True)
    assert data.texts == ("hello",) and data.left_out[1].startswith(
        "2 bad rows skipped, the first: the given data, row 0"
    )
    assert as_dataset(frame["text"], frame["label"], skip_bad_rows=True).texts == ("hello",)


def test_weights_are_left_out_with_their_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"text": ["a", None, "b", "c", "d"], "label": ["x", None, "y", None, "x"], "w": [1.0, None, 2.0, 3.0, 0.0]}
    )
    assert as_dataset(frame[frame.text != "c"], sample_weight=frame.w[frame.text != "c"]).weights == (1.0, 2.0)
    data = as_dataset(frame, sample_weight=frame.w, skip_bad_rows=True)
    assert data.texts == ("a", "b") and data.weights == (1.0, 2.0)
    assert as_dataset(frame, sample_weight=[5, 6, 7], skip_bad_rows=True).weights == (5.0, 6.0, 7.0), "one a text"
    with pytest.raises(RetvecLiteError, match="sample_weight has 4 numbers, but there are 3 texts"):
        as_dataset(frame, sample_weight=[1.0] * 4, skip_bad_rows=True)
    frame[frame.text != "c"].to_json(tmp_path / "d.json", orient="records")
    for given in (tmp_path / "d.json", as_dataset(tmp_path / "d.json")):
        assert as_dataset(given, sample_weight=[1, 2, 3]).weights == (1.0, 2.0, 3.0)


def test_labels_that_are_no_strings_become_strings_as_json_writes_them() -> None:
    def labels(column: Any) -> tuple[str, ...]:
        return as_dataset(pd.DataFrame({"text": ["x"] * len(column), "label": column})).labels

    assert labels([0, 1]) == labels(np.array([0.0, 1.0])) == labels(pd.array([0, 1])) == ("0", "1")
    assert labels([True, False]) == ("true", "false")
    # Pandas turns integers into floats where a row is empty.
    frame = pd.concat([pd.DataFrame({"text": ["a", "b"], "label": [3, 4]}), pd.DataFrame({"text": [None]})])
    assert frame["label"].dtype == float and as_dataset(frame).labels == ("3", "4")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (5, "list of pairs"),
        ("x", "Cannot read x: the name of a labelled file"),
        (["a", "b"], "list of pairs"),
        ([("a", "b", "c")], "list of pairs"),
        ({"text": "a", "label": "b"}, "list of records"),
        (["text"], "list of pairs"),
        ((["a"], ["b", "c"]), "1 text and 2 labels were given"),
        (pd.concat([FRAME, FRAME], axis=1), "appears twice"),
        (pd.DataFrame({"text": [5], "label": ["a"]}), "row 0: 'text' must be a string, not 5"),
        (pd.DataFrame({"text": ["a"], "label": [object]}), "row 0: 'label' must be a string, a boolean or a number"),
        ([], "There are no rows in the given data"),
        (pd.DataFrame({"text": [], "label": []}), "There are no rows in the given data"),
    ],
)  # fmt: skip
def test_other_data_are_one_sentence(data: Any, problem: str) -> None:
    with pytest.raises(RetvecLiteError, match=problem):
        as_dataset(data)


def test_labels_are_no_string() -> None:
    with pytest.raises(RetvecLiteError, match="label_column"):
        as_dataset(FRAME, "label")


def test_a_dataset_stays_what_it_is() -> None:
    data = Dataset(("a",), ("b",))
    assert as_dataset(data) is data


def test_rows_are_counted_from_0_and_lines_from_1(tmp_path: Path) -> None:
    rows = [{"text": "hi", "label": "a"}, {"text": "you", "label": "b"}, {"text": "x", "label": ""}]
    (tmp_path / "d.json").write_text(json.dumps(rows))
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pd.DataFrame(rows).to_csv(tmp_path / "d.csv", index=False)
    files = {"d.json": "row 2", "d.jsonl": "line 3", "d.csv": "line 4"}
    if importlib.util.find_spec("pyarrow"):
        pd.DataFrame(rows).to_parquet(tmp_path / "d.parquet")
        files["d.parquet"] = "row 2"
    for data, place in {**{tmp_path / name: place for name, place in files.items()}, None: "row 2"}.items():
        with pytest.raises(RetvecLiteError, match=rf", {place}: the column 'label' is empty"):
            as_dataset(data or pd.DataFrame(rows))
        assert as_dataset(data or rows, skip_bad_rows=True).given_rows == range(2)
