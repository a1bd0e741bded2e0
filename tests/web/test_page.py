"""The playground: its TypeScript against Python, and the page in Chromium. Runs web_demo/tests and web_demo/browser."""

import hashlib
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import browser
import pytest
from conftest import PICTURES, ROOT, WEB_DEMO, Site, Vitest

from retvec_lite.playground import page_files
from tools.build_ports import WASM, ZIG, build_wasm


def test_the_unit_tests_pass(vitest: Vitest, typo_vectors: Path, engine_exports: Path) -> None:
    inputs = {"RETVEC_TYPO_VECTORS": str(typo_vectors), "RETVEC_ENGINE_DIST": str(engine_exports)}
    assert "skipped" not in vitest("--project", "unit", "--project", "package", **inputs)


def test_the_engine_is_what_its_source_compiles_to(tmp_path: Path) -> None:
    require_zig()
    built = build_wasm(tmp_path / "engine.wasm").read_bytes()
    assert built == WASM.read_bytes(), "run `python -m tools.build_ports wasm`"
    assert len(built) <= 80_000


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
    code = "import sys; sys.path.insert(0, sys.argv[1]); import make_tables; sys.stdout.buffer.write('\\0'.join(make_tables.texts()).encode())"
    made = subprocess.run(
        [sys.executable, "-c", code, str(WEB_DEMO / "scripts")], check=True, capture_output=True
    ).stdout
    files = (ROOT / "npm" / "src" / "tables.ts", WEB_DEMO / "src" / "tables.json")
    assert made.split(b"\0") == [file.read_bytes() for file in files]


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


@pytest.mark.usefixtures("node")
def test_the_runtime_is_the_npm_package() -> None:
    source = browser.MODULES / "@litertjs" / "core" / "wasm"
    for name in ("litert.js", "litert.wasm"):
        original = (source / name.replace("litert", "litert_wasm_compat_internal")).read_bytes()
        assert hashlib.sha256(page_files()[name]).digest() == hashlib.sha256(original).digest()


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
        RETVEC_PICTURES=str(PICTURES),
    )
    assert "skipped" not in printed
    assert f"Test Files  {len(files)} passed" in printed
    print(printed)  # measurements; pytest -rP shows them


@pytest.mark.slow
@pytest.mark.usefixtures("node")
def test_the_shipped_model_in_chromium(vitest: Vitest, chromium: str, shipped_site: Site) -> None:
    run_in_chromium(vitest, chromium, shipped_site, "golden", "using", "places")


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.usefixtures("node", "chromium")  # first: where one is missing, nothing is exported in vain
@pytest.mark.parametrize("name", ["golden", "using", "opening", "places", "memory", "look", "speed"])
def test_new_exports_in_chromium(name: str, vitest: Vitest, chromium: str, trained_site: Site) -> None:
    run_in_chromium(vitest, chromium, trained_site, name)


@pytest.mark.slow
@pytest.mark.usefixtures("node")
def test_a_retvec_in_chromium(vitest: Vitest, chromium: str, engine_site: Site) -> None:
    run_in_chromium(vitest, chromium, engine_site, "engine")


def test_every_browser_test_runs_somewhere() -> None:
    names = {file.name.removesuffix(".test.ts") for file in (WEB_DEMO / "browser").glob("*.test.ts")}
    (run,) = (mark for mark in test_new_exports_in_chromium.pytestmark if mark.name == "parametrize")
    assert names == {*run.args[1], "engine"}
