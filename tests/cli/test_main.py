import builtins
import errno
import importlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import Main, write_table
from patience import PATIENCE
from tiny_artifact import LABELS, SIGNATURES, tiny_artifact, tiny_metadata, tiny_signatures_artifact

import retvec_lite
from retvec_lite import __main__ as cli
from retvec_lite import runtime as library
from retvec_lite.errors import RetvecLiteError


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write_table(tmp_path / "data.csv", [("12 34", LABELS[0]), ("AB CD", LABELS[1]), ("so what", LABELS[2])])


# --- evaluate --------------------------------------------------------------------------------------------------------


def test_evaluate_json(main: Main, tiny_model: str, data: str) -> None:
    code, output, errors = main("evaluate", tiny_model, "--data", data, "--json")
    assert code == 0 and errors == ""
    report = json.loads(output)
    assert (report["texts"], report["accuracy"], report["macro_f1"], report["confusions"]) == (3, 1.0, 1.0, [])
    assert [point["rate"] for point in report["typos"]] == [0.0, 0.1, 0.2, 0.5, 1.0]
    assert report["classes"][0] == {"label": "digits", "precision": 1.0, "recall": 1.0, "f1": 1.0, "texts": 1}
    assert report["runtime"] and report["seed"] == 0


def test_evaluate_tables(main: Main, tiny_model: str, tmp_path: Path) -> None:
    rows = [("12", "digits"), ("AB", "digits"), ("x", LABELS[2])]
    path = write_table(tmp_path / "d.csv", rows, ("body", "kind"))
    code, output, _ = main(
        "evaluate", tiny_model, "--data", path, "--text-column", "body", "--label-column", "kind", "--typos", "0,0.5"
    )
    assert code == 0
    for part in ("accuracy 0.6667", "50 %", "CAPITALS", LABELS[2], "Most frequent confusions"):
        assert part in output


def test_evaluate_by_a_column(main: Main, tiny_model: str, tmp_path: Path) -> None:
    rows = [("12", "digits", "de"), ("AB", "digits", "en"), ("x", LABELS[2], "en")]
    path = write_table(tmp_path / "d.csv", rows, ("text", "label", "lang"))
    code, output, _ = main("evaluate", tiny_model, "--data", path, "--by", "lang", "--typos", "0", "--json")
    assert code == 0
    assert [(row["value"], row["accuracy"]) for row in json.loads(output)["groups"]] == [("de", 1.0), ("en", 0.5)]
    code, _, errors = main("evaluate", tiny_model, "--data", path, "--by", "country")
    assert code == 2 and "'country'" in errors and "Name it with --by (by)." in errors and errors.count("\n") == 1


def test_evaluate_plot(main: Main, tiny_model: str, data: str, tmp_path: Path) -> None:
    plot = tmp_path / "curve.png"
    arguments = ["evaluate", tiny_model, "--data", data, "--json", "--typos", "0,1", "--plot", str(plot)]
    assert main(*arguments)[0] == 0
    assert plot.read_bytes().startswith(b"\x89PNG")
    code, _, errors = main(*arguments)
    assert code == 2 and "--force" in errors
    assert main(*arguments, "--force")[0] == 0
    code, _, errors = main(*arguments[:-1], "curve.svg")
    assert code == 2 and ".png" in errors


def test_evaluate_with_an_unknown_label(main: Main, tiny_model: str, tmp_path: Path) -> None:
    rows = [("12 34", "digits"), ("AB CD", "CAPITALS"), ("so what", "none")]
    path = write_table(tmp_path / "d.csv", rows)
    code, output, _ = main("evaluate", tiny_model, "--data", path, "--unknown-label", "none", "--typos", "0,0.5")
    assert code == 0
    for part in ("calibration error", "Answers, or none", "1 texts without: recognized", "all texts: right", "AUROC"):
        assert part in output
    code, output, _ = main("evaluate", tiny_model, "--data", path, "--unknown-label", "none", "--no-reject", "--json")
    found = json.loads(output)
    assert (found["texts"], found["rejection"]["unknown_texts"], found["rejection"]["auroc"]) == (2, 1, 1.0)
    assert sum(part["texts"] for part in found["reliability"]) == 2
    code, _, errors = main("evaluate", tiny_model, "--data", path, "--unknown-label", "oos")
    assert code == 2 and "'oos' does not occur" in errors


