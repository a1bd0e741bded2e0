"""fastText as a whole product: supervised, tuned by itself on the validation texts, quantized below 1 MB.

Joulin et al. 2016 (arXiv:1607.01759, arXiv:1612.03651), in the package `fasttext-wheel`. It gets the same as our own
training: the same texts, with mistyped copies (or without, for comparison), and the same validation texts.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.common import ROOT, SIZE_LIMIT
from benchmarks.systems.vectorizers import require
from retvec_lite.data.typos import mistype_many

_TRIES: Final = 3
SUBWORDS: Final = (3, 6)
"""Shortest and longest n-grams of letters (fastText's default for vectors), fixed where training texts have typos. Tuning
alone may spend its time on models without n-grams, which fail on mistyped words."""
VALIDATION_RATES: Final = (0.0, 0.2, 0.5)
_PUNCTUATION: Final = re.compile(r"([.!?,'/()\"])")
_LABEL: Final = "__label__"


def prepared(text: str) -> str:
    """Return the text in lower case on one line, punctuation as separate words, as in fastText's tutorial."""
    return " ".join(_PUNCTUATION.sub(r" \1 ", text.lower()).split())


@dataclass(frozen=True)
class FastTextClassifier:
    """A quantized model.

    Attributes:
        labels: class names in the order of the columns.
        model: the package's model.
        bytes: size of its file, vocabulary included.
    """

    labels: tuple[str, ...]
    model: Any
    bytes: int

    def probabilities(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return probabilities, float32 `[texts, classes]`; 0 for a class that fastText does not list."""
        table = np.zeros((len(texts), len(self.labels)), np.float32)
        if not texts:
            return table
        names, values = self.model.predict([prepared(text) for text in texts], k=-1)
        for row, (found, scores) in enumerate(zip(names, values, strict=True)):
            for name, score in zip(found, scores, strict=True):
                table[row, int(name.removeprefix(_LABEL))] = score
        return table


def train_fasttext(
    copies: Sequence[Sequence[str]],
    training_labels: Sequence[str],
    validation: Sequence[str],
    validation_labels: Sequence[str],
    *,
    seconds: int,
    seed: int,
    path: Path,
) -> FastTextClassifier:
    """Tune, train, quantize and write `path`.

    Tuning stops after some seconds, so two runs differ even with one seed. With several copies the n-grams are fixed to
    `SUBWORDS`.

    Args:
        copies: the mistyped copies of the training texts; one copy: the clean texts.
        training_labels: labels of the texts of one copy.
        validation: texts to tune on, with several copies mistyped at `VALIDATION_RATES`, as for our early stopping.
        validation_labels: their labels.
        seconds: time for tuning.
        seed: seed of typos and training.
        path: the .ftz file to write.

    Raises:
        SystemExit: fastText fails; the message has its last line.
    """
    require("fasttext")
    labels = tuple(sorted(set(training_labels)))
    number = {label: place for place, label in enumerate(labels)}
    rates = VALIDATION_RATES if len(copies) > 1 else (0.0,)
    with tempfile.TemporaryDirectory() as folder:
        training_file, validation_file = Path(folder) / "train.txt", Path(folder) / "validation.txt"
        write_training_file(training_file, copies, [number[label] for label in training_labels])
        held_out = [mistype_many(validation, rate, seed + 1) for rate in rates]
        write_training_file(validation_file, held_out, [number[label] for label in validation_labels])
        path.parent.mkdir(parents=True, exist_ok=True)
        print(f"fastText tunes itself for {seconds} s", file=sys.stderr, flush=True)
        # In a separate process: an error in fastText's tuning thread (too few rows to quantize, say) kills the process.
        command = [
            sys.executable,
            "-m",
            "benchmarks.systems.fasttext",
            str(training_file),
            str(validation_file),
            str(seconds),
            str(seed),
            str(path),
            *(map(str, SUBWORDS) if len(copies) > 1 else ()),
        ]
        done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
            raise SystemExit(f"fastText failed to train on {len(copies[0])} texts: {last[0]}")
    return load_fasttext(path, labels)


def _tune(training: str, validation: str, seconds: int, seed: int, path: str, *subwords: int) -> None:
    """Tune, train and quantize, with smaller sizes until the file is below `SIZE_LIMIT`: fastText underestimates it."""
    size = SIZE_LIMIT
    fixed = dict(zip(("minn", "maxn"), subwords, strict=False))
    for _ in range(_TRIES):
        model = require("fasttext").train_supervised(
            input=training,
            autotuneValidationFile=validation,
            autotuneDuration=seconds,
            autotuneModelSize=str(size),
            thread=1,
            seed=seed,
            **fixed,
        )
        model.save_model(path)
        used = Path(path).stat().st_size
        if used < SIZE_LIMIT:
            return
        size = int(size * 0.98 * SIZE_LIMIT / used)
    Path(path).unlink()
    raise SystemExit(f"The file has {used:,} bytes instead of less than {SIZE_LIMIT:,}, even with a size of {size:,}.")


def load_fasttext(path: Path, labels: Sequence[str]) -> FastTextClassifier:
    """Load what `train_fasttext` wrote."""
    return FastTextClassifier(tuple(labels), require("fasttext").load_model(str(path)), path.stat().st_size)


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
    _tune(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], *map(int, sys.argv[6:]))
