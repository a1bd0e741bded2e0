"""Writing where others write too: locks, foreign files, mount points, other file systems, killed runs."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import killed_writer
import pytest

from retvec_lite import places
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_directory, atomic_write

OWNED = ("*.tflite", "labels.txt")


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.fixture(params=["exchange", "renames", "mount point"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the old folder makes room for the new one."""
    if request.param == "exchange" and sys.platform != "linux":
        pytest.skip("only Linux exchanges two folders in one step")
    if request.param == "renames":
        monkeypatch.setattr(places, "exchange", lambda *_: False)
    if request.param == "mount point":
        monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "dist")
    return str(request.param)


@pytest.fixture
def goal(tmp_path: Path, way: str) -> Path:
    """An earlier result."""
    goal = tmp_path / "dist"
    goal.mkdir()
    (goal / "old.tflite").write_bytes(b"old")
    return goal


def test_a_folder_is_replaced_and_nothing_is_left(goal: Path) -> None:
    with atomic_directory(goal, force=True, owned=OWNED) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "new.tflite").touch()
    assert names(goal) == ["sub"] and names(goal.parent) == ["dist"] and names(goal / "sub") == ["new.tflite"]


def test_what_somebody_else_puts_there_meanwhile_stays_and_the_result_too(goal: Path) -> None:
    with (
        pytest.raises(
            RetvecLiteError,
            match=r"dist was changed by somebody else meanwhile, and stays as it is\. The new .* is in ",
        ),
        atomic_directory(goal, force=True, owned=OWNED) as folder,
    ):
        (folder / "new.tflite").write_bytes(b"new")
        (goal / "thesis.docx").write_bytes(b"mine")
    assert names(goal) == ["old.tflite", "thesis.docx"]
    assert names(goal.parent) == ["dist", "dist.new-1"]
    assert (goal.parent / "dist.new-1" / "new.tflite").read_bytes() == b"new"


def test_a_result_that_another_program_replaced_meanwhile_stays(goal: Path) -> None:
    with (
        pytest.raises(RetvecLiteError, match=r"changed by somebody else"),
        atomic_directory(goal, force=True, owned=OWNED) as folder,
    ):
        (folder / "new.tflite").touch()
        (goal / "old.tflite").write_bytes(b"a better one")
    assert (goal / "old.tflite").read_bytes() == b"a better one"


def test_a_folder_that_appears_or_fills_meanwhile_stays_without_force(tmp_path: Path) -> None:
    for number, there in enumerate((False, True)):
        goal = tmp_path / str(number) / "dist"
        if there:
            goal.mkdir(parents=True)
        with pytest.raises(RetvecLiteError, match="changed by somebody else"), atomic_directory(goal) as folder:
            (folder / "new.tflite").touch()
            goal.mkdir(exist_ok=True)
            (goal / "old.tflite").touch()
        assert names(goal) == ["old.tflite"] and names(goal.parent) == ["dist", "dist.new-1"]


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
    descriptor = places.open_locked(tmp_path / ".a.retvec-lite-new")
    with pytest.raises(RetvecLiteError, match=r"^Another process is writing .*a\. Wait"):
        atomic_write(tmp_path / "a", b"")
    os.close(descriptor)
    atomic_write(tmp_path / "a", b"x")
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("code", [errno.EBUSY, errno.EXDEV])
@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_cannot_be_renamed_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, there: bool
) -> None:
    """A bind mount, or a folder of a lower layer in a container: known only when it is tried."""
    goal = tmp_path / "dist"
    goal.mkdir()
    if there:
        (goal / "old.tflite").touch()
    rename = os.rename

    def refuse(source: Path, target: Path) -> None:
        if goal in (source, target):
            raise OSError(code, os.strerror(code))
        rename(source, target)

    def never(*_: Path) -> bool:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "rename", refuse)
    monkeypatch.setattr(places, "exchange", never)
    with atomic_directory(goal, force=True, owned=OWNED) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "new.tflite").touch()
    assert names(goal) == ["sub"] and names(goal / "sub") == ["new.tflite"] and names(tmp_path) == ["dist"]


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting needs Linux and root")
def test_a_real_mount_point_is_filled(tmp_path: Path) -> None:
    goal = tmp_path / "dist"
    goal.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", goal], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        (goal / "lost+found").mkdir()
        for name in ("one.tflite", "two.tflite"):
            with atomic_directory(goal, force=name == "two.tflite", owned=OWNED) as folder:
                (folder / name).touch()
            assert names(goal) == ["lost+found", name]
    finally:
        subprocess.run(["umount", goal], check=True)


@pytest.mark.parametrize("failing", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")])
def test_a_failed_or_interrupted_step_brings_the_old_folder_back(
    goal: Path, monkeypatch: pytest.MonkeyPatch, way: str, failing: int, error: BaseException
) -> None:
    if way == "exchange":
        pytest.skip("there it is one step")
    calls, rename = 0, os.rename

    def interrupted(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise error
        rename(source, target)

    with (
        pytest.raises((RetvecLiteError, KeyboardInterrupt)),
        atomic_directory(goal, force=True, owned=OWNED) as folder,
    ):
        (folder / "new.tflite").write_bytes(b"new")
        monkeypatch.setattr(os, "rename", interrupted)
    assert names(goal) == ["old.tflite"] and (goal / "old.tflite").read_bytes() == b"old"
    kept = ["dist", "dist.new-1"] if isinstance(error, OSError) else ["dist"]
    assert names(goal.parent) == kept


def test_a_link_in_the_place_of_a_temporary_file_is_not_followed(tmp_path: Path) -> None:
    if not hasattr(os, "O_NOFOLLOW"):
        pytest.skip("this system always follows links")
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / ".a.retvec-lite-new").symlink_to(tmp_path / "victim")
    with pytest.raises(RetvecLiteError):
        atomic_write(tmp_path / "a", b"x")
    assert (tmp_path / "victim").read_bytes() == b"precious"


@pytest.mark.skipif(os.name == "nt", reason="Windows needs a privilege to make symbolic links")
def test_a_link_in_the_place_of_the_work_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim" / "new").mkdir(parents=True)
    (tmp_path / "victim" / "new" / "thesis").touch()
    (tmp_path / f".dist{places.WORK}").symlink_to(tmp_path / "victim")
    with pytest.raises(RetvecLiteError, match="a link is in the way"), atomic_directory(tmp_path / "dist"):
        raise AssertionError("not reached")
    assert names(tmp_path / "victim" / "new") == ["thesis"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
@pytest.mark.parametrize("mode", ["file", "exchange", "renames", "mount point"])
@pytest.mark.parametrize(
    "step", [pytest.param(37, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.exhaustive)]
)
def test_a_kill_at_any_moment_loses_nothing_and_leaves_nothing(tmp_path: Path, mode: str, step: int) -> None:
    if mode == "exchange" and sys.platform != "linux":
        pytest.skip("only Linux exchanges two folders in one step")
    done = subprocess.run(
        [sys.executable, killed_writer.__file__, str(tmp_path), mode, str(step)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 70
