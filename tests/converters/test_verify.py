import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import spoiled
from exported import EVERY_RECIPE, EXPORTED, ORDERS, TEXTS, texts_csv
from few_edges import use_every_edge
from spoiled import change_a_byte, claim, model_of, repacked

from retvec_lite.__main__ import main
from retvec_lite.converters.evaluator import package as evaluator
from retvec_lite.converters.format import find_format
from retvec_lite.converters.parity.examiner import Examiner
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite import examine as tflite_examine
from retvec_lite.converters.tflite import format as tflite_format
from retvec_lite.converters.verify import DATA_TEXTS, STARTER_TEXTS, Verification, real_texts, verify
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.ngrams import LOWER_CASE_END
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.interpreters import RUNTIMES, installed_runtimes

FULL, EMBED = [s.to_dict() for s in read_artifact(EXPORTED / "pool" / "classifier-int8.tflite").signatures]


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A copy of an export with one artifact, to be spoiled; real texts stand beside it."""
    texts_csv(tmp_path)
    whole = EXPORTED / "pool"
    copy = tmp_path / "dist"
    copy.mkdir()
    for path in whole.iterdir():
        if path.suffix != ".tflite" or path.name == "classifier-int8.tflite":
            shutil.copy(path, copy)
    return copy


def only_runtimes(monkeypatch: pytest.MonkeyPatch, found: dict[str, str]) -> None:
    for module in (tflite_examine, tflite_format):
        monkeypatch.setattr(module, "installed_runtimes", lambda: found)


@pytest.fixture
def one_runtime(monkeypatch: pytest.MonkeyPatch) -> str:
    """Only one of the installed runtimes counts: enough where the file is wrong everywhere."""
    name, version = next(iter(installed_runtimes().items()))
    only_runtimes(monkeypatch, {name: version})
    return name


def check(dist: Path) -> Verification:
    return verify(dist, data=dist.parent / "texts.csv")


def test_an_untouched_export_passes_on_every_runtime(dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_every_edge(monkeypatch.setattr)
    found = check(dist)
    assert found.ok
    assert found.problems == ()
    (artifact,) = found.artifacts
    assert {run.runtime for run in artifact.runtimes} == set(installed_runtimes())
    assert all(check.texts > 1000 for run in artifact.runtimes for check in run.checks if check.name == "words")
    assert found.accuracy is not None
    assert found.worst == ()
    rows = [(row.recipe, row.signature, row.verdict) for row in found.rows]
    assert rows == [("int8", name, "ok") for name in ("classify", "embed")] * len(artifact.runtimes)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["ok"] is True


def test_one_file_is_verified_alone(dist: Path) -> None:
    """The rest of the folder has no say: only the reference is read."""
    (dist / "report.json").unlink()
    (dist / "labels.txt").write_text("something else")
    shutil.copy(dist / "classifier-int8.tflite", dist / "other.tflite")
    found = verify(dist / "classifier-int8.tflite", data=dist.parent / "texts.csv")
    assert found.ok and [artifact.file for artifact in found.artifacts] == ["classifier-int8.tflite"]
    (dist / "reference.safetensors").unlink()
    with pytest.raises(RetvecLiteError, match=r"cannot be verified: its export wrote .*reference\.safetensors, which"):
        verify(dist / "classifier-int8.tflite")


def test_what_coremltools_would_read_is_skipped_without_it(dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: find_spec(name) if name != "coremltools" else None)
    evaluator.proto.cache_clear()
    (dist / "classifier-int8.mlpackage").mkdir()
    found = check(dist)
    assert found.ok and [artifact.file for artifact in found.artifacts] == ["classifier-int8.tflite"]
    assert set(found.skipped) >= {"coreml (evaluated)", "coreml"}
    assert 'is not installed (run `pip install ".[coreml]"` in your checkout of retvec-lite): skipped.' in str(found)
    (dist / "classifier-int8.tflite").unlink()
    with pytest.raises(RetvecLiteError, match=r"^The package coremltools is not installed"):
        check(dist)


def test_renamed_artifacts_of_all_recipes_pass(tmp_path: Path) -> None:
    """What a file is, its own bytes say; results come in the order of the recipes."""
    dist = tmp_path / "dist"
    shutil.copytree(EXPORTED / "pool", dist)
    recipes = EVERY_RECIPE.split(",")
    for place, recipe in enumerate(recipes):
        (dist / f"classifier-{recipe}.tflite").rename(dist / f"{len(recipes) - place}.tflite")
    progress: list[tuple[str, int, int]] = []
    texts_csv(tmp_path)
    found = verify(dist, data=tmp_path / "texts.csv", progress=lambda *state: progress.append(state))
    assert found.ok, found
    assert [artifact.recipe for artifact in found.artifacts] == recipes
    assert [artifact.file for artifact in found.artifacts] == [f"{3 - place}.tflite" for place in range(3)]
    assert progress == [("verifying", done, 4) for done in range(5)]
    shown = str(found)
    assert "Every bound holds." in shown
    assert all(recipe in shown for recipe in recipes)


def test_the_recipe_is_what_the_metadata_says(dist: Path, one_runtime: str) -> None:
    """Weights on a 4-bit grid are exact in eight bits, so this file keeps float32's bounds, too."""
    file = (dist / "classifier-int8.tflite").rename(dist / "classifier-int4.tflite")
    repacked(file, model_of(file), recipe="float32")
    found = check(dist)
    (artifact,) = found.artifacts
    assert (artifact.recipe, artifact.ok) == ("float32", True)
    assert not any(check.name == "size" for check in artifact.checks)
    assert [line for line in found.problems if "classifier-int4.tflite was changed since export" in line]


