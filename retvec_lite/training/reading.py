"""Texts in training: as runs of characters, and as numbers of their words.

A run is what stands between separators in the normal form of a text. Neither words nor n-grams reach beyond it, so each distinct text is
brought into normal form once by a reader, by the C engine where it is built, and each distinct run of all texts is cut once.
"""

import dataclasses
import functools
import itertools
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import (
    MAX_CODE_POINT,
    PIECES,
    SEPARATING,
    UNSPACED,
    EncoderConfig,
    Ints,
    Piece,
    visible_characters,
)
from retvec_lite.runtime import NOT_BUILT, is_built
from retvec_lite.runtime.native import condense_texts, normal_forms
from retvec_lite.terminal import Progress, silent

Places = npt.NDArray[np.int64]
_Hashes = npt.NDArray[np.uint64]

LONGEST_COUNTED: Final = 4096
"""Code points of a text in which words are counted: more than any phone will classify."""

_CHARS_AT_ONCE: Final = 2**20


@dataclasses.dataclass(frozen=True)
class Ragged:
    """Rows of different lengths: their items one after the other, and how many each row has, int64 `[rows]`."""

    items: npt.NDArray[Any]
    counts: Places

    @functools.cached_property
    def starts(self) -> Places:
        """Where each row begins among the items, int64 `[rows]`."""
        return np.cumsum(self.counts) - self.counts

    @property
    def rows(self) -> Places:
        """The row of each item, int64 `[items]`."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @functools.cached_property
    def slots(self) -> Places:
        """The place of each item in its row, int64 `[items]`."""
        return np.arange(len(self.items)) - np.repeat(self.starts, self.counts)

    def __getitem__(self, rows: Any) -> "Ragged":
        counts, starts = self.counts[rows], self.starts[rows]
        ends = np.cumsum(counts)
        return Ragged(self.items[np.arange(int(counts.sum())) + np.repeat(starts - ends + counts, counts)], counts)

    def totals(self, values: npt.NDArray[Any]) -> Places:
        """Return the sum of each row's values, of which each item has one: int64 `[rows]`."""
        sums = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
        found: Places = sums[self.starts + self.counts] - sums[self.starts]
        return found

    def within(self, inner: "Ragged") -> "Ragged":
        """Return the rows with the items of `inner` in place of the numbers of its rows."""
        found = inner[self.items]
        return Ragged(found.items, self.totals(found.counts))

    def split(self, kept: npt.NDArray[np.bool_]) -> "tuple[Ragged, Places]":
        """Divide rows at the items that are not kept; return the pieces between them, and how many of these each row has."""
        begins = np.ones(len(kept), bool)
        begins[1:] = ~kept[:-1]
        begins[self.starts[self.counts > 0]] = True
        begins &= kept
        first = np.flatnonzero(begins[kept])
        items = self.items[kept]
        return Ragged(items, np.diff(np.append(first, len(items)))), self.totals(begins)

    def matrix(self, width: int) -> npt.NDArray[Any]:
        """Return the rows, of `width` items at most, with zeros behind them: `[rows, width]`."""
        found = np.zeros((len(self.counts), width), self.items.dtype)
        found[np.arange(width) < self.counts[:, None]] = self.items
        return found

    def distinct(self) -> "tuple[_Hashes, Ragged, Ints]":
        """Return the distinct rows in the order of their hashes: these, the rows, and for each row its number among them.

        Rows, none of them empty, are told apart by a hash of 64 bits: among ten million the chance that any two collide is below 3e-6.
        """
        hashes = np.zeros(0, np.uint64)
        if len(self.counts):
            hashes = np.add.reduceat(self.items.astype(np.uint64) * _multipliers()[self.slots], self.starts)
        # The lower half, too, shall depend on all bits of the sums.
        found, first, numbers = np.unique(hashes ^ (hashes >> np.uint64(32)), return_index=True, return_inverse=True)
        return found, self[first], numbers.reshape(-1).astype(np.int32)


