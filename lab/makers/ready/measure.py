"""How good a ready-made classifier is on texts that nobody trained on.

Beside it stand a support vector machine that learned from the same texts, and a word list where there is a well-known one.
"""

import math
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from sklearn.metrics import f1_score

import retvec_lite as rl
from benchmarks.common import RESULTS
from benchmarks.data.sets import read_part, sampled
from benchmarks.systems.linear import choose_penalty, train
from benchmarks.systems.names import SVM
from benchmarks.tables.cells import markdown_table
from makers.ready.recipes import RECIPES
from makers.ready.source import Labelled
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import as_dataset
from retvec_lite.data.typos import mistype_many
from retvec_lite.files import atomic_write

Guess = Callable[[Sequence[str], Collection[str]], Sequence[str]]
"""Texts, and the labels that they may have -> the most probable of these for each."""

RATES: Final = (0.0, 0.5, 1.0)
"""Shares of mistyped words."""
_FEW: Final = 200
_LEARNED: Final = 100_000
"""Texts that the rival learns from, at most: more take it hours and more memory than most machines have."""
_TESTED: Final = 20_000
_SEED: Final = 3
_F1: Final = "macro-F1, clean"
_ABROAD: Final = ("found / kept / macro-F1", "ours", "SVM", "word list")
_LURES: Final = re.compile(
    r"(?i)https?://|www\.|\b(free|win|winner|won|prize|cash|claim|urgent|offer|loan|credit|cheap|guaranteed|congratulations|click|subscribe|award|bonus|discount)\b"
)
_TAKEOVERS: Final = re.compile(
    r"(?is)\b(ignore|disregard|forget|override|bypass)\b.{0,30}\b(all|any|previous|prior|above|earlier|your)\b.{0,30}"
    r"\b(instructions?|prompts?|rules?|directions?|guidelines?|commands?)\b|system prompt|jailbreak|\bDAN\b|do anything now|developer mode"
    r"|(no|without) (restrictions|rules|filters)|(reveal|print|repeat) (your|the) (instructions|prompt|password)|<\|im_start\|>|\[system\]|base64"
)
_TUNING: Final = 5_000
"""Texts that the penalty of the support vector machine is chosen on."""


def measure(name: str, file: str, data: Path, cache: Path, *, quick: bool = False) -> None:
    """Print a table of right answers, and write it to benchmarks/results.

    A second table has the tests in other languages. A line of the first has the shares for clean, half mistyped and wholly mistyped texts. Of a text with several labels, any of them is right. Labels that
    no test text has are no answers. Where a label raises an alarm, all labels are answers, and ours those of `predict`, thresholds included: one line has the share of its texts that are
    found, and the next the share of the others that are kept.

    Args:
        name: a key of `RECIPES`.
        file: an exported file, or a name.
        data: folder that `benchmarks.data.prepare` wrote.
        cache: folder of the owners' files.
        quick: a few texts; nothing is written.
    """
    recipe = RECIPES[name]
    unknown = str(recipe.options.get("unknown_label", ""))
    training = recipe.training_texts(data, cache)[: 10 * _FEW if quick else _LEARNED]
    systems = {
        "ours": _ours(file, unknown, decided=bool(recipe.alarm)),
        "SVM": _support_vectors(training),
        **_word_list(name),
    }
    every = {label for _, labels in training for label in labels.split("|")}
    lines = []
    for tested, rows in test_texts(name, data, cache).items():
        rows = [rows[row] for row in sampled(len(rows), _FEW if quick else _TESTED)]
        asked = every if recipe.alarm else {label for _, labels in rows for label in labels}
        written = [mistype_many([text for text, _ in rows], rate, _SEED) for rate in RATES]
        right = [labels for _, labels in rows]
        shares = [
            [_shares(guess(texts, asked), right, recipe.alarm) for texts in written] for guess in systems.values()
        ]
        said = (f"{recipe.alarm} found", "others kept", _F1) if recipe.alarm else ("",)
        first = f"{tested} ({len(rows):,})"
        for place, what in enumerate(said):
            if math.isnan(shares[0][0][place]):
                continue
            shown = [own[:1] if what == _F1 else own for own in shares]
            cells = [" / ".join(f"{share[place]:.3f}".removeprefix("0") for share in own) for own in shown]
            lines.append((first, *([what] if recipe.alarm else []), *cells))
            first = ""
    header = ("clean / half / all mistyped", *([""] if recipe.alarm else []), *systems)
    abroad = _abroad(name, systems, every, cache, quick=quick)
    tables = {f"ready-{name}": (header, lines), f"ready-{name}-languages": (_ABROAD, abroad)}
    for file_name, content in ((key, markdown_table(*table)) for key, table in tables.items() if table[1]):
        print(content)
        if not quick:
            atomic_write(RESULTS / f"{file_name}.md", content.encode())


