"""The npm package where apps use it: each host is a small project that starts from the tarball. Most are fetched from npm's registry."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from npm_projects import CONSUMER, NPM, ROOT, browsed, install, run, served

HOSTS = NPM / "tests" / "hosts"
CLASSIFIER = "classifier-int8.retvec"
GOLDEN = [
    json.loads((ROOT / "golden" / f"{name}.json").read_text("utf-8")) for name in ("plain", "rejecting", "several")
]
TEXTS = sum(len(golden["cases"]) + len(golden["long"]) for golden in GOLDEN)
"""Texts of golden/ with `.retvec` files."""
ANSWER = re.compile(r"label: ['\"]delivery['\"]")

RUNTIMES = {
    **{f"Node.js {version}": (f"node@{version}", "node_modules/node/bin/node") for version in (18, 20, 22, 24)},
    "Deno": ("deno@2", "node_modules/deno/deno run --allow-read"),
    "Bun": ("bun@1", "node_modules/bun/bin/bun.exe"),
}
"""Name -> what it is called in the registry, and how it runs a file."""
VITE, ESBUILD, WEBPACK = "vite@8.3.8", "esbuild@0.28.2", "webpack@5.113.0"


def snippets() -> dict[str, str]:
    """The first examples of README: name of a file -> its text."""
    readme = (NPM / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"\(`(index\.\w+)`\)[^`]*```\w+\n(.*?)```", readme, re.S))


def project(folder: Path, *packages: str | Path, kind: str = "module") -> None:
    """Install packages beside a classifier, the files of `hosts` and those of README."""
    install(folder, *packages, kind=kind)
    shutil.copy(ROOT / "golden" / "plain.retvec", folder / CLASSIFIER)
    for name, text in snippets().items():
        (folder / name).write_text(text, encoding="utf-8")
    for file in HOSTS.iterdir():
        shutil.copy(file, folder)


@pytest.mark.slow
def test_the_first_lines_of_readme_answer_in_node(packed: Path, tmp_path: Path) -> None:
    assert set(snippets()) == {"index.mjs", "index.cjs", "index.html"}
    project(tmp_path, packed)
    for name in ("index.mjs", "index.cjs"):
        assert ANSWER.search(run("node", name, cwd=tmp_path))


@pytest.mark.slow
def test_the_first_lines_of_readme_answer_in_a_page(packed: Path, chromium: str, tmp_path: Path) -> None:
    project(tmp_path, packed)
    (tmp_path / "index.html").write_text(snippets()["index.html"], encoding="utf-8")
    with served(tmp_path) as address:
        assert browsed(chromium, address, "answer.textContent") == "delivery"


@pytest.mark.slow
def test_threads_share_the_engine(packed: Path, tmp_path: Path) -> None:
    project(tmp_path, packed)
    assert run("node", "threads.js", cwd=tmp_path).split() == ["delivery"] * 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", RUNTIMES)
def test_it_answers_in_every_runtime(name: str, packed: Path, tmp_path: Path) -> None:
    package, command = RUNTIMES[name]
    project(tmp_path, packed, package)
    for file in ("index.mjs", "index.cjs"):
        assert ANSWER.search(run(*command.split(), file, cwd=tmp_path))
    for file in (CONSUMER / "node.js", CONSUMER / "check.js"):
        shutil.copy(file, tmp_path)
    assert int(run(*command.split(), "node.js", ROOT / "golden", cwd=tmp_path)) == TEXTS


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("tool", "command"),
    [
        (ESBUILD, "node_modules/.bin/esbuild page.js page_worker.js --bundle --minify --format=esm --outdir=dist"),
        (WEBPACK, "node_modules/.bin/webpack"),
        (VITE, "node_modules/.bin/vite build"),
    ],
    ids=["esbuild", "webpack", "vite"],
)
def test_a_bundled_page_and_its_worker_answer(
    tool: str, command: str, packed: Path, chromium: str, tmp_path: Path
) -> None:
    """Under a policy that allows `wasm-unsafe-eval` and the page's own files, and without a warning of the bundler."""
    project(tmp_path, packed, tool, *(["webpack-cli@6"] if tool is WEBPACK else []))
    said = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    assert not re.search("warning|critical", said.stdout + said.stderr, re.I), said.stdout + said.stderr
    for file in (CLASSIFIER, *([] if tool is VITE else ["index.html"])):
        shutil.copy(tmp_path / file, tmp_path / "dist")
    with served(tmp_path / "dist") as address:
        assert browsed(chromium, address) == ["delivery"] * 2


@pytest.mark.exhaustive
def test_a_page_of_the_server_of_vite_answers(packed: Path, chromium: str, tmp_path: Path) -> None:
    project(tmp_path, packed, VITE)
    with subprocess.Popen(["node", "vite_dev.js"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert browsed(chromium, process.stdout.readline().strip()) == ["delivery"] * 2
        finally:
            process.terminate()


@pytest.mark.exhaustive
@pytest.mark.parametrize("tool", [ESBUILD, WEBPACK], ids=["esbuild", "webpack"])
@pytest.mark.parametrize("name", ["index.mjs", "index.cjs"])
def test_a_bundle_for_node_answers(tool: str, name: str, packed: Path, tmp_path: Path) -> None:
    project(tmp_path, packed, tool, *(["webpack-cli@6"] if tool is WEBPACK else []), kind="commonjs")
    if tool is ESBUILD:
        command = f"node_modules/.bin/esbuild {name} --bundle --platform=node --format=esm --outfile=dist/bundle.mjs"
    else:
        (tmp_path / "webpack.config.js").unlink()
        command = f"node_modules/.bin/webpack ./{name} --mode production --target node -o dist"
    run(*command.split(), cwd=tmp_path)
    (bundle,) = (tmp_path / "dist").glob("*.*js")
    assert ANSWER.search(run("node", bundle, cwd=tmp_path))


@pytest.mark.exhaustive
@pytest.mark.parametrize("environment", ["node", "jsdom"])
def test_it_answers_in_jest(environment: str, packed: Path, tmp_path: Path) -> None:
    project(tmp_path, packed, "jest@30.5.2", "jest-environment-jsdom@30.5.2", kind="commonjs")
    run("node_modules/.bin/jest", "--env", environment, "--runTestsByPath", "in_jest.test.cjs", cwd=tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("environment", ["node", "jsdom"])
def test_it_answers_in_vitest(environment: str, packed: Path, tmp_path: Path) -> None:
    project(tmp_path, packed, VITE, "vitest@4.1.12", "jsdom@26.1.0")
    run("node_modules/.bin/vitest", "run", "--environment", environment, "in_vitest.test.js", cwd=tmp_path)


@pytest.mark.exhaustive
def test_it_answers_where_no_bytes_are_compiled(packed: Path, tmp_path: Path) -> None:
    """In workerd, which runs Workers."""
    project(tmp_path, packed, "miniflare@4", ESBUILD)
    label, refused = json.loads(run("node", "edge_run.js", cwd=tmp_path))
    assert label == "delivery"
    assert refused.startswith("NO_ENGINE: The engine cannot start: ") and "retvec-lite/engine.wasm" in refused


@pytest.mark.exhaustive
def test_its_shape_is_right_for_all_who_resolve_it(packed: Path, tmp_path: Path) -> None:
    project(tmp_path, packed, "@arethetypeswrong/cli@0.18.5", "publint@0.3.25")
    run("node_modules/.bin/attw", packed, "--exclude-entrypoints", "engine.wasm", cwd=tmp_path)  # it is no JavaScript
    said = run("node_modules/.bin/publint", packed, "--strict", cwd=tmp_path)
    assert "All good!" in said, said
