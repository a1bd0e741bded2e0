import errno
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import killed_writer
import pytest

from retvec_lite.data.dataset import read_dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import (
    WORK,
    atomic_directory,
    atomic_write,
    refuse_existing,
    refuse_filled_folder,
    require_room,
    require_writable,
    write_csv,
)
from retvec_lite.foreign import open_locked

OWNED = ("*.tflite", "labels.txt")


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_is_written_and_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    goal = tmp_path / "new" / "a.bin"
    atomic_write(goal, b"one")
    atomic_write(goal, b"two")
    assert goal.read_bytes() == b"two" and names(goal.parent) == ["a.bin"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits of this kind")
def test_cells_of_a_table_are_written_as_they_are(tmp_path: Path) -> None:
    texts = ("=1+1", "+49 30 1234", "-5 today", "@bob hi", "\t=x", "'quoted'", 'a "b", c', '=HYPERLINK("http://x")')
    labels = ("=a", "+b", "-c", "@d") * 2
    write_csv(tmp_path / "d.csv", ("text", "label"), zip(texts, labels, strict=True), force=False)
    found = read_dataset(tmp_path / "d.csv")
    assert (found.texts, found.labels) == (texts, labels)


def test_a_new_file_follows_the_umask_and_a_replaced_one_keeps_its_mode(tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        atomic_write(tmp_path / "a", b"")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644
        (tmp_path / "a").chmod(0o600)
        atomic_write(tmp_path / "a", b"x")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    finally:
        os.umask(umask)


@pytest.mark.skipif(os.name == "nt", reason="Windows needs a privilege to make symbolic links")
def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    atomic_write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_an_interrupted_file_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    goal = tmp_path / "a"
    goal.write_bytes(b"old")

    def fail(_: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((KeyboardInterrupt, RetvecLiteError)) as caught:
        atomic_write(goal, b"new")
    if isinstance(caught.value, RetvecLiteError):
        assert "No room to write" in str(caught.value) and str(goal) in str(caught.value)
    assert goal.read_bytes() == b"old" and names(tmp_path) == ["a"]


@pytest.mark.parametrize("goal", ["file/below", "folder"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, goal: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(RetvecLiteError, match=goal):
        atomic_write(tmp_path / goal, b"x")
    assert names(tmp_path) == ["file", "folder"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_device_is_not_replaced() -> None:
    with pytest.raises(RetvecLiteError, match="not a regular file"):
        atomic_write("/dev/full", b"x")


@pytest.mark.skipif(
    os.name == "nt" or (hasattr(os, "geteuid") and os.geteuid() == 0), reason="needs a user without root's permissions"
)
def test_a_directory_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RetvecLiteError, match="Permission denied"):
            atomic_write(tmp_path / "a", b"x")
    finally:
        tmp_path.chmod(0o700)


def test_room_is_asked_for_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_room(tmp_path / "not" / "there" / "yet", 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=5))
    require_room(tmp_path / "a", 5)
    with pytest.raises(
        RetvecLiteError, match=r"^Not enough disk space for .*there: 6 bytes needed, 5 free\. Free some, or"
    ):
        require_room(tmp_path / "not" / "there", 6)


@pytest.mark.parametrize("force", [False, True])
def test_a_file_where_a_folder_will_be_written_is_no_matter_of_force(tmp_path: Path, force: bool) -> None:
    (tmp_path / "dist").touch()
    with pytest.raises(RetvecLiteError, match=r"^.*dist is a file, not a folder\. Choose another name\.$"):
        refuse_filled_folder(tmp_path / "dist", force)
    refuse_filled_folder(tmp_path / "new", force)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("file", "--force"), ("folder", "is a folder"), ("file/below", "file is a file, not a folder")],
)
def test_a_file_that_cannot_be_written_is_told_before_the_work(tmp_path: Path, name: str, sentence: str) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    with pytest.raises(RetvecLiteError, match=sentence):
        require_writable(tmp_path / name, force=False)
    require_writable(tmp_path / "file", force=True)
    require_writable(tmp_path / "new" / "file", force=False)
    assert names(tmp_path) == ["file", "folder", "new"] and names(tmp_path / "new") == []
    assert (tmp_path / "file").read_bytes() == b"old"


def test_refuse_existing(tmp_path: Path) -> None:
    refuse_existing(tmp_path / "missing", force=False)
    refuse_existing(tmp_path, force=False)  # an empty directory is no obstacle
    (tmp_path / "file").touch()
    for goal in (tmp_path, tmp_path / "file"):
        with pytest.raises(RetvecLiteError, match="--force"):
            refuse_existing(goal, force=False)
        refuse_existing(goal, force=True)


@pytest.mark.parametrize("there", [False, True])
def test_a_directory_appears_whole(tmp_path: Path, there: bool) -> None:
    goal = tmp_path / "deep" / "dist"
    if there:
        goal.mkdir(parents=True)
    with atomic_directory(goal) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "a").write_bytes(b"a")
        assert names(goal) == [WORK]
    assert (goal / "sub" / "a").read_bytes() == b"a" and names(goal.parent) == ["dist"]


def test_force_replaces_what_the_command_wrote(tmp_path: Path) -> None:
    goal = tmp_path / "dist"
    goal.mkdir()
    (goal / "old.tflite").touch()
    with atomic_directory(goal, force=True, owned=OWNED) as folder:
        (folder / "labels.txt").touch()
    assert names(goal) == ["labels.txt"] and names(tmp_path) == ["dist"]


def test_force_never_takes_foreign_files_away(tmp_path: Path) -> None:
    goal = tmp_path / "dist"
    goal.mkdir()
    (goal / "thesis.docx").touch()
    with pytest.raises(RetvecLiteError, match=r"thesis\.docx"), atomic_directory(goal, force=True, owned=OWNED):
        raise AssertionError("not reached")
    assert names(tmp_path) == ["dist"] and names(goal) == ["thesis.docx"]


def test_the_current_directory_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    for goal in (".", ".."):
        with pytest.raises(RetvecLiteError, match="contains the current folder"), atomic_directory(goal, force=True):
            raise AssertionError("not reached")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, RetvecLiteError, SystemExit])
