"""Where training and pre-training spend their time, and how much of it is arithmetic.

    python benchmarks/training_profile.py train [--epochs N]      `retvec-lite train starter --head pool`, phase by phase
    python benchmarks/training_profile.py step [--steps N]        a step of `pool` and `cnn`, 64 short texts, 77 labels
    python benchmarks/training_profile.py pretrain [--steps N]    a step of `retvec-lite pretrain`: batches, Muon, the rest

The floor is the number of multiply-accumulates in the matrix products, divided by this machine's best rate, measured with
a product of 512 x 512 x 512 on all threads. `step` also counts processor seconds, which other work on the machine does not
stretch as it does the time on the clock.
"""

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import numpy as np
from common import command_parser, markdown_table, result_path, write_results

from retvec_lite.runtime.interpreters import silent_standard_error

if TYPE_CHECKING:
    from retvec_lite.model.heads import HeadSpec
    from retvec_lite.training.network import TrainableNetwork

Row = dict[str, Any]
_FIRST_STEP: Final = "first step (builds the graph)"
_STEPS: Final = "steps"
_PRODUCT: Final = 512
_DIMENSION: Final = 256
_CLASSES: Final = 77
_DISTINCT: Final = 2000
_TEXT_WORDS: Final = (12, 24)
"""Banking77 with the default embedding: half of its batches need at most 12 words, nine tenths at most 24."""
_NEWTON_SCHULZ: Final = 5
"""Iterations of Muon's orthogonalization for each matrix and step (Keras's default)."""


class Phases:
    """Seconds and calls by phase. Time in a nested phase counts for the nested phase only."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._inner = [0.0]

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time until the context ends."""
        self._inner.append(0.0)
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[name] += spent - self._inner.pop()
            self.calls[name] += 1
            self._inner[-1] += spent

    @contextlib.contextmanager
    def watch(self, owner: Any, attribute: str, name: str) -> Iterator[None]:
        """Count every call of `owner.attribute` until the context ends."""
        original = getattr(owner, attribute)

        def watched(*arguments: Any, **options: Any) -> Any:
            with self.phase(name):
                return original(*arguments, **options)

        with patch.object(owner, attribute, watched):
            yield


def _step_network(head: "HeadSpec", rng: np.random.Generator) -> "TrainableNetwork":
    """Return a network of random weights and word vectors, with the settings of `retvec-lite train`."""
    from retvec_lite.model.grid import FOUR_BITS
    from retvec_lite.training.fitting import schedule_for
    from retvec_lite.training.network import TrainableNetwork
    from retvec_lite.training.settings import FitSettings

    settings = FitSettings()
    return TrainableNetwork(
        head,
        head.initial_weights(rng, _DIMENSION, _CLASSES, max(_TEXT_WORDS)),
        rng.normal(size=(_DISTINCT, _DIMENSION)).astype(np.float16),
        np.zeros((_DISTINCT, 16), np.int32),
        np.ones(_CLASSES, np.float32),
        schedule_for(10 * _CLASSES, settings),
        label_smoothing=settings.label_smoothing,
        dropout=settings.dropout,
        embedding_rate=settings.embedding_rate,
        weight_decay=settings.weight_decay,
        seed=0,
        levels=FOUR_BITS,
    )


