import dataclasses
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import standin
from coreml_cases import (
    HEADS,
    MODEL,
    PAIRS,
    RECIPES,
    UNUSED,
    files_of,
    grid_files,
    import_coremltools,
    inferred,
    model_of,
    needs_coremltools,
    on_grid,
    operations_of,
    stored_weights,
)
from patience import PATIENCE

from retvec_lite.contract import EncoderConfig
from retvec_lite.converters.coreml import Grid, Palette, compressed
from retvec_lite.converters.coreml.format import MLPackage
from retvec_lite.converters.evaluator.ops import OPS
from retvec_lite.converters.format import Contents
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import HeadSpec
from retvec_lite.ngrams import LOWER_CASE_END

pytestmark = needs_coremltools
HUGE = EncoderConfig(max_chars=5000)


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """Before any test: the import raises Python's recursion limit, which hypothesis wants to stay as it is during a test."""
    import_coremltools()


@pytest.mark.parametrize(("name", "recipe"), [*((name, "float32") for name in HEADS), ("cnn", "int8"), ("raw", "int8")])
def test_heads_compute_the_reference(name: str, recipe: str) -> None:
    """By coremltools' value inference."""
    spec = standin.classifier(name) if recipe == "float32" else on_grid(name)
    expected = standin.reference(spec, dict(spec.weights))
    bound = 1e-5 if recipe == "float32" else 1.5e-2
    for index, row in enumerate(standin.inputs()):
        found = inferred(row, spec, recipe)
        np.testing.assert_array_equal(found["words"], expected["words"][index])
        np.testing.assert_array_equal(found["bits"], expected["bits"][index])
        if name != "raw":
            assert np.abs(found["embedding"] - expected["embedding"][index]).max() <= bound
        assert found["probability_values"].dtype == np.float32
        assert np.abs(found["probability_values"] - expected["probabilities"][index]).max() <= bound


@pytest.mark.parametrize(("name", "recipe"), [pair for pair in PAIRS if pair[1] != "float32"])
def test_weights_on_the_grid_are_kept_exactly(name: str, recipe: str) -> None:
    spec = on_grid(name)
    stored = stored_weights(spec, recipe)
    for weight, values in spec.weights.items():
        if not weight.endswith("kernel"):
            continue
        np.testing.assert_array_equal(stored[weight.replace("/", "_")], values.T, err_msg=weight)


@pytest.mark.parametrize(("recipe", "most"), [("int8", 2e-4), ("int4", 0.02)])
def test_other_weights_lose_little(recipe: str, most: float) -> None:
    spec = standin.classifier("cnn")
    stored = stored_weights(spec, recipe)
    for weight in ("embedding/dense_0/kernel", "head/region/kernel", "head/logits/kernel"):
        values = spec.weights[weight].T
        found = stored[weight.replace("/", "_")].astype(np.float32)
        assert np.square(found - values).mean() <= most * np.square(values).mean(), weight


@pytest.mark.parametrize("bits", [8, 4])
def test_the_form_of_a_matrix_is_the_one_that_loses_least(bits: int) -> None:
    rng = np.random.default_rng(5)
    few = rng.choice(np.linspace(-1, 1, 2**bits) ** 3, (64, 128)).astype(np.float32)
    form = compressed(few, bits)
    assert isinstance(form, Palette)
    assert np.array_equal(form.levels, form.levels.astype(np.float16))
    assert (np.diff(form.levels) >= 0).all()
    lost = np.square(form.levels[form.indices] - few).sum()
    rows = np.abs(few).max(axis=1, keepdims=True) / (2 ** (bits - 1) - 1)
    assert lost < 0.3 * np.square(np.rint(few / rows) * rows - few).sum()

    # Few and rare values at the ends, none of which a palette of 256 is for: a grid has them all near.
    rare = rng.normal(0, 0.01, 20_000).astype(np.float32)
    rare[:300] = rng.uniform(0.5, 1, 300)
    form = compressed(rare.reshape(100, 200), 8)
    found = form.levels[form.indices] if isinstance(form, Palette) else form.scales * form.integers
    assert np.abs(found - rare.reshape(100, 200)).max() <= 0.01 * rare.max()

    steps = 2.0 ** rng.integers(-9, -3, (64, 1)) * 1.5
    grid = (rng.integers(-7, 8, (64, 128)) * steps).astype(np.float32)
    grid[:, 0] = 7 * steps[:, 0]
    kept = compressed(grid, bits)
    assert isinstance(kept, Grid)
    assert np.array_equal(kept.integers * kept.scales, grid)


