"""The evaluation of an embedding: means, tables, plots, and the command as a user meets it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from modeling_cases import random_embedding
from tiny_words import made_up

from retvec_lite import __main__ as cli
from retvec_lite.errors import RetvecLiteError
from retvec_lite.pretraining import evaluation
from retvec_lite.pretraining.evaluation import (
    REPORT_FILES,
    EmbeddingEvaluation,
    box_plot,
    dot_plot,
    evaluate_embedding,
    file_names,
    markdown,
    sentences,
    tables,
)
from retvec_lite.pretraining.measures import FileScores, SetScores, Share, better_in
from retvec_lite.terminal import Table

pytestmark = pytest.mark.usefixtures("tiny")


def made_scores(name: str, found: int) -> SetScores:
    rng = np.random.default_rng(found)
    pairs, randoms = rng.uniform(0.6, 1, 40).astype(np.float32), rng.uniform(-0.1, 0.3, 40).astype(np.float32)
    shares = {"float32": Share(found, 40), "int8": Share(found, 40), "int4": Share(found // 2, 40)}
    kinds = {"delete": Share(found // 4, 10), "other_case": Share(1, 2)}
    return SetScores(
        name, "list", shares, {"int8": 0.999, "int4": 0.7}, pairs, randoms, kinds, {"Latin": Share(found, 40)}
    )


def made_files(languages: int = 3) -> tuple[FileScores, FileScores]:
    names = [f"l{number}" for number in range(languages)]
    one = FileScores("one|$x", tuple(made_scores(name, 30) for name in names), made_scores("m.csv", 20))
    counts = (20, 30, 36, *([10] * languages))
    return one, FileScores("two", tuple(map(made_scores, names, counts)), made_scores("m.csv", 10))


def test_means_and_comparison() -> None:
    one, two = made_files()
    assert one.found("float32") == 0.75 and one.found("int4") == 0.375
    assert two.found("float32") == pytest.approx((20 + 30 + 36) / 120)
    assert two.kinds() == {"delete": Share(5 + 7 + 9, 30), "other_case": Share(3, 6)}
    assert better_in(one, two) == (1, ["l2"])  # better, the same, worse
    assert sentences((one, two), ["qq"]) == [
        "one|$x is better than two in 1 of 3 languages; worse in l2.",
        "Skipped, too few words that pre-training never saw: qq.",
    ]


def table(title: str, found: list[Table]) -> Table:
    (only,) = [table for table in found if table.title == title]
    return only


def test_tables_hold_both_files_and_their_difference() -> None:
    found = tables(made_files())
    assert all(len(row) == len(table.columns) for table in found for row in table.rows)
    summary = {row[0]: row[1:] for row in table("Mean over 3 languages", found).rows}
    assert summary["right word found, float32"] == ("0.750", "0.717", "+0.033")
    assert summary["int4: cosine to float32"] == ("0.70000", "0.70000", "+0.00000")
    assert summary["40 human misspellings, float32"] == ("0.500", "0.250", "+0.250")
    languages = table("Right word found", found)
    assert languages.columns == ("language", "words", "queries", "one|$x", "two", "difference")
    assert languages.rows[2] == ("l2", "list", "40", "0.750", "0.900", "-0.150")
    alone = tables(made_files()[:1])
    assert table("Right word found", alone).rows[0] == ("l0", "list", "40", "0.750")


def test_markdown_and_json() -> None:
    files = made_files()
    text = markdown(files, [])
    rows = [line for line in text.splitlines() if line.startswith("| l2 ")]
    assert rows[0] == "| l2 | list | 40 | 0.750 | 0.900 | -0.150 |" and "one\\|$x" in text
    facts = json.loads(json.dumps(EmbeddingEvaluation(files, ("qq",), 40, 3).to_dict()))
    assert facts["comparisons"] == [{"against": "two", "better_in": 1, "worse_in": ["l2"]}]
    assert facts["files"][1]["languages"][2]["found"] == {"float32": 0.9, "int8": 0.9, "int4": 0.45}
    assert facts["files"][0]["misspellings"]["queries"] == 40 and facts["skipped"] == ["qq"]
    assert (facts["queries"], facts["seed"]) == (40, 3)
    quantiles = facts["files"][0]["languages"][0]["pair_cosine"]
    assert quantiles["p05"] < quantiles["p25"] < quantiles["p50"] < quantiles["p75"] < quantiles["p95"]


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.endswith(b"IEND\xaeB`\x82")
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def test_plots_grow_with_languages_and_files() -> None:
    few, many = made_files(3), made_files(25)
    width, height = size_of(box_plot(few))
    assert size_of(box_plot(many)) > (1100, height - 1) and size_of(box_plot(few[:1]))[1] < height
    assert size_of(dot_plot(many))[0] > 1000 > width
    assert dot_plot(few) == dot_plot(few) != dot_plot(few[::-1])


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = (tmp_path / "[red]one.safetensors", tmp_path / "two.safetensors")
    paths[0].write_bytes(random_embedding().to_bytes())
    paths[1].write_bytes(random_embedding(20, 12, seed=1).to_bytes())
    return paths


def evaluate(*arguments: object) -> int:
    return cli.main(["evaluate-embedding", *map(str, arguments)])


def test_from_two_files_to_tables_and_plots(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, misspellings, out = (tmp_path / name for name in ("words", "m.csv", "new/out"))
    words.mkdir()
    for language, count in (("ar", 150), ("xx", 20)):
        made = made_up("ar", count, seed=1)
        (words / f"{language}.csv").write_text("word,count\n" + "".join(f"{word},1\n" for word in made), "utf-8")
    misspellings.write_text("text,label\nrecieve,receive\nzebbra,zebra\nalot,a lot\n", encoding="utf-8")
    arguments = (
        *(files[0], "--against", files[1], "--words", words, "--misspellings", misspellings),
        *("--queries", 40, "--out", out),
    )
    assert evaluate(*arguments) == 0, capsys.readouterr().err
    printed = capsys.readouterr()
    assert "Mean over 3 languages" in printed.out and "[red]one" in printed.out
    assert "never saw: xx." in printed.out.replace("\n", " ")
    assert sorted(path.name for path in out.iterdir()) == sorted(REPORT_FILES)
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


def test_a_long_path_leaves_room_for_the_plot(files: tuple[Path, Path], tmp_path: Path) -> None:
    deep = tmp_path / ("folder" * 15)
    deep.mkdir()
    shutil.copy(files[0], deep / "long.safetensors")
    shutil.copy(files[0], tmp_path / "long.safetensors")
    arguments = ("--against", deep / "long.safetensors", "--queries", 30, "--out", tmp_path / "out")
    assert evaluate(tmp_path / "long.safetensors", *arguments) == 0


def test_names_of_files() -> None:
    paths = [Path("a/x.safetensors"), Path("b/x.safetensors"), Path("y.safetensors")]
    assert file_names(paths) == ["a/x.safetensors", "b/x.safetensors", "y"]


def test_bad_input_is_told_before_the_work_and_leaves_nothing(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"no tensors")
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "mine.txt").touch()
    monkeypatch.setattr(evaluation, "language_set", lambda *_, **__: pytest.fail("The work was begun."))
    before = set(tmp_path.iterdir())
    out = tmp_path / "out"
    for arguments in (
        (tmp_path / "missing.safetensors",),
        (files[0], "--against", broken),
        (files[0], "--words", tmp_path / "empty"),
        (files[0], "--misspellings", tmp_path / "missing.csv"),
        (files[0], "--out", tmp_path / "two.safetensors" / "below"),
        (files[0], "--out", tmp_path / "foreign", "--force"),
    ):
        assert evaluate(*(() if "--out" in arguments else ("--out", out)), *arguments) == cli.USAGE_ERROR
        printed = capsys.readouterr()
        assert printed.err.startswith("retvec-lite: error: ") and printed.err.count("\n") == 1
        assert printed.out == "" and set(tmp_path.iterdir()) == before


def test_nothing_is_left_when_drawing_fails(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr("retvec_lite.pretraining.evaluation.box_plot", fail)
    before = set(tmp_path.iterdir())
    assert evaluate(files[0], "--queries", 20, "--out", tmp_path / "out") == cli.INTERRUPTED
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(("name", "value", "least"), [("queries", 0, 1), ("seed", -1, 0)])
def test_numbers_out_of_range(name: str, value: int, least: int) -> None:
    with pytest.raises(RetvecLiteError, match=f"{name} must be at least {least}, not {value}"):
        evaluate_embedding("x.safetensors", **{name: value})
