"""What the Swift tests on Linux need of Python: `swift_check.py FOLDER COMMAND...` runs a command beside which packages are evaluated.

It exports three classifiers into FOLDER/packages, and writes every snippet of pages, comments and exports into FOLDER/snippets.
"""

import dataclasses
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import standin

import retvec_lite as rl
from retvec_lite.converters.evaluator import Program
from retvec_lite.converters.export import export_model
from retvec_lite.decision import Decision

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools.c_archive import SWIFT_NAME, swift_package, write_zip

ROOT: Final = Path(__file__).parents[2]
DECISIONS: Final = {
    "plain": Decision(),
    "several": Decision(thresholds=(0.15, 0.2, 0.25, 0.2, 0.15)),
    "unknown": Decision(threshold=0.4, unknown_label="five", unknown_power=0.3, characters="abcdefgиπ天"),
}
TEXTS: Final = ("where is my parcel?", "wkae me up at hlaf past six", "天气怎么样", "")
GIVEN: Final = "manifest: Data, signature: Data, key: String, data: Data, folder: URL, update: RetvecUpdate"


def snippets(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield where each snippet stands, and its text."""
    pages = [
        ROOT / "README.md",
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("examples/**/*.md"),
        *folder.glob("packages/*/README.md"),
    ]
    for page in pages:
        yield from ((str(page), text) for text in re.findall(r"```swift\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
    for source in ROOT.glob("swift/Retvec*/*.swift"):
        for found in re.findall(r"(?:^ *///     .*\n)+", source.read_text("utf-8"), re.MULTILINE):
            yield str(source), re.sub("(?m)^ *///     ", "", found)


def as_source(number: int, place: str, text: str) -> str:
    """Return a snippet as the body of a function, which is given what the text around it gives."""
    module = "RetvecLiteCoreML" if "CoreML" in place or "import RetvecLiteCoreML" in text else "RetvecLite"
    given = f"{GIVEN}, classifier: RetvecClassifier" if module == "RetvecLite" else "classifier: TextClassifier"
    body = re.sub(r"(?m)^import \w+\n", "", text)
    return f"import Foundation\nimport {module}\n\n// {place}\nfunc snippet{number}({given}) throws {{\n{body}}}\n"


program = functools.cache(Program)


@functools.cache
def evaluate(folder: Path, question: str) -> str:
    """Answer what the stand-in of Core ML asks, in JSON: what a package declares, or its probabilities."""
    asked = json.loads(question)
    package = program(folder / Path(*Path(asked["package"]).parts[-3:]))
    ((name, kind),) = package.inputs.items()
    if asked["codepoints"] is None:
        return json.dumps({"metadata": package.package.metadata, "inputs": {name: kind.shape}})
    found = package.run({name: np.array(asked["codepoints"], np.int32).reshape(kind.shape)})
    return json.dumps({"probabilities": {str(label): float(value) for label, value in found["probabilities"].items()}})


def serve(folder: Path) -> None:
    """Answer through two named pipes, line by line."""
    with (
        open(folder / "asked", encoding="utf-8") as asked,
        open(folder / "answered", "w", encoding="utf-8") as answered,
    ):
        for line in asked:
            print(evaluate(folder, line), file=answered, flush=True)


def main(folder: Path, *command: str) -> int:
    """Prepare the folder and run the command."""
    for name, decision in DECISIONS.items():
        model = dataclasses.replace(standin.classifier("pool-snapped", standin.LONG, 64), decision=decision)
        for kind, recipe, place in (("coreml", "float32", name), ("engine", "int8", f"{name}-engine")):
            export_model(model, folder / "packages" / place, formats=[kind], recipes=[recipe], force=True)
    (folder / "snippets").mkdir()
    for number, (place, text) in enumerate(snippets(folder)):
        (folder / "snippets" / f"snippet{number}.swift").write_text(as_source(number, place, text), "utf-8")
    archive = write_zip(folder / SWIFT_NAME, swift_package())
    assert archive.stat().st_size < 400_000, "The package for Xcode is to be small."
    shutil.unpack_archive(archive, folder / "release")
    (folder / "release" / "texts").write_text("\n".join(TEXTS) + "\n", "utf-8")
    for name in ("asked", "answered"):
        os.mkfifo(folder / name)
    threading.Thread(target=serve, args=(folder,), daemon=True).start()
    code = subprocess.run(command, check=False).returncode
    found = [
        (label, round(probability, 3))
        for [(label, probability)] in rl.load(ROOT / "golden/plain.retvec").predict(TEXTS, top=1)
    ]
    if not code and (said := (folder / "release/answers").read_text("utf-8")) != "".join(
        f"{label}\t{p:.3f}\n" for label, p in found
    ):
        sys.exit(f"examples/swift answers {said!r} instead of {found}.")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
