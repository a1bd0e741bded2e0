"""Which sentences are drawn from files, which words they have, and what the words' vectors sum up to."""

import bz2
from pathlib import Path

import numpy as np
import pytest

from makers.sentences.corpus import READ, Vocabulary, draw_sentences, sums_of
from retvec_lite.errors import RetvecLiteError
from retvec_lite.terminal import silent
from retvec_lite.training.reading import TextReader


def write(folder: Path, name: str, lines: list[str]) -> Path:
    file, content = folder / name, "\n".join(lines).encode()
    file.write_bytes(bz2.compress(content) if name.endswith(".bz2") else content)
    return file


def test_sentences_are_distinct_short_and_the_same_every_time(tmp_path: Path) -> None:
    lines = [f"This is line {number}. It has words. Yes." for number in range(200)]
    lines += ["word " * 60, "IT HAS WORDS.", f"{'x' * 300} y", "", "one"]
    files = [write(tmp_path, "a.txt.bz2", lines), write(tmp_path, "b.txt", lines)]
    found = draw_sentences(files, silent)
    assert found == draw_sentences(files[::-1], silent) != sorted(found)
    assert len({sentence.lower() for sentence in found}) == len(found)
    assert {"This is line 7.", "It has words.", " ".join(["word"] * 24)} <= {*found}
    assert not {"Yes.", "one", "", "IT HAS WORDS."} & {*found} and not any("xxx" in sentence for sentence in found)
    passages = [sentence for sentence in found if sentence.endswith("It has words. Yes.")]
    assert 10 < len(passages) < 100, "of some lines, the beginning as well"


def test_of_translations_the_english_side_is_read(tmp_path: Path) -> None:
    file = write(tmp_path, "pairs_de.tsv.bz2", ["Good morning.\tGuten Morgen.", "Good night.\tGute Nacht."])
    assert sorted(draw_sentences([file], silent)) == ["Good morning.", "Good night."]


@pytest.mark.parametrize(
    ("name", "content"), [("a.pdf", b"one two"), ("a.txt.bz2", b"one two"), ("b.txt", b"one \xff")]
)
def test_a_file_that_is_no_text_is_one_sentence(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RetvecLiteError, match=name) as caught:
        draw_sentences([tmp_path / name], silent)
    assert "\n" not in str(caught.value)


def test_words_are_counted_and_numbered_and_their_vectors_summed() -> None:
    sentences = ["The cat, the CAT!", "the dog", "a dog-cat", "1 2 3", "antidisestablishmentarianism"]
    vocabulary = Vocabulary.of(sentences, 3)
    assert vocabulary.words == ("cat", "the", "dog") and vocabulary.counts.tolist() == [3, 3, 2]
    again = Vocabulary.from_arrays(vocabulary.arrays())
    assert again.words == vocabulary.words
    numbers = again.numbers(TextReader(sentences, READ), sentences)
    assert numbers.matrix(4).tolist() == [[2, 1, 2, 1], [2, 3, 0, 0], [3, 1, 0, 0], [0] * 4, [0] * 4]
    vectors = np.eye(3, dtype=np.float32)
    np.testing.assert_allclose(
        sums_of(numbers, vectors), np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 0], [0, 0, 0]]) / 2**0.5, atol=1e-6
    )
    np.testing.assert_allclose(sums_of(numbers, vectors[:1])[:3], [[1, 0, 0], [0, 0, 0], [1, 0, 0]])
