"""Dividing labelled texts: a share of every label in each part, and copies of a text in one of them."""

import random

from retvec_lite.data.copies import undivided
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError


def split(dataset: Dataset, fraction: float, seed: int) -> tuple[Dataset, Dataset]:
    """Return training and validation part, divided by `split_rows`."""
    rows, held_out = split_rows(dataset, fraction, seed)
    return dataset.select(rows), dataset.select(held_out)


def split_rows(dataset: Dataset, fraction: float, seed: int) -> tuple[list[int], list[int]]:
    """Return rows of a training and a validation part, with a share of every class in the latter; the same seed gives the same split everywhere.

    Shares are rounded by largest remainder, so that the whole comes out right even with many small classes. Every class
    keeps at least one training example, and both parts keep the order of the file. Copies of a text stay on one side, see `undivided`.

    Raises:
        RetvecLiteError: for a fraction that is not between 0 and 1 (exclusive).
    """
    if not 0.0 < fraction < 1.0:
        raise RetvecLiteError(f"The validation share must lie between 0 and 1, not {fraction!r}.")
    draw = random.Random(seed).random
    units, strata = undivided(dataset.groups, dataset.strata)
    rows: dict[str, list[int]] = {label: [] for label in sorted(set(strata))}
    for unit, label in enumerate(strata):
        rows[label].append(unit)
    shuffled = {label: sorted(members, key=lambda _: draw()) for label, members in rows.items()}
    counts = {label: min(int(fraction * len(members)), len(members) - 1) for label, members in rows.items()}
    remainders = {label: fraction * len(members) - counts[label] for label, members in rows.items()}
    missing = max(1, round(fraction * len(units))) - sum(counts.values())
    by_remainder = sorted(rows, key=lambda label: (-remainders[label], draw()))
    for label in [label for label in by_remainder if counts[label] < len(rows[label]) - 1][: max(0, missing)]:
        counts[label] += 1
    held_out = {row for label, members in shuffled.items() for unit in members[: counts[label]] for row in units[unit]}
    return [row for row in range(len(dataset)) if row not in held_out], sorted(held_out)
