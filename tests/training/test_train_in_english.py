"""The README's example: train on English texts, ask in German."""

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import retvec_lite as rl
from retvec_lite.data.dataset import read_dataset, starter_file

pytest.importorskip("tensorflow")

README = Path(__file__).resolve().parents[2] / "README.md"
QUESTIONS = {
    "wo bleibt meine Bestellung?": "delivery",
    "stell den Wecker auf sieben Uhr": "alarm",
    "spiel etwas Musik": "music",
}
TEXTS_A_LABEL = 40


def english_texts(path: Path) -> None:
    """Write the starter data's English texts, some of each label, as the file that the example reads."""
    data = read_dataset(starter_file("train"))
    told = [best.label for (best, *_) in rl.load("language").predict(data.texts, top=1)]
    counts: Counter[str] = Counter()
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        for text, label, tag in zip(data.texts, data.labels, told, strict=True):
            counts[label] += tag == "en"
            if tag == "en" and counts[label] <= TEXTS_A_LABEL:
                writer.writerow((text, label))
    assert min(counts.values()) >= TEXTS_A_LABEL


@pytest.mark.slow
def test_the_example_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    english_texts(tmp_path / "messages.csv")
    blocks = re.findall(r"```python\n(.+?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = [block for block in blocks if "languages=" in block]
    question, answer = re.search(r'predict\("(.+)"\)  # (\w+)', example).groups()  # type: ignore[union-attr]
    found: dict[str, Any] = {"rl": rl}
    exec(example, found)
    for text, label in {question: answer, **QUESTIONS}.items():
        assert found["classifier"].predict(text)[0].label == label, text
