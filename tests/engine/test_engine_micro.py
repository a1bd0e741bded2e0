"""The engine on microcontrollers: small builds give the same bits as others, here and on boards in QEMU."""

import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from engine_cases import CASES, file_of
from engine_program import SANITIZERS, compile_driver, drive, texts

import retvec_lite as rl
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.native import NativeEngine
from retvec_lite.windows import read_text
from tools.fuzz_engine import attack
from tools.micro import (
    BOARDS,
    COMPILER_RT,
    FILE,
    MOST_TEXT,
    ask_board,
    compile_board,
    golden_lines,
    missing_tools,
    program_bytes,
    run_board,
)

FILES = [file_of(name, bits) for name in CASES for bits in (8, 4)]


def probabilities(command: Path, files: Sequence[bytes], odd: Sequence[bytes]) -> list[list[str]]:
    """The problem of each file, and the bits of all probabilities, without the sum over what small builds leave out."""
    return [line.split()[:-1] for line in drive([str(command), "bits"], files, odd)]


def test_a_small_engine_answers_the_same_bits(cc: Sequence[str], driver: Path, tmp_path: Path) -> None:
    small = compile_driver(cc, tmp_path / "small", "-O2", "-DRVL_SMALL")
    odd = texts(20, seed=17)
    expected = probabilities(driver, FILES, odd)
    assert all(line[0] == "0" and len(line) > len(odd) for line in expected)
    assert probabilities(small, FILES, odd) == expected


@pytest.mark.slow
def test_a_small_engine_stays_inside_its_block(cc: Sequence[str], sanitized: Path, tmp_path: Path) -> None:
    assert sanitized.is_file()  # the compiler has sanitizers
    small = compile_driver(cc, tmp_path / "small", *SANITIZERS, "-DRVL_SMALL", "-DRVL_WINDOWS=1")
    found = drive([str(small)], FILES, texts(10, seed=18))
    assert [line.split()[0] for line in found] == ["0"] * len(FILES)
    counts, faults = attack([str(small)], 100, seed=2)
    assert faults == [] and sum(found["opened"] for found in counts.values()) > 20


def test_with_fewer_windows_the_beginning_of_a_text_is_read(cc: Sequence[str], driver: Path, tmp_path: Path) -> None:
    short = compile_driver(cc, tmp_path / "short", "-O2", "-DRVL_WINDOWS=4")
    text, file = b"where is my parcel, it came late. " * 100, file_of("meaning")
    beginning = text[: 4 * CASES["meaning"].encoder.max_chars]
    (cut,), (whole,), (expected,) = (
        probabilities(program, [file], [given])
        for program, given in ((short, text), (driver, text), (driver, beginning))
    )
    assert cut == expected != whole


@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "name", "ram"),
    [
        ("microbit", "plain", 16_384),
        ("mps2-an386", "plain", 32_768),
        ("mps2-an505", "plain", 32_768),
        ("mps2-an386", "rejecting", 36_864),
    ],
)
def test_a_board_gives_the_golden_answers(board: str, name: str, ram: int, library: Path, tmp_path: Path) -> None:
    skip_without_tools()
    file, golden, settings = FILE.with_name(f"{name}.retvec"), golden_lines(FILE.with_name(f"{name}.json")), list[str]()
    if board == "microbit":  # room for short texts only, and slow in QEMU: every third one
        golden = [text for text in golden if len(text.encode()) <= MOST_TEXT][::3]
        settings += COMPILER_RT if find_spec("ziglang") else ()
    assert len(golden) > 50
    options = "-DMEASURE" if board == "microbit" else "-DMEASURE -DMOST_TEXT=16384"
    block, answers = ask_board(
        board, compile_board(board, tmp_path, f"OPTIONS={options}", *settings, file=file), golden
    )
    artifact = read_artifact(file)
    expected = NativeEngine(artifact, library).probabilities([read_text(text, artifact.config) for text in golden])
    found = np.array([answer.bits for answer in answers], np.uint32).view(np.float32)
    np.testing.assert_array_equal(found, expected)
    classifier = rl.load(file)
    assert [answer.label for answer in answers] == [classifier.predict(text)[0].label or "-" for text in golden]
    assert 0 < block + max(answer.stack for answer in answers) < ram


@pytest.mark.parametrize("board", BOARDS)
def test_the_example_prints_labels_and_problems(board: str, tmp_path: Path) -> None:
    skip_without_tools()
    elf = compile_board(board, tmp_path)
    assert run_board(board, elf, ["will it rain tomorrow", "play some jazz" + " " * 2 * MOST_TEXT]) == [
        "weather 0.999742",
        "music 0.999969",
    ]
    assert 30_000 < program_bytes(elf) < 60_000
    damaged = tmp_path / "damaged.retvec"
    damaged.write_bytes(FILE.read_bytes()[:-64])
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run_board(board, compile_board(board, tmp_path, file=damaged), ["a"])
    assert failed.value.returncode == 1 and b"The engine's problem 3." in failed.value.stderr


def test_a_file_that_is_too_large_is_told_in_a_sentence(tmp_path: Path) -> None:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    large = tmp_path / "large.retvec"
    large.write_bytes(FILE.read_bytes() + bytes(400_000))
    with pytest.raises(subprocess.CalledProcessError) as failed:
        compile_board("microbit", tmp_path, file=large)
    told = failed.value.stderr.decode()
    assert "The FLASH of microbit is " in told and f"bytes too small for {large}. Make a smaller file" in told
    assert "ld:" not in told and "collect2" not in told


def skip_without_tools() -> None:
    if missing := missing_tools():
        pytest.skip(f"{', '.join(missing)} not installed")
