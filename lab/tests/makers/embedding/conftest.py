"""Made-up words instead of wordfreq's, wherever the evaluation asks for them, and tiny lists to train on."""

from pathlib import Path

import numpy as np
import pytest
from tiny_words import NAMES, tiny_training, tiny_wordfreq

from makers.embedding import retrieval
from makers.embedding.words import WordList, build_word_list, word_rows


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "wordfreq_languages", lambda: ["el", "en"])
    monkeypatch.setattr(retrieval, "wordfreq_words", tiny_wordfreq)
    monkeypatch.setattr(retrieval, "load_words", tiny_training)


@pytest.fixture(scope="session")
def list_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A word list of 216 words."""
    path = tmp_path_factory.mktemp("words") / "tiny.txt"
    path.write_text("\n".join(NAMES), encoding="utf-8")
    return path


@pytest.fixture
def small_lists() -> WordList:
    """Two languages of very different size."""
    big = word_rows([f"w{number}" for number in range(10_000)])
    small = word_rows(["слово", "рука", "дом", "окно", "наука", "школа", "0000"])
    lists = [("big", big, np.ones(len(big)), 1.0), ("small", small, np.ones(len(small)), 1.0)]
    return build_word_list(lists, "test")
