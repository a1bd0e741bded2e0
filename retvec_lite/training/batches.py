"""Batches of texts for graphs that read their code points: padding costs as much as letters."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import EncoderConfig, Ints, composed
from retvec_lite.runtime.interpreters import codepoint_rows

_CODES_AT_ONCE: Final = 2**18

_SIZES: Final = 4
"""Graphs read a quarter of the longest text, two quarters and so on: tracing one takes as long as some hundred texts."""
_WORTH_SIZES: Final = 2_000
"""Texts from which graphs of several sizes pay."""


class CodeBatch(NamedTuple):
    """Numbers of texts, their code points, int32 `[texts, max_chars]`, and the encoder of that size."""

    rows: npt.NDArray[np.int64]
    codes: Ints
    encoder: EncoderConfig


def alike(texts: Sequence[str], encoder: EncoderConfig) -> Iterator[CodeBatch]:
    """Yield every text once, in batches of similar length."""
    whole = [composed(text, encoder.max_chars) for text in texts]
    lengths = np.array([len(text) for text in whole])
    order = np.argsort(lengths, kind="stable")
    steps = _SIZES if len(texts) >= _WORTH_SIZES else 1
    sizes = [-(-encoder.max_chars * step // steps) for step in range(1, steps + 1)]
    ends = np.searchsorted(lengths[order], sizes, side="right")
    for size, start, end in zip(sizes, [0, *ends[:-1]], ends, strict=True):
        at_once = max(1, _CODES_AT_ONCE // size)
        reader = dataclasses.replace(encoder, max_chars=size, max_words=min(encoder.max_words, size))
        for first in range(start, end, at_once):
            rows = order[first : min(first + at_once, end)]
            yield CodeBatch(rows, codepoint_rows([whole[row] for row in rows], size), reader)
