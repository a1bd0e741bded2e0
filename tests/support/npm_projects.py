"""Projects in empty folders that install the npm package from its tarball, and pages of theirs in Chromium."""

import contextlib
import functools
import http.server
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import ROOT
from patience import PATIENCE

NPM = ROOT / "npm"
CONSUMER = NPM / "tests" / "consumer"

_NO_NETWORK = re.compile("ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTCACHED")


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def install(folder: Path, *packages: str | Path, kind: str = "module") -> None:
    """Install packages in a new project. Those from the registry need a network, without which the test is skipped."""
    (folder / "package.json").write_text(json.dumps({"private": True, "type": kind}), encoding="ascii")
    offline = [] if any(isinstance(package, str) for package in packages) else ["--offline"]
    command = ["npm", "install", "--no-audit", "--no-fund", *offline, *packages]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode and not offline and _NO_NETWORK.search(done.stderr):
        pytest.skip("the registry of npm cannot be reached: this host was not tried")
    assert done.returncode == 0, done.stderr[-4000:]


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def browsed(chromium: str, address: str, found: str = "globalThis.found") -> object:
    """What a page finds, which is an expression of JavaScript."""
    said = json.loads(run("node", CONSUMER / "browse.js", chromium, address, found, cwd=ROOT))
    assert said["problems"] == []
    return said["found"]
