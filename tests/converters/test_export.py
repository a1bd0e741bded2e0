import argparse
import dataclasses
import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from exported import EVERY_RECIPE, ORDERS, exports, texts_csv

from retvec_lite.__main__ import main
from retvec_lite.cli import export as export_command
from retvec_lite.converters import export as export_module
from retvec_lite.converters import recipes
from retvec_lite.converters.export import OWNED, export
from retvec_lite.converters.parity import tflite as parity
from retvec_lite.converters.parity import verify
from retvec_lite.converters.parity.checks import Check, Difference, RuntimeResult
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite.ops import check_operators
from retvec_lite.converters.tflite.reading import read_model
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.interpreters import RUNTIMES, installed_runtimes

BOTH = set(installed_runtimes()) == set(RUNTIMES)
PAIRS = [(head, recipe) for head, recipes in ORDERS.items() for recipe in recipes.split(",")]


@pytest.fixture(scope="module")
def folder() -> Path:
    return exports()


@pytest.fixture
def source(folder: Path, tmp_path: Path) -> Path:
    """A classifier and real texts, where a test may export; the conversion is already done."""
    texts_csv(tmp_path)
    (tmp_path / "classifier.safetensors").write_bytes((folder / "pool.safetensors").read_bytes())
    return tmp_path


@pytest.fixture
def converted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for TensorFlow, which must not be loaded here: the float32 file that was converted before."""
    model = read_artifact(folder / "pool" / "classifier-float32.tflite").model
    monkeypatch.setattr(export_module, "convert", lambda classifier, embed: model)


def check_everything(folder: Path, orders: dict[str, str]) -> None:
    for head, recipes in orders.items():
        report = json.loads((folder / head / "report.json").read_text(encoding="utf-8"))
        assert [artifact["recipe"] for artifact in report["artifacts"]] == recipes.split(",")
        for artifact in report["artifacts"]:
            ran = {run["runtime"]: run for run in artifact["runtimes"]}
            assert set(ran) == set(installed_runtimes())
            for run in ran.values():
                assert run["correct"] or not run["promised"], (head, artifact["recipe"], run)
                # Random weights know no right label: eight texts say something only where nothing is rounded.
                if not RECIPES[artifact["recipe"]].dynamic:
                    assert run["ok"], (head, artifact["recipe"], run)
            assert ran[next(iter(artifact["oldest_runtime"]))]["correct"]


def test_every_artifact_is_right_where_it_says_so(folder: Path) -> None:
    check_everything(folder, ORDERS)


@pytest.mark.slow
def test_every_head_and_recipe_is_right_where_it_says_so() -> None:
    orders = dict.fromkeys(ORDERS, EVERY_RECIPE)
    check_everything(exports(tuple(orders.items())), orders)


@pytest.mark.skipif(not BOTH, reason="needs both runtimes")
@pytest.mark.parametrize(("head", "recipe"), PAIRS)
def test_the_oldest_runtime_is_the_one_it_ran_on(folder: Path, head: str, recipe: str) -> None:
    metadata = read_artifact(folder / head / f"classifier-{recipe}.tflite").metadata
    name = "ai-edge-litert" if RECIPES[recipe].dynamic else "tflite-runtime"
    assert metadata["oldest_runtime"] == {name: installed_runtimes()[name]}


@pytest.mark.parametrize(("head", "recipe"), PAIRS)
def test_an_artifact_says_what_it_is(folder: Path, head: str, recipe: str) -> None:
    path = folder / head / f"classifier-{recipe}.tflite"
    artifact = read_artifact(path)
    classifier = load_trained_model(folder / f"{head}.safetensors")
    assert artifact.labels == classifier.labels
    assert artifact.config == classifier.encoder
    assert artifact.metadata["recipe"] == recipe
    assert artifact.metadata["head"] == classifier.head.name
    expected = {"words", "bits"} | ({"embedding"} if head != "raw" else set())
    assert set(artifact.metadata["tensors"]) == expected
    for graph in read_model(artifact.model).graphs:
        assert set(artifact.metadata["tensors"].values()) <= {tensor.name for tensor in graph.tensors}
    with zipfile.ZipFile(path) as archive:
        assert archive.read("labels.txt") == (folder / head / "labels.txt").read_bytes()
    if not RECIPES[recipe].dynamic:
        check_operators(read_model(artifact.model))


def test_the_folder_holds_what_is_promised_and_nothing_else(folder: Path) -> None:
    names = {path.name for path in (folder / "pool").iterdir()}
    expected = {f"classifier-{recipe}.tflite" for recipe in EVERY_RECIPE.split(",")}
    assert names == expected | {"labels.txt", "golden.json", "report.json", "report.md", "reference.safetensors"}
    assert (folder / "pool" / "reference.safetensors").read_bytes() == (folder / "pool.safetensors").read_bytes()
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_smaller_recipes_are_smaller(folder: Path) -> None:
    size = {recipe: (folder / "pool" / f"classifier-{recipe}.tflite").stat().st_size for recipe in RECIPES}
    assert size["int4"] < size["int8-dynamic"] <= size["int8"] < size["float16"] < size["float32"]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_app_can_test_itself_with_golden_json(folder: Path, runtime: str) -> None:
    """What golden.json is for: another program runs the texts and compares."""
    if runtime not in installed_runtimes():
        pytest.skip(f"{runtime} is not installed")
    program = """
