"""Another threshold after the training: the same as one of the training, from its facts or from data, and in exported files."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Main
from tiny_data import tiny_dataset

import retvec_lite as rl
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.training.request import REJECT_AT

OPTIONS: dict[str, Any] = {"head": "linear", "ngram_kb": 20, "meaning": "none", "embedding": "raw"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained folder of texts that are hard to tell apart, and labelled texts, some of them of no label."""
    place = tmp_path_factory.mktemp("thresholds")
    data = tiny_dataset(12)
    labels = list(data.labels)
    labels[::5] = labels[1::5]  # wrong ones: some answers are right with little probability
    rl.train(data.texts, labels, out=place / "trained", **OPTIONS)
    rl.train(data.texts, labels, out=place / "knows_none", unknown_label="weather", **OPTIONS)
    test = tiny_dataset(10, seed=1)
    with open(place / "test.csv", "w", encoding="utf-8", newline="") as file:
        rows = [("hello what is your name", "else"), ("play wake rain thanks", "else")]
        csv.writer(file).writerows([("text", "label"), *zip(test.texts, test.labels, strict=True), *rows])
    return place


@pytest.mark.parametrize("name", ["trained", "knows_none"])
def test_it_is_the_threshold_of_a_training_with_that_share(folder: Path, name: str) -> None:
    data = tiny_dataset(12)
    labels = list(data.labels)
    labels[::5] = labels[1::5]
    unknown = {"unknown_label": "weather"} if name == "knows_none" else {}
    loaded = rl.load(folder / name)
    for keep in (0.9, 0.6):
        again = rl.train(data.texts, labels, reject_at=keep, **unknown, **OPTIONS)
        chosen = loaded.with_threshold(keep=keep)
        assert chosen.decision == again.decision != loaded.decision
        assert chosen.training["reject_at"] == again.training["reject_at"] == keep
        assert again.with_threshold(keep=REJECT_AT).decision == loaded.decision
        np.testing.assert_array_equal(chosen.probabilities(data.texts), again.probabilities(data.texts))


def test_its_facts_say_nothing_of_the_other_threshold_and_it_is_saved(folder: Path, tmp_path: Path) -> None:
    loaded = rl.load(folder / "trained", languages=["alarm", "music", "weather"], workers=1)
    chosen = loaded.with_threshold(keep=0.7)
    assert chosen.labels == loaded.labels and chosen.workers == 1
    assert "unknown" not in str(chosen)
    assert f"below {chosen.decision.threshold:.4f}" in str(chosen) and loaded.training["reject_at"] == REJECT_AT
    assert "in_scope_unknown" in loaded.training["validation"]["0"], "the classifier itself stays what it was"
    assert loaded.with_threshold(keep=np.float32(0.5)).model.to_bytes(), "a number of NumPy is one of JSON"
    chosen.save(tmp_path / "saved")
    again = rl.load(tmp_path / "saved")
    assert again.decision == chosen.decision and again.with_threshold(keep=REJECT_AT).decision == loaded.decision


def test_data_choose_what_evaluate_shows(folder: Path) -> None:
    loaded, data = rl.load(folder / "trained"), folder / "test.csv"
    for share in (0.95, 0.5):
        chosen = loaded.with_threshold(keep=share, data=data, unknown_label="else")
        found = rl.evaluate(chosen, data, unknown_label="else", typos=()).rejection
        assert found is not None
        (row,) = (rate for rate in found.rates if rate.threshold == chosen.decision.threshold)
        assert "reject_at" not in chosen.training, "the share is none of held-out answers"
        assert row.kept >= share > max((rate.kept for rate in found.rates if rate.threshold > row.threshold), default=0)
    quiet = loaded.with_threshold(false_alarms=0, data=data, unknown_label="else")
    found = rl.evaluate(quiet, data, unknown_label="else", typos=()).rejection
    assert found is not None and found.unknown_recognized == 1.0 and found.in_scope_accuracy > 0
    assert "false_alarms" not in quiet.training and "reject_at" not in quiet.training
    assert loaded.with_threshold(0.625).decision.threshold == 0.625
    sure = loaded.with_threshold(right=0.8, data=data, unknown_label="else")
    found = rl.evaluate(sure, data, unknown_label="else", typos=()).rejection
    assert found is not None and found.answered_accuracy > 0.8 and found.answered < 1.0


