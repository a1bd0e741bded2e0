"""The heads: sizes in bytes, starting weights, JSON round trip, validation."""

import json
import re

import numpy as np
import pytest

from retvec_lite.contract import BITS, EncoderConfig
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import HEADS, CnnHead, HeadSpec, PoolHead, head_from_dict

ALL = [PoolHead(), PoolHead(blocks=1, vector=64), CnnHead()]
SMALL = [PoolHead(hidden=6), PoolHead(hidden=6, blocks=2, vector=5), CnnHead(hidden=8, filters=5, blocks=3)]  # fmt: skip

EMBEDDING_BYTES = 218_000
"""The int8 embedding: 336 * 256 + 2 * 256 * 256 weights of one byte, 768 float32 biases and 768 scales."""


def test_the_embedding_weighs_what_it_is_said_to() -> None:
    weights = 16 * BITS * 256 + 2 * 256 * 256
    assert weights <= EMBEDDING_BYTES <= weights + 2 * 768 * 4


def test_every_head_is_found_by_its_name() -> None:
    assert list(HEADS) == ["linear", "pool", "cnn"]
    assert all(HEADS[name].name == name for name in HEADS)


@pytest.mark.parametrize("head", SMALL + ALL, ids=str)
def test_initial_weights_are_exactly_the_shapes(head: HeadSpec) -> None:
    shapes = head.shapes(10, 3, 12)
    weights = head.initial_weights(np.random.default_rng(0), 10, 3, 12)
    assert {name: value.shape for name, value in weights.items()} == shapes
    assert all(value.dtype == np.float32 and np.isfinite(value).all() for value in weights.values())
    assert all(name.startswith("head/") for name in shapes)


@pytest.mark.parametrize("head", ALL, ids=str)
def test_initial_weights_follow_the_seed_and_their_rule(head: HeadSpec) -> None:
    weights, again, other = (head.initial_weights(np.random.default_rng(seed), 256, 7, 64) for seed in (1, 1, 2))
    for name, value in weights.items():
        np.testing.assert_array_equal(value, again[name])
        if name.endswith("/bias"):
            assert not value.any()
        else:
            assert (value != other[name]).any()
        if name.endswith("/kernel"):
            limit = np.sqrt(6.0 / sum(value.shape))  # Glorot and Bengio 2010, formula 16
            assert 0.9 * limit < np.abs(value).max() <= limit * (1 + 1e-6)


@pytest.mark.parametrize("head", ALL, ids=str)
def test_every_head_stays_under_one_megabyte_as_int8(head: HeadSpec) -> None:
    """1 byte per weight, 4 per bias and scale; 151 classes (CLINC150), 64 slots, 60 kB for graph and tables."""
    shapes = head.shapes(256, 151, EncoderConfig().max_words)
    matrices = sum(int(np.prod(shape)) + 4 * shape[-1] for shape in shapes.values() if len(shape) == 2)
    vectors = sum(4 * shape[0] for shape in shapes.values() if len(shape) == 1)
    assert EMBEDDING_BYTES + matrices + vectors + 60_000 < 1_000_000


def test_pool_stays_under_400_kb() -> None:
    sizes = [int(np.prod(shape)) for shape in PoolHead().shapes(256, 77, 64).values()]
    assert EMBEDDING_BYTES + sum(sizes) + 60_000 < 400_000


@pytest.mark.parametrize("head", SMALL + ALL, ids=str)
def test_json_round_trip_is_exact(head: HeadSpec) -> None:
    again = head_from_dict(json.loads(json.dumps(head.to_dict())))
    assert again == head and type(again) is type(head)


def test_a_pool_without_blocks_or_vector_is_written_as_before_there_were_any() -> None:
    assert PoolHead(hidden=6).to_dict() == {"name": "pool", "hidden": 6}
    assert head_from_dict({"name": "pool", "hidden": 6}) == PoolHead(hidden=6)
    assert head_from_dict({"name": "pool", "hidden": 6, "blocks": 0}) == PoolHead(hidden=6)
    assert PoolHead(hidden=6, blocks=1).to_dict() == {"name": "pool", "hidden": 6, "blocks": 1}
    assert PoolHead(hidden=6, vector=5).to_dict() == {"name": "pool", "hidden": 6, "vector": 5}


def test_blocks_are_those_of_cnn() -> None:
    pool, cnn = PoolHead(hidden=6, blocks=3).shapes(9, 2, 4), CnnHead(hidden=7, filters=6, blocks=3).shapes(9, 2, 4)
    assert {name: pool[name] for name in pool if "block" in name} == {
        name: cnn[name] for name in cnn if "block" in name
    }
    assert len(pool) == 2 + 3 * 3 + 2
    assert list(PoolHead(hidden=6).shapes(9, 2, 4)) == [
        f"head/{part}" for part in ("word/kernel", "word/bias", "logits/kernel", "logits/bias")
    ]


def test_the_logits_read_the_vector() -> None:
    shapes = PoolHead(hidden=6, vector=5).shapes(9, 2, 4)
    assert shapes["head/vector/kernel"] == (12, 5) and shapes["head/vector/bias"] == (5,)
    assert shapes["head/logits/kernel"] == (5, 2)
    assert "head/vector/kernel" not in PoolHead(hidden=6, blocks=1).shapes(9, 2, 4)


@pytest.mark.parametrize(
    ("fields", "received"),
    [
        ({}, "None"),
        ({"name": "gru", "units": 3}, "'gru'"),
        ({"name": ["pool"], "hidden": 3}, "pool"),
        ({"name": "pool"}, "none"),
        ({"name": "pool", "hidden": 3, "depth": 1}, "depth"),
        ({"name": "pool", "hidden": "3"}, "'3'"),
        ({"name": "pool", "hidden": 0}, "0"),
        ({"name": "pool", "hidden": True}, "True"),
        ({"name": "pool", "hidden": 3, "blocks": 17}, "integer from 0 to 16, not 17"),
        ({"name": "pool", "hidden": 3, "blocks": -1}, "integer from 0 to 16, not -1"),
        ({"name": "pool", "hidden": 3, "blocks": False}, "False"),
        ({"name": "pool", "hidden": 3, "blocks": None}, "None"),
        ({"name": "pool", "blocks": 1}, "has the sizes hidden, blocks, vector, not 'blocks'"),
        ({"name": "pool", "hidden": 3, "vector": 65_537}, "integer from 0 to 65,536, not 65537"),
        ({"name": "pool", "hidden": 3, "vector": -1}, "integer from 0 to 65,536, not -1"),
        ({"name": "pool", "hidden": 3, "vector": True}, "True"),
        ({"name": "linear", "vector": 3}, "vector"),
        ({"name": "cnn", "hidden": 3, "filters": 3, "blocks": 0, "region": 1}, "integer from 1 to 16, not 0"),
        ({"name": "cnn", "hidden": 3, "filters": 3, "region": 1}, "hidden, filters, blocks, region"),
    ],
)
def test_an_unknown_head_is_refused(fields: dict[str, object], received: str) -> None:
    with pytest.raises(RetvecLiteError, match=f"(^Unknown head|^The head|of the head) .*{re.escape(received)}"):
        head_from_dict(fields)
