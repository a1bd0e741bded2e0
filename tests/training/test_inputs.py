"""What newcomers train on and evaluate with: a spreadsheet's file, a DataFrame, gaps in both; and that the report tells of them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Main
from fitted import asked
from tiny_artifact import LABELS as TINY_LABELS
from tiny_data import tiny_dataset

import retvec_lite as rl

DATA = tiny_dataset(12)
FRAME = pd.DataFrame({"message": DATA.texts, "category": DATA.labels})
COLUMNS = ("--text-column", "message", "--label-column", "category")


def test_a_spreadsheet_is_trained_on_in_one_try(tmp_path: Path, main: Main) -> None:
    table, out = tmp_path / "Tabelle.csv", tmp_path / "out"
    content = FRAME.to_csv(index=False, sep=";", lineterminator="\r\n") + ";\r\n" * 3
    table.write_text(content, encoding="utf-8-sig", newline="")
    code, printed, errors = main("train", str(table), *COLUMNS, "--out", str(out), "--head", "linear")
    assert code == 0, errors
    assert "3 empty rows skipped." in printed.replace("\n", " ")
    facts = json.loads((out / "report.json").read_text(encoding="utf-8"))["training"]
    assert facts["training_texts"] == len(DATA) and any("3 empty rows skipped." in text for text in facts["warnings"])


@pytest.mark.parametrize("name", ["d.csv", "d.json", "d.jsonl.gz", "d.parquet"])
def test_every_format_is_read_for_training(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    if name == "d.csv":
        FRAME.to_csv(file, index=False, sep=";", encoding="utf-16")
    elif name == "d.json":
        FRAME.to_json(file, orient="records")
    elif name == "d.jsonl.gz":
        file.write_bytes(gzip.compress(FRAME.to_json(orient="records", lines=True).encode()))
    else:
        pytest.importorskip("pyarrow")
        FRAME.to_parquet(file)
    inputs = asked(file, text_column="message", label_column="category", validation=file)
    assert inputs.training.texts == DATA.texts and inputs.training.labels == DATA.labels
    assert isinstance(inputs.validation, rl.Dataset) and inputs.validation.texts == DATA.texts


def test_bad_rows_are_skipped_where_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text(FRAME.to_csv(index=False, sep="#") + "only a text#\n#b\n#\ntoo#many#cells\n", encoding="utf-8")
    names = {"text_column": "message", "label_column": "category", "delimiter": "#"}
    with pytest.raises(rl.RetvecLiteError, match="line 53: 3 cells"):
        asked(file, **names)
    inputs = asked(file, **names, skip_bad_rows=True)
    assert len(inputs.training) == len(DATA) and inputs.warnings[0] == f"{file}: 1 empty row skipped."
    assert inputs.warnings[1].startswith(f"{file}: 3 bad rows skipped, the first: {file}, line 53: 3 cells")


FORMS: dict[str, Any] = {
    "frame": FRAME,
    "records": FRAME.to_dict("records"),
    "pairs": list(zip(DATA.texts, DATA.labels, strict=True)),
    "two Series": (FRAME["message"], FRAME["category"]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_taken_for_training_and_validation(form: str) -> None:
    inputs = asked(FORMS[form], text_column="message", label_column="category", validation=FORMS[form])
    assert inputs.training.texts == DATA.texts
    assert isinstance(inputs.validation, rl.Dataset) and inputs.validation.labels == DATA.labels


def test_a_data_frame_is_trained_on_and_evaluated() -> None:
    """With integers as labels, and a gap that makes floats of them."""
    numbers = {label: number for number, label in enumerate(DATA.classes)}
    frame = FRAME.assign(category=FRAME["category"].map(numbers))
    with_gap = pd.concat([frame, pd.DataFrame({"message": [None]})])
    assert with_gap["category"].dtype == float
    classifier = rl.train(with_gap, text_column="message", label_column="category", head="linear")
    assert classifier.labels == ("0", "1", "2", "3")
    assert "the given data: 1 empty row skipped." in classifier.training["warnings"]
    found = rl.evaluate(classifier, frame, text_column="message", label_column="category", typos=())
    assert found.texts == len(DATA) and found.accuracy > 0.9 and found.left_out == ()


def test_an_exported_file_is_evaluated_on_what_newcomers_have(tiny_model: str, tmp_path: Path, main: Main) -> None:
    frame = pd.DataFrame({"m": ["12", "AB", "x", None, "lost"], "c": [*TINY_LABELS, None, None]})
    frame.to_csv(tmp_path / "d.csv", sep=";", index=False, encoding="utf-16")
    frame.to_json(tmp_path / "d.json", orient="records")
    for name in ("d.csv", "d.json"):
        command = ("evaluate", tiny_model, "--data", str(tmp_path / name), "--text-column", "m", "--label-column", "c")
        assert main(*command)[0] == 2
        code, printed, _ = main(*command, "--skip-bad-rows", "--typos", "0")
        assert code == 0 and printed.startswith("3 texts of d."), printed
        assert "1 empty row skipped." in printed and "1 bad row skipped, the first:" in printed
        found = json.loads(main(*command, "--skip-bad-rows", "--typos", "0", "--json")[1])
        assert found["texts"] == 3 and len(found["left_out"]) == 2
    found = rl.evaluate(rl.load(tiny_model), frame, text_column="m", label_column="c", skip_bad_rows=True, typos=())
    assert (
        found.texts == 3 and "the given data, row 4: the column 'c' is empty. Pass --multi-label" in found.left_out[1]
    )


def test_what_is_no_data_is_told() -> None:
    with pytest.raises(rl.RetvecLiteError, match=r"^5 is no data\."):
        asked(5)
    with pytest.raises(rl.RetvecLiteError, match=r"^There is nothing to learn from: pass texts"):
        asked(None)


@pytest.mark.parametrize("share", ["20%", "0,2", "20 %"])
def test_a_mistyped_share_is_told(share: str) -> None:
    with pytest.raises(rl.RetvecLiteError, match=rf"or a share such as 0\.2, not '{share}'\.$"):
        asked(DATA, validation=share)
