"""`retvec-lite evaluate-embedding` as a user meets it, and the projector's files."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from modeling_cases import random_embedding
from tiny_words import made_up

from retvec_lite import __main__ as cli
from retvec_lite.cli import evaluate_embedding as command
from retvec_lite.pretraining.augment import TYPO_KINDS
from retvec_lite.pretraining.evaluation_network import embed
from retvec_lite.pretraining.projector import projector_files
from retvec_lite.pretraining.tasks import word_sources, word_task
from retvec_lite.pretraining.words import encode_words

pytestmark = pytest.mark.usefixtures("tiny")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = (tmp_path / "[red]one.safetensors", tmp_path / "two.safetensors")
    paths[0].write_bytes(random_embedding().to_bytes())
    paths[1].write_bytes(random_embedding(20, 12, seed=1).to_bytes())
    return paths


def evaluate(*arguments: object) -> int:
    return cli.main(["evaluate-embedding", *map(str, arguments)])


def test_from_two_files_to_tables_plots_and_points(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, misspellings, out, points = (tmp_path / name for name in ("words", "m.csv", "new/out", "points"))
    words.mkdir()
    for language, count in (("ar", 150), ("xx", 20)):
        made = made_up("ar", count, seed=1)
        (words / f"{language}.csv").write_text("word,count\n" + "".join(f"{word},1\n" for word in made), "utf-8")
    misspellings.write_text("text,label\nrecieve,receive\nzebbra,zebra\nalot,a lot\n", encoding="utf-8")
    arguments = (
        *(files[0], "--against", files[1], "--words", words, "--misspellings", misspellings),
        *("--queries", 40, "--out", out, "--projector", points),
    )
    assert evaluate(*arguments) == 0, capsys.readouterr().err
    printed = capsys.readouterr()
    assert "Mean over 3 languages" in printed.out and "[red]one" in printed.out
    assert "never saw: xx." in printed.out.replace("\n", " ") and "Measuring: 100 %" in printed.err
    assert sorted(path.name for path in out.iterdir()) == sorted(command.REPORT_FILES)
    assert sorted(path.name for path in points.iterdir()) == sorted(command.PROJECTOR_FILES)
    facts = json.loads((out / "embedding.json").read_text(encoding="utf-8"))
    assert [file["name"] for file in facts["files"]] == ["[red]one", "two"] and facts["queries"] == 40
    assert [scores["name"] for scores in facts["files"][0]["languages"]] == ["ar", "el", "en"]
    assert facts["files"][1]["misspellings"]["queries"] == 2

    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert evaluate(*arguments) == cli.USAGE_ERROR and "--force" in capsys.readouterr().err
    assert evaluate(*arguments, "--force") == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_file_against_itself_differs_in_nothing(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(files[0], "--against", files[0], "--queries", 30, "--out", tmp_path / "out") == 0
    facts = json.loads((tmp_path / "out" / "embedding.json").read_text(encoding="utf-8"))
    one, two = facts["files"]
    assert one.pop("name") == f"{files[0]} (1)" and two.pop("name") == f"{files[0]} (2)"
    assert one == two and facts["comparisons"][0]["better_in"] == 0
    assert "better" in capsys.readouterr().out


def test_names_of_files() -> None:
    paths = [Path("a/x.safetensors"), Path("b/x.safetensors"), Path("y.safetensors")]
    assert command.file_names(paths) == ["a/x.safetensors", "b/x.safetensors", "y"]


def test_the_projector_shows_words_beside_their_mistyped_forms() -> None:
    tasks = [word_task(source, seed=0, queries=60) for source in word_sources(None)]
    embedding = random_embedding()
    texts = projector_files(embedding, [task for task in tasks if task], seed=0)
    metadata = list(csv.reader(texts["metadata.tsv"].splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert metadata[0] == ["word", "original", "language", "typo kind"]
    vectors = np.array([line.split("\t") for line in texts["tensors.tsv"].splitlines()], np.float32)
    assert len(vectors) == len(metadata) - 1 and vectors.shape[1] == embedding.dimension
    assert {row[2] for row in metadata[1:]} == {"el", "en"}
    originals = [row for row in metadata[1:] if row[3] == "none"]
    assert len(originals) == 50 and all(row[0] == row[1] for row in originals)
    assert 150 < len(metadata) <= 251
    for word, original, _, kind in metadata[1:]:
        assert kind == "none" or (kind in TYPO_KINDS and word != original)
    expected = embed(embedding, encode_words([row[0] for row in metadata[1:]]))
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    for line in ('tensor_path: "tensors.tsv"', 'metadata_path: "metadata.tsv"'):
        assert line in texts["projector_config.pbtxt"]


def test_bad_input_is_told_before_the_work_and_leaves_nothing(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"no tensors")
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "mine.txt").touch()
    monkeypatch.setattr(command, "_score", lambda *_: pytest.fail("The work was begun."))
    before = set(tmp_path.iterdir())
    out = tmp_path / "out"
    for arguments in (
        (tmp_path / "missing.safetensors",),
        (files[0], "--against", broken),
        (files[0], "--words", tmp_path / "empty"),
        (files[0], "--misspellings", tmp_path / "missing.csv"),
        (files[0], "--projector", out / "inside"),
        (files[0], "--projector", tmp_path / "two.safetensors" / "below"),
        (files[0], "--projector", tmp_path / "foreign", "--force"),
    ):
        assert evaluate(*arguments, "--out", out) == cli.USAGE_ERROR
        printed = capsys.readouterr()
        assert printed.err.startswith("retvec-lite: error: Expected ") and printed.err.count("\n") == 1
        assert printed.out == "" and set(tmp_path.iterdir()) == before


def test_nothing_is_left_when_drawing_fails(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr("retvec_lite.pretraining.evaluation_plot.box_plot", fail)
    before = set(tmp_path.iterdir())
    assert evaluate(files[0], "--queries", 20, "--out", tmp_path / "out") == cli.INTERRUPTED
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("arguments", [("--queries", "0"), ("--queries", "many"), ("--seed", "-1")])
def test_numbers_out_of_range(arguments: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        evaluate("x.safetensors", *arguments)
    assert stop.value.code == cli.USAGE_ERROR and arguments[0] in capsys.readouterr().err
