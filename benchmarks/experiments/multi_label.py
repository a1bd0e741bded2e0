"""Several labels a text: NLU++, 62 labels, against one-against-rest SVMs of any size.

    python -m benchmarks.experiments.multi_label [--system "train" "linear"] [--work DIR] [--quick]

Ours are exported int8 files of `retvec-lite train --multi-label`, without more options and with `--head linear`. The SVMs are
scikit-learn's LinearSVC on TF-IDF. All choose their thresholds by three-fold cross-validation of the training texts; the SVMs
have one for all labels, which is better for them than 0. The test split is seen once. Rows already in the JSON are kept.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

import retvec_lite as rl
from benchmarks.common import WORK, Row, Rows, command_parser, kilobytes, markdown_table, require_data, result_path
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset, read_dataset
from retvec_lite.data.scores import TYPO_SEED, score_sets
from retvec_lite.data.typos import mistype_many
from retvec_lite.training.folds import choose_folds
from retvec_lite.training.tasks import SeveralLabels, best_micro_f1

RATES: Final = (0.0, 0.2, 0.5, 1.0)
CHARACTERS: Final = "SVM, characters"
WORD_PAIRS: Final = "SVM, characters, words and word pairs"
OURS: Final = {"train": (), "linear": ("linear",)}
"""Our systems and their heads."""
SYSTEMS: Final = (*OURS, CHARACTERS, WORD_PAIRS)
NAMES: Final = {"train": "ours, int8, default options", "linear": "ours, int8, `--head linear`"}
QUICK_TEXTS: Final = 400


def load_texts(data: Path, split: str, *, quick: bool) -> Dataset:
    """Read a split of NLU++."""
    path = data / "nlupp" / f"{split}.csv"
    require_data(path)
    found = read_dataset(path, label_column="labels", multi_label=True)
    return found.select(range(QUICK_TEXTS)) if quick else found


def measure_ours(system: str, training: Dataset, test: Dataset, work: Path, *, quick: bool) -> Row:
    """Train, export and score a classifier of ours."""
    began = time.perf_counter()
    head = "linear" if quick else (*OURS[system], "auto")[0]
    classifier = rl.train(training, head=head)
    seconds = round(time.perf_counter() - began, 1)
    classifier.export(work / f"multi_label-{system}", recipes=("int8",), force=True)
    file = work / f"multi_label-{system}" / "classifier-int8.tflite"
    exported = rl.load(file)
    assert isinstance(exported, rl.TextClassifier)
    points = exported.evaluate(test, typos=RATES).typos
    scores = {f"{point.rate:g}": [point.micro_f1, point.macro_f1, point.accuracy] for point in points}
    expected = classifier.training["validation"]["0"]["micro_f1"]
    return {"scores": scores, "bytes": file.stat().st_size, "training_seconds": seconds, "cross_validated": expected}


def measure_svm(system: str, training: Dataset, test: Dataset) -> Row:
    """Fit and score one SVM a label, any size; the threshold is the best of cross-validation."""
    targets = SeveralLabels().targets(training, training.classes)
    folds = choose_folds(training, seed=0)
    assert folds is not None
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
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union
    from sklearn.svm import LinearSVC

    parts = [TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), sublinear_tf=True)]
    if system == WORD_PAIRS:
        parts.append(TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", sublinear_tf=True))
    vectorize = make_union(*parts)
    vectors = vectorize.fit_transform(texts)
    models = [LinearSVC().fit(vectors, wanted) if len(set(wanted)) > 1 else None for wanted in targets.T]

    def predict(texts: Sequence[str]) -> Floats:
        vectors = vectorize.transform(texts)
        columns = [np.full(len(texts), -1.0) if one is None else one.decision_function(vectors) for one in models]
        return np.stack(columns, axis=1).astype(np.float32)

    return predict


def table(rows: Sequence[Row]) -> str:
    """Return the scores as Markdown."""
    header = ["micro F1 with this share of words mistyped", *(f"{rate:.0%}" for rate in RATES)]
    header += ["macro F1, clean", "all labels right, clean", "micro F1, cross-validated", "file"]
    body = []
    for row in rows:
        scores = row["scores"]
        clean = scores["0"]
        line = [NAMES.get(row["system"], row["system"]), *(f"{scores[f'{rate:g}'][0]:.3f}" for rate in RATES)]
        body.append(
            [*line, f"{clean[1]:.3f}", f"{clean[2]:.3f}", f"{row['cross_validated']:.3f}", kilobytes(row["bytes"])]
        )
    return markdown_table(header, body)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, and write the table."""
    parser = command_parser(__doc__, quick="400 texts, the head linear", data=True)
    parser.add_argument("--system", dest="systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--work", type=Path, default=WORK, metavar="DIR", help="folder that keeps the exported files")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("multi_label", quick=args.quick), ("system",), table)
    for system in args.systems:
        row: Row = {"system": system, "settings": {"rates": RATES, "seed": 0}}
        if rows.has(row):
            continue
        training, test = (load_texts(args.data, split, quick=args.quick) for split in ("train", "test"))
        known = [row for row, names in enumerate(test.label_sets) if set(names) <= set(training.classes)]
        test = test.select(known)
        if system in OURS:
            rows.add(row | measure_ours(system, training, test, args.work, quick=args.quick))
        else:
            rows.add(row | measure_svm(system, training, test))
    rows.show()


if __name__ == "__main__":
    main()
