"""What takes long to make is made once in a run of the tests, by whichever of its processes needs it first."""

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from patience import PATIENCE

_VARIABLE: Final = "RETVEC_LITE_TESTS"
"""Environment variable that tells the processes of a run the folder of what was made."""

if _VARIABLE not in os.environ:
    os.environ[_VARIABLE] = tempfile.mkdtemp(prefix="retvec-lite-tests-")
    atexit.register(shutil.rmtree, os.environ[_VARIABLE], ignore_errors=True)


def once(name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder that `make` filled; what it raises, a skip too, is raised in every process that asks."""
    done = Path(os.environ[_VARIABLE], name)
    making, ends = done.with_suffix(".making"), time.monotonic() + PATIENCE
    while not done.exists():
        try:
            making.mkdir()
        except FileExistsError:
            assert time.monotonic() < ends, f"{making} is never finished"
            time.sleep(0.1)
            continue
        try:
            make(making)
            making.rename(done)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return done
