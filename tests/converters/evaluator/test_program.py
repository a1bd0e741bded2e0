import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packages import MODEL, mil_programs

from retvec_lite.converters import evaluator
from retvec_lite.converters.evaluator import Program
from retvec_lite.converters.evaluator.package import parse_model, proto
from retvec_lite.errors import RetvecLiteError

CODES = np.array([[0, 0x41, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF, 7, 8]], np.int32)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of a package, to be spoiled."""
    return Path(shutil.copytree(mil_programs() / "classifier.mlpackage", tmp_path / "some.mlpackage"))


def test_packages_for_newer_systems_are_told_how_to_be_made_again() -> None:
    with pytest.raises(
        RetvecLiteError, match=r"newer\.mlpackage is for 'CoreML8', .* packages for iOS 16 .*: export it again\."
    ):
        Program(mil_programs() / "newer.mlpackage")


def test_a_classifier_gives_its_label_and_probabilities() -> None:
    program = Program(mil_programs() / "classifier.mlpackage")
    assert program.labels == ["one", "two", "drei 😀"]
    found = program.run({"codepoints": CODES})
    label, shares = (found[name] for name in program.outputs)
    assert set(shares) == set(program.labels)
    assert sum(shares.values()) == pytest.approx(1, abs=1e-6)
    assert label == max(shares, key=lambda name: shares[name])
    inner = program.run({"codepoints": CODES}, ["codes", "embedding"])
    np.testing.assert_array_equal(inner["codes"], (CODES % 65521 % 251).astype(np.float32))
    assert inner["embedding"].dtype == np.float16
    assert inner["embedding"].shape == (1, 64)


def test_only_what_is_wanted_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(mil_programs() / "classifier.mlpackage")
    seen: list[str] = []
    compute = evaluator._compute

    def counted(operation: Any, arguments: Any) -> dict[str, Any]:
        seen.append(operation.kind)
        return compute(operation, arguments)

    monkeypatch.setattr(evaluator, "_compute", counted)
    program.run({"codepoints": CODES}, ["codes"])
    assert "linear" not in seen
    assert "gather" in seen
    seen.clear()
    program.run({"codepoints": CODES}, ["codes"])
    assert "const" not in seen


@pytest.mark.parametrize(
    ("inputs", "wanted", "sentence"),
    [
        ({"text": CODES}, None, r"takes the inputs \['codepoints'\], not \['text'\]"),
        ({"codepoints": CODES[:, :7]}, None, "declared as a tensor of int32 .1, 8. but is int32 .1, 7."),
        ({"codepoints": CODES.astype(np.int64)}, None, "but is int64"),
        (
            {"codepoints": CODES + 1},
            None,
            "Indices from 1 to 1114112 are outside of 1114112 elements .in the op 'gather_0'",
        ),
        ({"codepoints": CODES - 1}, None, "Indices from -1 to .* are outside of 1114112 elements"),
        ({"codepoints": CODES}, ["nothing"], "classifier.mlpackage has no value named 'nothing'"),
    ],
)
def test_other_inputs_and_names_are_refused(inputs: dict[str, Any], wanted: list[str] | None, sentence: str) -> None:
    program = Program(mil_programs() / "classifier.mlpackage")
    with pytest.raises(RetvecLiteError, match=sentence):
        program.run(inputs, wanted)


Change = Callable[[Any, Any], None]


def first(block: Any, kind: str) -> Any:
    return next(item for item in block.operations if item.type == kind)


def copy_an_op(spec: Any, block: Any) -> None:
    block.operations.add().CopyFrom(first(block, "gelu"))


def turn_around(spec: Any, block: Any) -> None:
    block.operations.reverse()


def other_shape(spec: Any, block: Any) -> None:
    first(block, "gelu").outputs[0].type.tensorType.dimensions[1].constant.size = 63


def other_type(spec: Any, block: Any) -> None:
    first(block, "gelu").outputs[0].type.tensorType.dataType = proto().MIL_pb2.DataType.FLOAT32


def more_input(spec: Any, block: Any) -> None:
    first(block, "gelu").inputs["y"].CopyFrom(first(block, "gelu").inputs["x"])


def less_input(spec: Any, block: Any) -> None:
    del first(block, "linear").inputs["weight"]


def more_attribute(spec: Any, block: Any) -> None:
    operation = first(block, "gelu")
    operation.attributes["fast"].CopyFrom(operation.attributes["name"])


def other_offset(spec: Any, block: Any) -> None:
    for item in block.operations:
        value = item.attributes.get("val")
        if value is not None and value.WhichOneof("value") == "blobFileValue":
            value.blobFileValue.offset += 64
            return


def other_file(spec: Any, block: Any) -> None:
    for item in block.operations:
        value = item.attributes.get("val")
        if value is not None and value.WhichOneof("value") == "blobFileValue":
            value.blobFileValue.fileName = "/etc/passwd"
            return


def variable_shape(spec: Any, block: Any) -> None:
    first(block, "gelu").outputs[0].type.tensorType.dimensions[1].unknown.variadic = False


def other_description(spec: Any, block: Any) -> None:
    spec.description.input[0].type.multiArrayType.shape[1] = 9


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda spec, block: setattr(first(block, "gelu"), "type", "gelu2"), "gelu2. is unknown"),
        (lambda spec, block: first(block, "gelu").blocks.add(), "has nested blocks"),
        (copy_an_op, "Two values are named 'embedding'"),
        (turn_around, "before it is computed"),
        (more_input, "has the inputs mode, x, y; known are mode, x"),
        (less_input, "known are bias, weight, x, needed are weight, x"),
        (more_attribute, "unknown attributes: fast"),
        (other_offset, "no array at offset"),
        (other_file, "no weight file '/etc/passwd'"),
        (variable_shape, "no fixed shape"),
        (other_description, "description names the inputs"),
        (lambda spec, block: spec.description.output.pop(), "description names the outputs"),
        (lambda spec, block: block.outputs.append("more"), "No op computes the output 'more'"),
        (lambda spec, block: setattr(spec, "specificationVersion", 8), "is for .CoreML6., version 8, .* packages for iOS 16 .CoreML6, version 7.: export it again"),
        (lambda spec, block: setattr(spec.mlProgram.functions["main"], "opset", "CoreML9"), "is for 'CoreML9'"),
        (lambda spec, block: spec.mlProgram.functions["other"].SetInParent(), "no ML program with one function"),
        (lambda spec, block: spec.identity.SetInParent(), "no ML program with one function .identity"),
    ],
)  # fmt: skip
def test_what_a_program_must_not_hold_is_refused(package: Path, change: Change, sentence: str) -> None:
    edit(package, change)
    with pytest.raises(RetvecLiteError, match=sentence):
        Program(package)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            other_shape,
            r"The output 'embedding' of .*gelu.* is declared as a tensor of fp16 \[1, 63\] but is float16 \[1, 64\]",
        ),
        (other_type, r"declared as a tensor of fp32 \[1, 64\] but is float16 \[1, 64\]"),
    ],
)
def test_every_declared_type_and_shape_is_checked(package: Path, change: Change, sentence: str) -> None:
    edit(package, change)
    with pytest.raises(RetvecLiteError, match=sentence):
        Program(package).run({"codepoints": CODES})


def edit(package: Path, change: Change) -> None:
    path = package / MODEL
    spec = parse_model(path.read_bytes(), "model")
    function = spec.mlProgram.functions["main"]
    change(spec, function.block_specializations[function.opset])
    path.write_bytes(spec.SerializeToString())
