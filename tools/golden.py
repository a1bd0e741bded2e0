"""Write golden/, small files with the answers that every runtime must give: run `python -m tools.golden`.

It trains on the English starter texts. The answers are those of the NumPy reference in float32, with the weights that a file holds.
"""

import csv
import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import retvec_lite as rl
from retvec_lite import contract
from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.converters.engine import EngineFormat
from retvec_lite.converters.format import Format
from retvec_lite.converters.parity.golden import clear_answers, golden_bytes
from retvec_lite.converters.parity.golden_texts import GoldenText, golden_texts, is_reachable
from retvec_lite.converters.parity.oracle import Oracle, Sample
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.converters.tflite.format import TFLite
from retvec_lite.data.dataset import starter_file
from retvec_lite.data.typos import mistype
from retvec_lite.decision import Decision
from retvec_lite.files import atomic_write
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.windows import read_text

FOLDER: Final = Path(__file__).parents[1] / "golden"
CHECKSUMS: Final = "SHA256SUMS"
TAUGHT: Final = "taught"
"""The name of a memory, and of the answers of files that were taught its texts."""

LESSONS: Final = (
    ("feed the cat at noon", "pets"),
    ("the dog wants a walk", "pets"),
    ("Did anyone feed the dog?", "pets"),
    ("remind me to repot the fern", "plants"),
    ("<b>my roses</b> need water", "plants"),
    ("阳台上的花要浇水", "plants"),
    ("what's the weather like on mars", "small talk"),
)
"""What is taught."""
SEED: Final = 5
PEOPLE: Final = 40
"""Texts of people in each file of answers; the others are made up."""

_SMALL: Final[Mapping[str, Any]] = {"head": "linear", "embedding": "raw"}

FILES: Final[Mapping[str, tuple[str, tuple[Format, ...], Mapping[str, Any]]]] = {
    "plain": ("int4", (EngineFormat(),), {"head": "pool", "ngram_kb": 0}),
    "rejecting": ("int8", (EngineFormat(), TFLite()), {**_SMALL, "ngram_kb": 24}),
    "several": (
        "int8",
        (EngineFormat(), TFLite()),
        {**_SMALL, "ngram_kb": 16, "meaning": "none", "multi_label": True},
    ),
}
"""Name -> recipe, formats, and how it is trained."""


def english(split: str) -> list[tuple[str, str]]:
    """Return the English texts of the starter data, with their labels, in an order of their own."""
    with open(starter_file(split), encoding="utf-8", newline="") as file:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(file) if row["lang"] == "en"]
    Random(SEED).shuffle(rows)
    return rows


