"""Is pre-training worth it? The same classifier from a random, the released and our embedding, frozen and fine-tuned.

    python -m benchmarks.experiments.pretraining_worth --v1 V1.safetensors [--set NAME] [--only START] [--data DIR] [--seeds N] [--quick]

Every start trains the head `cnn` on 3,000 texts, once on clean texts only and once on mistyped copies, for the same number of
epochs. `filters` learns from the bits of three neighbouring characters, without an embedding; `fine-tuned with filters` is what
`retvec-lite train --fine-tune-embedding` trains. Accuracy is that on rows set aside from the training files, with 0 / 50 / 100 %
of the words mistyped. v1 is what `retvec-lite import-embedding` makes of the released weights.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from benchmarks.common import Row, Rows, command_parser, result_path
from benchmarks.experiments.embedding_choice import (
    AtOneScale,
    fitted_accuracies,
    load_set,
    mean_by_rate,
    prepare_set,
    shown_by_rate,
)
from benchmarks.systems.trained import digest
from benchmarks.tables.cells import grouped, markdown_table
from retvec_lite.contract import Floats
from retvec_lite.model.heads import CnnHead, initial
from retvec_lite.model.weight_files import choose_embedding
from retvec_lite.training.ensemble import NetworkFitter, Plan
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.options import FitSettings, recommended

SETS: Final = ("Banking77", "MASSIVE")
TRAININGS: Final = {"clean": {"copies": 1, "typo_rate": 0.0}, "mistyped": {"copies": 6}}
_EPOCHS: Final = 20
_RANDOM: Final = "random"
_RAW: Final = "none"
_TUNED: Final = recommended(3_000, fine_tune=True)

STARTS: Final[dict[str, tuple[str, str]]] = {
    "random, frozen": (_RANDOM, "frozen"),
    "RETVec v1, frozen": ("v1", "frozen"),
    "our embedding, frozen": ("default", "frozen"),
    "random, fine-tuned": (_RANDOM, "fine-tuned"),
    "RETVec v1, fine-tuned": ("v1", "fine-tuned"),
    "our embedding, fine-tuned": ("default", "fine-tuned"),
    "filters": (_RAW, "filters"),
    "random, fine-tuned with filters": (_RANDOM, "filters"),
    "our embedding, fine-tuned with filters": ("default", "filters"),
}
"""Name -> which embedding to start from, and what learns beside the head."""


def starting_weights(start: str, v1: str, seed: int) -> dict[str, Floats]:
    """Return the weights of an embedding; random ones have the shapes of ours, Glorot kernels and zero biases."""
    if start == _RAW:
        return {}
    chosen = choose_embedding(v1 if start == "v1" else "default")
    assert chosen is not None
    if start != _RANDOM:
        return dict(chosen.weights)
    rng = np.random.default_rng(seed)
    return {name: initial(name, value.shape, rng) for name, value in chosen.weights.items()}


def settings_of(learns: str, trained_on: str, seed: int) -> FitSettings:
    """Return the product's settings for 3,000 texts, with the same epochs for all."""
    settings = FitSettings() if learns == "frozen" else _TUNED
    filters = _TUNED.character_filters if learns == "filters" else 0
    return dataclasses.replace(settings, epochs=_EPOCHS, character_filters=filters, seed=seed, **TRAININGS[trained_on])


def measure(data: TrainingData, weights: Mapping[str, Floats], learns: str, settings: FitSettings) -> Row:
    if learns == "frozen":
        return fitted_accuracies(AtOneScale(data, CnnHead(), weights, settings), data)
    return fitted_accuracies(NetworkFitter(Plan(data, CnnHead(), 0, weights, True, settings)), data)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="Banking77, clean, random and ours, one seed", data=True)
    parser.add_argument("--set", dest="sets", choices=SETS, action="append", help="a data set; repeatable")
    parser.add_argument("--only", dest="starts", choices=tuple(STARTS), action="append", help="a start; repeatable")
    parser.add_argument("--v1", metavar="FILE", help="the released weights of RETVec, imported")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="trainings of each kind (default: 3)")
    args = parser.parse_args(arguments)
    starts = args.starts or [name for name, (start, _) in STARTS.items() if start != "v1" or args.v1]
    trainings = list(TRAININGS)
    if args.quick:
        args.sets, starts, trainings, args.seeds = (
            ["Banking77"],
            ["random, frozen", "our embedding, frozen"],
            ["clean"],
            1,
        )
    if not args.v1 and any(STARTS[name][0] == "v1" for name in starts):
        parser.error("RETVec v1 needs --v1 FILE (retvec-lite import-embedding writes it)")
    rows = Rows(result_path("pretraining_worth", quick=args.quick), ("set", "trained_on", "start", "seed"), table)
    for name in args.sets or SETS:
        training, held_out = load_set(args.data, name)
        for trained_on in trainings:
            data = prepare_set(training, held_out, settings_of("frozen", trained_on, 0), 16)
            for seed in range(args.seeds):
                for chosen in starts:
                    start, learns = STARTS[chosen]
                    weights = starting_weights(start, args.v1, seed)
                    settings = settings_of(learns, trained_on, seed)
                    row: Row = {"set": name, "trained_on": trained_on, "start": chosen, "seed": seed}
                    told = _RANDOM if start == _RANDOM else digest(weights)
                    row["settings"] = {**dataclasses.asdict(settings), "weights": told}
                    rows.fill(row, measure, data, weights, learns, settings)
    rows.show()


def table(rows: list[Row]) -> str:
    """Return a line for each start: mean over seeds by set, training and rate."""
    ways = sorted({(row["set"], row["trained_on"]) for row in rows}, key=lambda way: (SETS.index(way[0]), way[1]))
    cells, lines = grouped(rows, ["start", "set", "trained_on"]), []
    for start in (start for start in STARTS if any(start == known for known, *_ in cells)):
        same = [cells.get((start, *way), []) for way in ways]
        lines.append([start, *(shown_by_rate(mean_by_rate(found)) if found else "not run" for found in same)])
    return markdown_table(["start", *(f"{name}, {trained_on}" for name, trained_on in ways)], lines)


if __name__ == "__main__":
    main()
