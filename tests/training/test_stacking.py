"""What runs beside the main thread, and what the parts count: known factors are found again, and the gradient is that of the loss."""

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import softmax

from retvec_lite.contract import Floats, Ints
from retvec_lite.training import stacking
from retvec_lite.training.label_scheme import ONE_LABEL
from retvec_lite.training.plan import LINEAR, NETWORK
from retvec_lite.training.stacking import Beside, fit_mix

WAIT = 10.0


def test_progress_of_both_is_told_by_the_main_thread() -> None:
    told: list[tuple[str, int, str]] = []
    beside = Beside(lambda what, done, _: told.append((what, done, threading.current_thread().name)))

    def fit() -> str:
        for done in range(1, 4):
            beside.report("beside", done, 3)
        return "fitted"

    with beside.run(fit) as result:
        beside.tell("main", 1, 1)
        assert result() == "fitted"
    main = threading.current_thread().name
    assert [entry for entry in told if entry[0] == "beside"] == [("beside", done, main) for done in (1, 2, 3)]
    assert ("main", 1, main) in told and len(told) == 4


def test_both_run_at_the_same_time() -> None:
    here, there = threading.Event(), threading.Event()
    beside = Beside(lambda *_: None)

    def fit() -> bool:
        there.set()
        return here.wait(WAIT)

    with beside.run(fit) as result:
        assert there.wait(WAIT)
        here.set()
        assert result()


def test_an_error_is_raised_where_the_result_is_waited_for() -> None:
    def fit() -> None:
        raise ValueError("no solution")

    with Beside(lambda *_: None).run(fit) as result, pytest.raises(ValueError, match="no solution"):
        result()


def test_an_error_does_not_wait_for_the_main_thread_to_finish() -> None:
    def fit() -> None:
        raise ValueError("no solution")

    beside = Beside(lambda *_: None)
    with pytest.raises(ValueError, match="no solution"), beside.run(fit):
        for done in range(10_000):
            time.sleep(0.001)
            beside.tell("main", done, 10_000)
        pytest.fail("nobody was told")


def test_what_ends_the_main_thread_ends_the_other() -> None:
    beside, ended = Beside(lambda *_: None), threading.Event()

    def fit() -> None:
        try:
            for done in range(10_000):
                beside.report("beside", done, 10_000)
                time.sleep(0.001)
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt), beside.run(fit):
        raise KeyboardInterrupt
    assert ended.wait(WAIT / 2), "at its next report"


TEXTS, CLASSES = 20_000, 4


def fit_factors(parts: Sequence[Floats], truth: Ints, texts: int | None = None) -> tuple[float, ...]:
    found = fit_mix(dict(zip((LINEAR, NETWORK), parts, strict=False)), truth, ONE_LABEL, texts or len(truth))
    assert found.shift == 0.0
    return tuple(found.factors.values())


def logits(seed: int) -> Floats:
    found: Floats = np.random.default_rng(seed).normal(0.0, 1.0, (TEXTS, CLASSES)).astype(np.float32)
    return found


def drawn(scores: Floats) -> Ints:
    """Labels drawn with the probabilities that the logits say."""
    limits = softmax(scores.astype(np.float64), axis=1).cumsum(axis=1)
    found: Ints = (np.random.default_rng(9).random((TEXTS, 1)) > limits).sum(axis=1).astype(np.int32)
    return found


@pytest.mark.parametrize("known", [(0.5, 2.0), (3.0, 0.25), (1.0, 1.0)])
def test_known_factors_are_found_again(known: tuple[float, float]) -> None:
    one, other = logits(0), logits(1)
    truth = drawn(known[0] * one + known[1] * other)
    assert fit_factors([one, other], truth) == pytest.approx(known, abs=0.08)


def test_one_part_alone_is_calibrated() -> None:
    one = logits(0)
    assert fit_factors([one * 10], drawn(one)) == pytest.approx([0.1], abs=0.005)


def test_a_useless_part_counts_nothing() -> None:
    one, noise = logits(0), logits(1)
    factors = fit_factors([one, noise], drawn(one))
    assert factors[0] == pytest.approx(1.0, abs=0.08) and 0.0 <= factors[1] < 0.08
    against = fit_factors([one, one * 0.5 - noise], drawn(noise))
    assert against[1] == pytest.approx(0.01), "a part that is worse than chance is not turned round"


def test_few_texts_leave_the_factors_near_the_usual_ones() -> None:
    """What ten texts say by chance counts less than what as many rows of different texts say."""
    usual, parts = np.log([6.0, 0.5]), [logits(0)[:30], logits(1)[:30]]
    truth = parts[1].argmax(axis=1).astype(np.int32)
    ten, many = (np.abs(np.log(fit_factors(parts, truth, texts)) - usual) for texts in (10, 10_000))
    assert (ten < 0.7 * many).all()
    assert fit_factors(parts, truth, texts=1) == pytest.approx((6.0, 0.5), rel=0.5)


def test_what_is_always_right_gets_finite_factors() -> None:
    truth = np.arange(60, dtype=np.int32) % CLASSES
    right = np.eye(CLASSES, dtype=np.float32)[truth]
    factors = fit_factors([right, right * 0.1], truth)
    assert np.isfinite(factors).all() and 1.0 < factors[0] < 1e3


def test_the_gradient_is_that_of_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = logits(0)[:200], logits(1)[:200]
    seen = []

    def checked(loss: Any, start: Any, **options: Any) -> Any:
        for point in ([1.0, 1.0], [0.0, 2.5], [3.0, 0.1]):
            numeric = approx_fprime(np.array(point), lambda factors: loss(factors)[0], 1e-6)
            np.testing.assert_allclose(loss(np.array(point))[1], numeric, atol=1e-5)
            seen.append(point)
        return plain(loss, start, **options)

    plain = stacking.minimize
    monkeypatch.setattr(stacking, "minimize", checked)
    fit_factors([one, other], drawn(logits(0))[:200])
    assert len(seen) == 3
