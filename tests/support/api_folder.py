"""A trained classifier and an exported file for tests of the public API, made once a session."""

import csv
import shutil
from dataclasses import dataclass
from pathlib import Path

from retvec_lite.data.dataset import Dataset, starter_file

LABELS = ("alarm", "delivery", "music")


@dataclass(frozen=True)
class ApiFolder:
    """`path` holds `classifier/`, trained on `english("train")`, and `classifier-int8.tflite`, the Android demo's."""

    path: Path

    @property
    def classifier(self) -> Path:
        return self.path / "classifier"

    def copy_to(self, place: Path) -> None:
        """Copy both to `place`."""
        shutil.copytree(self.path, place, dirs_exist_ok=True)


def english(split: str) -> Dataset:
    """English starter texts of three labels."""
    with starter_file(split).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["lang"] == "en" and row["label"] in LABELS]
    return Dataset(tuple(row["text"] for row in rows), tuple(row["label"] for row in rows))
