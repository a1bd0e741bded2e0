"""Several labels a text: NLU++, 62 labels, against one-against-rest SVMs of any size.

    python -m benchmarks.experiments.multi_label [--system NAME ...] [--quick]

Ours are exported int8 files of `retvec-lite train --multi-label`, without more options and with `--head linear`. The SVMs are
scikit-learn's LinearSVC on TF-IDF. All choose their thresholds by three-fold cross-validation of the training texts; the SVMs
have one for all labels, which is better for them than 0. The test split is seen once. Rows already in the JSON are kept.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

import retvec_lite as rl
from benchmarks.common import Row, Rows, command_parser, result_path
from benchmarks.data.sets import read_part
from benchmarks.systems.linear import CHARACTERS, WORD_PAIRS, tfidf
from benchmarks.systems.names import SVM
from benchmarks.systems.ours import RECIPE, export_files
from benchmarks.systems.whole import OURS
from benchmarks.tables.cells import kilobytes, markdown_table
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.scores import TYPO_SEED, score_sets
from retvec_lite.data.typos import mistype_many
from retvec_lite.training.label_scheme import SEVERAL_LABELS, best_micro_f1
from retvec_lite.training.trainer import choose_folds

RATES: Final = (0.0, 0.2, 0.5, 1.0)
WORDS: Final = "SVM, characters, words and word pairs"
SVMS: Final = {SVM: (CHARACTERS,), WORDS: (CHARACTERS, WORD_PAIRS | {"token_pattern": r"\S+"})}
SYSTEMS: Final = (*OURS, *SVMS)
QUICK_TEXTS: Final = 1000


def load_texts(data: Path, split: str, *, quick: bool) -> Dataset:
    """Read a split of NLU++."""
    found = read_part(data, "nlupp", split, label_column="labels", multi_label=True)
    return found.select(range(min(QUICK_TEXTS, len(found)))) if quick else found


def measure(system: str, data: Path, quick: bool) -> Row:
    """Train on the training split, and score on the test texts whose labels it has."""
    training, test = (load_texts(data, split, quick=quick) for split in ("train", "test"))
    known = set(training.classes)
    test = test.select(row for row, names in enumerate(test.label_sets) if set(names) <= known)
    if system in OURS:
        return measure_ours(system, training, test, quick=quick)
    return measure_svm(system, training, test)


def measure_ours(system: str, training: Dataset, test: Dataset, *, quick: bool) -> Row:
    """Train, export and score a classifier of ours."""
    began = time.perf_counter()
    classifier = rl.train(training, **({"head": "linear"} if quick else OURS[system]))
    seconds = round(time.perf_counter() - began, 1)
    with tempfile.TemporaryDirectory() as folder:
        classifier.save(folder, force=True)
        file = export_files(Path(folder), [RECIPE])[RECIPE]
        exported, size = rl.TextClassifier.load(file), file.stat().st_size
    points = exported.evaluate(test, typos=RATES).typos
    scores = {f"{point.rate:g}": [point.micro_f1, point.macro_f1, point.accuracy] for point in points}
    expected = classifier.training["validation"]["0"]["micro_f1"]
    return {"scores": scores, "bytes": size, "training_seconds": seconds, "cross_validated": expected}


def measure_svm(system: str, training: Dataset, test: Dataset) -> Row:
    """Fit and score one SVM a label, any size; the threshold is the best of cross-validation."""
    targets = SEVERAL_LABELS.targets(training, training.classes)
    folds = choose_folds(training, seed=0)
    held_out = np.zeros(targets.shape, np.float32)
    texts = np.array(training.texts, object)
    for rows, others in folds:
        held_out[others] = fit_svm(system, texts[rows], targets[rows])(texts[others])
    expected, threshold = best_micro_f1(held_out, targets)
    began = time.perf_counter()
    predict = fit_svm(system, texts, targets)
    seconds = round(time.perf_counter() - began, 1)
    scores = {}
    for rate in RATES:
        found = predict(mistype_many(test.texts, rate, TYPO_SEED))
        result = score_sets(test.label_sets, found, found >= threshold, training.classes)
        scores[f"{rate:g}"] = [result.micro_f1, result.macro_f1, result.accuracy]
    return {"scores": scores, "bytes": None, "training_seconds": seconds, "cross_validated": expected}


def fit_svm(system: str, texts: Sequence[str], targets: Any) -> Callable[[Sequence[str]], Floats]:
    """Return a function of texts that computes the score of each label, float32 `[texts, classes]`."""
    from sklearn.svm import LinearSVC

    vectorize = tfidf(SVMS[system])
    vectors = vectorize.fit_transform(texts)
    models = [LinearSVC().fit(vectors, wanted) if len(set(wanted)) > 1 else None for wanted in targets.T]

    def predict(texts: Sequence[str]) -> Floats:
        vectors = vectorize.transform(texts)
        columns = [np.full(len(texts), -1.0) if one is None else one.decision_function(vectors) for one in models]
        return np.stack(columns, axis=1).astype(np.float32)

    return predict


def table(rows: Sequence[Row]) -> str:
    header = ["micro F1 with this share of words mistyped", *(f"{rate:.0%}" for rate in RATES)]
    header += ["macro F1, clean", "all labels right, clean", "micro F1, cross-validated", "file"]
    body = []
    for row in rows:
        scores = row["scores"]
        clean = scores["0"]
        line = [row["system"], *(f"{scores[f'{rate:g}'][0]:.3f}" for rate in RATES)]
        body.append(
            [*line, f"{clean[1]:.3f}", f"{clean[2]:.3f}", f"{row['cross_validated']:.3f}", kilobytes(row["bytes"])]
        )
    return markdown_table(header, body)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="1,000 texts, the head linear", data=True)
    parser.add_argument("--system", dest="systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    args = parser.parse_args(arguments)
    rows = Rows(result_path("multi_label", quick=args.quick), ("system",), table)
    for system in args.systems:
        row: Row = {"system": system, "settings": {"rates": RATES, "seed": 0}}
        rows.fill(row, measure, system, args.data, args.quick)
    rows.show()


if __name__ == "__main__":
    main()