def step_products(head: "HeadSpec", texts: int, words: int) -> int:
    """Return the multiply-accumulates in the matrix products of a step of `pool` or `cnn` on a frozen embedding.

    Each product is there for the output and for the gradients of kernel and input, but nothing goes back into the word
    vectors. `cnn` halves the words after every block but the last.
    """
    found = 0
    for name, shape in head.shapes(_DIMENSION, _CLASSES, words).items():
        if not name.endswith("/kernel"):
            continue
        rows = 1 if name == "head/logits/kernel" else words
        if "/block_" in name:
            rows = -(-words // 2 ** int(name.split("_")[1].split("/")[0]))
        found += texts * rows * int(np.prod(shape)) * (2 if name == "head/word/kernel" else 3)
    return found


def profile_step(steps: int) -> list[Row]:
    """Time steps of short and of long texts: the first one, and the best of the others, against their floor."""
    from retvec_lite.model.heads import HEADS
    from retvec_lite.training.network import TextBatch
    from retvec_lite.training.settings import FitSettings

    texts, rows = FitSettings.batch_size, []
    for name in ("pool", "cnn"):
        head, rng = HEADS[name](), np.random.default_rng(0)
        network = _step_network(head, rng)
        count = 0
        for words in _TEXT_WORDS:
            batch = TextBatch(np.arange(texts), rng.integers(1, _DISTINCT, (texts, words)).astype(np.int32))
            labels = rng.integers(0, _CLASSES, texts).astype(np.int32)
            clock, processor = [], []
            for _ in range(steps + 1):
                began, began_processor = time.perf_counter(), time.process_time()
                network.train(batch, labels, count)
                clock.append(time.perf_counter() - began)
                processor.append(time.process_time() - began_processor)
                count += 1
            rate, rate_processor = best_rate(), best_rate(clock=time.process_time)
            products = step_products(head, texts, words)
            rows.append(
                {
                    "head": name,
                    "words": words,
                    "first_seconds": clock[0],
                    "ms": min(clock[1:]) * 1e3,
                    "median_ms": float(np.median(clock[1:])) * 1e3,
                    "floor_ms": products / rate * 1e3,
                    "processor_ms": min(processor[1:]) * 1e3,
                    "processor_floor_ms": products / rate_processor * 1e3,
                }
            )
    return rows


def best_rate(seconds: float = 3.0, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the best rate of NumPy's float32 matrix product, all threads: multiply-accumulates a second of `clock`."""
    values = np.random.default_rng(0).normal(size=(_PRODUCT, _PRODUCT)).astype(np.float32)
    end = time.perf_counter() + seconds
    best = _seconds(lambda: values @ values, clock)
    while time.perf_counter() < end:
        best = min(best, _seconds(lambda: values @ values, clock))
    return _PRODUCT**3 / best


def _seconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start


def timed_network(phases: Phases) -> "type[TrainableNetwork]":
    """Return a `TrainableNetwork` class whose steps, validation and batch rows are phases."""
    from retvec_lite.training.network import TrainableNetwork

    class TimedNetwork(TrainableNetwork):
        def train(self, *arguments: Any) -> float:
            with phases.phase(_STEPS if phases.calls[_FIRST_STEP] else _FIRST_STEP):
                return super().train(*arguments)

        def logits(self, *arguments: Any) -> Any:
            with phases.phase("validation"):
                return super().logits(*arguments)

        def _local(self, *arguments: Any) -> Any:
            with phases.phase("rows of each batch"):
                return super()._local(*arguments)

    return TimedNetwork


@contextlib.contextmanager
def watched_training(phases: Phases) -> Iterator[None]:
    """Count the parts of a training until the context ends."""
    from retvec_lite.training import examples, fitting, linear, linear_fitting, parts

    watched = (
        (examples, "augmented_copies", "typos"),
        (examples, "mistype_many", "typos"),
        (examples.TextEncoder, "count_words", "texts through the encoder"),
        (examples.TextEncoder, "encode", "texts through the encoder"),
        (fitting, "embed_words", "distinct words through the embedding"),
        (parts, "embed_words", "distinct words through the embedding"),
        (linear, "count_ngrams", "n-grams of texts"),
        (linear_fitting, "fit_linear", "fitting n-grams"),
    )
    with contextlib.ExitStack() as watching:
        for owner, attribute, name in watched:
            watching.enter_context(phases.watch(owner, attribute, name))
        watching.enter_context(patch.object(fitting, "TrainableNetwork", timed_network(phases)))
        yield


def profile_train(epochs: int) -> list[Row]:
    """Profile a training on the starter data with the default embedding. The first step builds the graph."""
    from retvec_lite.data.dataset import load_starter
    from retvec_lite.model.weight_files import load_default_embedding
    from retvec_lite.training.settings import FitSettings
    from retvec_lite.training.trainer import train

    phases = Phases()
    data = load_starter("train")
    with watched_training(phases), phases.phase("the rest"):
        classifier = train(data, 0.1, head="pool", embedding=load_default_embedding(), epochs=epochs).model
    words, width = classifier.encoder.max_words, classifier.weights["head/word/kernel"].shape
    # Forward, and the gradient of the kernel. The embedding is frozen: no gradient goes further back.
    products = (
        2 * FitSettings.batch_size * (words * width[0] * width[1] + classifier.weights["head/logits/kernel"].size)
    )
    floor = products / best_rate()
    total = sum(phases.seconds.values())
    rows = [{"phase": name, "seconds": spent, "share": spent / total} for name, spent in phases.seconds.most_common()]
    steps = phases.calls[_STEPS]
    per_step = phases.seconds[_STEPS] / max(steps, 1)
    return [
        *rows,
        {
            "steps": steps + phases.calls[_FIRST_STEP],
            "ms_per_step": per_step * 1e3,
            "floor_ms": floor * 1e3,
            "total": total,
        },
    ]


def profile_pretrain(steps: int) -> list[Row]:
    """Profile a step: making its batch (in another thread), the step with Muon and with Adam, and their floors."""
    from retvec_lite.data.dataset import load_starter
    from retvec_lite.pretraining import words as lists
    from retvec_lite.pretraining.batches import CHUNK, make_chunk
    from retvec_lite.pretraining.model import Schedule, build_model
    from retvec_lite.pretraining.settings import PretrainSettings

    # Any list of words will do: the cost of a step does not depend on it.
    words = sorted({word for text in load_starter("train").texts for word in text.split()})
    rows = lists.word_rows(words)
    word_list = lists.build_word_list([("starter", rows, np.ones(len(rows)), 1.0)], "starter")
    settings = PretrainSettings()
    common = {"seed": 0, "batch_size": settings.batch_size, "random_share": settings.random_share}
    common |= {"decomposed_share": settings.decomposed_share}
    chunks = []
    batch_ms = []
    for number in range(2):
        began = time.perf_counter()
        chunks += make_chunk(word_list, number, dropout=settings.dropout, sampling=settings.sampling, **common)
        batch_ms.append((time.perf_counter() - began) / CHUNK * 1e3)
    found: list[Row] = [{"part": "making a batch (one thread)", "ms": min(batch_ms)}]
    rate = best_rate()
    size, width, bits = settings.batch_size, settings.network.embedding_dim, settings.network.word_length * 21
    kernels = [(bits, width), (width, width), (width, width)]
    layers = sum(size * rows_in * columns for rows_in, columns in kernels)
    # Gradients of every kernel, and of every input except the bits.
    network = 2 * layers + (layers - size * bits * width)
    loss = 3 * (size // 2) ** 2 * width
    # Muon: X X', its square and its product with X, for the shorter side of each matrix.
    muon = _NEWTON_SCHULZ * sum(2 * min(a, b) ** 2 * max(a, b) + min(a, b) ** 3 for a, b in kernels)
    for name, with_muon in (("step with Muon", True), ("step with Adam", False)):
        schedule = Schedule(settings.steps, settings.warmup, settings.peak_rate, settings.final_rate, with_muon)
        model = build_model(schedule, 0, settings.network)
        times = []
        for number in range(steps + 3):
            batch = chunks[number % len(chunks)]
            began = time.perf_counter()
            inputs = {"codepoints": batch.codepoints, "keep": batch.keep}
            float(np.asarray(model.train_on_batch(inputs, batch.classes)).ravel()[0])
            times.append((time.perf_counter() - began) * 1e3)
        products = network + loss + (muon if with_muon else 0)
        found.append(
            {
                "part": name,
                "ms": float(np.median(times[3:])),
                "best_ms": min(times[3:]),
                "floor_ms": products / rate * 1e3,
            }
        )
    parts = (("network, forward and backward", network), ("similarities", loss), ("Muon", muon))
    return [*found, *({"part": name, "multiply_accumulates": count} for name, count in parts), {"rate": rate}]


def _train_table(rows: list[Row]) -> str:
    *phases, last = rows
    table = markdown_table(
        ["phase", "seconds", "share"],
        [[row["phase"], f"{row['seconds']:.1f}", f"{row['share']:.0%}"] for row in phases],
    )
    return table + (
        f"\n{last['steps']} steps, {last['ms_per_step']:.2f} ms each; the floor of their matrix products is "
        f"{last['floor_ms']:.2f} ms ({last['floor_ms'] / last['ms_per_step']:.0%}).\n"
    )


def _step_table(rows: list[Row]) -> str:
    return markdown_table(
        ["head", "words", "first step", "step", "floor", "multiple", "in processor time"],
        [
            [
                row["head"],
                str(row["words"]),
                f"{row['first_seconds']:.1f} s",
                f"{row['ms']:.1f} ms",
                f"{row['floor_ms']:.1f} ms",
                f"{row['ms'] / row['floor_ms']:.1f}",
                f"{row['processor_ms'] / row['processor_floor_ms']:.1f}",
            ]
            for row in rows
        ],
    )


def _pretrain_table(rows: list[Row]) -> str:
    timed = [row for row in rows if "ms" in row]
    counted = [row for row in rows if "multiply_accumulates" in row]
    total = sum(row["multiply_accumulates"] for row in counted)
    return (
        markdown_table(
            ["part of a step", "median", "best", "floor"],
            [
                [
                    row["part"],
                    *(f"{row[name]:.1f} ms" if name in row else "-" for name in ("ms", "best_ms", "floor_ms")),
                ]
                for row in timed
            ],
        )
        + "\n"
        + markdown_table(
            ["multiply-accumulates", "millions", "share"],
            [
                [row["part"], f"{row['multiply_accumulates'] / 1e6:,.0f}", f"{row['multiply_accumulates'] / total:.0%}"]
                for row in counted
            ],
        )
    )


def main() -> None:
    """Profile one of them and write its table."""
    parser = command_parser(__doc__)
    parser.add_argument("what", choices=("train", "step", "pretrain"))
    parser.add_argument("--epochs", type=int, default=8, help="epochs of `train` (default: 8)")
    parser.add_argument("--steps", type=int, default=40, help="steps of `step` and `pretrain` (default: 40)")
    args = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with silent_standard_error():
        if args.what == "train":
            rows = profile_train(args.epochs)
        else:
            rows = profile_step(args.steps) if args.what == "step" else profile_pretrain(args.steps)
    table = {"train": _train_table, "step": _step_table, "pretrain": _pretrain_table}[args.what](rows)
    write_results(result_path(f"latency-{args.what}", quick=False), rows, table)


if __name__ == "__main__":
    main()