@pytest.mark.parametrize(("head", "recipes"), [pair for pair in ORDERS.items() if pair[0] != "pool"])
def test_every_kept_export_is_right_on_every_runtime(head: str, recipes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_every_edge(monkeypatch.setattr)
    model = load_trained_model(EXPORTED / head / "reference.safetensors")
    examiner = Examiner(model, [text for text, _ in TEXTS], [(label,) for _, label in TEXTS])
    for recipe in recipes.split(","):
        file = EXPORTED / head / f"classifier-{recipe}.tflite"
        result, _ = find_format("tflite").examine(examiner, file)
        assert result.problem is None
        assert all(check.ok for check in result.checks)
        for run in result.runtimes:
            assert run.correct == run.promised, result.complaints()
            # Random weights know no right label: eight texts say something only where nothing is rounded.
            assert run.ok or not run.promised or RECIPES[recipe].formats["tflite"].eight_bit, result.complaints()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (spoiled.flip_a_weight_byte, "was changed after its export"),
        (spoiled.truncate, "is truncated"),
        (spoiled.empty, "is not a .tflite model"),
        (
            claim(tensors={"words": "bits", "bits": "bits", "embedding": "embedding"}),
            "the names of inner tensors must be",
        ),
        (claim(tensors=None), "not None"),
        (claim(labels=["two", "one", "three", "four", "five"]), "the labels must be"),
        (claim(recipe="int2"), "Unknown recipe"),
        (claim(head="bert"), "the head settings must be"),
        (spoiled.change_weights, "weights"),
        (spoiled.change_scales, "weights"),
        (spoiled.change_weights_of_the_embedding, "The signature embed has other weights than classify"),
        (claim(signatures=[FULL]), "does not list the signatures of the graph"),
        (claim(signatures=[FULL, EMBED | {"dimension": 31}]), "does not list the signatures of the graph"),
        (claim(signatures=[FULL, EMBED | {"max_words": 15}]), "The signatures in retvec_lite.json are not valid"),
        (spoiled.change_the_character_table, "words is"),
        (spoiled.change_the_bits, "bits is"),
        # A weight of an n-gram, and how much one counts in the length of a text.
        (change_a_byte("INT8", [300, 6], 6 * 150 + 2), "classifier's weights: none for ngrams/table."),
        (change_a_byte("INT8", [300, 6], 6 * 150 + 5), "classifier's weights: none for ngrams/squares."),
        # An Armenian letter, which no golden text has, is not folded.
        (change_a_byte("UINT8", [LOWER_CASE_END + 1], 0x0540), "does not hold the table of letters"),
        (
            claim(decision={"threshold": 0.5, "unknown_label": "two", "unknown_power": 0.5, "characters": "ab"}),
            "the decision must be {'threshold': None, 'unknown_label': None, 'unknown_power': 0.0, 'characters': ''}",
        ),
        (
            claim(ngrams={"buckets": 300, "longest": 3, "shortest": 1}),
            "the n-gram settings must be {'buckets': 300, 'longest': 4, 'shortest': 1}",
        ),
    ],
)
def test_a_spoiled_artifact_is_found_and_told(
    dist: Path, one_runtime: str, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], None], sentence: str
) -> None:
    spoil(dist)
    assert main(["verify", str(dist), "--data", str(dist.parent / "texts.csv")]) == 1
    out = capsys.readouterr().out
    assert sentence in " ".join(out.split())
    assert "Not every bound holds" in out


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("labels.txt", b"two\none\nthree\nfour\nfive\n", "labels.txt does not hold the labels"),
        ("labels.txt", None, "labels.txt: No such file"),
        ("golden.json", b"{}", "golden.json is not what export writes"),
        ("golden.json", None, "golden.json: No such file"),
        ("report.json", b"{}", "report.json is not what export writes"),
        ("report.json", None, "report.json: No such file"),
    ],
)
def test_the_files_beside_the_artifacts_count(
    dist: Path, one_runtime: str, name: str, content: bytes | None, sentence: str
) -> None:
    if content is None:
        (dist / name).unlink()
    else:
        (dist / name).write_bytes(content)
    found = check(dist)
    assert not found.ok
    assert sentence in found.problems[0]