def test_a_plot_that_cannot_be_written_is_told_before_the_work(main: Main, tiny_model: str, data: str) -> None:
    code, output, errors = main("evaluate", tiny_model, "--data", data, "--json", "--plot", f"{data}/below.png")
    assert code == 2 and output == "" and "below.png" in errors


def test_evaluate_knows_the_starter_data(main: Main, tiny_model: str) -> None:
    code, output, errors = main("evaluate", tiny_model, "--data", "starter")
    assert code == 2 and output == "" and "test.csv" in errors and "'alarm'" in errors


@pytest.mark.parametrize("typos", ["20", "0,20", "1.01", "-1", "x", "nan"])
def test_evaluate_with_bad_typo_rates(main: Main, tiny_model: str, data: str, typos: str) -> None:
    code, _, errors = main("evaluate", tiny_model, "--data", data, f"--typos={typos}")
    assert code == 2 and "share" in errors and "0.2" in errors and "Traceback" not in errors


# --- info ------------------------------------------------------------------------------------------------------------


def test_info_json(main: Main, tiny_model: str) -> None:
    code, output, _ = main("info", tiny_model, "--json")
    found = json.loads(output)
    assert code == 0 and found["labels"] == list(LABELS) and found["encoder"]["max_chars"] == 32
    assert found["bytes"] == Path(tiny_model).stat().st_size == sum(found["sizes"].values())
    assert {"name": "SOFTMAX", "version": 1, "count": 1} in found["operators"]
    assert found["oldest_runtime"] == {"tflite-runtime": "2.14.0"}


def test_info_tables(main: Main, tiny_model: str) -> None:
    code, output, _ = main("info", tiny_model)
    assert code == 0
    for part in ("tflite-runtime 2.14.0 or newer", "max_chars", "SOFTMAX", "classifier head"):
        assert part in output


def test_info_shows_the_signatures(main: Main, tiny_model: str, tmp_path: Path) -> None:
    assert json.loads(main("info", tiny_model, "--json")[1])["signatures"] == SIGNATURES[:1]
    path = tmp_path / "both.tflite"
    path.write_bytes(tiny_signatures_artifact())
    assert json.loads(main("info", str(path), "--json")[1])["signatures"] == SIGNATURES
    output = main("info", str(path))[1]
    for signature in SIGNATURES:
        assert re.search(rf"{signature['name']} .*{signature['max_chars']} .*{signature['max_words']}", output)


