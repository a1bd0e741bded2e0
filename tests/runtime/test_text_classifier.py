import io
import json
import os
import struct
import threading
import tracemalloc
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_artifact import LABELS, MAX_CHARS, MODEL, tiny_artifact, tiny_metadata, tiny_probabilities

from retvec_lite.contract import CONTRACT_VERSION, EncoderConfig
from retvec_lite.data.texts import as_texts
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime import interpreters
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.predictor import Prediction
from retvec_lite.runtime.text_classifier import TextClassifier


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny.tflite"
    path.write_bytes(tiny_artifact())
    return path


@pytest.fixture(scope="module")
def classifier(model_path: Path) -> TextClassifier:
    return TextClassifier.load(model_path)


def test_what_a_model_says_about_itself(classifier: TextClassifier) -> None:
    assert classifier.labels == LABELS
    assert classifier.config == EncoderConfig(max_chars=MAX_CHARS, max_words=8)
    assert classifier.metadata["recipe"] == "float32"
    assert classifier.runtime in interpreters.RUNTIMES


@given(st.lists(st.text(st.characters(codec=None), max_size=50), max_size=5))
def test_probabilities_are_the_models(classifier: TextClassifier, texts: list[str]) -> None:
    table = classifier.probabilities(texts)
    assert table.shape == (len(texts), 3) and table.dtype == np.float32
    for row, text in zip(table, texts, strict=True):
        np.testing.assert_allclose(row, tiny_probabilities(text), atol=1e-6)


def test_predict_one_text_and_many(classifier: TextClassifier) -> None:
    one = classifier.predict("12 A")
    assert [prediction.label for prediction in one] == ["digits", "CAPITALS", LABELS[2]]
    assert isinstance(one[0], Prediction)
    assert one[0].probability == pytest.approx(tiny_probabilities("12 A")[0], abs=1e-6)
    assert all(type(prediction.probability) is float for prediction in one)
    assert classifier.predict(["12 A", "AB"], top=1) == [one[:1], classifier.predict("AB")[:1]]
    assert classifier.predict(("12 A",), top=99) == [one]
    assert classifier.predict([]) == []


def test_equal_probabilities_keep_the_order_of_the_labels(classifier: TextClassifier) -> None:
    assert [label for label, _ in classifier.predict("1A")][:2] == ["digits", "CAPITALS"]


def test_a_string_is_one_text_not_a_sequence_of_characters(classifier: TextClassifier) -> None:
    assert classifier.probabilities("12 A").shape == (1, 3)


@given(st.text(st.characters(codec=None), max_size=80))
def test_codepoints_are_ord_cut_and_padded(classifier: TextClassifier, text: str) -> None:
    points = classifier.codepoints(text)
    assert points.shape == (1, MAX_CHARS) and points.dtype == np.int32
    composed = unicodedata.normalize("NFC", text[: 4 * MAX_CHARS])
    expected = [ord(character) for character in composed][:MAX_CHARS]
    assert points[0].tolist() == expected + [0] * (MAX_CHARS - len(expected))


def test_codepoints_of_the_ends_of_unicode(classifier: TextClassifier) -> None:
    text = "\U0010ffff\ud800\udc80\0a"
    assert classifier.codepoints(text)[0, :6].tolist() == [0x10FFFF, 0xD800, 0xDC80, 0, 97, 0]


@pytest.mark.parametrize(
    "column",
    [
        tuple,
        np.array,
        lambda texts: np.array(texts, object),
        lambda texts: pd.Series(texts, index=[7, 7, "x"]),
        lambda texts: pd.Series(texts, dtype="string"),
        lambda texts: pd.Series(texts, dtype="category"),
        lambda texts: pd.DataFrame({"text": texts})["text"],
        lambda texts: dict.fromkeys(texts).keys(),
        iter,
    ],
    ids=["tuple", "str array", "object array", "Series", "string Series", "category", "column", "keys", "iterator"],
)
def test_texts_come_in_many_containers(
    classifier: TextClassifier, column: Callable[[list[str]], Iterable[str]]
) -> None:
    texts = ["12 A", "", "AB"]
    assert as_texts(column(texts)) == texts and all(isinstance(text, str) for text in as_texts(column(texts)))
    expected = classifier.probabilities(texts)
    np.testing.assert_array_equal(classifier.probabilities(column(texts)), expected)
    assert classifier.predict(column(texts), top=1) == classifier.predict(texts, top=1)
    assert list(classifier.predict_many(column(texts), top=1)) == classifier.predict(texts, top=1)


