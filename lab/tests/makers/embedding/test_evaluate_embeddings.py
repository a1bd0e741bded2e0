"""The evaluation of embeddings: numbers known by hand, tables, the plot, and the command."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from tiny_words import made_up

from makers.embedding import evaluate
from makers.embedding.__main__ import command
from makers.embedding.evaluate import Share, embed, on_four_bits, score
from makers.embedding.retrieval import Queries, RetrievalSet
from makers.embedding.words import word_rows
from retvec_lite import contract
from retvec_lite.contract import Ints
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import Embedding

pytestmark = pytest.mark.usefixtures("tiny")

# Words of one letter and where they lie on the circle, in degrees.
ANGLES = {"a": 0, "б": 90, "c": 180, "1": 270, "x": 10, "y": 80, "z": 100, "w": 200}


def random_embedding(word_length: int = 16, dimension: int = 20, seed: int = 0) -> Embedding:
    """An embedding of three random layers."""
    rng, weights = np.random.default_rng(seed), dict[str, np.ndarray]()
    for layer, (rows, columns) in enumerate(itertools.pairwise((word_length * contract.BITS, 28, 24, dimension))):
        weights[f"embedding/dense_{layer}/bias"] = rng.normal(0.0, 0.3, columns).astype(np.float32)
        weights[f"embedding/dense_{layer}/kernel"] = rng.normal(0.0, 0.1, (rows, columns)).astype(np.float32)
    return Embedding("random", weights, {"steps": 0})


def on_the_circle(_: Embedding, words: Ints) -> np.ndarray:
    angles = np.deg2rad([ANGLES[chr(code)] for code in words[:, 0]])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_every_number_of_a_hand_made_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "embed", on_the_circle)
    candidates, queries = word_rows(["a", "б", "c", "1"]), word_rows(["x", "y", "z", "w"])
    answers = np.array([0, 1, 2, 2])  # z lies nearer to б than to its right word c
    by_kind = {"insert": Queries(queries[:2], answers[:2]), "swap": Queries(queries[2:3], answers[2:3])}
    embedding = random_embedding()
    scores = score(
        embedding, on_four_bits(embedding), RetrievalSet("xx", candidates, Queries(queries, answers), "list", by_kind)
    )
    assert scores.float32 == scores.int4 == Share(3, 4)
    assert scores.kinds == {"insert": Share(2, 2), "swap": Share(0, 1)}
    assert scores.pairs == pytest.approx(np.cos(np.deg2rad([10, 10, 80, 20])).mean(), abs=1e-6)
    # Half the list away: a with z, б with w, c with x, c with y.
    assert scores.randoms == pytest.approx(np.cos(np.deg2rad([100, 110, 170, 100])).mean(), abs=1e-6)


WORDS = ["hello", "мир", "学校", "🙂x", "\U0010ffff\U000fffff", "a" * 16, "", *(f"word{n}" for n in range(1200))]


@pytest.mark.parametrize(("word_length", "dimension"), [(16, 20), (20, 8), (9, 12)])
def test_embed_agrees_with_the_reference(word_length: int, dimension: int) -> None:
    embedding = random_embedding(word_length, dimension)
    fitted = np.zeros((len(WORDS), max(word_length, 16)), np.int32)
    fitted[:, :16] = word_rows(WORDS)
    expected = reference_network.embed(contract.bits(fitted[:, :word_length]), embedding.weights)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = embed(embedding, word_rows(WORDS))
    assert found.dtype == np.float32 and found.shape == (len(WORDS), dimension)
    np.testing.assert_allclose(found, expected, atol=2e-6)


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = (tmp_path / "[red]$one.safetensors", tmp_path / "two.safetensors")
    paths[0].write_bytes(random_embedding().to_bytes())
    paths[1].write_bytes(random_embedding(20, 12, seed=1).to_bytes())
    return paths


def run(*arguments: object) -> int:
    return command().main(["evaluate", *map(str, arguments)])


def test_from_two_files_to_a_report(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    words, misspellings, out = (tmp_path / name for name in ("words", "m.csv", "new/out"))
    words.mkdir()
    for language, count in (("ar", 150), ("xx", 20)):
        made = made_up("ar", count, seed=1)
        (words / f"{language}.csv").write_text("word,count\n" + "".join(f"{word},1\n" for word in made), "utf-8")
    misspellings.write_text("text,label\nrecieve,receive\nzebbra,zebra\nalot,a lot\n", encoding="utf-8")
    given = (files[0], "--against", files[1], "--words", words, "--misspellings", misspellings, "--quick", "--out", out)
    assert run(*given) == 0, capsys.readouterr().err
    printed = " ".join(capsys.readouterr().out.split())
    assert "Mean over 3 languages" in printed and "never saw: xx." in printed
    assert "2 human misspellings, float32" in printed and "ar list 20 " in printed
    png = (out / "evaluation.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.endswith(b"IEND\xaeB`\x82")


def test_bad_input_is_one_sentence_and_leaves_nothing(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.safetensors").write_bytes(b"no tensors")
    (tmp_path / "empty").mkdir()
    before = set(tmp_path.iterdir())
    for arguments in (
        (tmp_path / "missing.safetensors",),
        (files[0], "--against", tmp_path / "broken.safetensors"),
        (files[0], "--words", tmp_path / "empty"),
        (files[0], "--misspellings", tmp_path / "missing.csv"),
    ):
        assert run(*arguments, "--out", tmp_path / "out") == 2
        printed = capsys.readouterr()
        assert printed.err.startswith("python -m makers.embedding: error: ") and printed.err.count("\n") == 1
        assert printed.out == "" and set(tmp_path.iterdir()) == before
