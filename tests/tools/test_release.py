"""What a release publishes: names, checksums, and one version everywhere."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from retvec_lite.version import __version__
from tools.release import release_files, write_checksums

ROOT = Path(__file__).parents[2]


def write(path: Path, content: bytes = b"content") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_every_file_but_those_of_maven_has_a_checksum_and_a_size(tmp_path: Path) -> None:
    library = tmp_path / "maven/io/github/retvec-lite" / f"retvec-lite-{__version__}.aar"
    write(library, b"x" * 12_345)
    for suffix in (".md5", ".sha1"):
        write(library.with_name(library.name + suffix))
    write(library.with_name("maven-metadata.xml"))
    write(tmp_path / f"retvec_lite-{__version__}.tar.gz")
    table = write_checksums(tmp_path)
    assert table == write_checksums(tmp_path), "the checksums have none of their own"
    assert [line.split()[-2] for line in table.splitlines()] == ["12,345", "7"]
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    for file in (*release_files(tmp_path), tmp_path / "SHA256SUMS"):
        shutil.copy(file, downloads)
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=downloads, check=True)
    assert (tmp_path / "SHA256SUMS").read_text("utf-8").count("\n") == 2


def test_a_file_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no files"):
        release_files(tmp_path)
    write(tmp_path / "retvec_lite-0.0.1.tar.gz")
    with pytest.raises(ValueError, match=rf"0\.0\.1\.tar\.gz are not of version {re.escape(__version__)}"):
        release_files(tmp_path)


def test_the_version_is_that_of_python_in_maven_and_in_the_pages() -> None:
    pom = (ROOT / "android/pom.xml").read_text("utf-8")
    assert f"<revision>{__version__}</revision>" in pom, "set <revision> in android/pom.xml"
    for page in ("README.md", "android_demo/README.md"):
        named = re.findall(r"io\.github\.retvec-lite:retvec-lite[a-z-]*:([\w.]+)", (ROOT / page).read_text("utf-8"))
        assert named and set(named) == {__version__}, f"set the version in {page}"


def test_libraries_that_several_builds_name_are_of_one_version() -> None:
    catalog = dict(
        re.findall(
            r'^([\w-]+) = "([^"]+)"$', (ROOT / "android_demo/gradle/libs.versions.toml").read_text("utf-8"), re.M
        )
    )
    poms = "".join((ROOT / "android" / name).read_text("utf-8") for name in ("pom.xml", "retvec-lite-litert/pom.xml"))
    for property_, name in {
        "kotlin.version": "kotlin",
        "litert.version": "litert",
        "bytedeco.version": "tensorflow-lite-desktop",
        "tensorflow-lite-metadata.version": "tensorflow-lite-metadata",
    }.items():
        assert f"<{property_}>{catalog[name]}</{property_}>" in poms, name