def test_info_needs_no_runtime_and_no_tensorflow(tiny_model: str) -> None:
    code = (
        "import sys; from retvec_lite.__main__ import main; main(['info', sys.argv[1], '--json']); "
        "print({'ai_edge_litert', 'tflite_runtime', 'tensorflow', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, tiny_model], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


# --- the frame -------------------------------------------------------------------------------------------------------


def test_help_names_every_command_and_imports_none(main: Main) -> None:
    code, output, _ = main("--help")
    assert code == 0
    for name in cli.COMMANDS:
        assert name in output
    program = (
        "import sys; from retvec_lite.__main__ import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print([m for m in sys.modules if m == 'numpy' or m.startswith('retvec_lite.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    light = ("errors", "runtime", "version", "__main__")
    assert done.stdout.splitlines()[-1] == str([f"retvec_lite.{name}" for name in light])


def test_version_and_whether_the_engine_is_there(main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    expected = f"retvec-lite {retvec_lite.__version__}\n"
    assert main("--version")[1] == f"{expected}{library.NOT_BUILT}\n"
    library.library_path().touch()
    assert main("--version")[1] == expected


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "retvec_lite", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"retvec-lite {retvec_lite.__version__}\n")


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_of_every_command_is_light(command: str) -> None:
    program = (
        "import sys; from retvec_lite.__main__ import main\n"
        "try: main([sys.argv[1], '--help'])\n"
        "except SystemExit as stop:\n"
        "    heavy = {'tensorflow', 'keras', 'coremltools', 'flatbuffers', 'ai_edge_litert', 'matplotlib', 'sklearn', 'rich'}\n"
        "    print(stop.code, heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program, command], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "0 set()", done.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["nothing"], ["--nothing"], ["classify"], ["classify", "m", "--top", "few"], ["--", "info"]]
)
def test_bad_usage(main: Main, arguments: list[str]) -> None:
    code, _, errors = main(*arguments)
    assert code == 2 and errors.startswith("retvec-lite: error: ") and errors.count("\n") == 1 and "--help" in errors


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["train", "a.csv"], "--out is missing: add --out DIR, folder for the trained classifier"),
        (["train", "a.csv", "trained"], "--out is missing: add --out DIR, folder for the trained classifier"),
        (["export", "trained"], "--out is missing: add --out DIST, the folder to make"),
        (["compare", "old", "new"], "--data is missing: add --data FILE, labelled .csv"),
    ],
)
def test_an_option_that_is_missing_is_shown_as_it_is_written(main: Main, arguments: list[str], told: str) -> None:
    code, _, errors = main(*arguments)
    assert code == 2 and f"error: {told}" in errors and f"See retvec-lite {arguments[0]} --help." in errors


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["trian", "a.csv"], "train"),
        (["train", "a.csv", "--out", "o", "--epochz", "3"], "--epochs"),
        (["train", "a.csv", "--out", "o", "--class_weight=none"], "--class-weights"),
        (["train", "a.csv", "--out", "o", "--head", "polo"], "pool"),
        (["export", "trained", "--out", "o", "--recipe", "int88"], "int8"),
        (["classify", "m", "hi", "--jsno"], "--json"),
    ],
)
def test_what_was_meant_is_asked(main: Main, arguments: list[str], meant: str) -> None:
    code, _, errors = main(*arguments)
    assert code == 2 and f". Did you mean {meant}? See retvec-lite" in errors and errors.count("\n") == 1


@pytest.mark.parametrize("name", ["texts.csv", "texts.TXT", "texts.jsonl.gz"])
@pytest.mark.parametrize(
    "command", [["classify", "{}", "hi"], ["info", "{}"], ["verify", "{}"], ["export", "{}", "--out", "d"]]
)
def test_texts_where_a_classifier_belongs(main: Main, tmp_path: Path, name: str, command: list[str]) -> None:
    place = tmp_path / name
    place.write_text("text,label\nhi,greet\n")
    code, _, errors = main(*(part.format(place) for part in command))
    assert code == 2 and f"{place} holds texts, where a classifier belongs: `retvec-lite train {place}" in errors
    code, _, errors = main(*(part.format(f"https://example.com/{name}") for part in command))
    assert code == 2 and f"https://example.com/{name} is an address" in errors


@pytest.mark.parametrize("command", [["classify", "x"], ["info"], ["evaluate", "--data", "no.csv"]])
def test_bad_files_give_one_sentence(main: Main, tmp_path: Path, command: list[str]) -> None:
    bad = tmp_path / "bad.tflite"
    bad.write_bytes(b"not a tiny_model")
    for path in (str(bad), str(tmp_path / "missing.tflite")):
        code, output, errors = main(command[0], path, *command[1:])
        assert code == 2 and output == ""
        assert errors.startswith("retvec-lite: error: ") and path in errors and errors.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "content"), [("a.txt", ""), ("a.txt", "\n \n"), ("a.csv", ""), ("a.csv", "text\n"), ("a.jsonl", "")]
)
@pytest.mark.parametrize(
    "command",
    [
        ["nearest", "{model}", "{data}", "hi"],
        ["duplicates", "{model}", "{data}"],
        ["suggest", "{data}"],
        ["check", "{data}"],
        ["evaluate", "{model}", "--data", "{data}"],
        ["compare", "{model}", "{model}", "--data", "{data}"],
        ["train", "{data}", "--out", "{data}.trained"],
        ["train", "starter", "--unlabelled", "{data}", "--out", "{data}.trained"],
        ["train", "--labels", "{data}", "--out", "{data}.trained"],
    ],
    ids=" ".join,
)
def test_no_command_is_silent_over_a_file_without_texts(
    main: Main, tmp_path: Path, command: list[str], name: str, content: str
) -> None:
    place = tmp_path / name
    place.write_text(content)
    model = Path(__file__).parents[2] / "golden" / "plain.retvec"
    code, output, errors = main(*(part.format(model=model, data=place) for part in command))
    assert (code, output) == (2, "") and errors.startswith("retvec-lite: error: ") and errors.count("\n") == 1
    assert [*tmp_path.iterdir()] == [place]


