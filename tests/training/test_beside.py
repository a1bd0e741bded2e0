"""What runs beside the main thread: its result, its errors, its progress and its end."""

import os
import sys
import threading
import time

import pytest

from retvec_lite.training.beside import Beside

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


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a niceness of its own on Linux alone")
@pytest.mark.parametrize("gives_way", [True, False])
def test_work_that_gives_way_has_a_lower_priority_and_the_main_thread_keeps_its_own(gives_way: bool) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with Beside(lambda *_: None, gives_way).run(
        lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    ) as result:
        assert result() - before == (min(10, 19 - before) if gives_way else 0)
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before


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


def test_it_runs_again_with_a_result_of_its_own() -> None:
    beside = Beside(lambda *_: None)
    for expected in (1, 2):
        with beside.run(lambda: expected) as result:  # noqa: B023
            beside.tell("main", 1, 1)
            assert result() == expected
