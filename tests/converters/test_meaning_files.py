"""Files with a table of meaning: verified, the reference's answers on both runtimes and in the evaluator, and what they consist of."""

import importlib.util
import json
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest
from exported import texts_csv
from meaning_cases import WORDS
from scripts import run_script

import retvec_lite as rl
from retvec_lite import contract
from retvec_lite.contract import codepoints
from retvec_lite.converters.parity.oracle import Oracle
from retvec_lite.converters.tflite import find_signature, find_tensor, read_model
from retvec_lite.converters.tflite.examine import match_weights
from retvec_lite.converters.tflite.graph import before, behind, dtype_of, operator_name, shape_of
from retvec_lite.meaning import DIMENSION
from retvec_lite.model.file_sizes import estimate_bytes
from retvec_lite.model.weight_files import TrainedModel, load_trained_model
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.interpreters import installed_runtimes
from retvec_lite.runtime.worker import Job, run_models

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="nothing can be converted"),
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("meaning")
    run_script("meaning_export.py", str(folder), "pool", "package", "several", "alone", "ngrams")
    return folder


def generated(count: int, length: int) -> np.ndarray:
    """Code points of texts of known words, typos of them, all scripts and hostile values."""
    rng = random.Random(3)
    rows = np.zeros((count, length), np.int32)
    for row in rows:
        text = ""
        while len(text) < length and rng.random() < 0.95:
            word = rng.choice(WORDS)
            place = rng.randrange(len(word))
            text += rng.choice(
                (
                    word,
                    word.upper(),
                    word[:place] + word[place + 1 :],
                    word[:place] + rng.choice("aeßж\u0301") + word[place:],
                    chr(rng.choice((rng.randrange(0x21, 0x2FFF), rng.randrange(0xE000, 0x110000)))),
                    "x" * rng.randrange(20),
                )
            ) + rng.choice((" ", " ", "'", "\u3000", ""))
        row[:] = codepoints(text, length)
    rows[-1] = np.array([rng.randrange(-(2**31), 2**31) for _ in range(length)])
    return rows


def right_answers(model: TrainedModel, rows: np.ndarray) -> np.ndarray:
    oracle = Oracle(model, model.weights)
    return np.stack([oracle.probabilities(row, contract.words(row, model.encoder))[0] for row in rows])


@pytest.mark.parametrize("name", ["pool", "alone", "several"])
def test_every_runtime_gives_the_reference_s_answers_to_generated_texts(exported: Path, name: str) -> None:
    model = load_trained_model(exported / name / "reference.safetensors")
    rows = generated(150, model.encoder.max_chars)
    right = right_answers(model, rows)
    without = {**model.weights, "meaning/projection": np.zeros_like(model.weights["meaning/projection"])}
    assert np.abs(right - right_answers(TrainedModel(**{**vars(model), "weights": without}), rows)).max() > 0.05
    for path in sorted((exported / name).glob("*.tflite")):
        artifact = read_artifact(path)
        for runtime in installed_runtimes():
            if runtime not in artifact.metadata["oldest_runtime"] and "int4" in path.name:
                continue
            found = next(iter(run_models(runtime, [Job(artifact.model, rows)])))["probabilities"]
            np.testing.assert_allclose(found, right, atol=1e-5 if "float32" in path.name else 2e-2)


@pytest.mark.parametrize("name", ["package", "alone"])
def test_the_evaluator_gives_the_reference_s_answers_to_generated_texts(exported: Path, name: str) -> None:
    pytest.importorskip("coremltools")
    from retvec_lite.converters.coreml.format import evaluate
    from retvec_lite.converters.evaluator import Program

    model = load_trained_model(exported / name / "reference.safetensors")
    rows = generated(40, model.encoder.max_chars)
    oracle = Oracle(model, model.weights)
    for path in (exported / name).glob("*.mlpackage"):
        program = Program(path)
        found = evaluate(program, rows, model.labels, ["meaning"])["meaning"]
        for row, meaning in zip(rows, found, strict=True):
            np.testing.assert_allclose(meaning, oracle.meaning(row), atol=1e-6)


@pytest.mark.parametrize("name", ["pool", "package", "alone", "several", "ngrams"])
def test_verify_proves_them(exported: Path, name: str) -> None:
    found = rl.verify(exported / name, data=texts_csv(exported))
    assert found.ok, str(found)
    assert ("meaning" in str(found.to_dict())) == (name != "ngrams")


def test_files_that_read_ngrams_alone_hold_no_network(exported: Path) -> None:
    path = exported / "ngrams" / "classifier-int8.tflite"
    artifact, held = read_artifact(path), rl.info(path).to_dict()["sizes"]
    assert [held[part] for part in ("embedding", "encoder", "head")] == [0, 0, 0]
    assert artifact.metadata["tensors"] == {} and artifact.metadata["ngrams"]["rank"] == 4
    assert [signature.name for signature in artifact.signatures] == ["classify"]


