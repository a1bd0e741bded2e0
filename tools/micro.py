"""What a classifier costs on microcontrollers, in QEMU: `python -m tools.micro [FILE] [--quick]`.

FILE is a `.retvec` with at most 64 labels; without one, `golden/plain.retvec`. `engine/micro` is compiled for each board, and answers texts of
ten new words. *Program* is all that lies in flash beside the file; *block* and *stack* are the RAM, the stack as deep as these texts and the
golden ones ever made it. QEMU lets time pass by the instruction (`-icount`), so the processor's own clock (SysTick) counts instructions: their
number is a median over the new words, and tells no cycles of a real processor.
"""

import argparse
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tools.counts import ROOT, markdown_table

FOLDER: Final = ROOT / "engine" / "micro"
FILE: Final = ROOT / "golden" / "plain.retvec"
TOOLS: Final = ("arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm", "make")

_WORDS: Final = 10
"""Words of a text that is timed."""
_SHIFT: Final = 6
"""An instruction takes two to the power of so many nanoseconds, which is more than a tick of any board."""


class Board(NamedTuple):
    """A board that QEMU knows: its processor, and the nanoseconds of a tick of SysTick."""

    processor: str
    tick: float


BOARDS: Final = {
    "microbit": Board("Cortex-M0", 62.5),
    "mps2-an386": Board("Cortex-M4F", 40.0),
    "mps2-an505": Board("Cortex-M33", 50.0),
}

MOST_TEXT: Final = 256
"""Bytes of a text that the example reads: `MOST_TEXT` in `engine/micro/main.c`."""

COMPILER_RT: Final = ("FLOATS=compiler-rt", f"ZIG={sys.executable} -m ziglang")
"""Settings for the smaller arithmetic with floats, on a processor that has none."""

BUILDS: Final[tuple[tuple[str, int, tuple[str, ...]], ...]] = (
    ("microbit", 4, ()),
    ("microbit", 4, COMPILER_RT),
    ("mps2-an386", 4, ()),
    ("mps2-an386", 32, ()),
    ("mps2-an505", 4, ()),
    ("mps2-an505", 32, ()),
)
"""Boards; windows of a text that are read, the fewest or as many as the contract says; and more settings."""


class Answer(NamedTuple):
    """What a board says about a text: `-` is none of the labels; `bits` are those of each probability."""

    label: str
    probability: float
    instructions: int
    stack: int
    bits: list[int]


def missing_tools() -> list[str]:
    """Return which of the tools are not installed."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def compile_board(board: str, out: Path, *settings: str, file: Path = FILE) -> Path:
    """Compile the example for a board, with settings of its Makefile such as `WINDOWS=4`; raises CalledProcessError."""
    out.mkdir(parents=True, exist_ok=True)
    command = ("make", "--silent", "-C", FOLDER, "all", f"BOARD={board}", f"MODEL={file}", f"OUT={out}", *settings)
    subprocess.run(command, check=True, capture_output=True)
    return out / f"{board}.elf"


def program_bytes(elf: Path) -> int:
    """Return how many bytes of flash a program takes beside its file."""
    done = subprocess.run(("arm-none-eabi-size", "-A", elf), check=True, capture_output=True, text=True)
    return sum(int(size) for size in re.findall(r"^\.(?:text|data) +(\d+)", done.stdout, re.MULTILINE))


def run_board(board: str, elf: Path, texts: Sequence[str], *options: str) -> list[str]:
    """Return the lines that a program prints about texts without line ends; raises CalledProcessError where it ends with a fault."""
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "texts"
        given.write_bytes("".join(f"{text}\n" for text in texts).encode())
        machine = ("qemu-system-arm", "-nographic", "-monitor", "none", "-serial", "none", "-machine", board, *options)
        hosting = ("-semihosting-config", f"enable=on,target=native,arg={given}", "-kernel", elf)
        done = subprocess.run((*machine, *hosting), check=True, capture_output=True, stdin=subprocess.DEVNULL)
    # QEMU prints what the program says on standard error.
    return (done.stdout + done.stderr).decode().splitlines()


def ask_board(board: str, elf: Path, texts: Sequence[str], *options: str) -> tuple[int, list[Answer]]:
    """Return the bytes of the block, and the answers of a program that was compiled with `OPTIONS=-DMEASURE`."""
    block, *lines = run_board(board, elf, texts, *options)
    answers = []
    for line in lines:
        ticks, stack, *bits, label, probability = line.split(" ")
        instructions = round(int(ticks) * BOARDS[board].tick / 2**_SHIFT)
        answers.append(Answer(label, float(probability), instructions, int(stack), [int(one, 16) for one in bits]))
    return int(block), answers


def golden_lines(file: Path) -> list[str]:
    """Return the golden texts in a file of answers that can be lines."""
    golden = json.loads(file.read_text(encoding="ascii"))
    texts = [case["text"] for case in (*golden["cases"], *golden["long"]) if case["text"] is not None]
    return [text for text in texts if "\n" not in text and not any("\ud800" <= char <= "\udfff" for char in text)]


def measure(file: Path, count: int) -> list[list[str]]:
    """Return a line of the table for each board and number of windows that fits into its RAM."""
    draw = random.Random(0)
    texts = [" ".join(_word(draw) for _ in range(_WORDS)) for _ in range(count)]
    odd = [text for text in golden_lines(FILE.with_suffix(".json")) if len(text.encode()) <= MOST_TEXT][: 10 * count]
    lines = []
    for board, windows, settings in BUILDS:
        with tempfile.TemporaryDirectory() as folder:
            out, settings = Path(folder), (f"WINDOWS={windows}", *settings)
            program = program_bytes(compile_board(board, out, *settings, file=file))
            elf = compile_board(board, out, "OPTIONS=-DMEASURE", *settings, file=file)
            block, answers = ask_board(board, elf, texts + odd, "-icount", f"shift={_SHIFT}")
        stack = max(answer.stack for answer in answers)
        instructions = statistics.median(answer.instructions for answer in answers[:count])
        floats = ", compiler-rt" if COMPILER_RT[0] in settings else ""
        sizes = (f"{size:,}" for size in (program, block, stack, block + stack))
        name = f"{BOARDS[board].processor}, `{board}`{floats}"
        lines.append([name, str(windows), *sizes, f"{instructions / 1e6:.1f}"])
    return lines


def _word(draw: random.Random) -> str:
    return "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 8)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two texts")
    parser.add_argument("file", type=Path, nargs="?", default=FILE, help="a .retvec (golden/plain.retvec)")
    args = parser.parse_args(arguments)
    if missing := missing_tools():
        parser.error(f"{', '.join(missing)} not installed: apt install gcc-arm-none-eabi qemu-system-arm make")
    columns = ("processor, board", "windows", "program", "block", "stack", "RAM", "million instructions")
    print(markdown_table(columns, measure(args.file.resolve(), 2 if args.quick else 10)))


if __name__ == "__main__":
    main()
