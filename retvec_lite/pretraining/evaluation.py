"""The evaluation of word embeddings: how well they see through typos, language by language, beside others."""

import contextlib
import io
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retvec_lite.arguments import checked
from retvec_lite.data.dataset import read_dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_directory, refuse_existing_folder
from retvec_lite.model.weight_files import load_default_embedding, load_embedding
from retvec_lite.pretraining.measures import (
    FLOAT32,
    PRECISIONS,
    FileScores,
    SetScores,
    at_every_precision,
    better_in,
    score,
)
from retvec_lite.pretraining.retrieval import (
    CANDIDATES,
    FEWEST_QUERIES,
    language_set,
    misspelling_set,
    word_sources,
)
from retvec_lite.terminal import Progress, Table, draw, watched

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT_FILES: Final = ("embedding.json", "embedding.md", "embedding.png", "embedding-found.png")

_PAIRS: Final = "#2a6fbb"
_RANDOMS: Final = "#d98032"
_LONGEST_NAME: Final = 40
"""Characters of a file's name in a plot; a longer one would leave no room for the points."""

_DOTS: Final = (_PAIRS, _RANDOMS, "#4c9f70", "#8a5fb0", "#7f7f7f")
_MARKERS: Final = ("o", "s", "^", "D", "v")


@dataclass(frozen=True)
class EmbeddingEvaluation:
    """What `evaluate_embedding` measured; `print` shows it as tables.

    Attributes:
        files: scores of each file, in the order they were named.
        skipped: languages with too few words to ask for.
        queries: mistyped words per language, at most.
        seed: of the typos.
    """

    files: tuple[FileScores, ...]
    skipped: tuple[str, ...]
    queries: int
    seed: int

    def __str__(self) -> str:
        """Return tables, and sentences that compare the files."""
        return draw(*tables(self.files), *sentences(self.files, self.skipped))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        one, *others = self.files
        comparisons = []
        for other in others:
            better, worse = better_in(one, other)
            comparisons.append({"against": other.name, "better_in": better, "worse_in": worse})
        return {
            "seed": self.seed,
            "queries": self.queries,
            "files": [scores.to_dict() for scores in self.files],
            "comparisons": comparisons,
            "skipped": list(self.skipped),
        }


@checked
def evaluate_embedding(
    file: str | os.PathLike[str],
    *,
    against: Iterable[str | os.PathLike[str]] = (),
    words: str | os.PathLike[str] | None = None,
    misspellings: str | os.PathLike[str] | None = None,
    languages: Sequence[str] | None = None,
    trained_on: Iterable[str | os.PathLike[str]] = (),
    queries: int = 500,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | bool | None = None,
) -> EmbeddingEvaluation:
    """Measure how well a word embedding sees through typos, language by language, beside others.

    Mistyped words that pre-training never saw are looked up, by cosine, among 10,000 words of their language.

    Args:
        file: embedding file (.safetensors), or `default` for the one in the package.
        against: other embedding files to compare with.
        words: folder of frequency lists `<language>.csv` with the columns `word` and `count`. Languages that it lacks use
            the words of wordfreq that pre-training leaves out.
        misspellings: human misspellings of English words, a labelled file: text as written, label the right word.
        languages: only these; None for all 42 of wordfreq and those of `words`.
        trained_on: word lists that an embedding was pre-trained on besides `wordfreq`: their words are not asked for.
        queries: mistyped words per language, at most.
        seed: of the typos.
        out: folder for the report as JSON, Markdown and plots.
        force: replace an earlier report.
        progress: True for a progress bar, or a callback.

    Raises:
        RetvecLiteError: for a file that cannot be read, an option out of range, a folder that cannot be written, or when no
            language has enough words.

    Example:
        >>> import retvec_lite as rl
        >>> evaluation = rl.evaluate_embedding("default", languages=["lt"], queries=50)
        >>> evaluation.files[0].found("int8") > 0.5
        True
    """
    for name, value, least in (("queries", queries, 1), ("seed", seed, 0)):
        if value < least:
            raise RetvecLiteError(f"{name} must be at least {least}, not {value}.")
    if out is not None:
        refuse_existing_folder(out, force)
        import matplotlib.figure  # noqa: F401 - what is missing is found before the work
    paths = [Path(file), *map(Path, against)]
    embeddings = [load_default_embedding() if path == Path("default") else load_embedding(path) for path in paths]
    pairs = read_dataset(misspellings) if misspellings is not None else None
    sources = word_sources(None if words is None else Path(words), languages, list(map(Path, trained_on)))
    human = misspelling_set(pairs, seed=seed, queries=queries) if pairs else None
    # Opened before the work: a place that cannot be written must not cost a result.
    with contextlib.nullcontext() if out is None else atomic_directory(out, force=force, owned=REPORT_FILES) as report:
        files = [at_every_precision(embedding) for embedding in embeddings]
        scores: list[list[SetScores]] = [[] for _ in files]
        skipped = []
        with watched(progress) as tell:
            for done, source in enumerate(sources, 1):
                asked = language_set(source, seed=seed, queries=queries)
                if asked is None:
                    skipped.append(source.language)
                else:
                    for rounded, found in zip(files, scores, strict=True):
                        found.append(score(rounded, asked))
                tell("measuring", done, len(sources))
        if len(skipped) == len(sources):
            raise RetvecLiteError(f"No language has {FEWEST_QUERIES} words that pre-training never saw.")
        people = [None if human is None else score(rounded, human) for rounded in files]
        found_by = map(FileScores, file_names(paths), map(tuple, scores), people)
        evaluation = EmbeddingEvaluation(tuple(found_by), tuple(skipped), queries, seed)
        if report is not None:
            _write_report(report, evaluation)
    return evaluation


