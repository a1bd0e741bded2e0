"""`classify_files` and `classify --output`: order, processes, resuming, and what a run survives."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

import killed_classify
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from command_line import Main
from patience import PATIENCE
from tiny_artifact import LABELS, tiny_artifact

import retvec_lite as rl
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.worker import WorkerFailed
from retvec_lite.scale import classify_files as scale_files
from retvec_lite.scale import sources

OTHER = LABELS[2]


def expected(model: str, texts: list[str]) -> list[str | None]:
    return [found[0].label for found in rl.TextClassifier.load(model).predict_many(texts, top=1)]


def test_processes_answer(place: Path, tiny_model: str, main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "ROWS", 100)
    monkeypatch.setattr(scale_files, "_SMALL", 1)
    texts = [f"{'A' * (row % 3)} {row}" for row in range(1000)]
    pq.write_table(pa.table({"id": range(1000), "text": texts}), "in.parquet", row_group_size=300)
    code, output, errors = main(
        "classify", tiny_model, "--input", "in.parquet", "--output", "out.parquet", "--workers", "2"
    )
    assert (code, output) == (0, "") and "1,000 texts in out.parquet" in errors and "2 at a time" in errors
    found = pq.read_table("out.parquet")
    assert found.schema.names == ["id", "text", "label", "probability"]
    assert found["id"].to_pylist() == list(range(1000)) and found["label"].to_pylist() == expected(tiny_model, texts)
    assert found.schema.field("probability").type == pa.float32()
    assert sorted(os.listdir()) == ["in.parquet", "out.parquet"]


def test_a_script_needs_no_main_guard(place: Path, tiny_model: str) -> None:
    Path("texts.txt").write_text("12\n")
    Path("script.py").write_text(
        f"import retvec_lite as rl\nprint(rl.classify_files({tiny_model!r}, 'texts.txt', 'out.csv').rows)\n"
    )
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr


def found_in(path: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.mark.usefixtures("in_this_process")
def test_a_run_goes_on_with_the_parts_that_are_missing(
    place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "ROWS", 10)
    for name in ("a", "b"):
        Path(f"{name}.jsonl").write_text("".join(f'{{"text": "{name} {row}"}}\n' for row in range(35)))
    asked: list[str] = []
    honest = scale_files.write_shard

    def stops(path, chunk, classify):
        asked.append(chunk.content[0]["text"])
        if "b 20" in asked:
            raise KeyboardInterrupt
        return honest(path, chunk, classify)

    monkeypatch.setattr(scale_files, "write_shard", stops)
    with pytest.raises(KeyboardInterrupt):
        rl.classify_files(tiny_model, "*.jsonl", "out.csv")
    assert not Path("out.csv").exists()
    # A file that was repaired, and one that is new: only their parts are made.
    Path("a.jsonl").write_text('{"text": "new"}\n')
    Path("c.jsonl").write_text('{"text": "c"}\n')
    asked.clear()
    monkeypatch.setattr(
        scale_files, "write_shard", lambda *given: [asked.append(given[1].content[0]["text"]), honest(*given)][1]
    )
    done = rl.classify_files(tiny_model, "*.jsonl", "out.csv")
    assert asked == ["new", "b 20", "b 30", "c"]
    assert (done.rows, done.resumed) == (37, 20)
    texts = [row["text"] for row in pa.csv.read_csv("out.csv").to_pylist()]
    assert texts == ["new", *(f"b {row}" for row in range(35)), "c"] and not Path("out.csv.parts").exists()


@pytest.mark.parametrize("name", ["output.csv", "0123456789abcdef-000007.parquet", "thesis.txt"])
def test_a_folder_of_the_users_is_not_taken_for_parts(place: Path, tiny_model: str, name: str) -> None:
    Path("in.csv").write_text("text\n12\n")
    Path("out.csv.parts").mkdir()
    (Path("out.csv.parts") / name).write_text("mine")
    for force in (False, True):
        with pytest.raises(RetvecLiteError, match=rf"{name} is not ours.*Move it away"):
            rl.classify_files(tiny_model, "in.csv", "out.csv", force=force)
    assert (Path("out.csv.parts") / name).read_text() == "mine" and not Path("out.csv").exists()


@pytest.mark.usefixtures("in_this_process")
def test_parts_of_another_run_are_not_mixed(place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("in.csv").write_text("text\n12\n")
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(scale_files, "write_output", lambda *_: 1 / 0)
        rl.classify_files(tiny_model, "in.csv", "out.csv")
    Path("other.tflite").write_bytes(tiny_artifact(decision=Decision(threshold=0.6).to_dict()))
    with pytest.raises(RetvecLiteError, match=r"out.csv.parts holds the parts of a run with another model. Repeat"):
        rl.classify_files("other.tflite", "in.csv", "out.csv")
    with pytest.raises(RetvecLiteError, match=r"another choice of languages"):
        rl.classify_files(tiny_model, "in.csv", "out.csv", languages=["digits"])
    with (
        scale_files._work_folder(Path("busy.csv"), {}),
        pytest.raises(RetvecLiteError, match=r"Another process is writing"),
    ):
        rl.classify_files(tiny_model, "in.csv", "busy.csv")
    assert rl.classify_files(tiny_model, "in.csv", "out.csv").resumed == 1
    for given in (np.array(["CAPITALS"]), iter(["CAPITALS"])):
        rl.classify_files(tiny_model, "in.csv", "some.csv", languages=given, force=True)  # type: ignore[arg-type]
        assert pa.csv.read_csv("some.csv")["label"].to_pylist() == ["CAPITALS"]


@pytest.mark.usefixtures("in_this_process")
def test_bad_rows_can_be_skipped_after_they_were_an_error(
    place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "ROWS", 2)
    Path("in.csv").write_text("text,n\n" + "12,1\n" * 5 + "13\n" + "AB,2\n" * 5)
    for _ in range(2):
        with pytest.raises(RetvecLiteError, match=r"in.csv, line 7: 1 cell, but the header has 2\."):
            rl.classify_files(tiny_model, "in.csv", "out.jsonl")
    done = rl.classify_files(tiny_model, "in.csv", "out.jsonl", skip_bad_rows=True)
    assert (done.rows, done.resumed, done.skipped) == (10, 4, 1)
    assert [row["label"] for row in found_in("out.jsonl")] == ["digits"] * 5 + ["CAPITALS"] * 5


@pytest.mark.usefixtures("in_this_process")
def test_force_begins_again_where_parts_belong_to_another_run(
    place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("in.csv").write_text("text;n\n12;1\n")
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(scale_files, "write_output", lambda *_: 1 / 0)
        rl.classify_files(tiny_model, "in.csv", "out.jsonl")
    with pytest.raises(RetvecLiteError, match=r"another label column\. Repeat .* begin again with --force"):
        rl.classify_files(tiny_model, "in.csv", "out.jsonl", label_column="kind")
    done = rl.classify_files(tiny_model, "in.csv", "out.jsonl", label_column="kind", force=True)
    assert done.resumed == 0 and list(found_in("out.jsonl")[0]) == ["text", "n", "kind", "probability"]
    # The same run goes on, with force or without.
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(scale_files, "write_output", lambda *_: 1 / 0)
        rl.classify_files(tiny_model, "in.csv", "out.jsonl", force=True)
    assert rl.classify_files(tiny_model, "in.csv", "out.jsonl", force=True).resumed == 1


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
@pytest.mark.usefixtures("in_this_process")
def test_an_output_that_is_a_link_is_followed(place: Path, tiny_model: str, main: Main) -> None:
    Path("in.txt").write_text("12\n")
    Path("real").mkdir()
    Path("real/out").touch(mode=0o600)
    Path("link.csv").symlink_to("real/out")
    command = ("classify", tiny_model, "--input", "in.txt", "--output", "link.csv")
    assert main(*command)[0] == 2 and Path("real/out").read_text() == ""
    assert main(*command, "--force")[0] == 0
    assert Path("link.csv").is_symlink() and Path("real/out").read_text().startswith('"text","label"')
    assert Path("real/out").stat().st_mode & 0o777 == 0o600 and os.listdir("real") == ["out"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_is_answered_before_the_parts_in_progress_are_finished(
    place: Path, tiny_model: str, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    told_meanwhile: list[bool] = []

    class Slow:
        def ask(self, function, *arguments, size):
            waits = False
            while not waits:  # for this answer
                time.sleep(0.01)
                frames = traceback.walk_stack(sys._current_frames()[threading.main_thread().ident])
                waits = [frame.f_code.co_name for frame, _ in frames][:2] == ["wait", "result"]
            os.kill(os.getpid(), signal.SIGINT)
            told_meanwhile.append(answered.wait(timeout=PATIENCE))
            return function(*arguments)

    class Watched(io.StringIO):
        def write(self, text):
            if "Interrupted: the parts in progress are being finished" in text:
                answered.set()
            return super().write(text)

    monkeypatch.setattr(scale_files, "Worker", Slow)
    monkeypatch.setattr(sys, "stderr", Watched())
    Path("in.txt").write_text("12\n")
    command = ("classify", tiny_model, "--input", "in.txt", "--output", "out.csv")
    assert main(*command)[0] == 130 and told_meanwhile == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not Path("out.csv").exists() and len(list(Path("out.csv.parts").glob("*.parquet"))) == 1


@pytest.mark.usefixtures("in_this_process")
def test_damaged_parts_are_made_again(
    place: Path, tiny_model: str, main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "ROWS", 100)
    Path("in.csv").write_text("text\n" + "".join(f"AB {row}\n" for row in range(350)))
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(scale_files, "write_output", lambda *_: 1 / 0)
        rl.classify_files(tiny_model, "in.csv", "out.parquet")
    folder = Path("out.parquet.parts")
    whole = sorted(folder.glob("*.parquet"))
    assert len(whole) == 4
    # One that looks whole from its end.
    content = whole[1].read_bytes()
    whole[1].write_bytes(content[:4] + bytes(400) + content[404:])
    command = ("classify", tiny_model, "--input", "in.csv", "--output", "out.parquet")
    code, _, errors = main(*command)
    message = errors.splitlines()[-1]
    assert code == 2 and message.startswith(f"retvec-lite: error: {whole[1]} is damaged (")
    assert message.endswith("). Remove it and repeat the command: this part alone is made again.")
    whole[1].unlink()
    whole[3].write_bytes(b"PAR1")
    assert main(*command)[0] == 0
    assert [row["text"] for row in pq.read_table("out.parquet").to_pylist()] == [f"AB {row}" for row in range(350)]
    assert not folder.exists()


@pytest.mark.parametrize("deaths", [2, 3])
def test_a_shard_whose_process_dies_is_made_again(
    place: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch, deaths: int
) -> None:
    alive: list[bool] = []

    class Mortal:
        def ask(self, function, *arguments, size):
            if len(alive) < deaths:
                raise WorkerFailed("crashed with signal 9")
            return function(*arguments)

        def restart(self):
            alive.append(True)

    monkeypatch.setattr(scale_files, "Worker", Mortal)
    Path("in.txt").write_text("12\n")
    if deaths == 2:
        assert rl.classify_files(tiny_model, "in.txt", "out.csv").rows == 1
    else:
        with pytest.raises(RetvecLiteError, match="killed three times in a row, perhaps for want of memory"):
            rl.classify_files(tiny_model, "in.txt", "out.csv")
        assert Path("out.csv.parts").exists()


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="finds worker processes in /proc")
def test_no_row_is_lost_or_doubled_by_kills(place: Path, tiny_model: str) -> None:
    done = subprocess.run(
        [sys.executable, killed_classify.__file__, tiny_model, str(place), "6", "40000", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["rows"] == 40000 and facts["each row once, in order"] and facts["right answers"]
    # Every second kill is for a worker; where none runs yet, it hits the command.
    assert sum(facts["kills"].values()) == 6 and facts["kills"]["command"] >= 3 and facts["kills"]["worker"] >= 1
    assert facts["left behind"] == ["labels.parquet"]
