"""The arithmetic of the plan past this machine."""

import pytest
import scale_plan

PARTS = {"network": 0.8, "loss": 0.1, "optimizer": 0.1}


def test_bytes_sent_in_a_step() -> None:
    assert scale_plan.gathered_bytes(1) == scale_plan.gradient_bytes(1) == 0
    # Two machines: each sends its half of the vectors and hashes once, and all gradients once.
    assert scale_plan.gathered_bytes(2, batch=8) == 4 * (4 * 256 + 8)
    assert scale_plan.gradient_bytes(2, parameters=10) == 40
    assert scale_plan.gradient_bytes(5, parameters=10) == 64


def test_only_the_network_is_divided() -> None:
    assert scale_plan.step_seconds(1, 1, PARTS) == pytest.approx(1.0)
    fast = scale_plan.step_seconds(4, 1e9, PARTS)
    assert fast == pytest.approx(0.2 + 0.2 + 12 * scale_plan.LATENCY)
    sent = 8 * (scale_plan.gathered_bytes(4) + scale_plan.gradient_bytes(4))
    assert scale_plan.step_seconds(4, 1, PARTS) - fast == pytest.approx(sent / 1e9, rel=1e-6)


def test_a_faster_network_pays_for_more_machines() -> None:
    short = {name: value / 20 for name, value in PARTS.items()}
    best = [scale_plan.best_machines(speed, short) for speed in (0.1, 1, 10)]
    assert best[0] == 1 < best[1] < best[2]


def test_one_reader_bounds_a_run() -> None:
    rates = [scale_plan.rows_per_second(cores, 10, 400, 1000) for cores in (1, 2, 40, 80)]
    assert rates[0] == pytest.approx(1 / (1 / 10 + 1 / 1000)) and rates[1] > 1.9 * rates[0]
    assert rates[2] == rates[3] == pytest.approx(1 / (1 / 400 + 1 / 1000))


def test_a_word_list_takes_what_it_says() -> None:
    # In a process of its own: this one held more before, so that its peak would say nothing.
    row = scale_plan.words_memory(20_000)
    assert 0.9 * 72 < row["bytes_kept"] <= 72 <= row["bytes_at_most"]


@pytest.mark.exhaustive
def test_the_parts_of_a_real_step_are_timed() -> None:
    row = scale_plan.measure_step(1)
    assert {"network", "loss", "optimizer"} <= row.keys() and min(row[name] for name in PARTS) > 0
