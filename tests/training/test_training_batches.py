"""Texts in batches of similar length."""

import pytest

from retvec_lite.contract import EncoderConfig
from retvec_lite.training import batches
from retvec_lite.training.batches import alike

ENCODER = EncoderConfig(max_chars=40, max_words=12)
TEXTS = [
    "",
    "a",
    "wake me at six",
    "\u0958" * 9,
    "x" * 60,
    "ten letters",
    "where is my parcel, please tell me now",
    "é" * 10,
]
"""The fourth is twice as long once it is composed; the fifth is cut."""


def test_every_text_is_read_once_in_the_smallest_size_that_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_WORTH_SIZES", 1)
    found = {int(row): batch.encoder.max_chars for batch in alike(TEXTS, ENCODER) for row in batch.rows}
    assert found == dict(enumerate([10, 10, 20, 20, 40, 20, 40, 10]))
    assert [batch.encoder for batch in alike([], ENCODER)] == []
