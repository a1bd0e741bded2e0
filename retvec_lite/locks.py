"""A lock that one process has at a time, on a file that no link of somebody else may stand for."""

import contextlib
import errno
import os
import sys
from pathlib import Path
from typing import Final

from retvec_lite.foreign import require_file

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
        require_file(path)
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
