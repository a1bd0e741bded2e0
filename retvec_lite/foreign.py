"""What somebody else may have put in the way: links and pipes under our own names, and files too large to be read whole."""

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from retvec_lite.errors import RetvecLiteError

LARGEST: Final = 1 << 28
"""Bytes of a file that is read whole: hundreds of times those of a classifier. A sparse file of any length takes no room on a disk."""

_KINDS: Final = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class InTheWay(FileExistsError):
    """Something that is not ours has the name of a file or folder of ours."""


def _require_file(path: Path) -> None:
    """Raise InTheWay where there is anything but a file of one name: writing to it would change something elsewhere."""
    status = _status(path)
    if status is None:
        return
    if not stat.S_ISREG(status.st_mode):
        raise _in_the_way(path, f"{_kind(status)}, where a file of ours belongs")
    if status.st_nlink > 1:
        raise _in_the_way(path, "a file that has other names too (hard links)")


def _require_folder(path: Path) -> None:
    """Raise InTheWay where there is anything but a folder: what lies behind a link belongs to somebody else."""
    status = _status(path)
    # A junction of Windows is no link for lstat, and has the attribute of one.
    is_junction = status is not None and getattr(status, "st_file_attributes", 0) & 0x400
    if status is not None and (is_junction or not stat.S_ISDIR(status.st_mode)):
        raise _in_the_way(path, f"{'a link' if is_junction else _kind(status)}, where a folder of ours belongs")


def require_entries(folder: Path, entries: Mapping[str, bool]) -> None:
    """Raise InTheWay unless what bears our names in a folder of ours is ours, and the folder itself. Missing ones pass.

    Nothing is followed. Who may write in the folder can exchange an entry after it was checked. `entries` maps each name to whether it
    is a folder.
    """
    _require_folder(folder)
    for name, is_folder in entries.items():
        (_require_folder if is_folder else _require_file)(folder / name)


def read_whole(path: Path, largest: int = LARGEST) -> bytes:
    """Return what a file holds.

    Raises:
        RetvecLiteError: for a file of more than `largest` bytes, before they are read, and for what is no file.
        OSError: for a file that cannot be read.
    """
    # Opening a pipe would wait for somebody to write to it.
    if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
        raise RetvecLiteError(f"Cannot read {path}: it is no file.")
    with path.open("rb") as file:
        require_size(path, os.fstat(file.fileno()).st_size, largest)
        data = file.read(largest + 1)
    require_size(path, len(data), largest)
    return data


def read_file(path: Path, largest: int = LARGEST) -> bytes:
    """Return what a file holds, as `read_whole` does; raises RetvecLiteError for one that cannot be read, too."""
    try:
        return read_whole(path, largest)
    except OSError as error:
        raise RetvecLiteError(f"Cannot read {path}: {error.strerror or error}.") from error


def require_size(path: str | os.PathLike[str], size: int, largest: int = LARGEST) -> None:
    """Raise RetvecLiteError for a file of more than `largest` bytes."""
    if size > largest:
        raise RetvecLiteError(
            f"{os.fspath(path)} has {size:,} bytes or more, but at most {largest:,} are read: no file of ours is so large."
        )


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _kind(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "a device")


def _in_the_way(path: Path, what: str) -> InTheWay:
    return InTheWay(errno.EEXIST, f"{path} is {what}. Move it away", os.fspath(path))


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# How systems say that another process has a lock.
_HELD: Final = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)


def open_locked(path: Path) -> int:
    """Open a file, made if missing, and lock it until its descriptor is closed.

    Raises BlockingIOError where another process did, and InTheWay where there is anything but a file of one name.
    """
    while True:
        _require_file(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            if sys.platform == "win32":
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # Some network file systems have no locks: writing there is better than refusing to.
            if error.errno in _HELD:
                os.close(descriptor)
                raise BlockingIOError(error.errno, error.strerror) from error
        # Its last owner may have renamed or removed it after it was opened here.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(found := os.fstat(descriptor), os.lstat(path)) and found.st_nlink < 2:
                return descriptor
        os.close(descriptor)
