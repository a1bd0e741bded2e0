"""The proof holds: no change of so many words, tried out in full, moves the exact vote across the middle."""

import itertools
from collections.abc import Callable, Sequence

import pytest

from benchmarks.experiments.certificate import radius, table

WORDS = ("win", "cash", "dinner")


def vote(says: Callable[[Sequence[str]], bool], words: Sequence[str], share: float) -> float:
    """Return the exact share of thinned copies of which something is said."""
    total = 0.0
    for kept in itertools.product((False, True), repeat=len(words)):
        chance = share ** (len(words) - sum(kept)) * (1 - share) ** sum(kept)
        total += chance * says([word for word, is_kept in zip(words, kept, strict=True) if is_kept])
    return total


@pytest.mark.parametrize(
    "says", [lambda left: "win" not in left, lambda left: left.count("cash") < 2, lambda left: len(left) < 3]
)
@pytest.mark.parametrize("share", [0.6, 0.8, 0.9])
def test_what_is_sure_stays(says: Callable[[Sequence[str]], bool], share: float) -> None:
    text = ["dinner", "dinner", "at", "eight"]
    before = vote(says, text, share)
    changes = [[*text[:i], word, *text[i + cut :]] for i in range(5) for word in WORDS for cut in (0, 1)]
    twice = [[*one[:i], word, *one[i + cut :]] for one in changes for i in range(5) for word in WORDS for cut in (0, 1)]
    for r, texts in ((1, changes), (2, twice)):
        after = min(vote(says, each, share) for each in texts)
        assert before - after <= 1 - share**r + 1e-9
        votes = sorted((round(before * 100_000), round((1 - before) * 100_000)), reverse=True)
        if before > 0.5 and radius(votes, 100_000, share) >= r:
            assert after > 0.5


@pytest.mark.parametrize(
    ("votes", "share", "expected"),
    [
        ((1000, 0), 0.9, 6),
        ((1000, 0), 0.7, 1),
        ((900, 100), 0.9, 4),
        ((500, 100, 100, 100, 100, 100), 0.9, 1),
        ((510, 490), 0.9, -1),
    ],
)
def test_more_votes_bear_more(votes: tuple[int, ...], share: float, expected: int) -> None:
    assert radius(votes, 1000, share) == expected


def test_the_table_has_a_line_for_each_share() -> None:
    sure = {"1": 0.9, "2": 0.8, "3": 0.7, "5": 0.6}
    row = {"data": "AG News", "left_out": 0.9, "plain": 0.9, "smoothed": 0.85, "sure": sure, "seconds": 0.1}
    assert table([row]).splitlines()[-1] == "| AG News | 90% | 0.900 | 0.850 | 0.900 | 0.800 | 0.700 | 0.600 | 0.10 |"
