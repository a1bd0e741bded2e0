"""The default file on the data sets of other people's papers, beside the figures that they publish: clean texts, no rival is run.

    python -m benchmarks.experiments.published [--set NAME] [--shots 8 64 0] [--draws 0 1 2] [--again] [--quick]

SetFit (Tunstall et al. 2022, https://arxiv.org/abs/2209.11055) is the mean of ten draws of 8 or 64 texts a label, in
https://github.com/huggingface/setfit/tree/main/final_results: with paraphrase-mpnet-base-v2, 110 million parameters, and with
all-MiniLM-L6-v2, 23 million. TS-Mixer (Tang et al. 2024, https://doi.org/10.1111/exsy.13732) learned from all texts; its figures are
in https://github.com/wyl-privacy-project/TS-Mixer. Draws are our own, and so is the split of CR; the other test texts are theirs.
`--shots 0` takes all texts, as it does in few_shot.py, which has AG News with all texts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.common import Row, Rows, command_parser, read_results, result_path
from benchmarks.data.sets import read_part, sampled
from benchmarks.experiments.few_shot import ALL, DRAWS, draw_texts
from benchmarks.systems.names import DEFAULT_FILE
from benchmarks.systems.trained import accuracy, fingerprint
from benchmarks.systems.whole import train
from benchmarks.tables.cells import figure_of, grouped, markdown_table, ordered, test_texts_of
from retvec_lite.data.dataset import Dataset

FOLDERS: Final = {"SST-5": "sst5", "CR": "cr", "Emotion": "emotion", "AG News": "ag_news", "SST-2": "sst2"}
SHOTS: Final = (8, 64, ALL)
QUICK_TEST_TEXTS: Final = 200
SETFIT: Final[Mapping[str, Mapping[int, tuple[float | None, float]]]] = {
    "SST-5": {8: (0.298, 0.436), 64: (None, 0.519)},
    "CR": {8: (0.716, 0.885), 64: (None, 0.904)},
    "Emotion": {8: (0.391, 0.488), 64: (None, 0.762)},
    "AG News": {8: (0.831, 0.829), 64: (None, 0.880)},
}
"""Data set -> texts a label -> SetFit's published accuracy with MiniLM and with MPNet; None where it was not published."""
TS_MIXER: Final[Mapping[str, tuple[float, float]]] = {"SST-2": (0.837, 0.849), "AG News": (0.914, 0.923)}
"""Data set -> the published accuracy of TS-Mixer with 0.17 and with 1.2 million parameters, all texts."""
KEY: Final = ("data", "system", "shots", "seed")


def measure(training: Dataset, test: Dataset, shots: int, seed: int) -> Row:
    """Train the default file on one draw; return its accuracy."""
    trained = train(DEFAULT_FILE, draw_texts(training, shots, seed), seed if shots == ALL else 0)
    return {"accuracy": {"0": accuracy(trained, test, 0.0)}, **trained.facts}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="CR, 8 texts a label, one draw", data=True)
    parser.add_argument("--set", dest="sets", choices=FOLDERS, action="append", help="a data set; repeatable")
    few = "texts a label (default: 8 64 0); 0 for all, which some sets have instead"
    parser.add_argument("--shots", type=int, nargs="+", choices=SHOTS, default=SHOTS, help=few)
    parser.add_argument("--draws", type=int, nargs="+", default=DRAWS, metavar="N", help="seeds (default: 0 1 2)")
    parser.add_argument("--again", action="store_true", help="measure rows again that are there")
    args = parser.parse_args(arguments)
    if args.quick:
        args.sets, args.shots, args.draws = ["CR"], SHOTS[:1], DRAWS[:1]
    rows = Rows(result_path("published", quick=args.quick), KEY, few_table)
    for name in args.sets or FOLDERS:
        training, test = (read_part(args.data, FOLDERS[name], part) for part in ("train", "test"))
        test = test.select(sampled(len(test), QUICK_TEST_TEXTS * args.quick))
        settings = {"training": fingerprint([*training.texts, *training.labels]), "test_texts": len(test)}
        for shots in (shots for shots in args.shots if shots in SETFIT.get(name, (ALL,))):
            for seed in args.draws:
                row: Row = {"data": name, "system": DEFAULT_FILE, "shots": shots, "seed": seed, "settings": settings}
                rows.fill(row, measure, training, test, shots, seed, again=args.again)
    rows.show()


def few_table(rows: Sequence[Row]) -> str:
    """Return a line for each data set and number of texts a label: ours, and what SetFit publishes."""
    lines = []
    for (name, shots), found in grouped(_ordered(rows), ["data", "shots"]).items():
        if shots in SETFIT.get(name, ()):
            lines.append([name, f"{shots}", _ours(found), *map(_cell, SETFIT[name][shots])])
    return markdown_table(["clean", "texts a label", *_HEADER, "SetFit, MiniLM", "SetFit, MPNet"], lines)


def all_table(results: Path) -> str:
    """Return a line for each data set of which TS-Mixer's accuracy with all texts is published."""
    rows = read_results(results / "published") + [
        row for row in read_results(results / "few_shot") if row["system"] == DEFAULT_FILE
    ]
    found = grouped([row for row in rows if row["shots"] == ALL], ["data"])
    lines = [[name, _ours(found[name,]), *map(_cell, figures)] for name, figures in TS_MIXER.items()]
    return markdown_table(["clean, all texts", *_HEADER, "TS-Mixer, 0.17 M", "TS-Mixer, 1.2 M"], lines)


_HEADER: Final = ("default file",)


def _ours(rows: list[Row]) -> str:
    return _cell(figure_of(rows, 0.0, test_texts_of(rows[0])).accuracy)


def _cell(accuracy: float | None) -> str:
    return "-" if accuracy is None else f"{accuracy:.3f}".removeprefix("0")


def _ordered(rows: Sequence[Row]) -> list[Row]:
    return ordered(rows, KEY, {"data": tuple(FOLDERS)})


if __name__ == "__main__":
    main()
