"""The paper's box plot of cosines by language, and right words found by language as dots."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from retvec_lite.pretraining.measures import FLOAT32, FileScores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PAIRS: Final = "#2a6fbb"
_RANDOMS: Final = "#d98032"
_DOTS: Final = (_PAIRS, _RANDOMS, "#4c9f70", "#8a5fb0", "#7f7f7f")
_MARKERS: Final = ("o", "s", "^", "D", "v")


def box_plot(files: Sequence[FileScores]) -> bytes:
    """Cosine of words and their mistyped forms by language, beside that of random pairs: a PNG, a panel for each file."""
    languages = len(files[0].languages)
    figure = _figure(width=max(6.0, 2.0 + 0.28 * languages), height=0.6 + 3.4 * len(files))
    panels = figure.subplots(len(files), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    order = np.argsort([-np.median(scores.pairs) for scores in files[0].languages], kind="stable")
    for axes, scores in zip(panels, files, strict=True):
        ordered = [scores.languages[index] for index in order]
        for offset, colour, label, values in (
            (-0.18, _PAIRS, "a word and its mistyped form", [item.pairs for item in ordered]),
            (0.18, _RANDOMS, "random pairs", [item.randoms for item in ordered]),
        ):
            axes.boxplot(
                values,
                positions=np.arange(languages) + offset,
                widths=0.3,
                whis=(5, 95),
                showfliers=False,
                patch_artist=True,
                manage_ticks=False,
                boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.75, "linewidth": 0.6},
                medianprops={"color": "black", "linewidth": 0.9},
                whiskerprops={"color": colour, "linewidth": 0.8},
                capprops={"color": colour, "linewidth": 0.8},
            )
            axes.fill_between([], [], color=colour, alpha=0.75, label=label)  # the legend's patch
        axes.set(title=_plain(scores.name), ylabel="cosine")
        axes.grid(axis="y", alpha=0.3)
    panels[0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False)
    _name_languages(panels[-1], [files[0].languages[index].name for index in order])
    return _png(figure)


def dot_plot(files: Sequence[FileScores]) -> bytes:
    """Right words found by language, a colour and a shape for each file: a PNG."""
    languages = len(files[0].languages)
    figure = _figure(width=max(6.0, 2.0 + 0.24 * languages), height=4.2)
    axes = figure.subplots()
    shares = np.asarray([[item.found[FLOAT32].share for item in scores.languages] for scores in files])
    order = np.argsort(-shares[0], kind="stable")
    places = np.arange(languages)
    axes.vlines(places, shares.min(axis=0)[order], shares.max(axis=0)[order], color="#bbbbbb", linewidth=1.2, zorder=1)
    for index, scores in enumerate(files):
        colour, marker = _DOTS[index % len(_DOTS)], _MARKERS[index % len(_MARKERS)]
        label = f"mean {scores.found(FLOAT32):.3f}: {_plain(scores.name)}"
        axes.scatter(places, shares[index][order], color=colour, marker=marker, s=26, label=label, zorder=2)
    axes.set(ylabel="right word found", ylim=(max(0.0, np.floor(10 * shares.min() - 0.5) / 10), 1.0))
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="lower left")
    _name_languages(axes, [files[0].languages[index].name for index in order])
    return _png(figure)


def _plain(name: str) -> str:
    """A name for matplotlib, which reads what stands between dollars as mathematics."""
    return name.replace("$", r"\$")


def _name_languages(axes: Axes, names: Sequence[str]) -> None:
    axes.set_xticks(
        np.arange(len(names)),
        [_plain(name) for name in names],
        fontsize=8,
        rotation=0 if max(map(len, names)) < 4 else 90,
    )
    axes.set_xlim(-0.8, len(names) - 0.2)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _png(figure: Figure) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=130, metadata={"Software": None})
    return picture.getvalue()
