"""The file of pieces: exact round trip, reproducible bytes, checks on construction and loading, and a table for any number of buckets."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from refusals import refusal

from retvec_lite.model import pieces_file
from retvec_lite.model.meaning_file import decoded
from retvec_lite.model.pieces_file import PiecesFile, packaged_pieces
from retvec_lite.model.weight_files import read_safetensors, typed_safetensors_bytes
from retvec_lite.ngrams import PRIME

pytest.importorskip("safetensors", reason="safetensors is not installed: no weights to read")


def pieces() -> PiecesFile:
    rng = np.random.default_rng(5)
    integers = rng.integers(-127, 128, (16, 256, 8))
    integers[0, 0, 0] = 127
    return PiecesFile(
        np.array([0, 7, 107, PRIME - 1], np.int32),
        rng.integers(0, 256, (4, 16), dtype=np.uint8),
        integers.astype(np.float32) * np.float32(3 / 512),
        "tlh",
        4,
        {"sources": "made up – “here”"},
    )


def test_round_trip(tmp_path: Path) -> None:
    before, path = pieces(), tmp_path / "p.safetensors"
    path.write_bytes(before.to_bytes())
    after = PiecesFile.load(path)
    assert (after.language, after.longest, after.card) == (before.language, before.longest, before.card)
    for name in ("hashes", "codes", "codebooks"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
        assert getattr(after, name).dtype == getattr(before, name).dtype
    assert after.to_bytes() == before.to_bytes() == path.read_bytes()


def test_a_bucket_means_what_its_pieces_mean_on_average() -> None:
    file = pieces()
    vectors = decoded(file.codes, file.codebooks)
    whole = file.table(PRIME)
    np.testing.assert_array_equal(whole[file.hashes], vectors)
    assert np.count_nonzero(whole.any(axis=1)) == 4
    folded = file.table(100)  # 7 and 107 share a bucket, 65,520 has the 20th
    np.testing.assert_allclose(folded[7], (vectors[1] + vectors[2]) / 2, rtol=1e-6)
    np.testing.assert_array_equal(folded[[0, 20]], vectors[[0, 3]])
    assert np.count_nonzero(folded.any(axis=1)) == 3 and folded.dtype == np.float32


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"hashes": np.array([], np.int32)}, "needs hashes"),
        ({"hashes": np.array([0, 7, 7, 8], np.int32)}, "each of them once"),
        ({"hashes": np.array([0, 7, 107, PRIME], np.int32)}, "integers from 0 to 65,520"),
        ({"hashes": np.array([-1, 7, 107, 108], np.int32)}, "integers from 0 to 65,520"),
        ({"codes": np.zeros((3, 16), np.uint8)}, "4 pieces need codes of 16 bytes"),
        ({"codes": np.zeros((4, 16), np.int32)}, "4 pieces need codes of 16 bytes"),
        ({"codebooks": np.zeros((16, 256, 4), np.float32)}, "here of the shape (16, 256, 8)"),
        ({"codebooks": np.full((16, 256, 8), np.nan, np.float32)}, "finite"),
        ({"codebooks": np.linspace(0, 1, 32768, dtype=np.float32).reshape(16, 256, 8)}, "whole multiples"),
        ({"longest": 0}, "letters, not 0"),
        ({"language": ""}, "names its language"),
        ({"card": {"sources": 3}}, "consists of strings"),
    ],
)
def test_parts_that_do_not_fit(change: dict, part: str) -> None:
    assert part in refusal(dataclasses.replace, pieces(), **change)


@pytest.mark.parametrize(
    ("tensors", "metadata", "part"),
    [
        ({}, {"format": "other"}, "its format is 'other'"),
        ({}, {"version": "0"}, "its version '0'"),
        ({"codes": None}, {}, "is damaged"),
        ({"codes": np.full((4, 16), 0.5, np.float32)}, {}, "is damaged"),
        ({"known": np.zeros(8191, np.uint8)}, {}, "needs hashes"),
        ({"known": np.full(8191, 255, np.uint8)}, {}, "from 0 to 65,520"),
        ({"known": np.full(9, 0.5, np.float32)}, {}, "is damaged"),
        ({"scale": np.ones(2, np.float32)}, {}, "is damaged"),
        ({}, {"longest": "four"}, "is damaged"),
        ({}, {"longest": "40"}, "letters, not 40"),
        ({}, {"language": None}, "is damaged"),
        ({}, {"card": "{"}, "its card is not valid JSON"),
        ({}, {"card": json.dumps([1])}, "is damaged"),
    ],
)
def test_damaged_files(tmp_path: Path, tensors: dict, metadata: dict, part: str) -> None:
    path = tmp_path / "p.safetensors"
    path.write_bytes(pieces().to_bytes())
    found, about = read_safetensors(path)
    kept = {name: value for name, value in {**found, **tensors}.items() if value is not None}
    facts = {name: value for name, value in {**about, **metadata}.items() if value is not None}
    path.write_bytes(typed_safetensors_bytes(kept, facts))
    message = refusal(PiecesFile.load, path)
    assert part in message and str(path) in message


def test_packaged_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for language, longest in (("zh", 2), ("ja", 2), ("bn", 4), ("ta", 4)):
        file = packaged_pieces(language)
        assert file is not None and (file.language, file.longest) == (language, longest)
        assert len(file.hashes) > 4_000 and {"sources", "biases", "not_for"} <= file.card.keys()
    monkeypatch.setattr(pieces_file.coded, "weights", lambda: tmp_path)
    assert packaged_pieces("zh") is None
    (tmp_path / "pieces_tlh.safetensors").write_bytes(pieces().to_bytes())
    assert packaged_pieces("tlh") is not None and packaged_pieces("") is None and packaged_pieces("../tlh") is None
