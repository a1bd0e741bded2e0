"""The wheels and the shared libraries of a release: each has the engine of its machine and no other, and this machine's classifies."""

import platform
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import retvec_lite as rl
from retvec_lite.runtime import library_path
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.native import NativeEngine
from tools import build_engine, native_archive
from tools.build_engine import zig
from tools.build_wheels import MACHINES, ROOT, build_all
from tools.c_archive import HEADER

FORMS = {
    "linux-x64": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e",
    "linux-arm64": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\xb7",
    "osx-arm64": b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01",
    "osx-x64": b"\xcf\xfa\xed\xfe\x07\x00\x00\x01",
    "win-x64": b"MZ",
    "win-arm64": b"MZ",
}
"""How the library of a platform begins."""


def test_the_command_builds_into_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build_engine, "compiler", lambda: ["cc"])
    monkeypatch.setattr(build_engine, "build", lambda command, to: (*command, to))
    monkeypatch.setattr(sys, "argv", ["build_engine"])
    build_engine.main()
    assert capsys.readouterr().out == f"{('cc', library_path())}\n"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    if zig() is None or any(find_spec(name) is None for name in ("setuptools", "wheel")):
        pytest.skip("ziglang, setuptools or wheel is not installed")
    return [path for path in build_all(tmp_path_factory.mktemp("dist")) if path.suffix == ".whl"]


def test_there_is_a_form_for_every_machine() -> None:
    assert [machine.folder for machine in MACHINES] == list(FORMS)


@pytest.mark.exhaustive
def test_each_wheel_has_the_engine_of_its_machine(wheels: list[Path], tmp_path: Path) -> None:
    assert len(wheels) == len(MACHINES) + 1
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            engines = {
                name: archive.read(name) for name in archive.namelist() if name.startswith("retvec_lite/native/")
            }
            (about,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith(".dist-info/WHEEL"))
        tags = {line.removeprefix("Tag: ") for line in about.splitlines() if line.startswith("Tag: ")}
        if path.stem.endswith("-py3-none-any"):
            assert (engines, tags) == ({}, {"py3-none-any"})
            continue
        assert "Root-Is-Purelib: false" in about
        (machine,) = (machine for machine in MACHINES if {f"py3-none-{tag}" for tag in machine.tags.split(".")} == tags)
        assert set(path.stem.split("-")[-1].split(".")) == set(machine.tags.split("."))
        ((name, content),) = engines.items()
        assert name == f"retvec_lite/native/{machine.library}"
        assert content.startswith(FORMS[machine.folder])
        assert b"rvl_open" in content
        # Checks what RECORD says.
        subprocess.run([sys.executable, "-m", "wheel", "unpack", "--dest", tmp_path / path.stem, path], check=True)


@pytest.mark.exhaustive
def test_the_installed_wheel_answers_the_golden_texts_with_numpy_alone(wheels: list[Path], tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=True)
    python = tmp_path / "bare" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    site = next((tmp_path / "bare").glob("**/site-packages"))
    numpy = Path(np.__file__).parent
    for folder in (numpy, numpy.with_name("numpy.libs")):
        if folder.is_dir():
            shutil.copytree(folder, site / folder.name)
    command = [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--find-links", wheels[0].parent]
    subprocess.run([*command, "retvec-lite"], check=True, cwd=tmp_path)
    script = ROOT / "tests" / "support" / "golden_consumer.py"
    done = subprocess.run([python, script, ROOT / "golden"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    runtime, answered = done.stdout.split()
    assert runtime == "retvec-lite" and int(answered) > 300


@pytest.mark.exhaustive
@pytest.mark.skipif(zig() is None, reason="ziglang is not installed")
def test_the_archive_has_a_whole_library_for_every_machine(tmp_path: Path) -> None:
    functions = set(re.findall(r"^RVL_API .*?(rvl_\w+)\(", (ROOT / "engine" / HEADER).read_text("utf-8"), re.M))
    with zipfile.ZipFile(native_archive.write(tmp_path)) as archive:
        header, licence, *names = archive.namelist()
        assert (header, licence) == (HEADER, "LICENSE")
        for name, (folder, form) in zip(names, FORMS.items(), strict=True):
            content = archive.read(name)
            assert name.startswith(f"runtimes/{folder}/native/") and content.startswith(form)
            assert len(content) < 160_000
            assert functions <= {found.decode() for found in re.findall(rb"_?(rvl_\w+)\0", content)}, name
        archive.extractall(tmp_path)
    assert native_archive.NAME in {file.name for file in tmp_path.iterdir()}
    if sys.platform == "linux" and platform.machine() == "x86_64":
        library = tmp_path / "runtimes" / "linux-x64" / "native" / "libretvec_lite.so"
        texts = ["wkae me up at six", "🙂", ""]
        found = NativeEngine(read_artifact(ROOT / "golden" / "plain.retvec"), library).probabilities(texts)
        assert found.tolist() == rl.load(ROOT / "golden" / "plain.retvec").probabilities(texts).tolist()
