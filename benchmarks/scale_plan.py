"""What more cores and more machines bring: `python benchmarks/scale_plan.py FILE.tflite [--quick]`.

Measured here: texts a second of 1, 2 and 4 processes, each with the same texts; rows a second of what one process must do alone,
reading and writing the files; and the parts of a pre-training step on one core: the best of some rounds. Computed from these: how many cores one reader can
feed; and for a pre-training step on several machines what it sends, what that costs at 1, 10 and 100 Gbit/s, and from how many
machines on one more makes it slower. Other work on the machine stretches seconds on the clock, hence processor seconds beside them.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from common import ROOT, Row, command_parser, markdown_table, picture_path, result_path, write_results
from plots import draw_lines
from throughput import sample_texts

BATCH: Final = 2048
DIMENSION: Final = 256
PARAMETERS: Final = 217_856 + 3 * 256
"""Trained numbers of the word model: kernels, biases, and the clipping of each output."""
GIGABITS: Final = (1, 10, 100)
LATENCY: Final = 100e-6
"""Seconds until a message arrives in a data center; a collective operation of n machines takes n - 1 such steps."""
MOST: Final = 64
WORDS: Final = 88_800_000
"""Words of 157 languages."""
_ROUNDS: Final = 5
MACHINES: Final = (2, 4, 8, 16)


def gathered_bytes(machines: int, batch: int = BATCH) -> int:
    """Return what a machine sends in a step to gather all vectors (float32) and word hashes (8 bytes)."""
    return (machines - 1) * (batch // machines) * (4 * DIMENSION + 8)


def gradient_bytes(machines: int, parameters: int = PARAMETERS) -> int:
    """Return what a machine sends in a step to add up the gradients in a ring: all of them twice, but for its own part."""
    return 2 * (machines - 1) * 4 * parameters // machines


def step_seconds(machines: int, gigabits: float, parts: dict[str, float], batch: int = BATCH) -> float:
    """Return the seconds of a step: the network is shared out, the loss of the whole batch and the optimizer are not.

    Args:
        machines: each with an equal share of the rows.
        gigabits: a second, that a machine can send.
        parts: seconds on one machine of "network", "loss" and "optimizer".
        batch: rows in all.
    """
    computed = parts["network"] / machines + parts["loss"] + parts["optimizer"]
    if machines == 1:
        return computed
    sent = gathered_bytes(machines, batch) + gradient_bytes(machines)
    # Gathering the hashes, gathering the vectors, and two rounds of the ring for the gradients.
    return computed + 8 * sent / (gigabits * 1e9) + 4 * (machines - 1) * LATENCY


def best_machines(gigabits: float, parts: dict[str, float], batch: int = BATCH) -> int:
    """Return the number of machines with the shortest step: more do not pay."""
    return min(range(1, MOST + 1), key=lambda machines: step_seconds(machines, gigabits, parts, batch))


def rows_per_second(cores: int, core: float, read: float, written: float) -> float:
    """Return the rows a second of a run: workers beside one process that reads, which then writes."""
    return 1 / (1 / min(cores * core, read) + 1 / written)


def classify_all(file: str, texts: list[str], ready: Any, start: Any, answers: Any) -> None:
    """Classify texts in this process once all are ready; put (seconds on the clock, processor seconds)."""
    from retvec_lite import BatchClassifier

    classify = BatchClassifier(file)
    classify(texts[:200])
    ready.release()
    start.wait()
    began, spent = time.perf_counter(), time.process_time()
    for place in range(0, len(texts), 2000):
        classify(texts[place : place + 2000])
    answers.put((time.perf_counter() - began, time.process_time() - spent))


def measure_processes(file: str, count: int, processes: int) -> Row:
    """Let some processes classify as many texts each."""
    context = multiprocessing.get_context("spawn")
    ready, start, answers = context.Semaphore(0), context.Event(), context.Queue()
    texts = sample_texts(count)
    workers = [
        context.Process(target=classify_all, args=(file, texts, ready, start, answers)) for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.acquire()
    start.set()
    found = [answers.get() for _ in workers]
    for worker in workers:
        worker.join()
    clock, spent = max(one for one, _ in found), sum(one for _, one in found)
    return {
        "part": "classify",
        "processes": processes,
        "texts_per_second": round(processes * count / clock),
        "processor_microseconds": round(1e6 * spent / (processes * count), 1),
        "load": round(os.getloadavg()[0], 1),
    }


def measure_alone(count: int) -> Row:
    """Measure what the one process of `classify_files` does for each row: reading it, and writing it in the end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from retvec_lite.scale.output import write_output
    from retvec_lite.scale.sources import find_sources, read_pieces

    with tempfile.TemporaryDirectory() as folder:
        given, output = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
        texts = sample_texts(count)
        pq.write_table(pa.table({"id": range(count), "text": texts}), given)
        began = time.process_time()
        (source,) = find_sources([given], output)
        tables = [piece.content for piece in read_pieces(source, False)]
        read = time.process_time() - began
        parts = []
        for number, table in enumerate(tables):
            table = table.append_column("label", pa.array(["alarm"] * len(table)))
            table = table.append_column("probability", pa.array([0.5] * len(table), pa.float32()))
            parts.append(Path(folder) / f"{number}.part")
            pq.write_table(table, parts[-1])
        began = time.process_time()
        write_output(output, parts, tables[0].schema, Path(folder), lambda *_: None)
        written = time.process_time() - began
    return {"part": "alone", "read_rows": round(count / read), "written_rows": round(count / written)}


