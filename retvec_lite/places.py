"""Locks, and exchanging folders: what `retvec_lite.files` needs to write whole or not at all.

While a folder is written there is a work folder: hidden beside it, or inside it where it cannot be renamed. It holds the lock of
the run (`lock`), its unfinished result (`new`), what lets a run that is killed go on (`kept`), and for a moment the result that is
replaced (`old`). A killed run leaves it; the next run of the same target brings an old result back from it, and removes the rest but
`kept`, which goes when a run has succeeded.
"""

import contextlib
import ctypes
import errno
import functools
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

WORK: Final = ".retvec-lite"
"""The work folder inside a target; the one beside it is called `.NAME.retvec-lite`."""

KEPT: Final = "kept"
"""Folder inside a work folder for what a run goes on from after a failure or a kill."""

_IGNORED: Final = (WORK, "lost+found")
"""What does not count as content: our own, and what ext4 puts into every volume."""

_HELD: Final = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
"""How systems say that another process has a lock."""

_FIXED: Final = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS)
"""How systems say that a folder cannot be renamed: a mount point, another file system, no permission in the folder above."""

Contents = dict[str, tuple[int, int] | None]
"""Path inside a folder -> (size, time of the last change in ns); None for folders."""

_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2


def open_locked(path: Path) -> int:
    """Open a file, made if missing, and lock it until its descriptor is closed or the process ends.

    Raises:
        BlockingIOError: when another process holds it.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            _lock(descriptor)
            # Its last owner may have renamed or removed it after it was opened here.
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network file systems have no locks: writing there is better than refusing to.
        if error.errno in _HELD:
            raise BlockingIOError(error.errno, error.strerror) from error


def contents(folder: Path) -> Contents:
    """Return what is in a folder, its folders included; empty for no folder.

    Raises:
        NotADirectoryError: for a file.
    """
    found: Contents = {}
    for entry in entries(folder):
        if entry.is_dir() and not entry.is_symlink():
            found[entry.name] = None
            found |= {f"{entry.name}/{name}": value for name, value in contents(entry).items()}
        else:
            status = entry.lstat()
            found[entry.name] = (status.st_size, status.st_mtime_ns)
    return found


def entries(folder: Path) -> list[Path]:
    """Return what lies in a folder, sorted by name, but for work folders; nothing for no folder.

    Raises:
        NotADirectoryError: for a file.
    """
    try:
        return [entry for entry in sorted(folder.iterdir()) if entry.name not in _IGNORED]
    except FileNotFoundError:
        return []


def is_fixed(folder: Path) -> bool:
    """Tell whether a folder exists but cannot be renamed: a mount point, or one in a folder without permission to write."""
    return folder.is_dir() and (os.path.ismount(folder) or not os.access(folder.parent, os.W_OK | os.X_OK))


@contextlib.contextmanager
def work_folder(target: Path) -> Iterator[Path]:
    """Lock a target, clean up after a killed run, and yield its work folder, which is removed in the end.

    When the block raises, `KEPT` stays.

    Raises:
        BlockingIOError: when another run holds the lock.
    """
    work = target / WORK if is_fixed(target) else target.with_name(f".{target.name}{WORK}")
    while True:
        work.mkdir(parents=True, exist_ok=True)
        # Where others may write too, a link must not lead the cleaning elsewhere.
        if work.is_symlink():
            raise FileExistsError(errno.EEXIST, "a link is in the way", os.fspath(work))
        try:
            lock = open_locked(work / "lock")
            break
        except FileNotFoundError:  # the run before has just removed it
            continue
    try:
        _recover(target, work)
        yield work
        shutil.rmtree(work / KEPT, ignore_errors=True)
    finally:
        # `old` is left where bringing it back failed: the next run tries again.
        for place in {target / WORK, work}:
            shutil.rmtree(place / "new", ignore_errors=True)
            with contextlib.suppress(OSError):
                (place / "moving").unlink()
        with contextlib.suppress(OSError):
            (target / WORK).rmdir()
        if sys.platform == "win32":  # an open file cannot be removed there
            os.close(lock)
            lock = -1
        with contextlib.suppress(OSError):
            (work / "lock").unlink()
            work.rmdir()
        if lock >= 0:
            os.close(lock)


def _recover(target: Path, work: Path) -> None:
    """Undo what a killed run had begun."""
    inside = target / WORK
    if (inside / "old").is_dir():
        _undo(target, inside)
    old = work / "old"
    if work != inside and old.is_dir():
        if target.exists():
            shutil.rmtree(old)
        else:
            os.rename(old, target)
    for place in {inside, work}:
        shutil.rmtree(place / "new", ignore_errors=True)


class Changed(Exception):
    """Somebody else changed the target meanwhile."""


def put(new: Path, target: Path, work: Path, before: Contents) -> None:
    """Put a new folder in the place of the target, in one step where the system can.

    Args:
        new: the folder, flushed to disk; it is gone afterwards.
        target: what it becomes.
        work: the work folder of the target.
        before: the `contents` of the target when the work began; they are removed.

    Raises:
        Changed: when the target holds something else by now. It is as it was.
        OSError: when it cannot be written. It is as it was.
    """
    if contents(target) != before:
        raise Changed
    if work.parent == target:
        _fill(new, target, work, before)
        return
    try:
        _replace(new, target, work, before)
    except OSError as error:
        if error.errno not in _FIXED or not target.is_dir():
            raise
        inside = target / WORK
        inside.mkdir(exist_ok=True)
        shutil.copytree(new, inside / "new")
        flush_tree(inside / "new")
        _fill(inside / "new", target, inside, before)
        shutil.rmtree(new, ignore_errors=True)


def _replace(new: Path, target: Path, work: Path, before: Contents) -> None:
    """Rename the new folder to the target's name."""
    old = work / "old"
    if not target.exists():
        os.rename(new, target)
    elif not before and sys.platform != "win32":
        # Replaces an empty folder only.
        try:
            os.rename(new, target)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise Changed from error
            raise
    elif exchange(new, target):
        if contents(new) != before:
            exchange(new, target)
            raise Changed
    else:
        try:
            os.rename(target, old)
            if contents(old) != before:
                raise Changed
            os.rename(new, target)
        except BaseException:
            if old.exists() and not target.exists():
                os.rename(old, target)
            raise
        shutil.rmtree(old)
    flush_directory(target.parent)


