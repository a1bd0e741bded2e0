import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retvec_lite.data.dataset import Dataset
from retvec_lite.data.scores import (
    Confusion,
    TypoPoint,
    check_labels,
    plot_learning_curve,
    plot_typo_curves,
    score,
    typo_curve,
)
from retvec_lite.data.typos import mistype_many
from retvec_lite.errors import RetvecLiteError

LABELS = ("a", "b", "c", "d")


def one_hot(guesses: Sequence[str]) -> npt.NDArray[np.float32]:
    return np.array([[guess == label for label in LABELS] for guess in guesses], np.float32)


def test_a_small_table_by_hand() -> None:
    result = score("aaabbc", one_hot("aabbac"), LABELS)
    assert result.texts == 6 and result.accuracy == pytest.approx(4 / 6)
    assert [row.label for row in result.classes] == ["a", "b", "c"]  # d is neither in the data nor predicted
    assert result.classes[0] == ("a", 2 / 3, 2 / 3, 2 / 3, 3)
    assert result.classes[1] == ("b", 1 / 2, 1 / 2, 1 / 2, 2)
    assert result.macro_f1 == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    assert result.confusions == (Confusion("a", "b", 1), Confusion("b", "a", 1))


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=40))
def test_scores_follow_their_definitions(pairs: list[tuple[str, str]]) -> None:
    result = score([truth for truth, _ in pairs], one_hot([guess for _, guess in pairs]), LABELS)
    assert result.accuracy == pytest.approx(sum(truth == guess for truth, guess in pairs) / len(pairs))
    f1 = {}
    for label in {label for pair in pairs for label in pair}:
        hits = pairs.count((label, label))
        said, there = sum(guess == label for _, guess in pairs), sum(truth == label for truth, _ in pairs)
        precision, recall = hits / said if said else 0.0, hits / there if there else 0.0
        f1[label] = 2 * precision * recall / (precision + recall) if hits else 0.0
        found = next(row for row in result.classes if row.label == label)
        assert found[1:4] == pytest.approx((precision, recall, f1[label])) and found.texts == there
    assert result.macro_f1 == pytest.approx(sum(f1.values()) / len(f1))
    for row in result.confusions:
        assert row.texts == pairs.count((row.expected, row.predicted)) and row.expected != row.predicted
    assert sum(row.texts for row in result.confusions) == sum(truth != guess for truth, guess in pairs)
    assert [row.texts for row in result.confusions] == sorted((row.texts for row in result.confusions), reverse=True)


def test_a_table_of_another_shape_is_refused() -> None:
    for expected, shape in (("ab", (2, 3)), ("ab", (3, 4)), ("", (0, 4))):
        with pytest.raises(RetvecLiteError, match="shape"):
            score(list(expected), np.zeros(shape), LABELS)


def test_unknown_labels_are_named() -> None:
    dataset = Dataset(("x",) * 8, ("a", *"zyxwvut"), Path("d.csv"))
    with pytest.raises(RetvecLiteError) as caught:
        check_labels(dataset, LABELS)
    assert "d.csv" in str(caught.value) and "'t', 'u', 'v', 'w', 'x' and 2 more" in str(caught.value)
    check_labels(Dataset(("x",), ("a",), Path("d.csv")), LABELS)


def test_the_typo_curve_mistypes_that_share_of_the_words() -> None:
    """A classifier that knows one spelling: its accuracy on one-word texts is the share of words left alone."""
    dataset = Dataset(("parcel", "refund") * 500, ("a", "b") * 500, Path("d.csv"))
    seen = []

    def classify(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        seen.append(list(texts))
        return one_hot([{"parcel": "a", "refund": "b"}.get(text, "c") for text in texts])

    curve = typo_curve(classify, LABELS, dataset, (0.0, 0.2, 1.0), seed=3)
    assert [point.rate for point in curve] == [0.0, 0.2, 1.0]
    assert curve[0] == (0.0, 1.0, 1.0) and curve[2] == (1.0, 0.0, 0.0)
    assert curve[1].accuracy == pytest.approx(0.8, abs=0.04)
    assert seen[1] == mistype_many(dataset.texts, 0.2, 3)
    assert curve == typo_curve(classify, LABELS, dataset, (0.0, 0.2, 1.0), seed=3)


CURVE = (TypoPoint(0.0, 0.9, 0.9), TypoPoint(1.0, 0.7, 0.6))


def test_a_plot_is_a_reproducible_png(tmp_path: Path) -> None:
    plot_typo_curves({"int8": CURVE, "fastText": CURVE[:1]}, tmp_path / "a.png", "title")
    plot_typo_curves({"int8": CURVE, "fastText": CURVE[:1]}, tmp_path / "b.png", "title")
    picture = (tmp_path / "a.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n") and picture == (tmp_path / "b.png").read_bytes()


def test_a_learning_curve_is_a_reproducible_png(tmp_path: Path) -> None:
    points = [(8, 0.5), (16, 0.75), (32, 1.0)]
    plot_learning_curve(points, tmp_path / "a.png", "title")
    plot_learning_curve([list(point) for point in points], tmp_path / "b.png", "title")
    plot_learning_curve(points[:2], tmp_path / "c.png", "title")
    one, again, other = ((tmp_path / f"{name}.png").read_bytes() for name in "abc")
    assert one.startswith(b"\x89PNG\r\n\x1a\n") and one == again != other


def test_a_plot_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match=r"\.png"):
        plot_typo_curves({"int8": CURVE}, tmp_path / "a.svg")
    with pytest.raises(RetvecLiteError, match=r"\.png"):
        plot_learning_curve([(8, 0.5)], tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


def test_importing_imports_no_plotting() -> None:
    code = "import sys, retvec_lite.data.scores; print({'matplotlib', 'rich'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
