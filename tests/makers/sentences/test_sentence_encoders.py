"""The teacher that comes as an ONNX file is the encoder that was exported to it."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from benchmarks.systems.sentence_encoder import SentenceEncoder
from makers.sentences.encoders import load_bge
from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError

WIDTH, INNER, TOKENS = 24, 10, ("[UNK]", "good", "morning", "night")
TEXTS = ["good morning", "good night night", "morning good"]


def bert() -> tuple[dict[str, Floats], str]:
    """The weights of a BERT of two layers, and a tokenizer of a few words."""
    rng, shapes = np.random.default_rng(0), dict[str, tuple[int, ...]]()
    for name, rows in (("word", len(TOKENS)), ("position", 8), ("token_type", 2)):
        shapes[f"embeddings.{name}_embeddings.weight"] = rows, WIDTH
    norms = ["embeddings.LayerNorm"]
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        sizes = {
            f"attention.{part}": (WIDTH, WIDTH) for part in ("self.query", "self.key", "self.value", "output.dense")
        }
        sizes |= {"intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}
        for name, size in sizes.items():
            shapes |= {f"{layer}.{name}.weight": size, f"{layer}.{name}.bias": size[:1]}
    shapes |= {f"{norm}.{part}": (WIDTH,) for norm in norms for part in ("weight", "bias")}
    # Large biases would say the same of all texts.
    scales = {name: 0.1 if name.endswith(".bias") else 1.0 for name in shapes}
    weights = {name: rng.normal(0.0, scales[name], shape).astype(np.float32) for name, shape in shapes.items()}
    vocabulary = {token: place for place, token in enumerate(TOKENS)}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    return weights, json.dumps(
        {"version": "1.0", "added_tokens": [], "model": model, "pre_tokenizer": {"type": "Whitespace"}}
    )


def exported(weights: dict[str, Floats], prefix: str) -> bytes:
    """The weights as PyTorch exports them: kernels transposed, with numbers for names, which only the nodes tell."""
    onnx = pytest.importorskip("onnx")
    kernels = [name for name, value in weights.items() if value.ndim == 2 and not name.startswith("embeddings.")]
    named = {f"onnx::MatMul_{place}": name for place, name in enumerate(kernels)}
    tensors = {name: value for name, value in weights.items() if name not in kernels}
    tensors |= {number: weights[name].T for number, name in named.items()}
    nodes = [
        onnx.helper.make_node(
            "MatMul", ["x", number], ["y"], f"{prefix}/{name.removesuffix('.weight').replace('.', '/')}/MatMul"
        )
        for number, name in named.items()
    ]
    nodes.append(onnx.helper.make_node("MatMul", ["x", "y"], ["z"], "/encoder/layer.0/attention/self/MatMul"))
    stored = [onnx.numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in tensors.items()]
    content: bytes = onnx.helper.make_model(onnx.helper.make_graph(nodes, "bert", [], [], stored)).SerializeToString()
    return content


@pytest.mark.parametrize("prefix", ["", "MatMul:"])
def test_an_exported_encoder_says_what_it_said_before(tmp_path: Path, prefix: str) -> None:
    pytest.importorskip("tokenizers")
    weights, tokenizer = bert()
    with zipfile.ZipFile(tmp_path / "bge.jar", "w") as jar:
        jar.writestr("bge-small-en-v1.5.onnx", exported(weights, prefix))
        jar.writestr("bge-small-en-v1.5-tokenizer.json", tokenizer)
    found = load_bge(tmp_path / "bge.jar").embed(TEXTS)
    first, mean = (SentenceEncoder(weights, tokenizer, first_token=each).embed(TEXTS) for each in (True, False))
    np.testing.assert_allclose(found, first, atol=1e-6)
    assert np.abs(first - mean).max() > 0.01 and np.abs(first[0] - first[2]).max() > 0.01
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)


def test_another_file_is_refused_with_one_sentence(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.jar", "w") as jar:
        jar.writestr("README", "x")
    (tmp_path / "no.jar").write_bytes(b"PK")
    for name in ("other.jar", "no.jar", "missing.jar"):
        with pytest.raises(RetvecLiteError, match=f"{name} is not the artifact with bge") as caught:
            load_bge(tmp_path / name)
        assert "\n" not in str(caught.value)
