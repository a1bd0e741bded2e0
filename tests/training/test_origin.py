"""Where a classifier came from: what its facts and files say, and a training that would change nothing."""

import dataclasses
import datetime
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import Main
from pyarrow import parquet

import retvec_lite as rl
from retvec_lite.converters.format import details
from retvec_lite.data.dataset import Dataset, read_dataset
from retvec_lite.model.facts import data_hash, today
from retvec_lite.version import __version__

TEXTS = ("wake me at six", "alarm at noon", "where is my parcel", "track my order") * 3
LABELS = ("alarm", "alarm", "delivery", "delivery") * 3
OPTIONS: dict[str, Any] = {"head": "linear", "meaning": "none", "ngram_kb": 20}


def write_csv(path: Path, texts: tuple[str, ...] = TEXTS) -> Path:
    rows = "".join(f"{text},{label}\n" for text, label in zip(texts, LABELS, strict=True))
    path.write_text(f"text,label\n{rows}")
    return path


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}


# --- the hash ---------------------------------------------------------------------------------------------------------


def test_the_hash_is_of_texts_and_labels_and_not_of_a_file(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "a.csv")
    (tmp_path / "b.tsv").write_text(table.read_text().replace(",", "\t") + "\t\n")
    parquet.write_table(pa.table({"label": LABELS, "text": TEXTS, "id": range(12)}), tmp_path / "c.parquet")
    expected = data_hash(Dataset(TEXTS, LABELS))
    assert {data_hash(read_dataset(tmp_path / name)) for name in ("a.csv", "b.tsv", "c.parquet")} == {expected}
    assert len(expected) == 16 and int(expected, 16) >= 0


def test_every_change_of_the_data_changes_the_hash() -> None:
    data = Dataset(TEXTS, LABELS)
    changed = [
        data,
        data.select([1, 0, *range(2, 12)]),
        data.select(range(11)),
        dataclasses.replace(data, texts=("wake me at si", *TEXTS[1:])),
        dataclasses.replace(data, texts=("wake me at sixalarm", "at noon", *TEXTS[2:])),
        dataclasses.replace(data, labels=("delivery", *LABELS[1:])),
        dataclasses.replace(data, multi_label=True),
        dataclasses.replace(data, weights=(2.0, *(1.0,) * 11)),
    ]
    assert len({data_hash(one) for one in changed}) == len(changed)
    assert data_hash(dataclasses.replace(data, path=Path("x"), left_out=("y",))) == data_hash(data)
    assert data_hash(dataclasses.replace(data, weights=(8.0,) * 12)) == data_hash(data), "only ratios matter"


