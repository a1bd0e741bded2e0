"""The npm package as a project installs it: packed, installed without a network, and asked the golden texts."""

import contextlib
import functools
import http.server
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import browser
import pytest
from patience import PATIENCE

from retvec_lite.version import __version__

ROOT = Path(__file__).resolve().parents[2]
NPM = ROOT / "npm"
CONSUMER = NPM / "tests" / "consumer"
GOLDEN = ROOT / "golden"
TEXTS = 3 * 169
"""Texts of golden/ with `.retvec` files."""


def test_the_version_is_that_of_python() -> None:
    """`npm pack` checks the same."""
    package = json.loads((NPM / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == __version__
    assert "dependencies" not in package
    page = json.loads((ROOT / "web_demo" / "package.json").read_text(encoding="utf-8"))
    assert page["dependencies"]["retvec-lite"] == __version__


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def npm() -> str:
    found = shutil.which("npm")
    if found is None or (missing := browser.no_node("typescript")):
        pytest.skip(f"{missing if found else 'npm is not installed'}: the npm package was not built")
    return found


@pytest.fixture(scope="module")
def packed(npm: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    run(npm, "pack", "--pack-destination", folder, cwd=NPM)
    return folder / f"retvec-lite-{__version__}.tgz"


@pytest.fixture(scope="module")
def project(npm: str, packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty project with the package alone."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "package.json").write_text('{"name": "consumer", "private": true, "type": "module"}', encoding="ascii")
    run(npm, "install", "--offline", "--no-audit", "--no-fund", packed, cwd=folder)
    for file in CONSUMER.iterdir():
        shutil.copy(file, folder)
    shutil.copytree(GOLDEN, folder / "golden")
    return folder


@pytest.mark.slow
def test_the_package_is_small_and_has_what_it_says(packed: Path, project: Path) -> None:
    assert packed.stat().st_size <= 70_000
    installed = project / "node_modules" / "retvec-lite"
    assert {file.name for file in installed.iterdir()} == {"LICENSE", "README.md", "dist", "package.json"}
    assert [path.name for path in (project / "node_modules").iterdir() if path.name[0] != "."] == ["retvec-lite"]


@pytest.mark.slow
def test_it_answers_in_node(project: Path) -> None:
    assert int(run("node", "node.js", GOLDEN, cwd=project)) == TEXTS


@pytest.mark.slow
def test_it_refuses_wrong_calls_in_a_sentence(project: Path) -> None:
    assert int(run("node", "misuse_node.js", GOLDEN, cwd=project)) > 600


@pytest.mark.slow
def test_it_loads_files_from_wherever_they_are_and_says_why_it_cannot(project: Path) -> None:
    """Paths, addresses, answers, blobs and bytes; then pages instead of files, missing, empty and short ones, and wrong options."""
    sources, refused = map(int, run("node", "sources.js", GOLDEN, cwd=project).split())
    assert (sources, refused) == (17, 46)


@pytest.mark.slow
def test_it_refuses_files_whose_metadata_and_settings_disagree(project: Path) -> None:
    """They have a right checksum. What was taken for them can be collected."""
    assert int(run("node", "--expose-gc", "hostile.js", GOLDEN, cwd=project)) > 150


@pytest.mark.slow
def test_its_types_are_complete(project: Path) -> None:
    options = {
        "strict": True, "noEmit": True, "module": "NodeNext", "target": "ES2022", "lib": ["ES2023", "DOM"], "types": [],
    }  # fmt: skip
    for resolution in ({}, {"module": "ESNext", "moduleResolution": "Bundler"}):
        settings = {"compilerOptions": {**options, **resolution}, "files": ["types.ts"]}
        (project / "tsconfig.json").write_text(json.dumps(settings), encoding="ascii")
        run("node", browser.MODULES / "typescript" / "bin" / "tsc", "--project", ".", cwd=project)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def browsed(project: Path, chromium: str, page: str) -> object:
    """What a page says."""
    with served(project) as url:
        found = json.loads(run("node", CONSUMER / "browse.js", chromium, url + page, cwd=ROOT))
    assert found["problems"] == []
    return found["found"]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_it_answers_in_a_page_and_in_a_worker(project: Path, chromium: str) -> None:
    assert browsed(project, chromium, "index.html") == [
        TEXTS,
        TEXTS,
        "Cannot load golden/missing.retvec (404 File not found).",
    ]
