"""Work on several items at a time keeps their order, and its errors."""

import os
import threading

import pytest

from retvec_lite.training.ahead import ahead


def test_results_come_in_order_and_few_are_begun_ahead() -> None:
    begun: list[int] = []
    gate = threading.Event()

    def work(item: int) -> int:
        begun.append(item)
        if item == 0:
            # A later item is begun while this one is not over.
            assert (os.cpu_count() or 1) == 1 or gate.wait(30)
        gate.set()
        return item * item

    found = ahead(work, iter(range(100)))
    assert next(found) == (0, 0)
    assert len(begun) <= 2 * (os.cpu_count() or 1) + 1
    assert list(found) == [(item, item * item) for item in range(1, 100)]
    assert list(ahead(work, [])) == []


def test_an_error_is_raised_where_its_result_would_be() -> None:
    found = ahead(lambda item: 6 // item, [3, 2, 0, 1])
    assert [next(found), next(found)] == [(3, 2), (2, 3)]
    with pytest.raises(ZeroDivisionError):
        next(found)