def test_a_label_of_harmless_texts_is_no_answer_any_more(folder: Path) -> None:
    """As for spam: false alarms are harmless texts that are called something else."""
    data = tiny_dataset(10, seed=1)
    loaded = rl.load(folder / "trained")
    chosen = loaded.with_threshold(false_alarms=0.1, data=data, unknown_label="weather")
    assert chosen.decision.unknown_label == "weather" and loaded.decision.unknown_label is None
    harmless = [text for text, label in zip(data.texts, data.labels, strict=True) if label == "weather"]
    answers = [found[0].label for found in chosen.predict(harmless, top=1)]
    assert sum(answer is not None for answer in answers) <= 0.1 * len(answers)
    assert "weather" not in {found[0].label for found in chosen.predict(data.texts, top=1)}
    trained_so = rl.load(folder / "knows_none")
    assert chosen.decision.unknown_power == trained_so.decision.unknown_power
    kept = trained_so.with_threshold(false_alarms=0.1)  # its facts know texts without a label
    assert kept.decision.threshold is not None and kept.decision.threshold != trained_so.decision.threshold


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "Pass one of threshold (0.6), keep (0.95), right (0.97) and false_alarms (0.02)."),
        ({"keep": 0.9, "false_alarms": 0.1}, "Pass one of threshold"),
        ({"keep": 1}, "keep must be a share above 0 and below 1 (0.95 for 95 %), not 1."),
        ({"keep": float("nan")}, "keep must be a share above 0"),
        ({"right": 1.0}, "right must be a share above 0 and below 1 (0.95 for 95 %), not 1.0."),
        ({"right": 0.999}, "the most that what is kept of the training can tell. Pass a lower share (right), or more"),
        ({"keep": "most"}, "keep must be a number or None, not 'most'."),
        ({"false_alarms": 2}, "false_alarms must be a share from 0 to below 1 (0.02 for 2 %), not 2."),
        ({"threshold": 1.5}, "threshold must be a number between 0 and 1"),
        ({"false_alarms": 0.1}, "false_alarms needs texts of no label, and what is kept of the training has none"),
        ({"false_alarms": 0.1, "data": tiny_dataset(2)}, "false_alarms needs texts of no label, and the data has none"),
        ({"keep": 0.9, "labels": ["alarm"]}, "labels and unknown_label are for texts to choose by: pass those as data"),
        ({"keep": 0.9, "unknown_label": "else"}, "labels and unknown_label are for texts"),
        ({"keep": 0.9, "unknown_label": "music"}, "To choose a threshold when 'music' is no answer any more, pass"),
        ({"keep": 0.9, "data": "nowhere.csv"}, "Cannot read nowhere.csv"),
        ({"keep": 0.9, "data": ["wake me"], "labels": ["other"]}, "does not know these labels"),
        ({"keep": 0.9, "data": ["wake alarm clock"], "labels": ["music"]}, "no answer to these texts is right"),
    ],
)
def test_bad_input_gets_one_sentence(folder: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(rl.RetvecLiteError) as error:
        rl.load(folder / "trained").with_threshold(**options)
    assert sentence in str(error.value)


def test_who_cannot_choose_says_what_helps(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match=r"has no with_threshold.*load the trained folder"):
        rl.load("language").with_threshold(keep=0.9)
    several = rl.train(["wake me", "play a song"] * 4, [["a"], ["a", "b"]] * 4, multi_label=True, **OPTIONS)
    with pytest.raises(rl.RetvecLiteError, match="each label has a threshold that the training chose"):
        several.with_threshold(keep=0.9)
    with pytest.raises(rl.RetvecLiteError, match="each label has a threshold that the training chose"):
        several.export(tmp_path / "several", formats="engine", reject_at=0.9)
    with pytest.raises(rl.RetvecLiteError, match="whose unknown label is 'weather'"):
        rl.load(folder / "knows_none").with_threshold(0.5, unknown_label="music")
    same = ["play song louder please"] * 2
    with pytest.raises(rl.RetvecLiteError, match=r"No threshold that keeps a right answer .* 100\.0% is the least"):
        rl.load(folder / "trained").with_threshold(
            false_alarms=0.1, data=same, labels=["music", "else"], unknown_label="else"
        )


def test_a_classifier_without_a_table_of_rates_chooses_by_data(folder: Path) -> None:
    model = load_trained_model(folder / "trained")
    facts = {name: fact for name, fact in model.training.items() if name != "rates"}
    untold = rl.TrainedClassifier(dataclasses.replace(model, training=facts))
    with pytest.raises(rl.RetvecLiteError, match=r"no table of rates: it was trained without texts"):
        untold.with_threshold(keep=0.9)
    assert untold.with_threshold(keep=0.9, data=tiny_dataset(5)).decision.threshold is not None


@pytest.mark.parametrize(
    "rates",
    [
        {"0.5": 1.0},
        [0.5, 1.0, 1.0, 1.0, None],
        [[0.5, 1.0, 1.0, 1.0]],
        [[0.5, 1.0, None, 1.0, None]],
        [[0.5, 1.2, 1.0, 1.0, None]],
        [[-0.5, 1.0, 1.0, 1.0, None]],
        [["0.5", 1.0, 1.0, 1.0, None]],
    ],
)
def test_a_table_that_no_training_writes_is_refused_when_it_is_read(folder: Path, tmp_path: Path, rates: Any) -> None:
    _with_rates(folder, rates).save(tmp_path / "spoiled")
    with pytest.raises(rl.RetvecLiteError, match=r"rates must be a list, each part of it a threshold, and the shares"):
        rl.load(tmp_path / "spoiled")


@pytest.mark.parametrize("threshold", [0, 1, 7.5, 1e308])
def test_a_table_with_impossible_thresholds_makes_no_classifier(folder: Path, tmp_path: Path, threshold: float) -> None:
    _with_rates(folder, [[threshold, 1.0, 1.0, 1.0, None]]).save(tmp_path / "spoiled")
    with pytest.raises(rl.RetvecLiteError, match="threshold must be a number between 0 and 1"):
        rl.load(tmp_path / "spoiled").with_threshold(keep=0.9)


def _with_rates(folder: Path, rates: Any) -> rl.TrainedClassifier:
    model = load_trained_model(folder / "trained")
    return rl.TrainedClassifier(dataclasses.replace(model, training={**model.training, "rates": rates}))


def test_an_export_with_another_threshold(main: Main, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "dist"
    call = (
        "export",
        str(folder / "trained"),
        "--out",
        str(out),
        "--format",
        "engine",
        "--data",
        str(folder / "trained.csv"),
    )
    data = tiny_dataset(3)
    with open(folder / "trained.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(data.texts, data.labels, strict=True)])
    code, _, error = main(*call, "--reject-at", "1.5")
    assert (
        code == 2
        and error == "retvec-lite: error: reject_at must be a share above 0 and below 1 (0.95 for 95 %), not 1.5.\n"
    )
    assert not out.exists()
    code, _, error = main(*call, "--reject-at", "0.6")
    assert code == 0, error
    chosen = rl.load(folder / "trained").with_threshold(keep=0.6).decision
    assert rl.load(out / "classifier-int8.retvec").decision == chosen
    code, output, _ = main("info", str(out / "classifier-int8.retvec"))
    assert code == 0 and f"None of these: a text whose best label is below {chosen.threshold:.4f}" in output
    assert json.loads((out / "report.json").read_text())["training"]["reject_at"] == 0.6
