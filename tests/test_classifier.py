import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_artifact import LABELS, MAX_CHARS, tiny_artifact, tiny_probabilities

import retvec_lite as rl
from retvec_lite.contract import EncoderConfig
from retvec_lite.data.texts import as_texts
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime import interpreters
from retvec_lite.runtime.answers import Prediction
from retvec_lite.windows import combine, cut_windows, read_text


@pytest.fixture(scope="module")
def classifier(tiny_model: str) -> rl.Classifier:
    return rl.load(tiny_model)


def test_what_a_model_says_about_itself(classifier: rl.Classifier) -> None:
    assert classifier.labels == LABELS
    assert classifier.config == EncoderConfig(max_chars=MAX_CHARS, max_words=8)
    assert classifier.metadata["recipe"] == "float32"
    assert classifier.runtime in interpreters.RUNTIMES


@given(st.lists(st.text(st.characters(codec=None), max_size=MAX_CHARS // 3), max_size=5))
def test_probabilities_are_the_models(classifier: rl.Classifier, texts: list[str]) -> None:
    table = classifier.probabilities(texts)
    assert table.shape == (len(texts), 3) and table.dtype == np.float32
    for row, text in zip(table, texts, strict=True):
        np.testing.assert_allclose(row, tiny_probabilities(read_text(text, classifier.config)), atol=1e-6)


def test_predict_one_text_and_many(classifier: rl.Classifier) -> None:
    one = classifier.predict("12 A")
    assert [prediction.label for prediction in one] == ["digits", "CAPITALS", LABELS[2]]
    assert isinstance(one[0], Prediction)
    assert one[0].probability == pytest.approx(tiny_probabilities("12 A")[0], abs=1e-6)
    assert all(type(prediction.probability) is float for prediction in one)
    assert classifier.predict(["12 A", "AB"], top=1) == [one[:1], classifier.predict("AB")[:1]]
    assert classifier.predict(("12 A",), top=99) == [one]
    assert classifier.predict([]) == []


def test_equal_probabilities_keep_the_order_of_the_labels(classifier: rl.Classifier) -> None:
    assert [label for label, _ in classifier.predict("1A")][:2] == ["digits", "CAPITALS"]


def test_a_long_text_is_answered_by_its_windows(classifier: rl.Classifier) -> None:
    text = "hello there, how are you doing " * 2 + "my number is 1234567"
    windows = [tiny_probabilities(window) for window in cut_windows(text, classifier.config)]
    assert len(windows) == 3
    weights = np.exp([2 * (window * np.log(3 * window)).sum() for window in windows])
    expected = weights @ np.array(windows) / weights.sum()
    assert expected[0] > 0.5 > tiny_probabilities(text)[0]
    np.testing.assert_allclose(classifier.probabilities(["ab", text, "12"])[1], expected, atol=1e-6)


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
def test_texts_come_in_many_containers(classifier: rl.Classifier, column: Callable[[list[str]], Iterable[str]]) -> None:
    texts = ["12 A", "", "AB"]
    assert as_texts(column(texts)) == texts and all(isinstance(text, str) for text in as_texts(column(texts)))
    expected = classifier.probabilities(texts)
    np.testing.assert_array_equal(classifier.probabilities(column(texts)), expected)
    assert classifier.predict(column(texts), top=1) == classifier.predict(texts, top=1)
    assert list(classifier.predict_many(column(texts), top=1)) == classifier.predict(texts, top=1)


def test_a_single_string_is_a_list_of_one(classifier: rl.Classifier) -> None:
    assert classifier.probabilities("12 A").shape == (1, 3)
    assert as_texts("12 A") == ["12 A"]
    assert as_texts(np.array(["12 A"])[0]) == ["12 A"]
    assert as_texts([]) == as_texts(np.array([], str)) == as_texts(pd.Series([], dtype=str)) == []


def assert_refused(classifier: rl.Classifier, texts: Any, sentence: str) -> None:
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
def test_what_is_no_sequence_of_texts_is_refused(classifier: rl.Classifier, texts: Any, named: str) -> None:
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
def test_an_item_that_is_no_string_is_named_by_its_place(classifier: rl.Classifier, texts: Any, named: str) -> None:
    sentence = f"^Texts must be strings, but the one at index 1 is of type {named}\\.$"
    assert_refused(classifier, texts, sentence)


def test_any_number_of_texts_is_answered_in_order_and_as_they_come(tiny_model: str) -> None:
    taken = 0

    def texts() -> Iterator[str]:
        nonlocal taken
        for number in range(100_000):
            taken += 1
            yield "1" * (number % 4) + "A" * (number % 3)

    answers = rl.load(tiny_model, workers=2).predict_many(texts(), top=1)
    for number, found in zip(range(1500), answers, strict=False):
        digits, capitals = number % 4, number % 3
        assert found[0].label == (
            LABELS[2] if not digits + capitals else LABELS[0] if digits >= capitals else LABELS[1]
        )
    # Flat memory: far fewer texts are under way than there are.
    assert 1500 <= taken < 3000
    answers.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_texts_themselves_raise_comes_after_the_answers_to_those_before(tiny_model: str, workers: int) -> None:
    def texts() -> Iterator[str]:
        yield from ["a"] * 200
        raise OSError("the disk is gone")

    answers = rl.load(tiny_model, workers=workers).predict_many(texts())
    assert sum(1 for _ in zip(range(200), answers, strict=False)) == 200
    with pytest.raises(OSError, match="the disk is gone"):
        next(answers)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("place", [0, 1, 63, 64, 65, 300])
def test_a_wrong_text_comes_after_the_answers_to_those_before(tiny_model: str, place: int, workers: int) -> None:
    texts: list[Any] = ["1"] * 400
    texts[place] = None
    classifier = rl.load(tiny_model, workers=workers)
    answers = classifier.predict_many(texts, top=1)
    assert [next(answers)[0].label for _ in range(place)] == ["digits"] * place
    with pytest.raises(RetvecLiteError, match=f"the one at index {place} is of type NoneType"):
        next(answers)
    assert len(classifier.predict(["12"] * 300)) == 300, "nothing is stuck afterwards"


def test_bad_arguments_are_refused(classifier: rl.Classifier, tiny_model: str) -> None:
    with pytest.raises(RetvecLiteError, match="top"):
        classifier.predict("a", top=0)
    for threads in (0, True, 1.5):
        with pytest.raises(RetvecLiteError, match="num_threads"):
            rl.load(tiny_model, num_threads=threads)  # type: ignore[arg-type]
        with pytest.raises(RetvecLiteError, match="workers"):
            rl.load(tiny_model, workers=threads)  # type: ignore[arg-type]
    counts = rl.load(tiny_model, num_threads=np.int64(1), workers=np.int32(2))  # type: ignore[arg-type]
    assert counts.workers == 2 and counts.predict("12", top=1)[0].label == LABELS[0]
    with pytest.raises(RetvecLiteError, match="top"):
        classifier.predict_many(["a"], top=0)
    with pytest.raises(RetvecLiteError, match=r"not the string 'a text'\. Use predict for one text"):
        classifier.predict_many("a text")
    with pytest.raises(RetvecLiteError, match=r"Unknown runtime 'onnx'\. Choose ai-edge-litert or tflite-runtime"):
        rl.load(tiny_model, runtime="onnx")


def test_only_some_labels(classifier: rl.Classifier, tiny_model: str) -> None:
    limited = rl.load(tiny_model, languages=[LABELS[2], LABELS[0], LABELS[0]])
    assert limited.labels == (LABELS[0], LABELS[2])
    texts = ["12 AB", "AB CD", ""]
    whole = classifier.probabilities(texts)[:, [0, 2]]
    expected = whole / whole.sum(axis=1, keepdims=True)
    for one in (limited, pickle.loads(pickle.dumps(limited))):
        np.testing.assert_allclose(one.probabilities(texts), expected, rtol=1e-6)
    assert {label for row in limited.predict(texts) for label, _ in row} == {LABELS[0], LABELS[2]}
    with pytest.raises(RetvecLiteError, match=r"^There is no label 'digit', but there are digits\.$"):
        rl.load(tiny_model, languages=["CAPITALS", "digit"])


@pytest.mark.parametrize("chosen", [["CAPITALS"], [LABELS[2], "digits"]])
def test_only_some_labels_of_a_long_text(tmp_path: Path, chosen: list[str]) -> None:
    decision = Decision(unknown_label="digits")
    (tmp_path / "m.tflite").write_bytes(tiny_artifact(decision=decision.to_dict()))
    limited = rl.load(tmp_path / "m.tflite", languages=chosen)
    long = "12 AB " * MAX_CHARS + "xyz " * MAX_CHARS + " A"
    windows = cut_windows(long, limited.config)
    columns = [column for column, label in enumerate(LABELS) if label in limited.labels]
    table = np.array([tiny_probabilities(window)[columns] for window in windows], np.float32)
    table /= table.sum(axis=1, keepdims=True)
    assert len(windows) > 2 and np.ptp(table, axis=0).max() > 0.1, "windows that differ"
    expected = combine(table, limited.labels, decision, windows)
    found = limited.probabilities([long, "12"])
    np.testing.assert_allclose(found[0], expected, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("given", [np.array(["CAPITALS"]), iter(["CAPITALS"]), {"CAPITALS"}, pd.Series(["CAPITALS"])])
def test_labels_in_anything_that_holds_some(tiny_model: str, given: Any) -> None:
    limited = rl.load(tiny_model, languages=given)
    assert limited.labels == pickle.loads(pickle.dumps(limited)).labels == ("CAPITALS",)


def test_threads_can_share_a_classifier(classifier: rl.Classifier) -> None:
    texts = ["1" * n + "A" * m for n in range(8) for m in range(8)]
    expected = np.array([tiny_probabilities(read_text(text, classifier.config)) for text in texts])
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