import json, sys
from pathlib import Path
from retvec_lite.runtime import TextClassifier
golden = json.loads(Path(sys.argv[1], "golden.json").read_text(encoding="utf-8"))
recipes = sys.argv[3:]
for recipe in recipes:
    classifier = TextClassifier.load(Path(sys.argv[1], f"classifier-{recipe}.tflite"), runtime=sys.argv[2])
    for case in golden["cases"]:
        if case["text"] is None:
            continue
        values = classifier.probabilities(case["text"])[0].tolist()
        pairs = list(zip(values, case["probabilities"][recipe], strict=True))
        worst = max(abs(found - expected) for found, expected in pairs)
        assert worst <= golden["tolerance"][recipe], (recipe, case["name"], worst)
"""
    recipes = [name for name, recipe in RECIPES.items() if runtime == "ai-edge-litert" or not recipe.dynamic]
    command = [sys.executable, "-c", program, str(folder / "pool"), runtime, *recipes]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.usefixtures("converted")
def test_the_same_classifier_gives_the_same_bytes(folder: Path, source: Path) -> None:
    recipes = EVERY_RECIPE.split(",")
    export(source, source / "dist", recipes, data=source / "texts.csv")
    for path in (folder / "pool").iterdir():
        again = hashlib.sha256((source / "dist" / path.name).read_bytes()).hexdigest()
        assert again == hashlib.sha256(path.read_bytes()).hexdigest(), path.name


@pytest.mark.slow
def test_conversion_gives_the_same_bytes(folder: Path) -> None:
    """In a process of its own, where names and counters of the first export are gone."""
    program = """
