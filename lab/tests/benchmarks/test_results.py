import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.common import Row, Rows
from benchmarks.data.sets import load_corpus
from benchmarks.tables.cells import unlike, with_earlier_heads
from retvec_lite.model.heads import CnnHead


def line_table(rows: list[Row]) -> str:
    return "".join(f"{row['system']} {row['seed']} {row['accuracy']}\n" for row in rows)


def opened(path: Path) -> Rows:
    return Rows(path, ("system", "seed"), line_table)


def row(system: str = "ours", seed: int = 0, epochs: int = 4, accuracy: float = 0.5) -> Row:
    return {"system": system, "seed": seed, "settings": {"epochs": epochs, "rates": (0.0, 0.5)}, "accuracy": accuracy}


def test_rows_are_kept_one_by_one_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "table"
    rows = opened(path)
    assert not rows.has(row())
    rows.add(row())
    rows.add(row(seed=1, accuracy=0.75))
    again = opened(path)
    assert again.has(row())
    assert again.has(row(seed=1))
    assert not again.has(row(seed=2))
    assert not again.has(row(system="fastText"))
    assert [found["accuracy"] for found in again] == [0.5, 0.75]
    assert path.with_suffix(".md").read_text() == "ours 0 0.5\nours 1 0.75\n"


def test_a_row_of_other_settings_counts_as_missing_and_is_replaced(tmp_path: Path) -> None:
    rows = opened(tmp_path / "table")
    rows.add(row(epochs=4))
    assert not rows.has(row(epochs=16))
    rows.add(row(epochs=16, accuracy=0.9))
    assert rows.has(row(epochs=16))
    assert not rows.has(row(epochs=4))
    stored = json.loads((tmp_path / "table.json").read_text())
    assert [found["accuracy"] for found in stored] == [0.9]


def test_two_processes_may_add_rows_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "table"
    first, second = opened(path), opened(path)
    first.add(row(seed=0))
    second.add(row(seed=1))
    first.add(row(seed=2))
    assert [found["seed"] for found in opened(path)] == [0, 1, 2]
    assert first.has(row(seed=1))


def test_lines_that_were_trained_differently_are_called_so() -> None:
    def line(texts: str, epochs: int | None, **more: int) -> Row:
        return {"settings": {"texts": texts, "epochs": epochs, **more}}

    assert unlike([line("a", 4), line("a", 4), line("a", None, autotune=300)]) == ""
    assert "differ in epochs." in unlike([line("a", 4), line("a", None)])
    assert "differ in training texts and epochs." in unlike([line("a", 4), line("b", 5)])
    assert "differ in training texts." in unlike([line("a", 4), line("b", 4, autotune=300)])


def test_lines_of_a_head_that_has_changed_since_are_lines_of_their_own() -> None:
    today = dataclasses.asdict(CnnHead())
    before = {name: size for name, size in today.items() if name != "hidden"}
    rows: list[Row] = [
        {"head": "cnn", "settings": {"texts": "a", "epochs": 4, "head_sizes": today}},
        {"head": "cnn", "settings": {"texts": "a", "epochs": 4, "head_sizes": before}},
        {"head": "whole", "settings": {"texts": "a", "epochs": None, "autotune": 300}},
    ]
    told = with_earlier_heads(rows)
    assert [row["head"] for row in told] == ["cnn", "cnn, earlier", "whole"]
    assert [row["head"] for row in rows] == ["cnn", "cnn", "whole"], "what is written down stays as it was"
    assert "*earlier*: measured before the head got its present sizes" in unlike(told)
    assert unlike(told[::2]) == ""


def write_csv(path: Path, rows: list[tuple[str, ...]], header: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header + "\n" + "".join(",".join(cells) + "\n" for cells in rows), encoding="utf-8")


def test_a_multilingual_task_keeps_languages_beside_its_test_texts(tmp_path: Path) -> None:
    training = [(f"text {number}", f"l{number % 2}", lang) for lang in ("de", "en") for number in range(40)]
    test = [("eins", "l0", "de"), ("one", "l1", "en"), ("two", "l0", "en")]
    write_csv(tmp_path / "massive" / "train.csv", training, "text,label,lang")
    write_csv(tmp_path / "massive" / "test.csv", test, "text,label,lang")
    corpus = load_corpus(tmp_path, "MASSIVE", per_language=20)
    assert len(corpus.training) + len(corpus.validation) == 40
    assert len(corpus.validation) == 4
    assert corpus.test.texts == ("eins", "one", "two")
    assert corpus.languages == ("de", "en", "en")
    assert len(load_corpus(tmp_path, "MASSIVE", rows=20).training) == 18


def test_a_label_that_training_lacks_is_no_text_to_leave_out(tmp_path: Path) -> None:
    folder = tmp_path / "sms_spam"
    write_csv(folder / "train.csv", [(f"text {number}", f"l{number % 2}") for number in range(20)], "text,label")
    write_csv(folder / "test.csv", [("eins", "l0"), ("never trained", "l9")], "text,label")
    with pytest.raises(SystemExit, match=r"Label 'l9' of .*sms_spam has no text among the 20 training texts"):
        load_corpus(tmp_path, "SMS spam")


def test_missing_data_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        SystemExit, match=r"No data set at .*banking77.*train\.csv\. Build it with .*data\.prepare`, or name its folder"
    ):
        load_corpus(tmp_path, "Banking77")


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.speed.engine", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Cannot read ") and done.stderr.count("\n") == 1, done.stderr
