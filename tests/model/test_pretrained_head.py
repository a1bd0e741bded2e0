"""The pre-trained head that the package has: its file, what it belongs to, and that it knows what sentences mean."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.grid import FOUR_BITS, snap
from retvec_lite.model.heads import PoolHead
from retvec_lite.model.pretrained_head import PretrainedHead, on_grid, packaged_head
from retvec_lite.model.weight_files import load_default_embedding, safetensors_bytes


@pytest.fixture(scope="module")
def english() -> PretrainedHead:
    found = packaged_head("en")
    assert found is not None
    return found


def tiny() -> PretrainedHead:
    head = PoolHead(hidden=3)
    weights = on_grid(head.initial_weights(np.random.default_rng(0), 5, 4, 1))
    kernel, bias = weights.pop("head/logits/kernel"), weights.pop("head/logits/bias")
    return PretrainedHead(head, weights, kernel, bias, "en", "0f", {"a": "b"})


def test_the_packaged_one_reads_the_default_embedding_and_lies_on_its_grid(english: PretrainedHead) -> None:
    assert english.language == "en" and english.embedding == load_default_embedding().digest
    kernels = {name: value for name, value in english.weights.items() if name.endswith("/kernel")}
    assert kernels and all(np.array_equal(snap(value, FOUR_BITS), value) for value in kernels.values())
    assert {"teacher", "texts", "measured", "license"} <= english.card.keys()


def test_languages_without_one_have_none() -> None:
    assert packaged_head("de") is None


def test_a_file_is_read_back(tmp_path: Path) -> None:
    made, file = tiny(), tmp_path / "head.safetensors"
    made.save(file)
    found = PretrainedHead.load(file)
    assert (found.head, found.language, found.embedding, found.card) == (made.head, "en", "0f", {"a": "b"})
    for name, value in made.weights.items():
        np.testing.assert_array_equal(found.weights[name], value, name)  # float16 holds a grid of 4 bits
    np.testing.assert_allclose(found.kernel, made.kernel, rtol=1e-3)
    assert found.to_bytes() == made.to_bytes() == file.read_bytes()


def test_weights_must_fit_together_and_be_finite() -> None:
    with pytest.raises(RetvecLiteError, match="not those of the head pool"):
        dataclasses.replace(tiny(), head=PoolHead(hidden=4))
    with pytest.raises(RetvecLiteError, match="not all finite"):
        dataclasses.replace(tiny(), bias=np.full(4, np.nan, np.float32))


@pytest.mark.parametrize("spoil", ["format", "head", "card"])
def test_other_files_are_refused_with_one_sentence(tmp_path: Path, spoil: str) -> None:
    made, file = tiny(), tmp_path / "head.safetensors"
    arrays = {**made.weights, "head/logits/kernel": made.kernel, "head/logits/bias": made.bias}
    metadata = {"format": "retvec-lite-head", "version": "1", "language": "en", "embedding": "0f", "card": "{}"}
    metadata |= {"head": json.dumps(made.head.to_dict())}
    file.write_bytes(safetensors_bytes(arrays, {name: value for name, value in metadata.items() if name != spoil}))
    expected = "is not a retvec-lite-head file" if spoil == "format" else "is damaged: .*Copy it again"
    with pytest.raises(RetvecLiteError, match=expected) as caught:
        PretrainedHead.load(file)
    assert str(caught.value).count("\n") == 0
