"""The examples give the golden answers: in C, with the archive of the engine, and in WebAssembly outside of browsers."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import PATIENCE

import retvec_lite as rl
from tools.build_ports import WASM
from tools.c_archive import NAME, ROOT, write

EXAMPLES = ROOT / "examples"
GOLDEN = ROOT / "golden"
C_FLAGS = ("-std=c99", "-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror")


def run(*command: str | Path, cwd: Path, given: str = "") -> str:
    done = subprocess.run(command, cwd=cwd, input=given.encode(), capture_output=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return done.stdout.decode()


def compile_c(folder: Path, name: str = "classify") -> Path:
    """With the archive of two files, as another project would."""
    with zipfile.ZipFile(write(folder)) as archive:
        archive.extractall(folder)
    shutil.copy(EXAMPLES / "c" / f"{name}.c", folder)
    run("cc", *C_FLAGS, f"{name}.c", "retvec_lite.c", "-o", name, cwd=folder)
    return folder / name


def in_c(folder: Path) -> tuple[str | Path, ...]:
    if shutil.which("cc") is None:
        pytest.skip("a C compiler is not installed")
    return (compile_c(folder),)


def in_wasm(folder: Path) -> tuple[str | Path, ...]:
    pytest.importorskip("wasmtime", reason="wasmtime is not installed: pip install wasmtime")
    return (sys.executable, EXAMPLES / "wasm" / "classify.py", WASM)


@pytest.mark.slow
@pytest.mark.parametrize("started", [in_c, in_wasm])
def test_an_example_gives_the_golden_answers(started: Callable[[Path], tuple[str | Path, ...]], tmp_path: Path) -> None:
    program = started(tmp_path)
    for name, key in (("plain", "engine-int8"), ("rejecting", "engine-int8")):
        golden = json.loads((GOLDEN / f"{name}.json").read_text(encoding="ascii"))
        cases = [case for case in (*golden["cases"], *golden["long"]) if is_line(case["text"])]
        printed = run(
            *program, GOLDEN / f"{name}.retvec", cwd=tmp_path, given="".join(f"{case['text']}\n" for case in cases)
        )
        lines = printed.splitlines()
        assert len(lines) == len(cases) > 100
        for case, line in zip(cases, lines, strict=True):
            label, probability = line.split(" ")
            most = max(case["probabilities"][key])
            assert abs(float(probability) - most) <= golden["tolerance"][key], case["name"]
            if key in case.get("labels", {}):
                assert label == (case["labels"][key] or "-"), case["name"]
    (tmp_path / "damaged.retvec").write_bytes((GOLDEN / "plain.retvec").read_bytes()[:-64])
    failed = subprocess.run([*program, "damaged.retvec"], cwd=tmp_path, input=b"", capture_output=True, check=False)
    assert failed.returncode == 1 and b"The file" in failed.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="a C compiler is not installed")
def test_the_search_finds_what_python_finds(tmp_path: Path) -> None:
    program, file = compile_c(tmp_path, "search"), GOLDEN / "rejecting.retvec"
    texts = ["wake me at six", "where is my pracel?", "目覚ましを六時に", "", "play 🙂 some jazz", "wake me " * 40]
    for query in ("my parcel is late", "wkae me"):
        printed = run(program, file, query, cwd=tmp_path, given="".join(f"{text}\n" for text in texts)).splitlines()
        assert [line.partition(" ")[2] for line in printed] == texts
        expected = {match.text: match.score for match in rl.nearest(file, texts, query)}
        for line in printed:
            cosine, _, text = line.partition(" ")
            assert float(cosine) == pytest.approx(expected[text], abs=1e-4)


def is_line(text: str | None) -> bool:
    """Whether a text can be a line of a program's input."""
    return text is not None and not re.search("[\0\r\n\ud800-\udfff]", text)


def test_the_examples_are_short() -> None:
    for file in (*EXAMPLES.glob("c/*.c"), *EXAMPLES.glob("wasm/*.py")):
        assert len(file.read_text(encoding="utf-8").splitlines()) <= 60, file


def test_the_archive_has_two_sources_and_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = write(tmp_path / "one"), write(tmp_path / "two")
    assert first.name == NAME and first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert archive.namelist() == ["retvec_lite.c", "retvec_lite.h", "Makefile", "LICENSE"]
        assert re.findall(r'#include "(.*)"', archive.read("retvec_lite.c").decode()) == ["retvec_lite.h"]
