"""`retvec-lite train` as a user meets it: three files or nothing, and a sentence for every mistake."""

import csv
import errno
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from modeling_cases import random_classifier
from patience import PATIENCE
from tiny_data import tiny_dataset

from retvec_lite import __main__ as cli
from retvec_lite import api
from retvec_lite.cli import train as train_command
from retvec_lite.model.heads import PoolHead
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.training import train as train_module
from retvec_lite.training.train import Trained

QUICK = ("--head", "linear", "--meaning", "none")
FILES = ["README.md", "classifier.safetensors", "report.html", "report.json", "texts.jsonl"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "[red]data.csv"
    dataset = tiny_dataset(12)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(dataset.texts, dataset.labels, strict=True)])
    return path


def command(*arguments: object) -> int:
    return cli.main(["train", *map(str, arguments)])


def test_from_a_table_to_three_files(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "out"
    arguments = (table, "--out", out, "--head", "pool", "--embedding", "raw", "--epochs", 2, "--seed", 2**31 - 1)
    assert command(*arguments) == 0, capsys.readouterr().err
    printed = capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == FILES and list(out.parent.iterdir()) == [out]
    classifier = load_trained_model(out)
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    facts = report["training"]
    assert report["labels"] == list(classifier.labels) and facts["settings"]["epochs"] == 2
    assert set(facts["validation"]) == {"0", "0.2", "0.5"} and "macro_f1" in facts["validation"]["0"]
    assert facts["folds"] == 3 and "cross-validated in 3 folds" in printed and "Expect " in printed
    assert "Validation" in printed and "[red]data.csv" in printed and "macro F1" in printed
    assert f"retvec-lite export {out} --out dist" in printed.replace("\n", "")

    before = {name: (out / name).read_bytes() for name in FILES}
    assert command(*arguments) == 0 and f"Nothing changed in {out}" in capsys.readouterr().out.replace("\n", "")
    assert command(*arguments[:-1], 7) == cli.USAGE_ERROR
    assert "--force" in capsys.readouterr().err
    assert {name: (out / name).read_bytes() for name in FILES} == before
    os.remove(out / "README.md")  # a folder that lacks something is made again
    assert command(*arguments, "--force") == 0
    assert {name: (out / name).read_bytes() for name in FILES} == before, "same seed, same machine: same bytes"


def test_class_weights_from_a_file(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights, out = tmp_path / "weights.json", tmp_path / "out"
    arguments = (table, "--out", out, *QUICK, "--validation", 0.25, "--class-weights", weights)
    rows = {label: 1 + place for place, label in enumerate(tiny_dataset(1).classes)}
    weights.write_text(json.dumps({**rows, "misspelled": 1}), encoding="utf-8")
    assert command(*arguments) == cli.USAGE_ERROR and not out.exists(), "refused before the training"
    assert "'misspelled' does not occur in the training texts" in capsys.readouterr().err
    weights.write_text(json.dumps(rows), encoding="utf-8")
    assert command(*arguments) == 0, capsys.readouterr().err
    facts = json.loads((out / "report.json").read_text(encoding="utf-8"))["training"]
    assert facts["settings"]["class_weights"] == {label: float(weight) for label, weight in rows.items()}


def test_ctrl_c_in_the_middle_leaves_the_old_and_nothing_new(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting:
        def __enter__(self) -> Any:
            return self.report

        def __exit__(self, *error: object) -> None:
            pass

        def report(self, what: str, done: int, total: int) -> None:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    out.mkdir()
    (out / "report.json").write_text("old\n")
    monkeypatch.setattr(api, "watched", lambda progress: Interrupting())
    before = sorted(tmp_path.iterdir())
    assert command(table, "--out", out, "--embedding", "raw", "--force") == cli.INTERRUPTED
    assert sorted(tmp_path.iterdir()) == before and [path.name for path in out.iterdir()] == ["report.json"]
    assert (out / "report.json").read_text() == "old\n"
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_real_signal_in_the_middle_of_training(table: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    arguments = [str(table), "--out", str(tmp_path / "out"), "--embedding", "raw", "--epochs", "100000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "retvec_lite", "train", *arguments], stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    deadline = time.monotonic() + PATIENCE
    while sorted(tmp_path.iterdir()) == before and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.2)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == cli.INTERRUPTED, errors
    assert sorted(tmp_path.iterdir()) == before and "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--epochs", "many"], "epochs must be an integer or None, not 'many'."),
        (["--ngram-kb", "1.5"], "ngram_kb must be an integer or None, not '1.5'."),
        (["--typo-rate", "a few"], "typo_rate must be a number or None, not 'a few'."),
        (["--delimiter", "::"], "delimiter must be one character, such as ';', or tab, not '::'."),
        (["--validation", "1.5"], "validation"),
        (["--validation", "none.csv"], "none.csv"),
        (["--embedding", "none.safetensors"], "none.safetensors"),
        (["--ngram-kb", "100001"], "ngram_kb"),
        (["--text-column", "message"], "'message'"),
        (["--label-column", "class"], "'class'"),
    ],
)
def test_bad_arguments_are_told_in_one_sentence(
    table: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    part: str,
) -> None:
    for name in ("make_plan", "fit_parts"):
        monkeypatch.setattr(train_module, name, lambda *args, **kwargs: pytest.fail("no work may be done"))
    before = sorted(tmp_path.iterdir())
    extra = [] if "--embedding" in arguments else ["--embedding", "raw"]
    assert command(table, "--out", tmp_path / "out", *extra, *arguments) == cli.USAGE_ERROR
    message = capsys.readouterr().err
    assert message.startswith("retvec-lite: error: ") and part in message and message.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_what_argparse_refuses(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--head", "gru", "--out", "x"], []):
        with pytest.raises(SystemExit) as caught:
            command(table, *arguments)
        assert caught.value.code == 2 and "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("text,label\na,x\nb,x\n", "only 'x'"),
        ("text,label\na,x\nb,\n", "line 3: the column 'label' is empty"),
    ],
)
def test_data_that_cannot_be_trained_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, part: str
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(content)
    assert command(path, "--out", tmp_path / "out", "--embedding", "raw") == cli.USAGE_ERROR
    assert part in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_full_disk_is_named(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operating system's error of a failed write knows no file name; the sentence must."""

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    classifier = random_classifier(PoolHead(hidden=2))
    monkeypatch.setattr(train_module, "fit_classifier", lambda *args, **kwargs: Trained(classifier, None))
    monkeypatch.setattr(os, "fsync", full)
    before = sorted(tmp_path.iterdir())
    assert command(table, "--out", tmp_path / "out", "--embedding", "raw") == cli.USAGE_ERROR
    message = capsys.readouterr().err
    assert "No room to write" in message and "out" in message and "standard streams" not in message
    assert sorted(tmp_path.iterdir()) == before


def test_a_disk_without_room_is_told_before_the_training(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_module, "fit_classifier", lambda *args, **kwargs: pytest.fail("no work may be done"))
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=1000))
    before = sorted(tmp_path.iterdir())
    assert command(table, "--out", tmp_path / "out", "--embedding", "raw") == cli.USAGE_ERROR
    message = capsys.readouterr().err
    assert "Not enough disk space" in message and "1,000 free" in message and str(tmp_path / "out") in message
    assert sorted(tmp_path.iterdir()) == before


THREADS = "TF_NUM_INTRAOP_THREADS"


@pytest.mark.parametrize(
    ("options", "chosen", "expected"), [([], None, "1"), (["--head", "cnn"], None, "1"), ([], "3", "3")]
)
def test_an_operation_gets_one_thread_unless_the_user_chose(
    options: list[str], chosen: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Set first, so that what was there before is put back.
    monkeypatch.setenv(THREADS, chosen or "")
    if chosen is None:
        monkeypatch.delenv(THREADS)
    seen: list[str | None] = []

    @functools.wraps(train_command.train)
    def note(**options: object) -> SimpleNamespace:
        seen.append(os.environ.get(THREADS))
        return SimpleNamespace(held_out=None, lesson=None)

    monkeypatch.setattr(train_command, "train", note)
    assert command("starter", "--out", "unused", *options) == 0
    assert seen == [expected]
