"""Where the encoder's time goes, operator by operator.

    python benchmarks/encoder_profile.py FILE [--runtime NAME] [--out RESULT]

The runtimes' Python packages do not expose their profilers. So every operator of the encoder is timed in a graph of its
own, on the values it sees when the whole graph answers a text of 60 words, with one thread, all taking turns. The time of
the cheapest one, which is the cost of a call, is subtracted. The sum is within a tenth of the encoder's cost in the whole
graph, where XNNPACK computes neighbouring operators together.
"""

import importlib
import json
import statistics
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from common import command_parser, markdown_table, write_results
from latency_measure import text_of

from retvec_lite import contract
from retvec_lite.converters.tflite.graph import before, is_stored, operator_name, shape_of
from retvec_lite.converters.tflite.model import find_tensor, pack, read_model
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.interpreters import RUNTIMES, import_runtime

Row = dict[str, Any]
_ROUNDS, _CALLS = 12, 40


def profile(model: bytes, codepoints: np.ndarray, runtime: str) -> list[Row]:
    """Return a row for each operator before `bits`: its kind, shapes and microseconds."""
    parsed = read_model(model)
    graph = parsed.subgraphs[0]
    values = _values(model, codepoints, runtime)
    encoder = sorted(before(graph, find_tensor(graph, "bits")))
    _, interpreter_class = import_runtime(runtime)
    alone = {}
    for position in encoder:
        single, inputs = _only(model, position)
        interpreter = interpreter_class(model_content=single, num_threads=1)
        interpreter.allocate_tensors()
        for detail, index in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(detail["index"], values[index])
        alone[position] = interpreter
    times: dict[int, list[int]] = {position: [] for position in encoder}
    for _ in range(_ROUNDS):
        for position, interpreter in alone.items():
            for _ in range(_CALLS):
                start = time.perf_counter_ns()
                interpreter.invoke()
                times[position].append(time.perf_counter_ns() - start)
    medians = {position: statistics.median(found) / 1000 for position, found in times.items()}
    call = min(medians.values())
    return [
        {
            "operator": operator_name(parsed, graph.operators[position]),
            "shapes": [
                list(shape_of(graph.tensors[index])) for index in graph.operators[position].inputs if index >= 0
            ],
            "microseconds": medians[position] - call,
        }
        for position in encoder
    ]


def by_kind(rows: Iterable[Row]) -> list[tuple[str, int, float]]:
    """Return (operator, count, total microseconds), the most expensive first."""
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row["operator"], []).append(row["microseconds"])
    return sorted(((name, len(times), sum(times)) for name, times in found.items()), key=lambda item: -item[2])


def _values(model: bytes, codepoints: np.ndarray, runtime: str) -> dict[int, np.ndarray]:
    """Return every tensor of the graph by index. Runs without XNNPACK, which hides its inner tensors."""
    package = importlib.import_module(f"{RUNTIMES[runtime]}.interpreter")
    interpreter = package.Interpreter(
        model_content=_first_graph(model),
        experimental_preserve_all_tensors=True,
        experimental_op_resolver_type=package.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], codepoints)
    interpreter.invoke()
    found = {}
    for detail in interpreter.get_tensor_details():
        try:
            found[detail["index"]] = interpreter.get_tensor(detail["index"]).copy()
        except ValueError:  # scratch space of an operator, not a tensor of the file
            continue
    return found


def _first_graph(model: bytes) -> bytes:
    """Return the model with the graph of `classify` only. The indices of its tensors stay."""
    edited = read_model(model)
    edited.subgraphs, edited.signatureDefs = edited.subgraphs[:1], []
    find_tensor(edited.subgraphs[0], "bits")
    return pack(edited)


def _only(model: bytes, position: int) -> tuple[bytes, list[int]]:
    """Return a model of one operator, and the indices of its inputs in the whole model."""
    edited = read_model(model)
    graph = edited.subgraphs[0]
    operator = graph.operators[position]
    inputs = [int(index) for index in operator.inputs if index >= 0 and not is_stored(edited, graph.tensors[index])]
    graph.operators, graph.inputs, graph.outputs = [operator], np.array(inputs, np.int32), operator.outputs
    edited.subgraphs, edited.signatureDefs = [graph], []
    return pack(edited), inputs


def main() -> None:
    """Measure, then print or write the table."""
    parser = command_parser(__doc__)
    parser.add_argument("file", type=Path, help="an exported .tflite")
    parser.add_argument("--runtime", choices=RUNTIMES, default="ai-edge-litert")
    parser.add_argument("--out", type=Path, metavar="RESULT", help="write RESULT.json and RESULT.md")
    args = parser.parse_args()
    artifact = read_artifact(args.file)
    rows = profile(artifact.model, contract.codepoints(text_of(60), artifact.config.max_chars)[None], args.runtime)
    kinds = by_kind(rows)
    table = markdown_table(
        ["operator", "how many", "together"],
        [[name, str(count), f"{total:.1f} µs"] for name, count, total in kinds]
        + [["all", str(len(rows)), f"{sum(total for _, _, total in kinds):.1f} µs"]],
    )
    if args.out:
        write_results(args.out, [{"runtime": args.runtime, **row} for row in rows], table)
    else:
        print(json.dumps(rows))
        print(table)


if __name__ == "__main__":
    main()