@pytest.mark.parametrize(
    "hidden",
    [pytest.param(UNUSED, id="without TensorFlow"), pytest.param((), marks=pytest.mark.exhaustive, id="with it")],
)
def test_same_weights_same_bytes(hidden: tuple[str, ...]) -> None:
    """Whatever was built before, and in another process, which writes nothing to standard error."""
    spec = on_grid("cnn")
    first = files_of(spec, "int8")
    files_of(standin.classifier("vector"), "float32")
    assert files_of(spec, "int8") == first
    program = (
        "import sys, hashlib; sys.path.insert(0, sys.argv[1])\n"
        "sys.modules.update(dict.fromkeys(sys.argv[2:]))\n"
        "from coreml_cases import files_of, on_grid\n"
        "files = files_of(on_grid('cnn'), 'int8')\n"
        "sys.stdout.write(hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest())"
    )
    folder = str(Path(__file__).parents[2] / "support")
    done = subprocess.run(
        [sys.executable, "-c", program, folder, *hidden], check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout == hashlib.sha256(repr(sorted(first.items())).encode()).hexdigest(), done.stderr
    assert not done.stderr, "coremltools' notes must be kept from the user"


@pytest.mark.parametrize(("name", "recipe"), PAIRS)
def test_the_program_as_written(name: str, recipe: str) -> None:
    """Types and operators, declared in the saved file: these mean the same on every machine."""
    files = grid_files(name, recipe)
    types = model_of(files).mlProgram.DESCRIPTOR.file.pool.FindEnumTypeByName("CoreML.Specification.MILSpec.DataType")
    kinds = {value.number: value.name for value in types.values}
    declared = {
        output.name: (
            kinds[output.type.tensorType.dataType],
            [d.constant.size for d in output.type.tensorType.dimensions],
        )
        for operation in operations_of(files)
        for output in operation.outputs
        if output.type.WhichOneof("type") == "tensorType"
    }
    config, network = standin.CONFIG, "FLOAT32" if recipe == "float32" else "FLOAT16"
    assert declared["words"] == ("INT32", [1, config.max_words, config.word_length])
    assert declared["bits"] == ("FLOAT32", [1, config.max_words, config.word_length * 21])
    if name != "raw":
        assert declared["embedding"] == (network, [1, config.max_words, 64])
    assert declared["probability_values"] == ("FLOAT32", [1, len(standin.LABELS)])
    assert not {"INT16", "UINT16"} & {kind for kind, _ in declared.values()}
    names = list(declared)
    encoder = names[: names.index("bits") + 1]
    assert {declared[value][0] for value in encoder} <= {"INT32", "FLOAT32", "BOOL", "STRING"}, (
        "code points need 21 bits"
    )

    operations = operations_of(files)
    used = [operation.type for operation in operations]
    assert used[-1] == "classify"
    assert [output.name for output in operations[-1].outputs] == ["label", "probabilities"]
    assert not {"scatter", "scatter_nd", "floor_div", "mod", "while_loop", "cond"} & set(used)
    packed = {
        operation.outputs[0].name: operation for operation in operations if operation.type.startswith("constexpr_")
    }
    stored = {value: operation.type for value, operation in packed.items()}
    # The table of n-grams is 8-bit integers in every recipe, and nothing around it has fewer than 32 bits.
    tables = {value: stored.pop(value) for value in list(stored) if value.startswith("ngrams_")}
    assert stored.pop("character_kinds", "constexpr_lut_to_dense") == "constexpr_lut_to_dense"
    ngrams = on_grid(name).ngrams
    codes = {"ngrams_codes"} if ngrams and ngrams.codebooks else set()
    assert set(tables) == (set() if ngrams is None else {"ngrams_table", "ngrams_lower_case", *codes})
    if tables:
        table = packed["ngrams_table"]
        integers = table.attributes["quantized_data"]
        assert kinds[integers.type.tensorType.dataType] == "INT8"
        around = {declared[value][0] for value in names if value.startswith(("ngram", "hash_", "bucket"))}
        assert "FLOAT32" in around <= {"FLOAT32", "INT32", "BOOL"}
    kernels = [weight for weight in on_grid(name).weights if weight.endswith("kernel")]
    if recipe in ("int8", "int4"):
        assert len(stored) == len(kernels), "a matrix was left uncompressed"
        form = {"int8": "constexpr_affine_dequantize", "int4": "constexpr_lut_to_dense"}[recipe]
        assert set(stored.values()) == {form}


def test_the_evaluator_knows_the_operators_of_our_graphs_and_no_others() -> None:
    used = {operation.type for pair in PAIRS for operation in operations_of(grid_files(*pair))}
    plain = standin.classifier("pool")
    several = dataclasses.replace(plain, decision=Decision(thresholds=(0.5,) * len(plain.labels)))
    for spec in (plain, several):
        used |= {operation.type for operation in operations_of(files_of(spec, "int8"))}
    assert used == {"const", *OPS}


def test_what_a_package_says_about_itself() -> None:
    spec = standin.classifier("pool")
    files = files_of(spec, "int8")
    model = model_of(files)
    assert model.specificationVersion == 7
    description = model.description
    assert (description.predictedFeatureName, description.predictedProbabilitiesName) == ("label", "probabilities")
    assert [feature.name for feature in description.input] == ["codepoints"]
    assert list(description.input[0].type.multiArrayType.shape) == [1, spec.encoder.max_chars]
    assert {feature.name: feature.type.WhichOneof("Type") for feature in description.output} == {
        "label": "stringType",
        "probabilities": "dictionaryType",
    }
    assert all(feature.shortDescription for feature in (*description.input, *description.output))
    metadata = description.metadata
    assert all((metadata.author, metadata.license, metadata.versionString, metadata.shortDescription))
    told = dict(metadata.userDefined)
    assert EncoderConfig.from_dict(json.loads(told["encoder"])) == spec.encoder
    assert json.loads(told["labels"]) == list(spec.labels)
    assert json.loads(told["tensors"]) == {"words": "words", "bits": "bits", "embedding": "embedding"}
    assert json.loads(told["oldest_runtime"]) == {"iOS": "16"}
    assert (told["recipe"], told["head"]) == ("int8", "pool")
    manifest = json.loads(files["Manifest.json"])
    paths = {entry["path"] for entry in manifest["itemInfoEntries"].values()}
    assert paths == {"com.apple.CoreML/model.mlmodel", "com.apple.CoreML/weights"}
    assert f"Data/{manifest['itemInfoEntries'][manifest['rootModelIdentifier']]['path']}" == MODEL


def test_sizes_and_operators_of_a_package(tmp_path: Path) -> None:
    def contents(name: str, files: dict[str, bytes]) -> Contents:
        for file, content in files.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_bytes(content)
        return MLPackage(tmp_path / name).contents()

    files = grid_files("cnn", "int8")
    found = contents("cnn", files)
    sizes = found.sizes
    assert sum(sizes.values()) == sum(map(len, files.values()))
    assert sizes["embedding"] > sizes["head"] > sizes["ngrams"] == 0 < sizes["graph"]
    counts = {(name, version): count for name, version, count in found.operators}
    assert counts["classify", 16] == 1
    assert counts["linear", 16] == 3 + 1 + 1 + 2 + 1, "embedding, word, region, blocks, logits"
    buckets, columns = standin.NGRAMS["pool"].buckets, len(standin.LABELS) + 1
    for recipe in RECIPES:
        # The scales of few labels stand in the model file.
        table = contents(recipe, grid_files("pool", recipe)).sizes["ngrams"] - (LOWER_CASE_END + 1) // 2
        assert buckets * columns <= table <= buckets * columns + 200


def test_what_cannot_be_built_is_refused() -> None:
    import dataclasses

    from retvec_lite.converters.coreml.encoder import check_encoder

    with pytest.raises(RetvecLiteError, match="at most 4096 code points a text, this classifier 5000"):
        check_encoder(HUGE)

    class Other(HeadSpec):
        name = "other"

    with pytest.raises(RetvecLiteError, match=r"no head 'other' for Core ML\. Choose from linear, pool, cnn\."):
        files_of(dataclasses.replace(standin.classifier("pool"), head=Other()), "float32")
