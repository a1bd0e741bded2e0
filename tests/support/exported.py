"""The exported stand-ins that are kept in tests/data/exported."""

import csv
from collections.abc import Callable
from pathlib import Path

from retvec_lite.converters import format

EXPORTED = Path(__file__).parents[1] / "data" / "exported"
"""`<head>/classifier-<recipe>.tflite` and `<head>/reference.safetensors`; the folder `pool` is a whole export."""
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
EVERY_RECIPE = "float32,int8,int4"
ORDERS = {"pool": EVERY_RECIPE, "cnn": "int4", "raw": "int8"}
"""Head -> recipes that are kept."""
EMBED = ("pool", "raw")
"""Heads whose files have the signature `embed`."""
WIDTH = 32
"""Of the embeddings, so that the files are small."""
KEPT_VERSION = "0"
"""What the kept files call the version of this project, so that a new release does not change them."""


def call_it_kept_version(setattr: Callable[[object, str, object], None] = setattr) -> None:
    """Let exports name that version from now on; a test passes its `monkeypatch.setattr`."""
    setattr(format, "__version__", KEPT_VERSION)
    setattr(format, "CREATED_BY", f"retvec-lite {KEPT_VERSION}")


def texts_csv(folder: Path) -> Path:
    path = folder / "texts.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("text", "label"), *TEXTS])
    return path
