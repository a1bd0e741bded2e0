"""Several files as one data set: lists, folders, patterns, labels in names, and what is no data."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from retvec_lite.data.dataset import Dataset, as_dataset, read_dataset
from retvec_lite.errors import RetvecLiteError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `data` with two tables, a JSON file in a folder of its own, and what is no data."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "data"
    (place / "more").mkdir(parents=True)
    (place / "a.csv").write_text("text,label\nhi,greet\nbye,part\n")
    (place / "b.tsv").write_text("label\ttext\nask\twhere?\n")
    (place / "more" / "c.jsonl").write_text('{"text": "hello", "label": "greet"}\n')
    (place / "notes.md").write_text("no data")
    (place / "_SUCCESS").write_text("")
    return place


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ([Path("data/b.tsv"), Path("data/a.csv")], ("where?", "hi", "bye")),
        ((Path("data/a.csv"),), ("hi", "bye")),
        ("data", ("hi", "bye", "where?", "hello")),
        (Path("data"), ("hi", "bye", "where?", "hello")),
        ("data/*.?sv", ("hi", "bye", "where?")),
        ("data/**/*.jsonl", ("hello",)),
        ([Path("data/more"), Path("data/*.csv"), Path("data/a.csv")], ("hello", "hi", "bye")),
    ],
)
def test_files_are_read_in_their_order_none_twice(folder: Path, given: Any, texts: tuple[str, ...]) -> None:
    found = as_dataset(given)
    assert found.texts == texts
    labels = {"hi": "greet", "hello": "greet", "bye": "part", "where?": "ask"}
    assert found.labels == tuple(labels[text] for text in texts)
    if not isinstance(given, tuple):
        assert read_dataset(given) == found, "one reader"


def test_a_list_of_strings_is_texts_for_training_and_files_for_the_reader(folder: Path) -> None:
    assert as_dataset(["data/a.csv", "data/b.tsv"], ["x", "y"]).texts == ("data/a.csv", "data/b.tsv")
    with pytest.raises(RetvecLiteError, match=r"Strings in a list are texts.*pathlib\.Path\('data/a\.csv'\)"):
        as_dataset(["data/a.csv", "data/b.tsv"])
    assert read_dataset(["data/a.csv", "data/b.tsv"]).texts == ("hi", "bye", "where?")


def test_messages_name_the_file_of_a_row_and_count_over_all(folder: Path) -> None:
    (folder / "a.csv").write_text("text,label\nhi,greet\n,\ntext,label\n")
    (folder / "b.tsv").write_text("text\tlabel\nno label\t\n\t\nwhere?\task\n")
    with pytest.raises(RetvecLiteError, match=r"data/b\.tsv, line 2: the column 'label' is empty"):
        read_dataset("data")
    found = read_dataset("data", skip_bad_rows=True)
    assert found.texts == ("hi", "where?", "hello")
    unread, empty, header, bad = found.left_out
    assert (
        unread == "One file of data is not read: data/notes.md."
        and empty == "2 empty rows skipped."
        and "data/a.csv, line 4." in header
        and "data/b.tsv, line 2" in bad
    )


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"text": ["hi"], "label": ["a"]}),
        pd.Series(["hi"]),
        {"text": ["hi"], "label": ["a"]},
        [("hi", "a")],
        [{"text": "hi", "label": "a"}],
        np.array(["hi"]),
    ],
    ids=lambda data: type(data).__name__,
)
def test_the_reader_of_files_says_where_tables_and_texts_belong(data: Any) -> None:
    with pytest.raises(
        RetvecLiteError, match=rf"this is a {type(data).__name__}\. Pass a table, .* `train`, `check` or `evaluate`"
    ):
        read_dataset(data)


def test_what_several_files_are_called_names_the_first_and_counts_the_others(folder: Path) -> None:
    assert read_dataset([Path("data/a.csv"), Path("data/b.tsv")]).path == Path("data/a.csv and 1 more")
    assert read_dataset("data").path == Path("data") and read_dataset("data/*.csv").path == Path("data/*.csv")


def test_a_file_without_rows_is_an_error_only_where_there_are_no_others(folder: Path) -> None:
    (folder / "a.csv").write_text("text,label\n")
    assert read_dataset("data").texts == ("where?", "hello")
    with pytest.raises(RetvecLiteError, match=r"There are no rows in data/a\.csv\."):
        read_dataset("data/a.csv")


def test_names_of_files_and_folders_are_labels_where_that_is_asked_for(folder: Path) -> None:
    found = read_dataset("data", labels_from="file")
    assert found.labels == ("a", "a", "b", "c") and found.texts == ("hi", "bye", "where?", "hello")
    for name, text in (
        ("spam/1.txt", "win now\n\nfree money\n"),
        ("ham/x.txt", "see you at six\r\n"),
        ("ham/y.csv", "text\nok\nfine\n"),
        ("ham/z.txt", "\n"),
    ):
        place = folder.parent / "mails" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    found = as_dataset(Path("mails"), labels_from="folder")
    assert list(zip(found.texts, found.labels, strict=True)) == [
        *(("see you at six", "ham"), ("ok", "ham"), ("fine", "ham"), ("win now\n\nfree money", "spam"))
    ]
    assert found.left_out == ("1 empty row skipped.",)
    with pytest.raises(
        RetvecLiteError, match=r"The folder mails/spam has no file .* \.csv.* --labels-from .* reads \.txt"
    ):
        read_dataset("mails/spam")


LONG = "Dear all,\r\n\r\nsee you at six.\r\n\tBest,\r\nAnn\r\n"


def documents(folder: Path, *labels: str, count: int, text: str = LONG) -> None:
    for label in labels:
        (folder / label).mkdir(parents=True)
        for number in range(count):
            (folder / label / f"{number}.txt").write_bytes(f"{text}{number}\r\n".encode())


@pytest.mark.parametrize("count", [5, 20])
def test_a_text_file_in_the_folder_of_a_label_is_one_text(tmp_path: Path, count: int) -> None:
    documents(tmp_path / "mails", "ham", "spam", count=count)
    found = read_dataset(tmp_path / "mails", labels_from="folder")
    assert found.labels == ("ham",) * count + ("spam",) * count and not found.left_out
    assert found.texts[0] == "Dear all,\n\nsee you at six.\n\tBest,\nAnn\n0"


def test_few_text_files_of_several_lines_are_asked_about(tmp_path: Path) -> None:
    documents(tmp_path / "lines", "ham", "spam", count=1)
    with pytest.raises(RetvecLiteError, match=r"Each folder has one text file, such as .*0\.txt, and a") as caught:
        read_dataset(tmp_path / "lines", labels_from="folder")
    assert "files by the labels (spam.txt) and pass --labels-from file (labels_from='file')" in str(caught.value)
    documents(tmp_path / "few", "ham", "spam", count=3)
    (note,) = read_dataset(tmp_path / "few", labels_from="folder").left_out
    assert note.startswith("The 6 text files are one text each. If each line is one, name")
    documents(tmp_path / "short", "ham", "spam", count=1, text="")
    assert read_dataset(tmp_path / "short", labels_from="folder").left_out == ()
    # Named by their labels, such files have a text a line.
    (tmp_path / "spam.txt").write_text("win now\nfree money\n")
    assert read_dataset(tmp_path / "spam.txt", labels_from="file").texts == ("win now", "free money")


def test_strays_in_folders_of_documents_are_no_texts_and_told(tmp_path: Path) -> None:
    place = tmp_path / "mails"
    documents(place, "ham", "spam", count=6)
    for stray in (".DS_Store", "ham/.DS_Store", "ham/._0.txt", "__MACOSX/ham/0.txt"):
        (place / stray).parent.mkdir(exist_ok=True, parents=True)
        (place / stray).write_bytes(b"\0\1")
    assert read_dataset(place, labels_from="folder").left_out == ()
    (place / "README.txt").write_text("about these mails")
    (place / "ham" / "Readme.txt").write_text("about ham")
    for stray in ("ham/Thumbs.db", "spam/desktop.ini", "spam/7.eml"):
        (place / stray).write_bytes(b"\0\1")
    found = read_dataset(place, labels_from="folder")
    assert len(found) == 12 and found.classes == ("ham", "spam")
    assert found.left_out == (f"5 files of {place} are not read, such as {place / 'README.txt'}.",)
    assert read_dataset(place / "ham" / "Readme.txt", labels_from="folder").texts == ("about ham",), "given by name"
    (place / "notes.txt").write_text("a note")
    note = read_dataset(place, labels_from="folder").left_out[1]
    assert note == f"{place / 'notes.txt'} lies beside the folders of other labels, so its label is 'mails'."
    documents(tmp_path / "years", "ham/2023", "spam/2023", count=6)
    (note,) = read_dataset(tmp_path / "years", labels_from="folder").left_out
    assert note.startswith("The label of a text is its innermost folder, such as '2023' of ")


def test_a_document_that_cannot_be_read_is_left_out_whole(tmp_path: Path) -> None:
    documents(tmp_path / "mails", "ham", count=6)
    (tmp_path / "mails" / "ham" / "3.txt").write_bytes(b"good\ncaf\xe9\ngood\n")
    with pytest.raises(RetvecLiteError, match=r"3\.txt, line 2: the byte 0xE9"):
        read_dataset(tmp_path / "mails", labels_from="folder")
    found = read_dataset(tmp_path / "mails", labels_from="folder", skip_bad_rows=True)
    assert len(found) == 5 and "1 bad row skipped" in found.left_out[0] and list(found.rows) == [0, 1, 2, 4, 5]


def test_a_repeated_header_is_skipped_where_the_label_is_in_the_name(folder: Path) -> None:
    (folder / "a.csv").write_text("text,label\nhi,greet\ntext,label\nbye,part\n")
    found = read_dataset("data/a.csv", labels_from="file")
    assert found.texts == ("hi", "bye") and "a.csv, line 3" in found.left_out[0]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            "https://example.com/a.csv",
            "https://example.com/a.csv is an address, and files are read from disk: download",
        ),
        ("s3://bucket/a.parquet", "s3://bucket/a.parquet is an address"),
        ("trained", r"trained is the folder of a classifier \(classifier\.safetensors\), where data belong"),
        ("x.tflite", r"x\.tflite is a classifier, where data belong"),
        ("none/*.csv", r"No file matches none/\*\.csv\."),
        ("empty", r"The folder empty has no file whose name ends in [^-]*$"),
        (Path("nowhere.csv"), r"Cannot read nowhere\.csv: No such file"),
    ],
)
def test_what_is_no_data_says_so(folder: Path, given: Any, problem: str) -> None:
    for name in ("trained", "empty"):
        (folder.parent / name).mkdir()
    for name in ("classifier.safetensors", "report.json"):
        (folder.parent / "trained" / name).write_text("{}")
    for read in (as_dataset, read_dataset):
        with pytest.raises(RetvecLiteError, match=problem):
            read(given)


def test_a_data_set_in_memory_has_no_files() -> None:
    data = Dataset(("a",), ("b",))
    assert as_dataset(data) is data
    with pytest.raises(RetvecLiteError, match="No input files"):
        read_dataset([])
