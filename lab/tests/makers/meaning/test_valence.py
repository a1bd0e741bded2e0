"""Valence as a direction of the vectors, and the files that say it."""

from pathlib import Path

import numpy as np
import pytest

from makers.meaning.valence import SHARE, read_valence, with_valence
from retvec_lite.errors import RetvecLiteError


def test_numbers_are_shares_of_the_largest(tmp_path: Path) -> None:
    path = tmp_path / "valence.csv"
    path.write_text(
        "word,mean,note\nGood,2,x\nawful,-4,\n:-),3,\nnot bad,1,\nGOOD,1,\ngoooood,3,\nnéutral,0,\n", "utf-8"
    )
    assert read_valence(path) == {"good": 0.5, "awful": -1.0, "neutral": 0.0}


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("word,score\ngood,2\n", "needs the columns word and mean"),
        ("", "needs the columns"),
        ("word,mean\nok,1\ngood,high\n", "line 3: the valence 'high' is no number"),
        ("word,mean\ngood\n", "line 2: the valence None is no number"),
        ("word,mean\ngood,nan\n", "is no number"),
        ("word,mean\nplain,0\n:-),2\n", "says of no word that it is good or bad"),
    ],
)
def test_files_that_say_nothing(tmp_path: Path, content: str, part: str) -> None:
    path = tmp_path / "valence.csv"
    path.write_text(content)
    with pytest.raises(RetvecLiteError) as caught:
        read_valence(path)
    assert part in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_one_direction_says_the_valence_and_the_rest_stays() -> None:
    rng = np.random.default_rng(0)
    spread = np.linspace(3, 0.1, 64)
    vectors = (rng.normal(size=(500, 64)) * spread).astype(np.float32)
    words = [f"w{number}" for number in range(500)]
    found = with_valence(vectors, words, {"w3": 1.0, "w4": -0.5, "other": 1.0})
    assert found.dtype == np.float32
    # The direction of the least variance is about the last axis.
    others = found[:, :60] - vectors[:, :60]
    assert np.abs(others).max() < 0.3
    axis = found[3] - with_valence(vectors, words, {"w4": -0.5})[3]
    assert np.linalg.norm(axis) == pytest.approx(SHARE, rel=1e-5)
    said = found @ axis / SHARE
    np.testing.assert_allclose(said[[3, 4, 5]], [SHARE, -SHARE / 2, 0], atol=1e-4)
