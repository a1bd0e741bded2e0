"""Made-up findings for the page of a report: any labels and texts, with random answers."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from standin import classifier

from retvec_lite.classifier import Classifier
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.held_out import HeldOut
from retvec_lite.data.scores import score
from retvec_lite.data.suspects import Check, CopyGroup, Suspect, Twins
from retvec_lite.decision import Decision
from retvec_lite.report_page.page import training_page

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


def findings(labels: Sequence[str] = LABELS, texts: Sequence[str] | None = None, count: int = 200) -> Classifier:
    """A classifier as right after its training, on `count` texts; `texts` are repeated."""
    random = np.random.default_rng(0)
    given = tuple(texts or ("wake me at six", "where is my parcel"))
    names = tuple(labels[place % len(labels)] for place in range(count))
    dataset = Dataset(tuple(given[place % len(given)] for place in range(count)), names, Path("made.csv"))
    truth = np.array([labels.index(name) for name in names])
    answers = {}
    for rate in (0.0, 0.2, 0.5, -1.0):
        logits = random.normal(size=(count, len(labels))) + (3 - 2 * rate) * np.eye(len(labels))[truth]
        answers[rate] = (np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)).astype(np.float32)
    disguised = answers.pop(-1.0)
    decision = Decision(threshold=0.4)
    validation = {rate: score(names, found, labels) for rate, found in answers.items()}
    facts: dict[str, Any] = {
        "data": "made.csv",
        "training_texts": count,
        "validation_texts": count,
        "folds": 3,
        "validation": {f"{rate:g}": row.to_dict() for rate, row in validation.items()},
        "learning_curve": [(50, 0.7), (100, 0.75), (200, 0.78)],
    }
    decision = Decision(threshold=0.4)
    validation = {rate: score(names, found, labels) for rate, found in answers.items()}
    facts: dict[str, Any] = {"data": "made.csv", "learning_curve": [(50, 0.7), (100, 0.75), (200, 0.78)]}
    model = dataclasses.replace(classifier("pool"), training=facts, labels=tuple(labels), decision=decision)
    held_out = HeldOut(dataset, tuple(range(count)), tuple(labels), answers, disguised)
    return Classifier(model, validation, held_out)


def checked(texts: Sequence[str], labels: Sequence[str] = LABELS) -> Check:
    """What a check finds doubtful, with every text under a label that may be wrong, or that is none."""
    pairs = [(text, labels[row % len(labels)], labels[(row + 1) % len(labels)]) for row, text in enumerate(texts)]
    suspects = [
        Suspect(row, label, other if row % 3 else "", 1 - row / len(texts), text, f"taken for {other}")
        for row, (text, label, other) in enumerate(pairs)
    ]
    copies = CopyGroup((0, 3), texts[0], tuple(sorted({*labels[:2]})))
    twins = Twins(labels[0], labels[-1], 0.5)
    small = [(label, 2) for label in labels]
    return Check("made.csv", len(texts), tuple(suspects), (copies,), (twins,), tuple(small))


def page(
    found: Classifier, check: Check | None = None, verdict: Sequence[str] = ("Ship it.", "Next: nothing.")
) -> bytes:
    """The page of some findings."""
    assert found.held_out
    return training_page(found.model, found.validation, found.held_out, check)
