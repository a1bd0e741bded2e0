"""Work on several items at a time: TensorFlow leaves the interpreter to other threads, and one small graph does not fill the cores."""

import collections
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")


def ahead(function: Callable[[Item], Found], items: Iterable[Item]) -> Iterator[tuple[Item, Found]]:
    """Yield each item with what a function makes of it, in order; a thread for each core works on the next ones meanwhile."""
    threads = os.cpu_count() or 1
    left = iter(items)
    with ThreadPoolExecutor(threads) as pool:

        def begun(count: int) -> Iterator[tuple[Item, "Future[Found]"]]:
            return ((item, pool.submit(function, item)) for item in itertools.islice(left, count))

        waiting = collections.deque(begun(2 * threads))
        while waiting:
            item, future = waiting.popleft()
            yield item, future.result()
            waiting.extend(begun(1))
