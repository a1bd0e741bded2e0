"""Meanings from translations, by a made-up language: English with every vowel moved on, words spelled backwards."""

import bz2
import random
from pathlib import Path

import numpy as np
import pytest

from makers.meaning import languages
from makers.meaning.__main__ import command
from makers.meaning.languages import learn_language
from retvec_lite.model.meaning_file import MeaningFile, packaged_meaning
from retvec_lite.terminal import silent

pytest.importorskip("wordfreq")
pytest.importorskip("scipy")

MOVED = str.maketrans("aeiou", "eioua")


def foreign(word: str) -> str:
    return word.translate(MOVED)[::-1] + "q"


@pytest.fixture(scope="module")
def english() -> MeaningFile:
    found = packaged_meaning("en")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def words(english: MeaningFile) -> list[str]:
    """Frequent words that two spellings do not share."""
    return [word for word in english.words[200:700] if len(word) > 4]


@pytest.fixture(scope="module")
def pairs(words: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(5)
    sentences = [draw.choices(words, k=draw.randint(1, 7)) for _ in range(12_000)]
    lines = [f"{' '.join(some)}\t{' '.join(map(foreign, some))}" for some in sentences]
    path = tmp_path_factory.mktemp("pairs") / "pairs_tlh.tsv.bz2"
    path.write_bytes(bz2.compress(("\n".join(["a line without translation", *lines]) + "\n").encode()))
    return path


@pytest.fixture(scope="module")
def file(pairs: Path) -> MeaningFile:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(languages, "WORDS", 300)
        return learn_language("tlh", pairs.parent, silent)


def test_words_mean_what_their_translations_mean(file: MeaningFile, english: MeaningFile, words: list[str]) -> None:
    assert file.language == "tlh" and len(file.words) == 300
    assert "12,000 translations" in file.card["counts"] and file.card["files"] == "pairs_tlh.tsv.bz2"
    vectors = english.vectors[[english.words.index(word) for word in words]]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    spelled = {foreign(word): place for place, word in enumerate(words)}
    found = [word for word in file.words if word in spelled]
    own = file.vectors[[file.words.index(word) for word in found]]
    nearest = (own @ vectors.T).argmax(axis=1)
    assert np.mean(nearest == [spelled[word] for word in found]) > 0.9 and len(found) > 250
    best = {word: max(shares, key=lambda name: shares[name]) for word, shares in file.translations.items()}
    assert np.mean([best[word] == foreign(word) for word in best]) > 0.95 and len(best) > 250


@pytest.mark.parametrize(
    ("language", "line", "told"),
    [
        ("xx", "", "has no translations: name them like pairs_xx.tsv.bz2"),
        ("few", "house\tesuoh\n", "too few: at least 10,000 are needed"),
        ("ja", "capital\t東京は日本の首都です\n", "without spaces between words"),
    ],
)
def test_what_cannot_be_learned_is_a_sentence(
    language: str, line: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if line:
        (tmp_path / f"pairs_{language}.tsv").write_text(line * 20, encoding="utf-8")
    assert command().main(["languages", str(tmp_path), language, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1 and not (tmp_path / "out").exists()
