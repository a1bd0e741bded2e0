"""The importer: the same arrays in both containers give one embedding, which computes what 24 digits computed."""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from makers.embedding.__main__ import command
from makers.embedding.import_v1 import import_v1
from retvec_lite import contract
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import load_embedding

Arrays = dict[str, np.ndarray]

UPSTREAM = Path(__file__).parents[5] / "shared" / "upstream"
TEXTS = ["", "a", "icecream", "Straße", "🙂👩‍🚀", "漢字", "\U0010ffff" * 20, "x" * 16]


@pytest.fixture(scope="module")
def arrays() -> Arrays:
    """k0, b0, ..., b2 as in the release: 16 characters of 24 digits."""
    rng = np.random.default_rng(0)
    found: Arrays = {}
    for layer, rows in enumerate((384, 256, 256)):
        found[f"k{layer}"] = rng.normal(0, 1 / np.sqrt(rows), (rows, 256)).astype(np.float32)
        found[f"b{layer}"] = rng.normal(0, 0.1, 256).astype(np.float32)
    return found


def write_npz(path: Path, arrays: Arrays) -> Path:
    np.savez(path / "weights.npz", **arrays)
    return path / "weights.npz"


def write_saved_model(path: Path, arrays: Arrays) -> Path:
    """As Keras 2 saves: a list `variables`. Layers numbered as in a busy process: by text, dense_10 comes before dense_9."""
    model = tf.__internal__.tracking.AutoTrackable()
    model.variables = [
        tf.Variable(arrays[f"{name}{layer}"], name=f"dense_{9 + layer}/{part}")
        for layer in (2, 0, 1)  # order of creation must not matter
        for part, name in (("bias", "b"), ("kernel", "k"))
    ]
    tf.saved_model.save(model, str(path / "saved"))
    return path / "saved"


def slots_of(word: str) -> np.ndarray:
    """The one slot of a word, int32 `[1, 16]`, as the paper has it: what is longer is cut."""
    return contract.codepoints(word, 16)[None]


def with_24_digits(text: str, arrays: Arrays) -> np.ndarray:
    """The release's own computation, its 24 digits included: float32 `[256]`."""
    slot = slots_of(text)
    digits = [int(digit) for char in slot[0] for digit in format(int(char), "024b")]
    hidden = np.array([digits], np.float32)
    for layer in range(3):
        hidden = hidden @ arrays[f"k{layer}"] + arrays[f"b{layer}"]
        hidden = np.tanh(hidden) if layer == 2 else reference_network.gelu(hidden)
    return hidden[0]


@pytest.mark.parametrize("write", [write_npz, write_saved_model])
def test_every_container_gives_the_same_embedding(write: object, tmp_path: Path, arrays: Arrays) -> None:
    embedding = import_v1(write(tmp_path, arrays))  # type: ignore[operator]
    assert (embedding.word_length, embedding.dimension, embedding.name) == (16, 256, "retvec-v1")
    kernel = embedding.weights["embedding/dense_0/kernel"]
    assert kernel.shape == (336, 256)
    for character in (0, 7, 15):
        np.testing.assert_array_equal(
            kernel[character * 21 : character * 21 + 21], arrays["k0"][character * 24 + 3 : character * 24 + 24]
        )
    for layer in range(3):
        np.testing.assert_array_equal(embedding.weights[f"embedding/dense_{layer}/bias"], arrays[f"b{layer}"])
        if layer:
            np.testing.assert_array_equal(embedding.weights[f"embedding/dense_{layer}/kernel"], arrays[f"k{layer}"])
    for text in TEXTS:
        slots = slots_of(text)
        vector = reference_network.embed(contract.bits(slots), embedding.weights)[0]
        np.testing.assert_allclose(vector, with_24_digits(text, arrays), atol=1e-5)


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="the released RETVec v1 weights are not part of this repository")
def test_the_released_weights_reproduce_the_published_vectors() -> None:
    embedding = import_v1(UPSTREAM / "retvec_v1_weights.npz")
    published = json.loads((UPSTREAM / "retvec_v1_vectors.json").read_text(encoding="utf-8"))
    assert len(published) > 3
    for entry in published:
        slots = slots_of(entry["word"])
        vector = reference_network.embed(contract.bits(slots), embedding.weights)[0]
        published_part = entry["embedding"]  # one of them was published with its first 119 numbers only
        np.testing.assert_allclose(vector[: len(published_part)], published_part, atol=1e-5, err_msg=entry["word"])


# --- what is refused --------------------------------------------------------------------------------------------------


def refusal(path: Path) -> str:
    with pytest.raises(RetvecLiteError) as caught:
        import_v1(path)
    message = str(caught.value)
    assert str(path) in message and "\n" not in message
    return message


@pytest.mark.parametrize(
    "change",
    [
        {"k0": np.zeros((336, 256), np.float32)},
        {"k1": np.zeros((256, 128), np.float32)},
        {"b2": np.zeros(255, np.float32)},
        {"k3": np.zeros((256, 256), np.float32)},
        {"b2": None},
    ],
)
def test_other_layers(tmp_path: Path, arrays: Arrays, change: dict[str, np.ndarray | None]) -> None:
    changed = {name: value for name, value in {**arrays, **change}.items() if value is not None}
    assert "(384, 256)" in refusal(write_npz(tmp_path, changed))


def test_what_is_no_file_of_weights(tmp_path: Path, arrays: Arrays) -> None:
    (tmp_path / "w.h5").write_bytes(b"x")
    for path in (tmp_path, tmp_path / "no.npz", tmp_path / "w.h5"):
        assert "SavedModel folder" in refusal(path)
    assert "NaN" in refusal(write_npz(tmp_path, {**arrays, "b1": np.full(256, np.nan, np.float32)}))
    for content in (b"", b"PK\x03\x04 no zip", b"\x93NUMPY", b"\x80\x04]\x94."):
        (tmp_path / "w.npz").write_bytes(content)
        refusal(tmp_path / "w.npz")


def test_a_broken_saved_model(tmp_path: Path) -> None:
    tf.saved_model.save(tf.Module(), str(tmp_path))
    assert "variables" in refusal(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"nothing of the kind")
    refusal(tmp_path)


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_writes_an_embedding_and_never_over_another(
    tmp_path: Path, arrays: Arrays, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = write_npz(tmp_path, arrays), tmp_path / "new" / "e.safetensors"
    assert command().main(["import-v1", str(source), str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    assert load_embedding(out).to_bytes() == out.read_bytes() == import_v1(source).to_bytes()
    assert command().main(["import-v1", str(source), str(out)]) == 2
    assert f"{out} already exists" in capsys.readouterr().err
