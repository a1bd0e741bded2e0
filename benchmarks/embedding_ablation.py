"""What each part of pre-training is worth: short runs that differ in one thing, judged by classifiers on them.

    python benchmarks/embedding_ablation.py [--data DIR] [--steps N] [--only NAME] [--quick]

Each variant is pre-trained for the same number of steps. Then `pool` heads are trained on the frozen embedding, as it
would be exported, and judged on rows set aside from training, never on a test split: Banking77, AG News (a part of its
rows) and one classifier for twelve languages of MASSIVE.
"""

import csv
import dataclasses
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from common import command_parser, markdown_table, read_results, result_path, write_results

from retvec_lite.contract import EncoderConfig
from retvec_lite.data.dataset import Dataset, read_dataset, split
from retvec_lite.model.heads import PoolHead
from retvec_lite.model.weight_files import Embedding, load_embedding
from retvec_lite.pretraining.model import NetworkSettings
from retvec_lite.pretraining.pretrain import PretrainSettings, pretrain
from retvec_lite.pretraining.tasks import retrieval_task
from retvec_lite.pretraining.words import WordList, load_wordfreq, wordfreq_words
from retvec_lite.training.examples import prepare
from retvec_lite.training.fitting import NetworkFitter
from retvec_lite.training.settings import FitSettings

RATES: Final = (0.0, 0.2, 0.5)
LANGUAGES: Final = ("en", "de", "fi", "ru", "ar", "hi", "ko")
LOCALES: Final = (
    "en-US",
    "de-DE",
    "fr-FR",
    "fi-FI",
    "tr-TR",
    "ru-RU",
    "el-GR",
    "ar-SA",
    "hi-IN",
    "th-TH",
    "ko-KR",
    "zh-CN",
)
ROWS: Final = 1000  # of each locale
AG_NEWS_ROWS: Final = 6_000

BASE: Final = PretrainSettings(warmup=200)


def _network(**changed: Any) -> PretrainSettings:
    return dataclasses.replace(BASE, network=NetworkSettings(**changed))


VARIANTS: Final = {
    "as shipped": BASE,
    "128 dimensions": _network(embedding_dim=128),
    "words of 20 characters": _network(word_length=20),
    "no spatial dropout": dataclasses.replace(BASE, dropout=0.0),
    "no 4-bit training, float32": dataclasses.replace(BASE, quantized_share=0.0),
    "projection layer": _network(projection=True),
    "Adam, 1e-3 to 1e-4": dataclasses.replace(BASE, muon=False, final_rate=1e-4),
    "all typo kinds alike": dataclasses.replace(BASE, equal_kinds=True),
}


def tasks_of(data: Path, quick: bool) -> dict[str, tuple[Dataset, EncoderConfig, FitSettings]]:
    """Return the three classification tasks: rows, contract parameters, settings."""
    banking = read_dataset(data / "banking77" / "train.csv")
    tasks = {"Banking77": (banking, EncoderConfig(max_chars=256, max_words=32), FitSettings(epochs=4 if quick else 12))}
    if quick:
        return tasks
    news = read_dataset(data / "ag_news" / "train.csv")
    rows = np.random.default_rng(0).permutation(len(news))[:AG_NEWS_ROWS]
    tasks["AG News"] = (news.select(rows.tolist()), EncoderConfig(), FitSettings(epochs=6, copies=3))
    intents = _massive(data / "massive" / "train.csv")
    tasks["MASSIVE"] = (intents, EncoderConfig(max_chars=256, max_words=32), FitSettings(epochs=10))
    return tasks


def _massive(path: Path) -> Dataset:
    """Read the same number of rows of each locale."""
    texts: list[str] = []
    labels: list[str] = []
    taken = dict.fromkeys(LOCALES, 0)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if taken.get(row["lang"], ROWS) < ROWS:
                taken[row["lang"]] += 1
                texts.append(row["text"])
                labels.append(row["label"])
    common = {label for label in set(labels) if labels.count(label) >= 10}
    kept = [place for place, label in enumerate(labels) if label in common]
    return Dataset(tuple(texts[place] for place in kept), tuple(labels[place] for place in kept), path)


def accuracy(embedding: Embedding, dataset: Dataset, config: EncoderConfig, settings: FitSettings) -> dict[str, float]:
    """Return validation accuracy by share of mistyped words."""
    training, validation = split(dataset, 0.2, 0)
    config = dataclasses.replace(config, word_length=embedding.word_length)
    data = prepare(training, validation, config=config, **settings.typos)
    network = NetworkFitter(data, PoolHead(), embedding.weights, fine_tune=False, settings=settings)
    network.fit(held_out=data.held_out)
    return {
        f"{rate:g}": round(float((network.logits(ids).argmax(1) == data.held_out.truth).mean()), 4)
        for rate, ids in data.held_out.ids.items()
    }


def measure_variant(
    name: str, steps: int, words: WordList, tasks: dict[str, tuple[Dataset, EncoderConfig, FitSettings]]
) -> dict[str, Any]:
    """Pre-train one variant and return a row of its results."""
    settings = dataclasses.replace(VARIANTS[name], steps=steps)
    length = settings.network.word_length
    retrieval = [retrieval_task(language, wordfreq_words(language, length)[0], seed=0) for language in LANGUAGES]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "embedding.safetensors"
        pretrain(words, settings, out, run_dir=Path(folder) / "run", tasks=retrieval, evaluate_every=steps)
        embedding = load_embedding(out)
    row: dict[str, Any] = {
        "variant": name,
        "steps": steps,
        "pretraining_seconds": round(time.perf_counter() - began),
        "found": float(np.mean(list(embedding.card["metrics"]["right_word_found"].values()))),
    }
    for task, (dataset, config, fit_settings) in tasks.items():
        row[task] = accuracy(embedding, dataset, config, fit_settings)
        print(f"{name}: {task} {row[task]}", flush=True)
    return row


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the chosen variants; write the table of everything measured so far."""
    parser = command_parser(__doc__, quick="300 steps, Banking77 only, two variants", data=True)
    parser.add_argument("--steps", type=int, default=1000, help="steps of pre-training (default: 1,000)")
    parser.add_argument("--only", choices=tuple(VARIANTS), action="append", help="a variant; repeatable (default: all)")
    args = parser.parse_args(arguments)
    path = result_path("embedding_ablation", quick=args.quick)
    steps = 300 if args.quick else args.steps
    chosen = args.only or (list(VARIANTS)[:2] if args.quick else list(VARIANTS))
    tasks = tasks_of(args.data, args.quick)
    known = {row["variant"]: row for row in read_results(path) if row["steps"] == steps}
    words: dict[int, WordList] = {}
    for name in sorted(chosen, key=lambda variant: VARIANTS[variant].network.word_length):
        length = VARIANTS[name].network.word_length
        if length not in words:
            words = {length: load_wordfreq(length)}  # only one at a time: a list takes 0.7 GB
        known[name] = measure_variant(name, steps, words[length], tasks)
        rows = [known[variant] for variant in VARIANTS if variant in known]
        header = ["variant", "right word found", *(f"{task} 0 / 20 / 50 %" for task in tasks)]
        table = [
            [row["variant"], f"{row['found']:.3f}", *(_curve(row[task]) for task in tasks if task in row)]
            for row in rows
        ]
        write_results(path, rows, markdown_table(header, table))


def _curve(found: dict[str, float]) -> str:
    return " / ".join(f"{found[f'{rate:g}']:.3f}".removeprefix("0") for rate in RATES)


if __name__ == "__main__":
    main()
