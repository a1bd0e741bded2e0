"""Which sentences are drawn, what is held out, and that vectors are made once."""

import bz2
from pathlib import Path

import numpy as np
import pytest

from makers import teacher
from makers.teacher import Lessons, draw_sentences
from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError


def write(folder: Path, name: str, lines: list[str]) -> Path:
    file = folder / name
    file.write_bytes(bz2.compress("\n".join(lines).encode()))
    return file


def test_sentences_are_distinct_short_and_the_same_every_time(tmp_path: Path) -> None:
    lines = [f"This is line {number}. It has words. Yes." for number in range(200)] + ["word " * 60, "many " * 30]
    files = [write(tmp_path, "irc.txt.bz2", lines), write(tmp_path, "books.txt.bz2", lines)]
    found = draw_sentences(files)
    assert found == draw_sentences(files[::-1])
    assert len(set(found)) == len(found) and "This is line 7." in found and "Yes." not in found
    lengths = {sentence.split()[0]: len(sentence.split()) for sentence in found}
    assert lengths["many"] in (24, 30) and lengths.get("word", 48) == 48


def test_a_file_that_nobody_weighted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match=r"only books, .* are known"):
        draw_sentences([write(tmp_path, "other.txt.bz2", ["one two"])])


def test_a_visit_never_shows_held_out_sentences_and_a_round_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teacher, "PART", 12)
    monkeypatch.setattr(teacher, "HELD_OUT", 5)
    embedded: list[str] = []

    def embed(sentences: list[str]) -> Floats:
        embedded.extend(sentences)
        return np.random.default_rng(len(embedded)).normal(size=(len(sentences), 4)).astype(np.float32)

    sentences = [str(number) for number in range(30)]
    for _ in range(2):
        lessons = Lessons(sentences, tmp_path, embed)
        seen = [text for number in range(3) for text in lessons.visit(number).sentences]
        assert sorted(seen) == sorted(sentences[5:]) and list(lessons.held_out.sentences) == sentences[:5]
    assert embedded == sentences, "once"
    lesson = lessons.visit(4)
    assert [sentences[place] for place in lesson.places] == lesson.sentences
    np.testing.assert_allclose(np.linalg.norm(lesson.vectors, axis=1), 1.0, atol=1e-5)
    with pytest.raises(RetvecLiteError, match="has sentences="):
        Lessons(sentences[1:], tmp_path, embed)
