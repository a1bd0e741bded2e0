"""From files of text to numbered words: what the other stages of a pre-training of meaning read."""

import dataclasses
import functools
import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from makers.meaning.words import meaning_words_of, unspaced_letters
from retvec_lite.data.lines import COMPRESSION, explained, marked, open_lines, problem_in, unpacked
from retvec_lite.errors import RetvecLiteError
from retvec_lite.terminal import Progress

FEWEST_KEPT: Final = 256
"""Words that a file has at least: as many as a codebook has rows."""

FEWEST_WORDS: Final = 1_000_000
"""From less text, vectors say little: the measurements in docs/meaning.md are from 59 million words."""

LINE_END: Final = -1
_STEP: Final = 4096
"""Lines between two reports of progress."""
_DIGITS: Final = 16

Numbers = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Lines of text as numbered words.

    Attributes:
        words: those that occur often enough, the most frequent first.
        counts: int64 `[words]`, how often each occurs.
        tokens: int32, the numbers of all their occurrences in order, and `LINE_END` behind each line.
        total: how many words there are in all, the rare ones included.
    """

    words: tuple[str, ...]
    counts: Counts
    tokens: Numbers
    total: int

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """How often each word occurs, as a share of all words."""
        return self.counts / self.total

    @functools.cached_property
    def known(self) -> Numbers:
        """The words' numbers without the ends of lines: neighbouring lines belong together."""
        found: Numbers = self.tokens[self.tokens != LINE_END]
        return found

    def lines(self) -> Iterator[Sequence[int]]:
        """Yield the numbers of the words of each line, but for lines without any."""
        ends = np.flatnonzero(self.tokens == LINE_END)
        starts = np.concatenate([[0], ends[:-1] + 1])
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if end > start:
                yield self.tokens[start:end].tolist()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what a checkpoint holds."""
        text = np.frombuffer("\n".join(self.words).encode(), np.uint8)
        return {"words": text, "counts": self.counts, "tokens": self.tokens, "total": np.asarray(self.total)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> "Corpus":
        """Rebuild a corpus from the values of `arrays`; raises KeyError or ValueError for others."""
        words = tuple(arrays["words"].tobytes().decode().split("\n"))
        return cls(words, arrays["counts"], arrays["tokens"], int(arrays["total"]))


def digest_of(files: Iterable[Path]) -> str:
    """Return what tells texts apart: a digest of the files' bytes; raises RetvecLiteError for one that cannot be read."""
    digest = hashlib.sha256()
    for path in files:
        with explained(path), path.open("rb") as file:
            # Not hashlib.file_digest, which Python 3.10 lacks.
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        digest.update(b"\0")
    return digest.hexdigest()[:_DIGITS]


def read_corpus(files: Sequence[Path], least_count: int, progress: Progress) -> Corpus:
    """Read text files, packed or not, and number their words.

    Args:
        files: UTF-8, a sentence or paragraph a line.
        least_count: how often a word occurs that has a number.
        progress: told how many bytes of the files are read.

    Raises:
        RetvecLiteError: for a file that is missing, damaged or not UTF-8, fewer than a million words, or texts mostly in
            scripts that do not separate words.
    """
    numbers: dict[str, int] = {}
    tokens = array("i")
    letters = unspaced = 0
    for line in read_lines(files, progress):
        for word in meaning_words_of(line):
            letters += len(word)
            tokens.append(numbers.setdefault(word, len(numbers)))
        tokens.append(LINE_END)
        unspaced += unspaced_letters(line)
    refuse_unspaced(letters, unspaced)
    found = np.frombuffer(tokens, np.int32) if tokens else np.zeros(0, np.int32)
    counts = np.bincount(found[found != LINE_END], minlength=len(numbers))
    total = int(counts.sum())
    if total < FEWEST_WORDS:
        raise RetvecLiteError(
            f"The texts have {total:,} words, too few to learn what words mean: at least {FEWEST_WORDS:,} are needed, and "
            "50 million are better."
        )
    corpus = _ranked(list(numbers), counts, found, total, least_count)
    if len(corpus.words) < FEWEST_KEPT:
        raise RetvecLiteError(
            f"Only {len(corpus.words):,} words occur {least_count:,} times or more, and at least {FEWEST_KEPT} are needed: add texts."
        )
    return corpus


def refuse_unspaced(letters: int, unspaced: int) -> None:
    """Raise RetvecLiteError where more than half of the letters are of scripts without spaces between words."""
    if 2 * unspaced > letters:
        raise RetvecLiteError(
            "Most of the texts' letters are of scripts without spaces between words, such as Chinese, Japanese or Thai, which "
            "cannot be cut into words here: leave the meaning out for such a language."
        )


def _ranked(names: list[str], counts: Counts, tokens: Numbers, total: int, least_count: int) -> Corpus:
    """Number the frequent words by how often they occur, equally frequent ones by spelling, and leave out the others."""
    kept = sorted(np.flatnonzero(counts >= least_count).tolist(), key=lambda number: (-counts[number], names[number]))
    unknown = len(kept)
    # One place more than there are names: LINE_END, which is -1, finds the last.
    ranks = np.full(len(names) + 1, unknown, np.int32)
    ranks[kept] = np.arange(unknown, dtype=np.int32)
    ranks[LINE_END] = LINE_END
    ranked = ranks[tokens]
    return Corpus(tuple(names[number] for number in kept), counts[kept], ranked[ranked != unknown], total)


def read_lines(files: Sequence[Path], progress: Progress) -> Iterator[str]:
    """Yield the lines of all files; raises RetvecLiteError for what cannot be read, with the line that is no text."""
    done, everything = 0, sum(_size(path) for path in files)
    for path in files:
        with explained(path), path.open("rb") as file:
            stream = unpacked(file, COMPRESSION.get(path.suffix.lower()))
            with open_lines(stream) as opened:
                for number, line in enumerate(marked(opened, path), 1):
                    if problem := problem_in(line):
                        raise RetvecLiteError(f"{path}, line {number}: {problem}.")
                    if number % _STEP == 0:
                        progress("reading texts", done + file.tell(), everything)
                    yield line
        done += _size(path)
        progress("reading texts", done, everything)


def _size(path: Path) -> int:
    with explained(path):
        return path.stat().st_size
