"""Fixtures of the tests of batches."""

from pathlib import Path

import pytest

from retvec_lite.scale import classify_files as scale_files


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run without worker processes, which take a second to start; `test_processes_answer` has them."""

    class Here:
        def ask(self, function, *arguments, size):
            return function(*arguments)

    monkeypatch.setattr(scale_files, "Worker", Here)
