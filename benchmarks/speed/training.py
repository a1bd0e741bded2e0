"""Where the time of a training goes: seconds of each stage, and the memory at its peak.

    python -m benchmarks.speed.training [--quick] [--data DIR]     every line of the table, each in its own process
    python -m benchmarks.speed.training stages FILE TEXTS [HEAD]   one of them, as a line of JSON

Texts are drawn at random from the training files, and trained on with the default options. A stage has the time that its functions
take, less that of other stages inside; what runs beside the network on another core has its own column.
"""

import contextlib
import functools
import importlib
import json
import random
import resource
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.common import Row, command_parser, require_data, result_path, run_module, write_results
from benchmarks.tables.cells import markdown_table

LINES: Final = (
    ("Banking77, ten texts a label", "banking77", 770, "auto"),
    ("Banking77", "banking77", 10_003, "auto"),
    ("Banking77, `--head linear`", "banking77", 10_003, "linear"),
    ("AG News, 2,000 texts", "ag_news", 2_000, "auto"),
    ("AG News, 10,000 texts", "ag_news", 10_000, "auto"),
    ("AG News", "ag_news", 49_411, "auto"),
    ("AG News, `--head linear`", "ag_news", 49_411, "linear"),
    ("MASSIVE, 50,000 texts", "massive", 50_000, "auto"),
    ("MASSIVE", "massive", 598_728, "auto"),
)
"""Name, data set, texts, head."""

_TRAINING: Final = "retvec_lite.training"
STAGES: Final[dict[str, tuple[str, ...]]] = {
    "reading": (f"{_TRAINING}.options:TrainOptions.read_inputs",),
    "mistyping": (f"{_TRAINING}.examples:augmented_copies", f"{_TRAINING}.examples:mistype_many"),
    "encoding": (f"{_TRAINING}.trainer:make_examples",),
    "what words mean": (
        f"{_TRAINING}.trainer:choose_language",
        f"{_TRAINING}.trainer:make_part",
        f"{_TRAINING}.meaning_part:MeaningPart.vectors",
    ),
    "embedding words": (f"{_TRAINING}.ensemble:embed_words", f"{_TRAINING}.pretrained_fitter:embed_words"),
    "pre-trained head": (f"{_TRAINING}.pretrained_fitter:PretrainedFitter.fit",),
    "counting n-grams": (f"{_TRAINING}.linear_part:LinearFitter.choose", f"{_TRAINING}.trainer:count_hashes"),
    "fitting n-grams": (f"{_TRAINING}.linear_part:fit_linear",),
    "codebooks": (f"{_TRAINING}.linear_part:squeeze",),
    "steps": (f"{_TRAINING}.ensemble:run_epochs",),
    "scoring": (f"{_TRAINING}.network:TrainableNetwork.logits",),
    "deciding": (f"{_TRAINING}.ensemble:mix_held_out", f"{_TRAINING}.trainer:judge"),
}
"""Stage -> its functions, `module:name` as its callers find it."""


class Clock:
    """Seconds by stage and thread: each function has its own, without those of functions inside it."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, bool], float] = defaultdict(float)
        self._local = threading.local()

    def wrap(self, stage: str, place: str) -> None:
        """Time a function from now on."""
        module, _, path = place.partition(":")
        holder: Any = importlib.import_module(module)
        *outer, name = path.split(".")
        for part in outer:
            holder = getattr(holder, part)
        setattr(holder, name, self._timed(stage, getattr(holder, name)))

    def _timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **named: Any) -> Any:
            inner = self._local.__dict__.setdefault("inner", [])
            began = time.perf_counter()
            inner.append(0.0)
            try:
                return function(*args, **named)
            finally:
                whole = time.perf_counter() - began
                is_main = threading.current_thread() is threading.main_thread()
                self.seconds[stage, is_main] += whole - inner.pop()
                if inner:
                    inner[-1] += whole

        return run


class _Texts(NamedTuple):
    texts: list[str]
    labels: list[str]


def draw(file: Path, count: int) -> _Texts:
    """Return so many texts of a file with their labels, drawn at random: for ten texts a label, ten of each."""
    from retvec_lite.data.dataset import read_dataset

    found = read_dataset(file)
    rows = list(range(len(found.texts)))
    random.Random(0).shuffle(rows)
    if count < len(rows) // 5 and len(found.classes) > 20:
        by_label: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            by_label[found.labels[row]].append(row)
        rows = [row for own in by_label.values() for row in own[: count // len(by_label)]]
    rows = sorted(rows[:count])
    return _Texts([found.texts[row] for row in rows], [found.labels[row] for row in rows])


def measure(file: Path, count: int, head: str) -> Row:
    """Train on texts of a file; return seconds by stage, those of the whole, and megabytes at the peak."""
    import retvec_lite
    from retvec_lite.cli.train import run_small_operations_side_by_side

    run_small_operations_side_by_side()
    data = draw(file, count)
    began, clock = time.perf_counter(), Clock()
    for stage, places in STAGES.items():
        for place in places:
            clock.wrap(stage, place)
    clock.seconds["starting", True] = time.perf_counter() - began
    classifier = retvec_lite.train(data.texts, data.labels, head=head)
    seconds, processor = time.perf_counter() - began, time.process_time()
    return {
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
        "stages": {stage: round(spent, 1) for (stage, main), spent in clock.seconds.items() if main},
        "beside": {stage: round(spent, 1) for (stage, main), spent in clock.seconds.items() if not main},
        "megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "accuracy": {rate: row["accuracy"] for rate, row in classifier.training["validation"].items()},
        "factors": classifier.training["factors"],
        "epochs": classifier.training["epochs"],
    }


def table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown: the stages as lines, and a column for each training."""
    stages = ["starting", *STAGES]
    body = [
        ["whole", *(f"{row['seconds']:.0f}" for row in rows)],
        *([stage, *(_cell(row, stage) for row in rows)] for stage in stages),
        ["memory, MB", *(f"{row['megabytes']:,}" for row in rows)],
    ]
    return markdown_table(["seconds", *(row["name"] for row in rows)], body)


def _cell(row: Row, stage: str) -> str:
    own, beside = row["stages"].get(stage, 0.0), row["beside"].get(stage, 0.0)
    return " ".join(([f"{own:.1f}"] if own or not beside else []) + ([f"({beside:.1f})"] if beside else []))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="2,000 texts and fewer", data=True)
    args = parser.parse_args(arguments)
    rows: list[Row] = []
    path = result_path("training", quick=args.quick)
    for name, folder, count, head in LINES:
        if args.quick and count > 2_000:
            continue
        file = args.data / folder / "train.csv"
        require_data(file)
        rows.append({"name": name, **json.loads(run_module("benchmarks.speed.training", "stages", file, count, head))})
        with contextlib.suppress(OSError):
            write_results(path, rows, table(rows), show=False)
    write_results(path, rows, table(rows))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["stages", file, count, *head]:
            print(json.dumps(measure(Path(file), int(count), *(head or ["auto"]))))
        case _:
            main()
