"""The evaluation of word embeddings: how well they see through typos, language by language, beside others."""

import dataclasses
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from makers.embedding.retrieval import (
    FEWEST_QUERIES,
    RetrievalSet,
    language_set,
    misspelling_set,
    normalized,
    word_sources,
)
from makers.embedding.word_typos import Indices, Mask
from retvec_lite.contract import Floats, Ints, bits
from retvec_lite.data.dataset import read_dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write
from retvec_lite.model import load_tensorflow
from retvec_lite.model.weight_files import LAYERS, Embedding, load_default_embedding, load_embedding
from retvec_lite.terminal import Table, draw, watched

PLOT: Final = "evaluation.png"

_ROWS: Final = 1024
"""Words embedded at once: their hidden layers (a megabyte each) stay in the processor's cache."""

_COLOURS: Final = ("#2a6fbb", "#d98032", "#4c9f70", "#8a5fb0", "#7f7f7f")
_MARKERS: Final = ("o", "s", "^", "D", "v")


class Share(NamedTuple):
    """How many of so many queries have the right one as their nearest candidate by cosine."""

    found: int
    queries: int

    @property
    def share(self) -> float:
        """The share, from 0 to 1."""
        return self.found / self.queries


@dataclasses.dataclass(frozen=True)
class SetScores:
    """One embedding on one retrieval set.

    Attributes:
        name: the set's.
        source: where its words come from.
        float32: right words found.
        int4: right words found by kernels on a 4-bit grid.
        pairs: mean cosine of each word and its mistyped form.
        randoms: mean cosine of each word and the mistyped form of another.
        kinds: kind of typo -> right words found of words mistyped by it alone.
    """

    name: str
    source: str
    float32: Share
    int4: Share
    pairs: float
    randoms: float
    kinds: Mapping[str, Share]


@dataclasses.dataclass(frozen=True)
class FileScores:
    """One embedding on everything.

    Attributes:
        name: how tables call the file.
        languages: a score for each language, in the order of the sets.
        misspellings: people's own, where they were asked for.
    """

    name: str
    languages: Sequence[SetScores]
    misspellings: SetScores | None

    def mean(self, number: Callable[[SetScores], float]) -> float:
        """Return the mean of a number over languages."""
        return float(np.mean([number(scores) for scores in self.languages]))

    def kinds(self) -> dict[str, Share]:
        """Return the right words found for each kind of typo, of the words of all languages together."""
        pooled: dict[str, Share] = {}
        for scores in self.languages:
            for name, share in scores.kinds.items():
                before = pooled.get(name, Share(0, 0))
                pooled[name] = Share(before.found + share.found, before.queries + share.queries)
        return pooled


def evaluate_embeddings(
    paths: Sequence[Path], words: Path | None, misspellings: Path | None, out: Path, *, queries: int = 500
) -> str:
    """Measure embeddings, draw a plot, and return tables for a terminal.

    Mistyped words that pre-training never saw are looked up, by cosine, among 10,000 words of their language. The same is asked of all.

    Args:
        paths: embedding files; `default` is the one in the package. The first is compared with the others.
        words: folder of frequency lists, see `word_sources`.
        misspellings: human misspellings of English words: text as written, label the right word.
        out: folder of the plot.
        queries: mistyped words of a language, at most.

    Raises:
        RetvecLiteError: for a file that cannot be read, or when no language has enough words.
    """
    files = [load_default_embedding() if path == Path("default") else load_embedding(path) for path in paths]
    pairs = None if misspellings is None else read_dataset(misspellings)
    sources = word_sources(words)
    human = None if pairs is None else misspelling_set(pairs, queries=queries)
    rounded = [on_four_bits(embedding) for embedding in files]
    scores: list[list[SetScores]] = [[] for _ in files]
    skipped = []
    with watched(True) as progress:
        for done, source in enumerate(sources, 1):
            asked = language_set(source, queries=queries)
            if asked is None:
                skipped.append(source.language)
            else:
                for found, exact, coarse in zip(scores, files, rounded, strict=True):
                    found.append(score(exact, coarse, asked))
            progress("measuring", done, len(sources))
    if len(skipped) == len(sources):
        raise RetvecLiteError(f"No language has {FEWEST_QUERIES} words that pre-training never saw.")
    people = [None if human is None else score(*both, human) for both in zip(files, rounded, strict=True)]
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        names = list(map(str, paths))
    measured = [FileScores(*each) for each in zip(names, scores, people, strict=True)]
    atomic_write(out / PLOT, dot_plot(measured))
    return draw(*tables(measured), *sentences(measured, skipped), f"Written to {out / PLOT}.")


