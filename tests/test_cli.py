import builtins
import contextlib
import csv
import errno
import importlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_artifact import LABELS, SIGNATURES, tiny_artifact, tiny_probabilities, tiny_signatures_artifact

import retvec_lite
from retvec_lite import cli
from retvec_lite.errors import RetvecLiteError

COMMAND = [sys.executable, "-c", "import sys; from retvec_lite.cli import main; sys.exit(main())"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "tiny.tflite"
    path.write_bytes(tiny_artifact())
    return str(path)


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write_table(tmp_path / "data.csv", [("12 34", LABELS[0]), ("AB CD", LABELS[1]), ("so what", LABELS[2])])


def write_table(path: Path, rows: Sequence[tuple[str, str]], header: tuple[str, str] = ("text", "label")) -> str:
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def run(*arguments: str, stdin: bytes | None = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], input=stdin, capture_output=True, check=False)


Main = Callable[..., tuple[int, str, str]]


@pytest.fixture
def main(capsys: pytest.CaptureFixture[str]) -> Main:
    """The command in this process: (exit code, standard output, standard error)."""

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = cli.main(arguments)
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        output = capsys.readouterr()
        return code, output.out, output.err

    return call


# --- classify --------------------------------------------------------------------------------------------------------


def test_classify_arguments(main: Main, model: str) -> None:
    code, output, _ = main("classify", model, "12", "A")
    rows = [line.split("\t") for line in output.splitlines()]
    assert code == 0 and [row[0] for row in rows] == ["digits", "CAPITALS"]
    assert [float(row[1]) for row in rows] == pytest.approx([tiny_probabilities("12")[0], 0.5064], abs=1e-4)


def test_classify_top_and_json(main: Main, model: str) -> None:
    code, output, _ = main("classify", model, "--top", "2", "--json", 'A "1\n2" 👍')
    found = json.loads(output)
    assert code == 0 and output.count("\n") == 1 and "👍" in output
    assert found["text"] == 'A "1\n2" 👍'
    assert [row["label"] for row in found["predictions"]] == ["digits", "CAPITALS"]
    _, output, _ = main("classify", model, "--top", "3", "x")
    assert output.split("\t")[::2] == [LABELS[2], "digits", "CAPITALS"]


def test_classify_reads_lines_and_survives_any_byte(model: str) -> None:
    lines = "12\r\nAB\n\n👍\n".encode() + b"\xff\xfe\x00\xed\xa0\x80 1\n" + b"1" * 1_000_000 + b"\nno newline"
    done = run("classify", model, "--json", stdin=lines)
    assert done.returncode == 0 and done.stderr == b""
    answers = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    assert [answer["predictions"][0]["label"] for answer in answers] == [
        "digits", "CAPITALS", LABELS[2], LABELS[2], "digits", "digits", LABELS[2],
    ]  # fmt: skip
    assert answers[0]["text"] == "12" and answers[4]["text"].startswith("\udcff\udcfe\0")


