"""What counts as kept, as an innocent text called spam, and as spam found."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import common
from benchmarks.experiments import robustness
from benchmarks.experiments.robustness import (
    AS_WRITTEN,
    JOINED,
    MEASURED,
    join_alike,
    measure,
    robustness_summary,
    tables,
)
from benchmarks.experiments.ways import GROUPS, can_write
from benchmarks.systems.names import DEFAULT_FILE, NETWORK, SVM
from benchmarks.systems.trained import Trained
from retvec_lite.data.dataset import Dataset

TEXTS = Dataset(
    ("win a prize", "see you", "take the prize money", "thank you all"), ("spam", "ham", "ham", "ham"), Path("test.csv")
)


def keyword(texts: list[str]) -> np.ndarray:
    """Spam is what has the word prize, or a dot."""
    spam = np.array(["prize" in text or "." in text for text in texts], np.float32)
    return np.stack([1 - spam, spam], axis=1)


def test_right_answers_are_kept_and_innocent_texts_called_spam() -> None:
    row = measure(lambda: Trained(("ham", "spam"), keyword), TEXTS)
    assert (row["texts"], row["right"]) == (4, 0.75)
    assert set(row["kept"]) == set(filter(can_write, MEASURED))
    assert (row["kept"][AS_WRITTEN], row["innocent"][AS_WRITTEN], row["found"][AS_WRITTEN]) == (1.0, 1 / 3, 1.0)
    assert (row["kept"]["upper case"], row["innocent"]["upper case"], row["found"]["upper case"]) == (2 / 3, 0.0, 0.0)
    dots = "dots between letters"
    assert (row["kept"][dots], row["innocent"][dots], row["found"][dots]) == (1 / 3, 1.0, 1.0)
    assert (row["kept"][JOINED], row["innocent"][JOINED]) == (1 / 3, 1.0), (
        "the word prize is in one of three innocent texts"
    )
    assert join_alike(TEXTS, 2) == [
        "win a prize",
        "see you take the prize money",
        "take the prize money thank you all",
        "thank you all see you",
    ]
    other = measure(lambda: Trained(("ham", "other"), keyword), TEXTS)
    assert not other["innocent"] and not other["found"], "no label is spam"


def test_a_file_is_measured_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "sms_spam"
    folder.mkdir()
    (folder / "test.csv").write_text("text,label\nyour code is 4711,chat\nwin a prize,spam\nsee you,chat\n")
    file = str(common.ROOT / "golden/rejecting.retvec")
    robustness.main(["--data", str(tmp_path), "--set", "SMS spam", "--file", file, "--texts", "2"])
    out = capsys.readouterr().out
    assert out.startswith("SMS spam, 2 texts, ")
    assert all(f"| {way} | " in out for way in MEASURED)


def row(data: str, system: str, kept: float, *, spam: bool) -> dict:
    shares = dict.fromkeys(MEASURED, kept)
    none = {field: shares if spam else {} for field in ("innocent", "found")}
    return {
        "data": data,
        "system": system,
        "seed": 0,
        "texts": 1046,
        "right": 0.9,
        "kept": shares,
        "settings": {},
    } | none


def test_tables_have_ways_down_and_systems_across(tmp_path: Path) -> None:
    rows = [row("Banking77", SVM, 0.5, spam=False), row("SMS spam", SVM, 0.25, spam=True)]
    rows += [row("Banking77", DEFAULT_FILE, 1.0, spam=False), row("SMS spam", DEFAULT_FILE, 0.5, spam=True)]
    markdown = tables(rows)
    assert markdown.count("| right as written | .90 | .90 |") == 2
    assert markdown.count("| fullwidth | .50 | .25 |") == 3  # kept, innocent and found of SMS spam
    assert markdown.count("| fullwidth | 1.00 | .50 |") == 1
    earlier = row("SMS spam", SVM, 0.25, spam=True)
    del earlier["kept"]["fullwidth"]  # measured before this way was added
    assert "| fullwidth | - |" in tables([earlier])
    unfinished = row("SMS spam", NETWORK, 0.5, spam=True)
    (tmp_path / "robustness.json").write_text(json.dumps([*rows, unfinished]))
    summary = robustness_summary(tmp_path)
    assert NETWORK not in summary, "a mean over one data set of two"
    assert "| spam found: default file | spam found: SVM, characters |" in summary
    assert "| endings | .75 | .38 | .50 | .25 | .50 | .25 |" in summary
    assert "| padding | .75 | .38 | .50 | .25 | .50 | .25 |" in summary
    for written in rows:
        for field in ("kept", "innocent", "found"):
            written[field] = {way: share for way, share in written[field].items() if way not in GROUPS["endings"]}
    (tmp_path / "robustness.json").write_text(json.dumps(rows))
    assert "| endings |" not in robustness_summary(tmp_path), "a kind that nobody measured"


def test_the_command_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(common, "PICTURES", tmp_path)
    built = []
    monkeypatch.setattr(robustness, "build_victim", lambda *line: built.append(line) or Trained(("a", "spam"), keyword))
    corpus = tmp_path / "data" / "sms_spam"
    corpus.mkdir(parents=True)
    for name in ("train", "test"):
        lines = [
            f"{text} {number},{label}\n" for number in range(5) for text, label in (("ok", "a"), ("prize", "spam"))
        ]
        (corpus / f"{name}.csv").write_text("text,label\n" + "".join(lines))
    for _ in range(2):
        robustness.main(["--data", str(corpus.parent), "--set", "SMS spam", "--only", DEFAULT_FILE])
    assert len(built) == 1
    robustness.main(
        ["--data", str(corpus.parent), "--set", "SMS spam", "--only", DEFAULT_FILE, "--work", str(tmp_path / "other")]
    )
    assert len(built) == 2, "trained anew"
    assert "**SMS spam**, 10 test texts: share of the spam found" in capsys.readouterr().out
    assert (tmp_path / "robustness.png").stat().st_size > 10_000
