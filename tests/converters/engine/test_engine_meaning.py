"""Classifiers with a table of meaning as .retvec files: export, verify, and what Python answers."""

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest
from engine_cases import CASES
from fitted import train
from hostile_files import mended
from modeling_cases import random_embedding
from standin import snapped
from synonyms import synonyms
from tiny_data import QUICK, tiny_dataset

import retvec_lite as rl
from retvec_lite.converters.engine import ADDS_ROWS, RetvecFile, layer_names
from retvec_lite.converters.export import export_model
from retvec_lite.converters.format import details
from retvec_lite.model.heads import NgramHead
from retvec_lite.runtime.retvec_file import Layer, sections_of

NAMES = [name for name, model in CASES.items() if model.meaning is not None]
TEXTS = ("where is my parcle?", "a terible film", "пожалуйста 😀", "see you tomorrow, or on Monday. And then? " * 5)

pytestmark = pytest.mark.usefixtures("engine_library")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "texts.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *((text, "yes") for text in TEXTS)])
    return path


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory, engine_library: Path, data: Path) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    for name in NAMES:
        # On the grid of 4 bits, as training leaves weights.
        own = {key: snapped(value) if key.endswith("/kernel") else value for key, value in CASES[name].weights.items()}
        model = dataclasses.replace(CASES[name], weights=own)
        export_model(model, folder / name, formats="engine", data=data)
    return folder


def test_metadata_name_the_languages_where_there_are_several() -> None:
    model = CASES[NAMES[0]]
    known = {"used": True, "language": "en", "languages": {"ka": 2000, "en": 1900}}
    several = dataclasses.replace(model, training={"meaning": known})
    assert details(several, "int8", {})["languages"] == ["en", "ka"]
    alone = dataclasses.replace(model, training={"meaning": {"used": True, "language": "en"}})
    without = dataclasses.replace(several, meaning=None)
    assert not {"languages"} & {*details(alone, "int8", {}), *details(without, "int8", {}), *details(model, "int8", {})}


@pytest.mark.parametrize("name", NAMES)
def test_verify_proves_them(dist: Path, data: Path, name: str) -> None:
    found = rl.verify(dist / name, data=data)
    assert found.ok, str(found)
    for artifact in found.artifacts:
        assert {"meaning", "probabilities"} <= {check.name for check in artifact.runtimes[0].checks}
    file = dist / name / "classifier-int8.retvec"
    opened, sizes = RetvecFile(file), CASES[name].meaning
    assert sizes is not None and opened.metadata["meaning"] == sizes.to_dict()
    assert opened.contents().sizes["meaning"] > sizes.words * 8 + sizes.rows * 3 + sizes.displacements + 8 * 256 * 8
    sections = sections_of(file.read_bytes())
    for layer in layer_names(CASES[name]):
        found = Layer.from_bytes(sections[layer], layer in ADDS_ROWS)
        assert found.bits == (8 if layer.endswith("projection") else 4), layer


@pytest.mark.parametrize("name", NAMES)
def test_embeddings_end_with_the_meaning(dist: Path, name: str) -> None:
    classifier = rl.load(dist / name / "classifier-int8.retvec")
    if isinstance(CASES[name].head, NgramHead):
        with pytest.raises(rl.RetvecLiteError, match="the head ngrams has no word embeddings"):
            classifier.embed(TEXTS[0])
        return
    vectors = classifier.embed([*TEXTS[:3], "zqxj", ""])
    words, of_words = classifier.embed_words(TEXTS[0])
    read = CASES[name].weights.get("head/vector/bias", of_words[0]).size
    assert words == ["where", "is", "my", "parcle?"] and vectors.shape[1] == read + 64
    np.testing.assert_allclose(np.linalg.norm(vectors[:-1], axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors[:, -64:], axis=1), [*[0.8**0.5] * 3, 0, 0], atol=1e-5)
    assert not vectors[-1].any()


@pytest.mark.parametrize("section", ["displacements", "rows", "codes", "codebooks"])
def test_another_table_is_found_out(dist: Path, data: Path, tmp_path: Path, section: str) -> None:
    source = dist / "meaning"
    content = bytearray((source / "classifier-int8.retvec").read_bytes())
    own = sections_of(bytes(content))[f"meaning/{section}"]
    # The highest byte of a row is its fingerprint's.
    content[bytes(content).index(own) + len(own) - 1] ^= 1
    for name in ("reference.safetensors", "labels.txt"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    (tmp_path / "classifier-int8.retvec").write_bytes(mended(content))
    (found,) = rl.verify(tmp_path, data=data).artifacts
    assert not found.ok
    assert f"meaning/{section} has other numbers" in str(found.problem)


def test_what_is_trained_with_meaning_passes_verify(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing can be trained")
    trained = train(
        tiny_dataset(12),
        embedding=random_embedding(dimension=64),
        settings=QUICK,
        meaning=synonyms(),
        head="linear",
        ngram_kb=20,
    )
    assert trained.model.meaning is not None
    export_model(trained.model, tmp_path / "dist", formats="engine", recipes="int8", data=tiny_dataset(6, seed=9))
    found = rl.verify(tmp_path / "dist", data=tiny_dataset(6, seed=9))
    assert found.ok, str(found)