def in_pairs(rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return each text, and behind every second one the text of both, which has the labels of both."""
    pairs = [
        (f"{text}. {other}", "|".join(dict.fromkeys((label, second))))
        for (text, label), (other, second) in zip(rows[::2], rows[1::2], strict=False)
    ]
    return [*rows, *pairs]


def trained(name: str) -> TrainedModel:
    """Train the classifier of a file."""
    options = FILES[name][2]
    rows = english("train")
    model = rl.train(in_pairs(rows) if options.get("multi_label") else rows, seed=SEED, **options).model
    return dataclasses.replace(model, decision=Decision()) if name == "plain" else model


def texts_of(config: EncoderConfig) -> list[GoldenText]:
    """Return the golden texts of exports, and what people wrote, half of it mistyped."""
    rows = english("test")
    people = [text for text, _ in rows[: PEOPLE // 2]]
    people += [mistype(text, 0.5, seed) for seed, (text, _) in enumerate(rows[PEOPLE // 2 : PEOPLE])]
    people += [" ".join(text for text, _ in rows[at : at + 2]) for at in range(PEOPLE, PEOPLE + 10, 2)]
    short = [text for text in people if len(text) <= config.max_chars]
    return [
        *(text for text in golden_texts(config) if is_reachable(text, config)),
        *(GoldenText(text, text, contract.codepoints(read_text(text, config), config.max_chars)) for text in short),
    ]


def answers(model: TrainedModel, recipe_name: str, files: Mapping[Format, Path]) -> bytes:
    """Return the texts with the answers of all files of a classifier, JSON as `golden_bytes` writes it, but shorter."""
    config, recipe, texts = model.encoder, find_recipe(recipe_name), texts_of(model.encoder)
    sample = Sample.of([text.name for text in texts], [text.codepoints for text in texts], config)
    expected: dict[str, tuple[Floats, float]] = {}
    for kind, path in files.items():
        weights = {name: match.values for name, match in kind.open(path).weights(model, recipe).items()}
        table = Oracle(model, weights).table(sample)
        expected[kind.golden_key(recipe)] = (table, kind.facts(recipe).parity_tolerance)
    document = json.loads(golden_bytes(config, model.labels, texts, expected, model.decision))
    if not model.decision.rejects:
        for key, (table, tolerance) in expected.items():
            known = clear_answers([text.text for text in texts], table, model.labels, Decision(), tolerance)
            for row, label in known:
                document["cases"][row].setdefault("labels", {})[key] = label
    for case in document["cases"]:
        del case["words"]
        if case["text"] is not None:
            del case["codepoints"]
    return _with_a_line_each(document)


def taught(folder: Path, names: Sequence[str]) -> tuple[bytes, bytes]:
    """Return a memory, and what the `.retvec` files of some names answer with it, JSON.

    Cases are the taught texts, also mistyped, and others: `label` of the answer, null for none, and `taught`, the text by which the memory
    gave it, null where the file did.
    """
    rows = english("test")
    others = [text for text, _ in rows[: PEOPLE // 2]]
    files: dict[str, Any] = {}
    for name in names:
        classifier = rl.load(folder / f"{name}.retvec")
        for text, label in LESSONS:
            classifier.teach(text, label)
        texts = [text for text, _ in LESSONS]
        texts += [mistype(text, 0.4, seed) for seed, text in enumerate(texts)]
        answers = [(text, classifier.predict(text, top=1)[0]) for text in [*texts, *others]]
        files[name] = [{"text": text, "label": first.label, "taught": first.taught} for text, first in answers]
    kept = classifier.memory.texts
    lines = {name: ",\n".join(json.dumps(case) for case in cases) for name, cases in files.items()}
    head = json.dumps({"lessons": LESSONS, "kept": kept}, indent=1)[:-2]
    document = head + "".join(f',\n "{name}": [\n{cases}\n ]' for name, cases in lines.items()) + "\n}\n"
    return classifier.memory.to_bytes(), document.encode("ascii")


def _with_a_line_each(document: Mapping[str, Any]) -> bytes:
    """Return JSON with one line for each case."""
    lists = {"cases", "long"}
    head = json.dumps({key: value for key, value in document.items() if key not in lists}, indent=1)[:-2]
    rows = {key: ",\n".join(json.dumps(case, separators=(",", ":")) for case in document[key]) for key in sorted(lists)}
    return (head + "".join(f',\n "{key}": [\n{lines}\n ]' for key, lines in rows.items()) + "\n}\n").encode("ascii")


def main() -> None:
    """Write every file, its answers and the checksums."""
    for name, (recipe, formats, _) in FILES.items():
        model = trained(name)
        files = {}
        for kind in formats:
            (draft,) = kind.make(model, [find_recipe(recipe)], {"embed": False})
            files[kind] = FOLDER / f"{name}{kind.suffix}"
            draft.write(files[kind], draft.oldest_runtime)
        atomic_write(FOLDER / f"{name}.json", answers(model, recipe, files))
    write_taught()


def write_taught() -> None:
    """Write the memory and its answers, and the checksums of everything."""
    memory, document = taught(FOLDER, [name for name, (*_, options) in FILES.items() if not options.get("multi_label")])
    atomic_write(FOLDER / f"{TAUGHT}.memory", memory)
    atomic_write(FOLDER / f"{TAUGHT}.json", document)
    found = sorted(path for path in FOLDER.iterdir() if path.suffix in (".json", ".retvec", ".tflite", ".memory"))
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in found)
    atomic_write(FOLDER / CHECKSUMS, sums.encode("ascii"))


if __name__ == "__main__":
    main()
