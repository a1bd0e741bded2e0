"""Find Node.js, its packages and Chromium, and what the tests of the playground work on."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

VARIABLE: Final = "RETVEC_CHROMIUM"
"""Environment variable that names the browser: a path, or a program on the PATH."""
ROOT: Final = Path(__file__).resolve().parents[2]
MODULES: Final = ROOT / "node_modules"
WEB_DEMO: Final = ROOT / "web_demo"
PICTURES: Final = ROOT / "out" / "playground"
"""Screenshots for people to look at; git ignores `out/`."""
_PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")

Vitest = Callable[..., str]


class Site(NamedTuple):
    """A folder of exported files, the address of `retvec-lite demo` on it, and the pages that `--export` writes of it and of several models."""

    dist: Path
    url: str
    page: Path
    several: Path


def chromium() -> str | None:
    """Return the browser that `VARIABLE` names, else one on the PATH; None if there is none."""
    named = os.environ.get(VARIABLE)
    return next(filter(None, map(shutil.which, [named] if named else _PROGRAMS)), None)


def no_chromium() -> str:
    """Return why `chromium` finds no browser, as a clause."""
    named = os.environ.get(VARIABLE)
    return f"no program at {VARIABLE}={named}" if named else f"Chromium is not installed, and {VARIABLE} names none"


def no_node() -> str | None:
    """Return why Node.js cannot run the packages of the page, as a clause; None if it can. npm writes the list of them last."""
    if shutil.which("node") is None:
        return "Node.js is not installed"
    if not (MODULES / ".package-lock.json").is_file():
        return "node_modules is missing or unfinished (`npm ci`)"
    return None
