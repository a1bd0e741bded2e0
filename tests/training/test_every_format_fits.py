"""What `train` makes by default is below its limit in every format, whatever the texts: trained, and measured as real files."""

import importlib.util
import itertools
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import retvec_lite as rl
from retvec_lite.converters.engine import in_memory
from retvec_lite.converters.export_report import IncompleteExportError
from retvec_lite.model.file_sizes import estimate_bytes, estimate_files
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import NgramConfig
from retvec_lite.runtime.retvec_file import HEADS as ENGINE_HEADS
from tools.graph_sizes import measure, random_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("tensorflow", "coremltools")),
        reason="nothing can be converted",
    ),
]

TOPICS = (
    *("alarm", "account", "balance", "battery", "bill", "camera", "card", "coupon", "delivery", "door"),
    *("engine", "flight", "garden", "hotel", "invoice", "kitchen", "light", "market", "music", "office"),
    *("parcel", "phone", "picture", "refund", "school", "screen", "storm", "ticket", "train", "weather"),
)
FILLERS = (
    *("the", "my", "where", "is", "please", "now", "again", "still", "and", "was", "with", "after"),
    *("before", "missing", "broken", "late", "found", "good", "bad", "never", "today", "month"),
)
HAN = [chr(code) for code in range(0x4E00, 0x5600)]

MOST_OVER = 7_000
"""Bytes that an estimate may be too large: which kind of n-grams there will be is not known, and counts as the largest."""
MOST_UNDER = 2_500
"""Bytes that it may be too small: less than a training spares."""


