"""The file of a word embedding: exact round trip, reproducible bytes, and checks on loading."""

from pathlib import Path

import numpy as np
import pytest
from modeling_cases import SMALL_HEADS, random_classifier, random_embedding
from refusals import refusal

from retvec_lite.model.weight_files import EMBEDDING_FORMAT as FORMAT
from retvec_lite.model.weight_files import EMBEDDING_VERSION as VERSION
from retvec_lite.model.weight_files import load_embedding, read_safetensors, safetensors_bytes

pytest.importorskip("safetensors", reason="safetensors is not installed: no weights to read")

HEADER = {"format": FORMAT, "version": VERSION}


def refused(path: Path) -> str:
    message = refusal(load_embedding, path)
    assert str(path) in message
    return message


@pytest.mark.parametrize("word_length", [5, 16])
def test_round_trip(tmp_path: Path, word_length: int) -> None:
    embedding = random_embedding(word_length, dimension=12)
    path = tmp_path / "e.safetensors"
    path.write_bytes(embedding.to_bytes())
    again = load_embedding(path)
    assert again.to_bytes() == embedding.to_bytes()
    assert (again.name, again.card) == (embedding.name, embedding.card)
    assert (again.word_length, again.dimension) == (word_length, 12)
    assert list(again.weights) == sorted(embedding.weights)
    for name, value in again.weights.items():
        assert value.dtype == np.float32
        np.testing.assert_array_equal(value, embedding.weights[name])


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "e.safetensors"
    path.write_bytes(random_embedding().to_bytes())
    tensors, metadata = read_safetensors(path)
    assert set(tensors) == {f"dense_{layer}/{part}" for layer in range(3) for part in ("kernel", "bias")}
    about = {
        key: metadata[key]
        for key in ("format", "version", "word_length", "bits", "embedding_dim", "activation", "name")
    }
    assert about == {
        "format": "retvec-lite-embedding", "version": "1", "word_length": "16", "bits": "21",
        "embedding_dim": "20", "activation": "gelu,gelu,tanh", "name": "random",
    }  # fmt: skip


def test_missing_truncated_and_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "e.safetensors"
    assert "does not exist: name a safetensors file" in refused(path)
    assert "is not a readable safetensors file" in refused(tmp_path)
    whole = random_embedding().to_bytes()
    for content in (b"", whole[:8], whole[:100], whole[:-1], b"\x80\x02" * 99, b"word,vector\n" * 99):
        path.write_bytes(content)
        assert "safetensors" in refused(path)
    path.write_bytes(random_classifier(SMALL_HEADS[0]).to_bytes())
    assert "its format is None" in refused(path)
    path.write_bytes(safetensors_bytes({}, {**HEADER, "version": "2"}))
    assert "its version '2'" in refused(path)
    path.write_bytes(safetensors_bytes({}, HEADER))
    assert "dense_0/kernel" in refused(path)


def test_a_number_format_that_numpy_lacks(tmp_path: Path) -> None:
    path = tmp_path / "e.safetensors"
    header = b'{"x":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    refused(path)  # as unreadable, or as foreign where TensorFlow has taught NumPy the format


@pytest.mark.parametrize(
    ("tensor", "value", "part"),
    [
        ("dense_0/kernel", np.zeros((337, 28)), "21 rows per character, but has 337"),
        ("dense_0/kernel", np.zeros((384, 28)), "but has 384"),
        ("dense_0/kernel", np.zeros((0, 28)), "but has 0"),
        ("dense_0/kernel", np.zeros(()), "but has 1"),
        ("dense_0/kernel", np.zeros(336), "dense_0"),
        ("dense_0/bias", np.zeros((28, 1)), "dense_0"),
        (
            "dense_1/kernel",
            np.zeros((27, 24)),
            "dense_1 has 28 inputs, which its kernel (27, 24) and bias (24,) do not fit",
        ),
        ("dense_2/bias", np.zeros(19), "dense_2"),
        ("dense_1/kernel", np.full((28, 24), np.nan), "dense_1 contains NaN or infinity"),
        ("dense_2/bias", np.full(20, -np.inf), "dense_2 contains NaN or infinity"),
        ("dense_3/bias", np.zeros(20), "unknown weights dense_3/bias"),
    ],
)
def test_tensors_that_do_not_fit(tmp_path: Path, tensor: str, value: np.ndarray, part: str) -> None:
    weights = {name.removeprefix("embedding/"): array for name, array in random_embedding().weights.items()}
    path = tmp_path / "e.safetensors"
    path.write_bytes(safetensors_bytes({**weights, tensor: value}, HEADER))
    assert part in refused(path)


def test_a_card_that_is_no_json(tmp_path: Path) -> None:
    weights = {name.removeprefix("embedding/"): array for name, array in random_embedding().weights.items()}
    path = tmp_path / "e.safetensors"
    path.write_bytes(safetensors_bytes(weights, {**HEADER, "card": "{"}))
    assert "card" in refused(path)
