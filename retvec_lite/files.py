"""Write files and folders whole or not at all: write to a temporary name beside the goal, flush to disk, rename."""

import contextlib
import errno
import fnmatch
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from retvec_lite.errors import RetvecLiteError


def explain_os_error(error: OSError, path: str | os.PathLike[str]) -> RetvecLiteError:
    """Return the error to raise when writing `path` failed: full disk, no permission, a file in the way."""
    name = os.fspath(path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return RetvecLiteError(f"No room to write {name}: {error.strerror}. Free some space; no partial file is left.")
    return RetvecLiteError(f"Cannot write {name}: {error.strerror or error}.")


def refuse_existing(path: str | os.PathLike[str], force: bool) -> None:
    """Refuse an output path that already exists, before any work is done. An empty folder is accepted.

    Raises:
        RetvecLiteError: when `path` exists and `force` is off.
    """
    goal = Path(path)
    if force or not os.path.lexists(goal):
        return
    try:
        if goal.is_dir() and not any(goal.iterdir()):
            return
    except OSError as error:
        raise explain_os_error(error, path) from error
    raise RetvecLiteError(f"{goal} already exists. Choose another name, or replace it with --force.")


def require_room(path: str | os.PathLike[str], needed: int) -> None:
    """Check the free disk space before long work.

    Args:
        path: the future output; it and its parents need not exist.
        needed: bytes.

    Raises:
        RetvecLiteError: when the disk has less free space.
    """
    place = Path(os.path.realpath(path))
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        raise explain_os_error(error, path) from error
    if free < needed:
        raise RetvecLiteError(f"Not enough disk space for {path}: {needed:,} bytes needed, {free:,} free.")


def atomic_write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole or not at all. Replaces an existing file; call `refuse_existing` first to prevent that.

    Creates missing parent folders. Follows a symbolic link and replaces its target.

    Raises:
        RetvecLiteError: when the file cannot be written, the disk is full, or `path` is not a regular file.
    """
    goal = Path(os.path.realpath(path))
    temporary = _beside(goal)
    try:
        if goal.exists() and not goal.is_file():
            raise RetvecLiteError(f"{path} exists and is not a regular file. Choose another name.")
        goal.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if goal.exists():
                os.chmod(temporary, stat.S_IMODE(goal.stat().st_mode))
            os.replace(temporary, goal)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_directory(goal.parent)
    except OSError as error:
        raise explain_os_error(error, path) from error


@contextlib.contextmanager
def atomic_directory(path: str | os.PathLike[str], *, force: bool = False, owned: Sequence[str] = ()) -> Iterator[Path]:
    """Write a folder whole or not at all. Yields an empty temporary folder, which replaces `path` on success.

    On any exception, including Ctrl-C, removes the temporary folder and leaves `path` unchanged.

    Args:
        path: the folder to write; it may exist when it is empty.
        force: replace an existing folder that contains `owned` files only.
        owned: name patterns (such as `*.tflite`) of the files that the command writes and `force` may replace.

    Raises:
        RetvecLiteError: for an existing folder without `force`, a folder with files that are not `owned`, a path that
            cannot be written, or a full disk.
    """
    goal = Path(os.path.realpath(path))
    refuse_existing(goal, force)
    _refuse_foreign(goal, owned)
    temporary, retired = _beside(goal), _beside(goal)
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
    except OSError as error:
        raise explain_os_error(error, path) from error
    try:
        yield temporary
        _move_into_place(temporary, goal, retired)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if goal.exists():
            shutil.rmtree(retired, ignore_errors=True)


def _refuse_foreign(goal: Path, owned: Sequence[str]) -> None:
    """Refuse to replace a folder that contains anything but `owned` files."""
    if not goal.exists():
        return
    if not goal.is_dir():
        raise RetvecLiteError(f"{goal} is a file, not a folder. Choose another name.")
    if Path.cwd() == goal or goal in Path.cwd().parents:
        raise RetvecLiteError(f"{goal} contains the current folder and cannot be replaced. Choose another folder.")
    try:
        names = sorted(entry.name for entry in goal.iterdir())
    except OSError as error:
        raise explain_os_error(error, goal) from error
    for name in names:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in owned):
            raise RetvecLiteError(
                f"{goal} contains {name}, which this command did not write. Move it away or choose another folder."
            )


def _move_into_place(temporary: Path, goal: Path, retired: Path) -> None:
    try:
        _flush_tree(temporary)
        # A folder cannot be renamed over a full one: move the old one aside, and back if anything fails.
        try:
            if goal.exists():
                os.rename(goal, retired)
            os.rename(temporary, goal)
        except BaseException:
            if retired.exists() and not goal.exists():
                os.rename(retired, goal)
            raise
        _flush_directory(goal.parent)
    except OSError as error:
        raise explain_os_error(error, goal) from error


def _flush_tree(directory: Path) -> None:
    """Flush every file of a folder to disk."""
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), "r+b") as file:
                os.fsync(file.fileno())
        _flush_directory(Path(folder))


def _beside(goal: Path) -> Path:
    """Return a new hidden name in the folder of `goal`, so that renaming stays on one disk."""
    return goal.with_name(f".{goal.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")


def _flush_directory(path: Path) -> None:
    """Make renames inside `path` survive a power cut. Windows cannot open a folder, so skip it there."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
