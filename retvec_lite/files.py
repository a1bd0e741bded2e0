"""Writing that never leaves half a file: beside the goal first, then flushed to disk, then renamed into place."""

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
    """The one sentence for an operating-system error on `path`: a full disk, no permission, a file in the way."""
    name = os.fspath(path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return RetvecLiteError(
            f"Expected room on the disk to write {name}, received: {error.strerror}; nothing was left."
        )
    return RetvecLiteError(f"Expected to be able to write {name}, received: {error.strerror or error}.")


def refuse_existing(path: str | os.PathLike[str], force: bool) -> None:
    """Stop before any work is done when `path` is already there; an empty directory does not count.

    Raises:
        RetvecLiteError: when something is there and `force` is off.
    """
    goal = Path(path)
    if force or not os.path.lexists(goal):
        return
    try:
        if goal.is_dir() and not any(goal.iterdir()):
            return
    except OSError as error:
        raise explain_os_error(error, path) from error
    raise RetvecLiteError(
        f"Expected {goal} not to exist, but it does: choose another name or pass --force to replace it."
    )


def require_room(path: str | os.PathLike[str], needed: int) -> None:
    """Stop before long work whose result would not fit on the disk.

    Args:
        path: what will be written; it and its parents need not exist.
        needed: bytes.

    Raises:
        RetvecLiteError: when the disk has less room than that.
    """
    place = Path(os.path.realpath(path))
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        raise explain_os_error(error, path) from error
    if free < needed:
        raise RetvecLiteError(f"Expected room for {needed:,} bytes on the disk to write {path}, received {free:,}.")


def _beside(goal: Path) -> Path:
    return goal.with_name(f".{goal.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")


def _flush_directory(path: Path) -> None:
    """Make renames inside `path` survive a power cut, where the platform can open a directory (Windows cannot)."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def atomic_write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole or not at all, replacing what is there (call `refuse_existing` first where that matters).

    Missing parent directories are made. A symbolic link is followed, so that the file it names is replaced.

    Raises:
        RetvecLiteError: when the place cannot be written, the disk is full, or `path` is no regular file.
    """
    goal = Path(os.path.realpath(path))
    temporary = _beside(goal)
    try:
        if goal.exists() and not goal.is_file():
            raise RetvecLiteError(f"Expected {path} to be a regular file or not to exist, received something else.")
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
    """Fill a directory whole or not at all: yields an empty one beside `path` that takes its place on success.

    On any exception, Ctrl-C included, the new directory is removed and the old one is still there.

    Args:
        path: the directory to make; an empty one may be there already.
        force: replace what is there, as long as it holds nothing but what this command writes itself.
        owned: the name patterns (`*.tflite`) of what the command writes, all that `force` may replace.

    Raises:
        RetvecLiteError: for an existing directory without `force`, one with files that are not `owned`, a place that
            cannot be written, a full disk.
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


def _move_into_place(temporary: Path, goal: Path, retired: Path) -> None:
    try:
        _flush_tree(temporary)
        # A directory cannot be renamed over a full one: the old one steps aside, and back if anything stops us.
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


def _refuse_foreign(goal: Path, owned: Sequence[str]) -> None:
    if not goal.exists():
        return
    if not goal.is_dir():
        raise RetvecLiteError(f"Expected {goal} to be a directory or not to exist, received a file.")
    if Path.cwd() == goal or goal in Path.cwd().parents:
        raise RetvecLiteError(f"Expected an output directory beside the current one, received {goal}, which holds it.")
    try:
        names = sorted(entry.name for entry in goal.iterdir())
    except OSError as error:
        raise explain_os_error(error, goal) from error
    for name in names:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in owned):
            raise RetvecLiteError(
                f"Expected {goal} to hold nothing but what this command writes, received {name}: move it away first."
            )


def _flush_tree(directory: Path) -> None:
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), "r+b") as file:
                os.fsync(file.fileno())
        _flush_directory(Path(folder))