def file_names(paths: Sequence[Path]) -> list[str]:
    """Return how reports call the files: by stem, by path where two stems are equal, numbered where two paths are."""
    stems = [path.stem for path in paths]
    names = [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, paths, strict=True)]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: index + 1].count(name)})"
        for index, name in enumerate(names)
    ]


def _write_report(folder: Path, evaluation: EmbeddingEvaluation) -> None:
    facts = json.dumps(evaluation.to_dict(), indent=1, ensure_ascii=False) + "\n"
    for name, text in (("embedding.json", facts), ("embedding.md", markdown(evaluation.files, evaluation.skipped))):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    (folder / "embedding.png").write_bytes(box_plot(evaluation.files))
    if len(evaluation.files) > 1:
        (folder / "embedding-found.png").write_bytes(dot_plot(evaluation.files))


def tables(files: Sequence[FileScores]) -> list[Table]:
    """Return everything that was measured of the first file, beside the others."""
    return [
        _summary(files),
        _languages(files),
        _more_languages(files),
        _shares("Right word found, one typo of one kind", "kind of typo", files, FileScores.kinds),
        _shares("Right word found, by script of the word", "script", files, FileScores.scripts),
    ]


def sentences(files: Sequence[FileScores], skipped: Sequence[str]) -> list[str]:
    """Return what the tables do not say: which file is better where, and which languages were skipped."""
    one, *others = files
    found = []
    for other in others:
        better, worse = better_in(one, other)
        where = f"; worse in {', '.join(worse)}" if worse else ""
        found.append(f"{one.name} is better than {other.name} in {better} of {len(one.languages)} languages{where}.")
    if skipped:
        found.append(f"Skipped, too few words that pre-training never saw: {', '.join(skipped)}.")
    return found


def markdown(files: Sequence[FileScores], skipped: Sequence[str]) -> str:
    """Return the whole report as a Markdown document."""
    parts = [
        f"# Embedding {files[0].name}",
        f"Found: share of mistyped words whose nearest neighbour by cosine among {CANDIDATES:,} words of the language is "
        "the right one. No word that is asked for was seen in pre-training.",
        *sentences(files, skipped),
    ]
    for table in tables(files):
        lines = [
            f"## {table.title}\n",
            _markdown_row(table.columns),
            "|" + "".join("---:|" if column in table.right else "---|" for column in table.columns),
        ]
        parts.append("\n".join([*lines, *map(_markdown_row, table.rows)]))
    return "\n\n".join(parts) + "\n"


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Table:
    """Return a table whose first `words` columns are text, and the others numbers."""
    return Table(title, tuple(columns), tuple(map(tuple, rows)), right=frozenset(columns[words:]))


