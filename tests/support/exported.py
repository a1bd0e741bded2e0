"""Exported stand-ins, built once for all test files that ask, in a process of their own (it needs TensorFlow)."""

import atexit
import csv
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

TEXTS = (
    ("where is my parcle?", "one"),
    ("cancel it 😀", "two"),
    ("我的包裹在哪里", "three"),
    ("สวัสดีชาวโลก", "four"),
    ("Überweisung 100 €", "five"),
    ("see you tomorrow", "one"),
    ("أين طردي", "two"),
    ("play some music, please", "three"),
)
EVERY_RECIPE = "float32,float16,int8,int8-dynamic,int4"
ORDERS = {
    "pool": EVERY_RECIPE,
    "cnn": "int8-dynamic",
    "rnn": "int8,int8-dynamic",
    "bert": "int8",
    "raw": "int8",
}
"""Head -> recipes of the fast tests; the slow one does all of them."""
EMBED = ("pool", "raw")
"""Heads whose files have the signature `embed`."""


def texts_csv(folder: Path) -> Path:
    path = folder / "texts.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *TEXTS])
    return path


@functools.cache
def exports(orders: Sequence[tuple[str, str]] = tuple(ORDERS.items())) -> Path:
    """A folder with `<head>/` (what export wrote) and `<head>.safetensors` (the classifier) for each head."""
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing can be exported")
    folder = Path(tempfile.mkdtemp(prefix="retvec-lite-exports-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    texts_csv(folder)
    script = Path(__file__).with_name("build_exports.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder), *("=".join(order) for order in orders)],
        check=False,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder
