"""Hostile packages: whatever stands in the description of a model, reading and running it ends in values or in a sentence."""

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packages import MODEL, mil_programs

from retvec_lite.converters.evaluator import Program
from retvec_lite.converters.evaluator.package import parse_model, read_package
from retvec_lite.errors import RetvecLiteError

CODES = np.array([[0, 0x41, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF, 7, 8]], np.int32)
NUMBERS = (0, 1, -1, 3, 99, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**64 - 1)
WORDS = ("", "x", "main", "codepoints", "@model_path/../x", "CoreML7", "é" * 5_000)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of a package, to be spoiled."""
    return Path(shutil.copytree(mil_programs() / "classifier.mlpackage", tmp_path / "some.mlpackage"))


def messages_in(message: Any) -> list[Any]:
    """A message and all below it."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            parts = [value[key] for key in value if field.message_type.fields_by_name["value"].message_type is not None]
        else:
            parts = value if field.is_repeated else [value]
        found += [inner for part in parts for inner in messages_in(part)]
    return found


def spoil(message: Any, draw: random.Random) -> str:
    """Change one field of a message or of one below it; return which."""
    place = draw.choice([part for part in messages_in(message) if part.ListFields()])
    field, value = draw.choice(place.ListFields())
    what = f"{field.full_name}"
    if field.is_repeated or field.message_type is not None or draw.random() < 0.2:
        if field.is_repeated and field.message_type is None and len(value) and draw.random() < 0.5:
            value.append(value[0])
        else:
            place.ClearField(field.name)
    elif field.cpp_type == field.CPPTYPE_STRING:
        setattr(place, field.name, draw.choice((b"", b"\xff" * 7)) if isinstance(value, bytes) else draw.choice(WORDS))
    elif field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        setattr(place, field.name, draw.choice((float("nan"), float("inf"), -1.0)))
    else:
        for number in draw.sample((5, 77, *NUMBERS), 12):
            try:
                setattr(place, field.name, number)
                break
            except (ValueError, TypeError, OverflowError):  # another type of integer
                continue
    return what


def run(path: Path) -> str:
    """Read and run a package; return how that ended."""
    try:
        Program(path).run({"codepoints": CODES})
    except RetvecLiteError as error:
        assert "\n" not in str(error) and len(str(error)) < 20_000
        return "refused"
    return "answered"


def test_hostile_descriptions_end_in_values_or_a_sentence(package: Path) -> None:
    file = package / MODEL
    whole, draw = file.read_bytes(), random.Random(3)
    ends = []
    for _ in range(200):
        spec = parse_model(whole, "whole")
        what = [spoil(spec, draw) for _ in range(draw.choice((1, 1, 2)))]
        file.write_bytes(spec.SerializeToString())
        try:
            ends.append(run(package))
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
    assert ends.count("refused") > 50 and ends.count("answered") > 5


@pytest.mark.parametrize("place", ["program", "description"])
def test_an_unknown_type_of_data_is_refused(package: Path, place: str) -> None:
    file = package / MODEL
    spec = parse_model(file.read_bytes(), "whole")
    program, description = spec.mlProgram.functions["main"].inputs[0], spec.description.input[0]
    (program.type.tensorType if place == "program" else description.type.multiArrayType).dataType = 7777
    file.write_bytes(spec.SerializeToString())
    with pytest.raises(RetvecLiteError, match=r"some.mlpackage is no valid ML program: .*7777"):
        Program(package)


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"{", b"[]", b"\xff", b'{"itemInfoEntries": {"a": {"path": "\\u0000"}}}']
)
def test_hostile_manifests_are_refused(package: Path, content: bytes) -> None:
    (package / "Manifest.json").write_bytes(content)
    with pytest.raises(RetvecLiteError, match=r"Manifest.json"):
        read_package(package)


def test_huge_values_are_refused_before_they_are_computed(package: Path) -> None:
    file = package / MODEL
    spec = parse_model(file.read_bytes(), "whole")
    function = spec.mlProgram.functions["main"]
    operation = function.block_specializations[function.opset].operations[-1]
    shape = operation.outputs[0].type.tensorType
    del shape.dimensions[:]
    for _ in range(3):
        shape.dimensions.add().constant.size = 2**40
    shape.rank = 3
    operation.outputs[0].type.tensorType.dataType = 11
    file.write_bytes(spec.SerializeToString())
    with pytest.raises(RetvecLiteError, match="too large"):
        Program(package)
