"""The commands from their arguments to their files, with a system that needs no training."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks import common
from benchmarks.data.sets import Corpus
from benchmarks.experiments import adversarial, attacks, comparison, typo_resilience
from benchmarks.experiments.adversarial import SEEN, TRANSFERRED
from benchmarks.experiments.attacks import Found
from benchmarks.systems.names import NETWORK, SVM
from benchmarks.systems.networks import Plan
from benchmarks.systems.trained import Probabilities, Trained

LABELS = ("ham", "spam")
Build = Callable[[str, str, Corpus, Plan], Trained]


def keyword(texts: Sequence[str]) -> np.ndarray:
    """Spam is what has the word prize."""
    spam = np.array(["prize" in text for text in texts], np.float32)
    return np.stack([1 - spam, spam], axis=1) * 0.8 + 0.1


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "sms_spam"
    folder.mkdir(parents=True)
    rows = [("win a prize", "spam"), ("see you tomorrow", "ham"), ("claim your prize now", "spam"), ("ok then", "ham")]
    for name in ("train", "test"):
        lines = [f"{text} {number},{label}\n" for number in range(5) for text, label in rows]
        (folder / f"{name}.csv").write_text("text,label\n" + "".join(lines))
    misspellings = tmp_path / "data" / "misspellings"
    misspellings.mkdir()
    (misspellings / "train.csv").write_text("text,label,source\nprise,prize,x\ntommorow,tomorrow,x\n")
    return folder.parent


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str, int]]:
    """What was built, in order; results go to tmp_path."""
    calls: list[tuple[str, str, int]] = []

    def build(system: str, head: str, corpus: Corpus, plan: Plan) -> Trained:
        calls.append((system, head, plan.seed))
        return Trained(LABELS, keyword, {"bytes": 1234, "parameters": 99, "seconds": 1.0}, tmp_path)

    for module in (comparison, typo_resilience):
        monkeypatch.setattr(module, "build", build)
    monkeypatch.setattr(adversarial, "build_victim", build)
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(common, "PICTURES", tmp_path)
    return calls


def arguments(data: Path, *more: str) -> list[str]:
    return ["--data", str(data), "--set", "SMS spam", "--only", NETWORK, *more]


def test_a_comparison_goes_on_where_it_was(data: Path, built: list[tuple[str, str, int]], tmp_path: Path) -> None:
    comparison.main(arguments(data, "--head", "cnn"))
    comparison.main(arguments(data, "--head", "cnn"))
    assert built == [(NETWORK, "cnn", 0)]
    comparison.main(arguments(data, "--head", "cnn", "--seeds", "0", "1"))
    assert built == [(NETWORK, "cnn", 0), (NETWORK, "cnn", 1)]
    markdown = (tmp_path / "comparison.md").read_text()
    assert "| network alone | cnn | 99 | 1 kB | 1.000 ± 0.000 |" in markdown
    comparison.main(arguments(data, "--head", "cnn", "--epochs", "3"))
    assert built[2:] == [(NETWORK, "cnn", 0)]
    rows = json.loads((tmp_path / "comparison.json").read_text())
    assert [(row["seed"], row["settings"]["epochs"]) for row in rows] == [(0, 3)]
    assert rows[0]["accuracy"]["0"] == 1.0
    assert rows[0]["accuracy"]["1"] < 0.8
    assert (rows[0]["bytes"], rows[0]["parameters"]) == (1234, 99)


def test_typo_resilience_measures_what_is_missing_and_draws(
    data: Path, built: list[tuple[str, str, int]], tmp_path: Path
) -> None:
    kinds = ["--category", "all kinds", "--category", "human misspellings"]
    typo_resilience.main(arguments(data, *kinds))
    typo_resilience.main(arguments(data, *kinds))
    assert len(built) == 1
    typo_resilience.main(arguments(data, *kinds, "--category", "delete"))
    assert len(built) == 2
    rows = {row["category"]: row for row in json.loads((tmp_path / "typo_resilience.json").read_text())}
    assert list(rows) == ["all kinds", "human misspellings", "delete"]
    assert list(rows["all kinds"]["accuracy"]) == [f"{tenth / 10:g}" for tenth in range(11)]
    assert list(rows["human misspellings"]["accuracy"]) == ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]
    assert rows["human misspellings"]["changed"]["0.5"] < 0.3  # one word in three or four has a misspelling
    for name in ("typo_resilience", "typo_resilience-people"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_adversarial_attacks_some_texts(
    data: Path, built: list[tuple[str, str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str]] = []

    def attack(
        name: str, probabilities: Probabilities, texts: list[str], labels: list[int], seed: int, shown: str = SEEN[0]
    ) -> list[Found | None]:
        seen.append((name, shown))
        right = probabilities(texts).argmax(axis=1) == np.array(labels)
        return [
            Found(text.replace("prize", "pirze"), "prize" in text, 7, 0.2) if own else None
            for text, own in zip(texts, right, strict=True)
        ]

    monkeypatch.setattr(adversarial, "attack_all", attack)
    monkeypatch.setattr(adversarial, "require_textattack", lambda: None)
    command = arguments(data, "--attack", "Pruthi", "--attack", "DeepWordBug", "--texts")
    adversarial.main([*command, "20"])
    adversarial.main([*command, "20"])
    assert built == [(NETWORK, "cnn", 0), (SVM, "whole", 0)]
    assert len(seen) == len(set(seen)) + 2 == 8, "texts against the SVM are made once for each attack"
    rows = json.loads((tmp_path / "adversarial.json").read_text())
    assert {(row["attack"], row["shown"]) for row in rows} == {
        (name, shown) for name in ("Pruthi", "DeepWordBug") for shown in SEEN
    }
    for row in rows:
        assert (row["texts"], row["original_accuracy"]) == (20, 1.0)
        assert row["success_rate"] == row["accuracy_under_attack"] == 0.5
        assert row["mean_queries"] == (0.0 if row["shown"] == TRANSFERRED else 7.0)
    adversarial.main([*command, "4", "--shown", "label"])
    assert built[2:] == [(NETWORK, "cnn", 0)], "other texts are measured again"


def test_without_textattack_attacks_say_how_to_install_it(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attacks.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"textattack.*benchmarks/README\.md"):
        adversarial.main(arguments(data))


def test_kinds_of_an_attack_that_succeed_alike_share_a_line(tmp_path: Path) -> None:
    shown = {"shown": adversarial.SHOWN[0], "system": SVM, "head": "whole", "seed": 0, "data": "SMS spam"}
    kinds = [name for name in adversarial.ATTACKS if name.startswith("Bad Characters")]
    rates = {"Pruthi": 0.3, **dict.fromkeys(kinds, 0.0)}
    rows = [{**shown, "attack": name, "success_rate": rate} for name, rate in rates.items()]
    (tmp_path / "adversarial.json").write_text(json.dumps(rows))
    titles = [line.split("|")[1].strip() for line in adversarial.attack_summary(tmp_path).splitlines()[2:]]
    assert titles == ["Pruthi", f"Bad Characters, {len(kinds)} kinds"]
    rows[-1]["success_rate"] = 0.1
    (tmp_path / "adversarial.json").write_text(json.dumps(rows))
    titles = [line.split("|")[1].strip() for line in adversarial.attack_summary(tmp_path).splitlines()[2:]]
    assert titles == ["Pruthi", f"Bad Characters, {len(kinds) - 1} kinds", kinds[-1]]
