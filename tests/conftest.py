"""What all tests share: this folder's helper modules can be imported from its sub-folders, and results do not hang on load."""

import gc
import importlib.util
import os
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest
from api_folder import ApiFolder, english
from command_line import Main
from few_edges import use_few_edges
from hypothesis import settings
from patience import PATIENCE
from scripts import once
from tiny_artifact import tiny_artifact

from retvec_lite import __main__ as cli
from retvec_lite.runtime import worker
from retvec_lite.runtime.interpreters import RUNTIMES

# Before the first test imports TensorFlow: one thread (tests are small, and their sums must not depend on the machine).
for name, value in (("TF_NUM_INTRAOP_THREADS", "1"), ("TF_NUM_INTEROP_THREADS", "1"), ("TF_CPP_MIN_LOG_LEVEL", "2")):
    os.environ.setdefault(name, value)

# Tests that compare the bytes of two trainings must not fail at midnight.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1790000000")

# A shell that starts the tests in the background lets them, and so their children, ignore Ctrl-C, which some tests press.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no failure.
for name in ("TIMEOUT", "_JOB_TIMEOUT"):
    setattr(worker, name, PATIENCE)
# Where every edge of the contract counts, a test says so.
use_few_edges()

# The gate draws the same examples every time; `make test-all` draws new ones, and prints how to repeat a failure.
settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("gate")


def pytest_configure(config: pytest.Config) -> None:
    """Let pytest-xdist hand out the files in the order below; without it the option has no effect."""
    config.option.loadscopereorder = False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with files that have slow tests, and then those of few tests, so that no process is left with a long one in the end."""
    tests = Counter(item.path for item in items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, tests[item.path]))


def pytest_collection_finish() -> None:
    """Leave what all tests import, TensorFlow above all, out of every collection of garbage, which would take half a second."""
    gc.freeze()


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Name a test after the length of its bytes: gzip writes the second into them, and every worker must collect the same names."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "tiny.tflite"
    path.write_bytes(tiny_artifact())
    return str(path)


@pytest.fixture(params=RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> str:
    """Each runtime's distribution name."""
    if importlib.util.find_spec(RUNTIMES[request.param]) is None:
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


@pytest.fixture(scope="session")
def api_folder() -> ApiFolder:
    """A trained folder and an exported file of the starter data's labels."""
    from retvec_lite import train

    def make(place: Path) -> None:
        root = Path(__file__).parents[1]
        shutil.copy(root / "android_demo/app/src/main/assets/classifier.tflite", place / "classifier-int8.tflite")
        shutil.copy(root / "golden/rejecting.retvec", place / "classifier-int8.retvec")
        train(english("train"), epochs=12, out=place / "classifier")

    return ApiFolder(once("api", make))


@pytest.fixture
def main(capsys: pytest.CaptureFixture[str]) -> Main:
    """The command in this process: (exit code, standard output, standard error)."""

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = cli.main(arguments)
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        output = capsys.readouterr()
        return code, output.out, output.err

    return call
