"""The tables and the plot of `latency.py`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.common import Row
from benchmarks.tables.cells import kilobytes, markdown_table
from benchmarks.tables.plots import new_figure, save

_COLOURS: Final = {"float32": "#2a6fbb", "int8-dynamic": "#d98032"}


def tables(found: Mapping[str, Sequence[Row]]) -> str:
    ours = [*found["ai-edge-litert"], *found["tflite-runtime"]]
    parts = [
        _share_table(ours) if ours else "",
        *_time_tables(ours),
        _start_table(found["start"]) if found["start"] else "",
    ]
    return "\n".join(part for part in parts if part)


def _time_tables(rows: Sequence[Row]) -> Iterable[str]:
    """Yield a table for each runtime, number of threads and set of lengths: names down, words across."""
    for runtime, threads in dict.fromkeys((row["runtime"], row["threads"]) for row in rows):
        chosen = [row for row in rows if (row["runtime"], row["threads"]) == (runtime, threads)]
        times: dict[str, dict[int, float]] = {}
        for row in chosen:
            times.setdefault(row["name"], {})[row["words"]] = row["microseconds"]
        for words in dict.fromkeys(tuple(found) for found in times.values()):
            title = f"{runtime}, {threads} thread{'s' if threads > 1 else ''}"
            yield f"**{title}**\n\n" + markdown_table(
                ["microseconds", *(f"{count} words" for count in words)],
                [
                    [name, *(f"{time:.0f}" for time in found.values())]
                    for name, found in times.items()
                    if tuple(found) == words
                ],
            )


def _share_table(rows: Sequence[Row]) -> str:
    """Return the encoder's share of the time: 1 - network / plain."""
    lines = []
    for runtime in dict.fromkeys(row["runtime"] for row in rows):
        times = _by_name([row for row in rows if row["threads"] == 1 and row["runtime"] == runtime])
        for (name, words), whole in times.items():
            network = times.get((name.replace(", plain", ", network"), words))
            if name.endswith(", plain") and words == 60 and network:
                label = name.removesuffix(", plain")
                lines.append([runtime, label, f"{whole - network:.0f} µs", f"{1 - network / whole:.0%}"])
    return "**the encoder's share, 60 words in 64 slots, one thread**\n\n" + markdown_table(
        ["runtime", "file", "encoder", "share"], lines
    )


def _start_table(rows: Sequence[Row]) -> str:
    lines = [
        [row["runtime"], row["name"], kilobytes(row["bytes"])]
        + [f"{row[name]:.1f} ms" for name in ("import_ms", "load_ms", "first_ms")]
        + [f"{row['second_ms'] * 1000:.0f} µs", f"{row['resident_mb']:.0f} MB"]
        for row in rows
    ]
    header = ["runtime", "file", "size", "import of the runtime", "load", "first answer", "second", "resident"]
    title = "**start (processor time) and memory of a process that only classifies**"
    return f"{title}\n\n{markdown_table(header, lines)}"


def _points(rows: Sequence[Row], name: str) -> list[tuple[int, float]]:
    return [(row["words"], row["microseconds"]) for row in rows if row["name"] == name and "words" in row]


def _by_name(rows: Iterable[Row]) -> dict[tuple[str, int], float]:
    return {(row["name"], row["words"]): row["microseconds"] for row in rows}


def curve_plot(rows: Sequence[Row], file: Path) -> None:
    """Plot cost against words as PNG: `TextClassifier`, and the full graph alone."""
    figure, (axes, *_) = new_figure(1)
    for recipe, colour in _COLOURS.items():
        if points := _points(rows, f"pool {recipe}, classifier"):
            axes.plot(*zip(*points, strict=True), "o-", color=colour, label=f"{recipe}, TextClassifier")
        if points := _points(rows, f"pool {recipe}, plain"):
            axes.plot(*zip(*points, strict=True), ":", color=colour, label=f"{recipe}, graph of 64 slots alone")
    axes.set(xlabel="words of the text", ylabel="microseconds", xlim=(0, None), ylim=(0, None))
    axes.set_xticks(range(0, 65, 8))
    axes.grid(alpha=0.3)
    figure.legend(frameon=False, loc="outside lower center", ncols=2, fontsize="small")
    save(figure, file)
