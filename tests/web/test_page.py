"""The playground's TypeScript against Python, and the page in Chromium: web_demo/tests and web_demo/browser, run from here."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PICTURES, ROOT, WEB_DEMO, Vitest

from retvec_lite.playground import page_files


def test_the_unit_tests_of_the_page(vitest: Vitest, typo_vectors: Path) -> None:
    assert "skipped" not in vitest("--project", "unit", RETVEC_TYPO_VECTORS=str(typo_vectors))


def test_the_tables_are_those_of_python() -> None:
    pytest.importorskip(
        "confusable_homoglyphs", reason="confusable-homoglyphs is not installed: the tables cannot be made"
    )
    code = "import sys; sys.path.insert(0, sys.argv[1]); import make_tables; sys.stdout.buffer.write(make_tables.as_text().encode())"
    made = subprocess.run(
        [sys.executable, "-c", code, str(WEB_DEMO / "scripts")], check=True, capture_output=True
    ).stdout
    assert made == (WEB_DEMO / "src" / "tables.json").read_bytes()


@pytest.mark.slow
def test_the_built_page_is_that_of_the_sources(node: str, tmp_path: Path) -> None:
    built = ("index.html", "app.js", "app.css")
    vite = [node, "node_modules/vite/bin/vite.js", "build", "--outDir", str(tmp_path), "--logLevel", "error"]
    subprocess.run(vite, cwd=WEB_DEMO, check=True)
    stale = [
        name for name in built if (tmp_path / name).read_bytes() != (ROOT / "retvec_lite" / "web" / name).read_bytes()
    ]
    assert stale == [], "run `npm run build` in web_demo"


@pytest.mark.usefixtures("node")
def test_the_runtime_is_that_of_npm() -> None:
    source = WEB_DEMO / "node_modules" / "@litertjs" / "core" / "wasm"
    for name in ("litert.js", "litert.wasm"):
        original = (source / name.replace("litert", "litert_wasm_compat_internal")).read_bytes()
        assert hashlib.sha256(page_files()[name]).digest() == hashlib.sha256(original).digest()


@pytest.mark.slow
@pytest.mark.usefixtures("node", "chromium")  # first: where one is missing, nothing is exported in vain
@pytest.mark.parametrize("name", ["golden", "using", "opening", "places", "memory", "look", "speed"])
def test_in_chromium(name: str, vitest: Vitest, chromium: str, server: str, dist: Path, page: Path) -> None:
    assert (WEB_DEMO / "browser" / f"{name}.test.ts").exists()
    printed = vitest(
        "--project",
        "browser",
        f"browser/{name}.test.ts",
        RETVEC_CHROMIUM=chromium,
        RETVEC_URL=server,
        RETVEC_DIST=str(dist),
        RETVEC_PAGE=str(page),
        RETVEC_PICTURES=str(PICTURES),
    )
    assert "skipped" not in printed
    print(printed)  # the figures; pytest -rP shows them
