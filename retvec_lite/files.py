"""Write files and folders whole or not at all: lock, write to a temporary name, flush to disk, rename.

While a folder is written there is a hidden work folder in it. It holds the lock of the run (`lock`), its unfinished result (`new`), and
for a moment the result that is replaced (`old`) and the one that replaces it (`ready`); what teachers said of texts (`answers`) stays. The next run of the same target finishes or
undoes what a killed run had begun, and removes the rest. The target itself is never renamed: it may be a mount point.
"""

import contextlib
import csv
import errno
import fnmatch
import io
import itertools
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from retvec_lite.errors import RetvecLiteError
from retvec_lite.foreign import InTheWay, open_locked, require_entries

WORK: Final = ".retvec-lite"
"""The work folder inside a target."""

_PATIENCE: Final = 5.0
"""Seconds that one who has all bytes of a file waits for another writer."""

# What a work folder holds, and whether it is a folder.
ANSWERS: Final = "answers"
_OURS: Final = {"lock": False, "new": True, "old": True, "ready": True, ANSWERS: True}
# What does not count as content: our own, and what ext4 puts into every volume.
_IGNORED: Final = (WORK, "lost+found")


class _Changed(OSError):
    """Somebody else changed the target meanwhile. It is as it was."""


def explain_os_error(error: OSError, path: str | os.PathLike[str]) -> RetvecLiteError:
    """Return the error to raise when writing `path` failed: full disk, no permission, a file or another process in the way."""
    name = os.fspath(path)
    if isinstance(error, BlockingIOError):
        return RetvecLiteError(
            f"Another process is writing {name}. Wait until it has finished, or choose another name."
        )
    if isinstance(error, InTheWay):
        return RetvecLiteError(f"Cannot write {name}: {error.strerror}.")
    if isinstance(error, _Changed):
        return RetvecLiteError(f"{name} was changed by somebody else meanwhile, and stays as it is.")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return RetvecLiteError(f"No room to write {name}: {error.strerror}. Free some space; no partial file is left.")
    if above := next((folder for folder in Path(name).parents if os.path.isfile(folder)), None):
        return RetvecLiteError(f"Cannot write {name}: {above} is a file, not a folder. Choose another name.")
    return RetvecLiteError(f"Cannot write {name}: {error.strerror or error}.")


def refuse_existing(path: str | os.PathLike[str], force: bool) -> None:
    """Refuse, with RetvecLiteError, an output that exists, unless `force` is on. An empty folder is accepted."""
    target = Path(path)
    try:
        if force or not os.path.lexists(target) or (target.is_dir() and not _entries(target)):
            return
    except OSError as error:
        raise explain_os_error(error, path) from error
    raise RetvecLiteError(
        f"{target} already exists. Choose another name, or replace it with --force (in Python: force=True)."
    )


def refuse_filled_folder(path: str | os.PathLike[str], force: bool) -> None:
    """Refuse like `refuse_existing`, and refuse a file where a folder will be written, which `force` does not replace."""
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise RetvecLiteError(f"{target} is a file, not a folder. Choose another name.")
    refuse_existing(path, force)


