"""Build a table of meaning: eight bytes a word, chosen for the texts of a training, in a static hash table.

The directions in which these texts differ are kept best. News differ in few, and coded for these, words lose next to nothing. Labels would
say still better which directions count, but held-out texts would then be read by codes that know their labels (docs/meaning.md).

Every key has a row of its own: perfect hashing by displacements (Belazzougui, Botelho, Dietzfelbinger 2009,
https://cmph.sourceforge.net/papers/esa09.pdf). Keys that share a displacement are placed together, the largest groups first, with the first
displacement under which all their rows are free.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from retvec_lite.contract import Floats
from retvec_lite.equal_rows import products
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import (
    DIMENSION,
    FINGERPRINTS,
    NO_WORD,
    STEPS,
    SUBSPACES,
    MeaningConfig,
    Word,
    sums_of,
    without_a_letter,
)
from retvec_lite.model.meaning_file import Codes, balanced_order, codes_of, nearest_codebooks
from retvec_lite.ngrams import INTEGERS, PRIME

_OF_WORDS: Final = 0.3
"""How much the directions of the words' vectors count beside those in which the texts differ."""
_LEAST: Final = 1e-6
"""Least variance of a direction, as a share of the mean one: codebooks are divided by its root."""

_KEYS_PER_DISPLACEMENT: Final = 2
_Longs = npt.NDArray[np.int64]

_LOAD: Final = 0.96
"""Share of the rows that hold a key: with so many keys a displacement, the fewest bytes that place all keys nearly always."""

_GROWTH: Final = 1.02
_TRIES: Final = 8
"""How often the table grows by 2 % where a key finds no row."""

_SHORTEST_VARIANT: Final = 3
"""Fewest letters of a word without one letter: shorter ones stand for too many words."""


def text_meanings(words: npt.NDArray[np.integer[Any]], vectors: Floats) -> Floats:
    """Return the sum of the vectors of each text's words, of length 1 or 0: float32 `[texts, width]`.

    Args:
        words: rows of `vectors`, integers `[texts, slots]`.
        vectors: float32 `[words, width]`; zeros for words without a meaning.
    """
    texts, slots = words.shape
    ends = np.arange(texts + 1) * slots
    counts = sparse.csr_matrix((np.ones(words.size, np.float32), words.reshape(-1), ends), (texts, len(vectors)))
    found: Floats = counts @ vectors
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.float32(1e-9))
    return found


def fitting_codes(vectors: Floats, importance: Floats, texts: Floats, seed: int) -> tuple[Codes, Floats]:
    """Return codes uint8 `[words, 8]` and codebooks float32 `[8, 256, 8]`, in a space turned against that of `vectors`.

    Of more than 64 directions, the 64 that say most are kept. Cosines between texts are about the same there, single numbers are not.

    Args:
        vectors: float32 `[words, width]`, of 64 numbers or more.
        importance: how much each word counts, float32 `[words]`.
        texts: what the texts mean, float32 `[texts, width]`; those without a known word, zeros, do not count.
        seed: of the first centres.
    """
    known = texts[texts.any(axis=1)].astype(np.float64)
    away = known - known.sum(axis=0) / max(len(known), 1)
    of_words = (vectors.T.astype(np.float64) * importance) @ vectors
    squares, axes = np.linalg.eigh(_of_trace_one(away.T @ away) + _OF_WORDS * _of_trace_one(of_words))
    squares, axes = squares[-DIMENSION:], axes[:, -DIMENSION:].astype(np.float32)
    weights = np.sqrt(np.maximum(squares / max(squares.mean(), 1e-12), _LEAST)).astype(np.float32)
    turned = products(vectors, axes.T) * weights
    order = balanced_order((np.square(turned) * importance[:, None]).mean(axis=0), SUBSPACES)
    turned = np.ascontiguousarray(turned[:, order])
    codebooks = nearest_codebooks(turned, importance, SUBSPACES, seed)
    return codes_of(turned, codebooks), codebooks / weights[order].reshape(SUBSPACES, 1, -1)