def test_classify_answers_each_line_at_once(model: str) -> None:
    with subprocess.Popen([*COMMAND, "classify", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        for text, label in ((b"12\n", b"digits"), (b"AB\n", b"CAPITALS")):
            process.stdin.write(text)
            process.stdin.flush()
            assert process.stdout.readline().startswith(label)
        process.stdin.close()
        assert process.wait() == 0


def test_a_text_may_look_like_an_option_or_be_empty(main: Main, model: str) -> None:
    code, output, _ = main("classify", model, "--", "--json", "")
    assert code == 0 and output.count("\n") == 2


def test_classify_prints_unicode_whatever_the_locale_says(model: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run([*COMMAND, "classify", model, "x"], env=environment, capture_output=True, check=True)
    assert done.stdout.decode("utf-8").startswith(LABELS[2])


def test_the_notes_of_the_runtime_are_not_shown(model: str) -> None:
    done = run("classify", model, "12")
    assert done.returncode == 0 and done.stderr == b""


def test_a_reader_that_has_enough_ends_the_program_quietly(model: str) -> None:
    with subprocess.Popen(
        [*COMMAND, "classify", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(b"12\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"AB\n")
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == cli.BROKEN_PIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_full_disk_gives_one_sentence(model: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "classify", model, "12"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "retvec-lite: error: Expected to read or write the standard streams, received: No space left on device."
    ]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_gives_one_line(model: str) -> None:
    with subprocess.Popen(
        [*COMMAND, "classify", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(b"12\n")
        process.stdin.flush()
        process.stdout.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"retvec-lite: interrupted\n"
        assert process.wait() == 130


@pytest.mark.skipif(os.name == "nt", reason="Windows has no closed standard streams of this kind")
def test_closed_standard_input_gives_one_sentence(model: str) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, "classify", model], capture_output=True, check=False
    )
    assert done.returncode == 2 and b"standard input" in done.stderr and done.stderr.count(b"\n") == 1


# --- classify --input ------------------------------------------------------------------------------------------------


def labels_of(output: str) -> list[str]:
    return [line.split("\t")[0] for line in output.splitlines()]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("texts.txt", b"\xef\xbb\xbf12\r\nAB\n\n\xff 1\nno newline"),
        ("texts.csv", b'id,text\n1,12\n2,"AB"\n\n3,"x,\n""y"""\n4,\xff 1\n5,no newline'),
        ("texts.TSV", b"text\tid\n12\t1\nAB\t2\nx, y\t3\n\xff 1\t4\nno newline\t5\n"),
        (
            "texts.jsonl",
            b'{"text": "12"}\n\n{"text": "AB"}\n{"text": "x", "n": 1}\n{"text": "\\ud800 1"}\n{"text": "z"}',
        ),
    ],
)
def test_a_file_of_texts_is_answered_line_by_line(
    main: Main, model: str, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    code, output, errors = main("classify", model, "--input", str(tmp_path / name))
    assert code == 0
    assert labels_of(output) == ["digits", "CAPITALS", LABELS[2], "digits", LABELS[2]]
    assert errors.startswith("5 texts in ") and errors.count("\n") == 1


def test_many_texts_keep_their_order_and_their_answers(main: Main, model: str, tmp_path: Path) -> None:
    texts = ["1" * (number % 4) + "A" * (number % 3) for number in range(1000)]
    write_table(tmp_path / "many.csv", [(text, str(number)) for number, text in enumerate(texts)], ("body", "id"))
    arguments = ["classify", model, "--input", str(tmp_path / "many.csv"), "--text-column", "body", "--json"]
    outputs = [main(*arguments, "--workers", workers)[1] for workers in ("1", "2")]
    assert outputs[0] == outputs[1]
    found = [json.loads(line) for line in outputs[0].splitlines()]
    assert [item["text"] for item in found] == texts
    for item, text in zip(found[:30], texts, strict=False):
        assert item["predictions"][0]["probability"] == pytest.approx(tiny_probabilities(text).max(), abs=1e-5)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", "body\n12\n", "Expected one column 'text' in .*a.csv, received 'body'"),
        ("a.csv", "text,text\n1,2\n", "Expected one column 'text' in"),
        ("a.csv", "", "Expected one column 'text' in .*a.csv, received nothing"),
        ("a.csv", "text,id\n12\n", "Expected 2 fields as in the header in .*a.csv up to line 2, received 1"),
        ("a.csv", 'text\n"12" x\n', "Expected fields quoted as RFC 4180 says in"),
        ("a.jsonl", "[1]\n", "Expected one JSON object with the field 'text' in .* line 1"),
        ("a.jsonl", '{"text": "1"}\n{"text": 1}\n', "Expected a string as 'text' in .* line 2, received 1"),
        ("a.pdf", "x", "Expected a file named .txt, .csv"),
        (None, "", "Expected a readable file at .*missing.txt, received: No such file"),
    ],
)
def test_a_file_that_holds_no_texts_is_one_sentence(
    main: Main, model: str, tmp_path: Path, name: str | None, content: str, sentence: str
) -> None:
    path = tmp_path / (name or "missing.txt")
    if name:
        path.write_text(content, encoding="utf-8")
    code, _, errors = main("classify", model, "--input", str(path))
    assert code == 2 and errors.count("\n") == 1
    assert re.search(sentence, errors), errors


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals of this kind")
def test_the_bar_goes_to_the_terminal_and_the_answers_to_the_file(model: str, tmp_path: Path) -> None:
    pytest.importorskip("rich")
    import pty

    (tmp_path / "many.txt").write_text("12\nAB\n" * 1000, encoding="utf-8")
    terminal, theirs = pty.openpty()
    command = [*COMMAND, "classify", model, "--input", str(tmp_path / "many.txt")]
    with open(tmp_path / "out.txt", "wb") as out, subprocess.Popen(command, stdout=out, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how Linux says that the other end of a terminal was closed
            while part := os.read(terminal, 4096):
                shown += part
        assert process.wait() == 0
    os.close(terminal)
    assert labels_of((tmp_path / "out.txt").read_text(encoding="utf-8")) == ["digits", "CAPITALS"] * 1000
    assert b"Classifying" in shown and b"2,000 texts in " in shown and b"digits" not in shown


def test_texts_and_a_file_of_texts_are_too_much(main: Main, model: str) -> None:
    code, output, errors = main("classify", model, "12", "--input", "a.txt")
    assert (code, output) == (2, "") and "Expected texts or --input, received both" in errors


# --- evaluate --------------------------------------------------------------------------------------------------------


def test_evaluate_json(main: Main, model: str, data: str) -> None:
    code, output, errors = main("evaluate", model, "--data", data, "--json")
    assert code == 0 and errors == ""
    report = json.loads(output)
    assert (report["texts"], report["accuracy"], report["macro_f1"], report["confusions"]) == (3, 1.0, 1.0, [])
    assert [point["rate"] for point in report["typos"]] == [0.0, 0.1, 0.2, 0.5, 1.0]
    assert report["classes"][0] == {"label": "digits", "precision": 1.0, "recall": 1.0, "f1": 1.0, "texts": 1}
    assert report["runtime"] and report["seed"] == 0


def test_evaluate_tables(main: Main, model: str, tmp_path: Path) -> None:
    rows = [("12", "digits"), ("AB", "digits"), ("x", LABELS[2])]
    path = write_table(tmp_path / "d.csv", rows, ("body", "kind"))
    code, output, _ = main(
        "evaluate", model, "--data", path, "--text-column", "body", "--label-column", "kind", "--typos", "0,50"
    )
    assert code == 0
    for part in ("accuracy 0.6667", "50 %", "CAPITALS", LABELS[2], "Most frequent confusions"):
        assert part in output


def test_evaluate_plot(main: Main, model: str, data: str, tmp_path: Path) -> None:
    plot = tmp_path / "curve.png"
    arguments = ["evaluate", model, "--data", data, "--json", "--typos", "0,100", "--plot", str(plot)]
    assert main(*arguments)[0] == 0
    assert plot.read_bytes().startswith(b"\x89PNG")
    code, _, errors = main(*arguments)
    assert code == 2 and "--force" in errors
    assert main(*arguments, "--force")[0] == 0
    code, _, errors = main(*arguments[:-1], "curve.svg")
    assert code == 2 and ".png" in errors


def test_evaluate_prints_even_when_the_plot_cannot_be_written(main: Main, model: str, data: str) -> None:
    code, output, errors = main("evaluate", model, "--data", data, "--json", "--plot", f"{data}/below.png")
    assert code == 2 and json.loads(output)["accuracy"] == 1.0 and "below.png" in errors


def test_evaluate_knows_the_starter_data(main: Main, model: str) -> None:
    code, output, errors = main("evaluate", model, "--data", "starter")
    assert code == 2 and output == "" and "test.csv" in errors and "'alarm'" in errors


def test_evaluate_with_unknown_labels_names_them(main: Main, model: str, tmp_path: Path) -> None:
    path = write_table(tmp_path / "d.csv", [("12", "numbers")])
    code, output, errors = main("evaluate", model, "--data", path)
    assert code == 2 and output == "" and "'numbers'" in errors


@pytest.mark.parametrize("typos", ["101", "-1", "x", "", "nan"])
def test_evaluate_with_bad_typo_rates(main: Main, model: str, data: str, typos: str) -> None:
    code, _, errors = main("evaluate", model, "--data", data, f"--typos={typos}")
    assert code == 2 and "percentages" in errors and "Traceback" not in errors


# --- info ------------------------------------------------------------------------------------------------------------


def test_info_json(main: Main, model: str) -> None:
    code, output, _ = main("info", model, "--json")
    found = json.loads(output)
    assert code == 0 and found["labels"] == list(LABELS) and found["encoder"]["max_chars"] == 32
    assert found["bytes"] == Path(model).stat().st_size == sum(found["sizes"].values())
    assert {"name": "SOFTMAX", "version": 1, "count": 1} in found["operators"]
    assert found["oldest_runtime"] == {"tflite-runtime": "2.14.0"}


def test_info_tables(main: Main, model: str) -> None:
    code, output, _ = main("info", model)
    assert code == 0
    for part in ("tflite-runtime 2.14.0 or newer", "max_chars", "SOFTMAX", "classifier head"):
        assert part in output


def test_info_shows_the_signatures(main: Main, model: str, tmp_path: Path) -> None:
    assert json.loads(main("info", model, "--json")[1])["signatures"] == SIGNATURES[1:2]
    path = tmp_path / "several.tflite"
    path.write_bytes(tiny_signatures_artifact())
    assert json.loads(main("info", str(path), "--json")[1])["signatures"] == SIGNATURES
    output = main("info", str(path))[1]
    for signature in SIGNATURES:
        assert re.search(
            rf"{signature['name']} .*{signature['kind']} .*{signature['max_chars']} .*{signature['max_words']} ", output
        )


def test_info_needs_no_runtime_and_no_tensorflow(model: str) -> None:
    code = (
        "import sys; from retvec_lite.cli import main; main(['info', sys.argv[1], '--json']); "
        "print({'ai_edge_litert', 'tflite_runtime', 'tensorflow', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, model], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


# --- the frame -------------------------------------------------------------------------------------------------------


def test_help_names_every_command_and_imports_none(main: Main) -> None:
    code, output, _ = main("--help")
    assert code == 0
    for name in cli.COMMANDS:
        assert name in output
    program = (
        "import sys; from retvec_lite.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print([m for m in sys.modules if m == 'numpy' or m.startswith('retvec_lite.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['retvec_lite.errors', 'retvec_lite.cli']"


def test_version(main: Main) -> None:
    assert main("--version")[1] == f"retvec-lite {retvec_lite.__version__}\n"


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "retvec_lite", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"retvec-lite {retvec_lite.__version__}\n"


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_of_every_command_is_light(command: str) -> None:
    program = (
        "import sys; from retvec_lite.cli import main\n"
        "try: main([sys.argv[1], '--help'])\n"
        "except SystemExit as stop:\n"
        "    heavy = {'tensorflow', 'keras', 'coremltools', 'ai_edge_quantizer', 'matplotlib', 'sklearn'}\n"
        "    print(stop.code, heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program, command], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "0 set()", done.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["nothing"], ["--nothing"], ["classify"], ["classify", "m", "--top", "0"], ["--", "info"]]
)
def test_bad_usage(main: Main, arguments: list[str]) -> None:
    code, _, errors = main(*arguments)
    assert code == 2 and errors.startswith("usage: retvec-lite") and "error:" in errors


@pytest.mark.parametrize("command", [["classify", "x"], ["info"], ["evaluate", "--data", "no.csv"]])
def test_bad_files_give_one_sentence(main: Main, tmp_path: Path, command: list[str]) -> None:
    bad = tmp_path / "bad.tflite"
    bad.write_bytes(b"not a model")
    for path in (str(bad), str(tmp_path / "missing.tflite")):
        code, output, errors = main(command[0], path, *command[1:])
        assert code == 2 and output == ""
        assert errors.startswith("retvec-lite: error: Expected ") and errors.count("\n") == 1


def fake_command(monkeypatch: pytest.MonkeyPatch, run: Callable[[Any], int]) -> None:
    real = importlib.import_module
    fake = SimpleNamespace(add_arguments=lambda parser: None, run=run)
    monkeypatch.setattr(
        importlib, "import_module", lambda name: fake if name == cli.COMMANDS["verify"].module else real(name)
    )


def raising(error: BaseException) -> Callable[[Any], int]:
    def run(_: Any) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (RetvecLiteError("Expected a,\nreceived b."), 2, "error: Expected a, received b."),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(errno.ENOSPC, "No space left on device", "out/x"), 2, "read or write out/x, received: No space left"),
        (ModuleNotFoundError("no", name="tensorflow.keras"), 2, 'tensorflow, which is not installed: run `pip install "retvec-lite[train]"`'),
        (ModuleNotFoundError("no", name="rich"), 2, 'run `pip install "retvec-lite[evaluate]"`'),
        (MemoryError(), 2, "enough memory"),
    ],
)  # fmt: skip
def test_what_goes_wrong_becomes_one_line(
    main: Main, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, sentence: str
) -> None:
    fake_command(monkeypatch, raising(error))
    received, output, errors = main("verify")
    assert (received, output) == (code, "")
    assert sentence in errors and errors.startswith("retvec-lite: ") and errors.count("\n") == 1


def test_the_exit_code_of_a_command_is_the_programs(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_command(monkeypatch, lambda _: 1)
    assert main("verify")[0] == 1


@pytest.mark.parametrize("error", [ZeroDivisionError(), ModuleNotFoundError("no", name="retvec_lite.nothing")])
def test_a_bug_is_not_hidden(main: Main, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    fake_command(monkeypatch, raising(error))
    with pytest.raises(type(error)):
        main("verify")


@pytest.mark.parametrize(("package", "arguments"), [("rich", []), ("matplotlib", ["--json", "--plot", "x.png"])])
def test_a_missing_extra_is_named_before_the_work_starts(
    main: Main, monkeypatch: pytest.MonkeyPatch, model: str, data: str, package: str, arguments: list[str]
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    code, output, errors = main("evaluate", model, "--data", data, *arguments)
    assert (code, output) == (2, "") and 'pip install "retvec-lite[evaluate]"' in errors


def test_main_works_with_streams_that_cannot_be_reconfigured(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    output = io.StringIO()
    monkeypatch.setattr(sys, "stdout", output)
    assert cli.main(["classify", model, "12"]) == 0
    assert output.getvalue().startswith("digits\t")