def require_writable(path: str | os.PathLike[str], force: bool) -> None:
    """Check, before long work, that a file can be written; raises RetvecLiteError. Creates missing parent folders."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise RetvecLiteError(f"{path} is a folder. Name a file in it.")
    refuse_existing(path, force)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise explain_os_error(error, path) from error


def require_room(path: str | os.PathLike[str], needed: int) -> None:
    """Check, before long work, that the disk of a future output has `needed` bytes free; raises RetvecLiteError."""
    place = Path(os.path.realpath(path))
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        raise explain_os_error(error, path) from error
    if free < needed:
        raise RetvecLiteError(
            f"Not enough disk space for {path}: {needed:,} bytes needed, {free:,} free. Free some, or write to another disk."
        )


def atomic_write(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Write a file whole or not at all, after another one who is writing it; see `atomic_file`."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            with atomic_file(path) as file:
                file.write(data)
            return
        except RetvecLiteError as error:
            if not isinstance(error.__cause__, BlockingIOError) or time.monotonic() > end:
                raise
            time.sleep(0.01)


def write_csv(
    path: str | os.PathLike[str], columns: Sequence[str], rows: Iterable[Iterable[object]], *, force: bool
) -> None:
    """Write a CSV file in UTF-8, with four digits of fractions; raises RetvecLiteError as `refuse_existing` and `atomic_file`.

    Texts and labels are written as they are, also those that are formulas to a spreadsheet (`=`, `+`, `-`, `@`): programs read and train on
    what we write, and a sign in front would become part of the text.
    """
    refuse_existing(path, force)
    lines = io.StringIO(newline="")
    table = csv.writer(lines, lineterminator="\n")
    table.writerow(columns)
    table.writerows([f"{cell:.4f}" if isinstance(cell, float) else cell for cell in row] for row in rows)
    atomic_write(path, lines.getvalue().encode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file to write, which takes its place whole when the block ends, and vanishes when it raises.

    Replaces an existing file; call `refuse_existing` first to prevent that. Creates missing parent folders. Follows a symbolic link and
    replaces its target. What a killed process leaves beside the file is used by the next one that writes it.

    Raises:
        RetvecLiteError: when the file cannot be written, the disk is full, `path` is not a regular file, or another process
            is writing it.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.retvec-lite-new")
    try:
        if target.exists() and not target.is_file():
            raise RetvecLiteError(f"{path} exists and is not a regular file. Choose another name.")
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as lock:
            descriptor = open_locked(temporary)
            lock.callback(os.close, descriptor)
            try:
                with open(descriptor, "wb", closefd=False) as file:
                    file.truncate()
                    yield file
                    file.flush()
                    os.fsync(descriptor)
                if target.exists():
                    os.chmod(
                        descriptor if os.chmod in os.supports_fd else temporary, stat.S_IMODE(target.stat().st_mode)
                    )
                if os.name == "nt":  # an open file cannot be renamed there
                    lock.close()
                os.replace(temporary, target)
            except BaseException:
                if os.name == "nt":
                    lock.close()
                temporary.unlink(missing_ok=True)
                raise
        _flush_folder(target.parent)
    except OSError as error:
        raise explain_os_error(error, path) from error


@contextlib.contextmanager
def atomic_directory(path: str | os.PathLike[str], *, force: bool = False, owned: Sequence[str] = ()) -> Iterator[Path]:
    """Write a folder whole or not at all. Yields an empty temporary folder, whose content replaces that of `path` on success.

    On any exception, including Ctrl-C, removes the temporary folder and leaves `path` unchanged. While the block
    runs, no other process can write the same folder. When the new content cannot take its place in the end, because somebody else
    has put something there, it is kept beside `path`.

    Args:
        path: the folder to write; it may exist when it is empty. It may be a mount point.
        force: replace the content of an existing folder that contains `owned` files only.
        owned: name patterns (such as `*.tflite`) of what the command writes and `force` may replace; those of folders end in `/`.

    Raises:
        RetvecLiteError: for an existing folder without `force`, a folder with files that are not `owned`, one that another
            process is writing or that changed meanwhile, a path that cannot be written, or a full disk.
    """
    target = Path(os.path.realpath(path))
    with contextlib.ExitStack() as stack:
        try:
            _refuse(target, force, owned)
            work = stack.enter_context(work_folder(target))
            # Again, because a killed run may have been undone, and another one may just have finished.
            _refuse(target, force, owned)
            new = work / "new"
            new.mkdir()
        except OSError as error:
            raise explain_os_error(error, path) from error
        yield new
        try:
            for place, _, names in os.walk(new):
                for name in names:
                    with open(os.path.join(place, name), "r+b") as file:
                        os.fsync(file.fileno())
                _flush_folder(Path(place))
        except OSError as error:  # it may not be whole
            raise explain_os_error(error, target) from error
        try:
            _put(work, target, owned if force else ())
        except OSError as error:
            reason = str(explain_os_error(error, target)).removesuffix(".")
            raise RetvecLiteError(f"{reason}. The new result is in {_keep(new, target)}.") from error


def _flush_folder(path: Path) -> None:
    """Make renames inside `path` survive a power cut. Windows cannot open a folder, so skip it there."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def work_folder(target: Path) -> Iterator[Path]:
    """Lock a target, made if missing, clean up after a killed run, and yield its work folder, which is removed in the end.

    Raises BlockingIOError when another run holds the lock.
    """
    work, was_there = target / WORK, target.exists()
    while True:
        with contextlib.suppress(FileNotFoundError):  # the run before has just removed it
            # A folder from elsewhere, or one where others may write too, must not lead the cleaning to what is not ours.
            require_entries(work, _OURS)
            work.mkdir(parents=True, exist_ok=True)
            lock = open_locked(work / "lock")
            break
    with contextlib.ExitStack() as held:
        held.callback(os.close, lock)
        try:
            _recover(target, work)
            yield work
        finally:
            # What could not be recovered is left: the next run tries again.
            with contextlib.suppress(InTheWay):
                require_entries(work, _OURS)
                shutil.rmtree(work / "new", ignore_errors=True)
                if sys.platform == "win32":  # an open file cannot be removed there
                    held.close()
                with contextlib.suppress(OSError):
                    (work / "lock").unlink()
                    work.rmdir()
                    if not was_there:  # where nothing was written
                        target.rmdir()


