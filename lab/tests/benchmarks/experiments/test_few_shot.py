"""The benchmark of few texts a label: draws, systems, tables and plot."""

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retvec_lite as rl
from benchmarks import common
from benchmarks.data.sets import STARTER
from benchmarks.experiments import few_shot
from benchmarks.experiments.few_shot import ALL, curves, draw_texts, tables
from benchmarks.systems import whole
from benchmarks.systems.linear import SVMS
from benchmarks.systems.names import DEFAULT_FILE, FASTTEXT_LARGE, NONE_OF_THESE
from benchmarks.systems.ours import answers
from benchmarks.systems.trained import Trained, accuracy
from benchmarks.tables.plots import draw_curves
from retvec_lite.data.dataset import Dataset

SVM, BOTH = SVMS
TOPICS = {"food": ("bread", "cheese", "soup", "salad"), "play": ("guitar", "singer", "concert", "album")}


def topics(count: int) -> Dataset:
    """So many texts of each topic; a word of the topic decides."""
    rows = [
        (f"{words[number % 4]} number {number}", label) for number in range(count) for label, words in TOPICS.items()
    ]
    texts, labels = zip(*rows, strict=True)
    return Dataset(texts, labels)


def test_a_draw_has_so_many_texts_of_each_label_and_differs_from_the_next() -> None:
    training = Dataset(tuple(f"text {number}" for number in range(65)), ("a", "b", "a", "b", "c") * 13)
    assert draw_texts(training, ALL, 0) == training
    draws = [draw_texts(training, 20, seed) for seed in range(3)]
    for drawn in draws:
        assert Counter(drawn.labels) == {"a": 20, "b": 20, "c": 13}
    assert draw_texts(training, 20, 1) == draws[1]
    assert len({drawn.texts for drawn in draws}) == 3


@pytest.mark.parametrize("system", [SVM, BOTH, pytest.param(FASTTEXT_LARGE, marks=pytest.mark.slow)])
def test_the_others_learn_and_say_what_they_chose(system: str) -> None:
    if system == FASTTEXT_LARGE:
        pytest.importorskip("fasttext")
    trained = whole.train(system, topics(8))
    assert accuracy(trained, topics(4), 0.0) == 1.0
    chosen = trained.facts["lr" if system == FASTTEXT_LARGE else "C"]
    assert trained.facts["validation"][chosen] == max(trained.facts["validation"].values())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "sms_spam"
    folder.mkdir(parents=True)
    for name, count in (("train", 12), ("test", 6)):
        found = topics(count)
        rows = zip(found.texts, found.labels, strict=True)
        (folder / f"{name}.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    return folder.parent


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, int]]:
    """What was trained, as (system, texts); a word that is not mistyped is enough to be right."""
    calls: list[tuple[str, int]] = []

    def probabilities(texts: Sequence[str]) -> np.ndarray:
        return np.eye(2)[[int(not any(word in text for word in TOPICS["food"])) for text in texts]]

    def train(system: str, drawn: Dataset, seed: int, inbox: Sequence[str]) -> Trained:
        assert not {*drawn.texts} & {*inbox} and len(drawn) + len(inbox) >= 24, "all other texts"
        calls.append((system, len(drawn)))
        return Trained(("food", "play"), probabilities, {"bytes": 1_000_000})

    monkeypatch.setattr(few_shot, "train", train)
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(common, "PICTURES", tmp_path)
    return calls


def test_the_command_goes_on_where_it_was(data: Path, trained: list[tuple[str, int]], tmp_path: Path) -> None:
    arguments = ["--data", str(data), "--set", "SMS spam", "--only", DEFAULT_FILE]
    few_shot.main([*arguments, "--shots", "5", "10", "--draws", "0", "1"])
    assert trained == [(DEFAULT_FILE, 10), (DEFAULT_FILE, 10), (DEFAULT_FILE, 20), (DEFAULT_FILE, 20)]
    few_shot.main([*arguments, "--shots", "10", "0"])
    assert trained[4:] == [(DEFAULT_FILE, 20), *[(DEFAULT_FILE, 24)] * 3], (
        "the third draw, and all texts with three seeds"
    )
    few_shot.main([*arguments, "--shots", "10", "--draws", "0", "--again"])
    assert trained[8:] == [(DEFAULT_FILE, 20)]
    rows = json.loads((tmp_path / "few_shot.json").read_text())
    assert len(rows) == 8
    assert {tuple(row["accuracy"]) for row in rows} == {("0", "0.5"), ("0", "0.2", "0.5", "1")}
    markdown = (tmp_path / "few_shot.md").read_text()
    assert "**SMS spam**, 2 labels, 10 / 20 training texts, 12 test texts" in markdown
    assert "**SMS spam**, all 24 training texts, 12 test texts" in markdown
    assert "| default file (over 1 MB) | 0% | 1.000 | 1.000 ± 0.000 |" in markdown
    assert (tmp_path / "few-shot.png").stat().st_size > 10_000


