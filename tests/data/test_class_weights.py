"""Class weights: rules, mappings and files, and a sentence for everything that is wrong with them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refusal

from retvec_lite.data.labels import choose_class_weights, class_weights

LABELS = ("ham", "spam", "wasted, 🙂")
TARGETS = np.array([0] * 90 + [1] * 10, np.int32)
WEIGHTS = {"ham": 1.0, "spam": 4.0, "wasted, 🙂": 0.5}


@pytest.mark.parametrize(("rule", "ratio"), [("sqrt", 3.0), ("balanced", 9.0), ("none", 1.0), (WEIGHTS, 4.0)], ids=str)
def test_rare_labels_weigh_more_by_the_rule(rule: Any, ratio: float) -> None:
    weights = class_weights(rule, TARGETS, LABELS)
    assert weights.shape == (3,) and weights.dtype == np.float32 and np.isfinite(weights).all(), "one has no text"
    assert weights[1] / weights[0] == pytest.approx(ratio)
    assert weights[TARGETS].mean() == pytest.approx(1.0)


@pytest.mark.parametrize("rule", ["sqrt", "balanced", "none"])
def test_a_rule_is_its_name(rule: str) -> None:
    assert choose_class_weights(rule, LABELS) == rule


def test_files_and_mappings_mean_the_same(tmp_path: Path) -> None:
    file = tmp_path / "w.JSON"
    file.write_text('{"ham": 1, "spam": 4, "wasted, 🙂": 0.5}', encoding="utf-8")
    assert choose_class_weights(file, LABELS) == choose_class_weights(str(file), LABELS) == WEIGHTS
    assert choose_class_weights(WEIGHTS, LABELS) == WEIGHTS


def test_labels_of_other_types_are_named_as_training_names_them() -> None:
    given = {True: 1, np.int64(7): 2, 1.5: np.float32(3)}
    assert choose_class_weights(given, ("true", "7", "1.5")) == {"true": 1.0, "7": 2.0, "1.5": 3.0}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("balance", "sqrt, balanced, none, or a file"),
        (3, "not 3"),
        ({"ham": 1, "spam": 1}, "'wasted, 🙂' has no weight"),
        ({**WEIGHTS, "eggs": 1}, "'eggs' does not occur"),
        ({**WEIGHTS, "ham": 0}, "positive, finite number, not 0"),
        ({**WEIGHTS, "ham": -1.0}, "not -1.0"),
        ({**WEIGHTS, "ham": float("nan")}, "not nan"),
        ({**WEIGHTS, "ham": float("inf")}, "not inf"),
        ({**WEIGHTS, "ham": "2"}, "not '2'"),
        ({**WEIGHTS, "ham": True}, "not True"),
        ({**WEIGHTS, "ham": 10**400}, "must be a positive, finite number, not 1000"),
        ({**WEIGHTS, "ham": 10**5000}, "not a value of the type int"),
        ({**WEIGHTS, 10**5000: 1}, "class_weights: the label 'a value of the type int'"),
    ],
)
def test_wrong_weights_are_refused(given: Any, told: str) -> None:
    said = refusal(choose_class_weights, given, LABELS)
    assert told in said and "class_weights" in said


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("w.json", None, "Cannot read"),
        ("w.json", b'{"ham": "\xff"}', "not UTF-8"),
        ("w.json", b'{"ham": 1, "ham": 2}', "two weights"),
        ("w.json", b"[1, 2]", "one JSON object"),
        ("w.json", b'{"ham": 1', "not valid JSON"),
        ("w.json", b'{"ham": "1"}', "not '1'"),
        ("w.json", b'{"ham": 1e400, "spam": 1}', "the number '1e400' is not finite, or too large"),
        ("w.txt", b"ham 1", "ends in .json"),
    ],
)
def test_a_wrong_file_is_one_sentence(name: str, content: bytes | None, told: str, tmp_path: Path) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    said = refusal(choose_class_weights, file, ("ham", "spam"))
    assert told in said and str(file) in said


def test_weights_near_the_ends_of_a_float_keep_their_ratios() -> None:
    targets = np.array([0, 0, 1, 1], np.int32)
    for scale in (1e-300, 1.0, 1e300):
        found = class_weights(choose_class_weights({"a": scale, "b": 4 * scale}, ("a", "b")), targets, ("a", "b"))
        assert found == pytest.approx([0.4, 1.6])


def test_where_texts_have_several_labels_the_texts_of_each_are_counted() -> None:
    targets = np.array([[1, 1], [1, 0], [1, 0], [1, 0], [0, 0]], np.int32)
    found = class_weights("balanced", targets, ("often", "rare"))
    assert found[1] / found[0] == pytest.approx(4.0)
    assert (found * targets.sum(axis=0)).sum() == pytest.approx(targets.sum())
    assert class_weights("none", targets, ("often", "rare")) == pytest.approx([1.0, 1.0])
