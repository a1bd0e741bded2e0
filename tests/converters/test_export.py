import dataclasses
import fnmatch
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported import EVERY_RECIPE, EXPORTED, ORDERS, call_it_kept_version, texts_csv
from patience import PATIENCE
from scripts import run_quietly
from tflite_metadata import read_metadata

import retvec_lite as rl
from retvec_lite.__main__ import main
from retvec_lite.converters import export as export_module
from retvec_lite.converters import recipes as recipes_module
from retvec_lite.converters import verify
from retvec_lite.converters.export import export_model, owned_files
from retvec_lite.converters.export_report import IncompleteExportError, Report
from retvec_lite.converters.parity import ArtifactResult, Check, Difference, RuntimeResult
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite import examine as parity
from retvec_lite.converters.tflite import format as tflite_format
from retvec_lite.converters.tflite import read_model
from retvec_lite.converters.tflite.graph import check_operators, data_of
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel, load_trained_model
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.interpreters import RUNTIMES, installed_runtimes

POOL = EXPORTED / "pool"
REFERENCE = POOL / "reference.safetensors"
INT8 = (POOL / "classifier-int8.tflite").read_bytes()
BOTH = set(installed_runtimes()) == set(RUNTIMES)
PAIRS = [(head, recipe) for head, recipes in ORDERS.items() for recipe in recipes.split(",")]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A trained folder and real texts, where a test may export; the conversion is already done."""
    texts_csv(tmp_path)
    shutil.copy(REFERENCE, tmp_path / "classifier.safetensors")
    return tmp_path


@pytest.fixture
def converted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for TensorFlow, which must not be loaded here: the float32 file that was converted before."""
    call_it_kept_version(monkeypatch.setattr)
    model = read_artifact(POOL / "classifier-float32.tflite").model
    monkeypatch.setattr(tflite_format, "convert", lambda classifier, embed: model)


def export(source: Path, **options: Any) -> Report:
    model = load_trained_model(source / "classifier.safetensors")
    return export_model(model, source / "dist", **{"data": source / "texts.csv", **options})


def check_everything(folder: Path, orders: dict[str, str]) -> None:
    for head, names in orders.items():
        report = json.loads((folder / head / "report.json").read_text(encoding="utf-8"))
        assert [artifact["recipe"] for artifact in report["artifacts"]] == names.split(",")
        for artifact in report["artifacts"]:
            ran = {run["runtime"]: run for run in artifact["runtimes"]}
            assert set(ran) == set(installed_runtimes())
            for run in ran.values():
                assert run["correct"] or not run["promised"], (head, artifact["recipe"], run)
                # Random weights know no right label: eight texts say something only where nothing is rounded.
                if not RECIPES[artifact["recipe"]].formats["tflite"].eight_bit:
                    assert run["ok"], (head, artifact["recipe"], run)
            assert ran[next(iter(artifact["oldest_runtime"]))]["correct"]