def test_integers_stay_integers_and_the_words_are_found_in_float32(exported: Path) -> None:
    model = load_trained_model(exported / "pool" / "reference.safetensors")
    for recipe in ("float32", "int8"):
        graphs = read_model(read_artifact(exported / "pool" / f"classifier-{recipe}.tflite").model)
        for signature in ("classify", "embed"):
            graph = graphs.subgraphs[find_signature(graphs, signature).subgraphIndex]
            meaning = before(graph, find_tensor(graph, "meaning"))
            assert not meaning & behind(graph, find_tensor(graph, "bits"))
            gathered = {
                (dtype_of(tensor), shape_of(tensor))
                for position in meaning
                if operator_name(graphs, graph.operators[position]) == "GATHER"
                for tensor in (graph.tensors[graph.operators[position].inputs[0]],)
            }
            shapes = {weight: model.weights[f"meaning/{weight}"].shape for weight in ("displacements", "rows", "codes")}
            assert {("uint8", shape) for shape in shapes.values()} | {("int8", (2048, 8))} <= gathered
            names = {operator_name(graphs, graph.operators[position]) for position in meaning}
            assert "DEQUANTIZE" not in names


def test_sizes_are_estimated_and_told(exported: Path) -> None:
    model = load_trained_model(exported / "several" / "reference.safetensors")
    path = exported / "several" / "classifier-int8.tflite"
    estimated = estimate_bytes(
        {name: value.shape for name, value in model.weights.items()}, model.encoder, model.labels
    )
    assert abs(estimated["int8"] - path.stat().st_size) < 20_000
    stored = sum(model.weights[f"meaning/{name}"].size for name in ("rows", "codes", "codebooks", "projection"))
    assert stored <= rl.info(path).to_dict()["sizes"]["meaning"] < stored + 100


def test_embeddings_carry_meaning_behind_the_vector_of_the_head(exported: Path) -> None:
    classifier = rl.load(exported / "pool" / "classifier-int8.tflite")
    dimension = load_trained_model(exported / "pool" / "reference.safetensors").weights["head/vector/bias"].size
    assert classifier.embed_words("parcel")[1].shape == (1, 20) and dimension == 8
    alike, typed, other, none = classifier.embed(["terrible parcel", "trerible parcell", "great film", ""])
    assert alike.shape == (dimension + DIMENSION,)
    np.testing.assert_allclose([np.linalg.norm(v) for v in (alike, typed, other)], 1.0, atol=1e-5)
    np.testing.assert_allclose(alike[dimension:], typed[dimension:], atol=1e-5)
    assert alike[dimension:] @ other[dimension:] < 0.7 and not none.any()


@pytest.mark.parametrize("recipe", ["float32", "int8"])
def test_embeddings_are_the_reference_s_on_every_runtime(exported: Path, recipe: str) -> None:
    artifact = read_artifact(exported / "pool" / f"classifier-{recipe}.tflite")
    model = load_trained_model(exported / "pool" / "reference.safetensors")
    own = match_weights(read_model(artifact.model), model.weights, plain_letters=True)
    oracle = Oracle(model, {name: match.values for name, match in own.items()})
    rows = generated(60, model.encoder.max_chars)
    for runtime in installed_runtimes():
        found = next(iter(run_models(runtime, [Job(artifact.model, rows, "embed")])))
        for row, words, embeddings, text in zip(
            rows, *(found[name] for name in ("words", "embeddings", "text")), strict=True
        ):
            np.testing.assert_array_equal(words, contract.words(row, model.encoder))
            assert oracle.off_embedding(row, words, embeddings, text).max() < 1e-5
            assert np.linalg.norm(text) == pytest.approx(1.0 if row.any() else 0.0, abs=1e-5)


def test_explanations_work(exported: Path) -> None:
    found = rl.load(exported / "pool" / "classifier-int8.tflite").explain("terrible parcel, please refund")
    assert [span.text for span in found.spans] == ["terrible", "parcel,", "please", "refund"]
    assert any(span.weight for span in found.spans)


def test_golden_json_tests_meaning(exported: Path) -> None:
    golden = json.loads((exported / "pool" / "golden.json").read_text())
    assert any("parcel" in (case["text"] or "") for case in golden["cases"])


@pytest.mark.parametrize("meaning", [{"words": 9}, {"words": 9, "rows": 20, "displacements": 5, "form": 2}, [1], 7])
def test_a_table_of_an_unknown_form_is_refused_in_one_sentence(exported: Path, tmp_path: Path, meaning: object) -> None:
    source = exported / "pool" / "classifier-int8.tflite"
    path = tmp_path / "damaged.tflite"
    artifact = read_artifact(source)
    path.write_bytes(artifact.model)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("retvec_lite.json", json.dumps({**artifact.metadata, "meaning": meaning}))
        archive.writestr("labels.txt", "\n".join(artifact.labels) + "\n")
    with pytest.raises(rl.RetvecLiteError, match="The meaning needs the fields") as caught:
        rl.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.exhaustive
@pytest.mark.parametrize("head", ["vector", "cnn"])
def test_every_head_exports_and_is_verified(tmp_path: Path, head: str) -> None:
    run_script("meaning_export.py", str(tmp_path), head)
    assert list((tmp_path / head).glob("*.tflite"))
