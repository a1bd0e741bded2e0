"""The words that pre-training learns from: lists, case restoration, balanced sampling, held-out words.

Rows are words as int32 code points `[N, L]`, zero-padded, longer words cut off (the paper's rule); L, the word length, is 16
in what ships.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.pretraining.augment import WORD_LENGTH, BoolArray, word_lengths
from retvec_lite.pretraining.cldr_words import SCRIPT_LOCALES, cldr_languages, cldr_words
from retvec_lite.pretraining.unicode_tables import FloatArray, title_table, upper_table

UInt64Array = npt.NDArray[np.uint64]

# Languages of scripts without spaces, of which the encoder sees pieces and not words.
UNSPACED_LANGUAGES = ("zh", "ja", "th", "lo", "km", "my")
# The encoder cuts Han into single characters, kana into pairs and South-East Asian runs into sixes (contract, rule 4), and
# leaves shorter remainders of each.
_PIECE_LENGTHS = {"zh": (1, 2, 3, 4), "ja": (1, 2, 3, 4)}
_SEA_PIECE_LENGTHS = (1, 2, 3, 4, 5, 6)

# P(language) ~ count ** 0.3: Finnish (734,000 words) comes four times as often as Vietnamese (11,000), not 70 times.
_LANGUAGE_EXPONENT = 0.3
# P(word | language) ~ frequency ** 0.25: common words come some ten times as often as the rarest, so that the words people
# write are known well, and the half million rare ones, on which the model learns to generalize, still are most of a batch.
_FREQUENCY_EXPONENT = 0.25
# CLDR holds about 150 more languages with small lists, mostly in Latin script: together no more than a handful of large ones.
_SMALL_LANGUAGE_SHARE = 0.25
# A script that only CLDR covers comes half as often again as its short list would: it has one language to be learnt from.
_SCRIPT_SHARE = 1.5
_CASES = (0.6, 0.25, 0.15)  # as it is (casefolded), Title, UPPER

_HELD_OUT_ONE_IN = 50  # 2 %


@dataclass(frozen=True)
class WordList:
    """Words to sample from.

    Attributes:
        rows: int32 [N, L], language after language.
        cumulative: float64 [N], cumulative probability of each row; the last is 1.
        languages: name -> (first row, one past its last row).
        source: where the words come from, for the model card.
    """

    rows: Ints
    cumulative: FloatArray
    languages: Mapping[str, tuple[int, int]]
    source: str

    def sample(self, count: int, rng: np.random.Generator) -> Ints:
        """Draw words with their case restored at random (60 % as listed, 25 % Title, 15 % UPPER): int32 [count, L]."""
        chosen = np.searchsorted(self.cumulative, rng.random(count), side="right")
        words = self.rows[np.minimum(chosen, len(self.rows) - 1)]
        return restore_case(restore_digits(words, rng), rng)


def encode_words(words: Sequence[str], word_length: int = WORD_LENGTH) -> Ints:
    """Words as rows of code points: int32 [N, word_length], zero-padded, cut off there."""
    text = "".join(word[:word_length].ljust(word_length, "\0") for word in words)
    return np.frombuffer(text.encode("utf-32-le", "replace"), "<i4").reshape(-1, word_length).astype(np.int32)


def decode_word(row: Ints) -> str:
    """The word of one row."""
    return "".join(chr(code) for code in row.tolist() if code)


def row_hashes(rows: Ints) -> UInt64Array:
    """A stable 64-bit hash of each row (polynomial, then mixed): uint64 [N]; the same on every machine and version."""
    hashes = np.zeros(len(rows), np.uint64)
    for column in range(rows.shape[1]):
        hashes = hashes * np.uint64(0x100000001B3) + rows[:, column].astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    hashes ^= hashes >> np.uint64(31)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    return hashes ^ (hashes >> np.uint64(29))


def held_out(rows: Ints) -> BoolArray:
    """Which casefolded words pre-training never sees: 2 % by hash, none of one or two characters: bool [N].

    Words that short are a closed set (every Han character is one), and they are pieces of other words.
    """
    # By its first 16 characters, so that embeddings of every word length leave out the same words.
    chosen: BoolArray = row_hashes(rows[:, :WORD_LENGTH]) % np.uint64(_HELD_OUT_ONE_IN) == 0
    return chosen & (word_lengths(rows) > 2)


def restore_case(words: Ints, rng: np.random.Generator) -> Ints:
    """Leave, Title or UPPER each word at random; scripts without case stay as they are: int32 [B, L]."""
    case = rng.choice(3, len(words), p=_CASES)
    words = words.copy()
    words[case == 1, 0] = title_table()[words[case == 1, 0]]
    words[case == 2] = upper_table()[words[case == 2]]
    return words


def restore_digits(words: Ints, rng: np.random.Generator) -> Ints:
    """wordfreq writes every digit of a long number as 0 ("00:00", "0000"): put random digits there: int32 [B, L]."""
    zeros = words == ord("0")
    zeros &= (zeros.sum(axis=1) >= 2)[:, None]
    digits = rng.integers(ord("0"), ord("9") + 1, words.shape, dtype=np.int32)
    return np.where(zeros, digits, words)


def pieces(rows: Ints, sizes: Sequence[int]) -> Ints:
    """All distinct runs of so many characters inside words of a script without spaces: int32 [P, L]."""
    found = []
    lengths, word_length = word_lengths(rows), rows.shape[1]
    for size in sizes:
        for start in range(word_length - size + 1):
            whole = rows[lengths >= start + size, start : start + size]
            found.append(np.pad(whole, ((0, 0), (0, word_length - size))))
    return _distinct(np.concatenate(found))


def _distinct(rows: Ints) -> Ints:
    _, first = np.unique(row_hashes(rows), return_index=True)
    return rows[np.sort(first)]


def build_word_list(lists: Iterable[tuple[str, Ints, FloatArray, float]], source: str) -> WordList:
    """Balance languages and leave out the held-out words.

    Args:
        lists: (language, int32 [n, L] casefolded words, float64 [n] weights within the language, factor of the language).
        source: for the model card.
    """
    rows, probabilities, languages, start = [], [], {}, 0
    for language, words, weights, factor in lists:
        kept = ~held_out(words) & (word_lengths(words) > 0)
        words, weights = words[kept], weights[kept]
        if len(words) == 0:
            continue
        rows.append(words)
        probabilities.append(weights / weights.sum() * factor * len(words) ** _LANGUAGE_EXPONENT)
        languages[language] = (start, start + len(words))
        start += len(words)
    if not rows:
        raise RetvecLiteError(f"Expected words to train on, received none from {source}.")
    cumulative = np.cumsum(np.concatenate(probabilities))
    return WordList(np.concatenate(rows), cumulative / cumulative[-1], languages, source)


def load_wordfreq(word_length: int = WORD_LENGTH) -> WordList:
    """wordfreq's best lists of 42 languages, CLDR words of the scripts and languages it lacks, pieces of unspaced ones."""
    lists: list[tuple[str, Ints, FloatArray, float]] = []
    lists.extend((language, *wordfreq_words(language, word_length), 1.0) for language in wordfreq_languages())
    known = {name for name, *_ in lists} | {"no", "nn", "hr", "sr", "bs"}  # wordfreq calls the last three sh
    for language in cldr_languages():
        words = cldr_words(language) if language not in known else []
        if len(words) >= 200 or language in SCRIPT_LOCALES:
            rows = _distinct(encode_words(words, word_length))
            factor = _SCRIPT_SHARE if language in SCRIPT_LOCALES else _SMALL_LANGUAGE_SHARE
            lists.append((language, rows, np.ones(len(rows)), factor))
    for language, words_, *_ in list(lists):
        if language in UNSPACED_LANGUAGES:
            runs = pieces(
                words_[words_[:, 0] > 0x2FF], _PIECE_LENGTHS.get(language, _SEA_PIECE_LENGTHS)
            )  # wordfreq's lists hold Latin words and numbers, too
            lists.append((f"{language}-pieces", runs, np.ones(len(runs)), 1.0))
    return build_word_list(lists, "wordfreq 3.1 (best lists) and CLDR (babel)")