# --- the day ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "day"), [("0", "1970-01-01"), ("86399", "1970-01-01"), ("1764201600", "2025-11-27")])
def test_the_day_is_that_of_source_date_epoch(said: str, day: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", said)
    assert today() == day


def test_without_it_the_day_is_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    days = {datetime.datetime.now(datetime.timezone.utc).date().isoformat()}
    found = today()
    assert found in days | {datetime.datetime.now(datetime.timezone.utc).date().isoformat()}


@pytest.mark.parametrize("said", ["tomorrow", "1e9", "9" * 30])
def test_a_time_that_is_none_is_refused_before_the_training(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", said)
    with pytest.raises(rl.RetvecLiteError, match="SOURCE_DATE_EPOCH must be a number of seconds"):
        rl.train(TEXTS, LABELS, **OPTIONS)


# --- facts and files --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("origin")
    rl.train(write_csv(place / "a.csv"), **OPTIONS, seed=5, out=place / "trained")
    return place


def test_a_classifier_knows_where_it_came_from(folder: Path) -> None:
    facts = rl.load(folder / "trained").training
    assert facts["data_hash"] == data_hash(Dataset(TEXTS, LABELS))
    assert facts["trained_on"] == today() and facts["training_texts"] == 12
    assert facts["versions"]["retvec-lite"] == __version__ and {"numpy", "python"} < set(facts["versions"])
    assert (
        facts["options"]["head"] == "linear" and facts["options"]["meaning"] == "none" and facts["options"]["seed"] == 5
    )
    card = (folder / "trained" / "README.md").read_text()
    assert facts["data_hash"] in card and facts["trained_on"] in card and "wake me" not in card


@pytest.mark.slow
def test_every_exported_file_says_so_and_info_shows_it(folder: Path, tmp_path: Path, main: Main) -> None:
    classifier = rl.load(folder / "trained")
    report = classifier.export(tmp_path / "dist", formats=("tflite", "engine"))
    facts = classifier.training
    expected = {
        "data": facts["data_hash"],
        "day": facts["trained_on"],
        "texts": 12,
        "seed": 5,
        "accuracy": round(facts["validation"]["0"]["accuracy"], 4),
    }
    files = [path for path in report.files if path.suffix in (".tflite", ".retvec")]
    assert {path.suffix for path in files} == {".tflite", ".retvec"}
    for path in files:
        assert rl.load(path).metadata["trained"] == expected
        code, shown, _ = main("info", str(path))
        assert code == 0 and facts["data_hash"] in shown and facts["trained_on"] in shown
    # Packages hold each of these as a text of its own.
    assert details(classifier.model, "int8", {})["trained"] == expected


def test_the_same_training_on_another_day_gives_the_same_bytes_but_for_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    def trained(epoch: str) -> Any:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
        return rl.train(TEXTS, LABELS, **OPTIONS).model

    first, again, later = trained("1764201600"), trained("1764201700"), trained("1764301600")
    assert first.to_bytes() == again.to_bytes() != later.to_bytes()
    facts = {**later.training, "trained_on": first.training["trained_on"]}
    assert dataclasses.replace(later, training=facts).to_bytes() == first.to_bytes()


# --- nothing changed --------------------------------------------------------------------------------------------------


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def forbid() -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise AssertionError("trained")

        monkeypatch.setattr("retvec_lite.training.train.fit_classifier", refuse)

    return forbid


@pytest.mark.parametrize("force", [False, True])
def test_the_same_data_and_options_change_nothing(folder: Path, force: bool, no_training: Callable[[], None]) -> None:
    before = contents(folder / "trained")
    no_training()
    said: list[str] = []
    found = rl.train(
        rl.read_dataset(folder / "a.csv"),
        **OPTIONS,
        seed=5,
        out=folder / "trained",
        force=force,
        progress=lambda what, _, __: said.append(what),
    )
    assert contents(folder / "trained") == before and said[-1].startswith("Nothing changed: ")
    assert found.model.to_bytes() == rl.load(folder / "trained").model.to_bytes()


CHANGES: dict[str, dict[str, Any]] = {
    "seed": {"seed": 6},
    "option": {"reject_at": 0.9},
    "weights": {"class_weights": {"alarm": 2, "delivery": 1}},
    "validation": {"validation": 0.5},
    "data": {"data": Dataset(("wake me at seven", *TEXTS[1:]), LABELS)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_everything_else_is_a_training_that_needs_force(
    folder: Path, change: str, no_training: Callable[[], None]
) -> None:
    before = contents(folder / "trained")
    no_training()
    given = {"data": folder / "a.csv", **OPTIONS, "seed": 5, **CHANGES[change]}
    with pytest.raises(rl.RetvecLiteError, match=r"already exists.*--force"):
        rl.train(**given, out=folder / "trained")
    with pytest.raises(AssertionError, match="trained"):
        rl.train(**given, out=folder / "trained", force=True)
    assert contents(folder / "trained") == before


@pytest.mark.parametrize("spoil", ["release", "damage", "README.md", "report.html", "threshold"])
def test_a_folder_that_is_not_as_a_training_left_it_is_trained_again(
    folder: Path, spoil: str, tmp_path: Path, no_training: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "trained"
    place.mkdir()
    for file in (folder / "trained").iterdir():
        (place / file.name).write_bytes(file.read_bytes())
    if spoil == "release":
        monkeypatch.setattr("retvec_lite.training.request.CREATED_BY", "retvec-lite 99")
    elif spoil == "damage":
        content = bytearray((place / "classifier.safetensors").read_bytes())
        content[-random.Random(0).randrange(1, 1000)] ^= 1
        (place / "classifier.safetensors").write_bytes(content)
    elif spoil == "threshold":
        rl.load(place).with_threshold(0.9).save(place, force=True)
        (place / "report.html").write_bytes((folder / "trained" / "report.html").read_bytes())
    else:
        os.remove(place / spoil)
    no_training()
    with pytest.raises(AssertionError, match="trained"):
        rl.train(folder / "a.csv", **OPTIONS, seed=5, out=place, force=True)
