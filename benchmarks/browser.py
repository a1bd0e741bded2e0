"""Where Chromium is: for the benchmark in a browser and for the playground's tests, which need nothing else of this folder."""

import os
import shutil
from typing import Final

VARIABLE: Final = "RETVEC_CHROMIUM"
"""The environment variable that names the browser, a path or a program on the PATH."""
_PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """The browser that `VARIABLE` names, or else the one on the PATH; None when there is none."""
    named = os.environ.get(VARIABLE)
    return next(filter(None, map(shutil.which, [named] if named else _PROGRAMS)), None)


def no_chromium() -> str:
    """Why `chromium` finds none, as the end of a sentence."""
    named = os.environ.get(VARIABLE)
    return f"no program at {VARIABLE}={named}" if named else f"Chromium is not installed, and {VARIABLE} names none"
