"""Folders from elsewhere, whose entries bear our names: nothing of the user's is moved, emptied or removed."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

import retvec_lite as rl
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import WORK, atomic_directory, atomic_write
from retvec_lite.foreign import LARGEST, open_locked, read_whole
from retvec_lite.runtime.artifact import read_artifact

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows needs a privilege to make symbolic links")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """The user's own folder, with folders of our names in it."""
    for name in ("", "new", "old", "ready"):
        (tmp_path / "precious" / name).mkdir(exist_ok=True)
        (tmp_path / "precious" / name / "thesis.docx").write_text("mine")
    return tmp_path / "precious"


def tree(folder: Path) -> dict[str, str | None]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() if path.is_file() else None for path in folder.rglob("*")
    }


def _socket(place: Path, _: Path) -> None:
    here = os.getcwd()
    os.chdir(place.parent)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as found:
            found.bind(place.name)
    finally:
        os.chdir(here)


KINDS: dict[str, Callable[[Path, Path], object]] = {
    "link to a folder": lambda place, precious: place.symlink_to(os.path.relpath(precious, place.parent)),
    "link to a file": lambda place, precious: place.symlink_to(precious / "thesis.docx"),
    "dangling link": lambda place, precious: place.symlink_to(precious / "none"),
    "link to itself": lambda place, _: place.symlink_to(place.name),
    "pipe": lambda place, _: os.mkfifo(place),
    "socket": _socket,
    "hard link": lambda place, precious: os.link(precious / "thesis.docx", place),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("entry", [".", "lock", "new", "old", "ready"])
def test_a_work_folder_with_anything_but_files_of_ours_is_refused(
    tmp_path: Path, precious: Path, entry: str, kind: str
) -> None:
    place = tmp_path / "dist" / WORK / entry
    place.parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind](place, precious)
    before = tree(precious)
    with pytest.raises(RetvecLiteError) as error, atomic_directory(tmp_path / "dist", force=True, owned=("*",)):
        raise AssertionError("not reached")
    assert f"{place.name} is a" in str(error.value)
    assert "Move it away." in str(error.value)
    assert tree(precious) == before and os.path.lexists(place)
    assert set(os.listdir(tmp_path)) == {"precious", "dist"}


def test_a_link_that_appears_while_the_folder_is_written_is_not_cleaned(tmp_path: Path, precious: Path) -> None:
    before = tree(precious)
    with pytest.raises(KeyboardInterrupt), atomic_directory(tmp_path / "dist"):
        (tmp_path / "dist" / WORK).rename(tmp_path / "moved")
        (tmp_path / "dist" / WORK).symlink_to(precious)
        raise KeyboardInterrupt
    assert tree(precious) == before


def test_links_deeper_down_are_moved_or_removed_and_never_followed(tmp_path: Path, precious: Path) -> None:
    before = tree(precious)
    for name in ("old", "ready", "new"):
        (tmp_path / "dist" / WORK / name / "deep").mkdir(parents=True)
        (tmp_path / "dist" / WORK / name / "deep" / "link").symlink_to(precious)
    with atomic_directory(tmp_path / "dist", force=True, owned=("deep/",)) as folder:
        (folder / "new.tflite").touch()
    assert tree(precious) == before and os.listdir(tmp_path / "dist") == ["new.tflite"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_temporary_name_of_a_file_is_not_written_through(tmp_path: Path, precious: Path, kind: str) -> None:
    KINDS[kind](tmp_path / ".a.retvec-lite-new", precious)
    before = tree(precious)
    with pytest.raises(RetvecLiteError, match=r"^Cannot write .*retvec-lite-new is a .* Move it away\.$"):
        atomic_write(tmp_path / "a", b"x")
    with pytest.raises(OSError, match=r"retvec-lite-new is a "):
        open_locked(tmp_path / ".a.retvec-lite-new")
    assert tree(precious) == before and not (tmp_path / "a").exists()


@pytest.mark.parametrize("suffix", [".tflite", ".retvec", ".safetensors"])
def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path, suffix: str) -> None:
    """A sparse file takes no room on the disk, and as much memory as its length."""
    file = tmp_path / f"bomb{suffix}"
    with file.open("wb") as opened:
        opened.write(b"\0\0\0\0TFL3")
        opened.truncate(2 << 30)

    def load() -> object:
        if suffix == ".safetensors":
            from retvec_lite.model.weight_files import read_safetensors

            return read_safetensors(file)
        return read_artifact(file)

    loads: list[Callable[[], object]] = [load, lambda: read_whole(file)]
    if suffix != ".safetensors":
        loads.append(lambda: rl.load(file, isolated=True))
    for call in loads:
        with pytest.raises(
            RetvecLiteError, match=rf"bomb{suffix} has 2,147,483,648 bytes or more, .*{LARGEST:,} are read"
        ):
            call()


def test_what_is_read_whole_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert read_whole(tmp_path / "a") == b"abc"
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(RetvecLiteError, match="it is no file"):
            read_whole(place)
