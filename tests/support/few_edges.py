"""Examine with a few of the contract's edges, where the edges are not what a test is about: all of them take most of a minute."""

from collections.abc import Callable

from retvec_lite.contract import EncoderConfig
from retvec_lite.converters.parity import examiner
from retvec_lite.converters.parity.golden_texts import edge_sample
from retvec_lite.converters.parity.oracle import Sample

_EVERY = 97
"""One text of so many is run."""


def use_few_edges(setattr: Callable[[object, str, object], None] = setattr) -> None:
    """Leave out most of the edges from now on; a test passes its `monkeypatch.setattr`."""
    setattr(examiner, "edge_sample", _few)


def use_every_edge(setattr: Callable[[object, str, object], None] = setattr) -> None:
    """Run all of them again."""
    setattr(examiner, "edge_sample", edge_sample)


def _few(config: EncoderConfig) -> Sample:
    return edge_sample(config)[::_EVERY]
