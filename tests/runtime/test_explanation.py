"""Why this label: which parts of a text are left out, and what is said about them."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_artifact import LABELS, tiny_artifact, tiny_probabilities

import retvec_lite as rl
from retvec_lite import contract
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.answers import explain, find_parts, leave_out
from retvec_lite.windows import read_limit

PARTS = json.loads((Path(__file__).parents[1] / "data" / "parts.json").read_text("utf-8"))
"""Texts with their parts; the other wrappers are tested on the same."""

SEPARATORS = {chr(code) for code in (0, *contract.SEPARATORS)}
TEXTS = st.text(
    st.one_of(st.characters(codec=None), st.sampled_from(" \n\u3000\0\u200b漢字かなไทย\u0301")), max_size=40
)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> rl.Classifier:
    path = tmp_path_factory.mktemp("model") / "tiny.tflite"
    path.write_bytes(tiny_artifact())
    return rl.load(path)


@pytest.mark.parametrize(("text", "parts"), PARTS, ids=[ascii(text) for text, _ in PARTS])
def test_the_parts_of_texts(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in find_parts(text)] == parts


@given(TEXTS)
def test_parts_cover_exactly_what_is_no_separator(text: str) -> None:
    parts = find_parts(text)
    assert all(start < end for start, end in parts)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(parts))
    covered = {at for start, end in parts for at in range(start, end)}
    assert covered == {at for at, char in enumerate(text) if char not in SEPARATORS}


def words(text: str) -> list[str]:
    """The words of a text between separators, without invisible characters.

    Not of its normal form: that joins single letters, so it may make one word of what a word kept apart.
    """
    composed = contract.sanitized([ord(char) for char in contract.composed(text, 64)])
    visible = [code for code in composed if code not in contract.INVISIBLE]
    return [
        "".join(map(chr, word))
        for is_gap, word in itertools.groupby(visible, contract.SEPARATING.__contains__)
        if not is_gap
    ]


@given(TEXTS)
def test_leaving_a_word_out_leaves_the_others_as_they_are(text: str) -> None:
    before = words(text)
    for start, end in find_parts(text):
        after = words(leave_out(text, start, end))
        left, right = words(text[:start]), words(text[end:])
        assert after == [*left, *right], "not glued together"
        assert len(after) <= len(before) + 1


def test_a_weight_is_the_fall_of_the_log_probability(classifier: rl.Classifier) -> None:
    text = "12 A  x\n7"
    found = classifier.explain(text)
    assert found.label == "digits" and found.probability == pytest.approx(tiny_probabilities(text)[0], abs=1e-6)
    assert [(span.start, span.end, span.text) for span in found.spans] == [
        (0, 2, "12"), (3, 4, "A"), (6, 7, "x"), (8, 9, "7"),
    ]  # fmt: skip
    for span, without in zip(found.spans, ("A x 7", "12 x 7", "12 A 7", "12 A x"), strict=True):
        fall = math.log(tiny_probabilities(text)[0]) - math.log(tiny_probabilities(without)[0])
        assert type(span.weight) is float and span.weight == pytest.approx(fall, abs=1e-5)


def test_another_label_can_be_explained(classifier: rl.Classifier) -> None:
    found = classifier.explain("12 A", "CAPITALS")
    assert found.label == "CAPITALS" and found.probability == pytest.approx(tiny_probabilities("12 A")[1], abs=1e-6)
    weights = {span.text: span.weight for span in found.spans}
    assert weights["A"] > 0.4 and weights["12"] < -0.4


def test_the_words_of_all_windows_are_explained(classifier: rl.Classifier) -> None:
    """Leaving a word out must not move the words of other windows."""
    text = "xx " * 14 + "7777 " + "xx " * 14
    found = classifier.explain(text)
    assert len(found.spans) == 29 and found.label == "digits"
    assert found.probability == classifier.predict(text)[0].probability
    weights = [span.weight for span in found.spans]
    assert weights.pop(14) > 0.5 and weights == pytest.approx([0.0] * 28, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "needle"),
    [("words of it all " * 300, "WAKE"), ("我的包裹在哪里" * 700, "早"), ("x " * 900, "y")],
    ids=["words", "Han", "letters"],
)
@pytest.mark.parametrize("place", [0.0, 0.33, 0.9])
def test_a_long_text_is_not_answered_without_each_of_its_parts(text: str, needle: str, place: float) -> None:
    """What counts is found all the same, alone, and every part is in a span."""
    at = text.index(" ", int(place * len(text))) if " " in text else int(place * len(text))
    text = f"{text[:at]} {needle} {text[at:]}"
    answered: list[int] = []

    def probabilities(texts: list[str]) -> np.ndarray:
        answered.extend(map(len, texts))
        return np.float32([[0.9, 0.1] if needle in text else [0.2, 0.8] for text in texts])

    found = explain(probabilities, ("a", "b"), text, None, 100)
    assert sum(answered) <= 2**18 + 2 * len(text)
    best = max(found.spans, key=lambda span: span.weight)
    assert (best.text, best.weight) == (needle, pytest.approx(math.log(0.9 / 0.2), rel=1e-5))
    assert all(text[one.end : other.start].strip() == "" for one, other in itertools.pairwise(found.spans))
    assert text[: found.spans[0].start].strip() == text[found.spans[-1].end :].strip() == ""
    assert all(span.text == text[span.start : span.end] for span in found.spans)


def test_only_what_the_model_reads_is_explained(classifier: rl.Classifier) -> None:
    limit = read_limit(classifier.config)
    assert classifier.explain("x" * 31 + " " + "y" * (limit - 33) + " 777").spans[-1].end == limit - 1


def test_a_text_without_words_has_a_label_and_no_spans(classifier: rl.Classifier) -> None:
    for text in ("", " \0\u2003"):
        assert classifier.explain(text) == (LABELS[2], classifier.predict(text)[0].probability, [])


def test_a_probability_of_zero_is_no_error() -> None:
    found = explain(
        lambda texts: np.float32([[0, 1] if "b" in text else [1, 0] for text in texts]), ("a", "b"), "a b c", None, 5
    )
    assert found.label == "b" and found.spans[1].weight == pytest.approx(126 * math.log(2))
    assert [span.weight for span in found.spans[::2]] == [0.0, 0.0]


def test_what_cannot_be_explained_is_refused(classifier: rl.Classifier) -> None:
    with pytest.raises(RetvecLiteError, match="'horses' is not one of this classifier's labels"):
        classifier.explain("12", "horses")
    with pytest.raises(RetvecLiteError, match="must be a string"):
        classifier.explain(["12"])  # type: ignore[arg-type]


def test_an_isolated_classifier_explains_the_same(classifier: rl.Classifier, tmp_path: Path) -> None:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(tiny_artifact())
    assert rl.load(path, isolated=True).explain("12 A x") == classifier.explain("12 A x")
