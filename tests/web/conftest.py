"""The playground in a real browser: the golden files, a server on them, and a page exported from one.

Tests that need Node.js or Chromium are skipped without it, and say so.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import browser
import npm_projects
import pytest
from browser import ROOT, WEB_DEMO, Site, Vitest
from hostile_files import mended
from patience import PATIENCE
from scripts import once, run_quietly, run_script

from retvec_lite.data.dataset import read_dataset, starter_file
from retvec_lite.data.typos import mistype
from retvec_lite.runtime import is_built
from retvec_lite.version import __version__


def command(*arguments: str | Path) -> list[str]:
    return ["-m", "retvec_lite", *map(str, arguments)]


@pytest.fixture(scope="session")
def node() -> str:
    if missing := browser.no_node():
        pytest.skip(f"{missing}: the page's own tests did not run")
    return str(shutil.which("node"))


@pytest.fixture(scope="session")
def chromium() -> str:
    found = browser.chromium()
    if found is None:
        # A wrong name in the variable is an error, not a reason to skip.
        leave = pytest.fail if os.environ.get(browser.VARIABLE) else pytest.skip
        leave(f"{browser.no_chromium()}: the page was not tried in a browser")
    return found


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The npm package as it is published."""
    if shutil.which("npm") is None or (missing := browser.no_node()):
        pytest.skip(f"{missing if shutil.which('npm') else 'npm is not installed'}: the npm package was not built")
    folder = tmp_path_factory.mktemp("packed")
    npm_projects.run("npm", "pack", "--pack-destination", folder, cwd=npm_projects.NPM)
    return folder / f"retvec-lite-{__version__}.tgz"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve the golden files and export the page of the first, and one of several, with the commands that users type."""
    dist = tmp_path_factory.mktemp("site") / "dist"
    shutil.copytree(ROOT / "golden", dist)
    # As earlier exports, which the list has last: the page starts with rejecting.retvec.
    plain = (dist / "plain.retvec").read_bytes()
    (dist / "plain.retvec").write_bytes(mended(plain.replace(b'"recipe": "int8"', b'"recipe": "int4"')))
    page = dist.parent / "page.html"
    several = dist.parent / "several.html"
    run_quietly(*command("demo", dist, "--export", page))
    run_quietly(*command("demo", dist / "plain.retvec", dist / "several.retvec", "language", "--export", several))
    arguments = [sys.executable, *command("demo", dist, "--no-browser")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield Site(dist, line.split(" at ")[1].split()[0], page, several)
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def typo_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the typos that `mistype` makes in many scripts; the page must make the same."""
    texts = [
        *read_dataset(starter_file("test")).texts[:120],
        "",
        " \n\u3000",
        "a",
        "aaa 11 !!! ?",
        "É Ÿ ß İ ŉ Ω ς Ж Ա",
        "Где моя посылка? Πού είναι το δέμα; أين طردي؟ איפה החבילה",
        "मेरा पार्सल कहाँ है? พัสดุของฉันอยู่ที่ไหน 我的包裹在哪里 荷物はどこですか 내 소포는 어디에",
        "👍 great 😀 🇩🇪 \U0010ffff a\ud800b \udfff \u200b zero\u200bwidth",
        "tab\tline\nnext\x85\u2028 nul\0nul 1,234.56",
    ]
    cases = [
        {"text": text, "rate": rate, "seed": seed, "mistyped": mistype(text, rate, seed)}
        for text in texts
        for rate in (0.2, 0.5, 1.0)
        for seed in (0, 7, 2**32 + 5)
    ]
    target = tmp_path_factory.mktemp("typos") / "vectors.json"
    target.write_text(json.dumps(cases), encoding="ascii")
    return target


@pytest.fixture(scope="session")
def engine_exports() -> Path:
    """Write small .retvec files of several kinds, with golden.json."""
    if not is_built():
        pytest.skip("The C engine is not built: nothing can be exported for it")
    return once("engine-exports", lambda folder: run_script("engine_exports.py", str(folder)))


@pytest.fixture
def vitest(node: str) -> Vitest:
    """Run test files of web_demo and return their output, which a failure shows."""

    def run(*arguments: str, **environment: str) -> str:
        done = subprocess.run(
            [node, browser.MODULES / "vitest" / "vitest.mjs", "run", "--no-color", *arguments],
            cwd=WEB_DEMO,
            check=False,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
        return done.stdout

    return run
