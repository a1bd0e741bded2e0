"""`detect_spans`: which part of a text is in which language.

Every word has the probabilities that the detector gives it alone. The path through the words on which these are highest, less a price for
every change of the language (Viterbi), cuts the text; and each piece has the answer that the detector gives to it as a text, so that a text in
one language has one span with the answer of `predict`.
"""

import functools
import itertools
import os
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from retvec_lite.arguments import checked, require_strings
from retvec_lite.classifier import Classifier
from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError
from retvec_lite.loading import load
from retvec_lite.runtime.answers import find_words

_SWITCH: Final = 8.0
"""What a change of the language costs, as a natural logarithm. Joined sentences of validation chose it, with an earlier detector: at 4, one text in
ten of a single language is cut, and 8 and 10 hardly differ. docs/language.md says how often 8 cuts such a text."""

_LEAST: Final = 1e-7
"""A smaller probability counts as this."""


class LanguageSpan(NamedTuple):
    """A part of a text that is in one language.

    Attributes:
        start: index of its first character.
        end: index behind its last character.
        label: its language; None for no language.
        probability: of the label, as `Prediction` has it.
    """

    start: int
    end: int
    label: str | None
    probability: float


@checked
def detect_spans(
    text: str, classifier: str | os.PathLike[str] | Classifier = "language", *, languages: Sequence[str] | None = None
) -> list[LanguageSpan]:
    """Cut a text where its language changes.

    The spans cover the text, white space and punctuation included; neighbours differ in their label. A single foreign word mostly
    stays in the language around it. Takes about the time of an answer to each different word.

    Args:
        text: one text, of any length.
        classifier: what tells languages apart: the detector in the package, an exported or trained one, or a `Classifier`.
        languages: the only ones to choose from, as for `load`.

    Returns:
        The spans, in order; none for an empty text.

    Raises:
        RetvecLiteError: for anything but a string, a classifier that gives a text several labels, or a language that is not among the labels.

    Example:
        >>> import retvec_lite as rl
        >>> text = "Das Wetter ist heute schön. Where is the nearest station?"
        >>> [(text[span.start : span.end], span.label) for span in rl.detect_spans(text)]
        [('Das Wetter ist heute schön. ', 'de'), ('Where is the nearest station?', 'en')]
    """
    (text,) = require_strings([text])
    if not isinstance(classifier, Classifier):
        chosen = None if languages is None else tuple(languages)
        # Those of a caller may change on the disk.
        classifier = _packaged(chosen) if classifier == "language" else load(classifier, languages=chosen)
    elif languages is not None:
        raise RetvecLiteError("languages is for a classifier that is loaded here: pass it to load.")
    if classifier.decision.multi_label:
        raise RetvecLiteError("Spans need a classifier that gives each text one label, such as language.")
    if not text:
        return []
    words = find_words(text)
    changes = _changes(classifier, [text[start:end] for start, end in words])
    return _answered(classifier, text, [0, *(words[place][0] for place in changes), len(text)])


@functools.lru_cache(maxsize=8)
def _packaged(languages: tuple[str, ...] | None) -> Classifier:
    return load("language", languages=languages)


def _changes(classifier: Classifier, words: Sequence[str]) -> list[int]:
    """Return the places of the words at which the language changes."""
    if not words:
        return []
    distinct = list(dict.fromkeys(words))
    table = _says(classifier, distinct)
    places = {word: place for place, word in enumerate(distinct)}
    best, came_from = np.zeros(table.shape[1]), np.zeros((len(words), table.shape[1]), np.int16)
    for number, word in enumerate(words):
        leader = best.argmax()
        changed = best[leader] - _SWITCH
        came_from[number] = np.where(best >= changed, np.arange(len(best)), leader)
        best = np.maximum(best, changed) + table[places[word]]
    path = [int(best.argmax())]
    for number in range(len(words) - 1, 0, -1):
        path.append(int(came_from[number, path[-1]]))
    path.reverse()
    return [place for place, (before, after) in enumerate(itertools.pairwise(path), 1) if before != after]


def _says(classifier: Classifier, words: Sequence[str]) -> Floats:
    """Return the log probabilities of the languages of each word; a word in no language, such as a number, says nothing."""
    table = classifier.probabilities(words).astype(np.float64)
    columns = [column for column, label in enumerate(classifier.labels) if label != classifier.decision.unknown_label]
    known = table[:, columns].sum(axis=1, keepdims=True)
    logs: Floats = known * np.log(np.maximum(table[:, columns] / np.maximum(known, _LEAST), _LEAST))
    return logs


def _answered(classifier: Classifier, text: str, edges: Sequence[int]) -> list[LanguageSpan]:
    """Return the pieces of a text with their answers; neighbours with the same one become one piece, which is asked again."""
    while True:
        pieces = list(itertools.pairwise(edges))
        answers = classifier.predict([text[start:end] for start, end in pieces], top=1)
        spans = [
            LanguageSpan(start, end, found.label, found.probability)
            for (start, end), (found, *_) in zip(pieces, answers, strict=True)
        ]
        kept = [
            0,
            *(after.start for before, after in itertools.pairwise(spans) if before.label != after.label),
            len(text),
        ]
        if len(kept) == len(edges):
            return spans
        edges = kept
