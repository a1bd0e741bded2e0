"""Texts as numbers of their words, and as counts of their n-grams.

Each distinct text is brought into normal form once, by the graph that is exported, and each distinct run of it is cut once.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from scipy import sparse

from retvec_lite.contract import EncoderConfig, Floats, Ints, composed
from retvec_lite.model.encoder_graph import cut_words, sanitize
from retvec_lite.model.ngram_graph import find_ngrams
from retvec_lite.ngrams import NgramConfig
from retvec_lite.runtime.interpreters import codepoint_rows
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.ahead import ahead
from retvec_lite.training.ngram_counts import Matrix, NgramCounts
from retvec_lite.training.run_table import Hashes, Places, Runs, RunTable, in_sizes, ragged
from retvec_lite.training.word_table import WordTable, hash_multipliers, mixed

LONGEST_COUNTED: Final = 4096
"""Code points of a text in which words are counted: more than any phone will classify."""

_MOST_CHARS: Final = 2**16
_MOST_WORDS: Final = 4096
"""Code points and words of the longest text that a classifier reads, see `EncoderConfig`."""
_CHARS_AT_ONCE: Final = 2**17
_SHORTEST: Final = 64
_TEXTS_AT_ONCE: Final = 8192


class TextEncoder:
    """Runs texts through the graphs of the encoder, each distinct text once, and gives their words numbers.

    A text is read whole, so that the same pass counts its words before the sizes of the encoder are known. Only a text longer than
    `max_chars` is read again, because cutting code points can change its last words. Words, and runs of characters, are told apart
    by a 64-bit hash of their code points: among ten million words the chance that any two collide is below 3e-6. The sizes in
    `rules` do not matter here.
    """

    def __init__(self, texts: Iterable[str], rules: EncoderConfig, progress: Progress = silent) -> None:
        self.rules = rules
        self._progress = progress
        self._rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        # Of each distinct text: how many code points were read, of how many at most, how many runs they have, and where these
        # start in `_runs`.
        self._read = np.full(len(self._rows), -1)
        self._most = np.zeros(len(self._rows), np.int64)
        self._counts = np.zeros(len(self._rows), np.int64)
        self._starts = np.zeros(len(self._rows), np.int64)
        self._runs = np.zeros(0, np.int32)
        self._found: list[Hashes] = []
        self._stored = 0
        self._table = RunTable()
        self._words = _RunWords(rules)

    def count_words(self, texts: Sequence[str], config: EncoderConfig | None = None) -> npt.NDArray[np.int64]:
        """Return how many words each text has within the sizes of `config`, or in its first 4,096 code points, int64 `[texts]`."""
        chars, slots = (config.max_chars, config.max_words) if config else (LONGEST_COUNTED, LONGEST_COUNTED)
        rows, runs = self._rows_of(texts, chars), self._all_runs()
        before = np.concatenate([[0], np.cumsum(self._words.counts[runs])])
        counts: npt.NDArray[np.int64] = before[self._starts[rows] + self._counts[rows]] - before[self._starts[rows]]
        return np.minimum(counts, slots)

    def encode(self, groups: Sequence[Sequence[str]], config: EncoderConfig) -> tuple[list[Ints], Ints]:
        """Encode groups of the encoder's texts in the sizes of `config`.

        Returns:
            For each group the ids, int32 `[texts, max_words]`, 0 for the empty slot; and the words by id, int32
            `[distinct words, word_length]`, row 0 the empty word. Exactly the words that the ids name are there.
        """
        found = self._rows_of([text for group in groups for text in group], config.max_chars)
        rows, places = np.unique(found, return_inverse=True)
        runs, (numbers, words) = self._all_runs(), self._words.numbered()
        ids = np.zeros((len(rows), config.max_words), np.int32)
        for start in range(0, len(rows), _TEXTS_AT_ONCE):
            part = rows[start : start + _TEXTS_AT_ONCE]
            own = runs[ragged(self._starts[part], self._counts[part])]
            counts = self._words.counts[own]
            text = np.repeat(np.repeat(np.arange(len(part)), self._counts[part]), counts)
            slot = np.arange(len(text)) - np.searchsorted(text, np.arange(len(part)))[text]
            fits = slot < config.max_words
            ids[start + text[fits], slot[fits]] = numbers[ragged(self._words.starts[own], counts)][fits]
        is_used = np.zeros(len(words), bool)
        is_used[0] = True
        is_used[ids] = True
        ids = (np.cumsum(is_used, dtype=np.int32) - 1)[ids]
        ends = np.cumsum([len(group) for group in groups])[:-1]
        return [ids[part] for part in np.split(places, ends)], words[is_used]

    def count_ngrams(self, groups: Sequence[Sequence[str]], max_chars: int, ngrams: NgramConfig) -> list[NgramCounts]:
        """Return how often each bucket occurs in the first code points of each text, for each group; all share their n-grams."""
        rows, runs = self._rows_of([text for group in groups for text in group], max_chars), self._all_runs()
        counts = self._counts[rows]
        distinct, columns = np.unique(runs[ragged(self._starts[rows], counts)], return_inverse=True)
        starts = np.concatenate([[0], np.cumsum(counts)])
        ones = np.ones(len(columns), np.float32)
        occur = sparse.csr_matrix((ones, columns, starts), shape=(len(rows), len(distinct)))
        found = self._ngrams_of(distinct, ngrams)
        ends = np.cumsum([len(group) for group in groups])
        return [
            NgramCounts(occur[end - len(group) : end], found) for group, end in zip(groups, ends.tolist(), strict=True)
        ]

    def _ngrams_of(self, runs: Places, ngrams: NgramConfig) -> Matrix:
        """Return how often each bucket occurs in runs, float32 CSR `[runs, buckets]`."""

        def found_in(part: tuple[Places, Floats]) -> tuple[Places, Places]:
            places, characters = part
            buckets, present = (found.numpy() for found in _ngram_graph(characters.shape[1], ngrams)(characters))
            is_there = present > 0
            return np.repeat(places, is_there.sum(axis=1)), buckets[is_there].astype(np.int64)

        none = np.zeros(0, np.int64)
        found = [(none, none), *(pair for _, pair in ahead(found_in, self._table.matrices(runs)))]
        rows, columns = zip(*found, strict=True)
        place = np.concatenate(rows), np.concatenate(columns)
        return sparse.csr_matrix((np.ones(len(place[0]), np.float32), place), shape=(len(runs), ngrams.buckets))

    def _rows_of(self, texts: Sequence[str], max_chars: int) -> npt.NDArray[np.int64]:
        """Read the texts that are not yet read up to this length; return the rows of all."""
        rows = np.fromiter((self._rows[text] for text in texts), np.int64, len(texts))
        read, most = self._read[rows], self._most[rows]
        is_missing = (read < 0) | (read > max_chars) | ((read == most) & (most < max_chars))
        missing = {int(rows[place]): composed(texts[place], max_chars) for place in np.flatnonzero(is_missing)}
        keys = np.array(list(missing), np.int64)
        lengths = np.array([len(text) for text in missing.values()], np.int64)
        chunks = [
            (size, places[start : start + max(1, _CHARS_AT_ONCE // size)])
            for size, places in in_sizes(lengths, _SHORTEST)
            for start in range(0, len(places), max(1, _CHARS_AT_ONCE // size))
        ]

        def normal_form(chunk: tuple[int, Places]) -> Floats:
            size, places = chunk
            codes = codepoint_rows([missing[row] for row in keys[places].tolist()], size)
            found: Floats = _normal_form(self.rules, size)(codes).numpy()
            return found

        for (_, places), characters in ahead(normal_form, chunks):
            self._add(keys[places], characters)
            self._read[keys[places]] = lengths[places]
            self._progress("encoding texts", int((self._read >= 0).sum()), len(self._rows))
        self._most[keys] = max_chars
        return rows

    def _add(self, rows: Places, characters: Floats) -> None:
        """Divide texts in normal form, float32 `[rows, size]`, into runs."""
        is_char = characters > 0
        starts = is_char.copy()
        starts[:, 1:] &= ~is_char[:, :-1]
        flat, first = characters[is_char], np.flatnonzero(starts[is_char])
        lengths = np.diff(np.append(first, len(flat)))
        place = np.arange(len(flat)) - np.repeat(first, lengths)
        products = flat.astype(np.uint64) * _multipliers()[place]
        hashes = mixed(np.add.reduceat(products, first)) if len(first) else np.zeros(0, np.uint64)
        counts = starts.sum(axis=1)
        self._counts[rows] = counts
        self._starts[rows] = self._stored + np.cumsum(counts) - counts
        self._stored += len(hashes)
        self._found.append(hashes)
        self._table.add(Runs(hashes, lengths, flat))

    def _all_runs(self) -> Ints:
        """Return the number of every run that was found, int32 `[runs]`, and cut those that are new."""
        self._table.settle()
        self._runs = np.concatenate([self._runs, *map(self._table.numbers, self._found)])
        self._found = []
        self._words.cut(self._table)
        return self._runs


class _RunWords:
    """The words of runs.

    Attributes:
        counts: how many words each run has, int64 `[runs]`.
        starts: where they start among the words of all runs, int64 `[runs]`.
    """

    def __init__(self, rules: EncoderConfig) -> None:
        self._rules = rules
        self.counts = np.zeros(0, np.int64)
        self.starts = np.zeros(0, np.int64)
        self._hashes: list[Hashes] = [np.zeros(0, np.uint64)]
        self._stored = 0
        self._words = WordTable(rules.word_length)

    def cut(self, table: RunTable) -> None:
        """Cut the runs of the table that are new into words."""
        known = len(self.counts)
        new = len(table) - known
        self.counts, self.starts = (np.append(found, np.zeros(new, np.int64)) for found in (self.counts, self.starts))
        multipliers = hash_multipliers(self._rules.word_length)

        def cut(part: tuple[Places, Floats]) -> Ints:
            _, characters = part
            found: Ints = _word_graph(self._rules, characters.shape[1])(characters).numpy()
            return found

        for (places, _), words in ahead(cut, table.matrices(np.arange(known, len(table)))):
            is_word = words[:, :, 0] != 0
            words, counts = words[is_word], is_word.sum(axis=1)
            hashes = mixed((words.astype(np.uint64) * multipliers).sum(axis=-1, dtype=np.uint64))
            self.counts[known + places] = counts
            self.starts[known + places] = self._stored + np.cumsum(counts) - counts
            self._stored += len(hashes)
            self._hashes.append(hashes)
            distinct, first = np.unique(hashes, return_index=True)
            self._words.add(distinct, words[first])

    def numbered(self) -> tuple[Ints, Ints]:
        """Return the number of every word of all runs, int32 `[words]`, and the words by number, the empty one first."""
        hashes, words = self._words.sorted()
        return np.concatenate([np.searchsorted(hashes, part).astype(np.int32) for part in self._hashes]), words


@functools.cache
def _multipliers() -> Hashes:
    return hash_multipliers(_MOST_CHARS)


@functools.cache
def _normal_form(rules: EncoderConfig, size: int) -> Callable[[Ints], Any]:
    """Return the graph that brings texts of a size into normal form, traced once per process."""
    return _traced(sanitize, rules, size, tf.int32)


@functools.cache
def _word_graph(rules: EncoderConfig, size: int) -> Callable[[Floats], Any]:
    """Return the graph that cuts runs of a size into words."""
    return _traced(cut_words, rules, size, tf.float32)


@functools.cache
def _ngram_graph(size: int, ngrams: NgramConfig) -> Callable[[Floats], Any]:
    """Return the graph that finds the n-grams of runs of a size."""
    return _traced(lambda runs, _: find_ngrams(runs, ngrams), EncoderConfig(), size, tf.float32)


def _traced(
    build: Callable[[Any, EncoderConfig], Any], rules: EncoderConfig, size: int, kind: Any
) -> Callable[[Any], Any]:
    config = dataclasses.replace(rules, max_chars=size, max_words=min(size, _MOST_WORDS))
    graph: Callable[[Any], Any] = tf.function(
        lambda rows: build(rows, config), input_signature=[tf.TensorSpec([None, size], kind)], autograph=False
    )
    return graph
