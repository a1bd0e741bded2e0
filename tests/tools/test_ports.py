"""The engine for apps: what the build for Android contains, and the C target of the Swift package."""

import importlib.util
import re
import struct
import subprocess
from pathlib import Path

import pytest

from tools.build_engine import zig
from tools.build_ports import ABIS, JVMS, ROOT, build_android, build_jar

KOTLIN = ROOT / "android/retvec-lite/src/main/kotlin/org/retveclite/NativeEngine.kt"

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
@pytest.mark.exhaustive
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
