"""Kill `classify --output` at random: `killed_classify.py MODEL FOLDER KILLS ROWS SEED`; prints what became of the rows.

Each kill hits the command or one of its worker processes, at a random moment. The same command then goes on, until a run ends by
itself. The output must hold every row once, in order, with the answers of one undisturbed process.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from patience import PATIENCE

from retvec_lite import TextClassifier

CHUNK = 200
"""Rows of a chunk here, so that there is something to kill."""

# In small chunks, each of which takes a while.
COMMAND = f"""
import sys, time
from retvec_lite.scale import classify_files, sources
sources.ROWS = {CHUNK}
classify_files._SMALL = 1
sys.exit(__import__("retvec_lite.__main__").__main__.main())
"""


def worker_processes(pid: int) -> list[int]:
    """The worker processes of a command."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found if b"_serve" in Path(f"/proc/{child}/cmdline").read_bytes()]


def wait_for_parts(process: "subprocess.Popen[str]", folder: Path, more: int) -> None:
    """Wait until some more parts are there, or the command ends."""
    before = len(list(folder.glob("*.parquet")))
    while process.poll() is None and len(list(folder.glob("*.parquet"))) < before + more:
        time.sleep(0.005)


def main(model: str, folder: Path, kills: int, rows: int, seed: int) -> None:
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    texts = [" ".join(rng.choices(["wake", "me", "AT", "6", "where", "is", "my", "12"], k=5)) for _ in range(rows)]
    files = []
    for number in range(4):
        part = slice(number * rows // 4, (number + 1) * rows // 4)
        file = folder / f"texts-{number}.{'jsonl' if number % 2 else 'parquet'}"
        ids = range(rows)[part]
        if number % 2:
            lines = [json.dumps({"id": row, "text": text}) for row, text in zip(ids, texts[part], strict=True)]
            file.write_text("\n".join(lines))
        else:
            pq.write_table(pa.table({"id": ids, "text": texts[part]}), file)
        files.append(str(file))
    output = folder / "labels.parquet"
    arguments = ["classify", model, "--input", *files, "--output", str(output), "--workers", "2"]
    hits = {"command": 0, "worker": 0}
    errors = ""
    while not output.exists():
        process = subprocess.Popen([sys.executable, "-c", COMMAND, *arguments], stderr=subprocess.PIPE, text=True)
        is_killed = False
        while not is_killed and sum(hits.values()) < kills:
            wait_for_parts(process, folder / "labels.parquet.parts", rng.randint(0, 3))
            time.sleep(rng.uniform(0, 0.05))
            is_killed = process.poll() is not None
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                workers = worker_processes(process.pid)
                is_killed = is_killed or not workers or sum(hits.values()) % 2 == 1
                if process.poll() is None:
                    os.kill(process.pid if is_killed else rng.choice(workers), signal.SIGKILL)
                    hits["command" if is_killed else "worker"] += 1
        _, errors = process.communicate(timeout=PATIENCE)
        if process.returncode not in (0, -signal.SIGKILL):
            raise SystemExit(errors)
    answers = pq.read_table(output).to_pydict()
    expected = [found[0] for found in TextClassifier.load(model).predict_many(texts, top=1)]
    facts = {
        "rows": len(answers["id"]),
        "each row once, in order": answers["id"] == list(range(rows)),
        "right answers": answers["label"] == [found.label for found in expected],
        "kills": hits,
        "last run": errors.strip().splitlines()[-1],
        "left behind": sorted(path.name for path in folder.iterdir() if path.name not in [Path(f).name for f in files]),
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:6]))
