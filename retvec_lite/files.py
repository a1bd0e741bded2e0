"""Write files and folders whole or not at all: write to a temporary name beside the destination, flush to disk, rename."""

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
    destination = Path(path)
    if force or not os.path.lexists(destination):
        return
    try:
        if destination.is_dir() and not any(destination.iterdir()):
            return
    except OSError as error:
        raise explain_os_error(error, path) from error
    raise RetvecLiteError(
        f"{destination} already exists. Choose another name, or replace it with --force (in Python: force=True)."
    )


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
    destination = Path(os.path.realpath(path))
    temporary = _beside(destination)
    try:
        if destination.exists() and not destination.is_file():
            raise RetvecLiteError(f"{path} exists and is not a regular file. Choose another name.")
        destination.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if destination.exists():
                os.chmod(temporary, stat.S_IMODE(destination.stat().st_mode))
            os.replace(temporary, destination)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_directory(destination.parent)
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
    destination = Path(os.path.realpath(path))
    refuse_existing(destination, force)
    _refuse_foreign(destination, owned)
    temporary, retired = _beside(destination), _beside(destination)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
    except OSError as error:
        raise explain_os_error(error, path) from error
    try:
        yield temporary
        _move_into_place(temporary, destination, retired)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if destination.exists():
            shutil.rmtree(retired, ignore_errors=True)


def _refuse_foreign(destination: Path, owned: Sequence[str]) -> None:
    """Refuse to replace a folder that contains anything but `owned` files."""
    if not destination.exists():
        return
    if not destination.is_dir():
        raise RetvecLiteError(f"{destination} is a file, not a folder. Choose another name.")
    if Path.cwd() == destination or destination in Path.cwd().parents:
        raise RetvecLiteError(
            f"{destination} contains the current folder and cannot be replaced. Choose another folder."
        )
    try:
        names = sorted(entry.name for entry in destination.iterdir())
    except OSError as error:
        raise explain_os_error(error, destination) from error
    for name in names:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in owned):
            raise RetvecLiteError(
                f"{destination} contains {name}, which this command did not write. Move it away or choose another folder."
            )


def _move_into_place(temporary: Path, destination: Path, retired: Path) -> None:
    try:
        _flush_tree(temporary)
        # A folder cannot be renamed over a full one: move the old one aside, and back if anything fails.
        try:
            if destination.exists():
                os.rename(destination, retired)
            os.rename(temporary, destination)
        except BaseException:
            if retired.exists() and not destination.exists():
                os.rename(retired, destination)
            raise
        _flush_directory(destination.parent)
    except OSError as error:
        raise explain_os_error(error, destination) from error


def _flush_tree(directory: Path) -> None:
    """Flush every file of a folder to disk."""
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), "r+b") as file:
                os.fsync(file.fileno())
        _flush_directory(Path(folder))


def _beside(destination: Path) -> Path:
    """Return a new hidden name in the folder of `destination`, so that renaming stays on one disk."""
    return destination.with_name(f".{destination.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")


def _flush_directory(path: Path) -> None:
    """Make renames inside `path` survive a power cut. Windows cannot open a folder, so skip it there."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
