"""The plots: accuracy over the share of mistyped words, over the number of training texts, and against a cost."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from retvec_lite.files import atomic_write

_MARKERS: Final = "osD^vP*X<>hp"
_DASHES: Final = ("-", "--", ":")


class Point(NamedTuple):
    """One file in a plot of accuracy against a cost.

    Points of one `line` are joined and labelled once; `family` decides the color, `variant` the marker.
    """

    line: str
    family: str
    variant: str
    cost: float
    accuracy: float


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """Return the Pareto front: points that no other matches in accuracy at the same cost or less, cheapest first."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.cost, -point.accuracy)):
        if not front or point.accuracy > front[-1].accuracy:
            front.append(point)
    return front


def curve_styles(panels: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return system -> color and marker, the same in all panels; the panel with most systems comes first."""
    fullest_first = sorted(panels.values(), key=len, reverse=True)
    names = dict.fromkeys(name for curves in fullest_first for name in curves)
    return {name: {"color": f"C{place}", "marker": _MARKERS[place % len(_MARKERS)]} for place, name in enumerate(names)}


def draw_curves(
    panels: Mapping[str, Mapping[str, Sequence[tuple[float, float, float]]]], path: Path, xlabel: str
) -> None:
    """Draw curves with a band of one standard deviation, one panel for each title, three a row, as PNG.

    Args:
        panels: title -> system -> (share 0..1, mean accuracy, standard deviation).
        path: the .png file.
        xlabel: label of the horizontal axes.
    """
    figure, axes = new_figure(len(panels), columns=min(3, len(panels)))
    styles = curve_styles(panels)
    for axis, (title, curves) in zip(axes, panels.items(), strict=False):
        for name, points in curves.items():
            shares = [100 * share for share, _, _ in points]
            line = axis.plot(
                shares,
                [mean for _, mean, _ in points],
                **styles[name],
                markersize=4,
                label=name,
            )[0]
            if any(deviation for *_, deviation in points):
                low, high = zip(*((mean - deviation, mean + deviation) for _, mean, deviation in points), strict=True)
                axis.fill_between(shares, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        axis.set(xlabel=xlabel, ylabel="accuracy", title=title)
        axis.grid(alpha=0.3)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    _legend(figure, styles, {})
    save(figure, path)


def draw_learning_curves(
    panels: Mapping[str, Mapping[str, Mapping[str, Sequence[tuple[float, float, float]]]]], path: Path
) -> None:
    """Draw accuracy over the number of texts a label with a band of one standard error, three panels a row, as PNG.

    Args:
        panels: title -> system -> kind of test texts, drawn solid, dashed, dotted -> (texts a label, mean accuracy,
            standard error).
        path: the .png file.
    """
    figure, axes = new_figure(len(panels), columns=min(3, len(panels)))
    styles = curve_styles(panels)
    kinds = dict.fromkeys(kind for curves in panels.values() for lines in curves.values() for kind in lines)
    dashes = dict(zip(kinds, _DASHES, strict=False))
    for axis, (title, curves) in zip(axes, panels.items(), strict=False):
        for name, lines in curves.items():
            for kind, points in lines.items():
                numbers, means, errors = zip(*points, strict=True)
                axis.plot(numbers, means, **styles[name], linestyle=dashes[kind], markersize=4)
                low, high = zip(
                    *((mean - error, mean + error) for mean, error in zip(means, errors, strict=True)), strict=True
                )
                axis.fill_between(numbers, low, high, color=styles[name]["color"], alpha=0.15, linewidth=0)
        axis.set(xscale="log", xlabel="training texts a label", ylabel="accuracy", title=title)
        _plain_logarithmic(axis)
        axis.set_xticks(
            sorted({number for lines in curves.values() for found in lines.values() for number, *_ in found})
        )
        axis.grid(alpha=0.3)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    _legend(figure, styles, dashes)
    save(figure, path)


def _legend(figure: Any, styles: Mapping[str, Mapping[str, Any]], dashes: Mapping[str, str]) -> None:
    """Add a legend below the panels: systems by color and marker, test texts by line."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **style, markersize=4, label=name) for name, style in styles.items()]
    handles += [Line2D([], [], color="0.3", linestyle=dash, label=kind) for kind, dash in dashes.items()]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=min(len(handles), 5), fontsize="small", frameon=False
    )


def draw_pareto(panels: Mapping[str, Sequence[Point]], path: Path) -> None:
    """Draw accuracy over a cost on a logarithmic axis, with the Pareto front, as PNG.

    Args:
        panels: label of the cost -> points.
        path: the .png file.
    """
    figure, axes = new_figure(len(panels))
    everything = [point for points in panels.values() for point in points]
    colors = {family: f"C{place}" for place, family in enumerate(dict.fromkeys(point.family for point in everything))}
    markers = dict(zip(dict.fromkeys(point.variant for point in everything), _MARKERS * 9, strict=False))
    for axis, (label, points) in zip(axes, panels.items(), strict=True):
        front = pareto_front(points)
        dearest = max(point.cost for point in points)
        axis.step(
            [*(point.cost for point in front), dearest],
            [*(point.accuracy for point in front), front[-1].accuracy],
            where="post",
            color="0.6",
            linestyle=":",
            zorder=1,
        )
        for family, color in colors.items():
            for line in dict.fromkeys(point.line for point in points if point.family == family):
                members = sorted(point for point in points if (point.family, point.line) == (family, line))
                members.sort(key=lambda point: point.cost)
                axis.plot(
                    [p.cost for p in members], [p.accuracy for p in members], color=color, linewidth=0.8, zorder=2
                )
                for point in members:
                    axis.plot(point.cost, point.accuracy, color=color, marker=markers[point.variant], zorder=3)
                axis.annotate(
                    line,
                    (members[0].cost, members[0].accuracy),
                    xytext=(-7, 0),
                    textcoords="offset points",
                    ha="right",
                    va="center",
                    fontsize=7,
                    color=color,
                )
        axis.set(xscale="log", xlabel=label, ylabel="accuracy")
        _plain_logarithmic(axis)
        axis.margins(x=0.2, y=0.15)
        axis.grid(alpha=0.3)
    _pareto_legend(figure, colors, markers)
    save(figure, path)


def _plain_logarithmic(axis: Any) -> None:
    """Set a few ticks in each power of ten, written as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _pareto_legend(figure: Any, colors: Mapping[str, str], markers: Mapping[str, str]) -> None:
    """Add a legend below the panels: systems by color, recipes by marker, the front."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=color, linewidth=3, label=family) for family, color in colors.items()]
    handles += [
        Line2D([], [], color="0.3", linestyle="", marker=marker, label=variant) for variant, marker in markers.items()
    ]
    handles.append(Line2D([], [], color="0.6", linestyle=":", label="Pareto front"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize="small", frameon=False)


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
