"""Files that read n-grams alone: exported in every recipe and format, verified, and refused where there is nothing to do."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import standin

from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import NgramHead, head_from_dict
from retvec_lite.model.weight_files import TrainedModel, load_trained_model
from retvec_lite.ngrams import NgramConfig
from retvec_lite.runtime.artifact import read_artifact

SHARED = NgramConfig(buckets=300, longest=5, rank=4, plain_letters=True)


def classifier(ngrams: NgramConfig = SHARED) -> TrainedModel:
    model = standin.classifier("ngrams")
    weights = standin.ngram_weights(ngrams, len(model.labels))
    return dataclasses.replace(model, weights=weights, ngrams=ngrams, embedding={"name": "none"})


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


@pytest.mark.slow
def test_every_recipe_and_format_computes_what_it_says(tmp_path: Path) -> None:
    source, dist = tmp_path / "classifier.safetensors", tmp_path / "dist"
    source.write_bytes(classifier().to_bytes())
    code = (
        "import sys\n"
        "import retvec_lite as rl\n"
        "from retvec_lite.converters.export import export_model\n"
        "from retvec_lite.model.weight_files import load_trained_model\n"
        "model = load_trained_model(sys.argv[1])\n"
        "export_model(model, sys.argv[2], recipes=['int8', 'float32'], formats=['all'])\n"
        "export_model(model, sys.argv[2] + '-dynamic', recipes=['int4'])\n"
        "try:\n"
        "    export_model(model, sys.argv[2] + '-embed', embed=True)\n"
        "except rl.RetvecLiteError as error:\n"
        "    print(error)\n"
        "print(rl.verify(sys.argv[2]).ok, rl.verify(sys.argv[2] + '-dynamic').ok)\n"
        "print(sorted(rl.info(sys.argv[2] + '/classifier-int8.tflite').to_dict()['sizes'].items()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, source, dist], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    refusal, verified, sizes = done.stdout.splitlines()
    assert "reads no words" in refusal and not (tmp_path / "dist-embed").exists()
    assert verified == "True True"
    assert "('embedding', 0), ('encoder', 0)" in sizes and "('head', 0)" in sizes
    artifact = read_artifact(dist / "classifier-int8.tflite")
    assert artifact.metadata["tensors"] == {} and artifact.metadata["ngrams"]["rank"] == 4
    assert [signature.name for signature in artifact.signatures] == ["classify"]


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
