"""Exporting .onnx files, and verifying them on ONNX Runtime."""

import contextlib
import csv
import dataclasses
import json
import random
from pathlib import Path

import numpy as np
import pytest
from command_line import Main
from engine_cases import CASES
from few_edges import use_every_edge
from light import run_python

import retvec_lite as rl
from retvec_lite.converters.export import export_model
from retvec_lite.converters.format import find_format
from retvec_lite.converters.parity import ArtifactResult
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.converters.tflite import pack, read_model, schema
from retvec_lite.converters.tflite.format import convert
from retvec_lite.converters.verify import verify
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing can be converted")

PARTS_OF_OTHERS = ("cnn", "blocks", "pool, two blocks", "meaning alone", "ngrams")
"""Cases whose graphs hold nothing that the others, and the export of `cnn` below, do not hold."""
TEXTS = ("where is my parcle?", "cancel it 😀", "我的包裹在哪里", "see you tomorrow, or on Monday. And then? " * 5, "")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    with open(folder / "texts.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *((text, "yes") for text in TEXTS if text)])
    export_model(CASES["cnn"], folder / "dist", formats="onnx", recipes=("int8", "float32"), data=folder / "texts.csv")
    return folder / "dist"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] * (name in PARTS_OF_OTHERS)) for name in CASES]
)
def test_every_head_computes_what_it_says(name: str, tmp_path: Path) -> None:
    (artifact,) = export_model(CASES[name], tmp_path / "dist", formats="onnx").artifacts
    (run,) = artifact.result.runtimes
    assert run.runtime == "onnxruntime" and run.correct
    assert "probabilities" in {check.name for check in run.checks}
    size = (tmp_path / "dist/classifier-int8.onnx").stat().st_size
    assert sum(artifact.contents.sizes.values()) == size == artifact.result.bytes


