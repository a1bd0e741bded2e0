"""What vectorizing MASSIVE costs: seconds, core-seconds and memory, with preparation, each system in its own process.

    python -m benchmarks.speed.vectorizing [--v1 V1.safetensors] [--only SYSTEM] [--texts N] [--embedding FILE] [--quick]

Follows the RETVec paper's table of vectorizing speed (arXiv:2302.09207). Vocabularies are learned first and turn
texts into rows of a table. RETVec has nothing to learn: its preparation is loading, and it returns the words' vectors. The
texts are the training file of MASSIVE, spread evenly over its 52 locales.
"""

import argparse
import csv
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.common import Row, Rows, command_parser, require_data, result_path, run_module
from benchmarks.systems.names import BPE, NETWORK, PIECES, V1, VECTORS, WHITESPACE
from benchmarks.systems.networks import available
from benchmarks.systems.ours import RECIPE
from benchmarks.tables.cells import markdown_table

TENSORFLOW: Final = "our embedding, TensorFlow"
V1_TENSORFLOW: Final = f"{V1}, TensorFlow"
FILE: Final = f"{NETWORK}, int8 file with pool"
SYSTEMS: Final = (WHITESPACE, PIECES, BPE, VECTORS, V1_TENSORFLOW, TENSORFLOW, FILE)
SLOTS: Final = 32
CHARS: Final = 256
_CHUNK: Final = 1024

Vectorize = Callable[[Sequence[str]], Any]


def prepare(system: str, texts: Sequence[str], embedding: str, file: Path) -> Vectorize:
    """Do everything that comes before the first text: learn a vocabulary, or load."""
    if system == FILE:
        from retvec_lite import TextClassifier

        return TextClassifier.load(file).probabilities
    if system in (TENSORFLOW, V1_TENSORFLOW):
        return _tensorflow(embedding)
    from benchmarks.systems.vectorizers import FREE, VECTORIZERS, FastTextVectors, words_of

    if system == VECTORS:
        vectors = FastTextVectors.learn(texts, FREE, epochs=1)
        return lambda chunk: [np.stack([vectors.vector(word) for word in words_of(text)] or [0]) for text in chunk]
    return VECTORIZERS[system].learn(texts, FREE).tokens


def _tensorflow(embedding: str) -> Vectorize:
    from retvec_lite.model import load_tensorflow

    load_tensorflow()
    import tensorflow as tf

    from retvec_lite.contract import EncoderConfig
    from retvec_lite.model.encoder_graph import encode_words, word_bits
    from retvec_lite.model.network_graph import embed_bits
    from retvec_lite.model.weight_files import choose_embedding
    from retvec_lite.runtime.interpreters import codepoint_rows

    chosen = choose_embedding(embedding)
    assert chosen is not None
    config = EncoderConfig(max_chars=CHARS, max_words=SLOTS, word_length=chosen.word_length)
    weights = {name: tf.constant(value) for name, value in chosen.weights.items()}
    graph = tf.function(
        lambda rows: embed_bits(word_bits(encode_words(rows, config)), weights),
        input_signature=[tf.TensorSpec([None, CHARS], tf.int32)],
        autograph=False,
    )
    graph(codepoint_rows(["hello"], CHARS))  # tracing is a part of preparation
    return lambda chunk: graph(codepoint_rows(chunk, CHARS)).numpy()


def build_file(path: Path, embedding: str) -> None:
    """Export a file with an untrained `pool` head: time does not depend on the weights."""
    from benchmarks.speed.files import untrained
    from benchmarks.systems.ours import file_contents
    from retvec_lite.model.heads import PoolHead

    model = untrained(PoolHead(), SLOTS, labels=60, embedding=embedding)
    path.write_bytes(file_contents(model, [RECIPE])[RECIPE])


def measure(system: str, texts: Sequence[str], embedding: str, file: Path) -> dict[str, float]:
    """Prepare and vectorize. Run this in a separate process."""
    before = peak_megabytes()
    wall, core = time.perf_counter(), time.process_time()
    vectorize = prepare(system, texts, embedding, file)
    prepared, prepared_core = time.perf_counter() - wall, time.process_time() - core
    wall, core = time.perf_counter(), time.process_time()
    for start in range(0, len(texts), _CHUNK):
        vectorize(texts[start : start + _CHUNK])
    return {
        "prepare_seconds": prepared,
        "prepare_core_seconds": prepared_core,
        "seconds": time.perf_counter() - wall,
        "core_seconds": time.process_time() - core,
        "peak_megabytes": peak_megabytes(),
        "megabytes_before": before,
    }


def peak_megabytes() -> float:
    """Return this process's peak resident memory so far."""
    # Not getrusage: there, a process inherits the peak of the one that started it.
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def _measure(system: str, options: Sequence[object]) -> Row:
    """Measure a system in a process of its own."""
    if system == FILE:
        run_module("benchmarks.speed.vectorizing", "--build", *options)
    found: Row = json.loads(run_module("benchmarks.speed.vectorizing", "--worker", system, *options).splitlines()[-1])
    return found


def read_texts(data: Path, count: int) -> list[str]:
    """Return texts of MASSIVE's training file, spread evenly; all for `count` 0."""
    path = data / "massive" / "train.csv"
    require_data(path)
    with path.open(encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    return texts[:: max(1, len(texts) // count)][:count] if count else texts


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="5,200 texts, without fastText vectors", data=True)
    parser.add_argument("--only", choices=SYSTEMS, action="append", help="a system; repeatable (default: all)")
    parser.add_argument("--texts", type=int, default=0, metavar="N", help="number of texts (default: all 598,728)")
    parser.add_argument("--embedding", default="default", metavar="FILE", help="(default: the one in the package)")
    parser.add_argument("--v1", metavar="FILE", help="RETVec v1, as `retvec-lite import-embedding` wrote it")
    parser.add_argument("--worker", choices=SYSTEMS, help=argparse.SUPPRESS)
    parser.add_argument("--build", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.build:
        build_file(args.file, args.embedding)
        return
    if args.worker:
        print(json.dumps(measure(args.worker, read_texts(args.data, args.texts), args.embedding, args.file)))
        return
    count = 5200 if args.quick else args.texts
    systems = args.only or [system for system in SYSTEMS if not (args.quick and system == VECTORS)]
    chosen = available(systems, args.v1, asked_for=bool(args.only))
    if args.v1 is None and V1_TENSORFLOW in chosen:
        parser.error(f"{V1_TENSORFLOW} needs --v1 FILE.")
    rows = Rows(result_path("speed", quick=args.quick), ["system"], table)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "classifier.tflite"
        for system in chosen:
            embedding = args.v1 if system == V1_TENSORFLOW else args.embedding
            row: Row = {"system": system, "settings": {"texts": count, "embedding": Path(embedding).name}}
            shared = ("--embedding", embedding, "--file", file, "--texts", count, "--data", args.data)
            rows.fill(row, _measure, system, shared)
    rows.show()


def table(rows: list[Row]) -> str:
    header = ["system", "preparation", "... core-seconds", "vectorizing", "... core-seconds"]
    seconds = ("prepare_seconds", "prepare_core_seconds", "seconds", "core_seconds")
    lines = [
        [row["system"], *(f"{row[field]:.1f} s" for field in seconds)]
        + [f"{row[field]:.0f} MB" for field in ("peak_megabytes", "megabytes_before")]
        for row in sorted(rows, key=lambda row: SYSTEMS.index(row["system"]))
    ]
    return markdown_table([*header, "peak resident memory", "... of it texts and Python"], lines)


if __name__ == "__main__":
    main()
