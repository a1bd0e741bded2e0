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

import numpy as np

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
EXPLAINED: Final = "explained"
"""The name of the answers to why a text has its label."""

EXPLAINED_TOLERANCE: Final = {".retvec": 2e-5, ".tflite": 1e-3}
"""By how much a weight, which is rounded, may be off: all wrappers ask one engine, and some return float32; LiteRT rounds otherwise."""

LEAST_LEAD: Final = 1e-3
"""By how much the most probable label must lead the second: then no runtime takes another one for it."""

EXPLAINED_TEXTS: Final = (
    "",
    " \t\u2003\n",
    "music",
    "where  is\tmy\u3000parcel?\n",
    "<b>wake</b> me &#117;p at %73ix &amp; don't",
    "de\u0301sole\u0301, ou\u0300 est mon cafe\u0301?",
    "u\u0308be\u0301r",
    "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165 \u1102\u1161\u11af\u110a\u1175 \u110b\u1165\u1104\u1162",
    "\u1102\u1161\u11af\u110a\u1175",
    "play \U0001f3b5\U0001f3b6 some jazz\U0001f3b7 now",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd",
    "my \u2764\ufe0f\u200d\U0001f525 parcel \U0001f3f4\U000e0067\U000e0062\U000e007f 1\ufe0f\u20e3 \U0001f1e9\U0001f1ea",
    "w\u200bake m\u00ade u\u2060p\ufeff at six",
    "\u200bhi\u200d \u200c",
    "w\u00ade\u00adather",
    "\uff57\uff41\uff4b\uff45\u3000\uff4d\uff45\u3000\uff55\uff50\u3000\uff41\uff54\u3000\uff16",
    "\U0001d429\U0001d425\U0001d41a\U0001d432 \U0001d4ff\U0001d4f2\U0001d4f9 jazz \u00be \ufb01",
    "w a k e  m e  u p  at six",
    "p.l.a.y s-o-m-e j.a.z.z",
    "**cancel** my _appointment_ [here](https://x.org/a_b)",
    "\u0e1e\u0e23\u0e38\u0e48\u0e07\u0e19\u0e35\u0e49\u0e1d\u0e19\u0e08\u0e30\u0e15\u0e01\u0e44\u0e2b\u0e21",
    "\u6211\u7684\u5305\u88f9\u5728\u54ea\u91cc\uff1f\u6628\u5929\u5c31\u5e94\u8be5\u5230\u4e86\u3002",
    "\u846b\U000e0100\u98fe \U00020bb7\u91ce\u5bb6\u3067\u30ab\u3099\u30bf\u30ab\u30ca\uff76\uff9e\u3082",
    "iPhone\u624b\u673a15Pro\u0e44\u0e17\u0e22ok",
    "\u0623\u064a\u0646 \u0637\u064e\u0631\u0652\u062f\u064a\u061f",
    "\u05d0\u05d9\u05e4\u05d4 \u05d4\u05d7\u05d1\u05d9\u05dc\u05d4 \u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd\u05c7",
    "\u202bwake\u202c \u2067\u05e9\u05dc\u05d5\u05dd\u2069 \u202etazz\u202c",
    "\u092e\u0947\u0930\u093e \u092a\u093e\u0930\u094d\u0938\u0932 \u0915\u0939\u093e\u0901 \u0939\u0948",
    "\u1b13\u1b44\u1b2d\u1b36\u1b13\u1b2d \u07d2\u07eb\u07d3\u07eb\u07d2\u07d3",
    "\U0001d157\U0001d165 \U00011013\U00011038 \U0010ffff",
    "h\u0300\u0301\u0302\u0303\u0304\u0305i \u0301x now",
    "before\u0000after the end",
)
"""What is explained beside people's texts: what a wrapper may count or cut in another way than Python."""
SEED: Final = 5
PEOPLE: Final = 40
"""Texts of people in each file of answers; the others are made up."""

_SMALL: Final[Mapping[str, Any]] = {"head": "linear", "embedding": "raw"}

FILES: Final[Mapping[str, tuple[str, tuple[Format, ...], Mapping[str, Any]]]] = {
    "plain": ("int8", (EngineFormat(),), {"head": "pool", "ngram_kb": 0}),
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
    return _with_a_line_each(document, ("cases", "long"))


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
    document = {"lessons": LESSONS, "kept": kept, **files}
    return classifier.memory.to_bytes(), _with_a_line_each(document, names, (", ", ": "))


def explained(folder: Path, names: Sequence[str]) -> bytes:
    """Return what the words of texts count in the files of some names, JSON; the `.retvec` files answer.

    Cases are texts of people, half of them mistyped, one of several windows, and `EXPLAINED_TEXTS`. `label`: the one that is explained, null
    for the most probable one, where it leads by `LEAST_LEAD` in all files. `spans`: where each part starts and ends, in code points of the text as it was given. `weights`: what it counts
    in each file, which may be off by `tolerance[suffix of the file]`.
    """
    people = [text for text, _ in english("test")]
    texts = [*people[:5], *(mistype(text, 0.5, seed) for seed, text in enumerate(people[5:10]))]
    texts += ["\U0001f44b\U0001f3fe " + "e\u0301\u00a0".join(people[10:15]), *EXPLAINED_TEXTS]
    classifiers = {name: rl.load(folder / f"{name}.retvec") for name in names}
    (labels,) = {classifier.labels for classifier in classifiers.values()}
    cases = []
    for at, text in enumerate(texts):
        leads = [np.diff(np.sort(classifier.probabilities(text)[0])[-2:])[0] for classifier in classifiers.values()]
        label = None if at % 2 and min(leads) > LEAST_LEAD else labels[at // 2 % len(labels)]
        found = {name: classifier.explain(text, label).spans for name, classifier in classifiers.items()}
        (spans,) = {tuple((span.start, span.end) for span in spans) for spans in found.values()}
        weights = {name: [round(span.weight, 5) + 0.0 for span in spans] for name, spans in found.items()}
        cases.append({"text": text, "label": label, "spans": spans, "weights": weights})
    return _with_a_line_each({"tolerance": EXPLAINED_TOLERANCE, "cases": cases}, ("cases",))


def _with_a_line_each(
    document: Mapping[str, Any], lists: Sequence[str], between: tuple[str, str] = (",", ":")
) -> bytes:
    """Return JSON with one line for each case of some lists, which stand behind the other values."""
    head = json.dumps({key: value for key, value in document.items() if key not in lists}, indent=1)[:-2]
    rows = {key: ",\n".join(json.dumps(case, separators=between) for case in document[key]) for key in lists}
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
    write_explained()
    write_checksums()


def write_explained() -> None:
    """Write what words count in the `.retvec` files, as they are."""
    atomic_write(FOLDER / f"{EXPLAINED}.json", explained(FOLDER, list(FILES)))


def write_taught() -> None:
    """Write the memory and its answers."""
    memory, document = taught(FOLDER, [name for name, (*_, options) in FILES.items() if not options.get("multi_label")])
    atomic_write(FOLDER / f"{TAUGHT}.memory", memory)
    atomic_write(FOLDER / f"{TAUGHT}.json", document)


def write_checksums() -> None:
    """Write the checksums of everything."""
    found = sorted(path for path in FOLDER.iterdir() if path.suffix in (".json", ".retvec", ".tflite", ".memory"))
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in found)
    atomic_write(FOLDER / CHECKSUMS, sums.encode("ascii"))


if __name__ == "__main__":
    main()
