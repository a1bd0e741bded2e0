"""Reading texts: every packing, numbers by frequency, and one sentence for what cannot be read."""

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest
from tiny_texts import topic_lines, write_topics

from makers.meaning import corpus as module
from makers.meaning.corpus import Corpus, read_corpus
from retvec_lite.errors import RetvecLiteError
from retvec_lite.terminal import silent


def test_words_are_numbered_by_how_often_they_occur(
    few_words_suffice: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FEWEST_KEPT", 3)
    path = tmp_path / "lines.txt"
    path.write_text("b a c\n\nC, a! rare\n" + "a b d\n" * 400, encoding="utf-8")
    found = read_corpus([path], 2, silent)
    assert found.words == ("a", "b", "d", "c") and found.counts.tolist() == [402, 401, 400, 2]
    assert found.total == 3 * 402 and found.shares[0] == 402 / 1206
    assert found.tokens[:10].tolist() == [1, 0, 3, -1, -1, 3, 0, -1, 0, 1]
    assert list(found.lines())[:3] == [[1, 0, 3], [3, 0], [0, 1, 2]]
    assert found.known[:6].tolist() == [1, 0, 3, 3, 0, 0]


def test_packed_files_hold_the_same(topics: Corpus, tmp_path: Path) -> None:
    content = (tmp_path / "topics.txt").read_bytes()
    (tmp_path / "a.txt.bz2").write_bytes(bz2.compress(content))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(content))
    (tmp_path / "c.txt").write_bytes(content.decode().encode("utf-16"))
    for name in ("a.txt.bz2", "b.txt.gz", "c.txt"):
        found = read_corpus([tmp_path / name], 2, silent)
        assert found.words == topics.words
        np.testing.assert_array_equal(found.tokens, topics.tokens)


def refusal(*files: Path, least_count: int = 2) -> str:
    with pytest.raises(RetvecLiteError) as caught:
        read_corpus(files, least_count, silent)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
    return str(caught.value)


def test_too_few_words(tmp_path: Path) -> None:
    path = write_topics(tmp_path / "few.txt")
    assert refusal(path).startswith(
        "The texts have 24,000 words, too few to learn what words mean: at least 1,000,000 "
    )
    path.write_text("")
    assert "The texts have 0 words" in refusal(path)


def test_too_few_frequent_words(few_words_suffice: None, tmp_path: Path) -> None:
    path = write_topics(tmp_path / "few.txt")
    assert "Only 2 words occur 1,000 times or more, and at least 256 are needed" in refusal(path, least_count=1000)


def test_damaged_files(few_words_suffice: None, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    lines = topic_lines(400)
    assert "No such file" in refusal(path)
    path.write_bytes("\n".join([*lines, "caf"]).encode() + b"\xe9\n")
    assert f"{path}, line 2001: the byte 0xE9 is not UTF-8" in refusal(path)
    path.write_bytes("\n".join(lines).encode("utf-16-le"))
    assert f"{path}, line 1: NUL byte" in refusal(path)
    for name, packed in (
        ("x.txt.bz2", bz2.compress(path.read_bytes())),
        ("x.txt.gz", gzip.compress(path.read_bytes())),
    ):
        for content in (packed[:-40], b"plain text\n" * 50, packed[:50] + b"\xff" * 40 + packed[90:]):
            (tmp_path / name).write_bytes(content)
            assert str(tmp_path / name) in refusal(tmp_path / name)


def test_scripts_without_spaces(few_words_suffice: None, tmp_path: Path) -> None:
    path = tmp_path / "ja.txt"
    path.write_text("東京は日本の首都です。\n" * 2000, encoding="utf-8")
    assert "of scripts without spaces between words" in refusal(path)