def test_other_bytes_are_found_even_when_the_file_is_right(dist: Path, one_runtime: str) -> None:
    path = dist / "classifier-int8.tflite"
    repacked(path, model_of(path), created_by="someone else")
    found = check(dist)
    assert all(artifact.ok for artifact in found.artifacts)
    (problem,) = found.problems
    assert problem.startswith("classifier-int8.tflite was changed since export: report.json lists no")
    assert not found.ok


def test_a_changed_golden_probability_is_found(dist: Path, one_runtime: str) -> None:
    golden = json.loads((dist / "golden.json").read_text(encoding="utf-8"))
    golden["cases"][3]["probabilities"]["int8"][0] += 0.01
    (dist / "golden.json").write_text(json.dumps(golden), encoding="utf-8")
    assert "probabilities for int8 are different" in check(dist).problems[0]


def test_missing_runtimes_are_skipped_by_name(dist: Path, one_runtime: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(dist), "--data", str(dist.parent / "texts.csv")]) == 0
    out = capsys.readouterr().out
    for name in RUNTIMES:
        assert (f"{name} is not installed: skipped" in out) == (name != one_runtime)
    assert "Every bound holds" in out


def test_a_file_that_promises_no_installed_runtime_is_not_proven(dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_runtimes(monkeypatch, {"tflite-runtime": "2.1.0"})
    (artifact,) = check(dist).artifacts
    assert not artifact.ok
    assert "only older runtimes are installed" in str(artifact.problem)


def test_json_is_the_same_result(dist: Path, one_runtime: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(dist), "--data", str(dist.parent / "texts.csv"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is True
    assert found["texts"] == "8 texts of texts.csv"
    checks = {item["name"]: item for item in found["artifacts"][0]["runtimes"][0]["checks"]}
    assert checks["words"]["value"] == 0
    assert checks["same label"]["texts"] == 8
    assert found["skipped"] == [name for name in RUNTIMES if name != one_runtime]


@pytest.mark.parametrize("what", ["no folder", "empty folder", "no reference", "foreign reference", "bad data"])
def test_bad_input_is_one_sentence(dist: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    data = dist.parent / "texts.csv"
    if what == "no folder":
        dist = dist / "nowhere"
    elif what == "empty folder":
        (dist / "classifier-int8.tflite").unlink()
    elif what == "no reference":
        (dist / "reference.safetensors").unlink()
    elif what == "foreign reference":
        (dist / "reference.safetensors").write_bytes(b"something else")
    else:
        data.write_text("words,label\nhello,a\n")
    assert main(["verify", str(dist), "--data", str(data)]) == 2
    assert capsys.readouterr().err.count("retvec-lite: error: ") == 1


def test_no_runtime_is_one_sentence(dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_runtimes(monkeypatch, {})
    with pytest.raises(RetvecLiteError, match="No runtime to run"):
        check(dist)


def test_texts_are_spread_over_the_file_and_labels_only_used_when_known(tmp_path: Path) -> None:
    classifier = load_trained_model(EXPORTED / "pool" / "reference.safetensors")
    rows = "".join(f"text {index},{'one' if index < 1000 else 'two'}\n" for index in range(2000))
    path = tmp_path / "many.csv"
    path.write_text("text,label\n" + rows)
    found = real_texts(classifier, path)
    assert len(found.texts) == DATA_TEXTS
    assert found.texts[0] == "text 0"
    assert found.texts[-1] == "text 1999"
    assert found.labels is not None
    assert set(found.labels) == {("one",), ("two",)}
    path.write_text("text,label\nhello,seven\n")
    assert real_texts(classifier, path).labels is None
    table = pd.DataFrame({"message": ["hello", "hi", None], "kind": ["one", "two", None]})
    found = real_texts(classifier, table, "message", "kind")
    assert found.texts == ("hello", "hi") and found.labels == (("one",), ("two",))
    # Bad rows cannot be skipped by an option there, and prove nothing.
    path.write_text("text;label\nhello;one\n;\nhi;\n")
    assert real_texts(classifier, path).texts == ("hello",)


def test_starter_texts_are_the_default() -> None:
    classifier = load_trained_model(EXPORTED / "pool" / "reference.safetensors")
    found = real_texts(classifier)
    assert 100 <= len(found.texts) <= STARTER_TEXTS
    assert "starter data" in found.describe()
    assert found.labels is None


@pytest.mark.parametrize("content", [b"", b"text,label\nhi,a\n"])
def test_what_is_no_model_needs_no_reference(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "other.tflite"
    file.write_bytes(content)
    with pytest.raises(RetvecLiteError, match=r"other\.tflite is not a \.tflite model\.$"):
        verify(file)
