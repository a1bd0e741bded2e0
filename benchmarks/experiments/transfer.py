"""Languages without a training text: the default int8 file of English MASSIVE with the words of others, measured in each of them.

    python -m benchmarks.experiments.transfer [--languages de,es,fr]... [--shots 0 10] [--quick]

Every `--languages` is one training, with tags or files of meanings; none is what a file knows without. `--shots` adds so many texts a
label in each of these languages. The test split decides nothing.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import retvec_lite as rl
from benchmarks.common import Row, Rows, command_parser, picture_path, result_path
from benchmarks.data.sets import FOLDERS, read_part, sampled_of_each
from benchmarks.systems.trained import share_right
from benchmarks.tables.cells import markdown_table
from benchmarks.tables.plots import draw_marks
from retvec_lite.data.dataset import Dataset
from retvec_lite.model.meaning_file import language_file

SET: Final = "MASSIVE"
ENGLISH: Final = "en"
NONE: Final = "none"
RECIPE: Final = "int8"
QUICK_TEXTS: Final = 8
"""Of each label, in each language."""


def by_language(data: Path, part: str, quick: bool) -> Mapping[str, Dataset]:
    """Return the texts of each language, by the tag without its country."""
    texts = read_part(data, SET, part)
    tags = [tag.split("-")[0] for tag in read_part(data, SET, part, label_column="lang").labels]
    rows: dict[str, list[int]] = {}
    for row, tag in enumerate(tags):
        rows.setdefault(tag, []).append(row)
    return {tag: few_of(texts.select(own)) if quick else texts.select(own) for tag, own in rows.items()}


def few_of(texts: Dataset) -> Dataset:
    return texts.select(sampled_of_each(texts.labels, QUICK_TEXTS))


def measure(names: Sequence[str], shots: int, training: Mapping[str, Dataset], test: Mapping[str, Dataset]) -> Row:
    """Train on English, and on so many texts a label of each language; return the accuracy in each of them."""
    files = [language_file(name) for name in names]
    few = [training[file.language] for file in files if shots]
    drawn = [texts.select(sampled_of_each(texts.labels, shots)) for texts in few]
    parts = [training[ENGLISH], *drawn]
    texts, labels = ([cell for part in parts for cell in getattr(part, name)] for name in ("texts", "labels"))
    classifier = rl.train(texts, labels, languages=files or None)
    tags = [file.language for file in files] or [tag for tag in test if tag != ENGLISH]
    with tempfile.TemporaryDirectory() as scratch:
        (path,) = classifier.export(Path(scratch) / "dist", formats="engine", recipes=RECIPE).files
        exported, size = rl.load(path), path.stat().st_size

    def guess(texts: Sequence[str]) -> list[str]:
        return [exported.labels[place] for place in exported.probabilities(texts).argmax(axis=1)]

    accuracy = {tag: share_right(guess, test[tag].texts, test[tag].labels) for tag in (ENGLISH, *tags)}
    facts = classifier.training
    return {
        "accuracy": accuracy,
        "texts": len(texts),
        "words": facts["meaning"].get("languages", {}),
        "bytes": size,
    }


def table(rows: Sequence[Row]) -> str:
    header = ["languages besides English", "texts a label in them", "English", "mean of the others", "each", "int8"]
    # A file that knows no other language is measured in all of them; only those of other rows are of interest.
    asked = {tag for row in rows if row["languages"] != NONE for tag in row["accuracy"]}
    body = []
    for row in rows:
        others = {
            tag: value for tag, value in row["accuracy"].items() if tag != ENGLISH and (tag in asked or not asked)
        }
        each = " ".join(f"{tag} {value:.3f}" for tag, value in others.items())
        mean = f"{sum(others.values()) / len(others):.3f}"
        english = f"{row['accuracy'][ENGLISH]:.3f}"
        body.append([row["languages"], str(row["shots"]), english, mean, each, f"{row['bytes'] / 1000:.0f} kB"])
    return markdown_table(header, body)


def pictured(rows: Sequence[Row]) -> Mapping[str, Mapping[str, float]]:
    """Return what the plot shows: the accuracy in each language of a file without it, of files with it, and with some texts in it."""
    series: dict[str, dict[str, float]] = {}
    asked = {tag for row in rows if row["languages"] != NONE for tag in row["accuracy"]}
    for row in sorted(rows, key=lambda row: (row["languages"] != NONE, row["shots"], row["languages"].count(","))):
        others = len(row["accuracy"]) - 1
        system = (
            "English alone"
            if row["languages"] == NONE
            else f"with {'it' if others == 1 else f'it and {others - 1} others'}"
        )
        system += f", {row['shots']} texts a label" if row["shots"] else ""
        for tag in sorted(asked & row["accuracy"].keys() - {ENGLISH}):
            series.setdefault(system, {})[tag] = row["accuracy"][tag]
    return series


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, quick="eight texts a label in each language", data=True)
    parser.add_argument("--languages", action="append", metavar="TAG,...", help="one training; repeatable")
    parser.add_argument("--shots", type=int, nargs="+", default=[0], metavar="N", help="texts a label (default: 0)")
    args = parser.parse_args(arguments)
    rows = Rows(result_path("transfer", quick=args.quick), ("languages", "shots"), table)
    training, test = (by_language(args.data, part, args.quick) for part in ("train", "test"))
    for named in args.languages or [NONE]:
        names = [] if named == NONE else named.split(",")
        for shots in args.shots:
            tags = ", ".join(language_file(name).language for name in names) or NONE
            row: Row = {"languages": tags, "shots": shots, "settings": {"data": FOLDERS[SET], "recipe": RECIPE}}
            rows.fill(row, measure, names, shots, training, test)
    rows.show()
    draw_marks(pictured(list(rows)), picture_path("languages", quick=args.quick))


if __name__ == "__main__":
    main()
