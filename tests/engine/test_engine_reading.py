"""What a training reads of texts by the engine: the normal form of the NumPy reference."""

import ctypes
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from contract_cases import code_points
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retvec_lite.contract import SEPARATING, EncoderConfig, visible_characters
from retvec_lite.converters.parity.golden_texts import golden_texts, long_texts
from retvec_lite.letters import compatibility_forms, faint_lookalikes, lookalikes
from retvec_lite.normal_form import REGIONAL, alphabets

Lists = list[list[int]]


class Rules(ctypes.Structure):
    """rvl_rules."""

    _fields_ = tuple((name, ctypes.c_uint32) for name in ("letters_only", "max_chars"))


class Reader:
    """`rvl_read`, for lists of numbers."""

    def __init__(self, library: Path) -> None:
        self._calls = ctypes.CDLL(str(library))

    def read(self, texts: Sequence[Sequence[int]], config: EncoderConfig) -> Lists:
        codes, ends = _joined(texts)
        chars, chars_ends = np.empty(len(codes) + len(texts), np.uint32), np.empty(len(texts), np.uint32)
        flags = np.empty(max([1, *map(len, texts)]), np.uint16)
        count = self._call(config, codes, ends, len(texts), flags, chars, chars_ends)
        assert count == (chars_ends[-1] if len(texts) else 0)
        return [part.tolist() for part in np.split(chars[:count], chars_ends[:-1])] if texts else []

    def _call(self, config: EncoderConfig, *given: Any) -> int:
        rules = Rules(*map(int, (config.letters_only, config.max_chars)))
        call = self._calls.rvl_read
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


def assert_as_the_reference(reader: Reader, texts: Lists, config: EncoderConfig) -> None:
    expected = [list(itertools.chain.from_iterable(runs_of(text, config))) for text in texts]
    assert reader.read(texts, config) == expected


configs = st.builds(EncoderConfig, max_chars=st.integers(1, 60), letters_only=st.booleans())


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(code_points(60), max_size=4), config=configs)
def test_any_texts(reader: Reader, texts: Lists, config: EncoderConfig) -> None:
    assert_as_the_reference(reader, texts, config)


@pytest.mark.parametrize("letters_only", [False, True])
def test_golden_texts_and_every_form_and_lookalike(reader: Reader, letters_only: bool) -> None:
    config = EncoderConfig(letters_only=letters_only)
    given = [golden.text for golden in golden_texts(config) if golden.text is not None]
    texts = [[ord(char) for char in text] for text in (*given, *long_texts(config).values())]
    edges = (code + step for span in (REGIONAL, *alphabets()) for code in span for step in (-1, 0, 1))
    letters = sorted({*compatibility_forms(), *lookalikes(), *faint_lookalikes(), *edges})
    texts += [text for code in letters for text in ([ord("a"), code, ord("b")], [code, code, code])]
    assert_as_the_reference(reader, texts, config)


def test_ends_that_decrease_are_empty_texts(reader: Reader) -> None:
    config = EncoderConfig()
    codes, ends = np.array([97, 32, 98, 99], np.uint32), np.array([3, 1, 4], np.uint32)
    chars, chars_ends, flags = np.zeros(7, np.uint32), np.zeros(3, np.uint32), np.zeros(4, np.uint16)
    assert reader._call(config, codes, ends, 3, flags, chars, chars_ends) == 6
    assert (chars.tolist(), chars_ends.tolist()) == ([97, 0, 98, 0, 99, 0, 0], [4, 4, 6])


def test_nothing(reader: Reader) -> None:
    assert reader.read([], EncoderConfig()) == []
    assert reader.read([[], []], EncoderConfig()) == [[], []]
