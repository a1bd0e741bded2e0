"""Made-up findings for the page of a report: any labels and texts, with random answers."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from standin import classifier

from retvec_lite.data.copies import CopyGroup
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.outcome import Outcome
from retvec_lite.data.scores import score
from retvec_lite.data.suspects import Check, HeldOutAnswers, Suspect, Twins
from retvec_lite.data.typos import Way
from retvec_lite.decision import Decision
from retvec_lite.report_page import training_page
from retvec_lite.trained import TrainedClassifier

HOSTILE = (
    "<script>window.owned = 1</script>",
    "</script><script>window.owned = 2</script>",
    "<!-- ]]> </style> <img src=x onerror='window.owned = 3'>",
    '"\' onmouseover="window.owned = 4" x=\'',
    "${title} $body $$ %s {0} &lt; &amp; &#60;",
    "line\u2028and\u2029paragraph",
    "\u202egnp.exe \u2066isolated",
    "nul \0, bell \a, escape \x1b[2J, next line \x85, CR \r\n TAB\t",
    "half \ud800 pair \udfff",
    "not a character \uffff \ufdd0 \U0010ffff",
    "مرحبا بالعالم",
    "z" + "\u0301" * 500,
    "",
    " \n ",
    "x" * 100_000,
)
"""Texts, and labels, that try to break the page, its layout or its encoding."""

LABELS = ("alarm", "delivery", "order, 🙂", "one_time_code_with_a_long_name_of_many_words")


def findings(labels: Sequence[str] = LABELS, texts: Sequence[str] | None = None, count: int = 200) -> TrainedClassifier:
    """A classifier as right after its training, on `count` texts; `texts` are repeated."""
    random = np.random.default_rng(0)
    given = tuple(texts or ("wake me at six", "where is my parcel"))
    names = tuple(labels[place % len(labels)] for place in range(count))
    dataset = Dataset(tuple(given[place % len(given)] for place in range(count)), names, Path("made.csv"))
    truth = np.array([labels.index(name) for name in names])
    outcomes, decision = {}, Decision(threshold=0.4)
    for way in (Way.CLEAN, Way.FEW_TYPOS, Way.MANY_TYPOS, Way.DISGUISED):
        sure = 5 if way.rate is None else 3 - 2 * way.rate
        logits = random.normal(size=(count, len(labels))) + sure * np.eye(len(labels))[truth]
        answers = (np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)).astype(np.float32)
        outcomes[way] = Outcome.of(dataset, dataset.texts, answers, labels, decision)
    validation = {way.rate: score(found) for way, found in outcomes.items() if way.rate is not None}
    facts: dict[str, Any] = {
        "data": "made.csv",
        "training_texts": count,
        "validation_texts": count,
        "folds": 3,
        "warnings": [f"1 text is odd: {given[0]!r}."],
        "validation": {f"{rate:g}": row.to_dict() for rate, row in validation.items()},
        "largest_label": 0.25,
        "learning_curve": [(50, 0.7), (100, 0.75), (200, 0.78)],
    }
    model = dataclasses.replace(classifier("pool"), training=facts, labels=tuple(labels), decision=decision)
    held_out = HeldOutAnswers(dataset, tuple(range(count)), outcomes, (*facts["warnings"],))
    return TrainedClassifier(model, held_out)


def checked(texts: Sequence[str], labels: Sequence[str] = LABELS) -> Check:
    """A check that finds every text doubtful: of two, one may have a wrong label, and one has none."""
    pairs = [(labels[row % len(labels)], labels[(row + 1) % len(labels)]) for row in range(len(texts))]
    suspects, outsiders = (
        tuple(
            Suspect(row, pairs[row][0], "" if kind else pairs[row][1], 1 - row / len(texts), texts[row], "a reason")
            for row in range(kind, len(texts), 2)
        )
        for kind in (0, 1)
    )
    copies = CopyGroup((0, 3), texts[0], tuple(sorted({*labels[:2]})))
    twins = Twins(labels[0], labels[-1], 0.5, 20)
    return Check("made.csv", len(texts), suspects, outsiders, (copies,), (twins,), tuple((name, 2) for name in labels))


def page(found: TrainedClassifier) -> bytes:
    """The page of a training's findings."""
    assert found.held_out
    return training_page(found.model, found.held_out)
