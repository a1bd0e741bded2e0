"""Inputs and parameters for tests of the contract: code points of every kind that rules 1 to 5 treat differently."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import settings
from hypothesis import strategies as st

from retvec_lite.contract import INVISIBLE, SEPARATORS, EncoderConfig
from retvec_lite.ngrams import NgramConfig

INT32 = (-(2**31), 2**31 - 1)
HOSTILE = (
    *INT32,
    -1,
    -2,
    -256,
    -257,
    0xD7FF,
    0xD800,
    0xDBFF,
    0xDC00,
    0xDFFF,
    0xE000,
    0xFFFD,
    0x10FFFF,
    0x110000,
    0x1100FF,
)
"""Values around every border of the Unicode scalar values, and the ends of int32."""

KINDS: tuple[tuple[int, ...], ...] = (
    tuple(map(ord, "abcXYZ019.-é")),
    tuple(map(ord, "漢字仮名ひらがなカタカナー々𠮷")),
    tuple(map(ord, "ไทยລາວខ្មែរမြန်")),
    tuple(map(ord, "🙂👩🏽é́अшم")),
    (0, *SEPARATORS),
    INVISIBLE,
    HOSTILE,
    tuple(map(ord, "aaabbсоеткжд.-  \u3000ｗ𝐇ⓞᴀ\u0336\u034f\ufe0fﻻﺏαω")),
    tuple(map(ord, "ab  .@")),
    tuple(map(ord, "aaꓐꓮꓕ Ꭰᐊ🇩🇪🇫⠋ʭдɹ")),
)
"""One alphabet for each way in which the rules treat a code point."""


def configs(**fixed: Any) -> st.SearchStrategy[EncoderConfig]:
    """Valid configs, small enough that every limit is met."""
    return st.builds(
        EncoderConfig,
        **{
            "max_chars": st.integers(1, 40),
            "max_words": st.one_of(st.integers(1, 4), st.integers(5, 60)),
            "word_length": st.sampled_from([6, 7, 16]),
            "letters_only": st.booleans(),
            **{name: st.just(value) for name, value in fixed.items()},
        },
    )


def ngram_configs() -> st.SearchStrategy[NgramConfig]:
    """Which n-grams: in hashed rows, or in codebooks; a row for all labels, or of low rank; letters as they are, or plain."""
    lengths = {"longest": st.integers(3, 6), "shortest": st.integers(1, 3), "plain_letters": st.booleans()}
    hashed = st.builds(NgramConfig, buckets=st.integers(16, 32_768), **lengths)
    coded = [st.builds(NgramConfig, buckets=st.just(256 * n), codebooks=st.just(n), **lengths) for n in (1, 3)]
    shared = [
        st.builds(NgramConfig, buckets=st.just(size), codebooks=st.just(n), rank=st.just(5))
        for size, n in ((90, 0), (512, 2))
    ]
    return st.one_of(hashed, *coded, *shared)


def code_points(max_size: int) -> st.SearchStrategy[list[int]]:
    """Up to `max_size` int32 values: runs of one kind beside each other, any text, any numbers."""
    runs = st.lists(
        st.sampled_from(KINDS).flatmap(lambda kind: st.lists(st.sampled_from(kind), min_size=1, max_size=20)),
        max_size=12,
    ).map(lambda parts: [value for part in parts for value in part][:max_size])
    text = st.text(st.characters(codec=None), max_size=max_size).map(lambda text: [ord(char) for char in text])
    return st.one_of(runs, text, st.lists(st.integers(*INT32), max_size=max_size))


def random_code_points(rng: np.random.Generator, texts: int, length: int) -> npt.NDArray[np.int32]:
    """int32 `[texts, length]`: random runs of the kinds, some of the texts full to the end, most zero-padded."""
    rows = np.zeros((texts, length), np.int32)
    for row in rows:
        values: list[int] = []
        wanted = length if rng.random() < 0.3 else int(rng.integers(0, length + 1))
        while len(values) < wanted:
            kind = KINDS[rng.choice(len(KINDS), p=[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.2, 0.1, 0.05])]
            values += rng.choice(kind, int(rng.geometric(0.2))).tolist()
        row[:wanted] = values[:wanted]
    return rows


def padded(values: list[int], length: int) -> npt.NDArray[np.int32]:
    """int32 `[length]`, zeros behind the values."""
    row = np.zeros(length, np.int32)
    row[: len(values)] = values
    return row


def draws(count: int, **options: Any) -> settings:
    """Return settings of so many examples in `make test`, and of ten times as many in `make test-all`, which names its profile."""
    return settings(max_examples=count * (10 if settings.get_current_profile_name() == "explore" else 1), **options)
