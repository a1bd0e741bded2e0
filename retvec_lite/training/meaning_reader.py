"""What words mean, in a training: which words there is room for, and what each text's words say together.

The words of the training texts come first, then the most frequent ones of the language. Other languages that the file shall carry
come with the words that are like those of the texts. All are coded for these texts, see `meaning_table`. Two keys a word were best on
validation texts: the second one is a word without one of its letters, and undoes a typo (docs/meaning.md).
"""

import bisect
import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from scipy import sparse

from retvec_lite.contract import Floats, Ints
from retvec_lite.equal_rows import distinct_rows
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import (
    DIMENSION,
    LONGEST,
    NO_WORD,
    MeaningConfig,
    is_meaning_letter,
    letter_table,
    numbers_of,
    word_limit,
    word_vectors,
)
from retvec_lite.model.meaning_file import Codes, MeaningFile
from retvec_lite.ngrams import CODES, LOWER_CASE_END, fold
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.languages import directions
from retvec_lite.training.meaning_table import build_table, fitting_codes, table_bytes, text_meanings
from retvec_lite.training.reading import Places, Ragged, TextReader

_KEYS: Final = 2
"""Keys a word."""

LEAST_WORDS: Final = 1_000
"""Words that each of several languages has at least."""
_LIKENESS: Final = 8.0
"""What the cosine to the likest word of the texts counts against the logarithm of a word's rank, chosen on validation texts."""
_FIRST: Final = 100
"""Words of a language, about so many, that are equally frequent in this order."""
_FREQUENCY: Final = 0.4
_OF_TEXTS: Final = 0.03
"""How much the codes of a word count: by its rank to the power of minus this, and by the root of how often the texts have it."""
_TEXTS: Final = 20_000
"""Texts, most, that codes are fitted to, spread over all."""
_RELATED: Final = 4_000
"""Words of the texts, most, that those of other languages are compared with."""
_AT_ONCE: Final = 1024
_LOOK_UPS_AT_ONCE: Final = 2**15

_CODEBOOK_BYTES: Final = CODES * DIMENSION


@dataclasses.dataclass(frozen=True)
class MeaningReader:
    """The table of a training.

    Attributes:
        config: its sizes.
        weights: `meaning/...` as in the exported file, without the projection.
    """

    config: MeaningConfig
    weights: Mapping[str, Floats]

    def vectors(self, reader: TextReader, texts: Sequence[str]) -> Floats:
        """Return what the words of each text that was read mean together, float32 `[texts, 64]`: `meaning.text_vector` for all at once."""
        words = reader.runs_of(texts).within(self._known_words(reader))
        counted = (words.slots < word_limit(reader.config.max_chars)) & (words.items >= 0)
        used = _ones(words.rows[counted], words.items[counted], (len(texts), self.config.words))
        # Sums of integers, which float32 adds exactly.
        total = used @ word_vectors(np.arange(self.config.words), self.weights)
        lengths = np.linalg.norm(total.astype(np.float64), axis=1, keepdims=True)
        found: Floats = (total / np.maximum(lengths, 1.0)).astype(np.float32)
        return found

    @functools.cached_property
    def _known_words(self) -> Callable[[TextReader], Ragged]:
        """Finds the number in the table of each word of each run, -1 for one that is not there: once for each reader."""

        def look_up(reader: TextReader) -> Ragged:
            words, of_runs = words_of_runs(reader.runs)
            (short,) = np.nonzero(words.counts <= LONGEST)
            known = np.full(len(words.counts), -1, np.int32)
            for start in range(0, len(short), _LOOK_UPS_AT_ONCE):
                some = short[start : start + _LOOK_UPS_AT_ONCE]
                known[some] = numbers_of(words[some].matrix(LONGEST), self.config, self.weights)
            return Ragged(known[of_runs.items], of_runs.counts)

        return functools.cache(look_up)


def make_reader(
    file: MeaningFile,
    data: TrainingData,
    kilobytes: int,
    others: Sequence[MeaningFile] = (),
    seed: int = 0,
) -> tuple[MeaningReader, dict[str, Any]]:
    """Choose the words that fit into so many kilobytes (1,000 bytes), and build their table; also return facts about it.

    Languages share the table fairly. A word that several of them have means what it means in the texts, if they have it; otherwise
    what it means where it stands further in front.

    Args:
        file: of the language of the texts.
        data: the texts.
        kilobytes: how large the table may be.
        others: of other languages that the table shall have, in the same space.
        seed: of the codes.

    Raises:
        RetvecLiteError: for more languages than there is room for.
    """
    counts = word_frequencies(data)
    sources = (file, *others)
    vectors = [source.vectors for source in sources]
    lengths = np.linalg.norm(vectors[0], axis=1)
    places = {word: place for place, word in enumerate(file.words)}
    needed = sorted(
        (places[word] for word in counts if word in places),
        key=lambda place: (-counts[file.words[place]] * lengths[place], place),
    )
    # The first words get the keys of their typos: those that say much, and often.
    orders = [list(dict.fromkeys([*needed, *range(len(file.words))]))]
    orders += [_related_first(other, file, needed) for other in others]
    chosen: dict[str, tuple[int, int]] = {}
    for row in itertools.zip_longest(*orders):
        for source, place in enumerate(row):
            if place is not None and all(is_meaning_letter(ord(char)) for char in sources[source].words[place]):
                chosen.setdefault(sources[source].words[place], (source, place))
    words = list(chosen)[: _most_words(kilobytes, len(chosen))]
    fewest = LEAST_WORDS * len(sources)
    if others and len(words) < fewest:
        most = len(words) // LEAST_WORDS - 1
        raise RetvecLiteError(
            f"{len(sources)} languages, {file.language} included, need {LEAST_WORDS:,} words each, but a table of {kilobytes} kB has room "
            f"for {len(words):,}: {f'name at most {most} in languages' if most > 0 else 'leave languages out'}."
        )
    own = {file.words[place]: (0, place) for place in needed}
    found = [own.get(word, chosen[word]) for word in words]
    exact = np.stack([vectors[source][place] for source, place in found]) if found else vectors[0][:0]
    codes, codebooks = _fitting_codes(exact, [place for _, place in found], words, counts, data, seed)
    config, weights = build_table(words, codes, codebooks, _KEYS * len(words))
    kept = sum(counts[word] for word in words)
    facts: dict[str, Any] = {
        "language": file.language,
        "words": config.words,
        "rows": config.rows,
        "known_words": round(kept / max(counts.total(), 1), 4),
    }
    if others:
        facts["languages"] = dict(Counter(sources[source].language for source, _ in found))
    return MeaningReader(config, weights), facts


