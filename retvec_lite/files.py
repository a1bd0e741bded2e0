"""Write files and folders whole or not at all: write to a temporary name beside the destination, flush to disk, rename."""

import contextlib
import errno
import fnmatch
import itertools
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from retvec_lite.errors import RetvecLiteError
from retvec_lite.places import Changed, contents, entries, flush_directory, flush_tree, open_locked, put, work_folder


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
        if destination.is_dir() and not entries(destination):
            return
    except OSError as error:
        raise explain_os_error(error, path) from error
    raise RetvecLiteError(
        f"{destination} already exists. Choose another name, or replace it with --force (in Python: force=True)."
    )


def require_writable(path: str | os.PathLike[str], force: bool) -> None:
    """Check, before long work, that a file can be written. Creates missing parent folders.

    Raises:
        RetvecLiteError: when `path` exists and `force` is off, is a folder, or its folder cannot be written.
    """
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise RetvecLiteError(f"{path} is a folder. Name a file in it.")
    refuse_existing(path, force)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.parent):
            pass
    except OSError as error:
        raise explain_os_error(error, path) from error


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


def atomic_write(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Write a file whole or not at all. Replaces an existing file; call `refuse_existing` first to prevent that.

    Creates missing parent folders. Follows a symbolic link and replaces its target. What a killed process leaves beside the
    file is used by the next one that writes it.

    Raises:
        RetvecLiteError: when the file cannot be written, the disk is full, `path` is not a regular file, or another process
            is writing it.
    """
    destination = Path(os.path.realpath(path))
    temporary = destination.with_name(f".{destination.name}.retvec-lite-new")
    try:
        if destination.exists() and not destination.is_file():
            raise RetvecLiteError(f"{path} exists and is not a regular file. Choose another name.")
        destination.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = open_locked(temporary)
        except BlockingIOError as error:
            raise busy(path) from error
        with contextlib.ExitStack() as lock:
            lock.callback(os.close, descriptor)
            try:
                with open(descriptor, "wb", closefd=False) as file:
                    file.truncate()
                    file.write(data)
                    file.flush()
                    os.fsync(descriptor)
                if destination.exists():
                    os.chmod(temporary, stat.S_IMODE(destination.stat().st_mode))
                if os.name == "nt":  # an open file cannot be renamed there
                    lock.close()
                os.replace(temporary, destination)
            except BaseException:
                if os.name == "nt":
                    lock.close()
                temporary.unlink(missing_ok=True)
                raise
        flush_directory(destination.parent)
    except OSError as error:
        raise explain_os_error(error, path) from error


@contextlib.contextmanager
def atomic_directory(path: str | os.PathLike[str], *, force: bool = False, owned: Sequence[str] = ()) -> Iterator[Path]:
    """Write a folder whole or not at all. Yields an empty temporary folder, which replaces `path` on success.

    On any exception, including Ctrl-C, removes the temporary folder and leaves `path` unchanged. What the block puts into
    a folder `KEPT` beside the temporary one stays for the next run of the same `path`, until one succeeds. While the block runs, no
    other process can write the same folder. When the new folder cannot take its place in the end, because somebody else
    has put something there, it is kept beside `path`.

    Args:
        path: the folder to write; it may exist when it is empty. It may be a mount point.
        force: replace an existing folder that contains `owned` files only.
        owned: name patterns (such as `*.tflite`) of the files that the command writes and `force` may replace.

    Raises:
        RetvecLiteError: for an existing folder without `force`, a folder with files that are not `owned`, one that another
            process is writing or that changed meanwhile, a path that cannot be written, or a full disk.
    """
    destination = Path(os.path.realpath(path))
    refuse_existing(destination, force)
    _refuse_foreign(destination, owned)
    with contextlib.ExitStack() as stack:
        try:
            destination.parent.mkdir(parents=True, exist_ok=True)
            work = stack.enter_context(work_folder(destination))
            # Again, because a killed run may have been undone, and another one may just have finished.
            refuse_existing(destination, force)
            _refuse_foreign(destination, owned)
            before = contents(destination)
            new = work / "new"
            new.mkdir()
        except BlockingIOError as error:
            raise busy(path) from error
        except OSError as error:
            raise explain_os_error(error, path) from error
        yield new
        try:
            flush_tree(new)
        except OSError as error:  # it may not be whole
            raise explain_os_error(error, destination) from error
        try:
            put(new, destination, work, before)
        except Changed as error:
            raise RetvecLiteError(
                f"{destination} was changed by somebody else meanwhile, and stays as it is. The new result is in "
                f"{_keep(new, destination)}."
            ) from error
        except OSError as error:
            reason = str(explain_os_error(error, destination)).removesuffix(".")
            raise RetvecLiteError(f"{reason}. The new result is in {_keep(new, destination)}.") from error


def _keep(new: Path, destination: Path) -> Path:
    """Move a result that cannot take its place to a free name beside it, or else into the system's temporary folder."""
    for number in itertools.count(1):
        place = destination.with_name(f"{destination.name}.new-{number}")
        if not os.path.lexists(place):
            break
    try:
        os.rename(new, place)
    except OSError:
        place = Path(tempfile.mkdtemp(prefix=f"{destination.name}.new-"))
        shutil.copytree(new, place, dirs_exist_ok=True)
    return place


def busy(path: str | os.PathLike[str]) -> RetvecLiteError:
    """Return the error to raise when another process is writing `path`."""
    return RetvecLiteError(
        f"Another process is writing {os.fspath(path)}. Wait until it has finished, or choose another name."
    )


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
        names = [entry.name for entry in entries(destination)]
    except OSError as error:
        raise explain_os_error(error, destination) from error
    for name in names:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in owned):
            raise RetvecLiteError(
                f"{destination} contains {name}, which this command did not write. Move it away or choose another folder."
            )
