"""From open text to what its words mean: word2vec, texts that find their neighbours, codes of 32 bytes a word."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from makers.meaning.biases import NOT_FOR, describe_biases
from makers.meaning.codes import balanced_axes, coded, importance
from makers.meaning.corpus import Corpus, digest_of, read_corpus
from makers.meaning.neighbors import PAIRS, Neighbors, draw_halves, starting_vectors, weights_of
from makers.meaning.valence import read_valence, with_valence
from makers.meaning.word_vectors import WordVectors
from makers.stage import Stage
from retvec_lite.data.rows import TEXT_SUFFIX, check_suffix
from retvec_lite.model.meaning_file import WORD_BYTES, MeaningFile
from retvec_lite.terminal import Progress
from retvec_lite.version import __version__

_CHECKPOINT: Final = 1000
"""Steps between two checkpoints."""
_SEED: Final = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """How meanings are learned; the defaults are those of the package.

    Attributes:
        words: words to keep, the most frequent ones.
        least_count: how often a word has to occur.
        passes: how often word2vec reads the texts.
        steps: steps in which halves of texts learn to find each other.
    """

    words: int = 40_000
    least_count: int = 15
    passes: int = 4
    steps: int = 9000


def learn_texts(
    files: Sequence[Path],
    language: str,
    folder: Path,
    progress: Progress,
    *,
    settings: Settings,
    valence: Path | None = None,
    about: str = "",
) -> MeaningFile:
    """Learn what the words of texts mean, or go on where an earlier call was interrupted: to the same bytes on one machine.

    Args:
        files: UTF-8, a sentence or paragraph a line, in which neighbouring lines belong together; they may be packed.
        language: tag of their language.
        folder: of the checkpoints.
        progress: told of every stage.
        settings: how to learn.
        valence: CSV file with the columns word and mean: how good or bad a word is.
        about: the sources of the texts and their licences, for the model card.

    Raises:
        RetvecLiteError: for texts that cannot be read or do not suffice, or a folder of other texts or settings.
    """
    for file in files:
        check_suffix(file, (TEXT_SUFFIX,), "a file of texts")
    moods = None if valence is None else read_valence(valence)

    # What each stage depends on: all that those before it do, and its own settings.
    on = {"texts": digest_of(files), "least_count": settings.least_count}
    corpus: Corpus = Stage(folder / "corpus.npz", on).once(
        lambda: read_corpus(files, settings.least_count, progress).arrays(), Corpus.from_arrays
    )

    on |= {"passes": settings.passes}
    first = WordVectors(corpus, _SEED)
    for number in Stage(folder / "word_vectors.npz", on).steps(first, settings.passes, 1):
        first.train(number, settings.passes, progress)

    on |= {"steps": settings.steps}
    weights = weights_of(corpus.shares)
    neighbors = Neighbors(starting_vectors(first.state()["vectors"]), weights)
    for number in Stage(folder / "neighbors.npz", on).steps(neighbors, settings.steps, _CHECKPOINT):
        neighbors.step(*draw_halves(corpus.known, _SEED, number))
        progress("neighbors", number + 1, settings.steps)

    words, counts = corpus.words[: settings.words], importance(corpus.counts[: settings.words])
    exact = neighbors.vectors[: len(words)]
    if moods is not None:
        exact = with_valence(exact, words, moods)
    exact = exact * weights[: len(words), None]
    size = WORD_BYTES[-1]
    codes, codebooks = coded(exact @ balanced_axes(exact, counts, size), counts, size)
    bare = MeaningFile(words, codes, codebooks, language, language, {})
    card = _card(bare, settings, files, corpus, about, valence, moods)
    return dataclasses.replace(bare, card=card)


def _card(
    found: MeaningFile,
    settings: Settings,
    files: Sequence[Path],
    corpus: Corpus,
    about: str,
    valence: Path | None,
    moods: Mapping[str, float] | None,
) -> dict[str, str]:
    """Return the model card: the same for equal runs, without dates and paths."""
    covered = corpus.counts[: len(found.words)].sum() / corpus.total
    known = sum(word in moods for word in found.words) if moods else 0
    return {
        "biases": describe_biases(found.words, found.vectors, found.language),
        "counts": (
            f"{corpus.total:,} words read; {len(corpus.words):,} words trained, which occur {settings.least_count:,} times or more; the "
            f"{len(found.words):,} most frequent kept: {covered:.1%} of all words read"
        ),
        "created_by": f"retvec-lite {__version__}, makers.meaning",
        "files": ", ".join(file.name for file in files),
        "method": (
            f"word2vec (CBOW), then halves of texts find each other among {PAIRS} (InfoNCE), lengths by frequency, product codes of "
            f"{found.codes.shape[1]} bytes"
        ),
        "not_for": NOT_FOR,
        "settings": ", ".join(f"{name}={value}" for name, value in dataclasses.asdict(settings).items()),
        "sources": about.strip() or "not stated",
        "valence": (
            "none"
            if valence is None
            else f"one direction says how good or bad {known:,} of the words are, by {valence.name}"
        ),
    }
