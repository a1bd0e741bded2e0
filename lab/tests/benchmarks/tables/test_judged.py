"""What the judge of few texts says of figures that are known."""

import math
from typing import Any

import numpy as np
import pytest

from benchmarks.tables.judged import cell_table, compare, grouped_rows, summary

Right = list[list[int]]
"""Of each draw, which of the texts are right."""


def rows(system: str, data: str, clean: Right, mistyped: Right | None = None, *, uneven: bool = False) -> list[Any]:
    found = []
    for draw, pair in enumerate(zip(clean, mistyped or clean, strict=True)):
        by_rate = dict(zip(("0", "0.5"), pair, strict=True))
        found.append(
            {
                "system": system,
                "data": data,
                "draw": draw,
                "texts": f"{data} {draw}",
                "uneven": uneven,
                "tested": len(pair[0]),
                "accuracy": {rate: float(np.mean(right)) for rate, right in by_rate.items()},
                "f1": {rate: float(np.mean(right)) / 2 for rate, right in by_rate.items()},
                "right": {rate: np.packbits(right).tobytes().hex() for rate, right in by_rate.items()},
            }
        )
    return found


def share(right: int, of: int = 10) -> list[int]:
    return [1] * right + [0] * (of - right)


def test_a_difference_is_paired_and_has_the_larger_error_of_draws_and_texts() -> None:
    steady = compare(rows("a", "x", [share(8)] * 3), rows("b", "x", [share(6)] * 3), 0.0)
    of_texts = np.std([1, 1] + [0] * 8, ddof=1) / math.sqrt(10)
    assert steady == pytest.approx((0.2, of_texts))
    assert steady.is_noise
    # Each draw is right on other texts: of all texts, the difference is about the same, but not of all draws.
    unlike = [
        rows("a", "x", [share(10), share(10)[::-1], share(5)]),
        rows("b", "x", [share(4), share(6)[::-1], share(5)]),
    ]
    varied = compare(*unlike, 0.0)
    assert varied == pytest.approx(((0.6 + 0.4 + 0) / 3, np.std([0.6, 0.4, 0], ddof=1) / math.sqrt(3)))
    assert not compare(rows("a", "x", [share(90, 100)]), rows("b", "x", [share(50, 100)]), 0.0).is_noise
    same = compare(rows("a", "x", [share(5)]), rows("b", "x", [share(5)]), 0.0)
    assert same == (0.0, 0.0) and same.is_noise


def test_three_lines_say_means_sets_won_and_lost_and_the_worst_loss() -> None:
    found = grouped_rows(
        [
            *rows("ours", "won", [share(90, 100)] * 2, [share(51, 100)] * 2, uneven=True),
            *rows("SVM", "won", [share(50, 100)] * 2, [share(50, 100)] * 2, uneven=True),
            *rows("ours", "lost", [share(40, 100)] * 2),
            *rows("SVM", "lost", [share(60, 100)] * 2, [share(43, 100)] * 2),
            *rows("ours", "not measured by the rival", [share(0)]),
        ]
    )
    assert summary(found, "ours", ["SVM"]).splitlines() == [
        "ours: mean .650 / .455 (macro-F1 of 1 uneven sets .450 / .255), sets: 2, draws: 2; "
        "SVM: .550 / .465 (macro-F1 of 1 uneven sets .250 / .250)",
        "  beyond the noise: 1 / 0 sets won, 1 / 0 lost; by more than .01: 1 / 0 ahead, 1 / 1 behind (1 / 1 by more than .02)",
        "  worst loss: lost -0.200 ± 0.040 / lost -0.030 ± 0.017",
    ]
    best = summary(found, "SVM", ["ours"])
    assert "worst loss: won -0.400 ± 0.049 / won -0.010 ± 0.010" in best
    assert (
        summary(found, "ours", [])
        == "ours: mean .433 / .303 (macro-F1 of 1 uneven sets .450 / .255), sets: 3, draws: 1.67\n"
    )


def test_of_several_rivals_the_best_at_each_set_counts_on_the_draws_that_all_have() -> None:
    found = grouped_rows(
        [
            *rows("ours", "x", [share(5), share(9), share(0)]),
            *rows("a", "x", [share(6), share(6)]),
            *rows("b", "x", [share(1), share(1)]),
            *rows("ours", "y", [share(5), share(5), share(0)]),
            *rows("a", "y", [share(1), share(1)]),
            *rows("b", "y", [share(4), share(4)]),
        ]
    )
    said = summary(found, "ours", ["a", "b", "without rows"])
    assert said.startswith("ours: mean .600 / .600, sets: 2, draws: 2; a or b: .500 / .500\n")
    assert "worst loss: none / none" in said
    assert summary(grouped_rows([*rows("ours", "x", [share(5)]), *rows("a", "y", [share(5)])]), "ours", ["a"]) == (
        "ours: no set that its rivals have, too\n"
    )


def test_the_table_has_a_line_a_set_and_a_dash_for_what_was_not_measured() -> None:
    found = grouped_rows(
        [
            *rows("ours", "b", [share(4), share(6)], [share(1), share(2)]),
            *rows("ours", "A", [share(10)]),
            *rows("SVM", "b", [share(3)]),
        ]
    )
    assert cell_table(found, ["SVM", "ours"]).splitlines()[2:] == [
        "| A | - | 1.000 / 1.000 |",
        "| b | .300 / .300 | .500 / .150 |",
    ]
