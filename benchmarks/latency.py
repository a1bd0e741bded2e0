"""What the encoder costs, and what one `retvec-lite classify` costs.

    python benchmarks/latency.py [--classifier DIR] [--quick]

The encoder's share: an exported file beside the same file with its encoder cut off and fed with ready words and bits, in
one process, taking turns, medians; the first file a second time as the control. The text has 60 words in 64 slots.
Without --classifier, a `pool` head for 77 labels with untrained weights: time does not depend on their values.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
from common import RESULTS, markdown_table, write_results

SLOTS: Final = 64
CHARS: Final = 512
SENTENCE: Final = "please wake me tomorrow at seven thirty and play some quiet music on the kitchen speaker now "


def build(folder: Path) -> None:
    """Write `full-RECIPE.tflite` and `network-RECIPE.tflite`. Imports TensorFlow: runs in a process of its own."""
    from retvec_lite.classifier_file import Classifier
    from retvec_lite.config import EncoderConfig
    from retvec_lite.converters.export import convert
    from retvec_lite.converters.quantize import quantize
    from retvec_lite.embedding_file import load_default_embedding
    from retvec_lite.heads import PoolHead

    config = EncoderConfig(max_chars=CHARS, max_words=SLOTS)
    labels = tuple(f"label {number}" for number in range(77))
    embedding = load_default_embedding()
    head = PoolHead()
    weights = head.initial_weights(np.random.default_rng(0), embedding.dimension, len(labels), SLOTS)
    classifier = Classifier(config, head, labels, {**embedding.weights, **weights}, {"name": embedding.name}, {})
    float32 = convert(classifier)
    for recipe in ("float32", "int8", "int8-dynamic"):
        model = quantize(float32, recipe)
        (folder / f"full-{recipe}.tflite").write_bytes(model)
        (folder / f"network-{recipe}.tflite").write_bytes(without_encoder(model))


def without_encoder(model: bytes) -> bytes:
    """The same file, with `words` and `bits` as inputs and without the operators that compute them."""
    from retvec_lite.converters.editing import find_tensor, pack, schema, unpack

    edited = unpack(model)
    graph = edited.subgraphs[0]
    stages = [find_tensor(graph, name) for name in ("words", "bits")]
    needed = {int(index) for index in graph.outputs}
    kept = []
    for operator in reversed(graph.operators):
        if needed & set(map(int, operator.outputs)) - set(stages):
            needed |= {int(index) for index in operator.inputs if index >= 0} - set(stages)
            kept.append(operator)
    graph.operators = kept[::-1]
    graph.inputs = np.array(stages, np.int32)
    entries = []
    for name, index in zip(("words", "bits"), stages, strict=True):
        entry = schema().TensorMapT()
        entry.name, entry.tensorIndex = name, index
        entries.append(entry)
    edited.signatureDefs[0].inputs = entries
    return pack(edited)


def measure_share(folder: Path, runtime: str, rounds: int) -> list[dict[str, Any]]:
    """Median microseconds of full graph, network alone and full graph again; runs in a process of its own."""
    from retvec_lite import reference
    from retvec_lite.config import EncoderConfig
    from retvec_lite.runtime import load_interpreter

    config = EncoderConfig(max_chars=CHARS, max_words=SLOTS)
    text = " ".join((SENTENCE * 10).split()[:60])
    codes = reference.codepoints(text, CHARS)
    words = reference.words(codes, config)
    inputs = {"int32 2": codes[None], "int32 3": words[None], "float32 3": reference.bits(words)[None]}
    rows = []
    for recipe in ("float32", "int8", "int8-dynamic"):
        if runtime == "tflite-runtime" and recipe == "int8-dynamic":
            continue
        runs = {}
        for name, file in (("full", "full"), ("network", "network"), ("control", "full")):
            interpreter = load_interpreter(runtime, folder / f"{file}-{recipe}.tflite", 1)
            interpreter.allocate_tensors()
            for detail in interpreter.get_input_details():
                key = f"{np.dtype(detail['dtype']).name} {len(detail['shape'])}"
                interpreter.set_tensor(detail["index"], inputs[key])
            runs[name] = (interpreter, [])
        for turn in range(rounds + 20):
            for interpreter, times in runs.values():
                start = time.perf_counter_ns()
                interpreter.invoke()
                if turn >= 20:
                    times.append((time.perf_counter_ns() - start) / 1000)
        median = {name: statistics.median(times) for name, (_, times) in runs.items()}
        share = 1.0 - median["network"] / median["full"]
        rows.append({"runtime": runtime, "recipe": recipe, **median, "encoder_share": share})
    return rows


def measure_command(model: Path) -> dict[str, Any]:
    """Wall time (median of 7 after one to warm the file cache) and peak resident memory of `retvec-lite classify`."""
    walls = []
    for _ in range(8):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "retvec_lite", "classify", str(model), SENTENCE], check=True, capture_output=True
        )
        walls.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {"wall_s": statistics.median(walls[1:]), "peak_resident_mb": peak / 1024}


def main(arguments: Iterable[str] | None = None) -> None:
    """Build, measure, write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="an exported .tflite for the cost of `retvec-lite classify`")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--step", choices=("build", "share"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--runtime", help=argparse.SUPPRESS)
    args = parser.parse_args(None if arguments is None else list(arguments))
    rounds = 200 if args.quick else 1500
    if args.step == "build":
        build(args.folder)
        return
    if args.step == "share":
        print(json.dumps(measure_share(args.folder, args.runtime, rounds)))
        return
    rows: list[dict[str, Any]] = []
    # The command first: the peak memory of child processes would otherwise be that of the converter.
    command = [measure_command(args.model)] if args.model else []
    with tempfile.TemporaryDirectory() as folder:
        _step("build", folder)
        for runtime in ("ai-edge-litert", "tflite-runtime"):
            quick = ["--quick"] if args.quick else []
            rows += json.loads(_step("share", folder, "--runtime", runtime, *quick).splitlines()[-1])
    table = markdown_table(
        ["runtime", "recipe", "full graph", "control", "network alone", "encoder's share"],
        [
            [
                row["runtime"],
                row["recipe"],
                *(f"{row[name]:.0f} µs" for name in ("full", "control", "network")),
                f"{row['encoder_share']:.0%}",
            ]
            for row in rows
        ],
    )
    for found in command:
        table += (
            f"\n`retvec-lite classify`, one text, whole process: {found['wall_s']:.2f} s wall, "
            f"{found['peak_resident_mb']:.0f} MB peak resident.\n"
        )
    write_results(RESULTS / ("latency-quick" if args.quick else "latency"), rows + command, table)


def _step(step: str, folder: str, *more: str) -> str:
    command = [sys.executable, __file__, "--step", step, "--folder", folder, *more]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


if __name__ == "__main__":
    main()
