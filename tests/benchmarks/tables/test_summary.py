"""The table that decides: our files beside the best of the others."""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.systems.names import FASTTEXT, NETWORK, TUNED
from benchmarks.tables import pages
from benchmarks.tables.summaries import summary


def row(system: str, head: str, clean: float, fall: float, size: int = 500_000, seed: int = 0, **sizes: int) -> dict:
    accuracy = {"0": clean, "0.2": clean - fall, "0.5": clean - 2 * fall, "1": clean - 3 * fall}
    settings = {"test_texts": 17_948} | ({"head_sizes": sizes} if sizes else {})
    kind = {"system": system, "head": head, "seed": seed, "settings": settings}
    return {"data": "Tatoeba", "accuracy": accuracy, "bytes": size} | kind


def summary_table(rows: Sequence[dict]) -> str:
    with TemporaryDirectory() as folder:
        (Path(folder) / "comparison.json").write_text(json.dumps(rows))
        return summary(Path(folder))


def test_it_shows_what_was_measured() -> None:
    table = summary(pages.RESULTS)
    assert (pages.RESULTS / "summary.md").read_text(encoding="utf-8") == table, "run python -m benchmarks.tables.pages"


def test_the_best_of_the_others_is_looked_for_at_each_rate() -> None:
    rows = [
        row(NETWORK, "cnn", 0.8, 0.01),
        row(NETWORK, "cnn", 0.9, 0.01, seed=1),
        row(NETWORK, "pool", 0.99, 0.0),
        row(FASTTEXT, "whole", 0.85, 0.02),
        row("BPE, under 1 MB", "rnn", 0.87, 0.035),
        row("SentencePiece", "cnn", 0.95, 0.01, size=1_000_000),
    ]
    assert summary_table(rows).splitlines()[2:] == [
        "| Tatoeba, which of 113 languages | .850 / .840 / **.830** / **.820** (500 kB) | - "
        "| **.870** / .835 / .810 / .790 (BPE + rnn; fastText from 50% on) |",
        "",
        "Other systems measured. Tatoeba: BPE, fastText.",
    ]


def test_a_line_of_an_earlier_head_stands_where_there_is_no_other() -> None:
    earlier = row(TUNED, "cnn", 0.7, 0.1, hidden=1)
    assert "| .700 / .600 / .500 / .400 (500 kB, earlier) |" in summary_table([earlier]).replace("**", "")
    both = summary_table([earlier, row(TUNED, "cnn", 0.8, 0.1)])
    assert ", earlier" not in both
    assert "**.800** / **.700**" in both


def test_nothing_to_compare_with_is_a_dash() -> None:
    assert summary_table([row(NETWORK, "cnn", 0.5, 0.1)]).splitlines()[2].endswith("| - | - |")


def test_what_is_above_one_megabyte_is_left_out_and_a_set_without_ours_too() -> None:
    rows = [row(NETWORK, "cnn", 0.9, 0.1, size=1_000_000), row(TUNED, "cnn", 0.8, 0.1), row("BPE", "cnn", 0.95, 0.1)]
    line = summary_table(rows).splitlines()[2]
    assert "| - | .800 / .700 / .600 / .500 (500 kB) | **.950** / **.850** / **.750** / **.650** (BPE + cnn) |" in line
    assert len(summary_table([row(NETWORK, "pool", 0.9, 0.1), row("BPE", "cnn", 0.95, 0.1)]).splitlines()) == 2


def test_other_training_texts_are_told() -> None:
    rows = [row(NETWORK, "cnn", 0.9, 0.1), row(FASTTEXT, "whole", 0.8, 0.1)]
    rows[0]["settings"]["texts"], rows[1]["settings"]["texts"] = "all", "some"
    assert "**Not comparable**, Tatoeba: rows differ in training texts." in summary_table(rows)


def test_sets_keep_their_order_and_a_name_may_come_back() -> None:
    rows = [row(NETWORK, "cnn", 0.5, 0.1), row("BPE", "cnn", 0.6, 0.1), row("SentencePiece", "cnn", 0.55, 0.0)]
    rows[2]["accuracy"] |= {"0.2": 0.6, "0.5": 0.1, "1": 0.4}
    lines = summary_table([*rows, row(NETWORK, "cnn", 0.5, 0.1) | {"data": "AG News"}]).splitlines()[2:4]
    assert [line.split(" ")[1] for line in lines] == ["AG", "Tatoeba,"]
    assert (
        "(BPE + cnn; SentencePiece + cnn from 20% on; BPE + cnn from 50% on; SentencePiece + cnn at 100%)" in lines[1]
    )