def _of_trace_one(products: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Scale a matrix of products to a trace of 1; zeros stay zeros."""
    return products / max(float(np.trace(products)), 1e-12)


def table_bytes(words: int, keys: int) -> int:
    """Return how many bytes the table of so many words and keys takes in a file, without codebooks and projection."""
    return words * SUBSPACES + _rows(keys) * 3 + _displacements(keys)


def build_table(
    words: Sequence[str], codes: npt.NDArray[np.uint8], codebooks: Floats, keys: int
) -> tuple[MeaningConfig, dict[str, Floats]]:
    """Build the table of words, the most frequent first. The same arguments give the same table.

    Args:
        words: 1 to 16,383 different words of plain letters, 1 to 16 letters each.
        codes: uint8 `[words, 8]`, product codes of their vectors.
        codebooks: float32 `[8, 256, 8]`.
        keys: about how many keys the table has, at least as many as words. The others are words without one letter: those of the
            first words first, and of two words with the same, the first has it.

    Returns:
        The sizes, and the weights `meaning/{displacements,rows,codes,codebooks}` as float32; the codebooks hold integers from -127
        to 127, because a text's vector has length 1 whatever their scale.

    Raises:
        RetvecLiteError: without words, or for keys that cannot be placed.
    """
    if not words:
        raise RetvecLiteError(
            "A table of meaning needs a word of plain letters: choose a file that has one, or meaning='none'."
        )
    found = _keys(words, keys)
    sums = sums_of(list(found)).astype(np.int64)
    numbers = np.fromiter(found.values(), np.int64, len(found))
    displacements = _displacements(len(found))
    size = _rows(len(found))
    for _ in range(_TRIES):
        config = MeaningConfig(words=len(words), rows=size, displacements=displacements)
        placed = _place(sums, config)
        if placed is not None:
            break
        size = _prime_from(math.ceil(size * _GROWTH))
    else:
        raise RetvecLiteError(
            f"The table of meaning has no free row for some of its {len(found):,} keys: ask for fewer words or keys."
        )
    chosen, places = placed
    values = np.full(config.rows, NO_WORD, np.int64)
    values[places] = numbers + (sums[:, 3] % FINGERPRINTS + 1) * (NO_WORD + 1)
    scale = max(float(np.abs(codebooks).max()), float(np.finfo(np.float32).tiny)) / INTEGERS
    weights = {
        "meaning/displacements": chosen,
        "meaning/rows": np.stack([values & 255, values >> 8 & 255, values >> 16], axis=1),
        "meaning/codes": codes,
        "meaning/codebooks": np.rint(codebooks / scale),
    }
    return config, {name: value.astype(np.float32) for name, value in weights.items()}


def _keys(words: Sequence[str], most: int) -> Mapping[Word, int]:
    """Return the keys and the numbers of their words: all words, then words without one letter, until there are `most`."""
    spelled = [tuple(map(ord, word)) for word in words]
    found: dict[Word, int] = {word: number for number, word in enumerate(spelled)}
    for number, word in enumerate(spelled):
        if len(word) > _SHORTEST_VARIANT:
            for shorter in without_a_letter(word):
                if len(found) >= most:
                    return found
                found.setdefault(shorter, number)
    return found


def _place(sums: _Longs, config: MeaningConfig) -> tuple[_Longs, _Longs] | None:
    """Return the displacements, and the row of each key; None where a key finds no free row."""
    members: list[list[int]] = [[] for _ in range(config.displacements)]
    for key, bucket in enumerate((sums[:, 0] % config.displacements).tolist()):
        members[bucket].append(key)
    first, steps = (sums[:, 1] % config.rows).tolist(), (sums[:, 2] % STEPS + 1).tolist()
    chosen = np.zeros(config.displacements, np.int64)
    places = np.zeros(len(sums), np.int64)
    taken = bytearray(config.rows)
    # Lists of one or two numbers: arrays would take three times as long.
    for bucket in sorted(range(len(members)), key=lambda bucket: -len(members[bucket])):
        keys = members[bucket]
        for tried in range(256):
            rows = [(first[key] + tried * steps[key]) % config.rows for key in keys]
            if len({*rows}) == len(rows) and not any(taken[row] for row in rows):
                break
        else:
            return None
        chosen[bucket] = tried
        places[keys] = rows
        for row in rows:
            taken[row] = 1
    return chosen, places


def _rows(keys: int) -> int:
    """Return how many rows so many keys need: a prime, so that every step between rows visits all of them."""
    return _prime_from(math.ceil(keys / _LOAD))


def _prime_from(number: int) -> int:
    """Return the smallest prime from `number` on, at most the largest below 2**16."""
    found = min(max(number, 2), PRIME)
    while any(found % divisor == 0 for divisor in range(2, math.isqrt(found) + 1)):
        found += 1
    return found


def _displacements(keys: int) -> int:
    return math.ceil(keys / _KEYS_PER_DISPLACEMENT)
