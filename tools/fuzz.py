"""Attack the reader of exported files with mutated ones, isolated: 20,000 files in about twenty minutes.

    python -m tools.fuzz [--files 20000] [--seed 0] [--quick]

Four kinds of mutations, of the shipped demo model and of a miniature whose graph is most of the file:

- bytes: 1 to 8 bytes anywhere in the file, or a piece cut out, doubled or cut off;
- int32: 1 or 2 integers of the graph, outside of the weights, and the checksum mended as an attacker would;
- zip: 1 to 4 bytes of the zip tail's headers;
- metadata: a value of retvec_lite.json, and the zip's CRC mended.

Counted are files that were refused, that answered as before, otherwise, or not at all, and what must never be: another exception
than RetvecLiteError, a dead process, another answer under a checksum that was not mended. The peak of memory is this process's.
"""

import copy
import hashlib
import io
import json
import random
import resource
import struct
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.converters.tflite import schema
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write
from retvec_lite.runtime import worker
from retvec_lite.runtime.artifact import LABELS_NAME, METADATA_NAME, Artifact, read_artifact
from retvec_lite.runtime.interpreters import installed_runtimes
from tools.counts import ROOT, attack_options, counts_table

TEXTS: Final = ("", "wkae me up at half past six", "我的包裹在哪里?", "A1 " * 40)
VALUES: Final = (0, 1, -1, 2, 127, 255, 65_536, 2**31 - 1, -(2**31))
"""Integers that programs get wrong; a random one is drawn as often as one of these."""

OLD_RUNTIME_SHARE: Final = 0.2
"""Of the mutated graphs, those that run on tflite-runtime, which crashes far more often."""

SECONDS: Final = 1800
"""After these it stops, with fewer files."""

PATIENCE: Final = 10.0
"""Seconds for one answer: less than the product's, so that the benchmark ends."""

VICTIMS: Final = (
    ROOT / "android_demo" / "app" / "src" / "main" / "assets" / "classifier.tflite",
    ROOT / "tests" / "data" / "tiny_signatures.tflite",
)

OUTCOMES: Final = {
    "refused": "",
    "same answer": "",
    "other answer": "",
    "crash": "crashed with signal",
    "too slow": "gave no answer",
    "too much memory": "needs more than",
    "NaN": "answers with NaN",
}
"""Outcome -> what the message of the error says, where that tells it from a refusal."""


class Victim(NamedTuple):
    """A file to mutate.

    Attributes:
        content: all of it.
        artifact: what is in it.
        graph: offsets of the integers outside of the weights.
        answers: its right answers, runtime -> float32 `[texts, classes]`.
    """

    content: bytes
    artifact: Artifact
    graph: list[int]
    answers: dict[str, Floats]


class Mutation(NamedTuple):
    """A kind of mutation.

    Attributes:
        mutate: what makes another file of a file.
        mended: whether checksums are mended, so that other answers are no fault.
        share: how often it is drawn.
    """

    mutate: Callable[[Victim, random.Random], bytes]
    mended: bool
    share: int