def test_a_single_string_is_a_list_of_one() -> None:
    assert as_texts("12 A") == ["12 A"]
    assert as_texts(np.array(["12 A"])[0]) == ["12 A"]
    assert as_texts([]) == as_texts(np.array([], str)) == as_texts(pd.Series([], dtype=str)) == []


def assert_refused(classifier: TextClassifier, texts: Any, sentence: str) -> None:
    """Every way to pass texts refuses these with the sentence (a regular expression)."""
    for call in (
        as_texts,
        classifier.predict,
        classifier.probabilities,
        lambda found: list(classifier.predict_many(found)),
    ):
        with pytest.raises(RetvecLiteError, match=sentence):
            call(texts)


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (b"12", "bytes"),
        (None, "NoneType"),
        (3, "int"),
        (float("nan"), "float"),
        ({"12": 1}, "dict"),
        ({"12"}, "set"),
        (np.array("12"), "ndarray"),
        (np.array([["12", "A"]]), "ndarray"),
        (pd.DataFrame({"text": ["12"]}), "DataFrame"),
    ],
    ids=repr,
)
def test_what_is_no_sequence_of_texts_is_refused(classifier: TextClassifier, texts: Any, named: str) -> None:
    sentence = f"^Texts must be a string or a sequence of strings, not {named}. Pass a list, an array or one column"
    assert_refused(classifier, texts, sentence)


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["a", 3], "int"),
        (["a", None], "NoneType"),
        (["a", b"a"], "bytes"),
        (["a", ["b"]], "list"),
        (np.array(["a", 1.5], object), "float"),
        (pd.Series(["a", None], dtype="string"), "NAType"),
        (pd.Series(["a", float("nan")], index=[5, 6]), "float"),
    ],
    ids=repr,
)
def test_an_item_that_is_no_string_is_named_by_its_place(classifier: TextClassifier, texts: Any, named: str) -> None:
    sentence = f"^Texts must be strings, but the one at index 1 is of type {named}\\.$"
    assert_refused(classifier, texts, sentence)


def test_any_number_of_texts_is_answered_in_order_and_as_they_come(model_path: Path) -> None:
    taken = 0

    def texts() -> Iterator[str]:
        nonlocal taken
        for number in range(100_000):
            taken += 1
            yield "1" * (number % 4) + "A" * (number % 3)

    answers = TextClassifier.load(model_path, workers=2).predict_many(texts(), top=1)
    for number, found in zip(range(1500), answers, strict=False):
        digits, capitals = number % 4, number % 3
        assert found[0].label == (
            LABELS[2] if not digits + capitals else LABELS[0] if digits >= capitals else LABELS[1]
        )
    # Flat memory: far fewer texts are under way than there are.
    assert 1500 <= taken < 3000
    answers.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_wrong_text_among_many_is_told_by_its_place(model_path: Path, workers: int) -> None:
    classifier = TextClassifier.load(model_path, workers=workers)
    texts: list[Any] = ["a"] * 500
    texts[321] = 7
    with pytest.raises(RetvecLiteError, match="Texts must be strings, but the one at index 321 is of type int"):
        list(classifier.predict_many(texts))
    # Nothing is stuck afterwards.
    assert len(classifier.predict(["12"] * 300)) == 300


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_texts_themselves_raise_comes_after_the_answers_to_those_before(
    model_path: Path, workers: int
) -> None:
    def texts() -> Iterator[str]:
        yield from ["a"] * 200
        raise OSError("the disk is gone")

    answers = TextClassifier.load(model_path, workers=workers).predict_many(texts())
    assert sum(1 for _ in zip(range(200), answers, strict=False)) == 200
    with pytest.raises(OSError, match="the disk is gone"):
        next(answers)


