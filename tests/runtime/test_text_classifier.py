import importlib.util
import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_artifact import LABELS, MAX_CHARS, MODEL, tiny_artifact, tiny_metadata, tiny_probabilities

import retvec_lite
from retvec_lite.contract import CONTRACT_VERSION, EncoderConfig
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime import interpreters
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.interpreters import installed_runtimes
from retvec_lite.runtime.text_classifier import Prediction, TextClassifier

needs_litert = pytest.mark.skipif(
    importlib.util.find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)
needs_tflite_runtime = pytest.mark.skipif(
    importlib.util.find_spec("tflite_runtime") is None, reason="tflite-runtime is not installed (Linux, Python <= 3.11)"
)


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny.tflite"
    path.write_bytes(tiny_artifact())
    return path


@pytest.fixture(scope="module")
def classifier(model_path: Path) -> TextClassifier:
    return TextClassifier.load(model_path)


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


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
    expected = [ord(character) for character in text][:MAX_CHARS]
    assert points[0].tolist() == expected + [0] * (MAX_CHARS - len(expected))


def test_codepoints_of_the_ends_of_unicode(classifier: TextClassifier) -> None:
    text = "\U0010ffff\ud800\udc80\0a"
    assert classifier.codepoints(text)[0, :6].tolist() == [0x10FFFF, 0xD800, 0xDC80, 0, 97, 0]


@pytest.mark.parametrize("texts", [[3], ["a", None], [b"a"]])
def test_something_else_than_strings_is_refused(classifier: TextClassifier, texts: list[str]) -> None:
    with pytest.raises(RetvecLiteError, match="Expected texts as strings"):
        classifier.predict(texts)


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
    with pytest.raises(RetvecLiteError, match="Expected texts as strings, received int at index 321"):
        list(classifier.predict_many(texts))
    # Nothing is stuck afterwards.
    assert len(classifier.predict(["12"] * 300)) == 300


def test_what_the_texts_themselves_raise_comes_through(classifier: TextClassifier) -> None:
    def texts() -> Iterator[str]:
        yield from ["a"] * 200
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(classifier.predict_many(texts()))


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
    with pytest.raises(RetvecLiteError, match="received the one string 'a text'"):
        classifier.predict_many("a text")
    with pytest.raises(RetvecLiteError, match="ai-edge-litert, tflite-runtime"):
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


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "another kind"),
        (b"TFL3", "another kind"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "another kind"),
        (MODEL, "another tool"),
        (MODEL[:500], "cut short"),
        (tiny_artifact()[:-10], "cut short"),
        (tiny_artifact(members={"labels.txt": LABELS_TXT}), "another tool"),
        (tiny_artifact(members={"retvec_lite.json": "{}", "labels.txt": "a\nb\n"}), "another format"),
        (tiny_artifact(members={"retvec_lite.json": "{", "labels.txt": "a\nb\n"}), "retvec_lite.json"),
        (tiny_artifact(members={"retvec_lite.json": "[" * 100_000, "labels.txt": ""}), "retvec_lite.json"),
        (tiny_artifact(members={"retvec_lite.json": " " * 5_000_000, "labels.txt": ""}), "another tool"),
        (tiny_artifact(format="other"), "another format"),
        (tiny_artifact(contract_version=NEWER), f"contract version {CONTRACT_VERSION}, received {NEWER}"),
        (tiny_artifact(contract_version=NEWER, encoder=NEWER_ENCODER), f"received {NEWER}"),
        (tiny_artifact(contract_version=None), "contract version 1, received None"),
        (tiny_artifact(encoder=None), "fields"),
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
    assert part in message and str(path) in message and message.startswith("Expected ") and "\n" not in message


