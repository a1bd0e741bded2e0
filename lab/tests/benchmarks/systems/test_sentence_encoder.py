"""The encoders say what their ONNX files say, whatever else is in a batch, whole or rounded to 8 bits."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.systems import sentence_encoder
from benchmarks.systems.sentence_encoder import BGE_SMALL, MINILM, Encoder
from makers.sentences.lessons import Teachers
from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError

WIDTH, TOKENS = 24, ("[UNK]", "good", "morning", "night")
TABLE = np.random.default_rng(0).normal(size=(len(TOKENS), WIDTH)).astype(np.float32)
PLACES = np.random.default_rng(1).normal(size=(8, WIDTH)).astype(np.float32)
TEXTS = ["good morning", "night", "good night night", "morning good", "good", "night good morning morning night"]


def artifact(path: Path, name: str) -> Path:
    """An encoder that says of each token the sum of two rows, of the token and of its place, and 100 where there is none."""
    onnx = pytest.importorskip("onnx")
    make, int64 = onnx.helper.make_node, onnx.TensorProto.INT64
    given = ["input_ids", "attention_mask", "token_type_ids"]
    constants = {"table": TABLE, "places": PLACES, "row": np.int64(0), "by": np.int64(1), "hundred": np.float32(-100)}
    nodes = [
        make("Gather", ["table", given[0]], ["words"]),
        make("CumSum", [given[1], "by"], ["counts"]),
        make("Sub", ["counts", given[1]], ["before"]),
        make("Gather", ["places", "before"], ["placed"]),
        make("Add", ["words", "placed"], ["sums"]),
        make("Sub", [given[1], "by"], ["none"]),
        make("Add", ["none", given[2]], ["absent"]),
        make("Cast", ["absent"], ["cast"], to=onnx.TensorProto.FLOAT),
        make("Mul", ["cast", "hundred"], ["pushed"]),
        make("Unsqueeze", ["pushed", "last"], ["away"]),
        make("Add", ["sums", "away"], ["last_hidden_state"]),
    ]
    constants["last"] = np.array([2], np.int64)
    graph = onnx.helper.make_graph(
        nodes,
        "encoder",
        [onnx.helper.make_tensor_value_info(each, int64, ["texts", "tokens"]) for each in given],
        [onnx.helper.make_tensor_value_info("last_hidden_state", onnx.TensorProto.FLOAT, ["texts", "tokens", WIDTH])],
        [onnx.numpy_helper.from_array(np.asarray(value), each) for each, value in constants.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    words = {"type": "WordLevel", "vocab": {token: place for place, token in enumerate(TOKENS)}, "unk_token": "[UNK]"}
    tokenizer = {"version": "1.0", "added_tokens": [], "model": words, "pre_tokenizer": {"type": "Whitespace"}}
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(f"{name}.onnx", model.SerializeToString())
        jar.writestr(f"{name}-tokenizer.json", json.dumps(tokenizer))
    return path


def expected(texts: Sequence[str], first_token: bool) -> Floats:
    found = []
    for text in texts:
        rows = [TABLE[TOKENS.index(word)] + PLACES[place] for place, word in enumerate(text.split())]
        vector = rows[0] if first_token else np.mean(rows, axis=0)
        found.append(vector / np.linalg.norm(vector))
    return np.array(found, np.float32)


@pytest.mark.parametrize("kind", ["", "-q"])
@pytest.mark.parametrize("at_once", [1, 4, 1024])
def test_both_say_what_their_files_say_in_the_order_of_the_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, at_once: int
) -> None:
    pytest.importorskip("tokenizers")
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(sentence_encoder, "_TOKENS_AT_ONCE", at_once)
    jars = [artifact(tmp_path / f"{name}.jar", f"{name}{kind}") for name in (BGE_SMALL, MINILM)]
    found = Teachers(*jars)(TEXTS)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.stack([expected(TEXTS, True), expected(TEXTS, False)], axis=1), atol=1e-6)


def test_another_file_is_refused_with_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    with zipfile.ZipFile(tmp_path / "other.jar", "w") as jar:
        jar.writestr("README", "x")
    (tmp_path / "no.jar").write_bytes(b"PK")
    artifact(tmp_path / "swapped.jar", MINILM)
    for name in ("other.jar", "no.jar", "missing.jar", "swapped.jar"):
        with pytest.raises(RetvecLiteError, match=f"{name} is not the artifact with bge") as caught:
            Encoder(tmp_path / name, BGE_SMALL)
        assert "\n" not in str(caught.value)