def _abroad(
    name: str, systems: Mapping[str, Guess], every: Collection[str], cache: Path, *, quick: bool
) -> list[tuple[str, ...]]:
    """Return the lines of a table of the tests in other languages."""
    recipe, lines = RECIPES[name], []
    for language, source in recipe.abroad.items():
        rows = source.rows(cache)
        rows = [rows[row] for row in sampled(len(rows), _FEW if quick else _TESTED)]
        right = [labels.split("|") for _, labels in rows]
        shares = [_shares(guess([text for text, _ in rows], every), right, recipe.alarm) for guess in systems.values()]
        cells = [" / ".join(f"{share:.3f}".removeprefix("0") for share in each) for each in shares]
        lines.append((f"{language} ({len(rows):,})", *cells))
    return lines


def _shares(found: Sequence[str], right: Sequence[Collection[str]], alarm: str) -> tuple[float, ...]:
    """Return the share of right answers; where a label raises an alarm, of what is found and of what is kept, and the mean of both kinds' F1.

    A label that stands beside that one raises the alarm as well.
    """
    hits = np.array([one in labels for one, labels in zip(found, right, strict=True)])
    if not alarm:
        return (float(hits.mean()),)
    meant = np.array([alarm in labels for labels in right])
    raised = np.isin(found, [label for labels in right if alarm in labels for label in labels] or [alarm])
    both = meant.any() and not meant.all()
    score = float(f1_score(meant, raised, average="macro")) if both else math.nan
    return _mean(raised[meant]), 1 - _mean(raised[~meant]), score


def _mean(hits: npt.NDArray[np.bool_]) -> float:
    """Return the share of hits; NaN where there are no texts."""
    return float(hits.mean()) if hits.size else math.nan


def test_texts(name: str, data: Path, cache: Path) -> dict[str, list[tuple[str, list[str]]]]:
    """Return what a classifier is tested on, by name: texts with their labels."""
    recipe = RECIPES[name]
    rows = {tested: source.rows(cache) for tested, source in recipe.tests.items()}
    for each in (*recipe.sets, *recipe.others):
        part = read_part(data, each, "test")
        ours = recipe.others.get(each, {})
        rows[each] = [
            (text, ours.get(label, ours.get("", label))) for text, label in zip(part.texts, part.labels, strict=True)
        ]
    return {tested: [(text, label.split("|")) for text, label in own] for tested, own in rows.items()}


def _ours(file: str, unknown: str, *, decided: bool) -> Guess:
    """Load a classifier that answers as `predict` does if it is `decided` or none of its labels may be right, and else with its best label."""
    classifier = rl.load(file)
    assert isinstance(classifier, rl.Classifier)

    def guess(texts: Sequence[str], asked: Collection[str]) -> Sequence[str]:
        if decided or unknown in asked:
            return [answers[0].label or unknown for answers in classifier.predict(list(texts), top=1)]
        return _best(classifier.probabilities(list(texts)), classifier.labels, asked)

    return guess


def _support_vectors(rows: Sequence[Labelled]) -> Guess:
    """Train the rival, on the first label of each text."""
    texts = as_dataset([text for text, _ in rows], [label.split("|")[0] for _, label in rows])
    found = train(SVM, texts, choose_penalty(SVM, texts.select(np.array(sampled(len(texts), _TUNING)))))
    return lambda texts, asked: _best(found.probabilities(texts), found.labels, asked)


def _word_list(name: str) -> dict[str, Guess]:
    """Return the word list that developers take where they have no classifier.

    Of opinions, chance decides where a text has no word of the list. There is no well-known list of words for spam and for takeovers: ours have what tutorials name.
    """
    if name == "sentiment":
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

        words, rng = SentimentIntensityAnalyzer(), random.Random(_SEED)

        def guess(texts: Sequence[str], _: Collection[str]) -> list[str]:
            scores = [words.polarity_scores(text)["compound"] or rng.uniform(-1, 1) for text in texts]
            return ["positive" if score > 0 else "negative" for score in scores]

        return {"VADER": guess}
    if name == "toxicity":
        from better_profanity import profanity

        return {
            "better-profanity": lambda texts, _: [
                "hate" if profanity.contains_profanity(text) else "none" for text in texts
            ]
        }
    if name == "guard":
        return {
            "rules": lambda texts, _: ["attack" if _TAKEOVERS.search(text) else "none" for text in texts],
        }
    if name == "spam":
        return {
            "19 words, links": lambda texts, _: ["spam" if _LURES.search(text) else "ham" for text in texts],
        }
    return {}


def _best(probabilities: Floats, labels: Sequence[str], asked: Collection[str]) -> list[str]:
    """Return the most probable of the labels that are asked for, for each text."""
    places = [place for place, label in enumerate(labels) if label in asked]
    found: list[str] = np.array(labels)[places][np.asarray(probabilities)[:, places].argmax(axis=1)].tolist()
    return found
