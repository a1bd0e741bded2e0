"""Signatures: what the metadata lists, and text embeddings. Uses a miniature file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_artifact import CONFIG, SIGNATURES, tiny_artifact, tiny_probabilities, tiny_signatures_artifact

import retvec_lite as rl
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import classify_signature, embed_signature, read_artifact, read_signatures


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("model") / "tiny.tflite"
    found.write_bytes(tiny_signatures_artifact())
    return found


@pytest.fixture(scope="module")
def classifier(path: Path) -> rl.Classifier:
    return rl.load(path)


@pytest.mark.parametrize("text", ["", "12", "1 A", "\ud800\U0010ffff 1A", "1 2 3 4 5 6 7 8", "AB" * 16])
def test_a_text_is_answered(classifier: rl.Classifier, text: str) -> None:
    np.testing.assert_allclose(classifier.probabilities(text)[0], tiny_probabilities(text), atol=1e-6)


def test_many_texts_are_answered_as_one_by_one(path: Path) -> None:
    texts = ["1 " * (number % 5) + "A" * (number % 7) for number in range(1000)]
    one = rl.load(path, workers=1)
    expected = np.stack([one.probabilities(text)[0] for text in texts])
    for workers in (1, 2, 3):
        found = rl.load(path, workers=workers).probabilities(texts)
        np.testing.assert_array_equal(found, expected)


def test_a_file_that_lists_one_signature_has_no_other(tmp_path: Path) -> None:
    (tmp_path / "one.tflite").write_bytes(tiny_signatures_artifact(signatures=SIGNATURES[:1]))
    with pytest.raises(RetvecLiteError, match=r"'embed'.*--embed"):
        rl.load(tmp_path / "one.tflite").embed("12")


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
    assert artifact.dimensions == (2, 2)


@pytest.mark.parametrize("of_words", [4, 3])
def test_signatures_survive_json(of_words: int) -> None:
    signatures = (classify_signature(CONFIG), embed_signature(CONFIG, 4, of_words))
    assert [signature.of_words for signature in signatures] == [0, of_words]
    listed = json.loads(json.dumps([signature.to_dict() for signature in signatures]))
    assert read_signatures({"signatures": listed}, CONFIG) == signatures


FULL, EMBED = SIGNATURES


@pytest.mark.parametrize(
    "listed",
    [
        [],
        {},
        "classify",
        None,
        [FULL, FULL],
        [EMBED],
        [EMBED, FULL],
        [FULL, EMBED, EMBED],
        [{**FULL, "max_chars": 31}],
        [{**FULL, "max_words": 7}],
        [{**FULL, "dimension": 2}],
        [FULL, {**EMBED, "max_words": 2}],
        [FULL, {**EMBED, "max_words": True}],
        [FULL, {**EMBED, "dimension": "2"}],
        [FULL, {**EMBED, "dimension": 0}],
        [FULL, {name: value for name, value in EMBED.items() if name != "dimension"}],
        [FULL, {**EMBED, "word_dimension": 2}],
        [FULL, {**EMBED, "name": 2}],
        [FULL, {**EMBED, "name": "other"}],
        [FULL, {"name": "embed"}],
        [FULL, 3],
        # What files had for short texts.
        [FULL, {"name": "classify_2", "kind": "classify", "max_chars": 8, "max_words": 2}],
        [FULL, {"name": "classify_2", "kind": "classify", "max_chars": 8, "max_words": 2}, EMBED],
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
    ("signatures", "sentence"),
    [
        ([FULL, {**EMBED, "dimension": 3}], r"describes the signature 'embed' as .*\(1, 3\).*, but it is .*\(1, 2\)"),
        (SIGNATURES, "lacks the signatures embed, which its metadata lists"),
    ],
)
def test_a_list_that_the_file_does_not_keep_is_refused(
    tmp_path: Path, signatures: list[dict[str, Any]], sentence: str
) -> None:
    path = tmp_path / "bad.tflite"
    write = tiny_artifact if "lacks" in sentence else tiny_signatures_artifact
    path.write_bytes(write(signatures=signatures))
    with pytest.raises(RetvecLiteError, match=sentence):
        rl.load(path)