def fake_command(monkeypatch: pytest.MonkeyPatch, run: Callable[[Any], int]) -> None:
    real = importlib.import_module
    fake = SimpleNamespace(declare_verify=lambda parser: None, run_verify=run)
    monkeypatch.setattr(
        importlib, "import_module", lambda name: fake if name == "retvec_lite.cli.exported" else real(name)
    )


def raising(error: BaseException) -> Callable[[Any], int]:
    def run(_: Any) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (RetvecLiteError("No a\nin b."), 2, "error: No a in b."),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(errno.ENOSPC, "No space left on device", "out/x"), 2, "Cannot read or write out/x: No space left on device."),
        (ModuleNotFoundError("no", name="tensorflow.keras"), 2, 'tensorflow is not installed. Run `pip install ".[train]"'),
        (ModuleNotFoundError("no", name="rich"), 2, 'Run `pip install ".[evaluate]"'),
        (MemoryError(), 2, "Out of memory"),
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


def test_a_missing_extra_is_named_before_the_work_starts(
    main: Main, monkeypatch: pytest.MonkeyPatch, tiny_model: str, data: str
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    code, output, errors = main("evaluate", tiny_model, "--data", data, "--json", "--plot", "x.png")
    assert (code, output) == (2, "") and 'pip install ".[evaluate]"' in errors


def test_info_and_evaluate_need_a_runtime_alone(tiny_model: str, data: str) -> None:
    """Their tables are plain without rich."""
    program = (
        "import sys\n"
        "for name in ('rich', 'tensorflow', 'safetensors', 'matplotlib', 'scipy', 'sklearn'): sys.modules[name] = None\n"
        "import retvec_lite as rl\n"
        "print(rl.info('language'))\n"
        f"print(rl.evaluate(rl.load({tiny_model!r}), {data!r}, typos=()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert "recipe          int8" in done.stdout and "label" in done.stdout and "precision" in done.stdout


def test_main_works_with_streams_that_cannot_be_reconfigured(monkeypatch: pytest.MonkeyPatch, tiny_model: str) -> None:
    output = io.StringIO()
    monkeypatch.setattr(sys, "stdout", output)
    assert cli.main(["classify", tiny_model, "12"]) == 0
    assert output.getvalue().startswith("digits\t")


EVIL = "\x1b[2J\x9b31m\u202edigits"


@pytest.mark.parametrize("label", [EVIL, "tab\there", "two\x85lines", "nul\0"])
def test_labels_cannot_steer_the_terminal(main: Main, tmp_path: Path, label: str) -> None:
    """Training refuses such labels, and so does what reads files from elsewhere, in a sentence that does not steer it either."""
    labels = [label, "b", "c"]
    members = {
        "labels.txt": "".join(f"{label}\n" for label in labels),
        "retvec_lite.json": json.dumps(tiny_metadata(labels=labels)),
    }
    path = tmp_path / "evil.tflite"
    path.write_bytes(tiny_artifact(members=members))
    for command, *more in (["info"], ["classify", "12"], ["evaluate", "--data", "starter"]):
        code, output, errors = main(command, str(path), *more)
        assert code == 2 and output == "" and errors.count("\n") == 1
        assert f"the label {label!r}" in errors and not set(label) & set(errors) & set("\x1b\x9b\u202e\t\x85\0")
