"""The file of words' meanings: exact round trip, reproducible bytes, and checks on construction and loading."""

import bz2
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from refusals import refusal

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model import meaning_file
from retvec_lite.model.meaning_file import MeaningFile, language_file, packaged_languages, packaged_meaning
from retvec_lite.model.weight_files import read_safetensors, typed_safetensors_bytes

pytest.importorskip("safetensors", reason="safetensors is not installed: no weights to read")

SCALE = np.float32(3 / 512)


def meanings(words: tuple[str, ...] = ("the", "zoza", "дом")) -> MeaningFile:
    rng = np.random.default_rng(5)
    integers = rng.integers(-127, 128, (16, 256, 8))
    integers[0, 0, 0] = 127
    return MeaningFile(
        words,
        rng.integers(0, 256, (len(words), 16), dtype=np.uint8),
        integers.astype(np.float32) * SCALE,
        "en",
        "of tests",
        {"sources": "made up – “here”", "words": "3"},
    )


def test_round_trip(tmp_path: Path) -> None:
    before, path = meanings(), tmp_path / "m.safetensors"
    path.write_bytes(before.to_bytes())
    after = MeaningFile.load(path)
    assert (after.words, after.language, after.card) == (before.words, before.language, before.card)
    assert after.space == before.space == "of tests"
    assert after.codes.dtype == np.uint8 and after.codebooks.dtype == np.float32
    np.testing.assert_array_equal(after.codes, before.codes)
    np.testing.assert_array_equal(after.codebooks, before.codebooks)
    assert after.to_bytes() == before.to_bytes() == path.read_bytes()


def test_a_word_of_thirty_two_bytes(tmp_path: Path) -> None:
    file = meanings()
    codes, codebooks = np.repeat(file.codes, 2, axis=1), file.codebooks.reshape(16, 256, 2, 4).swapaxes(1, 2)
    finer = dataclasses.replace(file, codes=codes, codebooks=codebooks.reshape(32, 256, 4))
    np.testing.assert_array_equal(finer.vectors, file.vectors)
    (tmp_path / "m.safetensors").write_bytes(finer.to_bytes())
    after = MeaningFile.load(tmp_path / "m.safetensors")
    assert after.codes.shape == (3, 32) and after.to_bytes() == finer.to_bytes()
    np.testing.assert_array_equal(after.vectors, file.vectors)


def test_packaged_languages_go_together() -> None:
    """Of those that a text may be in, any others may be asked for."""
    files = [packaged_meaning(language) for language in packaged_languages()]
    assert len(files) == 23 and {file.space for file in files if file} == {"sentences-1"}
    for file, language in zip(files, packaged_languages(), strict=True):
        assert file is not None and file.language == language and "biases" in file.card
        assert file.codes.shape[1] == (32 if language == "en" else 16) and len(file.words) > 9_000


def test_translations_are_kept(tmp_path: Path) -> None:
    shares = {"house": {"дом": 9, "zoza": 1}, "the": {"the": 255}}
    file = dataclasses.replace(meanings(), translations=shares)
    (tmp_path / "m.safetensors").write_bytes(file.to_bytes())
    after = MeaningFile.load(tmp_path / "m.safetensors")
    assert after.translations == shares and after.to_bytes() == file.to_bytes()
    for wrong in ({"a": {"b": 1}}, {"a": {"the": 0}}, {"a": {"the": 256}}):
        with pytest.raises(RetvecLiteError, match="Translations are words of the file, with shares from 1 to 255"):
            dataclasses.replace(meanings(), translations=wrong)


def test_a_language_is_named_by_tag_or_file(tmp_path: Path) -> None:
    file, path = meanings(), tmp_path / "m.safetensors"
    path.write_bytes(file.to_bytes())
    assert language_file(file) is file and language_file(str(path)).words == language_file(path).words == file.words
    for unknown in ("tlh", "../en", "", tmp_path):
        with pytest.raises(RetvecLiteError, match=r"no table of meanings for the language .*: choose from .*en"):
            language_file(unknown)


def test_vectors_are_the_rows_that_the_codes_name() -> None:
    file = meanings()
    assert file.vectors.shape == (3, 128) and file.vectors.dtype == np.float32
    for word in range(3):
        for place in range(16):
            row = file.codebooks[place, file.codes[word, place]]
            np.testing.assert_array_equal(file.vectors[word, 8 * place : 8 * place + 8], row)


