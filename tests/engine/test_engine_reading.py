"""What a training reads of texts by the engine: the normal form, the words and the n-grams of the NumPy reference."""

import ctypes
import dataclasses
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from contract_cases import code_points
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retvec_lite import contract
from retvec_lite.contract import SEPARATING, EncoderConfig, visible_characters
from retvec_lite.converters.parity.golden_texts import golden_texts, long_texts
from retvec_lite.ngrams import PRIME, NgramConfig, hash_of, ngram_buckets
from retvec_lite.normal_form import compatibility_forms, lookalikes

Lists = list[list[int]]


class Rules(ctypes.Structure):
    """rvl_rules."""

    _fields_ = tuple(
        (name, ctypes.c_uint32)
        for name in ("contract", "letters_only", "max_chars", "word_length", "shortest", "longest", "plain_letters")
    )


class Reader:
    """The three functions, for lists of numbers."""

    def __init__(self, library: Path) -> None:
        self._calls = ctypes.CDLL(str(library))

    def read(self, texts: Sequence[Sequence[int]], config: EncoderConfig) -> Lists:
        codes, ends = _joined(texts)
        chars, chars_ends = np.empty(len(codes) + len(texts), np.uint32), np.empty(len(texts), np.uint32)
        flags = np.empty(max([1, *map(len, texts)]), np.uint16)
        count = self._call("rvl_read", config, None, codes, ends, len(texts), flags, chars, chars_ends)
        assert count == (chars_ends[-1] if len(texts) else 0)
        return [part.tolist() for part in np.split(chars[:count], chars_ends[:-1])] if texts else []

    def cut(self, texts: Sequence[Sequence[int]], config: EncoderConfig) -> Lists:
        """Return the words of each text one after the other, with zeros behind each."""
        row = config.word_length
        return self._listed("rvl_cut", config, None, texts, lambda most: np.empty((most, row), np.uint32))

    def hashes(self, texts: Sequence[Sequence[int]], config: EncoderConfig, ngrams: NgramConfig) -> Lists:
        return self._listed("rvl_hashes", config, ngrams, texts, lambda most: np.empty(most, np.uint16))

    def _listed(self, name: str, config: Any, ngrams: Any, texts: Any, room: Callable[[int], Any]) -> Lists:
        chars, ends = _joined(texts)
        counts = np.empty(len(texts), np.uint32)
        given = (name, config, ngrams, chars, ends, len(texts), counts)
        most = self._call(*given, room(0), 0)
        found = room(most)
        assert self._call(*given, found, most) == most == counts.sum()
        return [part.reshape(-1).tolist() for part in np.split(found, np.cumsum(counts)[:-1])] if texts else []

    def _call(self, name: str, config: EncoderConfig, ngrams: NgramConfig | None, *given: Any) -> int:
        lengths = (ngrams.shortest, ngrams.longest, ngrams.plain_letters) if ngrams else (0, 0, 0)
        sizes = config.contract_version, config.letters_only, config.max_chars, config.word_length
        rules = Rules(*map(int, (*sizes, *lengths)))
        call = getattr(self._calls, name)
        call.restype = ctypes.c_size_t
        pointers = [
            ctypes.c_size_t(each) if isinstance(each, int) else ctypes.c_void_p(each.ctypes.data) for each in given
        ]
        return int(call(ctypes.byref(rules), *pointers))


