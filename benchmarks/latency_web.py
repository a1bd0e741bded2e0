"""The rows of `latency.py` in a browser: our files on LiteRT.js, the playground's runtime, in headless Chromium.

Node.js drives Chromium with playwright-core, as the playground's own tests do. `npm ci` in web_demo installs it and
LiteRT.js's script; the WebAssembly is the one in the package. `latency_web_page.mjs` measures inside the page. A call copies
the code points in and the probabilities out, and deletes its tensors, as the page's `TextClassifier` does.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from browser import MODULES, chromium, no_chromium, no_node
from latency_measure import TURNS_BEFORE, text_of

from retvec_lite.playground import page_files
from retvec_lite.runtime.artifact import classify_signatures, read_artifact

Row = dict[str, Any]

HERE: Final = Path(__file__).resolve().parent
START_WORDS: Final = (10, 60)
"""Words of the texts that a fresh page answers. The time of the first one counts."""
_SECONDS: Final = 1800
"""Time limit of the browser for everything."""
_STARTED: Final = ("runtime_ms", "load_ms", "first_ms", "empty_bytes", "wasm_bytes")


def missing() -> str | None:
    """Return why no browser can be measured here, as a clause; None if one can."""
    return no_node("playwright-core", "@litertjs/core") or (no_chromium() if chromium() is None else None)


def measure_web(
    contestants: Sequence[Row], starts: Sequence[Row], words: Sequence[int], rounds: int, runs: int
) -> list[Row]:
    """Measure contestants as `latency_measure.measure_times` does, and the start and memory of each file of `starts`.

    Args:
        contestants: rows with `name`, `file`, `words` and `max_chars`, and `signature` if it is not `classify`.
        starts: rows with `name` and `file`.
        words: numbers of words of the texts.
        rounds: turns that count.
        runs: fresh pages for each of `starts`.

    Returns:
        Rows with the median `microseconds` of a call. For each start a row of medians: milliseconds of processor time to
        compile the WebAssembly (`runtime_ms`), to load the file (`load_ms`) and for the first answer (`first_ms`), and
        bytes of WebAssembly memory before the file is loaded (`empty_bytes`) and after 100 texts (`wasm_bytes`).
    """
    litert = json.loads((MODULES / "@litertjs" / "core" / "package.json").read_text(encoding="utf-8"))["version"]
    addresses = {str(row["file"]): f"/{number}.tflite" for number, row in enumerate([*contestants, *starts])}
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("litert.js", "litert.wasm"):
            (Path(scratch) / name).write_bytes(page_files()[name])
        order = {
            "chromium": chromium(),
            "files": {
                "/page.mjs": str(HERE / "latency_web_page.mjs"),
                "/core.js": str(MODULES / "@litertjs" / "core" / "dist" / "index.js"),
                "/wasm-utils.js": str(MODULES / "@litertjs" / "wasm-utils" / "dist" / "index.js"),
                **{f"/{name}": str(Path(scratch) / name) for name in ("litert.js", "litert.wasm")},
                **{address: file for file, address in addresses.items()},
            },
            "times": {
                "contestants": [
                    {"signature": "classify", **row, "url": addresses[str(row["file"])]} for row in contestants
                ],
                "texts": [{"words": count, "text": text_of(count)} for count in words],
                "rounds": rounds,
                "before": TURNS_BEFORE,
            },
            "starts": [
                {"name": row["name"], "url": addresses[str(row["file"])], "calls": _calls(row["file"])}
                for row in starts
            ],
            "runs": runs,
        }
        listed = Path(scratch) / "order.json"
        listed.write_text(json.dumps(order), encoding="utf-8")
        command = ["node", str(HERE / "latency_web.mjs"), str(listed)]
        found = json.loads(
            subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=_SECONDS).stdout
        )
    runtime = {"runtime": f"LiteRT.js {litert}, Chromium {found['browser'].split('.')[0]}"}
    rows: list[Row] = [{**runtime, "threads": 1, **row} for row in found["times"]]
    for start in starts:
        answers = [row for row in found["starts"] if row["name"] == start["name"]]
        medians = {name: median(row[name] for row in answers) for name in _STARTED}
        rows.append({**runtime, "name": start["name"], "bytes": Path(start["file"]).stat().st_size, **medians})
    return rows


def _calls(file: str) -> list[Row]:
    """Return the smallest signature that fits each text of START_WORDS."""
    signatures = classify_signatures(read_artifact(file).signatures)
    calls = []
    for words in START_WORDS:
        fitting = next((each for each in signatures if each.max_words >= words), signatures[-1])
        shape = {"signature": fitting.name, "max_chars": fitting.max_chars}
        calls.append({**shape, "words": words, "text": text_of(words)})
    return calls