def test_a_word_of_sixteen_bytes_takes_them_and_its_packed_letters() -> None:
    sizes = [len(meanings(tuple(f"w{number:05}" for number in range(count))).to_bytes()) for count in (100, 1100)]
    assert 16 < (sizes[1] - sizes[0]) / 1000 < 16 + (6 + 1) / 2


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"words": ()}, "needs words"),
        ({"words": ("a", "b", "a")}, "each of them once"),
        ({"words": ("a", "b", "c" * 17)}, "1 to 16 letters"),
        ({"words": ("a", "b", "c d")}, "1 to 16 letters"),
        ({"words": ("a", "b", "")}, "1 to 16 letters"),
        ({"codes": np.zeros((2, 16), np.uint8)}, "codes of 16 or 32 bytes each, not (2, 16)"),
        ({"codebooks": np.zeros((16, 256, 7), np.float32)}, "the shape (16, 256, 8)"),
        ({"codebooks": np.full((16, 256, 8), np.nan, np.float32)}, "finite"),
        ({"codebooks": np.random.default_rng(0).normal(size=(16, 256, 8)).astype(np.float32)}, "of one scale"),
        ({"language": ""}, "names its language"),
        ({"space": ""}, "and its space"),
        ({"card": {"words": 3}}, "its card consists of strings"),
    ],
)
def test_parts_that_do_not_fit(change: dict, part: str) -> None:
    assert part in refusal(dataclasses.replace, meanings(), **change)


def packed(content: bytes) -> np.ndarray:
    return np.frombuffer(bz2.compress(content), np.uint8)


def rewritten(path: Path, tensors: dict, metadata: dict) -> None:
    path.write_bytes(meanings().to_bytes())
    found, about = read_safetensors(path)
    kept = {name: value for name, value in {**found, **tensors}.items() if value is not None}
    facts = {name: value for name, value in {**about, **metadata}.items() if value is not None}
    path.write_bytes(typed_safetensors_bytes(kept, facts))


@pytest.mark.parametrize(
    ("tensors", "metadata", "part"),
    [
        ({}, {"format": "other"}, "its format is 'other'"),
        ({}, {"version": "2"}, "its version '2'. Make one with `python -m makers.meaning`"),
        ({"codes": None}, {}, "is damaged"),
        ({"codes": np.full((3, 16), 0.5, np.float32)}, {}, "is damaged"),
        ({"codes": np.zeros((2, 16), np.float32)}, {}, "3 words need codes"),
        ({"words": np.asarray([0xFF], np.uint8)}, {}, "is damaged"),
        ({"words": packed(b"a\xff")}, {}, "is damaged"),
        ({"words": packed(b"the\nzoza\nhouse")[:-4]}, {}, "is damaged"),
        ({"words": packed(b"")}, {}, "1 to 16 letters"),
        ({"scale": np.ones(2, np.float32)}, {}, "is damaged"),
        ({}, {"card": "{"}, "its card is not valid JSON"),
        ({}, {"card": json.dumps([1])}, "is damaged"),
        ({}, {"language": None}, "is damaged"),
        ({}, {"space": None}, "is damaged"),
        ({"translations": np.zeros((1, 5), np.uint8)}, {}, "is damaged"),
        ({"translations": packed(bytes([9]) * 5), "sources": packed(b"A")}, {}, "is damaged"),
        ({"translations": packed(bytes(5)), "sources": packed(b"A")}, {}, "shares from 1"),
    ],
)
def test_damaged_files(tmp_path: Path, tensors: dict, metadata: dict, part: str) -> None:
    path = tmp_path / "m.safetensors"
    rewritten(path, tensors, metadata)
    message = refusal(MeaningFile.load, path)
    assert part in message and str(path) in message


def test_a_file_that_is_cut_or_missing(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    with pytest.raises(RetvecLiteError, match="does not exist"):
        MeaningFile.load(path)
    whole = meanings().to_bytes()
    for content in (b"", whole[:100], whole[:-1]):
        path.write_bytes(content)
        with pytest.raises(RetvecLiteError, match="safetensors"):
            MeaningFile.load(path)


def test_packaged_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning_file, "weights", lambda: tmp_path)
    assert packaged_languages() == () and packaged_meaning("en") is None
    (tmp_path / "meaning_en.safetensors").write_bytes(meanings().to_bytes())
    (tmp_path / "default_embedding.safetensors").touch()
    assert packaged_languages() == ("en",)
    found = packaged_meaning("en")
    assert found is not None and found.words == meanings().words
    assert packaged_meaning("../en") is None
