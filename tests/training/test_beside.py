"""Work beside the main thread: its result, its error and its progress arrive there, and it ends with what it runs beside."""

import threading

import pytest

from retvec_lite.training.beside import Beside


def test_progress_is_told_in_the_main_thread() -> None:
    told: list[tuple[str, int, int, bool]] = []
    beside = Beside(lambda *what: told.append((*what, threading.current_thread() is threading.main_thread())))

    def work() -> int:
        beside.report("fitting", 1, 2)
        beside.report("fitting", 2, 2)
        return 7

    for _ in range(2):
        with beside.run(work) as found:
            beside.tell("training", 1, 1)
            assert found() == 7
    assert sorted(told) == 2 * [("fitting", 1, 2, True)] + 2 * [("fitting", 2, 2, True)] + 2 * [
        ("training", 1, 1, True)
    ]


def test_an_error_is_raised_where_the_result_is_waited_for() -> None:
    beside = Beside(lambda *what: None)
    with pytest.raises(ZeroDivisionError), beside.run(lambda: 1 // 0) as found:
        found()


def test_work_ends_once_nobody_waits() -> None:
    beside = Beside(lambda *what: None)
    go, went_on, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        try:
            beside.report("fitting", 1, 2)
            went_on.set()
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt), beside.run(work):
        raise KeyboardInterrupt
    go.set()
    assert ended.wait(10) and not went_on.is_set()