@pytest.mark.parametrize("place", [0, 1, 63, 64, 65, 300])
def test_a_wrong_text_comes_after_the_answers_to_those_before(model_path: Path, place: int) -> None:
    texts: list[Any] = ["1"] * 400
    texts[place] = None
    answers = TextClassifier.load(model_path, workers=2).predict_many(texts, top=1)
    assert [next(answers)[0].label for _ in range(place)] == ["digits"] * place
    with pytest.raises(RetvecLiteError, match=f"the one at index {place} is of type NoneType"):
        next(answers)


def test_members_packed_in_another_way_are_refused(tmp_path: Path) -> None:
    """Broken LZMA raises an exception of its own."""
    tail = io.BytesIO()
    with zipfile.ZipFile(tail, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("retvec_lite.json", json.dumps(tiny_metadata()))
        archive.writestr("labels.txt", LABELS_TXT)
    content = bytearray(tail.getvalue())
    content[60:70] = bytes(10)
    (tmp_path / "m.tflite").write_bytes(MODEL + content)
    with pytest.raises(RetvecLiteError, match="did not export it"):
        TextClassifier.load(tmp_path / "m.tflite")


def test_bad_arguments_are_refused(classifier: TextClassifier, model_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match="top"):
        classifier.predict("a", top=0)
    for threads in (0, True, 1.5):
        with pytest.raises(RetvecLiteError, match="num_threads"):
            TextClassifier.load(model_path, num_threads=threads)  # type: ignore[arg-type]
        with pytest.raises(RetvecLiteError, match="workers"):
            TextClassifier.load(model_path, workers=threads)  # type: ignore[arg-type]
    with pytest.raises(RetvecLiteError, match="top"):
        classifier.predict_many(["a"], top=0)
    with pytest.raises(RetvecLiteError, match=r"not the string 'a text'\. Use predict for one text"):
        classifier.predict_many("a text")
    with pytest.raises(RetvecLiteError, match=r"Unknown runtime 'onnx'\. Choose ai-edge-litert or tflite-runtime"):
        TextClassifier.load(model_path, runtime="onnx")


def test_threads_can_share_a_classifier(classifier: TextClassifier) -> None:
    texts = ["1" * n + "A" * m for n in range(8) for m in range(8)]
    expected = np.array([tiny_probabilities(text) for text in texts])
    wrong: list[int] = []

    def work() -> None:
        for _ in range(20):
            if not np.allclose(classifier.probabilities(texts), expected, atol=1e-6):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- files that are not whole, not ours, or not of this version ------------------------------------------------------

LABELS_TXT = "".join(f"{label}\n" for label in LABELS)
NEWER = CONTRACT_VERSION + 1
NEWER_ENCODER = {"contract_version": NEWER, "something_new": 1}


def test_a_folder_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match=r"is a folder: name a \.tflite file in it"):
        TextClassifier.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "is not a .tflite model"),
        (b"TFL3", "is not a .tflite model"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "is not a .tflite model"),
        (MODEL, "did not export it"),
        (MODEL[:500], "is truncated"),
        (tiny_artifact()[:-10], "is truncated"),
        (tiny_artifact(members={"labels.txt": LABELS_TXT}), "did not export it"),
        (tiny_artifact(members={"retvec_lite.json": "{}", "labels.txt": "a\nb\n"}), "its format is not 'retvec-lite'"),
        (tiny_artifact(members={"retvec_lite.json": "{", "labels.txt": "a\nb\n"}), "retvec_lite.json"),
        (tiny_artifact(members={"retvec_lite.json": "[" * 100_000, "labels.txt": ""}), "retvec_lite.json"),
        (tiny_artifact(members={"retvec_lite.json": " " * 5_000_000, "labels.txt": ""}), "did not export it"),
        (tiny_artifact(format="other"), "its format is not 'retvec-lite'"),
        (
            tiny_artifact(contract_version=NEWER),
            f"The contract version is {NEWER}, but this retvec-lite reads versions 1 to {CONTRACT_VERSION} only",
        ),
        (tiny_artifact(contract_version=NEWER, encoder=NEWER_ENCODER), f"version is {NEWER}"),
        (tiny_artifact(contract_version=None), "The contract version is None"),
        (tiny_artifact(encoder=None), "encoder config lacks"),
        (tiny_artifact(encoder={**EncoderConfig().to_dict(), "max_chars": -1}), "max_chars"),
        (tiny_artifact(labels=["a", "b", "c"]), "same 2 or more labels"),
        (tiny_artifact(labels=None), "same 2 or more labels"),
        (tiny_artifact(model_sha256=None), "SHA-256"),
        (tiny_artifact(model=MODEL[:-100] + bytes(100)), "SHA-256"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "bad.tflite"
    path.write_bytes(content)
    with pytest.raises(RetvecLiteError) as caught:
        TextClassifier.load(path)
    message = str(caught.value)
    assert part in message and str(path) in message and message.endswith(".") and "\n" not in message


def test_the_version_of_the_encoder_alone_counts_too(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(tiny_artifact(encoder={**EncoderConfig().to_dict(), "contract_version": NEWER}))
    with pytest.raises(RetvecLiteError, match=f"version is {NEWER}"):
        TextClassifier.load(tmp_path / "m.tflite")


def test_a_missing_file_and_a_directory_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no.tflite", tmp_path):
        with pytest.raises(RetvecLiteError) as caught:
            TextClassifier.load(path)
        assert str(path) in str(caught.value)


@given(st.integers(0, len(tiny_artifact()) - 1), st.integers(1, 255))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_flipped_byte_is_refused_or_harmless(tmp_path: Path, at: int, change: int) -> None:
    content = bytearray(tiny_artifact())
    content[at] ^= change
    path = tmp_path / "flipped.tflite"
    path.write_bytes(content)
    try:
        artifact = read_artifact(path)
    except RetvecLiteError:
        return
    assert artifact.model == MODEL and artifact.labels == LABELS and dict(artifact.metadata) == tiny_metadata()


@given(st.integers(0, len(tiny_artifact()) - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_truncated_file_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "short.tflite"
    path.write_bytes(tiny_artifact()[:length])
    with pytest.raises(RetvecLiteError):
        read_artifact(path)


def test_a_zip_bomb_that_lies_about_its_size_is_not_unpacked(tmp_path: Path) -> None:
    size = (64 << 20) + 0x123456
    tail = io.BytesIO()
    with zipfile.ZipFile(tail, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("retvec_lite.json", bytes(size))
        archive.writestr("labels.txt", "a\nb\n")
    declared = struct.pack("<I", size)
    assert tail.getvalue().count(declared) == 2
    path = tmp_path / "bomb.tflite"
    path.write_bytes(MODEL + tail.getvalue().replace(declared, struct.pack("<I", 100)))
    tracemalloc.start()
    try:
        with pytest.raises(RetvecLiteError, match="did not export it"):
            read_artifact(path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_model_with_another_interface_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.tflite"
    path.write_bytes(tiny_artifact(encoder=EncoderConfig(max_chars=33, max_words=8).to_dict()))
    with pytest.raises(RetvecLiteError, match=r"\(1, 33\).*\(1, 32\)"):
        TextClassifier.load(path)


def test_the_metadata_survives_unzip_and_the_model_its_identifier(model_path: Path) -> None:
    """`unzip` reads the file as a zip archive, a runtime reads it as a flatbuffer."""
    content = model_path.read_bytes()
    assert content[4:8] == b"TFL3" and content[len(MODEL) :].startswith(b"PK\x03\x04")
    assert struct.unpack("<I", content[:4])[0] < len(MODEL)
    artifact = read_artifact(os.fspath(model_path))
    assert json.loads(json.dumps(dict(artifact.metadata))) == tiny_metadata()
