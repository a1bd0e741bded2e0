"""fastText as a whole product: tuned by itself and quantized below 1 MB, or of any size.

Joulin et al. 2016 (arXiv:1607.01759, arXiv:1612.03651), in the package `fasttext-wheel`. The small one gets the
same as our own training: the same texts with mistyped copies, and the same validation texts.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.common import ROOT, SIZE_LIMIT
from benchmarks.systems.linear import HELD_OUT, HELD_OUT_RATES
from benchmarks.systems.trained import Probabilities, Trained, accuracy
from benchmarks.systems.vectorizers import require
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.typos import mistype_many

_TRIES: Final = 3
SUBWORDS: Final = (3, 6)
"""Shortest and longest n-grams of letters (fastText's default for vectors), fixed: tuning
alone may spend its time on models without n-grams, which fail on mistyped words."""
LARGE_OPTIONS: Final = {"wordNgrams": 2, "minn": 3, "maxn": 6, "epoch": 100}
LARGE_SETTINGS: Final[dict[str, Any]] = {**LARGE_OPTIONS, "lr": (0.5, 1.0), "held_out": HELD_OUT}
VALIDATION_RATES: Final = (0.0, 0.2, 0.5)
_PUNCTUATION: Final = re.compile(r"([.!?,'/()\"])")
_LABEL: Final = "__label__"


def prepared(text: str) -> str:
    """Return the text in lower case on one line, punctuation as separate words, as in fastText's tutorial."""
    return " ".join(_PUNCTUATION.sub(r" \1 ", text.lower()).split())


def probabilities_of(model: Any, labels: Sequence[str]) -> Probabilities:
    """Return what computes probabilities, float32 `[texts, classes]`; 0 for a class that fastText does not list."""

    def probabilities(texts: Sequence[str]) -> Floats:
        table = np.zeros((len(texts), len(labels)), np.float32)
        if not texts:
            return table
        names, values = model.predict([prepared(text) for text in texts], k=-1)
        for row, (found, scores) in enumerate(zip(names, values, strict=True)):
            for name, score in zip(found, scores, strict=True):
                table[row, int(name.removeprefix(_LABEL))] = score
        return table

    return probabilities


def train_fasttext(
    copies: Sequence[Sequence[str]], labels: Sequence[str], validation: Dataset, seconds: int, seed: int, path: Path
) -> Trained:
    """Tune, train, quantize and write `path`.

    Tuning stops after some seconds, so two runs differ even with one seed.

    Args:
        copies: the mistyped copies of the training texts.
        labels: labels of the texts of one copy.
        validation: texts to tune on, mistyped at `VALIDATION_RATES`, as for our early stopping.
        seconds: time for tuning.
        seed: seed of typos and training.
        path: the .ftz file to write.

    Raises:
        SystemExit: fastText fails; the message has its last line.
    """
    require("fasttext")
    classes = tuple(sorted(set(labels)))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("train.txt", "validation.txt")]
        held_out = [mistype_many(validation.texts, rate, seed + 1) for rate in VALIDATION_RATES]
        for file, texts, found in zip(files, (copies, held_out), (labels, validation.labels), strict=True):
            write_training_file(file, texts, [classes.index(label) for label in found])
        path.parent.mkdir(parents=True, exist_ok=True)
        print(f"fastText tunes itself for {seconds} s", file=sys.stderr, flush=True)
        # In a separate process: an error in fastText's tuning thread (too few rows to quantize, say) kills the process.
        options = [*files, seconds, seed, path.resolve()]
        command = [sys.executable, "-m", "benchmarks.systems.fasttext", *map(str, options)]
        done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
            raise SystemExit(f"fastText failed to train on {len(copies[0])} texts: {last[0]}")
    return load_fasttext(path, classes)


def _tune(training: str, validation: str, seconds: int, seed: int, path: str) -> None:
    """Tune, train and quantize, with smaller sizes until the file is below `SIZE_LIMIT`: fastText underestimates it."""
    size = SIZE_LIMIT
    fixed = dict(zip(("minn", "maxn"), SUBWORDS, strict=True))
    for _ in range(_TRIES):
        tuning = {"autotuneValidationFile": validation, "autotuneDuration": seconds, "autotuneModelSize": str(size)}
        model = require("fasttext").train_supervised(input=training, thread=1, seed=seed, **tuning, **fixed)
        model.save_model(path)
        used = Path(path).stat().st_size
        if used < SIZE_LIMIT:
            return
        size = int(size * 0.98 * SIZE_LIMIT / used)
    Path(path).unlink()
    raise SystemExit(f"The file has {used:,} bytes instead of less than {SIZE_LIMIT:,}, even with a size of {size:,}.")


def load_fasttext(path: Path, labels: Sequence[str]) -> Trained:
    """Load what `train_fasttext` wrote."""
    model = require("fasttext").load_model(str(path))
    facts = {"bytes": path.stat().st_size, "parameters": None}
    return Trained(tuple(labels), probabilities_of(model, labels), facts, path.parent)


def train_large(texts: Dataset) -> Trained:
    """Train fastText of any size: choose the learning rate on a held-out fifth and train on all texts."""
    training, held_out = texts.split(LARGE_SETTINGS["held_out"], 0)
    found = {}
    for candidate in LARGE_SETTINGS["lr"]:
        guess = fit_large(training, candidate)
        found[candidate] = float(np.mean([accuracy(guess, held_out, share) for share in HELD_OUT_RATES]))
    chosen = max(found, key=lambda candidate: found[candidate])
    best = fit_large(texts, chosen)
    return Trained(best.labels, best.probabilities, {"lr": chosen, "validation": found})


def fit_large(texts: Dataset, learning_rate: float, seed: int = 0) -> Trained:
    """Train fastText of any size."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.txt"
        write_training_file(file, [texts.texts], [texts.classes.index(label) for label in texts.labels])
        model = require("fasttext").train_supervised(
            str(file), lr=learning_rate, thread=1, seed=seed, verbose=0, **LARGE_OPTIONS
        )
    return Trained(texts.classes, probabilities_of(model, texts.classes))


def write_training_file(path: Path, copies: Sequence[Sequence[str]], labels: Sequence[int]) -> None:
    """Write fastText's format, one text a line, without empty texts.

    Args:
        path: the file.
        copies: texts, mistyped in different ways.
        labels: the number of the label of each text of a copy.
    """
    lines = [
        f"{_LABEL}{label} {text}\n"
        for copy in copies
        for label, text in zip(labels, map(prepared, copy), strict=True)
        if text
    ]
    path.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    _tune(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