def _put(work: Path, target: Path, owned: Sequence[str]) -> None:
    """Put what is `new` in the place of what the target holds; on a failure, that is brought back.

    Three steps: move what is there to `old`, move the new content to `ready`, and from there to its place. `_recover` undoes a run that
    was killed before `ready` was filled, and finishes one that was killed later.

    Raises:
        _Changed: when the target holds something that is not `owned`.
    """
    old, ready, new = work / "old", work / "ready", work / "new"
    moved = list[str]()
    try:
        old.mkdir()
        for entry in _entries(target):
            os.rename(entry, old / entry.name)
        if _foreign(old, owned) or _entries(target):
            raise _Changed
        os.rename(new, ready)
        for entry in _entries(ready):
            moved.append(entry.name)
            os.rename(entry, target / entry.name)
    except BaseException:
        for name in moved:
            with contextlib.suppress(FileNotFoundError):  # the one that failed
                os.rename(target / name, ready / name)
        if ready.exists():
            os.rename(ready, new)
        _recover(target, work, keep_new=True)
        raise
    _flush_folder(target)
    _recover(target, work)


def _recover(target: Path, work: Path, *, keep_new: bool = False) -> None:
    """Finish or undo what `_put` had begun in a work folder."""
    old, ready, new = work / "old", work / "ready", work / "new"
    for entry in [*_entries(ready), *(_entries(old) if new.exists() else ())]:
        # What somebody else has put there meanwhile stays.
        if not os.path.lexists(target / entry.name):
            os.rename(entry, target / entry.name)
    for place in (old, ready) if keep_new else (old, ready, new):
        shutil.rmtree(place, ignore_errors=True)


def _keep(new: Path, target: Path) -> Path:
    """Move a result that cannot take its place to a free name beside it, or else into the system's temporary folder."""
    names = (target.with_name(f"{target.name}.new-{number}") for number in itertools.count(1))
    place = next(name for name in names if not os.path.lexists(name))
    try:
        os.rename(new, place)
    except OSError:
        place = Path(tempfile.mkdtemp(prefix=f"{target.name}.new-"))
        shutil.copytree(new, place, dirs_exist_ok=True)
    return place


def _refuse(target: Path, force: bool, owned: Sequence[str]) -> None:
    """Refuse to replace anything without `force`, and a folder that contains anything but `owned` files."""
    refuse_filled_folder(target, force)
    if not target.exists():
        return
    if Path.cwd() == target or target in Path.cwd().parents:
        raise RetvecLiteError(f"{target} contains the current folder and cannot be replaced. Choose another folder.")
    if foreign := _foreign(target, owned):
        raise RetvecLiteError(
            f"{target} contains {foreign[0]}, which this command did not write. Move it away or choose another folder."
        )


def _foreign(folder: Path, owned: Sequence[str]) -> list[str]:
    """Return the names in a folder that no pattern of `owned` covers."""
    names = [entry.name + "/" * (entry.is_dir() and not entry.is_symlink()) for entry in _entries(folder)]
    return [name for name in names if not any(fnmatch.fnmatchcase(name, pattern) for pattern in owned)]


def _entries(folder: Path) -> list[Path]:
    """Return what lies in a folder, sorted by name, but for work folders; nothing for no folder."""
    try:
        return [entry for entry in sorted(folder.iterdir()) if entry.name not in _IGNORED]
    except FileNotFoundError:
        return []
