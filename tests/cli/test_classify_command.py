"""`retvec-lite classify`: texts as arguments, from standard input and from files."""

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from command_line import COMMAND, Main, run, write_table
from tiny_artifact import LABELS, tiny_artifact, tiny_probabilities

import retvec_lite as rl
from retvec_lite import __main__ as cli
from retvec_lite.cli.classify import _line, _words_for_none
from retvec_lite.decision import Decision
from retvec_lite.runtime.answers import Prediction


def test_classify_arguments(main: Main, tiny_model: str) -> None:
    code, output, _ = main("classify", tiny_model, "12", "A")
    rows = [line.split("\t") for line in output.splitlines()]
    assert code == 0 and [row[0] for row in rows] == ["digits", "CAPITALS"]
    assert [float(row[1]) for row in rows] == pytest.approx([tiny_probabilities("12")[0], 0.5064], abs=1e-4)


def test_an_isolated_model_answers_the_same(main: Main, tiny_model: str) -> None:
    assert main("classify", tiny_model, "--isolated", "12") == main("classify", tiny_model, "12")


def test_classify_with_some_labels(main: Main, tiny_model: str, tmp_path: Path) -> None:
    file = write_table(tmp_path / "texts.csv", [("12", "x")])
    for texts in (("12",), ("--input", file)):
        code, output, _ = main("classify", tiny_model, "--languages", f" capitals, {LABELS[0]}", "--top", "9", *texts)
        assert code == 0 and output.split("\t")[::2] == ["digits", "CAPITALS"]
    code, _, error = main("classify", tiny_model, "--languages", "capitols", "12")
    assert code == 2 and error.startswith("retvec-lite: error: There is no label 'capitols', but there are CAPITALS.")


def test_classify_top_and_json(main: Main, tiny_model: str) -> None:
    code, output, _ = main("classify", tiny_model, "--top", "2", "--json", 'A "1\n2" 👍')
    found = json.loads(output)
    assert code == 0 and output.count("\n") == 1 and "👍" in output
    assert found["text"] == 'A "1\n2" 👍'
    assert [row["label"] for row in found["predictions"]] == ["digits", "CAPITALS"]
    _, output, _ = main("classify", tiny_model, "--top", "3", "x")
    assert output.split("\t")[::2] == [LABELS[2], "digits", "CAPITALS"]


def test_why_prints_the_words_with_their_weights(main: Main, tiny_model: str) -> None:
    code, output, _ = main("classify", tiny_model, "--why", "12 A\x1b", "")
    first, words, second, nothing = output.split("\n")[:4]
    assert code == 0 and first.startswith("digits\t") and second.startswith(LABELS[2])
    falls = [math.log(tiny_probabilities("12 A\x1b")[0] / tiny_probabilities(rest)[0]) for rest in ("A\x1b", "12")]
    shares = [f"{fall / max(map(abs, falls)):+.2f}" for fall in falls]
    assert words.split() == ["12", shares[0], "A\\x1b", shares[1]] and "1.00" in words and nothing.strip() == ""


def test_why_in_json_and_of_a_file(main: Main, tiny_model: str, tmp_path: Path) -> None:
    _, output, _ = main("classify", tiny_model, "--why", "--json", "12 A")
    why = json.loads(output)["why"]
    assert why["label"] == "digits" and [span["text"] for span in why["spans"]] == ["12", "A"]
    assert why["spans"][1]["start"] == 3 and why["spans"][1]["weight"] < 0 < why["spans"][0]["weight"]
    file = write_table(tmp_path / "texts.csv", [("12 A", "x"), ("AB CD", "y")])
    _, answers, _ = main("classify", tiny_model, "--why", "--json", "--input", file)
    assert (
        answers.splitlines()[0] == output.strip() and json.loads(answers.splitlines()[1])["why"]["label"] == "CAPITALS"
    )