def measure_step(rounds: int) -> Row:
    """Measure the parts of a pre-training step in processor seconds, the best of some rounds."""
    for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        os.environ[name] = "1"
    from retvec_lite.model import load_tensorflow

    load_tensorflow()
    import numpy as np
    import tensorflow as tf

    from retvec_lite.pretraining.model import NetworkSettings, Schedule, build_model, multi_similarity_loss

    model = build_model(Schedule(1000, 10, 1e-3, 2e-5, True, 0.0), 0, NetworkSettings())
    rng = np.random.default_rng(0)
    codepoints = tf.constant(rng.integers(97, 123, (BATCH, 16)).astype(np.int32))
    keep = tf.ones((BATCH, 16))
    classes = tf.constant(np.tile(np.arange(BATCH // 2, dtype=np.int32), 2))
    variables = model.trainable_variables

    @tf.function(jit_compile=True, autograph=False)
    def network() -> Any:
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(model({"codepoints": codepoints, "keep": keep}, training=True))
        return tape.gradient(total, variables)

    vectors = model({"codepoints": codepoints, "keep": keep})

    @tf.function(jit_compile=True, autograph=False)
    def loss() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(vectors)
            found = multi_similarity_loss(classes, vectors)
        return tape.gradient(found, vectors)

    gradients = network()

    @tf.function(jit_compile=True, autograph=False)
    def optimizer() -> None:
        model.optimizer.apply(gradients, variables)

    row: Row = {"part": "step"}
    for name, function in (("network", network), ("loss", loss), ("optimizer", optimizer)):
        function()
        times = []
        for _ in range(rounds):
            began = time.process_time()
            function()
            times.append(time.process_time() - began)
        row[name] = round(min(times), 5)
    return row


def measure_words(count: int) -> tuple[int, int]:
    """Return the bytes that a word list of so many words keeps, and how much more than before loading this process ever held."""
    from retvec_lite.pretraining.words import load_words

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "words.txt"
        with file.open("w") as out:
            out.writelines(f"{number:x}word{number % 97}\n" for number in range(count))
        before = _own_memory("VmRSS")
        words = load_words([file])
    return words.rows.nbytes + words.cumulative.nbytes, _own_memory("VmHWM") - before


def _own_memory(name: str) -> int:
    """Return bytes that this process holds (`VmRSS`) or held at most (`VmHWM`), of one file, so that they can be compared."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) << 10


def words_memory(count: int) -> Row:
    """Measure bytes a word, kept and at most, in a process of its own."""
    code = f"import scale_plan; print(*scale_plan.measure_words({count}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True
    )
    kept, most = (int(number) / count for number in done.stdout.split())
    return {"part": "words", "bytes_kept": round(kept, 1), "bytes_at_most": round(most, 1)}


def tables(rows: Sequence[Row]) -> str:
    """Return the measurements and what follows from them as Markdown."""
    classify = [row for row in rows if row["part"] == "classify"]
    first = classify[0]["texts_per_second"]
    cost = classify[0]["processor_microseconds"]
    measured = [
        [
            str(row["processes"]),
            f"{row['texts_per_second']:,}",
            f"{row['texts_per_second'] / first:.2f}",
            f"{row['processor_microseconds']:.0f}",
            f"{row['processes'] * cost / row['processor_microseconds']:.2f}",
            f"{row['load']:.1f}",
        ]
        for row in classify
    ]
    (alone,) = (row for row in rows if row["part"] == "alone")
    core = 1e6 / classify[0]["processor_microseconds"]
    (parts,) = (row for row in rows if row["part"] == "step")
    (words,) = (row for row in rows if row["part"] == "words")
    one = step_seconds(1, 1, parts)
    sent = [
        [
            str(machines),
            f"{(gathered_bytes(machines) + gradient_bytes(machines)) / 1e6:.2f} MB",
            *(f"{one / step_seconds(machines, speed, parts):.2f}" for speed in GIGABITS),
        ]
        for machines in MACHINES
    ]
    best = [str(best_machines(speed, parts)) for speed in GIGABITS]
    memory = [[str(machines), f"{WORDS * words['bytes_kept'] / machines / 1e9:.1f} GB"] for machines in (1, *MACHINES)]
    speeds = [f"speed at {speed} Gbit/s" for speed in GIGABITS]
    return "\n".join(
        (
            markdown_table(
                ["processes", "texts/s", "times one", "processor µs a text", "times one by that", "load before"],
                measured,
            ),
            f"One process reads {alone['read_rows']:,} and writes {alone['written_rows']:,} rows a second. Reading keeps "
            f"{alone['read_rows'] / core:,.0f} cores busy; from {alone['written_rows'] / core:,.0f} on, writing takes as long as all "
            "before it.\n",
            markdown_table(["machines", "sent by each in a step", *speeds], [*sent, ["most that pay", "", *best]]),
            f"A step of {BATCH:,} rows takes one core {1000 * one:.0f} ms: network {1000 * parts['network']:.0f}, "
            f"loss {1000 * parts['loss']:.0f}, optimizer {1000 * parts['optimizer']:.0f}.\n",
            markdown_table(["machines", f"memory of each for {WORDS / 1e6:.1f} million words"], memory),
            f"While it reads its files, a worker holds up to {WORDS * words['bytes_at_most'] / 1e9:.0f} GB.\n",
        )
    )


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw rows a second over cores, and the speed of a pre-training step over machines."""
    (alone,) = (row for row in rows if row["part"] == "alone")
    (parts,) = (row for row in rows if row["part"] == "step")
    core = 1e6 / next(row["processor_microseconds"] for row in rows if row["part"] == "classify")
    alone_rates = alone["read_rows"], alone["written_rows"]
    cores = [2**power for power in range(11)]
    measured = [(row["processes"], row["texts_per_second"]) for row in rows if row["part"] == "classify"]
    machines = list(range(1, MOST + 1))
    one = step_seconds(1, 1, parts)
    draw_lines(
        {
            "classify_files": (
                "cores",
                "rows a second",
                {
                    "one run (computed)": [(number, rows_per_second(number, core, *alone_rates)) for number in cores],
                    "an engine, many readers (computed)": [(number, number * core) for number in cores],
                    "measured here": measured,
                },
            ),
            f"a step of pretrain, {BATCH:,} rows": (
                "machines",
                "times as fast as one",
                {
                    f"{speed} Gbit/s": [(number, one / step_seconds(number, speed, parts)) for number in machines]
                    for speed in GIGABITS
                },
            ),
        },
        path,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, compute, and write tables and plot."""
    parser = command_parser(__doc__, quick="a tenth of the texts")
    parser.add_argument("file", help="an exported .tflite")
    args = parser.parse_args(arguments)
    count = 2_000 if args.quick else 10_000
    rounds = [[measure_processes(args.file, count, processes) for processes in (1, 2, 4)] for _ in range(_ROUNDS)]
    # What else the machine does only adds to the time: the best round is the least disturbed one.
    rows = [min(same, key=lambda row: row["processor_microseconds"]) for same in zip(*rounds, strict=True)]
    rows.append(measure_alone(50 * count))
    rows.append(words_memory(50 * count))
    rows.append(measure_step(3 if args.quick else 15))
    write_results(result_path("scale_plan", quick=args.quick), rows, tables(rows))
    draw(rows, picture_path("scale-plan", quick=args.quick))


if __name__ == "__main__":
    main()
