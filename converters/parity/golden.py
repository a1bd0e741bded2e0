"""`golden.json`: golden texts with the answers that an app must get from an exported file, by which it tests itself."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.converters.parity.golden_texts import GoldenText, golden_windows, is_reachable, long_texts
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.json_text import parse_json
from retvec_lite.windows import combine, cut_windows, decided_text

GOLDEN_NAME: Final = "golden.json"
FORMAT: Final = "retvec-lite-golden"
VERSION: Final = 1

_LISTS: Final = ("cases", "long")
"""Entries that are lists of cases."""

GoldenAnswer = str | list[str] | None
"""The label of a text; where it may have several, all of them; None for none of the labels."""


def golden_bytes(
    config: EncoderConfig,
    labels: Sequence[str],
    texts: Sequence[GoldenText],
    expected: Mapping[str, tuple[Floats, float]],
    decision: Decision | None = None,
) -> bytes:
    """Return `golden.json`, with one line for each case, which makes differences readable.

    Probabilities have two digits more than the tolerance, which keeps the file small with many labels. Where the classifier
    rejects texts, `labels` has its answers, null for none of the labels, except where the tolerance leaves them open. Where texts
    may have several labels, an answer is a list in the order of the labels.

    `long` has texts that an app reads in windows, with the names of the cases that are their windows.

    Args:
        config: the contract.
        labels: the classes, in the order of the probabilities.
        texts: from `golden_texts`.
        expected: by golden key (see `Format`), what the artifact must answer, float32 `[texts, classes]` of the reference run
            with its own weights, and how far an answer may be off.
        decision: when a text belongs to none of the labels; None: never.
    """
    expected = dict(sorted(expected.items()))
    head: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "encoder": config.to_dict(),
        "labels": list(labels),
        "tolerance": {key: tolerance for key, (_, tolerance) in expected.items()},
    }
    if decision is not None and decision.rejects:
        head |= decision.entry()
    kept = None if decision is None or not decision.rejects else decision
    rows = [row for row, text in enumerate(texts) if is_reachable(text, config)]
    texts = [texts[row] for row in rows]
    expected = {key: (table[rows], tolerance) for key, (table, tolerance) in expected.items()}
    cases = []
    read = [None if text.text is None else decided_text(text.text, config) for text in texts]
    for text, answers in zip(texts, _answers(read, expected, labels, kept), strict=True):
        slots = contract.words(text.codepoints, config)
        case = {
            "name": text.name,
            "text": text.text,
            "codepoints": np.trim_zeros(text.codepoints, "b").tolist(),
            "words": slots[slots[:, 0] != 0].tolist(),
            **answers,
        }
        cases.append(json.dumps(case, separators=(",", ":")))
    parts = {"cases": cases, "long": _long_cases(config, long_texts(config), texts, expected, labels, kept)}
    lists = (f',\n "{key}": [\n' + ",\n".join(lines) + "\n ]" for key, lines in parts.items())
    return (json.dumps(head, indent=1, ensure_ascii=False)[:-2] + "".join(lists) + "\n}\n").encode()


def _long_cases(
    config: EncoderConfig,
    long: Mapping[str, str],
    texts: Sequence[GoldenText],
    expected: Mapping[str, tuple[Floats, float]],
    labels: Sequence[str],
    decision: Decision | None,
) -> list[str]:
    """Return a line for each long text, with what its windows say together."""
    rows, names = {text.name: row for row, text in enumerate(texts)}, golden_windows(config)
    cut = [cut_windows(text, config) for text in long.values()]
    windows = [[names[window] for window in found] for found in cut]
    known = decision or Decision()
    joined = {
        key: (
            np.stack(
                [
                    combine(table[[rows[name] for name in own]], labels, known, found)
                    for own, found in zip(windows, cut, strict=True)
                ]
            ),
            tolerance,
        )
        for key, (table, tolerance) in expected.items()
    }
    read = ["".join(found) for found in cut]
    answers = _answers(read, joined, labels, decision)
    return [
        json.dumps({"name": name, "text": text, "windows": own, **found}, separators=(",", ":"))
        for (name, text), own, found in zip(long.items(), windows, answers, strict=True)
    ]


def _answers(
    texts: Sequence[str | None],
    expected: Mapping[str, tuple[Floats, float]],
    labels: Sequence[str],
    decision: Decision | None,
) -> Iterator[dict[str, Any]]:
    """Yield the entries `probabilities` and, where a decision leaves no doubt, `labels` of each text."""
    decimals = {key: 2 - math.floor(math.log10(tolerance)) for key, (_, tolerance) in expected.items()}
    answers = {
        key: {} if decision is None else dict(clear_answers(texts, table, labels, decision, tolerance))
        for key, (table, tolerance) in expected.items()
    }
    for row in range(len(texts)):
        probabilities = {
            key: [round(value, decimals[key]) for value in table[row].tolist()] for key, (table, _) in expected.items()
        }
        clear = {key: known[row] for key, known in answers.items() if row in known}
        yield {"probabilities": probabilities, **({"labels": clear} if clear else {})}


def clear_answers(
    texts: Sequence[str | None], table: Floats, labels: Sequence[str], decision: Decision, tolerance: float
) -> Iterator[tuple[int, GoldenAnswer]]:
    """Yield the index of each text whose answer no difference within the tolerance can change, and the answer.

    Arguments as for `golden_bytes`, for one artifact; texts are as far as an app reads them, None where no string gives one.
    """
    columns = np.array(decision.columns(labels))
    others = np.array([label == decision.unknown_label for label in labels])
    for index, (read, row) in enumerate(zip(texts, table, strict=True)):
        if read is None:
            continue
        if decision.thresholds is not None:
            distances = np.abs(row.astype(np.float64) - decision.thresholds)
            if not decision.reads(read) or (distances > 2 * tolerance).all():
                yield index, [labels[column] for column in np.flatnonzero(decision.has([read], row[None])[0])]
            continue
        # The two ends: every label as probable as the tolerance allows and none of them not, and the other way round.
        ends = [np.clip(row + np.where(others, -move, move), 0.0, None) for move in (2 * tolerance, -2 * tolerance)]
        most, least = decision.unknown([read] * 2, np.stack(ends), labels)
        best, second = columns[np.argsort(-row[columns], kind="stable")[[0, min(1, len(columns) - 1)]]]
        is_close = best != second and row[best] - row[second] <= 2 * tolerance
        if most and least:
            yield index, None
        elif not (most or least or is_close):
            yield index, labels[best]


def check_golden(data: bytes, expected: bytes) -> None:
    """Raise RetvecLiteError unless a `golden.json` says what `golden_bytes` returns now, up to a fifth of the tolerance."""
    wanted = json.loads(expected)
    found = parse_json(data, "golden.json")
    try:
        cases = {key: {case["name"]: case for case in found[key]} for key in _LISTS if key in wanted}
        about = {key: value for key, value in found.items() if key not in _LISTS}
    except (TypeError, KeyError, AttributeError) as error:
        raise RetvecLiteError(f"golden.json is not what export writes: {shown(error)}.") from error
    # The file may list artifacts that are no longer in the folder.
    tolerance = about.get("tolerance")
    if isinstance(tolerance, dict):
        about["tolerance"] = {recipe: bound for recipe, bound in tolerance.items() if recipe in wanted["tolerance"]}
    for key, value in wanted.items():
        if key not in _LISTS and about.get(key) != value:
            raise RetvecLiteError(f"golden.json: {key} must be {shown(value)}, not {shown(about.get(key))}.")
    for key, given in cases.items():
        for case in wanted[key]:
            problem = _case_problem(case, given.get(case["name"]), wanted["tolerance"])
            if problem:
                raise RetvecLiteError(f"golden.json: the case {case['name']!r} differs from the reference: {problem}.")


def _case_problem(wanted: dict[str, Any], found: Any, tolerance: Mapping[str, float]) -> str | None:
    if not isinstance(found, dict):
        return "it is missing"
    for key in wanted.keys() - {"name", "labels", "probabilities"}:
        if found.get(key) != wanted[key]:
            return f"its {key} are different"
    # Whether the tolerance leaves an answer open may hang on the last digit.
    labels = found.get("labels")
    for recipe, label in wanted.get("labels", {}).items():
        if isinstance(labels, dict) and labels.get(recipe, label) != label:
            return f"its label for {recipe} is different"
    for recipe, values in wanted["probabilities"].items():
        try:
            given = np.array(found["probabilities"][recipe], np.float64)
            near = given.shape == (len(values),) and bool(np.abs(given - values).max() <= tolerance[recipe] / 5)
        except (KeyError, TypeError, ValueError, OverflowError):
            near = False
        if not near:
            return f"its probabilities for {recipe} are different"
    return None