def test_texts_that_belong_to_no_label(main: Main, tmp_path: Path) -> None:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(tiny_artifact(decision=Decision(threshold=0.6, characters="12A").to_dict()))
    code, output, _ = main("classify", str(path), "12", "1A", "bcd")
    assert code == 0 and [line.split("\t")[0] for line in output.splitlines()] == ["digits", "unknown", "unknown"]
    assert main("classify", str(path), "--top", "2", "1A")[1].split("\t")[::2] == ["unknown", "digits"]
    assert main("classify", str(path), "--why", "1A")[1].splitlines()[1].startswith("  digits: ")
    answers = [json.loads(line)["predictions"] for line in main("classify", str(path), "--json", "1A")[1].splitlines()]
    assert [found["label"] for found in answers[0]] == [None]
    table = write_table(tmp_path / "texts.csv", [("1A", "x"), ("12", "x")])
    for arguments in (("1A", "12"), ("--input", table)):
        _, output, _ = main("classify", str(path), "--no-reject", *arguments)
        assert [line.split("\t")[0] for line in output.splitlines()] == ["digits", "digits"]
        _, output, _ = main("classify", str(path), *arguments)
        assert [line.split("\t")[0] for line in output.splitlines()] == ["unknown", "digits"]


@pytest.mark.parametrize(
    ("labels", "unknown", "none"),
    [
        (("a", "b"), "unknown", "none"),
        (("a", "unknown"), "(unknown)", "none"),
        (("Unknown", "NONE"), "(unknown)", "(none)"),
        (("unknown", "(unknown)", "none"), "((unknown))", "(none)"),
    ],
)
def test_a_label_that_reads_like_no_label_is_told_from_it(labels: tuple[str, ...], unknown: str, none: str) -> None:
    words = _words_for_none(labels, None)
    lines = [_line("x", [Prediction(label, 0.5)], None, False, *words) for label in labels]
    assert lines == [f"{label}\t0.5000" for label in labels]
    assert _line("x", [Prediction(None, 0.5)], None, False, *words) == f"{unknown}\t0.5000"
    assert _line("x", [], None, False, *words) == none
    assert _words_for_none(("a", "unknown"), "unknown") == ("unknown", "none")


