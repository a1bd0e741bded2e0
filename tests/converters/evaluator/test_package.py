import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from packages import MODEL, WEIGHTS, blobs, mil_programs

from retvec_lite.converters.evaluator import Program
from retvec_lite.converters.evaluator import package as package_module
from retvec_lite.converters.evaluator.package import WeightFile, read_package, values_in
from retvec_lite.errors import RetvecLiteError


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of a package, to be spoiled."""
    return Path(shutil.copytree(mil_programs() / "classifier.mlpackage", tmp_path / "some.mlpackage"))


@pytest.mark.parametrize(
    ("data", "dtype", "expected"),
    [(b"\x00\x3c\x00\xc0", "fp16", [1.0, -2.0]), (b"\x00\x00\x80\x3f", "fp32", [1.0]), (b"\x01\xff", "int8", [1, -1])],
)
def test_values_are_little_endian(data: bytes, dtype: str, expected: list[float]) -> None:
    assert values_in(data, dtype, (len(expected),)).tolist() == expected


def test_values_have_their_length() -> None:
    with pytest.raises(RetvecLiteError, match=r"\[3\] values of fp32 take 12 bytes, but 4 are stored"):
        values_in(b"\0" * 4, "fp32", (3,))


def test_a_package_is_read_with_its_metadata(package: Path) -> None:
    found = read_package(package)
    assert found.spec.specificationVersion == 7
    assert "com.github.apple.coremltools.version" in found.metadata
    (weights,) = found.weights.values()
    assert [(blob.start, blob.size) for blob in weights.blobs.values()] == blobs(package)


def test_reading_loads_neither_tensorflow_nor_the_converters_of_coremltools(package: Path) -> None:
    program = (
        "import pathlib, sys; from retvec_lite.converters.evaluator.package import read_package; "
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
        (spoil(0, 99), "ends before the array at byte"),
        (spoil(4, 1), "no weight file of version 2 .its header says 1"),
        (spoil(9, 1), "no weight file of version 2"),
        (spoil(64, 0), "The description of the array at byte 64 of weight.bin is damaged"),
        (spoil(68, 77), "The data type of the array at byte 64 of weight.bin is unknown: number 77"),
        (spoil(75, 7), "are outside of the file"),
        (spoil(80, 0xC0), "do not follow their description|are outside of the file"),
        (spoil(88, 9), "do not follow their description"),
        (spoil(100, 1), "The description of the array at byte 64 of weight.bin is damaged"),
        (cut(30), "no weight file: it has only 30 bytes"),
        (cut(500), "outside of the file of 500 bytes|ends before the array"),
        (grow, "goes on after its last array"),
        (lambda path: (path / MODEL).write_bytes(b"nothing"), "model.mlmodel is no Core ML model"),
        (lambda path: (path / MODEL).unlink(), "has no model file"),
        (lambda path: (path / "Manifest.json").unlink(), "has no Manifest.json of an .mlpackage"),
        (lambda path: (path / "Manifest.json").write_text("[]"), "has no Manifest.json of an .mlpackage"),
        (lambda path: (path / "more.txt").write_text("?"), "holds more.txt, which its Manifest.json does not list"),
        (lambda path: shutil.rmtree(path / "Data/com.apple.CoreML/weights"), "has no folder .*weights"),
        (manifest(lambda content: content.update(fileFormatVersion="2.0.0")), "has file format '2.0.0'; only 1.0.0"),
        (manifest(lambda content: content.update(rootModelIdentifier="?")), "has no Manifest.json of an .mlpackage"),
        (manifest(escape), "outside of the package: '../../other'"),
        (shutil.rmtree, "is no .mlpackage: there is no such folder"),
    ],
)
def test_a_damaged_package_is_refused_in_one_sentence(
    package: Path, change: Callable[[Path], None], sentence: str
) -> None:
    change(package)
    with pytest.raises(RetvecLiteError, match=sentence):
        read_package(package)


@pytest.mark.parametrize(
    ("step", "later_step"),
    [pytest.param(4, 211, id="some"), pytest.param(1, 3, id="many", marks=pytest.mark.exhaustive)],
)
def test_every_byte_between_the_arrays_counts(package: Path, step: int, later_step: int) -> None:
    """A flipped byte in the header, a description or the padding is noticed; the arrays themselves are for `verify`."""
    data = (package / WEIGHTS).read_bytes()
    inside = np.zeros(len(data), np.bool_)
    for start, size in blobs(package):
        inside[start : start + size] = True
    places = np.flatnonzero(~inside)
    # The header and the descriptions of the first arrays, whose fields have four bytes or more; then some of the rest.
    for place in (*places[:256:step], *places[256::later_step]):
        changed = bytearray(data)
        changed[place] ^= 0x10
        (package / WEIGHTS).write_bytes(bytes(changed))
        with pytest.raises(RetvecLiteError):
            Program(package)


def test_an_array_that_nothing_reads_is_told(package: Path) -> None:
    weights = WeightFile("weight.bin", (package / WEIGHTS).read_bytes())
    first, *others = weights.blobs
    for offset in others:
        blob = weights.blobs[offset]
        weights.read(offset, blob.dtype, (blob.size // 2,))
    with pytest.raises(RetvecLiteError, match=f"does not use the arrays of weight.bin at offset {first}"):
        weights.check_all_read()


def test_an_array_is_read_as_declared_or_not_at_all(package: Path) -> None:
    weights = WeightFile("weight.bin", (package / WEIGHTS).read_bytes())
    offset, blob = next(iter(weights.blobs.items()))
    count = blob.size // 2
    assert weights.read(offset, "fp16", (2, count // 2)).shape == (2, count // 2)
    for wrong in ((offset, "int16", (count,)), (offset, "fp16", (count - 1,)), (offset + 64, "fp16", (count,))):
        with pytest.raises(RetvecLiteError, match=r"declares|values of fp16 take|no array at offset"):
            weights.read(*wrong)


def test_without_coremltools_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_module.importlib.util, "find_spec", lambda _: None)
    package_module.proto.cache_clear()
    try:
        with pytest.raises(RetvecLiteError, match=r'Run `pip install "\.\[coreml\]"'):
            package_module.proto()
    finally:
        package_module.proto.cache_clear()
