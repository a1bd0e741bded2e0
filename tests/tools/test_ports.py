"""The engine for apps: what the build for Android contains, and the C target of the Swift package."""

import ctypes
import importlib.util
import json
import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from retvec_lite.contract import SEPARATING, EncoderConfig
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.native import NativeEngine
from retvec_lite.windows import read_limit, read_text
from tools.build_engine import zig
from tools.build_ports import ABIS, JVMS, ROOT, build_android, build_jar

KOTLIN = ROOT / "android/retvec-lite/src/main/kotlin/org/retveclite/NativeEngine.kt"

C_TARGET = ROOT / "swift" / "CRetvecLite" / "include" / "CRetvecLite.h"

needs_zig = pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed")


@needs_zig
@pytest.mark.slow
def test_the_libraries_for_android_are_small_whole_and_aligned(tmp_path: Path) -> None:
    built = build_android(tmp_path)
    assert [file.parent.name for file in built] == [*ABIS]
    for file in built:
        content = file.read_bytes()
        assert len(content) <= 90 * 1024
        assert_exports_what_kotlin_declares(content)
        assert all(align % 16384 == 0 for align in load_alignments(content)), file


@needs_zig
@pytest.mark.slow
def test_the_libraries_of_the_jar_are_for_six_machines_and_depend_on_none(tmp_path: Path) -> None:
    built = build_jar(tmp_path)
    assert sorted(file.relative_to(tmp_path).parts[0] for file in tmp_path.rglob("*.*")) == sorted(JVMS)
    for file in built:
        content = file.read_bytes()
        assert len(content) <= 145 * 1024
        assert_exports_what_kotlin_declares(content)
        assert not re.search(rb"libc\.so|msvcrt|kernel32|ucrt", content, re.IGNORECASE)


def assert_exports_what_kotlin_declares(library: bytes) -> None:
    declared = set(re.findall(r"external fun (\w+)", KOTLIN.read_text("utf-8")))
    exported = re.findall(rb"Java_org_retveclite_NativeEngine_(\w+)\0", library)
    assert declared and {name.decode() for name in exported} == declared


def load_alignments(elf: bytes) -> list[int]:
    """The alignments of the segments that are loaded (ELF specification, program headers)."""
    is_64 = elf[4] == 2
    start = struct.unpack_from("<Q" if is_64 else "<I", elf, 32 if is_64 else 28)[0]
    size, count = struct.unpack_from("<HH", elf, 54 if is_64 else 42)
    entries = [struct.unpack_from("<IIQQQQQQ" if is_64 else "<8I", elf, start + size * place) for place in range(count)]
    found = [entry[7] for entry in entries if entry[0] == 1]
    assert found
    return found


def test_the_swift_package_names_what_is_there() -> None:
    package = (ROOT / "Package.swift").read_text("utf-8")
    places = re.findall(r'path: "([^"]+)"', package)
    assert [sorted({file.suffix for file in (ROOT / place).rglob("*.*")}) for place in places] == [
        [".c", ".h"],
        *[[".swift"]] * 4,
    ]
    swift = "".join(file.read_text("utf-8") for file in (ROOT / "swift" / "RetvecLite").glob("*.swift"))
    header = (ROOT / "engine" / "retvec_lite.h").read_text("utf-8")
    core_ml = (ROOT / "swift" / "RetvecLiteCoreML" / "Windows.swift").read_text("utf-8")
    assert set(re.findall(r"crl_\w+", core_ml)) == set(re.findall(r"crl_\w+", C_TARGET.read_text("utf-8")))
    assert set(re.findall(r"rvl_\w+", swift)) <= set(re.findall(r"rvl_\w+", header))


@needs_zig
def test_the_c_target_of_the_swift_package_gives_the_golden_answers(tmp_path: Path) -> None:
    compiler, library = zig(), tmp_path / "engine.so"
    assert compiler is not None
    source = ROOT / "swift" / "CRetvecLite" / "engine.c"
    subprocess.run([*compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    for name in ("plain", "rejecting", "several"):
        artifact = read_artifact(ROOT / "golden" / f"{name}.retvec")
        engine = NativeEngine(artifact, library)
        golden = json.loads((ROOT / "golden" / f"{name}.json").read_text("ascii"))
        (key,) = (key for key in golden["tolerance"] if key.startswith("engine-"))
        cases = [case for case in (*golden["cases"], *golden["long"]) if case["text"] is not None]
        found = engine.probabilities([read_text(case["text"], artifact.config) for case in cases])
        expected = np.array([case["probabilities"][key] for case in cases])
        assert len(cases) > 100 and np.abs(found - expected).max() <= golden["tolerance"][key]
    check_what_core_ml_is_given(ctypes.CDLL(str(library)), [case["text"] for case in cases], artifact.config)


def check_what_core_ml_is_given(library: ctypes.CDLL, texts: list[str], config: EncoderConfig) -> None:
    limit = read_limit(config)
    for text in [*texts, "", ". " * 300_000 + "free"]:
        out, given = (ctypes.c_uint32 * limit)(), text.encode("utf-8", "replace")
        count = library.crl_condense_utf8(given, ctypes.c_size_t(len(given)), out, ctypes.c_size_t(limit))
        assert [*out[:count]] == [ord(char) for char in read_text(given.decode("utf-8"), config)]
    found = [code for code in range(0x3100) if library.crl_is_separator(code)]
    assert found == sorted(SEPARATING)


@needs_zig
@pytest.mark.parametrize("target", ["aarch64-macos", "aarch64-ios", "x86_64-macos"])
def test_the_c_target_of_the_swift_package_compiles_without_fused_multiplication(target: str, tmp_path: Path) -> None:
    compiler, assembly = zig(target), tmp_path / "engine.s"
    assert compiler is not None
    source = ROOT / "swift" / "CRetvecLite"
    subprocess.run([*compiler, "-O2", "-g0", "-S", "-o", str(assembly), str(source / "engine.c")], check=True)
    assert re.search(r"\s(fn?m(add|sub|la|ls)|vfn?m(add|sub)\w*)\s", assembly.read_text("latin-1")) is None
    (tmp_path / "use.c").write_text("#include <CRetvecLite.h>\nint main(void) { return rvl_message(0) == 0; }\n")
    include = f"-I{source / 'include'}"
    subprocess.run([*compiler, include, "-c", "-o", str(tmp_path / "use.o"), str(tmp_path / "use.c")], check=True)