@functools.cache
def _multipliers() -> _Hashes:
    """Return fixed odd multipliers: hashes name rows within one process only, so any good constants do."""
    drawn = np.random.default_rng(2023).integers(1, 2**63, 2**16, dtype=np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


class TextReader:
    """Texts that were read in the sizes of `config`, each distinct one once.

    Progress is told of "encoding texts".

    Attributes:
        config: how they were read.
        runs: the characters of each distinct run, uint32.
    """

    def __init__(self, texts: Iterable[str], config: EncoderConfig, progress: Progress = silent) -> None:
        self.config = config
        self._rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        self.runs, self._texts = _read(list(self._rows), config, progress)

    def runs_of(self, texts: Sequence[str]) -> Ragged:
        """Return the numbers of the runs of some of the texts, in their order."""
        return self._texts[np.fromiter((self._rows[text] for text in texts), np.int64, len(texts))]

    def count_words(self, texts: Sequence[str]) -> Places:
        """Return how many words each of some of the texts has, int64 `[texts]`; `max_words` at most."""
        words, _ = self._words
        return np.minimum(self.runs_of(texts).within(words).counts, self.config.max_words)

    def word_ids(self, texts: Sequence[str]) -> Ints:
        """Return the numbers of the words of some of the texts, int32 `[texts, max_words]`, 0 for the empty slot."""
        words, _ = self._words
        found, own = np.zeros((len(texts), self.config.max_words), np.int32), self.runs_of(texts).within(words)
        fits = own.slots < self.config.max_words
        found[own.rows[fits], own.slots[fits]] = own.items[fits]
        return found

    @property
    def words(self) -> Ints:
        """All words by number, int32 `[distinct words, word_length]`; row 0 is the empty word."""
        return self._words[1]

    @functools.cached_property
    def _words(self) -> tuple[Ragged, Ints]:
        """The numbers of each run's words, from 1 on, int32; and the words by number."""
        words, counts = cut_words(self.runs, self.config)
        _, distinct, numbers = words.distinct()
        spelled = distinct.matrix(self.config.word_length).astype(np.int32)
        return Ragged(numbers + 1, counts), np.pad(spelled, [(1, 0), (0, 0)])


def cut_words(runs: Ragged, config: EncoderConfig) -> tuple[Ragged, Places]:
    """Cut runs into words: rules 4 and 5 of the contract.

    Returns:
        The characters of all words, and how many words each run has, int64 `[runs]`.
    """
    rules = np.array([*(PIECES[script] for script in UNSPACED), Piece(config.word_length, config.word_length)])
    scripts = _scripts()[runs.items]
    begins = np.ones(len(scripts), bool)
    begins[1:] = scripts[1:] != scripts[:-1]
    begins[runs.starts] = True
    first = np.flatnonzero(begins)
    pieces = Ragged(runs.items, np.diff(np.append(first, len(scripts))))
    length, step = rules[scripts].T
    left = np.repeat(pieces.counts, pieces.counts) - pieces.slots
    is_start = (pieces.slots % step == 0) & (begins | (left > length - step))
    starts = np.flatnonzero(is_start)
    lengths = np.minimum(length, left)[starts]
    ends = np.cumsum(lengths)
    characters = runs.items[np.arange(int(lengths.sum())) + np.repeat(starts - ends + lengths, lengths)]
    return Ragged(characters, lengths), runs.totals(is_start)


@functools.cache
def _scripts() -> npt.NDArray[np.uint8]:
    """Return the script of each code point as its place in `UNSPACED`; the number after them for all others."""
    found = np.full(MAX_CODE_POINT + 1, len(UNSPACED), np.uint8)
    for place, ranges in enumerate(UNSPACED.values()):
        for first, last in ranges:
            found[first : last + 1] = place
    return found


def _read(texts: Sequence[str], config: EncoderConfig, progress: Progress) -> tuple[Ragged, Ragged]:
    """Return the characters of each distinct run of some texts, uint32, and the numbers of each text's runs, int32."""
    if not is_built():
        progress(f"Texts are read slowly. {NOT_BUILT}", 0, 0)
    sizes = np.cumsum([min(len(text), config.max_chars) for text in texts])
    borders = np.flatnonzero(np.diff(sizes // _CHARS_AT_ONCE)) + 1
    chunks = [texts[start:end] for start, end in itertools.pairwise([0, *borders.tolist(), len(texts)])]
    parts, done = [], 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # The engine leaves the interpreter to other threads, and so does NumPy where it sorts.
        for chunk, part in zip(chunks, pool.map(lambda chunk: _read_chunk(chunk, config), chunks), strict=True):
            parts.append(part)
            done += len(chunk)
            progress("encoding texts", done, len(texts))
    hashes, first = np.unique(np.concatenate([part.hashes for part in parts]), return_index=True)
    numbers = [np.searchsorted(hashes, part.hashes).astype(np.int32)[part.numbers] for part in parts]
    return (
        _joined([part.runs for part in parts])[first],
        Ragged(np.concatenate(numbers), np.concatenate([part.counts for part in parts])),
    )


@dataclasses.dataclass(frozen=True)
class _Chunk:
    """The distinct runs of some texts with their hashes, the number of each run of a text among them, and how many each text has."""

    hashes: _Hashes
    runs: Ragged
    numbers: Ints
    counts: Places


def _read_chunk(texts: Sequence[str], config: EncoderConfig) -> _Chunk:
    whole = [text[: config.max_chars] for text in condense_texts(texts, config)]
    characters = Ragged(*normal_forms(whole, config)) if is_built() else _reference(whole, config)
    runs, counts = characters.split(~np.isin(characters.items, [*SEPARATING], kind="table"))
    return _Chunk(*runs.distinct(), counts)


def _reference(texts: Sequence[str], config: EncoderConfig) -> Ragged:
    """Return the normal forms of composed texts by the reference, which a machine without the engine has as well."""
    forms = [visible_characters(list(map(ord, text)), config) for text in texts]
    counts = np.fromiter(map(len, forms), np.int64, len(forms))
    return Ragged(np.fromiter(itertools.chain.from_iterable(forms), np.uint32, int(counts.sum())), counts)


def _joined(parts: Sequence[Ragged]) -> Ragged:
    return Ragged(np.concatenate([part.items for part in parts]), np.concatenate([part.counts for part in parts]))
