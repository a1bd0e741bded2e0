"""Are probabilities honest, and are texts told that belong to no label?

    python -m benchmarks.experiments.rejection [--set "CLINC150"] [--trained DIR] [--quick]

Classifiers are trained as `retvec-lite train` does without options, on AG News from 8,000 texts. CLINC150 has its dev split
as validation texts and `--unknown-label oos`. The first table is about the test splits. The second compares scores
by which texts could be rejected, on CLINC150's dev split: each has the threshold that keeps 99 % of the right answers.
Rows already in the JSON are kept.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.special import logsumexp, softmax

import retvec_lite as rl
from benchmarks.common import Row, Rows, command_parser, result_path
from benchmarks.data.sets import STARTER, read_part
from benchmarks.systems.linear import CHARACTERS, tfidf
from benchmarks.tables.cells import markdown_table
from retvec_lite import contract
from retvec_lite.contract import Floats
from retvec_lite.data.calibration import auroc
from retvec_lite.data.dataset import Dataset
from retvec_lite.model.reference_network import embed, head_logits, linear_logits
from retvec_lite.model.weight_files import TrainedModel

UNKNOWN: Final = {"CLINC150": "oos"}
"""Data sets with texts that belong to no label, and what these are labelled."""
SETS: Final = ("CLINC150", "Banking77", "AG News", STARTER)
RATES: Final = (0.0, 0.2, 0.5, 1.0)
AG_NEWS_TEXTS: Final = 8_000
QUICK_LABELS: Final = 10
KEPT: Final = 0.99

DECISION: Final = "what the file compares: p / p(unknown label) ** 0.2"
PROBABILITY: Final = "probability p of the best label"
LOGIT: Final = "its logit"
ENERGY: Final = "energy: log of the sum of exp(logits)"
NEAREST: Final = "cosine to the nearest training text (TF-IDF of characters)"


def train(data: Path, name: str, trained: Path | None, *, quick: bool) -> rl.Classifier:
    """Train, or load what an earlier run has saved in the folder `trained`."""
    saved = trained / name.replace(" ", "_") if trained else None
    if saved and saved.is_dir():
        found = rl.load(saved)
        assert isinstance(found, rl.Classifier)
        return found
    most = AG_NEWS_TEXTS if name == "AG News" else 0
    options: dict[str, Any] = {"head": "linear"} if quick else {}
    training = read_part(data, name, "train", most)
    unknown = UNKNOWN.get(name)
    if quick:
        labels = {*training.classes[:QUICK_LABELS], unknown}
        training = training.select([row for row, label in enumerate(training.labels) if label in labels])
    elif unknown:
        options |= {"validation": read_part(data, name, "dev")}
    if unknown in training.labels:
        options |= {"unknown_label": unknown}
    return rl.train(training, out=saved, **options)


def measure(classifier: rl.Classifier, test: Dataset, unknown: str | None) -> Row:
    """Score a classifier on test texts of labels that it knows, and on those without a label."""
    known = {*classifier.labels, unknown}
    test = test.select([row for row, label in enumerate(test.labels) if label in known])
    found = classifier.evaluate(test, unknown_label=unknown, typos=RATES)
    assert found.rejection is not None
    rejection = found.rejection.to_dict()
    del rejection["coverage"]
    return {"typos": [point._asdict() for point in found.typos], "rejection": rejection}


def measure_set(data: Path, name: str, trained: Path | None, quick: bool) -> Row:
    """Train, score on the test texts and, where texts have no label, compare scores on the dev split."""
    classifier, unknown = train(data, name, trained, quick=quick), UNKNOWN.get(name)
    row = measure(classifier, read_part(data, name, "test"), unknown)
    if unknown and not quick:
        training, dev = (read_part(data, name, split) for split in ("train", "dev"))
        row |= {"scores": compare(classifier, training, dev, unknown)}
    return row


def compare(classifier: rl.Classifier, training: Dataset, dev: Dataset, unknown: str) -> list[Row]:
    """Compare scores by which texts could be rejected: how well each tells texts with a label from those without."""
    columns = classifier.decision.columns(classifier.labels)
    labels = np.array(classifier.labels)[columns]
    logits = np.stack([logits_of(classifier.model, text) for text in dev.texts])
    probabilities = softmax(logits, axis=1)
    shares = probabilities[:, columns]
    has_label = np.array(dev.labels) != unknown
    right = labels[shares.argmax(axis=1)] == np.array(dev.labels)
    known = [text for text, label in zip(training.texts, training.labels, strict=True) if label != unknown]
    scores: dict[str, Callable[[], Floats]] = {
        DECISION: lambda: classifier.decision.scores(probabilities, classifier.labels),
        PROBABILITY: lambda: shares.max(axis=1),
        LOGIT: lambda: logits[:, columns].max(axis=1),
        ENERGY: lambda: logsumexp(logits[:, columns], axis=1),
        NEAREST: lambda: nearest(known, dev.texts),
    }
    rows = []
    for name, score in scores.items():
        values = score()
        threshold = np.sort(values[right & has_label])[int((1 - KEPT) * (right & has_label).sum())]
        rejected = float((values[~has_label] < threshold).mean())
        rows.append({"score": name, "auroc": auroc(values[has_label], values[~has_label]), "recognized": rejected})
    return rows


def logits_of(model: TrainedModel, text: str) -> Floats:
    """Return the logits, float32 `[classes]`, which exported files do not answer, from the NumPy reference."""
    codes = contract.codepoints(text, model.encoder.max_chars)
    slots = contract.words(codes, model.encoder)
    digits = contract.bits(slots)
    vectors = embed(digits, model.weights)
    logits = head_logits(vectors, slots[:, 0] != 0, model.head, model.weights)
    linear = linear_logits(codes, model.encoder, model.ngrams, model.meaning, model.weights)
    return logits if linear is None else logits + linear


def nearest(known: Sequence[str], texts: Sequence[str]) -> Floats:
    """Return the cosine of each text to the most similar known one."""
    vectorizer = tfidf([CHARACTERS])
    seen = vectorizer.fit_transform(known)
    found: Floats = (vectorizer.transform(texts) @ seen.T).max(axis=1).toarray().ravel()
    return found


def table(rows: Sequence[Row]) -> str:
    rates = [f"{rate:.0%}" for rate in RATES]
    header = ["calibration error with this share of words mistyped", *rates, *(f"unknown, {rate}" for rate in rates)]
    body = []
    for row in rows:
        errors = [f"{point['calibration_error']:.3f}" for point in row["typos"]]
        body.append([row["data"], *errors, *(f"{100 * point['unknown']:.1f} %" for point in row["typos"])])
    parts = [markdown_table(header, body)]
    for row in rows:
        found = row["rejection"]
        if found["auroc"] is None:
            continue
        header = [row["data"], "all texts right", "with a label: right", "without: recognized", "AUROC"]
        header.append("too improbable")
        keys = ("accuracy", "in_scope_accuracy", "unknown_recognized", "auroc")
        parts.append(markdown_table(header, [["test", *(f"{found[key]:.3f}" for key in keys), f"`{found['rule']}`"]]))
        if row.get("scores"):
            body = [[one["score"], f"{one['auroc']:.3f}", f"{one['recognized']:.2f}"] for one in row["scores"]]
            parts.append(markdown_table([f"{row['data']}, dev", "AUROC", "without a label: recognized"], body))
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="ten labels, the head linear", data=True)
    parser.add_argument("--set", dest="sets", nargs="+", choices=SETS, default=SETS, help="data sets")
    parser.add_argument("--trained", type=Path, metavar="DIR", help="folder that keeps the classifiers")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("rejection", quick=args.quick), ("data",), table)
    for name in args.sets:
        row: Row = {"data": name, "settings": {"kept": KEPT, "rates": RATES}}
        rows.fill(row, measure_set, args.data, name, args.trained, args.quick)
    rows.show()


if __name__ == "__main__":
    main()
