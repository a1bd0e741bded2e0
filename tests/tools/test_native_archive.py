"""The shared libraries of a release: each is of its platform and has every function of the header, and this machine's answers."""

import ctypes
import platform
import re
import sys
import zipfile
from pathlib import Path

import pytest

import retvec_lite as rl
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.native import NativeEngine
from tools.build_engine import zig
from tools.native_archive import HEADER, NAME, ROOT, write

FORMS = {
    "linux-x64": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e",
    "linux-arm64": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\xb7",
    "osx-arm64": b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01",
    "osx-x64": b"\xcf\xfa\xed\xfe\x07\x00\x00\x01",
    "win-x64": b"MZ",
    "win-arm64": b"MZ",
}
"""How the library of a platform begins."""


@pytest.mark.exhaustive
@pytest.mark.skipif(zig() is None, reason="ziglang is not installed")
def test_the_archive_has_a_whole_library_for_each_of_six_platforms(tmp_path: Path) -> None:
    functions = set(re.findall(r"^RVL_API .*?(rvl_\w+)\(", (ROOT / "engine" / HEADER).read_text("utf-8"), re.M))
    with zipfile.ZipFile(write(tmp_path)) as archive:
        names = archive.namelist()
        assert names[:2] == [HEADER, "LICENSE"]
        assert [name.split("/")[:3:2] for name in names[2:]] == [["runtimes", "native"]] * len(FORMS)
        assert [name.split("/")[1] for name in names[2:]] == list(FORMS)
        for name, form in zip(names[2:], FORMS.values(), strict=True):
            content = archive.read(name)
            assert content.startswith(form) and len(content) < 160_000, name
            assert functions <= {found.decode() for found in re.findall(rb"_?(rvl_\w+)\0", content)}, name
        archive.extractall(tmp_path)
    assert NAME in {file.name for file in tmp_path.iterdir()}
    if sys.platform == "linux" and platform.machine() == "x86_64":
        library = tmp_path / "runtimes" / "linux-x64" / "native" / "libretvec_lite.so"
        ctypes.CDLL(str(library))
        artifact = read_artifact(ROOT / "golden" / "plain.retvec")
        texts = ["wkae me up at six", "🙂", ""]
        found = NativeEngine(artifact, library).probabilities(texts)
        assert found.tolist() == rl.load(ROOT / "golden" / "plain.retvec").probabilities(texts).tolist()
