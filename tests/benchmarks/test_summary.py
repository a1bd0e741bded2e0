"""The table that decides: our files beside the best of the others."""

import pages
import summary
from common import read_results
from systems import FASTTEXT, OURS, TUNED


def row(system: str, head: str, clean: float, fall: float, size: int = 500_000, seed: int = 0, **sizes: int) -> dict:
    accuracy = {"0": clean, "0.2": clean - fall, "0.5": clean - 2 * fall, "1": clean - 3 * fall}
    settings = {"head_sizes": sizes} if sizes else {}
    kind = {"system": system, "head": head, "seed": seed, "settings": settings}
    return {"data": "Tatoeba", "accuracy": accuracy, "bytes": size} | kind


def test_it_shows_what_was_measured() -> None:
    table = summary.table(read_results(pages.RESULTS / "comparison"))
    assert (pages.RESULTS / "summary.md").read_text(encoding="utf-8") == table, "run python benchmarks/summary.py"


def test_the_best_of_the_others_is_looked_for_at_each_rate() -> None:
    rows = [
        row(OURS, "cnn", 0.8, 0.01),
        row(OURS, "cnn", 0.9, 0.01, seed=1),
        row(OURS, "pool", 0.99, 0.0),
        row(FASTTEXT, "whole", 0.85, 0.02),
        row("BPE, under 1 MB", "rnn", 0.87, 0.035),
        row("SentencePiece", "cnn", 0.95, 0.01, size=1_000_000),
    ]
    assert summary.table(rows).splitlines()[2:] == [
        "| Tatoeba, 113 languages to tell apart | .850 / **.840** / **.830** / **.820** (500 kB) | - "
        "| **.870** / .835 / .810 / .790 (BPE + rnn; fastText from 50% on) |"
    ]


def test_a_line_of_an_earlier_head_stands_where_there_is_no_other() -> None:
    earlier = row(TUNED, "cnn", 0.7, 0.1, hidden=1)
    assert "| .700 / .600 / .500 / .400 (500 kB, earlier) |" in summary.table([earlier]).replace("**", "")
    both = summary.table([earlier, row(TUNED, "cnn", 0.8, 0.1)])
    assert ", earlier" not in both
    assert "**.800** / **.700**" in both


def test_nothing_to_compare_with_is_a_dash() -> None:
    assert summary.table([row(OURS, "cnn", 0.5, 0.1)]).rstrip().endswith("| - | - |")
