"""From files of text to distinct sentences in random order, and the words that they have."""

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from scipy import sparse

from makers.meaning.corpus import read_lines
from makers.stage import Arrays
from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.data.rows import TEXT_SUFFIX, check_suffix
from retvec_lite.model.meaning_file import LONGEST_WORD
from retvec_lite.terminal import Progress
from retvec_lite.training.meaning_reader import words_of_runs
from retvec_lite.training.reading import Places, Ragged, TextReader

READ: Final = EncoderConfig(max_words=48, max_chars=400)
"""How texts are read: no sentence, not even with an ending behind it, is longer."""
WORDS: Final = 24
"""Words of a sentence, at most: what is longer is cut."""

_PAIRS: Final = ".tsv"
_SEED: Final = 5
_PASSAGES: Final = 0.15
"""Share of the long lines whose beginning is taken as well, wherever its sentences end."""
_LONGEST: Final = 260
"""Characters of a sentence."""
_AT_ONCE: Final = 20_000
_DIGEST: Final = 8

_END: Final = re.compile(r"(?<=[.!?])\s+")


def draw_sentences(files: Sequence[Path], progress: Progress) -> list[str]:
    """Return the distinct sentences of files in random order: the same ones for the same files, in whatever order these are named.

    Args:
        files: UTF-8, packed or not: `.txt` with a sentence or paragraph a line, or `.tsv` with English before the first tab.
        progress: told how many bytes of a file are read.

    Raises:
        RetvecLiteError: for a file of another kind, or one that cannot be read.
    """
    for file in files:
        check_suffix(file, (TEXT_SUFFIX, _PAIRS), "a file of sentences")
    rng, seen, found = random.Random(_SEED), set[bytes](), list[str]()
    for file in sorted(files, key=lambda file: file.name):
        for line in read_lines([file], progress):
            text = line.partition("\t")[0] if _PAIRS in file.suffixes else line
            for sentence in _sentences(text, rng):
                # Digests, since the sentences themselves would take a gigabyte once more.
                digest = hashlib.blake2b(sentence.lower().encode(), digest_size=_DIGEST).digest()
                if digest not in seen:
                    seen.add(digest)
                    found.append(sentence)
    rng.shuffle(found)
    return found


def _sentences(text: str, rng: random.Random) -> Iterator[str]:
    """Yield the sentences of a line, and sometimes its beginning; words beyond the 24th are cut off."""
    parts = _END.split(text.strip())
    if len(parts) > 1 and rng.random() < _PASSAGES:
        parts.append(text)
    for part in parts:
        words = part.split()[:WORDS]
        sentence = " ".join(words)
        if len(words) > 1 and len(sentence) <= _LONGEST:
            yield sentence


class Vocabulary:
    """The most frequent words of sentences, in plain letters.

    Attributes:
        words: the most frequent first.
        counts: how often each occurs, int64 `[words]`.
    """

    def __init__(self, words: Sequence[str], counts: Places) -> None:
        self.words, self.counts = tuple(words), counts
        self._numbers = {word: number for number, word in enumerate(self.words, 1)}

    @classmethod
    def of(cls, sentences: Sequence[str], size: int) -> "Vocabulary":
        """Count the words of sentences; equally frequent ones are ordered by spelling."""
        counts: Counter[str] = Counter()
        for start in range(0, len(sentences), _AT_ONCE):
            some = sentences[start : start + _AT_ONCE]
            reader = TextReader(some, READ)
            words, of_runs = words_of_runs(reader.runs)
            times = np.bincount(reader.runs_of(some).within(of_runs).items, minlength=len(words.counts))
            counts.update(dict(zip(_spelled(words), times.tolist(), strict=True)))
        ranked = sorted(((word, count) for word, count in counts.items() if len(word) <= LONGEST_WORD), key=_rank)[
            :size
        ]
        return cls([word for word, _ in ranked], np.array([count for _, count in ranked], np.int64))

    def numbers(self, reader: TextReader, texts: Sequence[str]) -> Ragged:
        """Return the numbers of the known words of texts that were read, from 1 on, int32."""
        words, of_runs = words_of_runs(reader.runs)
        known = np.array([self._numbers.get(word, 0) for word in _spelled(words)], np.int32)
        found = reader.runs_of(texts).within(Ragged(known[of_runs.items], of_runs.counts))
        return Ragged(found.items[found.items > 0], found.totals(found.items > 0))

    def arrays(self) -> Arrays:
        """Return what a checkpoint holds."""
        return {"words": np.frombuffer("\n".join(self.words).encode(), np.uint8), "counts": self.counts}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Vocabulary":
        """Rebuild a vocabulary from the values of `arrays`; raises KeyError or ValueError for others."""
        return cls(arrays["words"].tobytes().decode().split("\n"), arrays["counts"])


def _rank(counted: tuple[str, int]) -> tuple[int, str]:
    word, count = counted
    return -count, word


def _spelled(words: Ragged) -> list[str]:
    text, ends = "".join(map(chr, words.items.tolist())), (words.starts + words.counts).tolist()
    return [text[start:end] for start, end in zip(words.starts.tolist(), ends, strict=True)]


def sums_of(numbers: Ragged, vectors: Floats) -> Floats:
    """Return the sum of the vectors of each text's words, of length 1, or 0 without words: float32 `[texts, width]`.

    Args:
        numbers: of words, from 1 on; those beyond the vectors are left out.
        vectors: float32 `[words, width]`.
    """
    known = numbers.items <= len(vectors)
    rows, columns = numbers.rows[known], numbers.items[known] - 1
    ones = np.ones(len(rows), np.float32)
    total = sparse.csr_matrix((ones, (rows, columns)), shape=(len(numbers.counts), len(vectors))) @ vectors
    found: Floats = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), np.float32(1e-6))
    return found
