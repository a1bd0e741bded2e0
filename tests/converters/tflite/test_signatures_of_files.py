"""Signatures of exported files: one set of weights, and embeddings as the reference has them."""

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
from retvec_lite.converters.parity.oracle import Oracle, text_embedding
from retvec_lite.converters.tflite import pack, read_model
from retvec_lite.converters.tflite.examine import match_weights
from retvec_lite.converters.tflite.graph import data_of, is_stored, signatures_of, sizes
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
    names = ["classify", *(["embed"] if head in EMBED else [])]
    assert [(s.name, s.max_chars, s.max_words) for s in artifact.signatures] == [(name, 160, 20) for name in names]
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
        assert own < 2500, "shapes and ranges are a few numbers"


@pytest.mark.parametrize("recipe", ["float32", "int8", "int4"])
def test_a_signature_costs_its_structure_alone(recipe: str) -> None:
    model = read_artifact(path_of("pool", recipe)).model
    alone = read_model(model)
    alone.signatureDefs = alone.signatureDefs[:1]
    alone.subgraphs = alone.subgraphs[:1]
    grown = len(model) - len(pack(alone))
    assert 0 < grown < 26_000
    assert sum(sizes(model, read_model(model)).values()) == len(model)


CHARACTERS = st.one_of(
    st.characters(codec=None),
    st.sampled_from([chr(code) for code in (*SEPARATORS, *INVISIBLE, 0)]),
    st.sampled_from("abc AB 12 我的包裹 ひらカナ สวัสดี"),
)
VALUES = st.one_of(
    st.integers(-(2**31), 2**31 - 1),
    st.sampled_from([0, 0x20, 0x3000, 0x200B, 0xD800, 0xDFFF, 0x110000, -1, 0x4E00, 0x3042, 0xE01, 0x61]),
)


@pytest.mark.parametrize(("head", "recipe"), [("pool", "float32"), ("raw", "int8")])
def test_any_input_at_all_is_answered_as_by_the_reference(head: str, recipe: str) -> None:
    artifact = read_artifact(path_of(head, recipe))
    model = load_trained_model(EXPORTED / head / "reference.safetensors")
    own = match_weights(read_model(artifact.model), model.weights)
    oracle = Oracle(model, {name: match.values for name, match in own.items()})
    interpreter = import_runtime()[1](model_content=artifact.model, num_threads=1)
    interpreter.allocate_tensors()
    runner = interpreter.get_signature_runner(CLASSIFY)

    @given(st.lists(VALUES, max_size=artifact.config.max_chars))
    @settings(max_examples=60)
    def check(values: list[int]) -> None:
        row = np.pad(np.array(values, np.int32), (0, artifact.config.max_chars - len(values)))
        found = runner(codepoints=row[None])["probabilities"][0]
        assert oracle.off(row, contract.words(row, artifact.config), found).max() < 1e-5

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
