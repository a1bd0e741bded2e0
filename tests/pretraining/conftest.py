"""Made-up words instead of wordfreq's, wherever the evaluation asks for them."""

import pytest
from tiny_words import tiny_training, tiny_wordfreq

from retvec_lite.pretraining import tasks


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "wordfreq_languages", lambda: ["el", "en"])
    monkeypatch.setattr(tasks, "wordfreq_words", tiny_wordfreq)
    monkeypatch.setattr(tasks, "load_wordfreq", tiny_training)
