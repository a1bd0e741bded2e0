import copy
import json
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from few_edges import use_every_edge
from packages import MODEL, ORDERS, WEIGHTS, blobs, packages

from retvec_lite.__main__ import main
from retvec_lite.converters import verify as verify_module
from retvec_lite.converters.coreml import format as coreml_parity
from retvec_lite.converters.coreml.format import EVALUATED, CoreML, program_constants
from retvec_lite.converters.evaluator import Program
from retvec_lite.converters.evaluator.package import parse_model
from retvec_lite.converters.parity.examiner import Examiner
from retvec_lite.converters.parity.oracle import Constant, match_constants
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite import examine as tflite_examine
from retvec_lite.converters.verify import Verification, verify
from retvec_lite.errors import RetvecLiteError

FOLDERS = ("pool", "vector", pytest.param("blocks", marks=pytest.mark.exhaustive), "cnn", "raw")


@pytest.fixture(autouse=True)
def _no_tflite_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages need none, and must not ask for one."""
    monkeypatch.setattr(tflite_examine, "installed_runtimes", dict)


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A copy of an export with one package, to be spoiled; real texts stand beside it."""
    shutil.copy(packages() / "texts.csv", tmp_path)
    copy = Path(shutil.copytree(packages() / "pool", tmp_path / "dist"))
    for recipe in ("float32", "int4"):
        shutil.rmtree(copy / f"classifier-{recipe}.mlpackage")
    return copy


def check(dist: Path) -> Verification:
    return verify(dist, data=dist.parent / "texts.csv")


@pytest.mark.parametrize("folder", FOLDERS)
def test_untouched_packages_pass(folder: str) -> None:
    found = check(packages() / folder)
    assert found.problems == ()
    assert found.ok, [artifact.to_dict() for artifact in found.artifacts if not artifact.ok]
    for artifact in found.artifacts:
        evaluated, *native = artifact.runtimes
        assert evaluated.runtime == EVALUATED
        assert evaluated.version == "iOS16"
        assert bool(native) == (platform.system() == "Darwin")
        names = {item.name: item for item in evaluated.checks}
        assert names["words"].value == names["bits"].value == 0
        assert ("embedding" in names) == (folder != "raw")
        assert names["words"].texts > names["probabilities"].texts > 50
        assert ("same label" in names) == (artifact.recipe != "float32")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["ok"] is True


PAIRS = [
    (folder, recipe)
    for folder, _, recipes in (order.partition("=") for order in ORDERS)
    for recipe in recipes.split(",")
]


@pytest.mark.parametrize(
    ("folder", "recipe"),
    [pair if pair == ("pool", "int4") else pytest.param(*pair, marks=pytest.mark.exhaustive) for pair in PAIRS],
)
def test_every_edge_of_the_contract_is_right(
    folder: str, recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_every_edge(monkeypatch.setattr)
    shutil.copytree(packages() / folder, tmp_path / "dist")
    for other in (tmp_path / "dist").glob("*.mlpackage"):
        if other.stem != f"classifier-{recipe}":
            shutil.rmtree(other)
    (artifact,) = verify(tmp_path / "dist", data=packages() / "texts.csv").artifacts
    assert artifact.ok, artifact.to_dict()
    words = next(check for check in artifact.runtimes[0].checks if check.name == "words")
    assert words.texts > 1000


def edit(change: Callable[[Any, Any], None]) -> Callable[[Path], None]:
    def write(dist: Path) -> None:
        path = dist / "classifier-int8.mlpackage" / MODEL
        spec = parse_model(path.read_bytes(), "model")
        function = spec.mlProgram.functions["main"]
        change(spec, function.block_specializations[function.opset])
        path.write_bytes(spec.SerializeToString())

    return write


def swap_labels(spec: Any, block: Any) -> None:
    (operation,) = (item for item in block.operations if item.type == "classify")
    values = operation.inputs["classes"].arguments[0].value.immediateValue.list.values
    one, two = (values[place].immediateValue.tensor.strings.values for place in (0, 1))
    one[0], two[0] = two[0], one[0]


def other_encoder(spec: Any, block: Any) -> None:
    values = spec.description.metadata.userDefined
    values["encoder"] = values["encoder"].replace('"max_words": 12', '"max_words": 13')


def other_activation(spec: Any, block: Any) -> None:
    next(item for item in block.operations if item.type == "tanh").type = "floor"


def other_name(spec: Any, block: Any) -> None:
    for item in block.operations:
        for output in item.outputs:
            if output.name == "words":
                output.name = "slots"
        for argument in item.inputs.values():
            for binding in argument.arguments:
                if binding.name == "words":
                    binding.name = "slots"


def lengthen(dist: Path) -> None:
    """The same model in other bytes."""
    path = dist / "classifier-int8.mlpackage" / "Manifest.json"
    path.write_bytes(path.read_bytes() + b"\n")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            edit(swap_labels),
            "the labels must be ['one', 'two', 'three', 'four', 'five'] as in reference.safetensors, not ['two', 'one'",
        ),
        (edit(other_encoder), "the encoder settings must be"),
        (
            edit(lambda spec, _: spec.description.metadata.userDefined.update(head="bert")),
            "the head settings must be 'pool'",
        ),
        (edit(lambda spec, _: spec.description.metadata.userDefined.update(recipe="int2")), "Unknown recipe 'int2'"),
        (edit(lambda spec, _: spec.description.metadata.userDefined.pop("encoder")), "the encoder settings must be"),
        (
            edit(lambda spec, _: setattr(spec.description, "predictedFeatureName", "class")),
            "answer label and probabilities",
        ),
        (
            edit(lambda spec, _: spec.description.metadata.userDefined.update(ngrams="null")),
            "the n-gram settings must be {'buckets': 300, 'longest': 4, 'shortest': 1}",
        ),
        (edit(lambda spec, _: spec.description.metadata.userDefined.update(ngrams="{")), "not '{'"),
        (edit(lambda spec, _: spec.description.metadata.userDefined.update(decision="{")), "The decision must have"),
        (edit(other_activation), "embedding is"),
        (edit(other_name), "has no value named 'words'"),
        (lengthen, "classifier-int8.mlpackage was changed since export"),
        (lambda dist: (dist / "classifier-int8.mlpackage" / WEIGHTS).unlink(), "The package has no weight file"),
        (
            lambda dist: (dist / "classifier-int8.mlpackage" / MODEL).write_bytes(b"?"),
            "model.mlmodel is no Core ML model",
        ),
    ],
)
def test_a_spoiled_package_is_found_and_told(
    dist: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], None], sentence: str
) -> None:
    spoil(dist)
    assert main(["verify", str(dist), "--data", str(dist.parent / "texts.csv")]) == 1
    out = capsys.readouterr().out
    assert sentence in " ".join(out.split())
    assert "Not every bound holds" in out


