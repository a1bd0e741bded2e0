import subprocess
from pathlib import Path

import pytest
from engine_program import SANITIZERS, compile_driver
from scripts import once

from tools.build_engine import build, compiler


@pytest.fixture(scope="session")
def cc() -> list[str]:
    found = compiler()
    if found is None:
        pytest.skip("no C compiler")
    return found


@pytest.fixture(scope="session")
def library(cc: list[str]) -> Path:
    """The engine as the package has it, of the present source."""
    name = "libretvec_lite.so"
    return once("engine", lambda place: build(cc, place / name)) / name


@pytest.fixture(scope="session")
def driver(cc: list[str]) -> Path:
    return once("driver", lambda place: compile_driver(cc, place / "driver", "-O2")) / "driver"


@pytest.fixture(scope="session")
def sanitized(cc: list[str]) -> Path:
    """The driver with AddressSanitizer and UndefinedBehaviorSanitizer: any finding ends it."""
    try:
        folder = once("sanitized", lambda to: compile_driver(cc, to / "driver", *SANITIZERS))
    except subprocess.CalledProcessError:
        pytest.skip("the C compiler has no sanitizers")
    return folder / "driver"