def test_a_repeated_header_is_told(main: Main, tiny_model: str, tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text("text,label\n12,digits\ntext,label\nAB,CAPITALS\n")
    told = f"1 row skipped that holds the names of the columns: {file}, line 3."
    code, output, _ = main("evaluate", tiny_model, "--data", str(file), "--typos", "0")
    assert code == 0 and output.startswith("2 texts") and told in output


@pytest.mark.slow
def test_a_trained_folder_writes_what_it_prints(main: Main, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rl.train(
        ["wake me at six", "where is my parcel"] * 8, ["alarm", "delivery"] * 8, head="linear", out=tmp_path / "trained"
    )
    (tmp_path / "d.txt").write_text("wkae me at six\nmy parcel is late\n")
    paths = [str(tmp_path / name) for name in ("trained", "d.txt", "o.jsonl")]
    code, printed, _ = main("classify", paths[0], "--input", paths[1], "--no-reject")
    assert code == 0
    assert main("classify", paths[0], "--input", paths[1], "--output", paths[2], "--no-reject")[0] == 0
    written = [json.loads(line) for line in Path(paths[2]).read_text().splitlines()]
    assert [f"{row['label']}\t{row['probability']:.4f}" for row in written] == printed.splitlines()


def test_classify_reads_lines_and_survives_any_byte(tiny_model: str) -> None:
    lines = "12\r\nAB\n\n👍\n".encode() + b"\xff\xfe\x00\xed\xa0\x80 1\n" + b"12 " * 333_333 + b"\nno newline"
    done = run("classify", tiny_model, "--json", "--skip-bad-rows", stdin=lines)
    problem = b"standard input, line 5: the byte 0xFF is not UTF-8."
    assert done.returncode == 0 and done.stderr.startswith(b"1 bad row skipped, the first: " + problem)
    answers = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    assert [answer["predictions"][0]["label"] for answer in answers] == [
        "digits", "CAPITALS", LABELS[2], LABELS[2], "digits", LABELS[2],
    ]  # fmt: skip
    assert answers[0]["text"] == "12"
    done = run("classify", tiny_model, stdin=lines)
    assert done.returncode == 2 and done.stdout.count(b"\n") == 4
    assert done.stderr.startswith(b"retvec-lite: error: " + problem) and done.stderr.count(b"\n") == 1


def test_utf_16_is_recognized_on_standard_input(tiny_model: str) -> None:
    done = run("classify", tiny_model, "--json", stdin="12\r\nÄB\r\n".encode("utf-16"))
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == ["12", "ÄB"]


@pytest.mark.skipif(os.name == "nt", reason="arguments are Unicode there")
def test_an_argument_that_is_no_text_is_an_error(tiny_model: str) -> None:
    done = subprocess.run([*COMMAND, "classify", tiny_model, "12", b"caf\xe9"], capture_output=True, check=False)
    assert done.returncode == 2 and b"Text 2: the byte 0xE9 is not UTF-8" in done.stderr
    assert b"--skip-bad-rows (skip_bad_rows=True) leaves such rows out." in done.stderr


def test_classify_answers_each_line_at_once(tiny_model: str) -> None:
    with subprocess.Popen([*COMMAND, "classify", tiny_model], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        for text, label in ((b"12\n", b"digits"), (b"AB\n", b"CAPITALS")):
            process.stdin.write(text)
            process.stdin.flush()
            assert process.stdout.readline().startswith(label)
        process.stdin.close()
        assert process.wait() == 0


def test_a_text_may_look_like_an_option_or_be_empty(main: Main, tiny_model: str) -> None:
    code, output, _ = main("classify", tiny_model, "--", "--json", "")
    assert code == 0 and output.count("\n") == 2


def test_classify_prints_unicode_whatever_the_locale_says(tiny_model: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run([*COMMAND, "classify", tiny_model, "x"], env=environment, capture_output=True, check=True)
    assert done.stdout.decode("utf-8").startswith(LABELS[2])


def test_the_notes_of_the_runtime_are_not_shown(tiny_model: str) -> None:
    done = run("classify", tiny_model, "12")
    assert done.returncode == 0 and done.stderr == b""


@contextlib.contextmanager
def one_answer_read(model: str) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes], IO[bytes]]]:
    """`classify` at work on its standard input, the first answer read: the process and its three streams."""
    with subprocess.Popen(
        [*COMMAND, "classify", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(b"12\n")
        process.stdin.flush()
        process.stdout.readline()
        yield process, process.stdin, process.stdout, process.stderr


def test_a_reader_that_has_enough_ends_the_program_quietly(tiny_model: str) -> None:
    with one_answer_read(tiny_model) as (process, stdin, stdout, stderr):
        stdout.close()
        stdin.write(b"AB\n")
        stdin.close()
        assert stderr.read() == b""
        assert process.wait() == cli.BROKEN_PIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_full_disk_gives_one_sentence(tiny_model: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "classify", tiny_model, "12"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "retvec-lite: error: Cannot read or write the standard streams: No space left on device."
    ]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_gives_one_line(tiny_model: str) -> None:
    with one_answer_read(tiny_model) as (process, _, _, stderr):
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert stderr.read() == b"retvec-lite: interrupted\n"
        assert process.wait() == 130


@pytest.mark.skipif(os.name == "nt", reason="Windows has no closed standard streams of this kind")
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
@pytest.mark.parametrize(
    "command", ["classify MODEL 12", "classify MODEL --input TEXTS", "info MODEL --json", "--help"]
)
def test_closed_standard_output_ends_quietly(tiny_model: str, tmp_path: Path, closed: str, command: str) -> None:
    (tmp_path / "a.txt").write_text("12\n", encoding="utf-8")
    arguments = [{"MODEL": tiny_model, "TEXTS": str(tmp_path / "a.txt")}.get(part, part) for part in command.split()]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, *arguments], capture_output=True, check=False
    )
    assert done.returncode == 0 and done.stdout == b""
    assert done.stderr == b"" or (b"1 text in " in done.stderr and done.stderr.count(b"\n") == 1)
    assert Path(tiny_model).read_bytes() == tiny_artifact()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no closed standard streams of this kind")
def test_closed_standard_input_gives_one_sentence(tiny_model: str) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, "classify", tiny_model], capture_output=True, check=False
    )
    assert done.returncode == 2 and b"standard input" in done.stderr and done.stderr.count(b"\n") == 1


# --- classify --input ------------------------------------------------------------------------------------------------