def wordfreq_languages() -> list[str]:
    """The 42 languages of wordfreq, sorted."""
    return sorted(_wordfreq().available_languages("best"))


def wordfreq_words(language: str, word_length: int = WORD_LENGTH) -> tuple[Ints, FloatArray]:
    """One language of wordfreq: int32 [N, word_length] casefolded words by falling frequency, float64 [N] sampling weights."""
    frequencies: dict[str, float] = _wordfreq().get_frequency_dict(language, "best")
    ranked = sorted(frequencies.items(), key=lambda item: (-item[1], item[0]))
    words = [word for word, _ in ranked]
    if language == "el":  # casefolding made the final sigma a plain one
        words = [word[:-1] + "ς" if len(word) > 1 and word.endswith("σ") else word for word in words]
    rows = encode_words(words, word_length)
    weights = np.asarray([frequency for _, frequency in ranked]) ** _FREQUENCY_EXPONENT
    _, first = np.unique(row_hashes(rows), return_index=True)  # words that differ behind the last place
    first = np.sort(first)
    return rows[first], weights[first]


def load_files(paths: Sequence[Path], word_length: int = WORD_LENGTH) -> WordList:
    """Word lists of the user: UTF-8, one word a line (what follows a blank or a tab is ignored), one file a language."""
    lists = []
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise RetvecLiteError(f"Expected a UTF-8 word list in {path}, received: {error}.") from error
        rows = _distinct(encode_words([line.split()[0] for line in lines if line.strip()] or [""], word_length))
        lists.append((path.stem, rows, np.ones(len(rows)), 1.0))
    return build_word_list(lists, ", ".join(path.name for path in paths))


def _wordfreq() -> Any:
    try:
        import wordfreq
    except ImportError as error:
        raise RetvecLiteError("Pre-training needs the package wordfreq (word lists): pip install wordfreq.") from error
    return wordfreq
