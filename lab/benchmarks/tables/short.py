"""Small tables of pages for users, from the results of several commands."""

from pathlib import Path
from typing import Final

from benchmarks.common import read_results
from benchmarks.systems.names import BGE, DEFAULT_FILE, ENCODER, FASTTEXT_LARGE, INBOX_ENCODERS, SETFIT, STATIC, SVM
from benchmarks.tables.cells import figure_of, grouped, markdown_table, shown, test_texts_of

WAYS: Final = {
    "names": "names",
    "descriptions": "names and a description",
    "one text": "one text of each label, names",
    "one text, descriptions": "one text of each label, descriptions",
}
"""What `benchmarks.experiments.names` calls a way to begin -> what the page calls it."""
SHOTS: Final = (5, 50)
SETS: Final = ("AG News", "Banking77", "CLINC150")
OF_TEN: Final = ("AG News", "Banking77", "CLINC150", "SMS spam")
RIVALS: Final = {
    INBOX_ENCODERS: "default file and an inbox",
    DEFAULT_FILE: "default file, below 1 MB",
    SVM: "SVM, characters",
    FASTTEXT_LARGE: "fastText",
    ENCODER: "MiniLM, frozen",
    BGE: "bge-small, frozen",
    STATIC: "model2vec",
    SETFIT: "SetFit",
}
TIMED: Final = "Banking77"
WORDS: Final = (10, 30, 60, 120)
UNEXPORTED: Final = "int8-dynamic"
"""A recipe that is measured, but that nobody can choose."""


def first_steps(results: Path) -> str:
    """Return the clean accuracy of what was learned from names, descriptions, and few texts."""
    named = {(row["data"], row["way"]): row["clean"]["accuracy"] for row in read_results(results / "names")}
    few = grouped(read_results(results / "few_shot"), ["data", "system", "shots"])
    lines = [[said, *(_bare(named.get((data, way))) for data in SETS)] for way, said in WAYS.items()]
    for shots in SHOTS:
        cells = [few.get((data, DEFAULT_FILE, shots), []) for data in SETS]
        figures = [figure_of(rows, 0.0, test_texts_of(rows[0])).accuracy if rows else None for rows in cells]
        lines.append([f"{shots} texts of each label", *map(_bare, figures)])
    return markdown_table(["learned from", *SETS], lines)


def _bare(accuracy: float | None) -> str:
    return "-" if accuracy is None else f"{accuracy:.2f}".removeprefix("0")


def ten_texts(results: Path) -> str:
    """Return ours beside rivals of any size with ten texts a label, clean and half mistyped, and the seconds of training."""
    rows = [row for row in read_results(results / "few_shot") if row["shots"] == 10]
    cells = grouped(rows, ["data", "system"])
    lines = []
    for data in OF_TEN:
        own = [cells.get((data, system), []) for system in RIVALS]
        by_rate = [
            [figure_of(same, rate, test_texts_of(same[0])) if same else None for same in own] for rate in (0.0, 0.5)
        ]
        columns = [
            [shown(figure, [*figures[:at], *figures[at + 1 :]]) if figure else "-" for at, figure in enumerate(figures)]
            for figures in by_rate
        ]
        lines.append([data, *(" / ".join(pair) for pair in zip(*columns, strict=True))])
    lines.append([f"seconds to train, {TIMED}", *(_seconds(cells.get((TIMED, system), [])) for system in RIVALS)])
    return markdown_table(["clean / half mistyped", *RIVALS.values()], lines)


def _seconds(rows: list[dict[str, float]]) -> str:
    """Return the seconds of training, from the fewest to the most."""
    if not rows:
        return "-"
    least, most = (round(found(row["training_seconds"] for row in rows)) for found in (min, max))
    return f"{least}" if least == most else f"{least} to {most}"


def litert(results: Path) -> str:
    """Return what the network alone costs on each runtime: microseconds a text on one thread, bytes, start and memory."""
    steps = {step["step"]: step["rows"] for step in read_results(results / "latency")}
    lines = []
    for file in steps["start"]:
        runtime, name = file["runtime"], file["name"]
        times = [
            row["microseconds"]
            for row in steps[runtime]
            if row["name"] == f"{name}, classifier" and row["threads"] == 1 and row["words"] in WORDS
        ]
        if not name.endswith(UNEXPORTED):
            cost = [f"{file['bytes'] / 1000:,.0f} kB", f"{file['load_ms']:.1f} ms", f"{file['resident_mb']:.0f} MB"]
            lines.append([f"{runtime}, {name.split()[-1]}", *(f"{time:.0f}" for time in times), *cost])
    return markdown_table(["µs a text", *(f"{words} words" for words in WORDS), "file", "load", "memory"], lines)
