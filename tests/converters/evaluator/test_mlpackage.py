import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from packages import MODEL, WEIGHTS, blobs, mil_programs

from retvec_lite.converters.evaluator import package as mlpackage
from retvec_lite.converters.evaluator.package import WeightFile, read_package, unpack_values
from retvec_lite.converters.evaluator.program import load_package
from retvec_lite.errors import RetvecLiteError


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of a package, to be spoiled."""
    return Path(shutil.copytree(mil_programs() / "classifier-iOS16.mlpackage", tmp_path / "some.mlpackage"))


@pytest.mark.parametrize(
    ("data", "dtype", "expected"),
    [
        (b"\x01\x00\xff\xff", "int16", [1, -1]),
        (b"\x01\x00\xff\xff", "uint16", [1, 65535]),
        (b"\x00\x3c\x00\xc0", "fp16", [1.0, -2.0]),
        (b"\x00\x00\x80\x3f", "fp32", [1.0]),
        (b"\x21\xf8", "int4", [1, 2, -8, -1]),
        (b"\x21\x0f", "uint4", [1, 2, 15]),
        (b"\xe4", "uint2", [0, 1, 2, 3]),
        (b"\x05", "uint1", [1, 0, 1]),
        (b"\x88\x06", "uint3", [0, 1, 2, 3]),
        (b"\x81\x20\x0c", "uint6", [1, 2, 2, 3]),
        (b"\x81\x01", "uint6", [1, 6]),
    ],
)
def test_values_are_packed_from_the_lowest_bit_on(data: bytes, dtype: str, expected: list[float]) -> None:
    assert unpack_values(data, dtype, len(expected)).tolist() == expected


@pytest.mark.parametrize(("data", "count", "sentence"), [
    (b"\x21", 3, "Expected 2 bytes for 3 values of uint4, received 1"),
    (b"\x21\x10", 3, "Expected the bits behind 3 values of uint4 to be zero"),
])  # fmt: skip
def test_packed_values_have_their_length_and_no_stray_bits(data: bytes, count: int, sentence: str) -> None:
    with pytest.raises(RetvecLiteError, match=sentence):
        unpack_values(data, "uint4", count)


def test_a_package_is_read_with_its_size_and_metadata(package: Path) -> None:
    found = read_package(package)
    assert found.spec.specificationVersion == 7
    assert found.size == sum(file.stat().st_size for file in package.rglob("*") if file.is_file())
    assert "com.github.apple.coremltools.version" in found.metadata
    (weights,) = found.weights.values()
    assert [(blob.start, blob.size) for blob in weights.blobs.values()] == blobs(package)


def test_reading_loads_neither_tensorflow_nor_the_converters_of_coremltools(package: Path) -> None:
    program = (
        "import pathlib, sys; from retvec_lite.converters.mlpackage import read_package; "
        "read_package(pathlib.Path(sys.argv[1])); "
        "sys.exit(bool({'tensorflow', 'coremltools.converters'} & set(sys.modules)))"
    )
    # A process of its own: another test may have loaded them in this one.
    assert subprocess.run([sys.executable, "-c", program, str(package)], check=False).returncode == 0


def spoil(place: int, value: int) -> Callable[[Path], None]:
    def write(package: Path) -> None:
        data = bytearray((package / WEIGHTS).read_bytes())
        data[place] = value
        (package / WEIGHTS).write_bytes(bytes(data))

    return write


def manifest(change: Callable[[dict[str, object]], None]) -> Callable[[Path], None]:
    def write(package: Path) -> None:
        path = package / "Manifest.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return write


def cut(size: int) -> Callable[[Path], None]:
    def write(package: Path) -> None:
        (package / WEIGHTS).write_bytes((package / WEIGHTS).read_bytes()[:size])

    return write


def grow(package: Path) -> None:
    with open(package / WEIGHTS, "ab") as file:
        file.write(bytes(64))


def escape(content: dict[str, object]) -> None:
    entries = content["itemInfoEntries"]
    assert isinstance(entries, dict)
    next(iter(entries.values()))["path"] = "../../other"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (spoil(0, 99), "an array at byte .* received the end of the file"),
        (spoil(4, 1), "a weight file of version 2, received version 1"),
        (spoil(9, 1), "a weight file of version 2"),
        (spoil(64, 0), "the description of an array at byte 64"),
        (spoil(68, 77), "a known data type at byte 64 of weight.bin, received number 77"),
        (spoil(75, 7), "inside the file"),
        (spoil(80, 0xC0), "right behind its description|inside the file"),
        (spoil(88, 9), "right behind its description"),
        (spoil(100, 1), "the description of an array at byte 64"),
        (cut(30), "to be a weight file, received 30 bytes"),
        (cut(500), "inside the file of 500 bytes|received the end of the file"),
        (grow, "to end at byte"),
        (lambda path: (path / MODEL).write_bytes(b"nothing"), "to be a Core ML model, received other bytes"),
        (lambda path: (path / MODEL).unlink(), "a model file in .*, received none"),
        (lambda path: (path / "Manifest.json").unlink(), "to have a Manifest.json"),
        (lambda path: (path / "Manifest.json").write_text("[]"), "to have a Manifest.json"),
        (lambda path: (path / "more.txt").write_text("?"), "received more.txt as well"),
        (lambda path: shutil.rmtree(path / "Data/com.apple.CoreML/weights"), "received no such folder"),
        (manifest(lambda content: content.update(fileFormatVersion="2.0.0")), "file format 1.0.0, received '2.0.0'"),
        (manifest(lambda content: content.update(rootModelIdentifier="?")), "to have a Manifest.json"),
        (manifest(escape), "received the path '../../other'"),
        (shutil.rmtree, "a folder, received no folder"),
    ],
)
def test_a_damaged_package_is_refused_in_one_sentence(
    package: Path, change: Callable[[Path], None], sentence: str
) -> None:
    change(package)
    with pytest.raises(RetvecLiteError, match=sentence):
        read_package(package)


def test_every_byte_between_the_arrays_counts(package: Path) -> None:
    """Whatever is no array's data is known, so that flipping it is noticed; the data are for `verify`."""
    data = (package / WEIGHTS).read_bytes()
    inside = np.zeros(len(data), np.bool_)
    for start, size in blobs(package):
        inside[start : start + size] = True
    places = np.flatnonzero(~inside)
    # All that describes the first two arrays, and a part of the rest.
    for place in (*places[:256], *places[256::11]):
        changed = bytearray(data)
        changed[place] ^= 0x10
        (package / WEIGHTS).write_bytes(bytes(changed))
        with pytest.raises(RetvecLiteError):
            load_package(package)