def labels_of(output: str) -> list[str]:
    return [line.split("\t")[0] for line in output.splitlines()]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("texts.txt", b"\xef\xbb\xbf12\r\nAB\n\n\xc3\xbf 1\nno newline"),
        ("texts.csv", b'id,text\n1,12\n2,"AB"\n\n3,"x,\n""y"""\n4,\xc3\xbf 1\n5,no newline'),
        ("texts.TSV", b"text\tid\n12\t1\nAB\t2\nx, y\t3\n\xc3\xbf 1\t4\nno newline\t5\n"),
        (
            "texts.jsonl",
            b'{"text": "12"}\n\n{"text": "AB"}\n{"text": "x", "n": 1}\n{"text": "\\ud800 1"}\n{"text": "z"}',
        ),
    ],
)
def test_a_file_of_texts_is_answered_line_by_line(
    main: Main, tiny_model: str, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    code, output, errors = main("classify", tiny_model, "--input", str(tmp_path / name))
    assert code == 0
    assert labels_of(output) == ["digits", "CAPITALS", LABELS[2], "digits", LABELS[2]]
    assert errors.startswith("5 texts in ") and errors.count("\n") == 1


def test_files_of_newcomers(main: Main, tiny_model: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\ufeffid;text\r\n1;12\r\n;\r\n2;AB\r\n;\r\n", encoding="utf-8")
    code, output, errors = main("classify", tiny_model, "--input", str(path))
    assert code == 0 and labels_of(output) == ["digits", "CAPITALS"] and "\n2 empty rows skipped.\n" in errors
    path.write_text("id text\n1 12\n", encoding="utf-8")
    assert labels_of(main("classify", tiny_model, "--input", str(path), "--delimiter", " ")[1]) == ["digits"]
    error = main("classify", tiny_model, "--input", str(path), "--delimiter", "ab")[2]
    assert "delimiter must be one character, such as ';', or tab, not 'ab'." in error
    (tmp_path / "a.json").write_text('[{"text": "12"}, {"text": null}]')
    assert labels_of(main("classify", tiny_model, "--input", str(tmp_path / "a.json"))[1]) == ["digits", LABELS[2]]


def test_many_texts_keep_their_order_and_their_answers(main: Main, tiny_model: str, tmp_path: Path) -> None:
    texts = ["12"[: number % 3] + "A" * (number % 3) for number in range(1000)]
    write_table(tmp_path / "many.csv", [(text, str(number)) for number, text in enumerate(texts)], ("body", "id"))
    arguments = ["classify", tiny_model, "--input", str(tmp_path / "many.csv"), "--text-column", "body", "--json"]
    outputs = [main(*arguments, "--workers", workers)[1] for workers in ("1", "2")]
    assert outputs[0] == outputs[1]
    found = [json.loads(line) for line in outputs[0].splitlines()]
    assert [item["text"] for item in found] == texts
    for item, text in zip(found[:30], texts, strict=False):
        assert item["predictions"][0]["probability"] == pytest.approx(tiny_probabilities(text).max(), abs=1e-5)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "a.csv",
            "body\n12\n",
            r"No column 'text' in .*a\.csv \(found: 'body'\)\. Name it with --text-column \(text_column\)\.",
        ),
        ("a.csv", "text,text\n1,2\n", "The column 'text' appears twice in"),
        ("a.csv", "", r"a\.csv is empty\."),
        ("a.csv", "text,id\n12\n", r"a\.csv, line 2: 1 cell, but the header has 2"),
        ("a.csv", 'text\n"12" x\n', "line 2: broken quoting"),
        ("a.jsonl", "[1]\n", "row 0: not a JSON object with the field 'text'"),
        ("a.jsonl", '{"text": "1"}\n{"text": 1}\n', "line 2: 'text' must be a string, not 1"),
        ("a.txt", "12\n\udce9\n", "a.txt, line 2: the byte 0xE9 is not UTF-8"),
        ("a.pdf", "x", r"Cannot read .*a\.pdf: the name of a file of texts ends in"),
        (None, "", r"Cannot read .*missing\.txt: No such file"),
    ],
)
def test_a_file_that_holds_no_texts_is_one_sentence(
    main: Main, tiny_model: str, tmp_path: Path, name: str | None, content: str, sentence: str
) -> None:
    path = tmp_path / (name or "missing.txt")
    if name:
        path.write_bytes(content.encode(errors="surrogateescape"))
    code, _, errors = main("classify", tiny_model, "--input", str(path))
    assert code == 2 and errors.count("\n") == 1
    assert re.search(sentence, errors), errors


BAD_ROWS = {"a.csv": ['"12" x', "1,2", '"never closed'], "a.jsonl": ["{", "[1]", '{"text": 1}', '{"other": "x"}']}