def test_what_is_exported_passes_verify(dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_every_edge(monkeypatch.setattr)
    found = verify(dist, data=dist.parent / "texts.csv")
    assert found.ok, str(found)
    assert [(row.recipe, row.runtime) for row in found.rows] == [("float32", "onnxruntime"), ("int8", "onnxruntime")]
    assert list(json.loads((dist / "golden.json").read_bytes())["tolerance"]) == ["onnx-float32", "onnx-int8"]
    sizes = find_format("onnx").open(dist / "classifier-int8.onnx").contents().sizes
    assert all(sizes[part] > 0 for part in ("encoder", "embedding", "head", "ngrams", "graph", "metadata"))


def test_the_graph_is_portable(dist: Path) -> None:
    """Any ONNX Runtime from 2023 on, and that for the web, can read it: operators of the standard alone, weights inside, in 8 bits."""
    model = onnx.load(dist / "classifier-int8.onnx")
    assert [(item.domain, item.version) for item in model.opset_import] == [("", 17)]
    assert model.ir_version == 8
    assert {node.domain for node in model.graph.node} == {""}
    assert not any(item.external_data for item in model.graph.initializer)
    large = {item.data_type for item in model.graph.initializer if np.prod(item.dims) > 2000}
    assert large <= {onnx.TensorProto.INT8, onnx.TensorProto.UINT8}
    properties = {item.key: item.value for item in model.metadata_props}
    assert properties["labels.txt"].splitlines() == list(CASES["cnn"].labels)


def test_the_same_file_each_time(dist: Path, tmp_path: Path) -> None:
    (draft,) = find_format("onnx").make(CASES["cnn"], [find_recipe("int8")])
    draft.write(tmp_path / "again.onnx", draft.oldest_runtime)
    assert (tmp_path / "again.onnx").read_bytes() == (dist / "classifier-int8.onnx").read_bytes()


def spoiled(dist: Path, tmp_path: Path, content: bytes) -> ArtifactResult:
    for name in ("reference.safetensors", "labels.txt"):
        (tmp_path / name).write_bytes((dist / name).read_bytes())
    (tmp_path / "classifier-int8.onnx").write_bytes(content)
    (found,) = verify(tmp_path, data=dist.parent / "texts.csv").artifacts
    return found


@pytest.mark.parametrize("kind", ["weights", "graph", "interface", "external", "labels"])
def test_another_file_is_found_out(dist: Path, tmp_path: Path, kind: str) -> None:
    model = onnx.load(dist / "classifier-int8.onnx")
    if kind == "weights":
        table = next(item for item in model.graph.initializer if item.data_type == onnx.TensorProto.INT8)
        table.raw_data = bytes(len(table.raw_data))
    elif kind == "graph":
        next(node for node in model.graph.node if node.op_type == "Erf").op_type = "Tanh"
    elif kind == "interface":
        model.graph.input[0].name = "text"
        for node in model.graph.node:
            node.input[:] = ["text" if name == "codepoints" else name for name in node.input]
    elif kind == "external":
        stored = model.graph.initializer[0]
        stored.data_location = onnx.TensorProto.EXTERNAL
        stored.external_data.add(key="location", value="labels.txt")
    else:
        for item in model.metadata_props:
            item.value = item.value.replace(CASES["cnn"].labels[0], "another")
    found = spoiled(dist, tmp_path, model.SerializeToString())
    assert not found.ok
    said = {"weights": "does not hold", "interface": "must take", "external": "damaged", "labels": "the labels must be"}
    assert said.get(kind, "") in str(found.problem)
    if kind == "graph":
        assert not found.runtimes[0].correct


def test_damaged_files_are_refused_in_a_sentence(dist: Path, tmp_path: Path) -> None:
    content, draw = (dist / "classifier-int8.onnx").read_bytes(), random.Random(1)
    path = tmp_path / "classifier-int8.onnx"
    for place in [0, 4, 1000, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:place])
        with pytest.raises(RetvecLiteError, match="is damaged, or was not exported by retvec-lite"):
            find_format("onnx").open(path)
    for _ in range(40):
        changed = bytearray(content)
        for _ in range(draw.randint(1, 40)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        path.write_bytes(bytes(changed))
        try:
            find_format("onnx").open(path).contents()
        except RetvecLiteError as error:
            assert "is damaged" in str(error)


def test_what_cannot_be_written_is_told(tmp_path: Path, main: Main) -> None:
    with pytest.raises(RetvecLiteError, match="The format onnx has no recipe int4: choose float32 or int8"):
        export_model(CASES["pool"], tmp_path / "dist", formats="onnx", recipes="int4")
    assert not (tmp_path / "dist").exists()


def test_all_takes_the_recipes_that_a_format_has(tmp_path: Path) -> None:
    report = export_model(CASES["linear"], tmp_path / "dist", formats="all", recipes=("int8", "int4"))
    names = {path.name for path in report.files}
    assert {"classifier-int8.onnx", "classifier-int4.tflite", "classifier-int8.retvec"} <= names
    assert "classifier-int4.onnx" not in names


def test_operators_without_a_counterpart_are_named() -> None:
    from retvec_lite.converters.onnx.graph import GraphWriter

    model = read_model(convert(CASES["pool"]))
    code = model.operatorCodes[model.subgraphs[0].operators[-1].opcodeIndex]
    code.builtinCode = code.deprecatedBuiltinCode = schema().BuiltinOperator.REVERSE_V2
    with pytest.raises(RetvecLiteError, match="ONNX files cannot compute REVERSE_V2: export tflite"):
        GraphWriter(read_model(pack(model)))


@pytest.fixture(scope="module")
def several_kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Exports of two classifiers: one with an unknown label that refuses some texts, and one that gives several: name -> folder."""
    folder, plain = tmp_path_factory.mktemp("kinds"), CASES["pool"]
    refusing = Decision(unknown_label=plain.labels[1], threshold=0.4, unknown_power=0.2, characters="abcdefghi")
    several = Decision(thresholds=(0.4,) * len(plain.labels), characters="abcdefghi")
    for name, decision in (("refusing", refusing), ("several", several)):
        export_model(dataclasses.replace(plain, decision=decision), folder / name, formats=["onnx", "engine"])
    return {name: folder / name for name in ("refusing", "several")}


@pytest.mark.slow
def test_a_file_answers_as_the_others_do(several_kinds: dict[str, Path]) -> None:
    """Condensed, in windows, with thresholds and none of the labels: `golden.json` says what is right."""
    for name, dist in several_kinds.items():
        golden = json.loads((dist / "golden.json").read_bytes())
        classifier = rl.load(dist / "classifier-int8.onnx")
        native = rl.load(dist / "classifier-int8.retvec")
        assert classifier.runtime == "onnxruntime" and classifier.labels == tuple(golden["labels"])
        texts = [case["text"] for case in [*golden["cases"], *golden["long"]] if case["text"] is not None]
        assert np.abs(classifier.probabilities(texts) - native.probabilities(texts)).max() < 2e-3
        right = [
            (case["text"], case["labels"]["onnx-int8"])
            for case in [*golden["cases"], *golden["long"]]
            if case["text"] is not None and "onnx-int8" in case.get("labels", {})
        ]
        assert len(right) > 40, name
        for text, label in right:
            answers = classifier.predict(text, None if name == "several" else 1)
            said = [answer.label for answer in answers]
            assert (sorted(said) == sorted(label)) if name == "several" else said == [label], (name, text)
        assert any(label in (None, []) for _, label in right), name


@pytest.mark.slow
def test_it_needs_numpy_and_onnx_runtime_alone(several_kinds: dict[str, Path]) -> None:
    file = several_kinds["refusing"] / "classifier-int8.onnx"
    code = """
import sys
for name in ("onnx", "google.protobuf", "tensorflow", "flatbuffers", "ai_edge_litert", "tflite_runtime"):
    sys.modules[name] = None
import retvec_lite as rl
print(rl.load(sys.argv[1]).predict("", top=1)[0].label)
"""
    done = run_python(code, file)
    assert (done.stdout, done.returncode) == ("None\n", 0), done.stderr
    done = run_python("import sys; sys.modules['onnxruntime'] = None" + code, file)
    assert "pip install onnxruntime" in done.stderr


@pytest.mark.slow
def test_damaged_files_are_not_loaded(several_kinds: dict[str, Path], tmp_path: Path) -> None:
    content, draw = (several_kinds["refusing"] / "classifier-int8.onnx").read_bytes(), random.Random(2)
    path = tmp_path / "classifier-int8.onnx"
    for damaged in (b"", content[:1000], content[:-1], b"\x0b" + content, b"\xff" * 20, b"\x3a\xff\xff\xff\x7f"):
        path.write_bytes(damaged)
        with pytest.raises(RetvecLiteError, match="Export the model again"):
            rl.load(path)
    for _ in range(40):
        changed = bytearray(content)
        for _ in range(draw.randint(1, 40)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        path.write_bytes(bytes(changed))
        with contextlib.suppress(RetvecLiteError):
            rl.load(path).predict("where is my parcel")
    with pytest.raises(RetvecLiteError, match="leave runtime and isolated out"):
        rl.load(several_kinds["refusing"] / "classifier-int8.onnx", isolated=True)
    with pytest.raises(RetvecLiteError, match=r"no signature 'embed': export a \.tflite with --embed"):
        rl.load(several_kinds["refusing"] / "classifier-int8.onnx").embed("a")
