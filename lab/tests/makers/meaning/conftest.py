"""A tiny corpus on six topics."""

from pathlib import Path

import pytest
from tiny_texts import write_topics

from makers.meaning import corpus as module
from makers.meaning.corpus import Corpus, read_corpus
from retvec_lite.terminal import silent


@pytest.fixture
def few_words_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST_WORDS", 1000)


@pytest.fixture
def topics(few_words_suffice: None, tmp_path: Path) -> Corpus:
    return read_corpus([write_topics(tmp_path / "topics.txt")], 2, silent)
