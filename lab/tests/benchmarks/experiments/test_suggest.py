"""The table of labels saved: means and errors over draws, and no line of a rule is lost."""

from benchmarks.experiments.suggest import RULES, table


def test_the_table_has_a_line_for_each_rule() -> None:
    rows = [
        {"data": "SMS spam", "rule": "10 random", "part": "validation", "seed": seed, "accuracy": accuracy}
        for seed, accuracy in enumerate((0.9, 0.92, 0.94))
    ]
    lines = table(rows).splitlines()
    assert lines[0] == "validation texts" and len(lines) == 4 + len(RULES)
    assert "| 10 random | 0.920 ± 0.012 |" in lines and "| suggest, two rounds | - |" in lines