def score(exact: Embedding, coarse: Embedding, asked: RetrievalSet) -> SetScores:
    """Score an embedding and its form on a 4-bit grid on one set; kinds of typos in float32 only."""
    answers = asked.queries.answers
    candidates, queries = embed(exact, asked.candidates), embed(exact, asked.queries.words)
    right = four_bits = _right(candidates, queries, answers)
    if coarse is not exact:
        four_bits = _right(embed(coarse, asked.candidates), embed(coarse, asked.queries.words), answers)
    kinds = {
        kind: _share(_right(candidates, embed(exact, mistyped.words), mistyped.answers))
        for kind, mistyped in asked.by_kind.items()
    }
    words = candidates[answers]
    # Answers are in order of frequency: half the list away is another word, not its neighbour in the alphabet.
    others = np.roll(queries, max(len(queries) // 2, 1), axis=0)
    pairs, randoms = (float(np.einsum("nd,nd->n", words, each).mean()) for each in (queries, others))
    return SetScores(asked.name, asked.source, _share(right), _share(four_bits), pairs, randoms, kinds)


def _right(candidates: Floats, queries: Floats, answers: Indices) -> Mask:
    nearest: Mask = (queries @ candidates.T).argmax(axis=1) == answers
    return nearest


def _share(right: Mask) -> Share:
    return Share(int(right.sum()), len(right))


def embed(embedding: Embedding, words: Ints) -> Floats:
    """Return the embeddings of words int32 [N, 16], padded or cut off to its length, scaled to length 1: float32 [N, D]."""
    load_tensorflow()
    from retvec_lite.model.network_graph import embed_bits

    fitted = np.zeros((len(words), embedding.word_length), np.int32)
    kept = words[:, : embedding.word_length]
    fitted[:, : kept.shape[1]] = kept
    parts = [
        embed_bits(bits(fitted[start : start + _ROWS]), embedding.weights).numpy()
        for start in range(0, len(words), _ROWS)
    ]
    return normalized(np.concatenate(parts))


def on_four_bits(embedding: Embedding) -> Embedding:
    """Return an embedding as an int4 file stores it; the same object where its kernels are on their grids already."""
    load_tensorflow()
    from retvec_lite.model.grid import FOUR_BITS, snap

    names = [f"embedding/{layer}/kernel" for layer in LAYERS]
    snapped = {name: snap(embedding.weights[name], FOUR_BITS) for name in names}
    if all(np.array_equal(embedding.weights[name], kernel) for name, kernel in snapped.items()):
        return embedding
    return dataclasses.replace(embedding, weights={**embedding.weights, **snapped})


def tables(files: Sequence[FileScores]) -> list[Table]:
    """Return everything that was measured of the first file, beside the others."""
    one, names = files[0], _names(files)
    rows = [
        (what, *_compared([scores.mean(number) for scores in files]))
        for what, number in (
            ("right word found, float32", lambda scores: scores.float32.share),
            ("right word found, int4", lambda scores: scores.int4.share),
            ("cosine of a word and its mistyped form", lambda scores: scores.pairs),
            ("cosine of random pairs", lambda scores: scores.randoms),
        )
    ]
    people = [scores.misspellings for scores in files if scores.misspellings is not None]
    for precision in ("float32", "int4") if people else ():
        shares = [getattr(scores, precision) for scores in people]
        rows.append((f"{shares[0].queries:,} human misspellings, {precision}", *_compared([x.share for x in shares])))
    summary = _table(f"Mean over {len(one.languages)} languages", ("measure", *names), rows)
    rows = []
    for beside in zip(*(scores.languages for scores in files), strict=True):
        cells = (beside[0].name, beside[0].source, str(beside[0].float32.queries))
        rows.append((*cells, *_compared([scores.float32.share for scores in beside])))
    languages = _table("Right word found", ("language", "words", "queries", *names), rows, words=2)
    pooled = [scores.kinds() for scores in files]
    rows = [
        (kind.replace("_", " "), f"{share.queries:,}", *_compared([kinds[kind].share for kinds in pooled]))
        for kind, share in pooled[0].items()
    ]
    kinds = _table("Right word found, one typo of one kind", ("kind of typo", "queries", *names), rows)
    return [summary, languages, kinds]


def sentences(files: Sequence[FileScores], skipped: Sequence[str]) -> list[str]:
    """Return what the tables do not say: which file is better where (float32), and which languages were skipped."""
    one, *others = files
    found = []
    for other in others:
        leads = {
            mine.name: mine.float32.found - theirs.float32.found
            for mine, theirs in zip(one.languages, other.languages, strict=True)
        }
        worse = ", ".join(name for name, lead in leads.items() if lead < 0)
        better = sum(lead > 0 for lead in leads.values())
        where = f"; worse in {worse}" if worse else ""
        found.append(f"{one.name} is better than {other.name} in {better} of {len(leads)} languages{where}.")
    if skipped:
        found.append(f"Skipped, too few words that pre-training never saw: {', '.join(skipped)}.")
    return found


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Table:
    """Return a table whose first `words` columns are text, and the others numbers."""
    return Table(title, tuple(columns), tuple(map(tuple, rows)), right=frozenset(columns[words:]))


def _names(files: Sequence[FileScores]) -> list[str]:
    """Return headings: each file, and after each but the first how far the first is above it."""
    return [files[0].name, *(heading for scores in files[1:] for heading in (scores.name, "difference"))]


def _compared(values: Sequence[float]) -> list[str]:
    """Return the first value, and each other value with how far the first is above it."""
    cells = [f"{values[0]:.3f}"]
    for value in values[1:]:
        cells += [f"{value:.3f}", f"{values[0] - value:+.3f}"]
    return cells


def dot_plot(files: Sequence[FileScores]) -> bytes:
    """Return a PNG: right words found by language, a colour and a shape for each file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [scores.name for scores in files[0].languages]
    figure = Figure(figsize=(max(6.0, 2.0 + 0.24 * len(names)), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    shares = np.asarray([[item.float32.share for item in scores.languages] for scores in files])
    order, places = np.argsort(-shares[0], kind="stable"), np.arange(len(names))
    axes.vlines(places, shares.min(axis=0)[order], shares.max(axis=0)[order], color="#bbbbbb", linewidth=1.2, zorder=1)
    for index, scores in enumerate(files):
        # A dollar sign would start mathematics.
        label = f"mean {shares[index].mean():.3f}: {scores.name[-40:]}".replace("$", r"\$")
        color, marker = _COLOURS[index % len(_COLOURS)], _MARKERS[index % len(_MARKERS)]
        axes.scatter(places, shares[index][order], s=26, label=label, zorder=2, color=color, marker=marker)
    axes.set(ylabel="right word found", ylim=(max(0.0, np.floor(10 * shares.min() - 0.5) / 10), 1.0))
    axes.set(xlim=(-0.8, len(names) - 0.2))
    axes.set_xticks(places, [names[index].replace("$", r"\$") for index in order], fontsize=8, rotation=90)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="lower left")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=130, metadata={"Software": None})
    return picture.getvalue()
