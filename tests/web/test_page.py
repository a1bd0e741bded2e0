"""The playground: its TypeScript against Python, and the page in Chromium. Runs web_demo/tests and web_demo/browser."""

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import browser
import pytest
from browser import PICTURES, ROOT, WEB_DEMO, Site, Vitest

from tools.build_ports import WASM, ZIG, build_wasm


def test_the_unit_tests_pass(vitest: Vitest, typo_vectors: Path, engine_exports: Path) -> None:
    inputs = {"RETVEC_TYPO_VECTORS": str(typo_vectors), "RETVEC_ENGINE_DIST": str(engine_exports)}
    assert "skipped" not in vitest("--project", "unit", "--project", "package", **inputs)


def test_the_engine_is_what_its_source_compiles_to(tmp_path: Path) -> None:
    require_zig()
    built = build_wasm(tmp_path / "engine.wasm").read_bytes()
    assert built == WASM.read_bytes(), "run `python -m tools.build_ports wasm`"
    assert len(built) <= 100_000


def test_the_engine_answers_the_same_bits_without_simd(vitest: Vitest, engine_exports: Path, tmp_path: Path) -> None:
    require_zig()
    plain = build_wasm(tmp_path / "plain.wasm", simd=False)
    assert plain.read_bytes() != WASM.read_bytes()
    arguments = ("--project", "package", "tests/engine.test.ts", "--reporter", "verbose")
    printed = [
        re.findall(
            r"^bits of .*", vitest(*arguments, RETVEC_WASM=str(file), RETVEC_ENGINE_DIST=str(engine_exports)), re.M
        )
        for file in (WASM, plain)
    ]
    assert len(printed[0]) == 3 and printed[0] == printed[1]


def require_zig() -> None:
    try:
        found = version("ziglang")
    except PackageNotFoundError:
        pytest.skip("ziglang is not installed: the engine cannot be compiled to WebAssembly")
    if found != ZIG:
        pytest.skip(f"ziglang is {found}, not {ZIG}, which the engine in the package comes from")


def test_the_tables_match_python() -> None:
    pytest.importorskip(
        "confusable_homoglyphs", reason="confusable-homoglyphs is not installed: the tables cannot be made"
    )
    code = "import sys; sys.path.insert(0, sys.argv[1]); import make_tables; sys.stdout.buffer.write(make_tables.text().encode())"
    made = subprocess.run(
        [sys.executable, "-c", code, str(WEB_DEMO / "scripts")], check=True, capture_output=True
    ).stdout
    assert made == (WEB_DEMO / "src" / "tables.json").read_bytes()


def test_the_built_page_matches_the_sources(node: str, tmp_path: Path) -> None:
    built = ("index.html", "app.js", "app.css")
    vite = [
        node,
        browser.MODULES / "vite" / "bin" / "vite.js",
        "build",
        "--outDir",
        str(tmp_path),
        "--logLevel",
        "error",
    ]
    subprocess.run(vite, cwd=WEB_DEMO, check=True)
    stale = [
        name for name in built if (tmp_path / name).read_bytes() != (ROOT / "retvec_lite" / "web" / name).read_bytes()
    ]
    assert stale == [], "run `npm run build` in web_demo"


def run_in_chromium(vitest: Vitest, chromium: str, site: Site, *names: str) -> None:
    files = [f"browser/{name}.test.ts" for name in names]
    assert all((WEB_DEMO / file).exists() for file in files)
    printed = vitest(
        "--project",
        "browser",
        *files,
        RETVEC_CHROMIUM=chromium,
        RETVEC_URL=site.url,
        RETVEC_DIST=str(site.dist),
        RETVEC_PAGE=str(site.page),
        RETVEC_SEVERAL=str(site.several),
        RETVEC_PICTURES=str(PICTURES),
    )
    assert "skipped" not in printed
    assert f"Test Files  {len(files)} passed" in printed
    print(printed)  # measurements; pytest -rP shows them


QUICK, LONG = ("golden", "using", "beside", "teaching"), ("opening", "places", "memory", "look", "speed")
"""Files of web_demo/browser."""


@pytest.mark.slow
@pytest.mark.usefixtures("node")
def test_the_page_in_chromium(vitest: Vitest, chromium: str, site: Site) -> None:
    run_in_chromium(vitest, chromium, site, *QUICK)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("name", LONG)
def test_the_rest_in_chromium(name: str, vitest: Vitest, chromium: str, site: Site) -> None:
    run_in_chromium(vitest, chromium, site, name)


def test_every_browser_test_runs_somewhere() -> None:
    names = {file.name.removesuffix(".test.ts") for file in (WEB_DEMO / "browser").glob("*.test.ts")}
    assert names == {*QUICK, *LONG, "report"}  # test_report_in_browser.py
