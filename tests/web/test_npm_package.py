"""The npm package as a project installs it: packed, installed without a network, and asked the golden texts."""

import json
import shutil
from pathlib import Path

import browser
import pytest
from npm_projects import CONSUMER, NPM, browsed, install, run, served

from retvec_lite.version import __version__

ROOT = browser.ROOT
GOLDEN = ROOT / "golden"
TEXTS = 3 * 162
"""Texts of golden/ with `.retvec` files."""


def test_the_version_is_that_of_python() -> None:
    """`npm pack` checks the same."""
    package = json.loads((NPM / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == __version__
    assert "dependencies" not in package
    page = json.loads((ROOT / "web_demo" / "package.json").read_text(encoding="utf-8"))
    assert page["dependencies"]["retvec-lite"] == __version__


@pytest.fixture(scope="module")
def project(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty project with the package alone."""
    folder = tmp_path_factory.mktemp("project")
    install(folder, packed)
    for file in CONSUMER.iterdir():
        shutil.copy(file, folder)
    shutil.copytree(GOLDEN, folder / "golden")
    return folder


@pytest.mark.slow
def test_the_package_is_small_and_has_what_it_says(packed: Path, project: Path) -> None:
    """The engine is in it twice, 48 kB each: in a module for pages, which then need no second file, and as the file itself."""
    assert packed.stat().st_size <= 131_000
    installed = project / "node_modules" / "retvec-lite"
    assert {file.name for file in installed.iterdir()} == {"LICENSE", "README.md", "dist", "package.json"}
    assert [path.name for path in (project / "node_modules").iterdir() if path.name[0] != "."] == ["retvec-lite"]


@pytest.mark.slow
def test_it_answers_in_node(project: Path) -> None:
    assert int(run("node", "node.js", GOLDEN, cwd=project)) == TEXTS


@pytest.mark.slow
def test_it_refuses_wrong_calls_in_a_sentence(project: Path) -> None:
    assert int(run("node", "misuse_node.js", GOLDEN, cwd=project)) > 500


@pytest.mark.slow
def test_it_loads_files_from_wherever_they_are_and_says_why_it_cannot(project: Path) -> None:
    """Paths, addresses, answers, blobs and bytes; then pages instead of files, missing, empty and short ones, and wrong options."""
    sources, refused = map(int, run("node", "sources.js", GOLDEN, cwd=project).split())
    assert (sources, refused) == (17, 45)


@pytest.mark.slow
def test_it_loads_a_ready_made_classifier_of_the_other_package(packed: Path, tmp_path: Path) -> None:
    run("npm", "pack", ROOT / "models", "--pack-destination", tmp_path, cwd=tmp_path)
    install(tmp_path, packed, tmp_path / f"retvec-lite-models-{__version__}.tgz")
    (tmp_path / "ready.js").write_text(
        'import { load } from "retvec-lite";\n'
        'const classifier = await load(import.meta.resolve("retvec-lite-models/sentiment.retvec"));\n'
        'console.log(classifier.predict("it broke after a week").label);\n',
        encoding="ascii",
    )
    assert run("node", "ready.js", cwd=tmp_path) == "negative\n"


@pytest.mark.slow
def test_it_refuses_files_whose_metadata_and_settings_disagree(project: Path) -> None:
    """They have a right checksum. What was taken for them can be collected."""
    assert int(run("node", "--expose-gc", "hostile.js", GOLDEN, cwd=project)) > 70


@pytest.mark.slow
def test_its_types_are_complete(project: Path) -> None:
    options = {
        "strict": True, "noEmit": True, "module": "NodeNext", "target": "ES2022", "lib": ["ES2023", "DOM"], "types": [],
    }  # fmt: skip
    common = project / "common"
    common.mkdir(exist_ok=True)
    (common / "package.json").write_text('{"type": "commonjs"}', encoding="ascii")
    shutil.copy(project / "types.ts", common)
    bundler = {"module": "ESNext", "moduleResolution": "Bundler"}
    for resolution, files in (
        ({}, ["types.ts", "types_engine.ts", "common/types.ts"]),
        ({"module": "Node16"}, ["types.ts", "common/types.ts"]),
        (bundler, ["types.ts", "types_engine.ts"]),
        ({**bundler, "module": "CommonJS"}, ["types.ts"]),
        ({"lib": ["ES2022"]}, ["types_plain.ts", "types_engine.ts"]),
    ):
        settings = {"compilerOptions": {**options, **resolution}, "files": files}
        (project / "tsconfig.json").write_text(json.dumps(settings), encoding="ascii")
        run("node", browser.MODULES / "typescript" / "bin" / "tsc", "--project", ".", cwd=project)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_it_answers_in_a_page_and_in_a_worker(project: Path, chromium: str) -> None:
    with served(project) as address:
        found = browsed(chromium, f"{address}index.html")
    assert found == [TEXTS, TEXTS, "Cannot load golden/missing.retvec (404 File not found)."]
