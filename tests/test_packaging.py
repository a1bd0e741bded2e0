"""What is in the wheel and the sdist, that it works without the source tree, and that the frame agrees with itself."""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import retvec_lite
from retvec_lite.runtime import LIBRARY, NOT_BUILT
from tools.build_engine import compiler
from tools.build_wheels import FILES, FOLDERS

ROOT = Path(__file__).resolve().parents[1]
TREES = {"retvec_lite": ROOT / "retvec_lite", "retvec_lite/converters": ROOT / "converters"}
"""Where a folder of the wheel comes from."""

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


NO_COMPILER = {"CC": "/nowhere/cc"}


def build(step: str, source: Path, to: Path, **environment: str) -> tuple[Path, str]:
    """Run a step of the build back end in a source tree; return what it made and what it told."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; from setuptools import build_meta; build_meta.{step}(sys.argv[1])", to],
        cwd=source,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (made,) = to.glob("*.tar.gz" if step == "build_sdist" else "*.whl")
    return made, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel without an engine and the sdist, built from a copy: setuptools writes into the source tree."""
    source = tmp_path_factory.mktemp("source")
    for name in FILES:
        shutil.copy(ROOT / name, source)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    # `make install` leaves the engine of this machine there, which no other one can load.
    (source / "retvec_lite/native").mkdir(exist_ok=True)
    (source / "retvec_lite/native/libretvec_lite.so").write_bytes(b"of this machine")
    dist = source / "dist"
    build("build_sdist", source, dist)
    _, told = build("build_wheel", source, dist, **NO_COMPILER)
    assert NOT_BUILT in " ".join(told.split())
    return dist


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


def expected_files() -> set[str]:
    """Every source and data file that must ship, as the wheel names it."""
    found = set()
    for prefix, folder in TREES.items():
        for path in folder.rglob("*"):
            inside = path.relative_to(folder)
            if path.is_file() and not {"__pycache__", "native"} & set(inside.parts) and not path.name.startswith("."):
                found.add(f"{prefix}/{inside.as_posix()}")
    return found


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == expected_files() and wheel.name.endswith("-py3-none-any.whl")
    assert {"retvec_lite/py.typed", "retvec_lite/starter/train.csv", "retvec_lite/converters/__init__.py"} <= names
    assert {f"retvec_lite/web/{name}" for name in ("index.html", "app.js", "app.css", "engine.wasm")} <= names


def test_the_sdist_holds_the_sources(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "converters/__init__.py", "retvec_lite/py.typed"} <= names
    assert "retvec_lite/starter/test.csv" in names


