"""The judge of few texts: its cells, what is measured of a system, and its command."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.data.sets import FOLDERS
from benchmarks.experiments import bench
from benchmarks.experiments.bench import ALL, OLD, Cell, append_line, cells, make_cell, measure, read_lines
from benchmarks.systems.names import SVM
from benchmarks.systems.trained import Guess
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.scores import TYPO_SEED
from retvec_lite.data.typos import mistype_many

TOPICS = {"food": ("bread", "cheese", "soup", "salad"), "play": ("guitar", "singer", "concert", "album")}
MINE = """
def keyword(texts, labels, language):
    return lambda asked: ["food" if any(word in text for word in ("bread", "cheese", "soup", "salad")) else "play" for text in asked]

def picky(texts, labels, language):
    if language == "de":
        raise ValueError("no German")
    return keyword(texts, labels, language)
"""


def write(folder: Path, part: str, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        f"{words[number % 4]} {part} number {number},{label}"
        for number in range(count)
        for label, words in TOPICS.items()
    ]
    (folder / f"{part}.csv").write_text("text,label\n" + "\n".join(rows) + "\n")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("bench/de_topics", "bench/topics", "sms_spam"):
        write(tmp_path / "data" / name, "train", 20)
        write(tmp_path / "data" / name, "test", 6)
    return tmp_path / "data"


def test_choices_are_made_on_texts_of_the_training_split_that_no_draw_learns_from(data: Path) -> None:
    test = {cell.asked for cell in cells(data, ["topics"], shots=5, split="test")}
    assert len(test) == 1 and all(" test " in text for text in test.pop().texts)
    found = [*cells(data, ["topics"], shots=5), *cells(data, ["topics"], shots=ALL)]
    assert [(cell.shots, cell.draw) for cell in found] == [(5, 0), (5, 1), (5, 2), (ALL, 0)]
    asked = {cell.asked for cell in found}
    assert len(asked) == 1, "the same for all draws and numbers of texts"
    (held_out,) = asked
    assert Counter(held_out.labels) == {"food": 10, "play": 10}, "half of a small training split"
    for cell in found:
        assert {" train " in text for text in cell.learned.texts} == {True}
        assert not {*cell.learned.texts} & {*held_out.texts}
        assert Counter(cell.learned.labels) == dict.fromkeys(TOPICS, cell.shots or 10)
    assert len({cell.learned.texts for cell in found}) == 4
    assert len({cell.key["texts"] for cell in found}) == 4


def test_names_of_open_sets_tell_the_language_and_old_sets_are_english(data: Path) -> None:
    assert [(cell.data, cell.language) for cell in cells(data, draws=[0])] == [("de_topics", "de"), ("topics", "en")]
    assert bench.set_names(data, "old") == ["SMS spam"]
    assert make_cell(data, "SMS spam", 5, 0, "test").language == "en"
    assert {*OLD} <= {*FOLDERS}


def test_labels_are_uneven_where_the_training_texts_are(data: Path) -> None:
    assert not make_cell(data, "topics", 5, 0, "test").uneven
    path = data / "bench" / "topics" / "train.csv"
    path.write_text(path.read_text() + "".join(f"more food {number},food\n" for number in range(61)))
    bench._parts.cache_clear()
    assert make_cell(data, "topics", 5, 0, "test").uneven


def test_a_measured_row_has_what_the_summary_needs() -> None:
    texts = [f"{word} {number}" for number, word in enumerate(["bread", "cheese", "guitar", "concert"] * 3)]
    labels = ["food", "food", "play", "play"] * 3
    labels[0] = "play"
    asked: list[Sequence[str]] = []

    def system(learned: Sequence[str], of: Sequence[str], language: str) -> Guess:
        assert (learned, of, language) == (("soup", "album"), ("food", "play"), "de")

        def guess(given: Sequence[str]) -> list[str]:
            asked.append(given)
            return ["food" if "bread" in text or "cheese" in text else "play" for text in given]

        return guess

    learned, test = Dataset(("soup", "album"), ("food", "play")), Dataset(tuple(texts), tuple(labels))
    row = measure(system, Cell("topics", "de", 1, 2, "test", learned, (), test, uneven=True))
    assert asked == [texts, mistype_many(texts, 0.5, TYPO_SEED)] and asked[0] != asked[1]
    assert row["accuracy"]["0"] == 11 / 12
    # Five of six answers "food" are right, and all five texts of food; all six answers "play", of seven texts.
    assert row["f1"]["0"] == pytest.approx((2 * 5 / 11 + 2 * 6 / 13) / 2)
    for rate in ("0", "0.5"):
        right = np.unpackbits(np.frombuffer(bytes.fromhex(row["right"][rate]), np.uint8), count=row["tested"])
        assert right.mean() == row["accuracy"][rate]
    assert right[0] == 0
    assert json.loads(json.dumps(row)) == row
    assert [row[name] for name in ("data", "shots", "draw", "split", "uneven")] == ["topics", 1, 2, "test", True]


def test_a_line_that_a_kill_has_cut_off_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.jsonl"
    row = dict.fromkeys(bench.KEY, "x")
    append_line(path, {**row, "seconds": 1})
    append_line(path, {**row, "seconds": 2})
    append_line(path, {**row, "draw": 1})
    assert [found.get("seconds") for found in read_lines(path)] == [2, None], "the last of each cell"
    path.write_bytes(path.read_bytes()[:-5])
    assert [found["draw"] for found in read_lines(path)] == ["x"]
    append_line(path, {**row, "draw": 2})
    assert [found["draw"] for found in read_lines(path)] == ["x", 2]
    assert read_lines(tmp_path / "none.jsonl") == []


def test_the_command_goes_on_where_it_was_and_tells_what_failed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in (*bench._ONE_THREAD, "TF_CPP_MIN_LOG_LEVEL"):
        monkeypatch.setenv(name, "1")  # the command sets them: afterwards they are as before
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "out.jsonl"
    common = ["--data", str(data), "--out", str(out), "--workers", "1", "--shots", "5", "--rival", "mine:keyword"]
    bench.main([*common, "--only", "mine:keyword", "--draws", "0"])
    assert "[3/3] mine:keyword, SMS spam, 5, 0, validation, 1.000 / " in capfd.readouterr().err
    with pytest.raises(SystemExit, match="2 cells failed"):
        bench.main([*common, "--only", "mine:keyword", "--only", "mine:picky", "--draws", "0", "1"])
    printed = capfd.readouterr()
    assert "[9/9]" in printed.err and printed.err.count("ValueError: no German\n") >= 2
    assert "**validation, 5 texts a label, 2 open sets**" in printed.out
    assert "| de_topics | 1.000 / " in printed.out
    assert "mine:picky: mean 1.000 / " in printed.out
    assert "beyond the noise: 0 / 0 sets won, 0 / 0 lost" in printed.out
    lines = out.read_text()
    assert lines.count("\n") == 10
    bench.main([*common, "--only", "mine:keyword", "--draws", "0", "1"])
    bench.main([*common, "--only", "mine:keyword", "--show"])
    assert out.read_text() == lines
    write(data / "bench" / "topics", "train", 24)
    bench._parts.cache_clear()
    only = ["--only", "mine:keyword", "--set", "topics", "--draws", "0"]
    bench.main([*common, *only])
    assert out.read_text().count("\n") == 11, "other texts are another cell"
    bench.main([*common, *only, "--tag", "later"])
    assert read_lines(out)[-1]["system"] == "mine:keyword@later"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", "nothing"], r"No set 'nothing' in .*: choose from open, old, de_topics, topics, SMS spam\."),
        (
            ["--only", "SVM"],
            r"No system 'SVM' .*: name a function as module:function, or choose from SVM, characters; ",
        ),
        (["--only", "os:nothing"], r"No system 'os:nothing' \(module 'os' has no attribute 'nothing'\)"),
    ],
)
def test_what_is_not_there_is_named(data: Path, tmp_path: Path, arguments: list[str], told: str) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(SystemExit, match=told):
        bench.main(["--data", str(data), "--out", str(out), *arguments])
    assert not out.exists()


def test_without_any_set_the_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        SystemExit, match=r"No set of few texts in .*: name the folder of the data sets with --data DIR"
    ):
        bench.main(["--data", str(tmp_path), "--only", SVM])