@pytest.mark.exhaustive
def test_every_head_and_recipe_is_right_where_it_says_so(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing can be exported")
    orders = [f"{head}={EVERY_RECIPE}" for head in ORDERS]
    run_quietly(str(EXPORTED.parent / "make_exported.py"), str(tmp_path), *orders)
    check_everything(tmp_path, dict.fromkeys(ORDERS, EVERY_RECIPE))


@pytest.mark.skipif(not BOTH, reason="needs both runtimes")
@pytest.mark.parametrize(("head", "recipe"), PAIRS)
def test_the_oldest_runtime_is_the_one_it_ran_on(head: str, recipe: str) -> None:
    metadata = read_artifact(EXPORTED / head / f"classifier-{recipe}.tflite").metadata
    name = "ai-edge-litert" if RECIPES[recipe].formats["tflite"].eight_bit else "tflite-runtime"
    assert metadata["oldest_runtime"] == {name: installed_runtimes()[name]}


@pytest.mark.parametrize(("head", "recipe"), PAIRS)
def test_an_artifact_says_what_it_is(head: str, recipe: str) -> None:
    path = EXPORTED / head / f"classifier-{recipe}.tflite"
    artifact = read_artifact(path)
    classifier = load_trained_model(EXPORTED / head / "reference.safetensors")
    assert artifact.labels == classifier.labels
    assert artifact.config == classifier.encoder
    assert artifact.metadata["recipe"] == recipe
    assert artifact.metadata["head"] == classifier.head.name
    expected = {"words", "bits"} | ({"embedding"} if head != "raw" else set())
    assert set(artifact.metadata["tensors"]) == expected
    model = read_model(artifact.model)
    for graph in model.subgraphs:
        assert set(artifact.metadata["tensors"].values()) <= {tensor.name for tensor in graph.tensors}
    with zipfile.ZipFile(path) as archive:
        assert archive.read("labels.txt") == (POOL / "labels.txt").read_bytes()
    if not RECIPES[recipe].formats["tflite"].eight_bit:
        check_operators(model)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_app_can_test_itself_with_golden_json(runtime: str) -> None:
    """What golden.json is for: another program runs the texts and compares."""
    if runtime not in installed_runtimes():
        pytest.skip(f"{runtime} is not installed")
    program = """
import json, sys
from pathlib import Path
import retvec_lite as rl
golden = json.loads(Path(sys.argv[1], "golden.json").read_text(encoding="utf-8"))
recipes = sys.argv[3:]
for recipe in recipes:
    classifier = rl.load(Path(sys.argv[1], f"classifier-{recipe}.tflite"), runtime=sys.argv[2])
    for case in golden["cases"]:
        if case["text"] is None:
            continue
        values = classifier.probabilities(case["text"])[0].tolist()
        pairs = list(zip(values, case["probabilities"][recipe], strict=True))
        worst = max(abs(found - expected) for found, expected in pairs)
        assert worst <= golden["tolerance"][recipe], (recipe, case["name"], worst)
"""
    recipes = [name for name in RECIPES if runtime == "ai-edge-litert" or not RECIPES[name].formats["tflite"].eight_bit]
    command = [sys.executable, "-c", program, str(POOL), runtime, *recipes]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.usefixtures("converted")
def test_the_folder_holds_what_is_promised_and_the_same_bytes_every_time(source: Path) -> None:
    dist, names = source / "dist", ("int8", "int4")
    progress: list[tuple[str, int, int]] = []
    report = export(source, recipes=[*names, "int8"], progress=lambda *state: progress.append(state))
    assert report.files == tuple(dist / f"classifier-{name}.tflite" for name in names)
    assert report.ok == all(exported.result.ok for exported in report.artifacts)
    assert progress == [("exporting", done, 3) for done in range(4)]
    first = {path.name: path.read_bytes() for path in dist.iterdir()}
    assert set(first) == {path.name for path in report.files} | {
        *("labels.txt", "golden.json", "manifest.json", "report.json", "reference.safetensors", "README.md")
    }
    assert all(any(fnmatch.fnmatchcase(name, pattern) for pattern in owned_files()) for name in first)
    for name in (*(path.name for path in report.files), "labels.txt", "reference.safetensors"):
        assert first[name] == (POOL / name).read_bytes(), name
    check_everything(source, {"dist": ",".join(names)})
    export(source, recipes=names, force=True)
    assert {path.name: path.read_bytes() for path in dist.iterdir()} == first
    assert leftovers(source) == ["dist"]


@pytest.mark.usefixtures("converted")
def test_name_and_version_stand_in_the_file_and_in_what_every_reader_knows(source: Path) -> None:
    (file,) = export(source, name="router", model_version=7).files
    artifact = read_artifact(file)
    assert (artifact.metadata["name"], artifact.metadata["version"]) == ("router", 7)
    model = read_model(artifact.model)
    name, _, version, *_ = read_metadata(data_of(model, model.metadata[0]))["about"]
    assert (name, version) == ("router", "7")
    assert rl.verify(source / "dist", data=source / "texts.csv").problems == ()


@pytest.mark.exhaustive
def test_conversion_keeps_tensorflow_s_notes_from_the_user() -> None:
    program = (
        "import sys\n"
        "from retvec_lite.converters.tflite.format import convert\n"
        "from retvec_lite.model.weight_files import load_trained_model\n"
        "convert(load_trained_model(sys.argv[1]), embed=True)"
    )
    command = [sys.executable, "-c", program, str(REFERENCE)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.usefixtures("converted")
def test_an_existing_folder_needs_force(source: Path) -> None:
    dist = source / "dist"
    dist.mkdir()
    (dist / "report.json").write_text("precious")
    with pytest.raises(RetvecLiteError, match="--force"):
        export(source)
    assert [path.name for path in dist.iterdir()] == ["report.json"]
    (dist / "notes.txt").write_text("mine")
    with pytest.raises(RetvecLiteError, match=r"notes\.txt"):
        export(source, force=True)
    assert (dist / "notes.txt").exists()


def leftovers(source: Path) -> list[str]:
    return sorted(path.name for path in source.iterdir() if path.name not in ("texts.csv", "classifier.safetensors"))


@pytest.mark.usefixtures("converted")
def test_a_file_that_cannot_be_made_does_not_keep_the_others_away(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(source, recipes=["int8", "int4"])
    (dist, size) = (source / "dist", (POOL / "classifier-int8.tflite").stat().st_size)
    monkeypatch.setattr(recipes_module, "SIZE_LIMIT", size - 1)
    with pytest.raises(IncompleteExportError) as caught:
        export(source, recipes=["float32", "int8"], force=True)
    report, message = caught.value.report, str(caught.value)
    assert report.files == (dist / "classifier-float32.tflite",) and not report.ok
    assert list(report.failed) == ["classifier-int8.tflite"]
    assert {path.name for path in dist.glob("classifier-*")} == {"classifier-float32.tflite"}, "no mix of two exports"
    assert set(json.loads((dist / "golden.json").read_bytes())["tolerance"]) == {"float32"}
    assert json.loads((dist / "report.json").read_bytes())["failed"] == report.failed
    assert "`classifier-int8.tflite` was not written: size is" in (dist / "README.md").read_text(encoding="utf-8")
    assert "classifier-int8.tflite was not written: size is" in str(report)
    int4 = (POOL / "classifier-int4.tflite").stat().st_size
    assert f"must be <= {size - 1:,}. Train again" in message
    assert (
        f"or choose --recipe int4 (recipes): {int4:,} bytes. Written: {dist / 'classifier-float32.tflite'}." in message
    )
    assert message.endswith("The earlier classifier-int8.tflite went with the earlier export.")
    assert verify.verify(dist, data=source / "texts.csv").ok
    assert export(source, recipes="int4", force=True).files == (dist / "classifier-int4.tflite",), "as it was told"


@pytest.mark.usefixtures("converted")
def test_the_command_says_which_format_failed_and_writes_the_others(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recipes_module, "SIZE_LIMIT", (POOL / "classifier-int8.tflite").stat().st_size - 1)
    command = ["export", str(source), "--out", str(source / "dist"), "--data", str(source / "texts.csv")]
    assert main([*command, "--format", "tflite", "engine"]) == 2
    out, err = capsys.readouterr()
    assert "classifier-int8.tflite was not written: size is" in out and "classifier-int8.retvec: " in out
    assert err.splitlines()[-1].startswith("retvec-lite: error: classifier-int8.tflite cannot be written: size is")
    written = {path.name for path in (source / "dist").glob("classifier-*")}
    assert "classifier-int8.retvec" in written and "classifier-int8.tflite" not in written
    assert "the earlier" not in err.lower(), "there was none"


@pytest.mark.usefixtures("converted")
def test_a_format_that_refuses_does_not_keep_the_others_away(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several recipes, one alone may be refused."""
    real = tflite_format.package

    def refuse(*given: Any) -> bytes:
        if RECIPES["int4"] not in given:
            raise RetvecLiteError("No.")
        return real(*given)

    monkeypatch.setattr(tflite_format, "package", refuse)
    for formats, recipes, written in (
        (["tflite", "engine"], ["int8"], {"classifier-int8.retvec"}),
        (["tflite"], ["int8", "int4"], {"classifier-int4.tflite"}),
    ):
        with pytest.raises(IncompleteExportError, match=r"^classifier-int8\.tflite cannot be written: No\. Written: "):
            export(source, formats=formats, recipes=recipes, force=True)
        assert {path.name for path in (source / "dist").glob("classifier-*")} == written


@pytest.mark.usefixtures("converted")
def test_an_app_gets_nothing_where_its_file_fails(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source / "app/src/main").mkdir(parents=True)
    (source / "app/src/main/AndroidManifest.xml").write_text("<manifest/>")

    def refuse(classifier: TrainedModel, embed: bool) -> bytes:
        raise RetvecLiteError("No.")

    monkeypatch.setattr(tflite_format, "convert", refuse)
    with pytest.raises(IncompleteExportError, match=r"^classifier-int8\.tflite cannot be written: No\.") as caught:
        export(source, formats=["tflite", "engine"], android=source)
    assert caught.value.report.android_files == ()
    assert not (source / "app/src/main/assets").exists()


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
    with pytest.raises(RetvecLiteError, match=r"is wrong on .*: embedding is off by 1\.0e-02 .*worst .*text"):
        export(source)
    assert leftovers(source) == []


@pytest.mark.usefixtures("converted")
@pytest.mark.parametrize("exception", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_being_stopped_leaves_nothing(
    source: Path, monkeypatch: pytest.MonkeyPatch, exception: type[BaseException] | BaseException
) -> None:
    def stop(report: object) -> bytes:
        raise exception

    monkeypatch.setattr(export_module, "report_json", stop)
    with pytest.raises((KeyboardInterrupt, RetvecLiteError), match=r"No room to write|^$"):
        export(source)
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
        (True, False, "int8", "wrong on tflite-runtime 2.14.0"),
        (False, True, "int4", "wrong on ai-edge-litert 2.3.0"),
        (True, True, "int4", "wrong on ai-edge-litert 2.3.0"),
    ],
)
def test_the_statement_follows_from_the_runs(
    old_is_wrong: bool, new_is_wrong: bool, recipe: str, expected: dict[str, str] | str
) -> None:
    runs = (run_result("ai-edge-litert", "2.3.0", new_is_wrong), run_result("tflite-runtime", "2.14.0", old_is_wrong))
    result = ArtifactResult("classifier-x.tflite", recipe, 1, runtimes=runs)
    if isinstance(expected, str):
        with pytest.raises(RetvecLiteError, match=expected):
            tflite_format.oldest_runtime(RECIPES[recipe], result)
    else:
        assert tflite_format.oldest_runtime(RECIPES[recipe], result) == expected


def test_without_a_runtime_nothing_is_exported(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parity, "installed_runtimes", dict)
    with pytest.raises(RetvecLiteError, match=r"No runtime to run .*: run `pip install ai-edge-litert`"):
        export(source)
    assert leftovers(source) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"formats": ["onyx"]}, r"Unknown format 'onyx'\. Choose from tflite, coreml, engine, onnx, all\."),
        ({"formats": []}, "at least one recipe and one format"),
        ({"recipes": []}, "at least one recipe and one format"),
        ({"recipes": "int2"}, "Unknown recipe 'int2'"),
        ({"formats": ["coreml"], "embed": True}, "option embed needs the format tflite"),
        ({"formats": ["coreml"], "android": "app"}, "option android needs the format tflite or engine"),
        ({"android": "nowhere"}, "nowhere is not an Android project"),
        ({"data": "nowhere.csv"}, "nowhere.csv"),
    ],
)
def test_options_that_do_not_go_together(source: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RetvecLiteError, match=sentence):
        export(source, **options)
    assert leftovers(source) == []


@pytest.mark.usefixtures("converted")
def test_the_command_says_what_came_out(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dist, project = source / "dist", source / "project"
    (project / "app/src/main").mkdir(parents=True)
    (project / "app/src/main/AndroidManifest.xml").write_text("<manifest/>")
    options = ["--data", str(source / "texts.csv"), "--android", str(project)]
    assert main(["export", str(source), "--out", str(dist), *options]) == 0
    out = capsys.readouterr().out
    assert f"{dist / 'classifier-int8.tflite'}: " in out
    assert "or newer" in out
    assert "for the app and its tests" in out
    asset = project / "app/src/main/assets/classifier.tflite"
    assert asset.read_bytes() == (dist / "classifier-int8.tflite").read_bytes() == INT8
    golden = project / "app/src/test/resources/golden.json"
    assert golden.read_bytes() == (dist / "golden.json").read_bytes()


@pytest.mark.usefixtures("converted")
@pytest.mark.parametrize(
    ("formats", "asset", "key"),
    [(("tflite", "engine"), "classifier.tflite", "int8"), (("engine",), "classifier.retvec", "engine-int8")],
)
def test_an_app_gets_one_file_and_its_answers_alone(
    source: Path, formats: tuple[str, ...], asset: str, key: str
) -> None:
    (source / "app/src/main").mkdir(parents=True)
    (source / "app/src/main/AndroidManifest.xml").write_text("<manifest/>")
    report = export(source, formats=formats, android=source)
    both, own = (
        json.loads((source / name).read_bytes()) for name in ("dist/golden.json", "app/src/test/resources/golden.json")
    )
    assert set(both["tolerance"]) == {"int8", "engine-int8"} & {"engine-int8", key}
    assert set(own["tolerance"]) == {key}
    assert all(set(case["probabilities"]) == {key} for case in own["cases"])
    assert [file.name for file in report.android_files] == [asset, "golden.json"]
    (file,) = (source / "app/src/main/assets").iterdir()
    assert file.read_bytes() == Path(source, "dist", asset.replace("classifier", "classifier-int8")).read_bytes()


@pytest.mark.usefixtures("converted")
@pytest.mark.parametrize(("limit", "size"), [(50, 49_999), (2000, 1_999_999)])
def test_the_size_limit_is_that_of_the_training(source: Path, limit: int, size: int) -> None:
    classifier = load_trained_model(source)
    classifier = dataclasses.replace(classifier, training={**classifier.training, "max_kb": limit})
    (source / "classifier.safetensors").write_bytes(classifier.to_bytes())
    if limit < 1000:
        with pytest.raises(
            RetvecLiteError,
            match=rf"^classifier-int8\.tflite cannot be written: size is .*, must be <= {size:,}\. Train again: .* --max-kb \d+ ",
        ) as caught:
            export(source)
        assert not isinstance(caught.value, IncompleteExportError)
        assert leftovers(source) == []
    else:
        checks = {check.name: check for check in export(source).artifacts[0].result.checks}
        assert checks["size"].bound == size


@pytest.mark.usefixtures("converted")
def test_labels_with_commas_quotes_and_emoji_survive(source: Path) -> None:
    labels = ('a, b; "c"', "emoji 🙂|pipe", "한국어", "  two spaces", "#5")
    classifier = dataclasses.replace(load_trained_model(source), labels=labels)
    (source / "classifier.safetensors").write_bytes(classifier.to_bytes())
    export(source)
    assert (source / "dist" / "labels.txt").read_text(encoding="utf-8").split("\n") == [*labels, ""]
    assert read_artifact(source / "dist" / "classifier-int8.tflite").labels == labels
    assert verify.verify(source / "dist", data=source / "texts.csv").ok
