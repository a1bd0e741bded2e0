"""Meanings from translations, by a made-up language: English with every vowel moved on, words spelled backwards."""

import bz2
import random
from pathlib import Path

import numpy as np
import pytest

import retvec_lite as rl
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.meaning_file import MeaningFile, packaged_meaning

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
def learned(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[MeaningFile, Path]:
    out = tmp_path_factory.mktemp("learned") / "meaning_tlh.safetensors"
    return rl.pretrain_meaning(translations=pairs, language="tlh", words=300, out=out), out


def test_words_mean_what_their_translations_mean(
    learned: tuple[MeaningFile, Path], english: MeaningFile, words: list[str]
) -> None:
    file, out = learned
    assert file.language == "tlh" and len(file.words) == 300
    assert MeaningFile.load(out).words == file.words and "12,000 translations" in file.card["counts"]
    vectors = english.vectors[[english.words.index(word) for word in words]]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    spelled = {foreign(word): place for place, word in enumerate(words)}
    found = [word for word in file.words if word in spelled]
    own = file.vectors[[file.words.index(word) for word in found]]
    nearest = (own @ vectors.T).argmax(axis=1)
    assert np.mean(nearest == [spelled[word] for word in found]) > 0.9 and len(found) > 250
    best = {word: max(shares, key=lambda name: shares[name]) for word, shares in file.translations.items()}
    assert np.mean([best[word] == foreign(word) for word in best]) > 0.95 and len(best) > 250


def test_the_same_call_writes_the_same_bytes(learned: tuple[MeaningFile, Path], pairs: Path, tmp_path: Path) -> None:
    rl.pretrain_meaning(translations=pairs.parent, language="tlh", words=300, out=tmp_path / "again.safetensors")
    again, first = (tmp_path / "again.safetensors").read_bytes(), learned[1].read_bytes()
    assert MeaningFile.load(tmp_path / "again.safetensors").words == learned[0].words
    assert again == first


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"language": "en"}, "name the other language with --language"),
        ({"language": "xx", "folder": True}, "has no translations: name them like pairs_xx.tsv.bz2"),
        ({"language": "tlh", "texts": "a.txt"}, "name one of them"),
        ({"language": "tlh", "few": True}, "too few: at least 10,000 are needed"),
        ({"language": "ja", "unspaced": True}, "without spaces between words"),
    ],
)
def test_what_cannot_be_learned_is_a_sentence(
    options: dict[str, str | bool], told: str, pairs: Path, tmp_path: Path
) -> None:
    path = pairs
    if options.get("folder"):
        path = pairs.parent
    elif options.get("few"):
        path = tmp_path / "few.tsv"
        path.write_text("house\tesuoh\n" * 20, encoding="utf-8")
    elif options.get("unspaced"):
        path = tmp_path / "ja.tsv"
        path.write_text("capital\t東京は日本の首都です\n" * 20, encoding="utf-8")
    out = tmp_path / "out.safetensors"
    with pytest.raises(RetvecLiteError, match=told.replace("(", r"\(")):
        rl.pretrain_meaning(options.get("texts", ()), translations=path, language=options["language"], out=out)
    assert not out.exists()


def test_a_space_needs_translations(tmp_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match="Only translations join a space"):
        rl.pretrain_meaning("a.txt", space="space.safetensors", out=tmp_path / "out.safetensors")