def _fill(new: Path, target: Path, work: Path, before: Contents) -> None:
    """Exchange the content of a folder that cannot be renamed. `_undo` takes it back after a failure, or a kill."""
    old = work / "old"
    names = [entry.name for entry in entries(new)]
    old.mkdir()
    try:
        for name in [name for name in before if "/" not in name]:
            os.rename(target / name, old / name)
        if entries(target):
            raise Changed
        (work / "moving").write_text(json.dumps(names), encoding="utf-8")
        os.replace(work / "moving", work / "moved")
        for name in names:
            os.rename(new / name, target / name)
        flush_directory(target)
    except BaseException:
        _undo(target, work)
        raise
    # From here on the new content stays: `new` is empty and nothing is being moved.
    (work / "moved").unlink()
    shutil.rmtree(old)


def _undo(target: Path, work: Path) -> None:
    """Bring back what `_fill` moved away. Does nothing when it had finished."""
    moved = work / "moved"
    if not moved.exists() and not entries(work / "new"):
        shutil.rmtree(work / "old", ignore_errors=True)
        return
    if moved.exists():
        (work / "new").mkdir(exist_ok=True)
        for name in json.loads(moved.read_text(encoding="utf-8")):
            with contextlib.suppress(FileNotFoundError):
                os.rename(target / name, work / "new" / name)
        moved.unlink()
    for entry in entries(work / "old"):
        os.rename(entry, target / entry.name)
    (work / "old").rmdir()


def exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; return False, and change nothing, where the system or the file system cannot."""
    function = _renameat2()
    if function is None:
        return False
    if function(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), os.fspath(second))


@functools.cache
def _renameat2() -> Any:
    """Return Linux's `renameat2` (glibc 2.28, musl 1.2.4 or newer); None where it is missing."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def flush_tree(directory: Path) -> None:
    """Flush every file of a folder to disk."""
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), "r+b") as file:
                os.fsync(file.fileno())
        flush_directory(Path(folder))


def flush_directory(path: Path) -> None:
    """Make renames inside `path` survive a power cut. Windows cannot open a folder, so skip it there."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
