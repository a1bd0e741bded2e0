"""Every snippet that the card of a folder prints is run, or held against what it calls."""

import dataclasses
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import browser
import npm_projects
import pytest
import tomllib
from engine_cases import CASES
from light import run_python

from retvec_lite.card import model_card, report_of
from retvec_lite.decision import Decision

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "golden"
FILES = {".tflite": "rejecting.tflite", ".retvec": "rejecting.retvec", ".mlpackage": None, ".onnx": None}
"""Suffixes of exported files -> a golden file of that kind, to run."""
SEVERAL = {".tflite": "several.tflite", ".retvec": "several.retvec"}
FORMATS = [(), *((suffix,) for suffix in FILES), tuple(FILES)]
LANGUAGES = {"sh", "python", "js", "swift"}


def snippets(suffixes: tuple[str, ...], several: bool) -> list[tuple[str, str]]:
    """The language and the text of each snippet in the card of an export of files with these suffixes; of none, of a trained folder."""
    decision = Decision(thresholds=(0.5,) * len(CASES["pool"].labels)) if several else Decision(threshold=0.3)
    report = report_of(dataclasses.replace(CASES["pool"], decision=decision))
    if suffixes:
        artifact = {"bytes": 1, "oldest_runtime": {}, "runtimes": []}
        files = [{"file": f"classifier-int8{suffix}", **artifact} for suffix in suffixes]
        report |= {
            "texts": {"golden": 1, "real": "none"},
            "accuracy_float32": None,
            "skipped_runtimes": [],
            "artifacts": files,
        }
    return re.findall(r"```(\w+)\n(.*?)```", model_card(report).decode(), re.DOTALL)


def of_language(language: str) -> Iterator[tuple[str, bool]]:
    """The different snippets of a language in all cards, and whether the file gives a text several labels."""
    found = [
        (text, several)
        for several in (False, True)
        for suffixes in FORMATS
        for kind, text in snippets(suffixes, several)
        if kind == language
    ]
    assert found
    yield from dict.fromkeys(found)


def test_every_snippet_is_in_a_language_that_is_tested_here() -> None:
    assert {
        kind for suffixes in FORMATS for several in (False, True) for kind, _ in snippets(suffixes, several)
    } == LANGUAGES


def test_extras_and_packages_that_are_installed_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for text, _ in of_language("sh"):
        assert "in a checkout of retvec-lite" in text
        for extra in re.findall(r"\.\[(\w+)\]", text):
            assert extra in project["optional-dependencies"]
        for workspace in re.findall(r"--workspace (\w+)", text):
            assert (ROOT / workspace / "package.json").is_file()


def test_python_answers(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    for text, several in of_language("python"):
        (file,) = re.findall(r'rl\.load\("(.*?)"\)  #', text)
        golden = (SEVERAL if several else FILES).get(Path(file).suffix)
        if golden is None:  # tests/converters/onnx runs those of an .onnx, and others those of a trained folder
            assert file in (".", "classifier-int8.onnx")
            continue
        shutil.copy(GOLDEN / golden, tmp_path / file)
        done = run_python(f"import os; os.chdir({str(tmp_path)!r})\n{text}")
        assert done.returncode == 0 and done.stdout.startswith("["), done.stderr


RUNTIME = """
export class Tensor { constructor(type, data, shape) { Object.assign(this, { type, data, shape }); } }
export class InferenceSession {
  static async create(file) { if (!(file instanceof Uint8Array)) throw new Error("no bytes"); return new InferenceSession(); }
  async run({ codepoints: { type, data, shape } }) {
    if (type !== "int32" || !(data instanceof Int32Array) || String(shape) !== `1,${data.length}`) throw new Error("another tensor");
    return { probabilities: { data: Float32Array.of(0.25, 0.75) } };
  }
}
"""
"""In place of onnxruntime-node, which is too large to install for a test: it answers "yes" to everything."""


def onnx_file() -> bytes:
    """An .onnx without a graph, of which JavaScript reads the metadata alone."""

    def field(number: int, content: bytes) -> bytes:
        size = len(content)
        return bytes([8 * number + 2, 128 + size % 128, size // 128]) + content

    facts = {"format": "retvec-lite", "contract_version": 3, "encoder": {"max_chars": 96}, "labels": ["no", "yes"]}
    return field(14, field(1, b"retvec_lite.json") + field(2, json.dumps(facts).encode()))


@pytest.mark.slow
def test_javascript_answers(tmp_path: Path) -> None:
    if shutil.which("npm") is None or (missing := browser.no_node()):
        pytest.skip(f"{missing if shutil.which('npm') else 'npm is not installed'}: the npm package was not built")
    npm_projects.run("npm", "pack", "--pack-destination", tmp_path, cwd=npm_projects.NPM)
    (package,) = tmp_path.glob("*.tgz")
    npm_projects.install(tmp_path, package)
    runtime = tmp_path / "node_modules" / "onnxruntime-node"
    runtime.mkdir()
    (runtime / "package.json").write_text('{"type": "module", "main": "index.js"}', encoding="ascii")
    (runtime / "index.js").write_text(RUNTIME, encoding="ascii")
    (tmp_path / "classifier-int8.onnx").write_bytes(onnx_file())
    for text, several in of_language("js"):
        shutil.copy(GOLDEN / f"{'several' if several else 'rejecting'}.retvec", tmp_path / "classifier-int8.retvec")
        (tmp_path / "index.mjs").write_text(text, encoding="utf-8")
        said = npm_projects.run("node", "index.mjs", cwd=tmp_path)
        assert said.startswith("[") if several else "label:" in said
        assert "loadOnnx" not in text or ("yes" in said and "0.75" in said)
