"""Use one classifier in many processes: `many_processes.py MODEL RUNTIME WAY`; prints how many of them answered rightly."""

import faulthandler
import functools
import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import retvec_lite as rl

TEXTS = ["12 A", "AB", "x"] * 60
"""More than one chunk: they are answered in threads."""


def labels(classifier: rl.Classifier, texts: list[str]) -> list[str]:
    return [found[0].label for found in classifier.predict(texts, top=1)]


def without_its_file(path: str, classifier: rl.Classifier) -> list[list[str]]:
    Path(path).unlink()
    again = pickle.loads(pickle.dumps(classifier))
    assert again.metadata == classifier.metadata and again.runtime == classifier.runtime
    return [labels(again, TEXTS)]


def concurrent_futures(path: str, classifier: rl.Classifier) -> list[list[str]]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context) as processes:
        return list(processes.map(functools.partial(labels, classifier), [TEXTS] * 4))


def forked_pool(path: str, classifier: rl.Classifier) -> list[list[str]]:
    with multiprocessing.get_context("fork").Pool(2) as processes:
        return processes.map(functools.partial(labels, classifier), [TEXTS] * 4)


def fork_while_threads_predict(path: str, classifier: rl.Classifier) -> list[list[str]]:
    """Fork at any moment of four threads: two predict, one with two threads in the runtime, and one loads."""
    done = threading.Event()
    wide = rl.load(path, num_threads=2, runtime=classifier.runtime, workers=2)

    def repeat(work: Callable[[], object]) -> None:
        while not done.is_set():
            work()

    works = [functools.partial(labels, each, TEXTS) for each in (classifier, classifier, wide)]
    works.append(functools.partial(rl.load, path, runtime=classifier.runtime))
    threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    found = []
    for number in range(12):
        child = os.fork()
        if child == 0:
            # A child that hangs says where.
            faulthandler.dump_traceback_later(100, exit=True)
            same = labels(classifier, TEXTS) == labels(wide, TEXTS)
            code = 0 if same and labels(classifier, ["AB"]) == ["CAPITALS"] else 3
            if number % 2:
                os._exit(code)
            sys.exit(code)
        _, status = os.waitpid(child, 0)
        found.append(labels(classifier, TEXTS) if status == 0 else [f"a child ended with status {status}"])
    done.set()
    for thread in threads:
        thread.join()
    return found


WAYS = (without_its_file, concurrent_futures, forked_pool, fork_while_threads_predict)


def main() -> None:
    path, runtime, way = sys.argv[1:]
    classifier = rl.load(path, runtime=runtime, workers=2)
    expected = labels(classifier, TEXTS)
    assert expected[:3] == ["digits", "CAPITALS", 'other, 🙂 "quoted"']
    answers = next(each for each in WAYS if each.__name__ == way)(path, classifier)
    assert all(answer == expected for answer in answers), answers
    print(len(answers))


if __name__ == "__main__":
    main()
