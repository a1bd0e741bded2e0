"""Signatures: what the metadata lists, which one answers a text, and text embeddings. Uses a miniature file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tiny_artifact import SIGNATURES, tiny_artifact, tiny_probabilities, tiny_signatures_artifact

import retvec_lite as rl
from retvec_lite.contract import EncoderConfig
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import (
    Signature,
    classify_signatures,
    full_signature,
    read_artifact,
    read_signatures,
    short_signatures,
)
from retvec_lite.runtime.interpreters import Engine, import_runtime
from retvec_lite.windows import cut_windows

CONFIG = EncoderConfig(max_chars=32, max_words=8)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("model") / "tiny.tflite"
    found.write_bytes(tiny_signatures_artifact())
    return found


@pytest.fixture(scope="module")
def classifier(path: Path) -> rl.Classifier:
    return rl.load(path)


def answered_by_the_short_one(classifier: rl.Classifier, text: str) -> bool:
    """The short signature of the miniature has a logit of 1.5 where the full one has 0.5, so their answers differ."""
    found = classifier.probabilities(text)[0]
    (read,) = cut_windows(text, classifier.config)
    short = tiny_probabilities(read, other=1.5)
    full = tiny_probabilities(read)
    assert min(np.abs(found - short).max(), np.abs(found - full).max()) < 1e-6
    return bool(np.abs(found - short).max() < 1e-6)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("", True),
        ("12", True),
        ("1 A", True),
        ("12345678", True),
        ("123456789", False),
        ("1 2 3", False),
        ("1 2 3 4 5 6 7", False),
        ("\ud800\U0010ffff 1A", True),
        ("ab🙂" * 3, False),
        ("🙂" * 500, True),
        ("<b>1</b>" * 8, True),
    ],
)
def test_the_smallest_signature_that_a_text_fits_into_answers(
    classifier: rl.Classifier, text: str, short: bool
) -> None:
    assert answered_by_the_short_one(classifier, text) is short


@given(st.text(st.characters(codec=None), max_size=CONFIG.max_chars))
def test_the_choice_follows_the_rule_for_any_text(classifier: rl.Classifier, text: str) -> None:
    # A longer text is answered in windows, and a window may have the other signature's answer.
    read, *others = cut_windows(text, CONFIG)
    assume(not others)
    assume(np.abs(tiny_probabilities(read, other=1.5) - tiny_probabilities(read)).max() > 1e-4)
    assert answered_by_the_short_one(classifier, text) is (len(read) <= 8 and read.count(" ") <= 1)


@pytest.mark.parametrize(
    ("text", "tried"), [("1", True), ("1 2", True), ("1 2 3", False), ("1  ", False), ("123456789", False)]
)
def test_a_signature_with_fewer_slots_than_words_is_not_tried(path: Path, text: str, tried: bool) -> None:
    name, interpreter_class = import_runtime()
    engine = Engine(interpreter_class, read_artifact(path), 1, name)
    ((max_chars, max_words, run),) = engine._short
    calls = []

    def counted(**inputs: Any) -> Any:
        calls.append(inputs)
        return run(**inputs)

    engine._short = [(max_chars, max_words, counted)]
    np.testing.assert_allclose(
        engine.probabilities([text])[0], tiny_probabilities(text, 1.5 if tried else 0.5), atol=1e-6
    )
    assert bool(calls) is tried


def test_many_texts_are_answered_as_one_by_one(path: Path) -> None:
    texts = ["1 " * (number % 5) + "A" * (number % 7) for number in range(1000)]
    one = rl.load(path, workers=1)
    expected = np.stack([one.probabilities(text)[0] for text in texts])
    for workers in (1, 2, 3):
        found = rl.load(path, workers=workers).probabilities(texts)
        np.testing.assert_array_equal(found, expected)


def test_a_file_that_lists_one_signature_has_no_other(tmp_path: Path) -> None:
    (tmp_path / "one.tflite").write_bytes(tiny_signatures_artifact(signatures=SIGNATURES[1:2]))
    classifier = rl.load(tmp_path / "one.tflite")
    assert not answered_by_the_short_one(classifier, "12")
    with pytest.raises(RetvecLiteError, match=r"'embed'.*--embed"):
        classifier.embed("12")


# --- embeddings ------------------------------------------------------------------------------------------------------


def test_embeddings_of_texts(classifier: rl.Classifier) -> None:
    found = classifier.embed(["12 A", "", "A" * 20])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[2 / 5**0.5, 1 / 5**0.5], [0, 0], [0, 1]], atol=1e-6)
    np.testing.assert_array_equal(classifier.embed("12 A"), found[:1])
    assert classifier.embed([]).shape == (0, 2)


def test_embeddings_of_many_texts_keep_their_order(classifier: rl.Classifier) -> None:
    texts = ["1" * (number % 9) + "A" for number in range(500)]
    found = classifier.embed(texts)
    np.testing.assert_array_equal(found, np.concatenate([classifier.embed(text) for text in texts]))


def test_embeddings_of_words(classifier: rl.Classifier) -> None:
    words, embeddings = classifier.embed_words("1234567890123456A🙂")
    assert words == ["1234567890123456", "A🙂"]
    np.testing.assert_array_equal(embeddings, [[16, 0], [0, 1]])
    words, embeddings = classifier.embed_words("")
    assert words == [] and embeddings.shape == (0, 2)


@pytest.mark.parametrize("texts", [[3], ["a", None], [b"a"]])
def test_embeddings_of_something_else(classifier: rl.Classifier, texts: Any) -> None:
    with pytest.raises(RetvecLiteError, match="Texts must be strings"):
        classifier.embed(texts)
    with pytest.raises(RetvecLiteError, match="Texts must be strings"):
        classifier.embed_words(texts[-1])


def test_without_the_signature_one_sentence_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(tiny_artifact())
    classifier = rl.load(tmp_path / "m.tflite")
    for call in (lambda: classifier.embed("a"), lambda: classifier.embed_words("a")):
        with pytest.raises(RetvecLiteError, match=r"no signature 'embed'.*--embed"):
            call()


# --- what a file lists -----------------------------------------------------------------------------------------------


def test_listed_signatures_are_read(path: Path) -> None:
    artifact = read_artifact(path)
    assert [signature.to_dict() for signature in artifact.signatures] == SIGNATURES
    assert [signature.name for signature in classify_signatures(artifact.signatures)] == ["classify_2", "classify"]


FULL = full_signature(CONFIG).to_dict()


@pytest.mark.parametrize(
    "listed",
    [
        [],
        {},
        "classify",
        [FULL, FULL],
        [{**FULL, "max_chars": 31}],
        [FULL, {**FULL, "name": "classify_2", "max_words": 0}],
        [FULL, {**FULL, "name": "classify_2", "max_words": True}],
        [FULL, {**FULL, "name": "classify_2", "max_words": "2"}],
        [FULL, {**FULL, "name": 2}],
        [FULL, {**FULL, "name": "x", "kind": "other"}],
        [FULL, {"name": "classify_2"}],
        [FULL, 3],
    ],
)
def test_a_list_that_makes_no_sense_is_refused_in_one_sentence(tmp_path: Path, listed: Any) -> None:
    path = tmp_path / "bad.tflite"
    path.write_bytes(tiny_signatures_artifact(signatures=listed))
    with pytest.raises(
        RetvecLiteError,
        match=r"bad\.tflite: The signatures in retvec_lite\.json are not valid: .*Export the model again",
    ) as caught:
        read_artifact(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"name": "classify_9"}, "lacks the signatures classify_9, which its metadata lists"),
        ({"max_chars": 9}, r"describes the signature 'classify_2' as .*\(1, 9\).*, but it is .*\(1, 8\)"),
    ],
)
def test_a_list_that_the_file_does_not_keep_is_refused(tmp_path: Path, changed: dict[str, Any], sentence: str) -> None:
    path = tmp_path / "bad.tflite"
    path.write_bytes(tiny_signatures_artifact(signatures=[{**SIGNATURES[0], **changed}, *SIGNATURES[1:]]))
    with pytest.raises(RetvecLiteError, match=sentence):
        rl.load(path)


def test_signatures_survive_json() -> None:
    signatures = (
        *short_signatures(EncoderConfig()),
        full_signature(EncoderConfig()),
        Signature("embed", "embed", 9, 2, 4),
    )
    listed = json.loads(json.dumps([signature.to_dict() for signature in signatures]))
    assert read_signatures({"signatures": listed}, EncoderConfig()) == signatures


@given(st.integers(1, 2000), st.integers(1, 200))
def test_a_short_signature_is_always_shorter(max_chars: int, max_words: int) -> None:
    for signature in short_signatures(EncoderConfig(max_chars=max_chars, max_words=max_words)):
        assert 0 < signature.max_chars < max_chars
        assert 0 < signature.max_words < max_words


def test_the_default_config_has_two() -> None:
    assert short_signatures(EncoderConfig()) == (
        Signature("classify_16", "classify", 128, 16),
        Signature("classify_32", "classify", 256, 32),
    )
    assert short_signatures(EncoderConfig(max_words=32)) == (Signature("classify_16", "classify", 128, 16),)
    assert short_signatures(EncoderConfig(max_words=16)) == ()