def test_an_interrupted_directory_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    goal = tmp_path / "dist"
    goal.mkdir()
    (goal / "old.tflite").write_bytes(b"old")

    def write() -> None:
        with atomic_directory(goal, force=True, owned=OWNED) as folder:
            (folder / "new.tflite").write_bytes(b"new")
            raise error

    with pytest.raises(error):
        write()
    assert names(goal) == ["old.tflite"] and names(tmp_path) == ["dist"]


# --- where others write too: locks, foreign files, mount points, other file systems, killed runs ---


@pytest.fixture
def goal(tmp_path: Path) -> Path:
    """An earlier result."""
    goal = tmp_path / "dist"
    goal.mkdir()
    (goal / "old.tflite").write_bytes(b"old")
    return goal


@pytest.mark.parametrize("force", [False, True])
def test_what_somebody_else_puts_there_meanwhile_stays_and_the_result_too(tmp_path: Path, force: bool) -> None:
    """Without `force`, a result as well."""
    goal, name = tmp_path / "dist", "thesis.docx" if force else "old.tflite"
    with (
        pytest.raises(
            RetvecLiteError,
            match=r"dist was changed by somebody else meanwhile, and stays as it is\. The new .* is in ",
        ),
        atomic_directory(goal, force=force, owned=OWNED) as folder,
    ):
        (folder / "new.tflite").write_bytes(b"new")
        (goal / name).write_bytes(b"mine")
    assert names(goal) == [name] and names(tmp_path) == ["dist", "dist.new-1"]
    assert (tmp_path / "dist.new-1" / "new.tflite").read_bytes() == b"new"


def test_the_second_of_two_runs_is_told_at_once(goal: Path) -> None:
    with atomic_directory(goal, force=True, owned=OWNED) as folder:
        (folder / "new.tflite").touch()
        with (
            pytest.raises(RetvecLiteError, match=r"^Another process is writing .*dist\. Wait until it has finished"),
            atomic_directory(goal, force=True, owned=OWNED),
        ):
            raise AssertionError("not reached")
    assert names(goal) == ["new.tflite"] and names(goal.parent) == ["dist"]


def test_the_second_of_two_writers_of_a_file_is_told(tmp_path: Path) -> None:
    descriptor = open_locked(tmp_path / ".a.retvec-lite-new")
    with pytest.raises(RetvecLiteError, match=r"^Another process is writing .*a\. Wait"):
        atomic_write(tmp_path / "a", b"")
    os.close(descriptor)
    atomic_write(tmp_path / "a", b"x")
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("failing", [1, 2, 3])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")])
def test_a_failed_or_interrupted_step_brings_the_old_folder_back(
    goal: Path, monkeypatch: pytest.MonkeyPatch, failing: int, error: BaseException
) -> None:
    calls, rename = 0, os.rename

    def interrupted(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise error
        rename(source, target)

    with pytest.raises((RetvecLiteError, KeyboardInterrupt)), atomic_directory(goal, force=True, owned=OWNED) as folder:
        (folder / "new.tflite").write_bytes(b"new")
        monkeypatch.setattr(os, "rename", interrupted)
    assert names(goal) == ["old.tflite"] and (goal / "old.tflite").read_bytes() == b"old"
    kept = ["dist", "dist.new-1"] if isinstance(error, OSError) else ["dist"]
    assert names(goal.parent) == kept


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
@pytest.mark.parametrize("mode", ["file", "folder"])
@pytest.mark.parametrize(
    "step", [pytest.param(37, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.exhaustive)]
)
def test_a_kill_at_any_moment_loses_nothing_and_leaves_nothing(tmp_path: Path, mode: str, step: int) -> None:
    done = subprocess.run(
        [sys.executable, killed_writer.__file__, str(tmp_path), mode, str(step)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 70


def test_a_folder_where_a_file_of_ours_belongs_is_the_users(tmp_path: Path) -> None:
    (tmp_path / "dist" / "README.md").mkdir(parents=True)
    (tmp_path / "dist" / "README.md" / "thesis.txt").write_text("mine")
    (tmp_path / "dist" / "a.mlpackage").mkdir()
    for owned, problem in (
        (("README.md", "*.mlpackage/"), "README.md/"),
        (("README.md/", "*.mlpackage"), "a.mlpackage/"),
    ):
        sentence = f"contains {problem}, which this command did not write"
        with (
            pytest.raises(RetvecLiteError, match=sentence),
            atomic_directory(tmp_path / "dist", force=True, owned=owned),
        ):
            pass
    assert (tmp_path / "dist" / "README.md" / "thesis.txt").read_text() == "mine"
