"""Attack the C engine with hostile .retvec files under a right checksum: 20,000 files in about six minutes.

    python -m tools.fuzz_engine [--files 20000] [--seed 0] [--quick]

Files are drawn from the format: sound ones of any shape (tests/support/sound_files.py), most of them with something wrong in what they
say (tests/support/hostile_files.py). A program with AddressSanitizer and UndefinedBehaviorSanitizer (tests/support/engine_driver.c)
opens each with three sizes of the cache, in a block of just the size that it asks for, and asks everything that the engine can answer. It
teaches them texts, loads hostile memories (tests/support/hostile_memories.py), and calls with texts and labels that the engine itself
returned. The parts of a block are guarded from each other.

Counted are files that were opened, that were refused, and whose block of more than 64 MB was not tried. What must never be is kept in
out/fuzz: a file that ends the program, one that is refused though sound, and one that is opened though it must be refused.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from retvec_lite.files import atomic_write
from tools.build_engine import compiler
from tools.counts import ROOT, attack_options, counts_table

sys.path.insert(0, str(ROOT / "tests" / "support"))
from engine_program import SANITIZERS, compile_driver, drive, texts
from hostile_files import HostileFile, hostile_file
from hostile_memories import hostile_memory

KEPT: Final = ROOT / "out" / "fuzz"
"""Where files lie that do what must never be."""

BATCH: Final = 100
"""Files that one program opens."""

SOUND: Final = "sound"
SEVERAL: Final = "several of these"
"""Kinds of files with nothing and with more than one thing wrong."""

OUTCOMES: Final = {"opened": 0, "refused": None, "too large": 99}
"""Outcome -> what the program prints; other numbers are refusals."""

MEMORIES: Final = 4
"""Hostile memories among the texts that a program answers."""

_WORDS: Final = (b"free money money", b"where is my mony? " * 9)
"""Texts with words that hostile tables of meaning find; the second one is longer than most windows."""


def main() -> None:
    args, started = attack_options(__doc__, 20_000), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        try:
            driver = compile_driver(compiler() or [], Path(folder) / "driver", *SANITIZERS)
        except (OSError, IndexError, subprocess.CalledProcessError):
            print("Skipped the attack on the engine: there is no C compiler with AddressSanitizer.", file=sys.stderr)
            return
        counts, faults = attack([str(driver)], args.files, args.seed)
    text = (
        f"{counts_table('wrong', OUTCOMES, counts)}\n"
        f"{args.files:,} files in {time.perf_counter() - started:.0f} s (seed {args.seed}). Findings of the sanitizers, other answers with another "
        f"cache, sound files that were refused, and files that were opened but must not be: {len(faults)}.\n"
    )
    print("\n".join([text, *faults]))
    if not args.quick:
        atomic_write(Path(__file__).with_suffix(".md"), text.encode())
    sys.exit(1 if faults else 0)


def attack(driver: Sequence[str], count: int, seed: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Open hostile files with the program `driver`.

    Returns:
        What is wrong with files -> outcome -> files; and a description of each thing that must not happen.
    """
    draw, other_draw = random.Random(seed), random.Random(seed + 1)
    counts: dict[str, Counter[str]] = {}
    faults: list[str] = []
    for start in range(0, count, BATCH):
        asked = [*(hostile_memory(other_draw) for _ in range(MEMORIES)), *texts(3, seed), *_WORDS]
        batch = [hostile_file(draw) for _ in range(min(BATCH, count - start))]
        try:
            lines = drive(driver, [file.content for file in batch], asked)
        except AssertionError:
            lines = [_alone(driver, file, asked) for file in batch]
        for number, (file, line) in enumerate(zip(batch, lines, strict=True), start):
            code, _, report = line.partition(" ")
            outcome = next((name for name, value in OUTCOMES.items() if code == str(value)), "refused")
            kind = SOUND if not file.kinds else file.kinds[0] if len(file.kinds) == 1 else SEVERAL
            counts.setdefault(kind, Counter())[outcome] += 1
            is_wrong = file.is_sound is not None and file.is_sound != (outcome != "refused")
            if code == "crash" or is_wrong:
                KEPT.mkdir(parents=True, exist_ok=True)
                (KEPT / f"{seed}-{number}.retvec").write_bytes(file.content)
                faults.append(
                    f"{seed}-{number}.retvec ({', '.join(file.kinds)}): {report if code == 'crash' else outcome}"
                )
    return dict(sorted(counts.items())), faults


def _alone(driver: Sequence[str], file: HostileFile, asked: Sequence[bytes]) -> str:
    """Return the line of one file; where it ends the program, what the sanitizer says."""
    try:
        return drive(driver, [file.content], asked)[0]
    except AssertionError as error:
        signs = [line for line in str(error).splitlines() if "ERROR" in line or "runtime error" in line]
        return f"crash {' '.join(signs) or 'ended itself'}"


if __name__ == "__main__":
    main()
