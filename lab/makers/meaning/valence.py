"""How good or bad words are, as one direction of their vectors: neighbours in texts share topics, not moods."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from makers.meaning.words import meaning_words_of
from retvec_lite.contract import Floats
from retvec_lite.data.lines import explained, read_text
from retvec_lite.errors import RetvecLiteError, shown

SHARE: Final = 1.5
"""Length of the direction for the words with the strongest valence; the rest of a word's vector has about length 1."""

_COLUMNS: Final = ("word", "mean")


def read_valence(path: Path) -> dict[str, float]:
    """Return the valence of words in plain letters, from -1 to 1: the file's numbers by the largest of them.

    What does not consist of one word, such as an emoticon, is left out.

    Raises:
        RetvecLiteError: for a file that cannot be read or lacks a column, or a valence that is no number.
    """
    with explained(path):
        rows = csv.DictReader(read_text(path).splitlines())
        if not set(_COLUMNS) <= set(rows.fieldnames or ()):
            raise RetvecLiteError(f"{path} needs the columns word and mean, in its first line.")
        found: dict[str, list[float]] = {}
        for row in rows:
            try:
                number = float(row["mean"])
                if not math.isfinite(number):
                    raise ValueError
            except (TypeError, ValueError):
                raise RetvecLiteError(
                    f"{path}, line {rows.line_num}: the valence {shown(row['mean'])} is no number."
                ) from None
            words = list(meaning_words_of(row["word"] or ""))
            if len(words) == 1:
                found.setdefault(words[0], []).append(number)
    means = {word: sum(numbers) / len(numbers) for word, numbers in found.items()}
    largest = max(map(abs, means.values()), default=0.0)
    if not largest:
        raise RetvecLiteError(f"{path} says of no word that it is good or bad.")
    return {word: mean / largest for word, mean in means.items()}


def with_valence(vectors: Floats, words: Sequence[str], valence: Mapping[str, float], share: float = SHARE) -> Floats:
    """Return vectors whose direction of the least variance says how good a word is, and 0 for words of unknown valence.

    Args:
        vectors: float32 `[words, 128]`.
        words: theirs.
        valence: of some words, -1 to 1.
        share: length of the direction for a valence of 1.
    """
    _, axes = np.linalg.eigh(np.cov(vectors, rowvar=False))
    axis = axes[:, 0].astype(np.float32)
    known = np.asarray([share * valence.get(word, 0.0) for word in words], np.float32)
    found: Floats = vectors - np.outer(vectors @ axis, axis) + np.outer(known, axis)
    return found.astype(np.float32)
