"""The wrong labels that the benchmark puts in: as many as told, all of them wrong, the same each time."""

import pytest

from benchmarks.experiments.wrong_labels import spoil, table
from retvec_lite.data.dataset import Dataset


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_so_many_labels_are_wrong(share: float) -> None:
    data = Dataset(tuple(f"text {row}" for row in range(60)), tuple("abc" * 20))
    spoiled, wrong = spoil(data, share)
    assert spoiled.texts == data.texts and set(spoiled.labels) <= set("abc")
    assert wrong.sum() == round(60 * share)
    assert wrong.tolist() == [one != other for one, other in zip(data.labels, spoiled.labels, strict=True)]
    assert spoil(data, share)[0] == spoiled


def test_the_table_has_a_line_for_each_share() -> None:
    precision = dict.fromkeys(("ours", "find_label_issues", "self_confidence", "normalized_margin"), 0.5)
    row = {"data": "Banking77", "texts": 3000, "wrong": 150, "precision": precision, "listed": 200, "listed_wrong": 120}
    assert table([row]).splitlines()[-1] == "| Banking77 | 150 of 3,000 | 0.500 | 0.500 | 0.500 | 0.500 | 200 | 120 |"