def test_the_version_of_the_encoder_alone_counts_too(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(tiny_artifact(encoder={**EncoderConfig().to_dict(), "contract_version": NEWER}))
    with pytest.raises(RetvecLiteError, match=f"received {NEWER}"):
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


def test_a_model_with_another_interface_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.tflite"
    path.write_bytes(tiny_artifact(encoder=EncoderConfig(max_chars=33, max_words=8).to_dict()))
    with pytest.raises(RetvecLiteError, match=r"\(1, 33\).*\(1, 32\)"):
        TextClassifier.load(path)


# --- the choice of a runtime -----------------------------------------------------------------------------------------

CLASSIFY = "import sys, retvec_lite; c = retvec_lite.TextClassifier.load(sys.argv[1], runtime={runtime!r}); "
REPORT = "print(c.runtime, c.predict('12 A')[0].label, sorted({'ai_edge_litert', 'tflite_runtime'} & set(sys.modules)))"


@needs_litert
@pytest.mark.parametrize("name", [None, "ai-edge-litert"])
def test_litert_is_chosen_first_and_alone(model_path: Path, name: str | None) -> None:
    done = run_python(CLASSIFY.format(runtime=name) + REPORT, model_path)
    assert done.stdout == "ai-edge-litert digits ['ai_edge_litert']\n", done.stderr


@needs_tflite_runtime
def test_tflite_runtime_can_be_asked_for_and_gives_the_same(model_path: Path) -> None:
    done = run_python(CLASSIFY.format(runtime="tflite-runtime") + REPORT, model_path)
    assert done.stdout == "tflite-runtime digits ['tflite_runtime']\n", done.stderr


@needs_tflite_runtime
def test_a_loaded_tflite_runtime_is_used_again(model_path: Path) -> None:
    done = run_python("import tflite_runtime.interpreter; " + CLASSIFY.format(runtime=None) + REPORT, model_path)
    assert done.stdout == "tflite-runtime digits ['tflite_runtime']\n", done.stderr


@needs_litert
@needs_tflite_runtime
def test_two_runtimes_never_share_a_process(model_path: Path) -> None:
    for first, second in (("ai-edge-litert", "tflite-runtime"), ("tflite-runtime", "ai-edge-litert")):
        code = CLASSIFY.format(runtime=first) + "c.load(sys.argv[1], runtime=sys.argv[2])"
        done = run_python(code, model_path, second)
        assert f"Expected {second} to be alone in this process, but {first} is loaded" in done.stderr


def test_no_runtime_at_all_gives_one_sentence(model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for package in interpreters.RUNTIMES.values():
        monkeypatch.delitem(sys.modules, package, raising=False)
    with pytest.raises(RetvecLiteError, match="pip install ai-edge-litert"):
        TextClassifier.load(model_path)
    with pytest.raises(RetvecLiteError, match="pip install tflite-runtime"):
        TextClassifier.load(model_path, runtime="tflite-runtime")


def test_a_bare_interpreter_for_measuring(tmp_path: Path) -> None:
    (tmp_path / "bare.tflite").write_bytes(MODEL)
    interpreter = interpreters.load_interpreter(None, tmp_path / "bare.tflite")
    assert interpreter.get_input_details()[0]["shape"].tolist() == [1, MAX_CHARS]
    (tmp_path / "bad.tflite").write_bytes(b"bad")
    with pytest.raises(RetvecLiteError, match=r"bad\.tflite, received"):
        interpreters.load_interpreter(None, tmp_path / "bad.tflite")


def test_installed_runtimes_are_listed_with_versions() -> None:
    found = installed_runtimes()
    assert found and set(found) <= set(interpreters.RUNTIMES) and all(found.values())


# --- the light path --------------------------------------------------------------------------------------------------

HEAVY = ("tensorflow", "keras", "coremltools", "ai_edge_quantizer", "safetensors", "matplotlib", "rich", "scipy")


def test_importing_the_package_imports_nothing() -> None:
    done = run_python("import sys, retvec_lite; print('numpy' in sys.modules, retvec_lite.__version__)")
    assert done.stdout == f"False {retvec_lite.__version__}\n", done.stderr


def test_classifying_imports_numpy_and_one_runtime_alone(model_path: Path) -> None:
    code = CLASSIFY.format(runtime=None) + f"c.predict('a'); print([name for name in {HEAVY} if name in sys.modules])"
    done = run_python(code, model_path)
    assert done.stdout == "[]\n", done.stderr


def test_the_public_names_are_there() -> None:
    assert set(retvec_lite.__all__) <= set(dir(retvec_lite))
    for name in retvec_lite.__all__:
        assert getattr(retvec_lite, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = retvec_lite.nothing_like_it


def test_the_metadata_survives_unzip_and_the_model_its_identifier(model_path: Path) -> None:
    """The same file is a zip archive for `unzip` and a flatbuffer for a runtime."""
    content = model_path.read_bytes()
    assert content[4:8] == b"TFL3" and content[len(MODEL) :].startswith(b"PK\x03\x04")
    assert struct.unpack("<I", content[:4])[0] < len(MODEL)
    artifact = read_artifact(os.fspath(model_path))
    assert json.loads(json.dumps(dict(artifact.metadata))) == tiny_metadata()
