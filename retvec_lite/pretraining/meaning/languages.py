"""Pre-training of meaning from translations: words of another language in the space of the English ones, by the same codebooks."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.meaning_file import MeaningFile, packaged_meaning
from retvec_lite.model.product_codes import codes_of
from retvec_lite.pretraining.meaning.alignment import align
from retvec_lite.pretraining.meaning.card import translations_card
from retvec_lite.pretraining.meaning.lexicon import SOURCES, learn_lexicon
from retvec_lite.pretraining.meaning.options import PretrainMeaningOptions
from retvec_lite.pretraining.meaning.translations import Translations, read_translations, translation_files
from retvec_lite.terminal import Progress

MOST_SENTENCES: Final = 300_000
"""Pairs that words are paired by: a gigabyte of memory for a hundred thousand sentences."""

LEAST_WORDS: Final = 3
"""Words on both sides of a pair that words are paired by: sentences only, so that no dictionary is copied."""

FREQUENCY_POWER: Final = 0.6
"""Words kept are those of the largest share to the power of this times the length of their vector: frequent ones that say much."""


def learn_translations(
    places: Sequence[str | os.PathLike[str]], options: PretrainMeaningOptions, about: str, progress: Progress
) -> MeaningFile:
    """Return the words of a language by the space of `options`.

    Args:
        places: files and folders of translations.
        options: of the run.
        about: what the user says about sources and licences.
        progress: told of each stage.

    Raises:
        RetvecLiteError: for a space that is damaged or of the same language, or translations that cannot be read or do not suffice.
    """
    space = packaged_meaning("en") if options.space is None else MeaningFile.load(options.space)
    assert space is not None
    if space.language == options.language:
        raise RetvecLiteError(
            f"The space is of the language {space.language}, and so are the translations: name the other language with --language "
            "(in Python: language)."
        )
    files = translation_files([Path(place) for place in places], options.language)
    found = read_translations(files, space, options.language, progress)
    vectors = align(found, progress)
    kept = choose_words(found, vectors, options.words)
    words = tuple(found.words[place] for place in kept.tolist())
    progress("pairing words", 0, 1)
    sentences = [pair for pair in found.sentences[:MOST_SENTENCES] if min(map(len, pair)) >= LEAST_WORDS]
    lexicon = learn_lexicon(sentences, space.words[:SOURCES], words)
    progress("pairing words", 1, 1)
    card = translations_card(options, space, files, found, len(words), about)
    return MeaningFile(
        words, codes_of(vectors[kept], space.codebooks), space.codebooks, options.language, card, lexicon
    )


def choose_words(found: Translations, vectors: Floats, count: int) -> npt.NDArray[np.int64]:
    """Return the places of the words to keep, the most frequent first: int64 `[count]` or fewer."""
    worth = found.shares**FREQUENCY_POWER * np.linalg.norm(vectors, axis=1)
    kept = np.sort(np.argsort(-worth, kind="stable")[:count])
    return kept[np.argsort(-found.shares[kept], kind="stable")]