def test_an_answer_of_no_label_counts_as_the_unknown_label(tmp_path: Path) -> None:
    """The golden file rejects some texts; it has no unknown label of its own, so one is put in place of `alarm`."""
    classifier = rl.load(common.ROOT / "golden/rejecting.retvec")
    assert answers(classifier) is None, "without an unknown label, the most probable label counts"
    texts = ["wkae me up at six", "is it going to rain", "?!"]
    assert [found.label for (found,) in classifier.predict(texts, 1)][::2] == ["alarm", None]
    classifier.decision = dataclasses.replace(classifier.decision, unknown_label="alarm", unknown_power=0.2)
    guess = answers(classifier)
    assert guess is not None
    trained = Trained(classifier.labels, classifier.probabilities, guess=guess)
    assert trained(texts) == ["alarm", "weather", "alarm"]


def test_a_set_without_the_unknown_label_is_left_out(data: Path, trained: list[tuple[str, int]]) -> None:
    few_shot.main(["--data", str(data), "--set", "SMS spam", "--only", NONE_OF_THESE, "--shots", "0"])
    path = data / "sms_spam" / "train.csv"
    path.write_text(path.read_text() + "is it,oos\n")
    assert trained == []
    few_shot.main(
        ["--data", str(data), "--set", "SMS spam", "--only", NONE_OF_THESE, "--shots", "5", "0", "--draws", "0"]
    )
    assert trained == [(NONE_OF_THESE, 25)], "few texts have no such row"


def measured(system: str, shots: int, seed: int, clean: float, data: str = "Banking77") -> dict[str, Any]:
    rates = few_shot.RATES_OF_ALL if shots == ALL else few_shot.RATES
    return {
        "data": data,
        "system": system,
        "shots": shots,
        "seed": seed,
        "settings": {"test_texts": 1000},
        "labels": 77,
        "texts": 77 * shots,
        "accuracy": {f"{rate:g}": clean - rate / 10 for rate in rates},
    }


def test_a_lead_is_bold_only_beyond_two_standard_errors() -> None:
    rows = [measured(DEFAULT_FILE, 5, seed, 0.7 + seed / 100) for seed in range(3)]
    rows += [measured(SVM, 5, seed, 0.6 + seed / 100) for seed in range(3)]
    rows += [measured(BOTH, 5, seed, 0.65) for seed in range(3)]
    assert "| default file | 0% | **0.710** ± 0.006 |" in tables(rows)
    near = [measured(BOTH, 5, seed, 0.699 + seed / 100) for seed in range(3)]
    assert "**0." not in tables([*rows[:6], *near])
    few_tests = [row | {"settings": {"test_texts": 100}} for row in rows]
    assert "**0." not in tables(few_tests), "draws agree, but a hundred test texts cannot tell"
    alone = tables(rows[3:])
    assert "0.650 ± 0.000" in alone and "**0." not in alone, "both belong to one side"


def test_missing_rows_leave_a_dash_in_the_table_and_a_shorter_curve(tmp_path: Path) -> None:
    rows = [measured(SVM, shots, 0, 0.6 + shots / 100) for shots in (5, 10)]
    rows += [measured(DEFAULT_FILE, 10, 0, 0.8), measured(DEFAULT_FILE, 5, 0, 0.3, data=STARTER)]
    markdown = tables(rows)
    assert "| default file | 0% | - | **0.800** |" in markdown
    assert "77 labels, 385 / 770 training texts" in markdown
    assert markdown.index("Banking77") < markdown.index(STARTER)
    panels = curves([*rows, measured(SVM, ALL, 0, 0.9)])
    assert list(panels) == ["Banking77", STARTER]
    assert [point[0] for point in panels["Banking77"][SVM]["clean"]] == [5, 10]
    assert [point[:2] for point in panels["Banking77"][DEFAULT_FILE]["half of the words mistyped"]] == [(10, 0.75)]
    draw_curves(panels, tmp_path / "curves.png", "texts", logarithmic=True)
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
