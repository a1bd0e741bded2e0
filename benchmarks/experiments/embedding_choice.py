"""The protocol by which embeddings are chosen: frozen, under two heads, trained with and without typos, on rows set aside.

    python -m benchmarks.experiments.embedding_choice FILE [FILE ...] [--data DIR] [--seeds N] [--quick]

A FILE is an embedding (from `makers.embedding train`, or from `makers.embedding import-v1` for the released RETVec v1
weights), or `default`. Heads `pool` and `cnn` are trained on Banking77, CLINC150, SMS spam, ten locales of MASSIVE and ten texts a
label of Banking77, once on clean texts only and once on mistyped copies. Accuracy is that on rows set aside from the training
files, never on a test split, with 0 / 50 / 100 % of the words mistyped. Heads take the product's number
of epochs: after few, the figures tell how fast a head learns from an embedding. `mean` is the mean of all twelve columns before it.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.common import Row, Rows, command_parser, result_path
from benchmarks.data.sets import FOLDERS, LOCALES, read_locales, read_part, sampled, sampled_of_each
from benchmarks.systems.trained import digest
from benchmarks.tables.cells import grouped, markdown_table, values_of
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.typos import mistype_many
from retvec_lite.model.heads import CnnHead, HeadSpec, PoolHead
from retvec_lite.model.weight_files import choose_embedding
from retvec_lite.training.ensemble import NetworkFitter, Plan
from retvec_lite.training.examples import TrainingData, make_examples
from retvec_lite.training.settings import FitSettings

RATES: Final = (0.0, 0.5, 1.0)
SETS: Final = ("Banking77", "CLINC150", "SMS spam", "MASSIVE", "Banking77, 10 a label")
HEADS: Final[dict[str, HeadSpec]] = {"pool": PoolHead(), "cnn": CnnHead()}
TRAININGS: Final = {"clean": FitSettings(copies=1, typo_rate=0.0), "mistyped": FitSettings()}
KEY: Final = ("set", "trained_on", "embedding", "head", "seed")
_SIZE: Final = 0.65
"""Root mean square of the vectors' numbers, as in the embedding that ships with 0.1."""
_TRAINING_ROWS: Final = 3_000
_HELD_OUT_ROWS: Final = 1_500
_FEW: Final = 10
_FEW_EPOCHS: Final = 100


