"""Classifiers that read n-grams alone, and the rank of their table; `test_meaning_files` exports one."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import standin

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import NgramHead, head_from_dict
from retvec_lite.model.weight_files import TrainedModel, load_trained_model
from retvec_lite.ngrams import NgramConfig

SHARED = standin.RANKED


def classifier() -> TrainedModel:
    return standin.ngrams_alone()


def test_the_head_has_no_weights_and_reads_back() -> None:
    head = NgramHead()
    assert head.shapes(20, 3, 4) == {} and head_from_dict(head.to_dict()) == head


def test_a_rank_is_stored_only_where_there_is_one() -> None:
    assert SHARED.to_dict() == {"buckets": 300, "longest": 5, "shortest": 1, "rank": 4, "plain_letters": True}
    assert NgramConfig.from_dict(SHARED.to_dict()) == SHARED
    assert "rank" not in NgramConfig(buckets=300).to_dict()
    with pytest.raises(RetvecLiteError, match="rank of the n-grams must be an integer from 0 to 256"):
        NgramConfig(buckets=300, rank=257)


@pytest.mark.parametrize("change", [{"ngrams": None}, {"encoder": standin.CONFIG}])
def test_a_file_without_ngrams_or_with_words_is_refused(tmp_path: Path, change: dict) -> None:
    path = tmp_path / "classifier.safetensors"
    model = classifier()
    path.write_bytes(model.to_bytes())
    assert load_trained_model(path).head == NgramHead()
    weights = {} if "ngrams" in change else model.weights
    path.write_bytes(dataclasses.replace(model, weights=weights, **change).to_bytes())
    with pytest.raises(RetvecLiteError, match="the head ngrams needs n-grams, and max_words 1"):
        load_trained_model(path)


def test_there_are_no_words_to_embed() -> None:
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing can be converted")
    from retvec_lite.converters.tflite.convert import entries

    with pytest.raises(RetvecLiteError, match="reads no words, so there are none to embed"):
        entries(classifier(), embeds=True)


def test_the_projection_is_applied_after_the_length() -> None:
    from retvec_lite.contract import codepoints
    from retvec_lite.ngrams import ngram_buckets, ngram_logits

    model = classifier()
    row = codepoints("Where is it?", model.encoder.max_chars)
    buckets = ngram_buckets(row, model.encoder, SHARED)
    weights = model.weights
    said = weights["ngrams/table"][buckets].sum(axis=0) / np.sqrt(weights["ngrams/squares"][buckets].sum())
    right = said @ weights["ngrams/projection"] + weights["ngrams/bias"]
    np.testing.assert_allclose(ngram_logits(row, model.encoder, SHARED, weights), right, rtol=1e-4, atol=1e-5)
