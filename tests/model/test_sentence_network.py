"""The file of the sentence network: what is written is read back, and what does not fit together is refused."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from retvec_lite.contract import BITS, EncoderConfig, Floats, bits, codepoints, words
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.grid import FOUR_BITS, snap
from retvec_lite.model.heads import LinearHead, PoolHead
from retvec_lite.model.reference_network import embed, head_logits
from retvec_lite.model.sentence_network import SentenceNetwork, packaged_sentences
from retvec_lite.model.weight_files import safetensors_bytes


def tiny() -> SentenceNetwork:
    rng, head, sizes = np.random.default_rng(0), PoolHead(hidden=3), (2 * BITS, 7, 6, 5)
    layers = dict(head.initial_weights(rng, sizes[-1], 4, 1))
    for layer in range(3):
        layers[f"embedding/dense_{layer}/kernel"] = rng.normal(size=sizes[layer : layer + 2]).astype(np.float32)
        layers[f"embedding/dense_{layer}/bias"] = rng.normal(size=sizes[layer + 1]).astype(np.float32)
    weights = {name: snap(value, FOUR_BITS) if name.endswith("/kernel") else value for name, value in layers.items()}
    kernel, bias = weights.pop("head/logits/kernel"), weights.pop("head/logits/bias")
    return SentenceNetwork(head, weights, kernel, bias, {"license": "MIT"})


def test_a_file_is_read_back(tmp_path: Path) -> None:
    made, file = tiny(), tmp_path / "sentences.safetensors"
    file.write_bytes(made.to_bytes())
    found = SentenceNetwork.load(file)
    assert (found.head, found.card, found.weights.keys()) == (made.head, made.card, made.weights.keys())
    for name, value in made.weights.items():
        if name.endswith("/kernel"):
            np.testing.assert_array_equal(found.weights[name], value, name)  # float16 holds a grid of 4 bits
        np.testing.assert_allclose(found.weights[name], value, rtol=1e-3)
    np.testing.assert_allclose(found.kernel, made.kernel, rtol=1e-3)
    np.testing.assert_allclose(found.bias, made.bias, rtol=1e-3)
    assert found.to_bytes() == made.to_bytes() == file.read_bytes()


def test_weights_must_fit_together_and_be_finite() -> None:
    made = tiny()
    for changed, message in (
        ({"head": PoolHead(hidden=4)}, "not those of the head pool"),
        ({"bias": np.zeros(5, np.float32)}, "not those of the head pool"),
        ({"bias": np.full(4, np.nan, np.float32)}, "contains NaN"),
        ({"weights": {**made.weights, "embedding/dense_3/bias": np.zeros(1, np.float32)}}, "unknown weights dense_3"),
        ({"weights": {**made.weights, "embedding/dense_1/bias": np.zeros(1, np.float32)}}, "dense_1 has 7 inputs"),
        ({"card": {"license": 1}}, "its card"),
    ):
        with pytest.raises(RetvecLiteError, match=f"^the sentence network.*{message}"):
            dataclasses.replace(made, **changed)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("format", "retvec-lite-head", "is not a retvec-lite-sentences file"),
        ("version", "2", "is not a retvec-lite-sentences file of version 1"),
        ("head", "{}", "is damaged: .* Copy it again"),
        ("head", json.dumps(LinearHead().to_dict()), "is damaged: its head is linear, not pool"),
        ("head", "[1", "is damaged: .* Copy it again"),
        ("card", "[1]", "is damaged: .* Copy it again"),
        ("card", '{"a": 1}', "is damaged: .*its card consists of strings"),
        ("head/word/kernel", None, "is damaged: .* Copy it again"),
        ("head/logits/bias", None, "is damaged: .* Copy it again"),
        ("embedding/dense_2/kernel", None, "is damaged: .*lacks the weights dense_2/kernel"),
    ],
)
def test_other_files_are_refused_with_one_sentence(tmp_path: Path, name: str, value: str | None, expected: str) -> None:
    made, file = tiny(), tmp_path / "sentences.safetensors"
    arrays = {**made.weights, "head/logits/kernel": made.kernel, "head/logits/bias": made.bias}
    metadata = {
        "format": "retvec-lite-sentences",
        "version": "1",
        "card": "{}",
        "head": json.dumps(made.head.to_dict()),
    }
    file.write_bytes(safetensors_bytes(arrays, metadata))
    SentenceNetwork.load(file)
    if value is None:
        del arrays[name]
    else:
        metadata[name] = value
    file.write_bytes(safetensors_bytes(arrays, metadata))
    with pytest.raises(RetvecLiteError, match=expected) as caught:
        SentenceNetwork.load(file)
    assert str(caught.value).startswith(str(file)) and "\n" not in str(caught.value)


def test_a_truncated_file_is_refused_with_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "sentences.safetensors"
    file.write_bytes(tiny().to_bytes()[:-9])
    with pytest.raises(RetvecLiteError, match="is not a readable safetensors file"):
        SentenceNetwork.load(file)


def test_the_packaged_one_lies_on_its_grid() -> None:
    found = packaged_sentences()
    assert packaged_sentences() is found, "read once"
    assert (found.head, found.kernel.shape) == (PoolHead(hidden=256, blocks=1), (512, 256))
    kernels = {name: value for name, value in found.weights.items() if name.endswith("/kernel")}
    assert len(kernels) == 5 and all(np.array_equal(snap(value, FOUR_BITS), value) for value in kernels.values())
    assert {"biases", "license", "measured", "method", "not_for", "teachers", "texts"} <= found.card.keys()
    assert len(found.to_bytes()) < 1_100_000


def test_the_packaged_one_knows_what_sentences_mean() -> None:
    found, config = packaged_sentences(), EncoderConfig(max_words=16, max_chars=100)
    weights = {**found.weights, "head/logits/kernel": found.kernel, "head/logits/bias": found.bias}

    def said(text: str) -> Floats:
        slots = words(codepoints(text, config.max_chars), config)
        vector = head_logits(embed(bits(slots), weights), slots[:, 0] != 0, found.head, weights)
        return vector / np.linalg.norm(vector)

    asked = said("How do I get a refund?")
    nearest = [
        asked @ said(text) for text in ("I want my money back.", "How do i get a refnud", "It will rain tomorrow.")
    ]
    assert min(nearest[:2]) > nearest[2] + 0.2, nearest