def _joined(texts: Sequence[Sequence[int]]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    flat = np.array(list(itertools.chain.from_iterable(texts)), np.int64).astype(np.uint32)
    return flat, np.cumsum([len(text) for text in texts], dtype=np.uint32)


@pytest.fixture(scope="module")
def reader(library: Path) -> Reader:
    return Reader(library)


def runs_of(text: Sequence[int], config: EncoderConfig) -> Lists:
    """The runs of a text's normal form, each with a 0 behind it, by the reference."""
    chars = visible_characters(list(text[: config.max_chars]), config)
    runs = itertools.groupby(chars, lambda code: code in SEPARATING)
    return [[*run, 0] for is_separator, run in runs if not is_separator]


def assert_as_the_reference(reader: Reader, texts: Lists, config: EncoderConfig, ngrams: NgramConfig) -> None:
    runs = [runs_of(text, config) for text in texts]
    normal = reader.read(texts, config)
    assert normal == [list(itertools.chain.from_iterable(found)) for found in runs]
    wide = dataclasses.replace(config, max_words=4096)
    words = [contract.words(text[: config.max_chars], wide) for text in texts]
    assert reader.cut(normal, config) == [found[found[:, 0] != 0].reshape(-1).tolist() for found in words]
    hashes = [sorted(found) for found in reader.hashes(normal, config, ngrams)]
    assert hashes == [sorted(ngram_buckets(text[: config.max_chars], config, ngrams)) for text in texts]
    # Runs have what their texts have, with the 0 and without.
    alone = list(itertools.chain.from_iterable(runs))
    for chosen in (alone, [run[:-1] for run in alone]):
        for whole, parts in (
            (reader.cut(normal, config), reader.cut(chosen, config)),
            (reader.hashes(normal, config, ngrams), reader.hashes(chosen, config, ngrams)),
        ):
            assert sorted(itertools.chain.from_iterable(whole)) == sorted(itertools.chain.from_iterable(parts))


configs = st.builds(
    EncoderConfig,
    max_chars=st.integers(1, 60),
    word_length=st.sampled_from([6, 16]),
    contract_version=st.just(1),
) | st.builds(
    EncoderConfig,
    max_chars=st.integers(1, 60),
    word_length=st.sampled_from([6, 16]),
    letters_only=st.booleans(),
)
kinds = st.builds(
    NgramConfig,
    buckets=st.just(PRIME),
    shortest=st.integers(1, 3),
    longest=st.integers(3, 6),
    plain_letters=st.booleans(),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(code_points(60), max_size=4), config=configs, ngrams=kinds)
def test_any_texts(reader: Reader, texts: Lists, config: EncoderConfig, ngrams: NgramConfig) -> None:
    assert_as_the_reference(reader, texts, config, ngrams)


@pytest.mark.parametrize("letters_only", [False, True])
def test_golden_texts_and_every_form_and_lookalike(reader: Reader, letters_only: bool) -> None:
    config = EncoderConfig(letters_only=letters_only)
    ngrams = NgramConfig(buckets=PRIME, plain_letters=True)
    given = [golden.text for golden in golden_texts(config) if golden.text is not None]
    texts = [[ord(char) for char in text] for text in (*given, *long_texts(config).values())]
    texts += [[ord("a"), code, ord("b")] for code in sorted({*compatibility_forms(), *lookalikes()})]
    assert_as_the_reference(reader, texts, config, ngrams)


def test_ends_that_decrease_are_empty_texts(reader: Reader) -> None:
    ngrams, config = NgramConfig(buckets=PRIME, shortest=1, longest=1), EncoderConfig()
    codes, ends = np.array([97, 32, 98, 99], np.uint32), np.array([3, 1, 4], np.uint32)
    chars, chars_ends, flags = np.zeros(7, np.uint32), np.zeros(3, np.uint32), np.zeros(4, np.uint16)
    assert reader._call("rvl_read", config, None, codes, ends, 3, flags, chars, chars_ends) == 6
    assert (chars.tolist(), chars_ends.tolist()) == ([97, 0, 98, 0, 99, 0, 0], [4, 4, 6])
    counts, hashes = np.zeros(3, np.uint32), np.zeros(4, np.uint16)
    assert reader._call("rvl_hashes", config, ngrams, chars, np.array([4, 2, 6], np.uint32), 3, counts, hashes, 2) == 3
    assert counts.tolist() == [2, 0, 1]
    assert hashes.tolist() == [hash_of([97]), hash_of([98]), 0, 0], "no more than there is room for"


def test_nothing(reader: Reader) -> None:
    assert reader.read([], EncoderConfig()) == []
    assert reader.cut([[], []], EncoderConfig()) == [[], []]
