"""The plots: accuracy over the share of mistyped words and over the number of training texts; heat maps."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.files import atomic_write

_MARKERS: Final = "osD^vP*X<>hp"
_DASHES: Final = ("-", "--", ":")


def curve_styles(panels: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return system -> color and marker, the same in all panels; the panel with most systems comes first."""
    fullest_first = sorted(panels.values(), key=len, reverse=True)
    names = dict.fromkeys(name for curves in fullest_first for name in curves)
    return {name: {"color": f"C{place}", "marker": _MARKERS[place % len(_MARKERS)]} for place, name in enumerate(names)}


Points = Sequence[tuple[float, float, float]]
"""Points of a curve: share 0..1 or number of texts, mean accuracy, half the width of the band around it."""


def draw_curves(
    panels: Mapping[str, Mapping[str, Mapping[str, Points]]], path: Path, xlabel: str, *, logarithmic: bool = False
) -> None:
    """Draw curves with a band around them, three panels a row, as PNG.

    Args:
        panels: title -> system -> kind of test texts, drawn solid, dashed, dotted -> points.
        path: the .png file.
        xlabel: label of the horizontal axes.
        logarithmic: numbers on a logarithmic axis instead of shares in percent.
    """
    figure, axes = new_figure(len(panels), columns=min(3, len(panels)))
    styles = curve_styles(panels)
    kinds = dict.fromkeys(kind for curves in panels.values() for lines in curves.values() for kind in lines)
    dashes = dict(zip(kinds, _DASHES, strict=False))
    for axis, (title, curves) in zip(axes, panels.items(), strict=False):
        places: set[float] = set()
        for name, lines in curves.items():
            for kind, points in lines.items():
                across, means, widths = (np.array(values) for values in zip(*points, strict=True))
                across = across if logarithmic else 100 * across
                places |= set(across.tolist())
                axis.plot(across, means, **styles[name], linestyle=dashes[kind], markersize=4)
                axis.fill_between(
                    across, means - widths, means + widths, color=styles[name]["color"], alpha=0.15, linewidth=0
                )
        axis.set(xlabel=xlabel, ylabel="accuracy", title=title)
        if logarithmic:
            axis.set(xscale="log")
            _plain_logarithmic(axis)
            axis.set_xticks(sorted(places))
        axis.grid(alpha=0.3)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    marks = [{**style, "markersize": 4, "label": name} for name, style in styles.items()]
    if len(dashes) > 1:
        marks += [{"color": "0.3", "linestyle": dash, "label": kind} for kind, dash in dashes.items()]
    _legend(figure, marks, 5)
    save(figure, path)


def _legend(figure: Any, marks: Sequence[Mapping[str, Any]], columns: int) -> None:
    """Add a legend below the panels."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **mark) for mark in marks]
    columns = min(len(handles), columns)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize="small", frameon=False)


def _plain_logarithmic(axis: Any) -> None:
    """Set a few ticks in each power of ten, written as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())


def draw_heat_maps(
    panels: Mapping[str, Sequence[Sequence[float]]], rows: Sequence[str], columns: Sequence[str], path: Path
) -> None:
    """Draw tables of shares as PNG, side by side.

    Args:
        panels: title -> values, 0..1 `[rows, columns]`; 1 is white and 0 dark, or the other way round if its first value is below .5.
        rows: names of the lines.
        columns: names of the columns.
        path: the .png file.
    """
    figure, axes = new_figure(len(panels))
    figure.set_size_inches(3.6 + 0.44 * max(4, len(columns)) * len(panels), 1.8 + 0.2 * len(rows))
    for axis, (title, values) in zip(axes, panels.items(), strict=True):
        table = np.array(values)
        darkness = 1 - table if table[0, 0] >= 0.5 else table
        axis.imshow(darkness, cmap="Oranges", vmin=0, vmax=1, aspect="auto")
        for (row, column), share in np.ndenumerate(table):
            color = "white" if darkness[row, column] > 0.7 else "black"
            label = "" if np.isnan(share) else f"{share:.2f}".removeprefix("0")
            axis.text(column, row, label, ha="center", va="center", fontsize=7, color=color)
        axis.set_xticks(range(len(columns)), columns, rotation=40, ha="right", fontsize=8)
        axis.set_yticks(range(len(rows)), rows if axis is axes[0] else [], fontsize=8)
        axis.tick_params(length=0)
        axis.set_title(title, fontsize=9)
    save(figure, path)


def new_figure(panels: int, columns: int = 0) -> tuple[Any, list[Any]]:
    """Return a figure and its axes, row by row, at least so many as panels; `columns` 0 puts all in one row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = columns or panels
    rows = -(-panels // columns)
    # Three panels beside each other are shown small, so their letters must be large.
    width, height = (4.4, 3.4) if columns > 2 else (6.4, 4.6)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150, metadata={"Software": None})
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, picture.getvalue())
