"""The parts of a classifier, fitted side by side, and how much each counts, as held-out texts say: stacking.

Wolpert 1992, https://doi.org/10.1016/S0893-6080(05)80023-1. A second core fits n-grams while the first takes the network's steps.
"""

import contextlib
import functools
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from scipy.optimize import minimize

from retvec_lite.contract import Floats, Ints
from retvec_lite.model import load_tensorflow
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.label_scheme import LabelScheme
from retvec_lite.training.linear_features import mean_vectors
from retvec_lite.training.linear_part import LinearPart
from retvec_lite.training.plan import LINEAR, NETWORK, USUAL_FACTORS, HeldOutLogits, Part, Plan
from retvec_lite.training.sentences import SentenceReader, embed_words

Found = TypeVar("Found")

_OVER: Final = ("", 0, 0)
"""What is reported last, for whoever waits."""


class _StoppedError(Exception):
    """The main thread has ended its work, and nobody waits for the result."""


class Beside:
    """Runs a function in a thread of its own, and tells of its progress in the main thread: a callback need not be safe for threads.

    Compiled solvers and TensorFlow leave the interpreter to other threads. Unlike a process, a thread needs no guarded script and no
    copy of the texts.

    Args:
        progress: the user's callback.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._reports: queue.SimpleQueue[tuple[str, int, int]] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._outcome: Future[Any] = Future()

    def report(self, what: str, done: int, total: int) -> None:
        """Keep what the other thread's work reports, for the main thread to tell; end that work once nobody waits for it."""
        if self._stopped.is_set():
            raise _StoppedError
        self._reports.put((what, done, total))

    def tell(self, what: str, done: int, total: int) -> None:
        """Tell of the main thread's work, and of what was reported meanwhile; raise what the other thread raised."""
        while not self._reports.empty():
            self._next()
        if self._outcome.done() and (error := self._outcome.exception()):
            raise error
        self._progress(what, done, total)

    def _next(self) -> None:
        """Tell of the next report; wait for it if there is none."""
        if (report := self._reports.get()) != _OVER:
            self._progress(*report)

    @contextlib.contextmanager
    def run(self, function: Callable[[], Found]) -> Iterator[Callable[[], Found]]:
        """Run a function beside the block, and yield what waits for its result; what it raises is raised there, or by the next `tell`.

        What ends the block, such as Ctrl-C, ends the function at its next report.
        """
        self._outcome = outcome = Future[Found]()

        def work() -> None:
            try:
                outcome.set_result(function())
            except BaseException as error:  # noqa: BLE001 - raised again in the main thread
                outcome.set_exception(error)
            self._reports.put(_OVER)

        def result() -> Found:
            while not (outcome.done() and self._reports.empty()):
                self._next()
            return outcome.result()

        # A daemon: an interpreter that ends does not wait for a solver.
        threading.Thread(target=work, daemon=True).start()
        try:
            yield result
        finally:
            self._stopped.set()


_LEAST: Final = 0.01

_PRIOR: Final = 8.0
"""How many texts' likelihood a factor that is e times the usual one must be worth. With few texts, the factor of highest
likelihood is often far off; with thousands, the prior decides nothing."""


class Stack(NamedTuple):
    """The parts of a classifier, fitted and added up.

    Attributes:
        logits: of the held-out texts, each by parts that had not seen it, added up.
        weights: of the whole classifier by name, matrices on their grid; the last layer of each part is multiplied by its factor.
        linear: the linear part; None without one.
        background: logits of the texts of no label, by the whole classifier; None where there are no such texts.
        facts: what the report of the training says of the parts.
    """

    logits: HeldOutLogits
    weights: Mapping[str, Floats]
    linear: LinearPart | None
    background: Floats | None
    facts: Mapping[str, Any]


