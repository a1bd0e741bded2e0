"""The model card of meanings: what they were learned from, how, and what they are not fit for."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.pretraining.meaning.biases import describe_biases
from retvec_lite.pretraining.meaning.corpus import Corpus
from retvec_lite.pretraining.meaning.neighbors import PAIRS
from retvec_lite.pretraining.meaning.options import PretrainMeaningOptions
from retvec_lite.pretraining.meaning.translations import Translations
from retvec_lite.version import __version__

_NOT_FOR = (
    "Not for decisions about people, such as hiring, credit, insurance, policing or medical care, and not for judging who somebody is by a "
    "name or a way of writing. Vectors of words know topics better than facts, and confuse a word with its opposite. They do not know words "
    "that are newer or rarer than the texts."
)


def meaning_card(
    meanings: MeaningFile,
    options: PretrainMeaningOptions,
    files: Sequence[Path],
    corpus: Corpus,
    about: str,
    valence: Mapping[str, float] | None,
) -> dict[str, str]:
    """Return the card: the same for equal runs, without dates and paths.

    Args:
        meanings: the words, codes and codebooks.
        options: of the run.
        files: the texts; only their names are told.
        corpus: what was read from them.
        about: what the user says about sources and licences.
        valence: of words, where there was a file of them.
    """
    covered = corpus.counts[: len(meanings.words)].sum() / corpus.total
    known = sum(word in valence for word in meanings.words) if valence else 0
    settings = ("seed", "least_count", "passes", "steps", "code_steps")
    return {
        "biases": describe_biases(meanings.words, meanings.vectors, meanings.language),
        "counts": (
            f"{corpus.total:,} words read; {len(corpus.words):,} words trained, which occur {options.least_count:,} times or more; the "
            f"{len(meanings.words):,} most frequent kept: {covered:.1%} of all words read"
        ),
        "created_by": f"retvec-lite {__version__}, pretrain-meaning",
        "files": ", ".join(file.name for file in files),
        "method": (
            f"word2vec (CBOW), then halves of texts find each other among {PAIRS} (InfoNCE), lengths by frequency, product codes of 8 bytes "
            "trained to keep the neighbours of texts"
        ),
        "not_for": _NOT_FOR,
        "settings": ", ".join(f"{name}={getattr(options, name)}" for name in settings),
        "sources": about.strip() or "not stated",
        "valence": (
            f"one direction says how good or bad {known:,} of the words are, by {Path(options.valence).name}"
            if valence and options.valence is not None
            else "none"
        ),
    }


def translations_card(
    options: PretrainMeaningOptions,
    space: MeaningFile,
    files: Sequence[Path],
    found: Translations,
    kept: int,
    about: str,
) -> dict[str, str]:
    """Return the card of words that joined a space by translations; see `meaning_card`."""
    frequent = ", and of wordfreq's list" if found.frequent else ""
    return {
        "biases": "Not measured. The vectors repeat the prejudices of the translations, and of the English words they lead to.",
        "counts": f"{found.pairs:,} translations; {len(found.words):,} words of theirs{frequent}; {kept:,} kept",
        "created_by": f"retvec-lite {__version__}, pretrain-meaning",
        "files": ", ".join(file.name for file in files),
        "method": "ridge regression: the words of a sentence add up to what those of its translation add up to",
        "not_for": _NOT_FOR,
        "sources": about.strip() or "not stated",
        "space": f"{space.language}, {len(space.words):,} words: the codebooks are those of its file",
    }
