"""What is left of a ready-made classifier's answers where texts are mistyped, disguised, padded or surrounded."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np

import retvec_lite as rl
from benchmarks.common import Row, Rows, result_path
from benchmarks.data.sets import sampled
from benchmarks.experiments.ways import GROUPS, can_write, write_all
from benchmarks.tables.cells import grouped, markdown_table, ordered
from makers.ready.measure import RATES, test_texts
from makers.ready.recipes import RECIPES
from retvec_lite.data.typos import mistype_many
from retvec_lite.runtime.artifact import locate
from retvec_lite.runtime.retvec_file import SUFFIX

Write = Callable[[Sequence[str]], Sequence[str]]

_SEED: Final = 3
_TYPOS: Final[Mapping[str, Write]] = {
    f"{rate:.0%} of the words mistyped": functools.partial(mistype_many, rate=rate, seed=_SEED)
    for rate in RATES
    if rate
}
KINDS: Final[Mapping[str, Sequence[str]]] = {
    **{kind: [kind] for kind in _TYPOS},
    **{kind: found for kind, ways in GROUPS.items() if (found := [way for way in ways if can_write(way)])},
}
"""Kind of writing -> its ways."""
_WAYS: Final[Mapping[str, Write]] = {
    **_TYPOS,
    **{
        way: functools.partial(write_all, name=way)
        for kind, ways in KINDS.items()
        if kind not in _TYPOS
        for way in ways
    },
}
"""Way of writing -> what writes texts so."""
_AS_WRITTEN: Final = "right as written"
_TEXTS: Final = 500
_FEW: Final = 20
_WORST: Final = 5


def measure_robustness(name: str, file: str | None, data: Path, cache: Path, *, quick: bool = False) -> None:
    """Write up to 500 texts of each test in every way, and print what becomes of the answers, beside the classifiers measured before.

    Both tables are written to benchmarks/results. As in use, "none of these" is an answer: where a text has a label, a lost one.

    Args:
        name: a key of `RECIPES`.
        file: an exported file; by default that of the package.
        data: folder that `benchmarks.data.prepare` wrote.
        cache: folder of the owners' files.
        quick: 20 texts of each test, and files of their own.
    """
    recipe, classifier = RECIPES[name], rl.load(file or locate(name, SUFFIX))
    unknown = str(recipe.options.get("unknown_label", ""))

    def answer(texts: Sequence[str]) -> list[str]:
        found = classifier.predict(list(texts), top=1)
        return [(answers[0].label if answers else None) or unknown for answers in found]

    rows = Rows(result_path("ready-robustness", quick=quick), ("name", "test"), tables)
    for test, found in test_texts(name, data, cache).items():
        texts = [found[row] for row in sampled(len(found), _FEW if quick else _TEXTS)]
        key = {"name": name, "test": test, "texts": len(texts), "settings": {"seed": _SEED}}
        rows.add({**key, "kept": shares(answer, texts)})
    rows.show()


def shares(answer: Write, texts: Sequence[tuple[str, Sequence[str]]]) -> dict[str, float | None]:
    """Return by way of writing which share of the right answers is kept; None where there was no right answer.

    Args:
        answer: returns the label of each text.
        texts: texts, each with the labels that are right.
    """
    labels = [right for _, right in texts]
    kept: dict[str, float | None] = {}
    before = np.ones(len(texts), bool)
    for way, write in {_AS_WRITTEN: list, **_WAYS}.items():
        found = answer(write([text for text, _ in texts]))
        hits = np.array([label in right for label, right in zip(found, labels, strict=True)])
        kept[way] = float(hits[before].mean()) if before.any() else None
        if way == _AS_WRITTEN:
            before = hits
    return kept


def tables(rows: list[Row]) -> str:
    """Return what each kind of writing leaves of each classifier's right answers, and the ways that leave least."""
    by_name = {name: found for (name,), found in grouped(ordered(rows, ["name"], {}), ["name"]).items()}
    lines = [
        [kind, *(_share(_mean(found, ways)) for found in by_name.values())]
        for kind, ways in {_AS_WRITTEN: [_AS_WRITTEN], **KINDS}.items()
    ]
    worst = [[name, ", ".join(_worst(found))] for name, found in by_name.items()]
    return f"{markdown_table(['answers kept', *by_name], lines)}\n{markdown_table(['', 'fooled most by'], worst)}"


def _worst(rows: Sequence[Row]) -> list[str]:
    left = {way: _mean(rows, [way]) for way in _WAYS}
    return [f"{way} ({_share(left[way])})" for way in sorted(left, key=lambda way: left[way])[:_WORST]]


def _mean(rows: Sequence[Row], ways: Sequence[str]) -> float:
    """Return the mean over tests and ways."""
    found = [row["kept"][way] for row in rows for way in ways]
    return fmean(share for share in found if share is not None)


def _share(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")