def file_with_bad_rows(folder: Path, name: str, good: int) -> tuple[Path, list[str]]:
    """A file of `good` rows that alternate between two labels, each bad row behind a few of them, and its labels."""
    lines, bad = ["text"] if name == "a.csv" else [], list(BAD_ROWS[name])
    for number in range(good):
        text = "12" if number % 2 else "AB"
        lines.append(text if name == "a.csv" else json.dumps({"text": text}))
        if number >= good - len(bad):
            lines.append(bad[number - good])
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return folder / name, ["digits" if number % 2 else "CAPITALS" for number in range(good)]


@pytest.mark.parametrize("name", BAD_ROWS)
@pytest.mark.parametrize("good", [10, 400])
def test_the_rows_before_a_bad_one_are_answered(
    main: Main, tiny_model: str, tmp_path: Path, name: str, good: int
) -> None:
    path, labels = file_with_bad_rows(tmp_path, name, good)
    first = good - len(BAD_ROWS[name]) + 1
    line = first + 1 + (name == "a.csv")
    code, output, errors = main("classify", tiny_model, "--workers", "2", "--input", str(path))
    assert code == 2 and labels_of(output) == labels[:first]
    assert errors.startswith(f"retvec-lite: error: {path}, line {line}: ") and errors.count("\n") == 1


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_can_be_skipped_and_are_counted(main: Main, tiny_model: str, tmp_path: Path, name: str) -> None:
    path, labels = file_with_bad_rows(tmp_path, name, 100)
    code, output, errors = main("classify", tiny_model, "--input", str(path), "--skip-bad-rows")
    assert code == 0 and labels_of(output) == labels
    line = 100 - len(BAD_ROWS[name]) + 2 + (name == "a.csv")
    assert errors.splitlines()[1].startswith(
        f"{len(BAD_ROWS[name])} bad rows skipped, the first: {path}, line {line}: "
    )


def test_a_missing_column_is_no_bad_row(main: Main, tiny_model: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("body\n12\n", encoding="utf-8")
    code, _, errors = main("classify", tiny_model, "--input", str(tmp_path / "a.csv"), "--skip-bad-rows")
    assert code == 2 and "No column 'text'" in errors


WITHOUT_RICH = """
import sys
sys.modules["rich"] = None
from retvec_lite.__main__ import main
raise SystemExit(main())
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals of this kind")
@pytest.mark.parametrize("has_rich", [True, False])
def test_the_bar_goes_to_the_terminal_and_the_answers_to_the_file(
    tiny_model: str, tmp_path: Path, has_rich: bool
) -> None:
    if has_rich:
        pytest.importorskip("rich")
    import pty

    (tmp_path / "many.txt").write_text("12\nAB\n" * 1000, encoding="utf-8")
    terminal, theirs = pty.openpty()
    start = COMMAND if has_rich else [sys.executable, "-c", WITHOUT_RICH]
    command = [*start, "classify", tiny_model, "--input", str(tmp_path / "many.txt")]
    with open(tmp_path / "out.txt", "wb") as out, subprocess.Popen(command, stdout=out, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how Linux says that the other end of a terminal was closed
            while part := os.read(terminal, 4096):
                shown += part
        assert process.wait() == 0
    os.close(terminal)
    assert labels_of((tmp_path / "out.txt").read_text(encoding="utf-8")) == ["digits", "CAPITALS"] * 1000
    assert (b"Classifying" in shown) == has_rich
    assert b"2,000 texts in " in shown and b"digits" not in shown


def test_texts_and_a_file_of_texts_are_too_much(main: Main, tiny_model: str) -> None:
    code, output, errors = main("classify", tiny_model, "12", "--input", "a.txt")
    assert (code, output) == (2, "") and "Pass texts or --input, not both" in errors


def test_a_text_that_names_a_file_gets_a_hint(
    main: Main, tiny_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("12\n")
    code, output, errors = main("classify", tiny_model, "texts.txt")
    assert code == 0 and output and errors == "texts.txt is also a file: --input texts.txt reads it.\n"
    assert main("classify", tiny_model, "12")[2] == ""


def test_a_folder_without_files_is_no_model(main: Main, tmp_path: Path) -> None:
    code, _, errors = main("classify", str(tmp_path), "12")
    assert code == 2 and errors.endswith(f"No exported file in {tmp_path}: name one.\n")