def _summary(files: Sequence[FileScores]) -> Table:
    one, precisions = files[0], (FLOAT32, *PRECISIONS)
    rows = [(f"right word found, {name}", *_compared([scores.found(name) for scores in files])) for name in precisions]
    pairs, randoms = zip(*(scores.cosines() for scores in files), strict=True)
    rows += [
        ("cosine of a word and its mistyped form", *_compared(pairs)),
        ("cosine of random pairs", *_compared(randoms)),
        ("gap", *_compared(np.subtract(pairs, randoms).tolist())),
    ]
    for name in PRECISIONS:
        rows.append((f"{name}: cosine to float32", *_compared([scores.cosine_to_float(name) for scores in files], 5)))
    if one.misspellings is not None:
        asked = [scores.misspellings for scores in files if scores.misspellings is not None]
        what = f"{one.misspellings.found[FLOAT32].queries:,} human misspellings"
        for name in precisions:
            rows.append((f"{what}, {name}", *_compared([scores.found[name].share for scores in asked])))
        rows.append((f"{what}, gap", *_compared([scores.gap for scores in asked])))
    return _table(f"Mean over {len(one.languages)} languages", ("measure", *_names(files)), rows)


def _languages(files: Sequence[FileScores]) -> Table:
    rows = []
    for beside in zip(*(scores.languages for scores in files), strict=True):
        found = [scores.found[FLOAT32] for scores in beside]
        cells = (beside[0].name, beside[0].source, str(found[0].queries))
        rows.append((*cells, *_compared([one.share for one in found])))
    return _table("Right word found", ("language", "words", "queries", *_names(files)), rows, words=2)


def _more_languages(files: Sequence[FileScores]) -> Table:
    columns = [f"{what} {scores.name}" for what in ("int4", "gap") for scores in files]
    rows = []
    for beside in zip(*(scores.languages for scores in files), strict=True):
        shares = [f"{scores.found['int4'].share:.3f}" for scores in beside]
        rows.append((beside[0].name, *shares, *(f"{scores.gap:.3f}" for scores in beside)))
    return _table("Right word found as int4, and the gap of cosines", ("language", *columns), rows)


def _shares(
    title: str, column: str, files: Sequence[FileScores], pick: Callable[[FileScores], dict[str, Any]]
) -> Table:
    beside = [pick(scores) for scores in files]
    rows = [
        (name.replace("_", " "), f"{share.queries:,}", *_compared([found[name].share for found in beside]))
        for name, share in beside[0].items()
    ]
    return _table(title, (column, "queries", *_names(files)), rows)


def _names(files: Sequence[FileScores]) -> list[str]:
    """Return headings: each file, and after each but the first how far the first is above it."""
    headings = [files[0].name]
    for scores in files[1:]:
        headings += [scores.name, "difference"]
    return headings


def _compared(values: Sequence[float], digits: int = 3) -> list[str]:
    """Return the first value, and each other value with how far the first is above it."""
    cells = [f"{values[0]:.{digits}f}"]
    for value in values[1:]:
        cells += [f"{value:.{digits}f}", f"{values[0] - value:+.{digits}f}"]
    return cells


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def box_plot(files: Sequence[FileScores]) -> bytes:
    """Return a PNG, a panel for each file: cosine of words and their mistyped forms by language, beside random pairs."""
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
            line = {"color": colour, "linewidth": 0.8}
            axes.boxplot(
                values, positions=np.arange(languages) + offset, widths=0.3, whis=(5, 95), showfliers=False,
                patch_artist=True, manage_ticks=False, whiskerprops=line, capprops=line,
                medianprops={"color": "black", "linewidth": 0.9},
                boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.75, "linewidth": 0.6},
            )  # fmt: skip
            axes.fill_between([], [], color=colour, alpha=0.75, label=label)  # the legend's patch
        axes.set(title=_plain(scores.name), ylabel="cosine")
    panels[0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False)
    return _png(figure, [files[0].languages[index].name for index in order])


def dot_plot(files: Sequence[FileScores]) -> bytes:
    """Return a PNG: right words found by language, a colour and a shape for each file."""
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
    axes.legend(loc="lower left")
    return _png(figure, [files[0].languages[index].name for index in order])


def _plain(name: str) -> str:
    """Return a name for matplotlib: the end of a long path, and dollar signs, which would start mathematics, escaped."""
    shown = name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"
    return shown.replace("$", r"\$")


def _figure(width: float, height: float) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _png(figure: "Figure", languages: Sequence[str]) -> bytes:
    """Name the languages below the last panel, and return the picture."""
    for axes in figure.axes:
        axes.grid(axis="y", alpha=0.3)
    rotation = 0 if max(map(len, languages)) < 4 else 90
    figure.axes[-1].set_xticks(range(len(languages)), list(map(_plain, languages)), fontsize=8, rotation=rotation)
    figure.axes[-1].set_xlim(-0.8, len(languages) - 0.2)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=130, metadata={"Software": None})
    return picture.getvalue()