def answer(site: Path, file: str) -> subprocess.CompletedProcess[str]:
    """Load a file of golden/ with the package in a folder, and classify a text."""
    code = (
        "import sys, retvec_lite as rl; print(rl.__file__, rl.load(sys.argv[1]).predict('wake me up', top=1)[0].label)"
    )
    return subprocess.run(
        [sys.executable, "-c", code, ROOT / "golden" / file],
        cwd=site,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_compiler_the_package_says_how_to_get_the_engine(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    done = answer(tmp_path, "plain.retvec")
    assert done.returncode == 1 and done.stderr.endswith(f"RetvecLiteError: {NOT_BUILT}\n")


@pytest.mark.exhaustive
@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_an_sdist_becomes_a_wheel_with_the_engine_for_this_machine_alone(built: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (source,) = tmp_path.iterdir()
    made, told = build("build_wheel", source, tmp_path / "dist")
    assert re.search(r"-py3-none-(?!any)\w+\.whl$", made.name) and "is not built" not in told
    site = tmp_path / "site"
    with zipfile.ZipFile(made) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        archive.extractall(site)
    assert names == {*expected_files(), f"retvec_lite/native/{LIBRARY}"}
    (about,) = site.glob("*.dist-info/WHEEL")
    assert "Root-Is-Purelib: false" in about.read_text(encoding="ascii")
    done = answer(site, "plain.retvec")
    assert done.returncode == 0 and done.stdout.startswith(str(site)), done.stderr


def test_the_metadata_say_licence_python_and_extras(wheel: Path, project: dict) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        assert any(entry.endswith(".dist-info/licenses/LICENSE") for entry in archive.namelist())
        metadata = email.message_from_bytes(archive.read(name))
    assert metadata["License-Expression"] == "Apache-2.0"
    assert set(metadata["Requires-Python"].split(",")) == {">=3.10", "<3.14"}
    assert set(metadata.get_all("Provides-Extra", [])) == set(project["project"]["optional-dependencies"])


def test_the_installed_wheel_works_without_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    code = (
        "import retvec_lite, retvec_lite.converters, retvec_lite.cli\n"
        "from retvec_lite.data.dataset import read_dataset, starter_file\n"
        "print(retvec_lite.__file__, retvec_lite.converters.__file__, starter_file('test'), sep='\\n')\n"
        "print(*(len(read_dataset(starter_file(split))) for split in ('train', 'test')))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    *paths, sizes = done.stdout.splitlines()
    assert all(Path(path).is_relative_to(site) for path in paths)
    assert sizes == "7479 1830"


def test_every_package_folder_is_listed(project: dict) -> None:
    found = {
        f"{prefix}/{init.parent.relative_to(folder).as_posix()}".removesuffix("/.").replace("/", ".")
        for prefix, folder in TREES.items()
        for init in folder.rglob("__init__.py")
    }
    assert set(project["tool"]["setuptools"]["packages"]) == found


def test_versions_agree(project: dict) -> None:
    assert project["project"]["dynamic"] == ["version"], "the version stands in retvec_lite/version.py alone"
    assert metadata.version("retvec-lite") == retvec_lite.__version__
    assert f"## {retvec_lite.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", [ROOT, ROOT / "lab"], ids=["product", "lab"])
def test_every_dependency_has_bounds_and_the_lock_pins_it(folder: Path) -> None:
    lock = (folder / "requirements.lock").read_text(encoding="utf-8")
    pinned = set(re.findall(r"^([a-z0-9.-]+)==", lock, re.MULTILINE))
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"dependencies": project["dependencies"], **project.get("optional-dependencies", {})}
    for group, requirements in groups.items():
        for requirement in requirements:
            name = re.match(r"[a-z0-9-]+", requirement)[0]
            if name == "retvec-lite":
                continue
            assert re.search(r"[<>=]=", requirement), f"{group}: {requirement}"
            assert name in pinned, f"{name}: run `make lock`"


@pytest.mark.parametrize("name", ["requirements.lock", "installer.lock", "lab/requirements.lock"])
def test_the_lock_names_no_registry_and_hashes_everything(name: str) -> None:
    lock = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in lock
    assert "--index" not in lock
    assert "--find-links" not in lock
    entries = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)[1:]
    assert entries
    assert all("--hash=sha256:" in entry for entry in entries)


def test_no_file_of_the_frame_names_this_machine() -> None:
    frame = ("Makefile", "mkdocs.yml", ".ci/run", ".pre-commit-config.yaml")
    projects = [f"{folder}{name}" for folder in ("", "lab/") for name in ("pyproject.toml", "requirements.lock")]
    workflows = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / ".github").rglob("*.yml"))
    for name in (*frame, *projects, *workflows):
        assert not re.search(r"/(?:work|home|root|Users|tmp)/", (ROOT / name).read_text(encoding="utf-8")), name


def test_the_installer_is_taken_from_its_lock() -> None:
    for path in (ROOT / "Makefile", *(ROOT / ".github/workflows").glob("*.yml")):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not re.search(r"-m pip install .*['\" ]uv\b", line), f"{path.name}: take uv from installer.lock"


def test_gradle_is_named_by_its_checksum() -> None:
    properties = (ROOT / "android_demo/gradle/wrapper/gradle-wrapper.properties").read_text(encoding="utf-8")
    assert re.search(r"^distributionSha256Sum=[0-9a-f]{64}$", properties, re.MULTILINE)


def test_workflows_name_every_action_by_commit() -> None:
    used = [
        line.strip()
        for path in (ROOT / ".github/workflows").glob("*.yml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert used
    assert [line for line in used if not re.fullmatch(r"(- )?uses: [\w./-]+@[0-9a-f]{40} # v[\d.]+", line)] == []


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("npm", "is_kept"),
    [
        ("mkdir -p node_modules/half", False),
        ("mkdir -p node_modules/half; exit 1", False),
        ("mkdir -p node_modules/whole && touch node_modules/.package-lock.json", True),
    ],
)
def test_half_a_folder_of_npm_packages_is_taken_away(tmp_path: Path, npm: str, is_kept: bool) -> None:
    """npm 10 ends with 0 after half of the work where it reaches no registry; what an earlier run finished does not count."""
    for name in ("Makefile", "package-lock.json"):
        shutil.copy(ROOT / name, tmp_path)
    stale = tmp_path / "node_modules" / ".package-lock.json"
    stale.parent.mkdir()
    stale.touch()
    os.utime(stale, (0, 0))
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "npm"
    script.write_text(f"#!/bin/sh\n{npm}\n", encoding="utf-8")
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{script.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["make", "node_modules/.package-lock.json"],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert stale.parent.exists() == is_kept == ("will be skipped" not in done.stderr)
