"""A trained classifier and its exported files are one class, which answers alike; what only one of them can is told in a sentence."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_exports import model_of
from exported import EXPORTED
from light import loaded_after

import retvec_lite as rl
from retvec_lite import runtime as library
from retvec_lite.converters.export import export_model

TEXTS = ["wake me at six", "where is my parcle?", "我的包裹在哪里", "?!", "", "a long text. " * 90]

needs_engine = pytest.mark.skipif(not library.is_built(), reason="the engine is not built")


@needs_engine
@pytest.mark.parametrize("name", ["pool", "several", "ngrams"])
def test_a_trained_classifier_answers_as_its_exported_file(name: str, tmp_path: Path) -> None:
    data = tmp_path / "texts.csv"
    data.write_text("text,label\nwhere is my parcel,one\ncancel it,two\n")
    trained = rl.TrainedClassifier(model_of(name))
    report = export_model(trained.model, tmp_path / "dist", formats=["engine"], recipes=["int8"], data=data)
    exported = rl.load(report.files[0])
    assert trained.runtime == exported.runtime == "retvec-lite" and trained.metadata == exported.metadata
    np.testing.assert_array_equal(trained.probabilities(TEXTS), exported.probabilities(TEXTS))
    assert trained.predict(TEXTS) == exported.predict(TEXTS)
    assert trained.explain(TEXTS[0]) == exported.explain(TEXTS[0])
    if name == "ngrams":
        with pytest.raises(rl.RetvecLiteError, match="has no word embeddings"):
            trained.embed(TEXTS)
    else:
        np.testing.assert_array_equal(trained.embed(TEXTS), exported.embed(TEXTS))
        assert trained.embed_words(TEXTS[0])[0] == exported.embed_words(TEXTS[0])[0] == TEXTS[0].split()


@needs_engine
def test_predicting_with_a_trained_folder_loads_no_tensorflow() -> None:
    file = str(EXPORTED / "pool/reference.safetensors")
    code = f"import retvec_lite as rl; c = rl.load({file!r}); c.predict('a'); rl.evaluate(c, ['a'], ['one'], typos=())"
    assert loaded_after(code) == ["safetensors"]


@needs_engine
def test_options_and_copies_of_a_trained_one() -> None:
    file = EXPORTED / "pool/reference.safetensors"
    trained = rl.load(file)
    expected = trained.probabilities(TEXTS)
    copy = pickle.loads(pickle.dumps(trained))
    assert copy.__dict__["_file"] is not None, "it is not built again"
    np.testing.assert_array_equal(copy.probabilities(TEXTS), expected)
    assert copy.model.to_bytes() == trained.model.to_bytes()
    np.testing.assert_array_equal(rl.load(file, isolated=True, workers=1).probabilities(TEXTS), expected)
    some = rl.load(file, languages=["one", "three"])
    assert some.labels == ("one", "three") and some.probabilities(TEXTS).sum(axis=1) == pytest.approx(1.0)
    for option in ({"num_threads": 2}, {"runtime": "ai-edge-litert"}):
        with pytest.raises(rl.RetvecLiteError, match=f"^Only a .tflite takes {next(iter(option))}: all else runs on"):
            rl.load(file, **option)  # type: ignore[arg-type]


@needs_engine
@pytest.mark.parametrize("name", ["pool", "several", "ngrams"])
def test_where_the_engine_is_not_built_the_reference_answers_and_says_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = rl.TrainedClassifier(model_of(name)).probabilities(TEXTS)
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    with pytest.warns(
        UserWarning, match=r"engine .* is not built\. Install a C compiler .* the NumPy reference answers"
    ):
        found = rl.TrainedClassifier(model_of(name)).probabilities(TEXTS)
    np.testing.assert_allclose(found, right, atol=0.02)


@pytest.mark.parametrize("name", ["save", "export", "learn", "training"])
def test_what_an_exported_file_cannot_do_is_one_sentence(name: str) -> None:
    exported: Any = rl.load(EXPORTED / "pool/classifier-int8.tflite")
    with pytest.raises(AttributeError, match=rf"^A Classifier has no {name}\. .* load the trained folder"):
        getattr(exported, name)
    assert str(exported) == repr(exported) == "<Classifier pool, 5 labels>"
    assert repr(rl.load(EXPORTED / "pool/reference.safetensors")) == "<TrainedClassifier pool, 5 labels>"
