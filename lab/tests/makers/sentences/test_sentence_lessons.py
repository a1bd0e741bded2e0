"""What is held out, that vectors are made once, and around which mean they are."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from makers.sentences import lessons
from makers.sentences.lessons import Lessons, ahead
from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError

SENTENCES = [str(number) for number in range(30)]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lessons, "PART", 12)
    monkeypatch.setattr(lessons, "HELD_OUT", 5)


def teach(sentences: list[str]) -> Floats:
    rng = np.random.default_rng(int(sentences[0]))
    return (rng.normal(size=(len(sentences), 2, 4)) + np.array([[9], [0]])).astype(np.float32)


def test_a_visit_never_shows_held_out_sentences_and_a_round_all_others(tmp_path: Path) -> None:
    taught: list[str] = []

    def taught_once(sentences: list[str]) -> Floats:
        taught.extend(sentences)
        return teach(sentences)

    for _ in range(2):
        found = Lessons(SENTENCES, tmp_path, taught_once)
        assert (found.visits(2), found.steps(2, 8), found.width) == (6, 8, 8)
        for first in (0, 3):
            seen = [text for number in range(first, first + 3) for text in found.visit(number).sentences]
            assert sorted(seen) == sorted(SENTENCES[5:]) and list(found.held_out.sentences) == SENTENCES[:5]
    assert taught == SENTENCES, "once"
    with pytest.raises(RetvecLiteError, match="has sentences="):
        Lessons(SENTENCES[1:], tmp_path, teach)


def test_teachers_count_the_same_each_around_its_mean(tmp_path: Path) -> None:
    found = Lessons(SENTENCES, tmp_path, teach)
    said = teach(SENTENCES[:12])
    centred = said - said.mean(axis=0)
    expected = centred / np.linalg.norm(centred, axis=2, keepdims=True) * 0.5**0.5
    np.testing.assert_allclose(found.held_out.vectors, expected[:5].reshape(5, 8), atol=2e-2)
    halves = found.visit(1).vectors.reshape(-1, 2, 4)
    np.testing.assert_allclose(np.linalg.norm(halves, axis=2), 0.5**0.5, atol=1e-5)


def test_few_sentences_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match=r"^The texts have 9 sentences, and at least 10 are needed"):
        Lessons(SENTENCES[:9], tmp_path, teach)
    assert not list(tmp_path.iterdir())


def test_the_next_step_is_prepared_before_it_is_asked_for_and_counted_after() -> None:
    events: list[str] = []

    def numbers() -> Iterator[int]:
        for number in range(3, 6):
            yield number
            events.append(f"kept {number}")

    def prepare(number: int) -> int:
        return number * number

    for number, square in ahead(prepare, numbers(), 6):
        assert square == number**2
        events.append(f"took {number}")
    assert events == [f"{what} {number}" for number in (3, 4, 5) for what in ("took", "kept")]