def test_the_command_says_what_was_skipped(dist: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(dist), "--data", str(dist.parent / "texts.csv")]) == 0
    out = capsys.readouterr().out
    assert "Core ML itself runs on macOS only: skipped." in out
    assert "not installed" not in out
    assert "Every bound holds" in out


def test_a_package_may_have_any_name(dist: Path) -> None:
    (dist / "classifier-int8.mlpackage").rename(dist / "Messages.mlpackage")
    found = check(dist)
    assert found.ok, str(found)
    (artifact,) = found.artifacts
    assert (artifact.file, artifact.recipe) == ("Messages.mlpackage", "int8")


@pytest.fixture(scope="module")
def examiner() -> Examiner:
    classifier = verify_module.load_trained_model(packages() / "pool.safetensors")
    with pytest.MonkeyPatch.context() as patch:
        use_every_edge(patch.setattr)
        return Examiner(classifier, ["where is my parcle?", "我的包裹在哪里"])


@pytest.fixture
def quick_examiner(examiner: Examiner) -> Examiner:
    """The same with few edges: enough to notice most faults."""
    quick = copy.copy(examiner)
    quick.edges = examiner.edges[::97]
    return quick


@pytest.mark.parametrize(
    ("recipe", "every"),
    [("int4", False), *(pytest.param(recipe, True, marks=pytest.mark.exhaustive) for recipe in RECIPES)],
)
def test_one_flipped_byte_in_an_array_is_noticed(
    recipe: str, every: bool, examiner: Examiner, quick_examiner: Examiner, tmp_path: Path
) -> None:
    """In the middle array of each data type, or in all."""
    name = f"classifier-{recipe}.mlpackage"
    package = Path(shutil.copytree(packages() / "pool" / name, tmp_path / name))
    untouched = (package / WEIGHTS).read_bytes()
    weights = next(iter(Program(package).package.weights.values()))
    places = blobs(package)
    arrays: dict[str, list[tuple[int, int]]] = {}
    for place, blob in zip(places, weights.blobs.values(), strict=True):
        # Zeros alone are padding, which no word reads.
        if any(untouched[place[0] : sum(place)]):
            arrays.setdefault(blob.dtype, []).append(place)
    assert len(places) > 8
    missed = []
    for kind, found in arrays.items():
        for start, size in found if every else [found[len(found) // 2]]:
            width = {"fp32": 4, "int32": 4, "fp16": 2}.get(kind, 1)
            middle = start + size // width // 2 * width
            used = (place for place in range(start, start + size, width) if any(untouched[place : place + width]))
            # The one nearest to the middle that is not 0: a kind of characters may have no use for a zero.
            element = min(used, key=lambda place: abs(place - middle))
            # The highest byte of a float, the lowest of an integer.
            place = element + (width - 1 if kind.startswith("fp") else 0)
            changed = bytearray(untouched)
            changed[place] ^= 0xFF
            (package / WEIGHTS).write_bytes(bytes(changed))
            if CoreML().examine(quick_examiner, package)[0].ok and CoreML().examine(examiner, package)[0].ok:
                missed.append(f"{kind} at {start}, {size} bytes: {untouched[element : element + width].hex()}")
    assert missed == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_head_is_matched_to_its_weights(folder: str) -> None:
    classifier = verify_module.load_trained_model(packages() / f"{folder}.safetensors")
    for package in (packages() / folder).glob("*.mlpackage"):
        matches = match_constants(program_constants(Program(package)), classifier.weights)
        bits = {match.bits for name, match in matches.items() if name.endswith("kernel")}
        assert bits == {int(package.stem.removeprefix("classifier-float").removeprefix("classifier-int"))}
        for name, match in matches.items():
            assert match.bits == 32 or not name.startswith("ngrams/")
            assert match.values.shape == classifier.weights[name].shape


def test_weights_are_found_in_any_arrangement_and_others_are_not() -> None:
    rng = np.random.default_rng(2)
    wanted = rng.normal(0, 1, (6, 4)).astype(np.float32)
    conv = wanted.reshape(3, 2, 4).transpose(2, 1, 0)
    joined = np.concatenate([rng.normal(0, 1, (4, 6)), wanted.T, rng.normal(0, 1, (4, 6))]).astype(np.float32)
    for values in (wanted, wanted.T, wanted.T[:, :, None, None], conv, joined):
        (match,) = match_constants([Constant("any", values, 32)], {"w": wanted}).values()
        np.testing.assert_array_equal(match.values, wanted)
    for values, bits in ((wanted * np.float32(1.01), 32), (-wanted, 4), (wanted[:5], 4)):
        with pytest.raises(RetvecLiteError, match="the classifier's weights: none for w"):
            match_constants([Constant("any", values, bits)], {"w": wanted})
    # So small that half precision has few digits left, as training leaves the bias of attention's keys.
    tiny = rng.normal(0, 2e-6, 64).astype(np.float32)
    stored = tiny.astype(np.float16).astype(np.float32)
    (match,) = match_constants([Constant("any", stored, 16)], {"b": tiny}).values()
    np.testing.assert_array_equal(match.values, stored)
    with pytest.raises(RetvecLiteError, match="none for b"):
        match_constants([Constant("any", stored, 32)], {"b": tiny})
    zeros = {"b": np.zeros(4, np.float32)}
    assert not match_constants([], zeros)["b"].values.any()


class _CoreML:
    """Core ML's `MLModel`, played by the evaluator; `twist` changes its answers."""

    twist: Callable[[dict[str, Any]], dict[str, Any]] = staticmethod(lambda answer: answer)  # type: ignore[assignment]

    def __init__(self, path: str) -> None:
        self._program = Program(path)

    def predict(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return type(self).twist(self._program.run(inputs))


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> type[_CoreML]:
    """A machine with Core ML."""
    model = type("Model", (_CoreML,), {})
    monkeypatch.setattr(coreml_parity.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(coreml_parity.platform, "mac_ver", lambda: ("26.1", ("", "", ""), "arm64"))
    monkeypatch.setitem(sys.modules, "coremltools", SimpleNamespace(models=SimpleNamespace(MLModel=model)))
    return model


def test_on_macos_core_ml_itself_runs_as_well(dist: Path, mac: type[_CoreML]) -> None:
    found = check(dist)
    assert found.ok
    assert found.skipped == ()
    _, native = found.artifacts[0].runtimes
    assert (native.runtime, native.version) == ("coreml", "macOS 26.1")
    assert [item.name for item in native.checks] == ["probabilities", "same label"]


def refuse(answer: dict[str, Any]) -> dict[str, Any]:
    raise RuntimeError("Error compiling model:\n  no such op")


def lie(answer: dict[str, Any]) -> dict[str, Any]:
    least = min(answer["probabilities"], key=lambda name: answer["probabilities"][name])
    return answer | {"label": least}


def blur(answer: dict[str, Any]) -> dict[str, Any]:
    return answer | {"probabilities": dict.fromkeys(answer["probabilities"], 0.2)}


@pytest.mark.parametrize(
    ("twist", "sentence"),
    [
        (refuse, "Core ML cannot run classifier-int8.mlpackage: Error compiling model: no such op"),
        (lie, "does not have the largest probability"),
        (blur, "probabilities is"),
    ],
)
def test_what_core_ml_itself_gets_wrong_counts(
    dist: Path,
    mac: type[_CoreML],
    capsys: pytest.CaptureFixture[str],
    twist: Callable[[dict[str, Any]], dict[str, Any]],
    sentence: str,
) -> None:
    mac.twist = staticmethod(twist)  # type: ignore[assignment]
    assert main(["verify", str(dist), "--data", str(dist.parent / "texts.csv")]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert sentence in out
    assert "on coreml macOS 26.1" in out