import hashlib, sys
from retvec_lite.classifier_file import load_trained_model
from retvec_lite.converters.export import convert, package
from retvec_lite.converters.recipes import RECIPES
classifier, recipe = load_trained_model(sys.argv[1]), RECIPES["float32"]
sys.stdout.write(hashlib.sha256(package(convert(classifier, embed=True), classifier, recipe, eval(sys.argv[2]))).hexdigest())
"""
    kept = folder / "pool" / "classifier-float32.tflite"
    oldest = dict(read_artifact(kept).metadata["oldest_runtime"])
    command = [sys.executable, "-c", program, str(folder / "pool.safetensors"), repr(oldest)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == hashlib.sha256(kept.read_bytes()).hexdigest()
    assert not done.stderr, "TensorFlow's notes must be kept from the user"


@pytest.mark.usefixtures("converted")
def test_an_existing_folder_needs_force(source: Path) -> None:
    dist = source / "dist"
    dist.mkdir()
    (dist / "report.md").write_text("precious")
    with pytest.raises(RetvecLiteError, match="--force"):
        export(source, dist, data=source / "texts.csv")
    assert [path.name for path in dist.iterdir()] == ["report.md"]
    export(source, dist, data=source / "texts.csv", force=True)
    assert (dist / "classifier-int8.tflite").exists()
    (dist / "notes.txt").write_text("mine")
    with pytest.raises(RetvecLiteError, match=r"notes\.txt"):
        export(source, dist, data=source / "texts.csv", force=True)
    assert (dist / "notes.txt").exists()


def leftovers(source: Path) -> list[str]:
    return sorted(path.name for path in source.iterdir() if path.name not in ("texts.csv", "classifier.safetensors"))


@pytest.mark.usefixtures("converted")
def test_a_file_that_is_too_large_fails_and_leaves_nothing(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "SIZE_LIMIT", 50_000)
    with pytest.raises(
        RetvecLiteError, match=r"classifier-int8\.tflite to have size <= 50,000, received .*smaller head"
    ):
        export(source, source / "dist", ["float32", "int8"], data=source / "texts.csv")
    assert leftovers(source) == []


@pytest.mark.usefixtures("converted")
def test_a_wrong_artifact_fails_with_its_worst_text_and_leaves_nothing(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = parity.run_models

    def shifted(runtime, jobs):
        for answers in real(runtime, jobs):
            if "embedding" in answers:
                answers["embedding"] = answers["embedding"] + np.float32(0.01)
            yield answers

    monkeypatch.setattr(parity, "run_models", shifted)
    with pytest.raises(RetvecLiteError, match=r"to be right on .*, received embedding off by 1\.0e-02 .*worst .*text"):
        export(source, source / "dist", data=source / "texts.csv")
    assert leftovers(source) == []


@pytest.mark.usefixtures("converted")
@pytest.mark.parametrize("exception", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_being_stopped_leaves_nothing(
    source: Path, monkeypatch: pytest.MonkeyPatch, exception: type[BaseException] | BaseException
) -> None:
    def stop(self: object) -> bytes:
        raise exception

    monkeypatch.setattr(export_module.Report, "to_json", stop)
    with pytest.raises((KeyboardInterrupt, RetvecLiteError), match=r"No room to write|^$"):
        export(source, source / "dist", data=source / "texts.csv")
    assert leftovers(source) == []


def run_result(runtime: str, version: str, wrong: bool) -> RuntimeResult:
    worst = (Difference("a text", 1.0, "at 0"),) if wrong else ()
    return RuntimeResult(runtime, version, True, (Check("embedding", "computation", float(wrong), 0.5, worst=worst),))


@pytest.mark.parametrize(
    ("old_is_wrong", "new_is_wrong", "recipe", "expected"),
    [
        (False, False, "int8", {"tflite-runtime": "2.14.0"}),
        (False, False, "int4", {"tflite-runtime": "2.14.0"}),
        (True, False, "int4", {"ai-edge-litert": "2.3.0"}),
        (True, False, "int8", "right on tflite-runtime 2.14.0"),
        (False, True, "int4", "right on ai-edge-litert 2.3.0"),
        (True, True, "int4", "right on ai-edge-litert 2.3.0"),
    ],
)
def test_the_statement_follows_from_the_runs(
    old_is_wrong: bool, new_is_wrong: bool, recipe: str, expected: dict[str, str] | str
) -> None:
    runs = (run_result("ai-edge-litert", "2.3.0", new_is_wrong), run_result("tflite-runtime", "2.14.0", old_is_wrong))
    result = verify.ArtifactResult("classifier-x.tflite", recipe, 1, runtimes=runs)
    if isinstance(expected, str):
        with pytest.raises(RetvecLiteError, match=expected):
            export_module._oldest_runtime(RECIPES[recipe], result)
    else:
        assert export_module._oldest_runtime(RECIPES[recipe], result) == expected


def test_without_a_runtime_nothing_is_exported(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "installed_runtimes", dict)
    with pytest.raises(RetvecLiteError, match="none is installed: run `pip install ai-edge-litert`"):
        export(source, source / "dist", data=source / "texts.csv")
    assert leftovers(source) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--format", "onnx"], "Expected --format to be one of tflite, coreml, all, received 'onnx'"),
        (
            ["--format", "coreml", "--embed"],
            "Expected --embed only with --format tflite or all, received --format coreml",
        ),
        (["--data", "nowhere.csv"], "nowhere.csv does not exist"),
        ([], "No trained classifier at"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classifier = tmp_path if not arguments else folder / "pool.safetensors"
    assert main(["export", str(classifier), "--out", str(tmp_path / "dist"), *arguments]) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.startswith("retvec-lite: error:")
    assert not (tmp_path / "dist").exists()


def test_embeddings_are_for_tflite_files(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        RetvecLiteError, match=r"Expected embed with the format tflite, received the formats \['coreml'\]"
    ):
        export(folder / "pool.safetensors", tmp_path / "dist", formats=["coreml"], embed=True)


def test_an_unknown_recipe_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["export", str(tmp_path), "--out", str(tmp_path / "dist"), "--recipe", "int2"])
    assert "int2" in capsys.readouterr().err


@pytest.mark.usefixtures("converted")
def test_the_command_says_what_came_out(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dist = source / "dist"
    assert main(["export", str(source), "--out", str(dist), "--data", str(source / "texts.csv")]) == 0
    out = capsys.readouterr().out
    assert "classifier-int8.tflite" in out
    assert "or newer" in out
    assert (dist / "classifier-int8.tflite").exists()


def test_the_command_imports_nothing_heavy() -> None:
    program = (
        "import sys, argparse; from retvec_lite.converters import export_command, verify_command\n"
        "for module in (export_command, verify_command): module.add_arguments(argparse.ArgumentParser())\n"
        "print(sorted({'tensorflow', 'numpy', 'rich', 'flatbuffers', 'ai_edge_litert'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_defaults_of_the_command() -> None:
    parser = argparse.ArgumentParser()
    export_command.add_arguments(parser)
    args = parser.parse_args(["trained", "--out", "dist"])
    assert (args.format, args.recipe, args.force, args.data) == (None, None, False, None)


def test_owned_patterns_cover_what_is_written(folder: Path) -> None:
    import fnmatch

    for path in (folder / "pool").iterdir():
        assert any(fnmatch.fnmatchcase(path.name, pattern) for pattern in OWNED)


def test_labels_with_commas_quotes_and_emoji_survive(source: Path, converted: None) -> None:
    labels = ('a, b; "c"', "emoji 🙂|pipe", "한국어", "  two spaces", "#5")
    classifier = dataclasses.replace(load_trained_model(source), labels=labels)
    (source / "classifier.safetensors").write_bytes(classifier.to_bytes())
    export(source, source / "dist", data=source / "texts.csv")
    assert (source / "dist" / "labels.txt").read_text(encoding="utf-8").split("\n") == [*labels, ""]
    assert read_artifact(source / "dist" / "classifier-int8.tflite").labels == labels
    assert verify.verify(source / "dist", source / "texts.csv").ok
