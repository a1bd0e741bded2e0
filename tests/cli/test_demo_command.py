"""`retvec-lite demo`: its options, its output and its exit codes. tests/test_playground.py tests what it serves."""

import functools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from command_line import Main
from patience import PATIENCE

from retvec_lite.cli import exported

MODEL = str(Path(__file__).resolve().parents[2] / "golden" / "plain.retvec")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_the_command_prints_its_address_and_ends_with_ctrl_c() -> None:
    # The package of ready-made ones may be installed or not; other tests of this process may have put it on the path.
    asked = "from retvec_lite.runtime.artifact import prebuilt_names; print(*prebuilt_names())"
    installed = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    arguments = [sys.executable, "-m", "retvec_lite", "demo", MODEL, "--no-browser"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            names = ["plain.retvec", *(f"{name}.retvec" for name in installed)]
            found = re.fullmatch(rf"Serving {', '.join(names)} at (http://127.0.0.1:\d+/) \(Ctrl-C to stop\)\n", line)
            assert found is not None, line
            with urlopen(f"{found[1]}models.json", timeout=PATIENCE) as answer:
                assert json.load(answer) == {"names": names, "all": False}
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()  # or a failure would wait for it forever
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"port": 0, "browser": True, "export": None, "force": False}),
        (["--port", "8765", "--no-browser"], {"port": 8765, "browser": False, "export": None, "force": False}),
        (["--export", "p.html", "--force"], {"port": 0, "browser": True, "export": "p.html", "force": True}),
    ],
)
def test_every_option_reaches_the_api(
    options: list[str], expected: dict[str, Any], main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[list[str], dict[str, Any]]] = []

    @functools.wraps(exported.demo)
    def note(model: list[str], **given: Any) -> None:
        calls.append((model, given))

    monkeypatch.setattr(exported, "demo", note)
    assert main("demo", "m.retvec", "language", *options) == (0, "", "")
    assert calls == [(["m.retvec", "language"], expected)]


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_wrong_port_is_a_usage_error(port: str, main: Main) -> None:
    code, output, errors = main("demo", MODEL, f"--port={port}", "--no-browser")
    assert (code, output) == (2, "")
    assert port in errors.splitlines()[-1]


def test_an_error_is_one_line(tmp_path: Path, main: Main) -> None:
    code, output, errors = main("demo", str(tmp_path))
    assert (code, output) == (2, "")
    assert errors.startswith(f"retvec-lite: error: No exported file in {tmp_path}: ")
    assert errors.count("\n") == 1
