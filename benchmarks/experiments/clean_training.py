"""Trained on clean texts only, tested on mistyped ones: what each system makes of typos that it was never shown.

    python -m benchmarks.experiments.clean_training --v1 V1.safetensors [--set NAME] [--only SYSTEM] [--seeds 0 1 2] [--quick]

The RETVec paper's claim (arXiv:2302.09207) is that its vectorizer survives typos without training on them. Embeddings are
frozen under the head `cnn`; tables of pieces are trained with it and keep below 1 MB. These networks stop early on clean validation
texts. fastText and the linear model on n-grams have fixed settings. `default file` is what `retvec-lite train --typo-rate 0` makes,
exported as int8, n-grams included: it learns from clean texts, but decides when to stop, and how much its parts count, on validation
texts with typos. Test splits; 0 / 20 / 50 / 100 % of the words mistyped. Baselines need
the environment described in benchmarks/README.md.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.common import Row, Rows, command_parser, picture_path, result_path
from benchmarks.data.sets import FOLDERS, LOCALES, Corpus, load_corpus, read_locales
from benchmarks.systems import linear
from benchmarks.systems.fasttext import LARGE_SETTINGS, fit_large
from benchmarks.systems.names import DEFAULT_FILE, FASTTEXT_LARGE, LINEAR, NETWORK, RAW, V1
from benchmarks.systems.ours import train_file
from benchmarks.systems.table_network import train_table
from benchmarks.systems.trained import Guess, accuracies, digest, fingerprint
from benchmarks.systems.vectorizers import TINY, VECTORIZERS
from benchmarks.tables.cells import MOST_CLEAN_TESTS, clean_test_texts_of, grouped, matrix, ordered, values_of
from benchmarks.tables.plots import Points, draw_curves
from retvec_lite.data.dataset import Dataset, split
from retvec_lite.data.scores import TYPO_SEED
from retvec_lite.data.typos import mistype_many
from retvec_lite.model.heads import CnnHead
from retvec_lite.model.weight_files import choose_embedding
from retvec_lite.terminal import silent
from retvec_lite.training.ensemble import NetworkFitter, Plan
from retvec_lite.training.examples import HeldOut, make_examples
from retvec_lite.training.settings import FitSettings

RATES: Final = (0.0, 0.2, 0.5, 1.0)
SETS: Final = ("Banking77", "CLINC150", "SMS spam", "AG News", "MASSIVE")
SYSTEMS: Final = (DEFAULT_FILE, NETWORK, V1, RAW, *VECTORIZERS, FASTTEXT_LARGE, LINEAR)
SETTINGS: Final = FitSettings(epochs=20, patience=5, copies=1, typo_rate=0.0)
CLEAN: Final = (0.0,)
_NEWS_ROWS: Final = 8_000
_LOCALE_ROWS: Final = 1_000
_LOCALE_TESTS: Final = 300


def load(data: Path, name: str) -> Corpus:
    """Return a data set with at most 8,000 news texts, 1,000 texts of each locale and 3,000 test texts."""
    if name != "MASSIVE":
        return load_corpus(data, name, rows=_NEWS_ROWS if name == "AG News" else 0, test_rows=MOST_CLEAN_TESTS)
    folder = data / FOLDERS[name]
    training, validation = split(read_locales(folder / "train.csv", LOCALES, _LOCALE_ROWS), 0.1, 0)
    tests = read_locales(folder / "test.csv", LOCALES, _LOCALE_TESTS)
    known = [row for row, label in enumerate(tests.labels) if label in training.classes]
    return Corpus(name, training, validation, tests.select(known))


def train(system: str, corpus: Corpus, embeddings: Mapping[str, str], seed: int) -> Guess:
    """Train a system on clean texts; return what guesses labels."""
    if system == DEFAULT_FILE:
        return train_file(corpus.training, typo_rate=0.0, seed=seed)
    if system in VECTORIZERS:
        vectorizer = VECTORIZERS[system].learn(corpus.training.texts, TINY)
        settings = dataclasses.replace(SETTINGS, seed=seed)
        return train_table(corpus, vectorizer, "cnn", TINY.dimension, settings, silent, CLEAN).trained()
    if system == FASTTEXT_LARGE:
        return fit_large(corpus.training, LARGE_SETTINGS["lr"][0], seed)
    if system == LINEAR:
        return linear.fit_hashed(LINEAR, corpus.training, longest=4, copies=0, strength=1.0, seed=seed)
    return _train_frozen(embeddings[system], corpus, seed)


def _train_frozen(embedding: str, corpus: Corpus, seed: int) -> Guess:
    """Train the head; the test texts are encoded with the others, because the fitter knows words by number."""
    chosen = choose_embedding(embedding)
    length = 16 if chosen is None else chosen.word_length
    settings = dataclasses.replace(SETTINGS, seed=seed)
    tests = [mistype_many(corpus.test.texts, rate, TYPO_SEED) for rate in RATES]
    texts = [*corpus.validation.texts, *(text for group in tests for text in group)]
    every = Dataset(tuple(texts), (*corpus.validation.labels, *corpus.test.labels * len(RATES)), corpus.validation.path)
    data = make_examples(corpus.training, every, word_length=length, **settings.typos)
    ids, truth = data.held_out.ids[0.0], data.held_out.truth
    known = len(corpus.validation)
    weights = {} if chosen is None else chosen.weights
    fitter = NetworkFitter(Plan(data, CnnHead(), 0, weights, False, settings))
    fitter.fit(held_out=HeldOut({0.0: ids[:known]}, truth[:known]))
    number = dict(zip(texts, ids, strict=True))
    labels = np.array(data.labels)

    def guess(asked: Sequence[str]) -> Sequence[str]:
        found: list[str] = labels[fitter.logits(np.stack([number[text] for text in asked])).argmax(axis=1)].tolist()
        return found

    return guess


def measure(system: str, corpus: Corpus, embeddings: Mapping[str, str], seed: int) -> Row:
    return {"accuracy": accuracies(train(system, corpus, embeddings, seed), corpus.test, RATES)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="SMS spam, bits alone and n-grams, one seed", data=True)
    parser.add_argument("--set", dest="sets", choices=SETS, action="append", help="a data set; repeatable")
    parser.add_argument("--only", dest="systems", choices=SYSTEMS, action="append", help="a system; repeatable")
    parser.add_argument("--v1", metavar="FILE", help="the released weights of RETVec, imported")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="N", help="default: 0 1 2")
    args = parser.parse_args(arguments)
    embeddings = {NETWORK: "default", RAW: "raw"} | ({V1: args.v1} if args.v1 else {})
    systems = args.systems or [name for name in SYSTEMS if name != V1 or args.v1]
    if V1 in systems and not args.v1:
        parser.error(f"{V1} needs --v1 FILE (python -m makers.embedding import-v1 writes it)")
    if args.quick:
        args.sets, systems, args.seeds = ["SMS spam"], [RAW, LINEAR], [0]
    rows = Rows(result_path("clean_training", quick=args.quick), ("set", "system", "seed"), table)
    for name in args.sets or SETS:
        corpus = load(args.data, name)
        for system in systems:
            for seed in args.seeds:
                row: Row = {"set": name, "system": system, "seed": seed}
                row["settings"] = settings_of(corpus, embeddings.get(system))
                rows.fill(row, measure, system, corpus, embeddings, seed)
    draw_curves(curves(list(rows)), picture_path("clean-training", quick=args.quick), "words mistyped (%)")
    rows.show()


def settings_of(corpus: Corpus, embedding: str | None) -> Row:
    """Return what decides a row, JSON-ready: the texts, and which embedding is frozen, where one is."""
    settings: Row = {"epochs": SETTINGS.epochs, "texts": fingerprint([*corpus.training.texts, *corpus.test.texts])}
    if embedding is not None:
        chosen = choose_embedding(embedding)
        settings["weights"] = digest({} if chosen is None else chosen.weights)
    return settings


def table(rows: list[Row]) -> str:
    """Return a line for each system and a column for each data set: mean accuracy over seeds at each rate."""
    cells = grouped(_ordered(rows), ["set", "system"])
    sets = [name for name in SETS if any(row["set"] == name for row in rows)]
    seeds = sorted({len(found) for found in cells.values()})
    title = "trained on clean texts; 0 / 20 / 50 / 100 % mistyped"
    shown = matrix(title, cells, {name: name for name in SYSTEMS}, sets, RATES, clean_test_texts_of)
    return f"{shown}\nSeeds of a cell: {' to '.join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))}.\n"


def curves(rows: list[Row]) -> dict[str, dict[str, dict[str, Points]]]:
    """Return the points of each data set's and system's curve: share mistyped, mean, standard deviation."""
    panels: dict[str, dict[str, dict[str, Points]]] = {}
    for (name, system), same in grouped(_ordered(rows), ["set", "system"]).items():
        values = np.transpose([values_of(same, rate) for rate in RATES])
        points = zip(RATES, values.mean(axis=0).tolist(), values.std(axis=0).tolist(), strict=True)
        panels.setdefault(name, {})[system] = {"": list(points)}
    return panels


def _ordered(rows: list[Row]) -> list[Row]:
    return ordered(rows, ("set", "system", "seed"), {"set": SETS, "system": SYSTEMS})


if __name__ == "__main__":
    main()