def load_set(data: Path, name: str) -> tuple[Dataset, Dataset]:
    """Return the rows to learn from and the rows set aside, all from the training file."""
    base = name.partition(",")[0]
    if name == "MASSIVE":
        rows = read_locales(
            data / FOLDERS[name] / "train.csv", LOCALES, (_TRAINING_ROWS + _HELD_OUT_ROWS) // len(LOCALES)
        )
    else:
        rows = read_part(data, base, "train")
    aside = sampled(len(rows), min(_HELD_OUT_ROWS, len(rows) // 4))
    rest = rows.select(sorted(set(range(len(rows))) - set(aside)))
    few = sampled_of_each(rest.labels, _FEW) if "a label" in name else sampled(len(rest), _TRAINING_ROWS)
    training = rest.select(few)
    known = set(training.labels)
    return training, rows.select([row for row in aside if rows.labels[row] in known])


def prepare_set(training: Dataset, held_out: Dataset, settings: FitSettings, word_length: int) -> TrainingData:
    """Encode both; the held-out rows come once for each of `RATES`, one after another."""
    texts = tuple(text for rate in RATES for text in mistype_many(held_out.texts, rate, 1))
    every = dataclasses.replace(held_out, texts=texts, labels=held_out.labels * len(RATES))
    return make_examples(training, every, word_length=word_length, **settings.typos)


class AtOneScale(NetworkFitter):
    """Gives heads vectors of one size, whatever the embedding.

    Pre-training learns from cosines, which do not depend on the size of vectors. But heads learn slowly from small ones.
    """

    def __init__(
        self, data: TrainingData, head: HeadSpec, weights: Mapping[str, Floats], settings: FitSettings
    ) -> None:
        super().__init__(Plan(data, head, 0, weights, False, settings))
        if weights and self._vectors is not None:
            size = float(np.sqrt(np.mean(np.square(self._vectors[1:], dtype=np.float32))))
            self._vectors = (np.asarray(self._vectors, np.float32) * (_SIZE / size)).astype(self._vectors.dtype)


def judge(
    rows: Rows,
    files: Mapping[str, str | Path],
    data: Path,
    sets: Iterable[str],
    seeds: int,
    facts: Mapping[str, Row] | None = None,
) -> None:
    """Measure what is missing of some embeddings, set by set, so that texts are encoded once for all of them.

    Args:
        rows: receives the results.
        files: name -> file, `default`, or `raw`.
        data: the folder of all data sets.
        sets: some of `SETS`.
        seeds: how many trainings of each kind.
        facts: of some embeddings, to be kept in their rows.
    """
    embeddings = {name: choose_embedding(file) for name, file in files.items()}
    for name, (trained_on, chosen) in itertools.product(sets, TRAININGS.items()):
        settings = dataclasses.replace(chosen, epochs=_FEW_EPOCHS) if "a label" in name else chosen
        prepared = functools.cache(functools.partial(prepare_set, *load_set(data, name), settings))
        for (stem, embedding), head, seed in itertools.product(embeddings.items(), HEADS, range(seeds)):
            weights = {} if embedding is None else dict(embedding.weights)
            length = 16 if embedding is None else embedding.word_length
            row: Row = {"set": name, "trained_on": trained_on, "embedding": stem, "head": head, "seed": seed}
            row["settings"] = {**dataclasses.asdict(settings), "weights": digest(weights)}
            row |= (facts or {}).get(stem, {})
            rows.fill(row, _measure, prepared, length, head, weights, dataclasses.replace(settings, seed=seed))


def _measure(
    prepared: Callable[[int], TrainingData],
    length: int,
    head: str,
    weights: Mapping[str, Floats],
    settings: FitSettings,
) -> Row:
    """Train a head on frozen weights (none for bits alone); return the accuracy on the held-out rows at each rate."""
    data = prepared(length)
    fitter = AtOneScale(data, HEADS[head], weights, settings)
    fitter.fit()
    right = fitter.logits(data.held_out.ids[0.0]).argmax(axis=1) == data.held_out.truth
    parts = zip(RATES, np.split(right, len(RATES)), strict=True)
    return {"accuracy": {f"{rate:g}": round(float(part.mean()), 5) for rate, part in parts}}


def tables(rows: list[Row]) -> str:
    """Return a table for each choice of data sets that an embedding was judged on, with all that were judged on these."""
    judged = {name: _judged(row for row in rows if row["embedding"] == name) for name in names_of(rows)}
    parts = []
    for sets in sorted(set(judged.values()) - {()}, key=len):
        same = [row for row in rows if row["set"] in sets and set(judged[row["embedding"]]) >= set(sets)]
        parts.append(f"On {'; '.join(sets)}:\n\n{table(same)}")
    return "\n".join(parts)


def _judged(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the data sets on which an embedding was judged with every head and training; others are unfinished."""
    done = {(row["set"], row["head"], row["trained_on"]) for row in rows}
    return tuple(
        name for name in SETS if all((name, head, trained_on) in done for head in HEADS for trained_on in TRAININGS)
    )


def names_of(rows: list[Row]) -> list[str]:
    """Return the embeddings of some rows."""
    return list(dict.fromkeys(row["embedding"] for row in rows))


def table(rows: list[Row]) -> str:
    """Return a line for each embedding: mean over sets and seeds by head, training and rate, and the words found if known."""
    ways = [(head, trained_on) for head in HEADS for trained_on in TRAININGS]
    found = {row["embedding"]: row["found"] for row in rows if "found" in row}
    header = ["embedding", *(["right word found"] if found else [])]
    header += [*(f"`{head}`, {trained_on}" for head, trained_on in ways), "mean"]
    lines = []
    for embedding in names_of(rows):
        columns = [
            mean_by_rate(row for row in rows if (row["embedding"], row["head"], row["trained_on"]) == (embedding, *way))
            for way in ways
        ]
        cells = [shown_by_rate(column) for column in columns]
        known = [f"{found[embedding]:.3f}"] if found else []
        lines.append([embedding, *known, *cells, f"{np.mean(columns):.4f}".removeprefix("0")])
    return markdown_table(header, lines)


def mean_by_rate(rows: Iterable[Row]) -> list[float]:
    """Return the accuracy at each rate, every set counted alike."""
    sets = grouped(list(rows), ["set"]).values()
    return [float(np.mean([np.mean(values_of(found, rate)) for found in sets])) for rate in RATES]


def shown_by_rate(means: Sequence[float]) -> str:
    """Return the accuracy at each rate as a cell."""
    return " / ".join(f"{mean:.3f}".removeprefix("0") for mean in means)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="Banking77 with ten texts a label, one seed", data=True)
    parser.add_argument("files", nargs="+", metavar="FILE", help="an embedding, `default`, or `raw` for bits alone")
    parser.add_argument(
        "--set", dest="sets", choices=SETS, action="append", help="a data set; repeatable (default: all)"
    )
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="trainings of each kind (default: 3)")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("embedding_choice", quick=args.quick), KEY, tables)
    sets, seeds = (SETS[-1:], 1) if args.quick else (args.sets or SETS, args.seeds)
    judge(rows, {Path(file).stem: file for file in args.files}, args.data, sets, seeds)
    rows.show()


if __name__ == "__main__":
    main()