def mlpackage_of(package: Path) -> None:
    from retvec_lite.converters.evaluator.program import load_package

    load_package(package)


def test_an_array_that_nothing_reads_is_told(package: Path) -> None:
    weights = WeightFile("weight.bin", (package / WEIGHTS).read_bytes())
    first, *others = weights.blobs
    for offset in others:
        blob = weights.blobs[offset]
        weights.read(offset, blob.dtype, (blob.size // 2,))
    with pytest.raises(RetvecLiteError, match=f"every array of weight.bin, received none that reads those at {first}"):
        weights.expect_all_read()


def test_an_array_is_read_as_declared_or_not_at_all(package: Path) -> None:
    weights = WeightFile("weight.bin", (package / WEIGHTS).read_bytes())
    offset, blob = next(iter(weights.blobs.items()))
    count = blob.size // 2
    assert weights.read(offset, "fp16", (2, count // 2)).shape == (2, count // 2)
    for wrong in ((offset, "int16", (count,)), (offset, "fp16", (count - 1,)), (offset + 64, "fp16", (count,))):
        with pytest.raises(RetvecLiteError, match="Expected"):
            weights.read(*wrong)


def test_without_coremltools_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlpackage.importlib.util, "find_spec", lambda _: None)
    mlpackage.proto.cache_clear()
    try:
        with pytest.raises(RetvecLiteError, match=r"run `pip install 'retvec-lite\[coreml\]'`"):
            mlpackage.proto()
    finally:
        mlpackage.proto.cache_clear()