def fit_parts(plan: Plan, progress: Progress = silent) -> Stack:
    """Fit network and linear part as a plan says, decide by held-out texts how much each counts, and add them up."""
    data, parts, linear = plan.data, dict[str, Part](), None
    sentences = SentenceReader.of(plan.sentences, plan.head, data.words, data.clean_ids, progress)
    beside = Beside(progress)
    vectors: Callable[[Ints], Floats] | None = sentences.vectors if sentences else None
    if not plan.trains and not sentences:
        vectors = functools.partial(mean_vectors, vectors=embed_words(data.words, plan.embedding, progress))
    if plan.buckets:
        parts[LINEAR] = linear = LinearPart(plan, vectors, beside.report)

    # What each part says of texts that it has not seen; the linear part is then fitted to all texts.
    with beside.run(lambda: linear.fit_and_answer() if linear else {}) as fitted:
        if plan.trains:
            load_tensorflow(beside.tell)  # which takes seconds
            from retvec_lite.training import network_part

            parts = {NETWORK: network_part.NetworkPart(plan, beside.tell), **parts}
        logits = {name: part.fit_and_answer() for name, part in parts.items() if part is not linear}
        logits |= {LINEAR: fitted()} if linear else {}

    # How much each part counts.
    factors, shift = mix_held_out(logits, data.held_out.truth, data.scheme)
    together = {
        way: np.sum([factors[name] * found[way] for name, found in logits.items()], axis=0) + shift
        for way in data.held_out.ids
    }

    # One file: the last layers add up.
    weights = {**plan.embedding, **(sentences.weights if sentences else {})}
    facts: dict[str, Any] = {
        "learning_curve": [],
        "factors": {name: round(factor, 4) for name, factor in factors.items()},
        "epochs": 0,
        "best_epoch": 0,
        "meaning": {"used": plan.meaning is not None, **plan.meaning_facts},
        "sentences": sentences is not None,
    }
    for name, part in parts.items():
        weights |= part.exported(factors[name])
        facts |= part.facts
    shifted = "ngrams/bias" if linear else "head/logits/bias"
    weights[shifted] = weights[shifted] + np.float32(shift)
    background = np.sum([factors[name] * part.background() for name, part in parts.items()], axis=0) + shift
    return Stack(together, weights, linear, background if len(data.background) else None, facts)


class Mix(NamedTuple):
    """How the logits of the parts are added up.

    Attributes:
        factors: one for each part, by its name, 0.01 at least: a part that knows nothing of other texts still says which label comes first.
        shift: what is added to the logits of all labels; 0 where a text has one label, since a softmax does not see it.
    """

    factors: Mapping[str, float]
    shift: float = 0.0


def mix_held_out(
    parts: Mapping[str, HeldOutLogits],
    truth: Ints,
    scheme: LabelScheme,
) -> Mix:
    """Return `fit_mix` of logits of held-out texts, float32 `[texts, classes]` by part and way of writing; the usual one of none."""
    if not len(truth):
        return Mix({name: USUAL_FACTORS[name] for name in parts})
    together = {name: np.concatenate(list(logits.values())) for name, logits in parts.items()}
    ways = max(map(len, parts.values()))
    return fit_mix(together, np.concatenate([truth] * ways), scheme, len(truth))


def fit_mix(
    parts: Mapping[str, Floats],
    truth: Ints,
    scheme: LabelScheme,
    texts: int,
) -> Mix:
    """Return the sum of the parts' logits that gives the right labels the highest likelihood; with few texts, the factors stay near the usual ones.

    The logarithm of each factor has a normal distribution as its prior, of the strength `_PRIOR`. The factors also calibrate the probabilities, as
    temperature scaling does (Guo et al. 2017, https://arxiv.org/abs/1706.04599); with the shift, as Platt scaling does
    (Platt 1999).

    The logits, float32 `[rows, classes]` by the name of the part, are of texts that the parts were not trained on; there are so many
    different `texts`, and the other rows are mistyped variants of them.
    """
    stacked = np.stack(list(parts.values())).astype(np.float64)
    expected = np.log([USUAL_FACTORS[name] for name in parts])
    free = 1 if scheme.multi_label else 0

    def loss(values: Floats) -> tuple[float, Floats]:
        factors, shift = np.exp(values[: len(parts)]), values[len(parts) :].sum()
        value, slope = scheme.likelihood(np.tensordot(factors, stacked, axes=1) + shift, truth)
        away = values[: len(parts)] - expected
        slopes = [(slope * part).sum() for part in stacked] * factors + 2 * _PRIOR / texts * away
        return value + _PRIOR / texts * np.square(away).sum(), np.array([*slopes, *[slope.sum()] * free])

    start = np.array([*expected, *[0.0] * free])
    bounds = [(np.log(_LEAST), None)] * len(parts) + [(None, None)] * free
    solved = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    found, factors = solved.x, np.exp(solved.x[: len(parts)])
    return Mix(dict(zip(parts, factors.tolist(), strict=True)), float(found[len(parts) :].sum()))
