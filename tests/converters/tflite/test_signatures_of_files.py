"""Exported files with several signatures: one set of weights, the same answers by the short one and the full one."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported import EMBED, EXPORTED, ORDERS
from hypothesis import given, settings
from hypothesis import strategies as st

import retvec_lite as rl
from retvec_lite import contract
from retvec_lite.contract import INVISIBLE, SEPARATORS
from retvec_lite.converters.parity.oracle import text_embedding
from retvec_lite.converters.tflite import pack, read_model
from retvec_lite.converters.tflite.examine import match_weights
from retvec_lite.converters.tflite.graph import data_of, flatbuffer_size, is_stored, signatures_of, sizes
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.runtime.artifact import CLASSIFY, read_artifact
from retvec_lite.runtime.interpreters import import_runtime
from retvec_lite.windows import read_text

PAIRS = [(head, recipe) for head, recipes in ORDERS.items() for recipe in recipes.split(",")]
each_file = pytest.mark.parametrize(("head", "recipe"), PAIRS)


def path_of(head: str, recipe: str) -> Path:
    return EXPORTED / head / f"classifier-{recipe}.tflite"


@each_file
def test_the_list_in_the_file_is_true(head: str, recipe: str) -> None:
    artifact = read_artifact(path_of(head, recipe))
    model = read_model(artifact.model)
    assert list(artifact.signatures) == signatures_of(model)
    names = ["classify_16", "classify", *(["embed"] if head in EMBED else [])]
    assert [signature.name for signature in artifact.signatures] == names
    assert [(s.max_chars, s.max_words) for s in artifact.signatures] == [(120, 16), (160, 20), (160, 20)][: len(names)]
    # Whoever names no signature gets the whole classifier.
    assert model.signatureDefs[0].signatureKey == CLASSIFY and model.signatureDefs[0].subgraphIndex == 0


def constants_of(model: Any, place: int) -> dict[int, int]:
    """Buffer -> its bytes, of the stored tensors of a graph."""
    stored = [tensor for tensor in model.subgraphs[place].tensors if is_stored(model, tensor)]
    return {tensor.buffer: len(data_of(model, tensor)) for tensor in stored}


@each_file
def test_weights_are_in_the_file_once(head: str, recipe: str) -> None:
    data = path_of(head, recipe).read_bytes()
    model = read_model(data)
    contents = [bytes(buffer.data) for buffer in model.buffers if buffer.data is not None]
    assert len(contents) == len(set(contents))
    shared = constants_of(model, 0)
    for place in range(1, len(model.subgraphs)):
        own = sum(size for buffer, size in constants_of(model, place).items() if buffer not in shared)
        # A Transformer has fewer learned positions for fewer slots; shapes and ranges are a few numbers.
        assert own < 2500 + (16 * 64 * 4 if head == "bert" else 0)


@pytest.mark.parametrize("recipe", ["float32", "int8", "int4"])
def test_a_signature_costs_its_structure_alone(recipe: str) -> None:
    model = read_artifact(path_of("pool", recipe)).model
    alone = read_model(model)
    alone.signatureDefs = alone.signatureDefs[:1]
    alone.subgraphs = alone.subgraphs[:1]
    grown = len(model) - len(pack(alone))
    assert 0 < grown < 2 * 26_000
    assert sum(sizes(model, read_model(model)).values()) == len(model)


@each_file
def test_every_signature_computes_with_the_same_weights(head: str, recipe: str) -> None:
    model = read_model(read_artifact(path_of(head, recipe)).model)
    weights = load_trained_model(EXPORTED / head / "reference.safetensors").weights
    wanted = {name: value[:16] if name == "head/positions" else value for name, value in weights.items()}
    full, short = match_weights(model, weights), match_weights(model, wanted, "classify_16")
    for name, match in short.items():
        np.testing.assert_array_equal(match.values, full[name].values[: len(match.values)], err_msg=name)


# --- the same answers ------------------------------------------------------------------------------------------------

CHARACTERS = st.one_of(
    st.characters(codec=None),
    st.sampled_from([chr(code) for code in (*SEPARATORS, *INVISIBLE, 0)]),
    st.sampled_from("abc AB 12 我的包裹 ひらカナ สวัสดี"),
)
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=150),
    # Around the limits of 16 slots and 120 code points.
    st.lists(st.text(CHARACTERS, min_size=1, max_size=3), min_size=14, max_size=19).map(" ".join),
    st.integers(115, 125).flatmap(lambda length: st.text(CHARACTERS, min_size=length, max_size=length)),
)


def full_alone(path: Path, target: Path) -> Path:
    """The same file, whose metadata list the full signature alone."""
    model = path.read_bytes()[: flatbuffer_size(path.read_bytes())]
    with zipfile.ZipFile(path) as archive:
        metadata: dict[str, Any] = json.loads(archive.read("retvec_lite.json"))
        labels = archive.read("labels.txt")
    metadata["signatures"] = [entry for entry in metadata["signatures"] if entry["name"] == "classify"]
    assert metadata["model_sha256"] == hashlib.sha256(model).hexdigest()
    tail = io.BytesIO(model)
    tail.seek(0, io.SEEK_END)
    with zipfile.ZipFile(tail, "w") as archive:
        archive.writestr("retvec_lite.json", json.dumps(metadata))
        archive.writestr("labels.txt", labels)
    target.write_bytes(tail.getvalue())
    return target


@pytest.mark.parametrize(("head", "recipe"), [("pool", "float32"), *[pair for pair in PAIRS if pair[0] != "pool"]])
def test_the_short_signature_answers_what_the_full_one_does(head: str, recipe: str, tmp_path: Path) -> None:
    path = path_of(head, recipe)
    chosen = rl.load(path)
    full = rl.load(full_alone(path, tmp_path / path.name))

    @given(TEXTS)
    @settings(max_examples=60)
    def check(text: str) -> None:
        np.testing.assert_allclose(chosen.probabilities(text), full.probabilities(text), rtol=0, atol=1e-5)

    check()


VALUES = st.one_of(
    st.integers(-(2**31), 2**31 - 1),
    st.sampled_from([0, 0x20, 0x3000, 0x200B, 0xD800, 0xDFFF, 0x110000, -1, 0x4E00, 0x3042, 0xE01, 0x61]),
)


@pytest.mark.parametrize(("head", "recipe"), [("pool", "int8"), ("rnn", "int8"), ("bert", "int8")])
def test_no_input_at_all_tells_them_apart(head: str, recipe: str) -> None:
    """Any int32 values: slots are counted as the reference does, and what fits is answered alike."""
    artifact = read_artifact(path_of(head, recipe))
    short = artifact.signatures[0]
    interpreter = import_runtime()[1](model_content=artifact.model, num_threads=1)
    interpreter.allocate_tensors()
    runners = {name: interpreter.get_signature_runner(name) for name in (short.name, CLASSIFY)}

    def row(values: list[int], length: int) -> np.ndarray:
        return np.pad(np.array(values, np.int32), (0, length - len(values)))[None]

    @given(st.lists(VALUES, max_size=short.max_chars))
    @settings(max_examples=60)
    def check(values: list[int]) -> None:
        answers = runners[short.name](codepoints=row(values, short.max_chars))
        full = runners[CLASSIFY](codepoints=row(values, artifact.config.max_chars))
        count = contract.count_pieces(values, artifact.config)
        assert answers["slots"].tolist() == [min(count, short.max_words + 1)]
        assert np.isfinite(answers["probabilities"]).all()
        if count <= short.max_words:
            np.testing.assert_allclose(answers["probabilities"], full["probabilities"], rtol=0, atol=1e-5)

    check()


@pytest.mark.parametrize(("head", "recipe"), [("pool", "float32"), ("pool", "int8"), ("raw", "int8")])
def test_embeddings_are_the_reference_s(head: str, recipe: str) -> None:
    classifier = rl.load(path_of(head, recipe))
    matches = match_weights(
        read_model(read_artifact(path_of(head, recipe)).model),
        load_trained_model(EXPORTED / head / "reference.safetensors").weights,
    )
    weights = {name: match.values for name, match in matches.items()}

    @given(st.text(CHARACTERS, max_size=180))
    @settings(max_examples=40)
    def check(text: str) -> None:
        slots = contract.words(
            contract.codepoints(read_text(text, classifier.config), classifier.config.max_chars), classifier.config
        )
        used = slots[:, 0] != 0
        expected = reference_network.embed(contract.bits(slots), weights) * used[:, None]
        words, embeddings = classifier.embed_words(text)
        assert words == ["".join(chr(code) for code in slot if code) for slot in slots[used].tolist()]
        np.testing.assert_allclose(embeddings, expected[used], rtol=0, atol=1e-5)
        np.testing.assert_allclose(classifier.embed(text)[0], text_embedding(expected), rtol=0, atol=1e-5)

    check()


def test_texts_of_the_same_words_are_near() -> None:
    """The embedding has random weights here: what it can show is that order does not matter and length is 1."""
    classifier = rl.load(path_of("pool", "int8"))
    first, second, other, empty = classifier.embed(["a parcel is late", "late is a parcel", "something else", " "])
    np.testing.assert_allclose(first, second, atol=1e-6)
    assert first @ first == pytest.approx(1.0, abs=1e-5)
    assert first @ other < 0.99
    assert not empty.any()