def main() -> None:
    args = attack_options(__doc__, 20_000)
    started = time.perf_counter()
    worker.TIMEOUT = PATIENCE
    counts, faults = attack(args.files, args.seed)
    done = sum(sum(found.values()) for found in counts.values())
    memory = [resource.getrusage(who).ru_maxrss / 1000 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    text = (
        f"{counts_table('mutated', OUTCOMES, counts)}\n"
        f"{done:,} files in {time.perf_counter() - started:.0f} s (seed {args.seed}). Exceptions other than RetvecLiteError, and "
        f"other answers under a checksum that was not mended: {len(faults)}. Peak memory: {memory[0]:.0f} MB in the process that "
        f"loads the files, {memory[1]:.0f} MB in a worker.\n"
    )
    print("\n".join([text, *faults]))
    if not args.quick:
        atomic_write(Path(__file__).with_suffix(".md"), text.encode())
    sys.exit(1 if faults else 0)


def attack(files: int, seed: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Try mutated files, until they are done or time is up.

    Returns:
        Kind of mutation -> outcome -> files; and a description of each thing that must not happen.
    """
    draw = random.Random(seed)
    runtimes = list(installed_runtimes())
    victims = [_victim(path, runtimes) for path in VICTIMS]
    engines = {runtime: worker.IsolatedEngine(victims[0].artifact, 1, runtime) for runtime in runtimes}
    counts: dict[str, Counter[str]] = {}
    faults: list[str] = []
    stop = time.perf_counter() + SECONDS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated.tflite"
        for number in range(files):
            if time.perf_counter() > stop:
                break
            victim = draw.choice(victims)
            name = draw.choices([*MUTATIONS], [mutation.share for mutation in MUTATIONS.values()])[0]
            runtime = runtimes[-1] if draw.random() < OLD_RUNTIME_SHARE else runtimes[0]
            mutation = MUTATIONS[name]
            kind = f"{name}, {runtime}" if mutation.mended else name
            path.write_bytes(mutation.mutate(victim, draw))
            try:
                outcome = _outcome(path, victim, engines[runtime], victim.answers[runtime])
            except Exception as error:  # noqa: BLE001 - this is what it looks for
                faults.append(f"file {number}, {kind}: {error!r}")
                outcome = "refused"
            if outcome == "other answer" and not mutation.mended:
                faults.append(f"file {number}, {kind}: another answer")
            counts.setdefault(kind, Counter())[outcome] += 1
    return dict(sorted(counts.items())), faults


def _outcome(path: Path, victim: Victim, engine: worker.IsolatedEngine, expected: Floats) -> str:
    """Load a file and ask it; return a key of `OUTCOMES`."""
    try:
        artifact = read_artifact(path)
        engine.load(artifact)
        answers = engine.probabilities(TEXTS)
    except RetvecLiteError as error:
        return next((name for name, sign in OUTCOMES.items() if sign and sign in str(error)), "refused")
    same = artifact.labels == victim.artifact.labels and np.array_equal(answers, expected)
    return "same answer" if same else "other answer"


def _victim(path: Path, runtimes: list[str]) -> Victim:
    content = path.read_bytes()
    if path.name.startswith("tiny"):
        content += _tail(_tiny_metadata(content))
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / path.name
        whole.write_bytes(content)
        artifact = read_artifact(whole)
    answers = {}
    for runtime in runtimes:
        engine = worker.IsolatedEngine(artifact, 1, runtime)
        answers[runtime] = engine.probabilities(TEXTS)
    return Victim(content, artifact, _graph(artifact.model), answers)


def _tiny_metadata(model: bytes) -> dict[str, Any]:
    """Return what tests/support/tiny_artifact.py writes into the miniature with both signatures."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from tiny_artifact import SIGNATURES, tiny_metadata

    return dict(tiny_metadata(signatures=SIGNATURES, model_sha256=hashlib.sha256(model).hexdigest()))


def _graph(model: bytes) -> list[int]:
    """Return the offsets of a flatbuffer's integers, those inside of weights left out."""
    root = schema().Model.GetRootAs(model)
    weights = np.zeros(len(model), bool)
    for index in range(root.BuffersLength()):
        buffer = root.Buffers(index)
        # 4: the place of `data` in the table Buffer of the schema.
        start = buffer._tab.Vector(buffer._tab.Offset(4)) if buffer.DataLength() else 0
        weights[start : start + buffer.DataLength()] = True
    return [place for place in range(0, len(model) - 3, 4) if not weights[place]]


def _tail(metadata: dict[str, Any]) -> bytes:
    """Return the zip behind a model."""
    tail = io.BytesIO()
    labels = [str(label) for label in metadata.get("labels", ())] if isinstance(metadata.get("labels"), list) else []
    with zipfile.ZipFile(tail, "w") as archive:
        archive.writestr(zipfile.ZipInfo(LABELS_NAME), "".join(f"{label}\n" for label in labels))
        archive.writestr(zipfile.ZipInfo(METADATA_NAME), json.dumps(metadata))
    return tail.getvalue()


def _mutate_bytes(victim: Victim, draw: random.Random) -> bytes:
    content = bytearray(victim.content)
    start, end = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    way = draw.randrange(8)
    if way == 0:
        return bytes(content[:start])
    if way == 1:
        return bytes(content[:start] + content[end:])
    if way == 2:
        return bytes(content[:end] + content[start:])
    for _ in range(draw.randint(1, 8)):
        content[draw.randrange(len(content))] = draw.randrange(256)
    return bytes(content)


def _mutate_graph(victim: Victim, draw: random.Random) -> bytes:
    model = bytearray(victim.artifact.model)
    for _ in range(draw.randint(1, 2)):
        value = draw.choice((*VALUES, draw.randrange(-(2**31), 2**31)))
        struct.pack_into("<i", model, draw.choice(victim.graph), value)
    digest = hashlib.sha256(model).hexdigest()
    return bytes(model) + _tail({**victim.artifact.metadata, "model_sha256": digest})


def _mutate_zip(victim: Victim, draw: random.Random) -> bytes:
    content = bytearray(victim.content)
    size = len(victim.artifact.model)
    members = [bytes(content).index(name, size) for name in (LABELS_NAME.encode(), METADATA_NAME.encode())]
    directory = bytes(content).index(b"PK\1\2", size)
    headers = [*(place for at in members for place in range(at - 30, at)), *range(directory, len(content))]
    for _ in range(draw.randint(1, 4)):
        content[draw.choice(headers)] = draw.choice((0, 1, 8, 12, 14, 127, 128, 255, draw.randrange(256)))
    return bytes(content)


def _mutate_metadata(victim: Victim, draw: random.Random) -> bytes:
    metadata = copy.deepcopy(dict(victim.artifact.metadata))
    place: Any = metadata
    while True:
        key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[key], (dict, list)) or not place[key] or draw.random() < 0.2:
            break
        place = place[key]
    strange = (None, True, 0, -1, 1.5, 2**31, 10**400, "", "\x1b[2J\n", [], {}, [[]], "x" * 10_000)
    place[key] = draw.choice((*strange, list(victim.artifact.labels)))
    return victim.artifact.model + _tail(metadata)


MUTATIONS: Final = {
    "bytes": Mutation(_mutate_bytes, mended=False, share=16),
    "int32": Mutation(_mutate_graph, mended=True, share=4),
    "zip": Mutation(_mutate_zip, mended=False, share=2),
    "metadata": Mutation(_mutate_metadata, mended=True, share=2),
}


if __name__ == "__main__":
    main()