class Texts(NamedTuple):
    """What a classifier learns from: labels, texts of each, words of a text, and whether texts have several labels."""

    labels: int
    each: int
    words: int
    several: bool = False
    letters: bool = False

    def write(self, path: Path) -> Path:
        draw = random.Random(self.labels)
        names = [f"{TOPICS[row % 30]} {row}" for row in range(self.labels)]
        lines = ["text\tlabel"]
        for row, _ in itertools.product(range(self.labels), range(self.each)):
            words = [TOPICS[row % 30], TOPICS[(row // 30 + row) % 30], *draw.choices(FILLERS, k=self.words)]
            words += draw.sample(HAN, 30) if self.letters else [str(row)]
            own = {names[row], draw.choice(names)} if self.several else {names[row]}
            lines.append(f"{' '.join(words[-self.words :])}\t{'|'.join(sorted(own))}")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path


def check_sizes(model: TrainedModel, limit: int) -> dict[str, int]:
    """Compare every kind of file with its estimate and its limit; return their bytes."""
    shapes = {name: value.shape for name, value in model.weights.items()}
    estimated = estimate_files(shapes, model.encoder, model.labels, model.decision)
    sizes = measure(model)
    if model.head.name in ENGINE_HEADS:
        assert len(in_memory(model).model) < sizes["tflite"], "so nobody estimates it"
    for name, size in sizes.items():
        assert size < limit, name
        assert -MOST_UNDER <= estimated[name] - size <= MOST_OVER, (name, estimated[name] - size)
    return sizes


@pytest.mark.parametrize(
    "parts",
    [
        {"head": "linear", "words": 8, "meaning": 3000, "ngrams": NgramConfig(buckets=9000, plain_letters=True)},
        *(
            pytest.param(parts, marks=pytest.mark.exhaustive)
            for parts in (
                {"head": "pool", "words": 16, "labels": 77, "ngrams": NgramConfig(buckets=700, plain_letters=True)},
                {
                    "head": "pool",
                    "words": 24,
                    "blocks": 1,
                    "vector": 64,
                    "meaning": 900,
                    "ngrams": NgramConfig(buckets=700, plain_letters=True),
                },
                {
                    "head": "linear",
                    "words": 40,
                    "chars": 128,
                    "meaning": 900,
                    "ngrams": NgramConfig(buckets=700, plain_letters=True),
                },
                {"head": "pool", "words": 40, "blocks": 2},
                {"head": "cnn", "words": 32, "labels": 5},
                {"head": "cnn", "words": 96, "labels": 1000},
            )
        ),
    ],
    ids=lambda parts: f"{parts['head']} {parts['words']} {parts.get('chars', '')}".rstrip(),
)
def test_estimates_are_those_of_real_files(parts: dict[str, Any]) -> None:
    check_sizes(random_model(**parts), 10**9)


def test_short_texts_with_ten_labels_fit_into_every_format(tmp_path: Path) -> None:
    """Their .tflite is the smallest of all, and left the .mlpackage no room once."""
    data = Texts(10, 4, 6).write(tmp_path / "texts.tsv")
    classifier = rl.train(data, head="linear")
    sizes = check_sizes(classifier.model, 1_000_000)
    assert max(sizes.values()) > 990_000, "the room is used"
    assert -MOST_UNDER <= classifier.model.training["estimated_bytes"]["int8"] - sizes["tflite"] <= MOST_OVER


CASES: tuple[tuple[Texts, dict[str, Any]], ...] = (
    (Texts(2, 12, 4), {}),
    (Texts(2, 12, 4), {"head": "linear", "max_kb": 600}),
    (Texts(5, 8, 6), {}),
    (Texts(5, 8, 6), {"max_kb": 1100}),
    (Texts(5, 8, 6), {"max_kb": 900}),
    (Texts(10, 4, 6), {"head": "linear", "max_kb": 900}),
    (Texts(10, 4, 6), {"head": "linear", "max_kb": 1100}),
    (Texts(10, 4, 15), {}),
    (Texts(27, 4, 14), {"head": "linear"}),
    (Texts(27, 4, 24), {"max_kb": 900}),
    (Texts(77, 3, 12), {}),
    (Texts(150, 3, 10), {"max_kb": 1100}),
    (Texts(150, 3, 10), {"head": "linear", "max_kb": 600}),
    (Texts(150, 3, 40), {"head": "linear"}),
    (Texts(4, 10, 64), {}),
    (Texts(4, 10, 64), {"head": "linear", "max_kb": 900}),
    (Texts(6, 10, 8, several=True), {"epochs": 2}),
    (Texts(20, 4, 20, several=True), {"head": "linear", "max_kb": 600}),
    (Texts(6, 6, 7), {"languages": ["de"], "epochs": 2}),
    (Texts(12, 4, 7), {"languages": ["de", "ru", "fr"], "head": "linear"}),
    (Texts(12, 4, 40), {"languages": ["ar", "hi"], "head": "linear", "max_kb": 1100}),
    (Texts(10, 310, 7), {"epochs": 1}),
    (Texts(10, 310, 30), {"head": "linear", "max_kb": 900}),
    (Texts(8, 90, 40, letters=True), {"head": "linear", "max_kb": 900}),
    (Texts(8, 90, 12), {"meaning": "none", "head": "linear"}),
)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("texts", "options"),
    CASES,
    ids=lambda value: " ".join(map(str, value.values() if isinstance(value, dict) else value)) or "usual",
)
def test_whatever_is_trained_fits_into_every_format(texts: Texts, options: dict[str, Any], tmp_path: Path) -> None:
    classifier = rl.train(texts.write(tmp_path / "texts.tsv"), multi_label=texts.several, **options)
    check_sizes(classifier.model, 1000 * classifier.model.training["max_kb"])


@pytest.mark.exhaustive
def test_the_advice_about_files_that_are_too_large_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retvec_lite.training import budget

    data = Texts(10, 4, 6).write(tmp_path / "texts.tsv")
    with monkeypatch.context() as patch:  # as it was planned once: without the formats but .tflite
        patch.setattr(budget, "estimate_files", lambda *about: {"tflite": estimate_bytes(*about)["int8"]})
        former = rl.train(data, head="linear")
    with pytest.raises(IncompleteExportError) as caught:
        former.export(tmp_path / "dist", formats=("tflite", "coreml"), data=data)
    message = str(caught.value)
    assert message.startswith("classifier-int8.mlpackage cannot be written: size is 1,0")
    limit = int(message.partition("--max-kb ")[2].split(maxsplit=1)[0])
    assert rl.train(data, head="linear", max_kb=limit).export(tmp_path / "more", formats="all", data=data).files
    assert rl.train(data, head="linear").export(tmp_path / "again", formats="all", data=data).files
    assert "choose --recipe int4" in message
    assert former.export(tmp_path / "int4", formats="all", recipes="int4", data=data).files
