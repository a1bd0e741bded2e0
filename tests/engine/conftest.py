import subprocess
from pathlib import Path

import pytest
from engine_program import SANITIZERS, compile_driver

from tools.build_engine import build, compiler


@pytest.fixture(scope="session")
def cc() -> list[str]:
    found = compiler()
    if found is None:
        pytest.skip("no C compiler")
    return found


@pytest.fixture(scope="session")
def library(cc: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The engine as the package has it, of the present source."""
    return build(cc, tmp_path_factory.mktemp("engine") / "libretvec_lite.so")


@pytest.fixture(scope="session")
def driver(cc: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_driver(cc, tmp_path_factory.mktemp("driver") / "driver", "-O2")


@pytest.fixture(scope="session")
def sanitized(cc: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver with AddressSanitizer and UndefinedBehaviorSanitizer: any finding ends it."""
    try:
        return compile_driver(cc, tmp_path_factory.mktemp("sanitized") / "driver", *SANITIZERS)
    except subprocess.CalledProcessError:
        pytest.skip("the C compiler has no sanitizers")