def _related_first(other: MeaningFile, file: MeaningFile, needed: Sequence[int]) -> list[int]:
    """Return the order in which words of another language are kept: frequent ones, and those like words of the texts, first."""
    known = directions(file)[list(needed[:_RELATED])]
    vectors, places = distinct_rows(directions(other))
    likeness = np.zeros(len(vectors), np.float32)
    if len(known):
        for start in range(0, len(vectors), _AT_ONCE):
            likeness[start : start + _AT_ONCE] = (vectors[start : start + _AT_ONCE] @ known.T).max(axis=1)
    found: list[int] = np.argsort(
        np.log(_FIRST + np.arange(len(places))) - _LIKENESS * likeness[places], kind="stable"
    ).tolist()
    return found


def _fitting_codes(
    vectors: Floats,
    ranks: Sequence[int],
    words: Sequence[str],
    counts: Counter[str],
    data: TrainingData,
    seed: int,
) -> tuple[Codes, Floats]:
    """Return codes and codebooks, which fit the texts, of words with the vectors and the ranks in their languages given."""
    places = {word: place for place, word in enumerate(words)}
    some = data.clean_ids[:: -(-len(data.clean_ids) // _TEXTS)]
    used, texts = np.unique(some, return_inverse=True)
    spelled, of_ids = _spelled_words(data.words[used])
    columns = np.array([places.get(word, -1) for word in spelled], np.int32)[of_ids.items]
    known = columns >= 0
    by_id = _ones(of_ids.rows[known], columns[known], (len(used), len(words))) @ vectors
    often = np.array([counts[word] for word in words], np.float32)
    importance = (_FIRST + np.array(ranks, np.float32)) ** np.float32(-_FREQUENCY) + np.float32(_OF_TEXTS) * np.sqrt(
        often
    )
    return fitting_codes(vectors, importance, text_meanings(texts.reshape(some.shape), by_id), seed)


def word_frequencies(data: TrainingData) -> Counter[str]:
    """Return how often each word with letters occurs in the training texts, in plain letters, as far as they fit into the word slots."""
    used, times = np.unique(data.clean_ids, return_counts=True)
    words, of_ids = _spelled_words(data.words[used])
    counts = np.bincount(of_ids.items, times[of_ids.rows], len(words)).astype(int).tolist()
    return Counter({word: count for word, count in zip(words, counts, strict=True) if len(word) <= LONGEST})


def _spelled_words(slots: Ints) -> tuple[list[str], Ragged]:
    """Return the different words with letters in word slots, int32 `[slots, word_length]`, in plain letters; and the numbers of each slot's."""
    words, of_slots = words_of_runs(Ragged(slots[slots > 0], (slots > 0).sum(axis=1)))
    text = "".join(map(chr, words.items.tolist()))
    ends = (words.starts + words.counts).tolist()
    return [text[start:end] for start, end in zip(words.starts.tolist(), ends, strict=True)], of_slots


def words_of_runs(rows: Ragged) -> tuple[Ragged, Ragged]:
    """Return the different words with letters in rows of characters, in plain letters, int32; and the numbers of each row's, int32."""
    table = letter_table()
    is_letter = table.letters[table.places[np.minimum(rows.items, LOWER_CASE_END)]] > 0
    words, counts = Ragged(fold(rows.items, True), rows.counts).split(is_letter)
    _, distinct, numbers = words.distinct()
    return distinct, Ragged(numbers, counts)


def _ones(rows: Places, columns: Ints, shape: tuple[int, int]) -> Any:
    """Return how often each place is named, float32 CSR."""
    return sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)


def _most_words(kilobytes: int, words: int) -> int:
    """Return how many words there is room for beside the codebooks."""
    fits = range(1, min(words, NO_WORD) + 1)
    room = 1000 * kilobytes - _CODEBOOK_BYTES
    return bisect.bisect_right(fits, room, key=lambda count: table_bytes(count, _KEYS * count))
