"""Pieces from translations, by a made-up language without spaces: a syllable in place of each English word."""

import bz2
import random
from pathlib import Path

import numpy as np
import pytest

from makers.meaning import pieces
from makers.meaning.__main__ import command
from makers.meaning.pieces import learn_pieces
from retvec_lite.contract import EncoderConfig
from retvec_lite.model.meaning_file import packaged_meaning
from retvec_lite.model.pieces_file import PiecesFile
from retvec_lite.ngrams import PRIME, NgramConfig
from retvec_lite.terminal import silent
from retvec_lite.training.linear_features import count_ngrams
from retvec_lite.training.reading import TextReader

pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def words() -> list[str]:
    found = packaged_meaning("en")
    assert found is not None
    return [word for word in found.words[200:500] if len(word) > 4]


def foreign(words: list[str], some: list[str]) -> str:
    return "".join(chr(0x4E00 + words.index(word)) for word in some)


@pytest.fixture(scope="module")
def translations(words: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw, folder = random.Random(5), tmp_path_factory.mktemp("pairs")
    sentences = [draw.choices(words, k=draw.randint(1, 7)) for _ in range(11_000)]
    lines = [f"{' '.join(some)}\t{foreign(words, some)}" for some in sentences]
    (folder / "pairs_tlh.tsv.bz2").write_bytes(bz2.compress("\n".join(["no pair", *lines, ""]).encode()))
    (folder / "dictionary_tlh.tsv").write_text("house\t家\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def file(translations: Path) -> PiecesFile:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECES", 400)
        return learn_pieces("tlh", translations, silent)


def test_sentences_mean_what_their_translations_mean(file: PiecesFile, words: list[str]) -> None:
    """Two sentences are as like as their translations are: the space is turned, which keeps cosines."""
    assert (file.language, file.longest, len(file.hashes)) == ("tlh", 2, 400)
    assert "11,000 translations" in file.card["counts"] and file.card["files"] == "pairs_tlh.tsv.bz2"
    draw = random.Random(6)
    sentences = [draw.sample(words, 3) for _ in range(60)]
    texts = [foreign(words, some) for some in sentences]
    ngrams = NgramConfig(buckets=PRIME, longest=2, plain_letters=True)
    (counts,) = count_ngrams(TextReader(texts, EncoderConfig()), [texts], ngrams)
    english = packaged_meaning("en")
    assert english is not None
    places = {word: place for place, word in enumerate(english.words)}
    meant = np.stack([english.vectors[[places[word] for word in some]].mean(axis=0) for some in sentences])
    likeness = []
    for vectors in (counts.matrix() @ file.table(PRIME), meant):
        centred = vectors - vectors.mean(axis=0)
        centred /= np.linalg.norm(centred, axis=1, keepdims=True)
        likeness.append((centred @ centred.T)[np.triu_indices(60, 1)])
    assert np.corrcoef(*likeness)[0, 1] > 0.7


@pytest.mark.parametrize(("language", "told"), [("xx", "has no translations"), ("few", "at least 10,000 are needed")])
def test_what_cannot_be_learned_is_a_sentence(
    language: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pairs_few.tsv").write_text("capital\t首都\n" * 20, encoding="utf-8")
    assert command().main(["pieces", str(tmp_path), language, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1 and not (tmp_path / "out").exists()


def test_files_that_are_done_stay(
    translations: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pieces, "PIECES", 300)
    arguments = ["pieces", str(translations), "tlh", "--out", str(tmp_path)]
    assert command().main(arguments) == 0
    path = tmp_path / "pieces_tlh.safetensors"
    assert f"Written to {path}" in capsys.readouterr().out and len(PiecesFile.load(path).hashes) == 300
    path.write_bytes(b"")
    assert command().main(arguments) == 0 and path.read_bytes() == b""
