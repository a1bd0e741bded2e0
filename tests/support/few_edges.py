"""Examine with a few of the contract's edges, where the edges are not what a test is about: all of them take most of a minute."""

import functools
from collections.abc import Callable
from unittest import mock

from retvec_lite.contract import EncoderConfig, Ints
from retvec_lite.converters.parity import examiner, golden_texts
from retvec_lite.converters.parity.oracle import Sample

_EVERY = 97
"""One text of so many is run."""
_all = golden_texts.edge_sample


def use_few_edges() -> None:
    """Leave out most of the edges from now on, as every test does that does not ask for all."""
    examiner.edge_sample = _few


def use_every_edge(setattr: Callable[[object, str, object], None]) -> None:
    """Run all of them while a test runs, which passes its `monkeypatch.setattr`."""
    setattr(examiner, "edge_sample", _all)


class _Some:
    @staticmethod
    def of(names: list[str], rows: list[Ints], config: EncoderConfig) -> Sample:
        return Sample.of(names[::_EVERY], rows[::_EVERY], config)


@functools.lru_cache(maxsize=4)
def _few(config: EncoderConfig) -> Sample:
    with mock.patch.object(golden_texts, "Sample", _Some):  # else the words of all would be cut first
        found: Sample = _all.__wrapped__(config)
        return found
