"""Attack what reads trained folders and exported `.tflite` files with right checksums and hostile values.

    python -m tools.hostile [--files 3000] [--seed 0] [--quick]

Two kinds of files, of the kept exports in tests/data/exported and of a miniature:

- tail: values of retvec_lite.json and of labels.txt behind a sound model, with the zip's CRC and the SHA-256 of the model in order;
- folder: values of the description of a trained classifier and of the files beside it, and arrays of other values, shapes and types,
  missing ones, doubled ones and unknown ones, with the checksum in order.

Each file is loaded, shown and asked, and every twentieth trained classifier that could be loaded is exported. It must be refused in a sentence (RetvecLiteError), or
answer with probabilities. Everything else is a fault, and so is more memory than `MOST_MEMORY`.
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
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import retvec_lite as rl
from retvec_lite.card import model_card, report_of
from retvec_lite.converters.info import info
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel, _checksum, load_trained_model
from retvec_lite.runtime.artifact import LABELS_NAME, METADATA_NAME, read_artifact
from retvec_lite.trained import SAVED_FILES
from tools.counts import ROOT, attack_options

TEXTS: Final = ("", "wkae me up at half past six", "我的包裹在哪里?", "A1 " * 40)

MOST_MEMORY: Final = 1_500
"""Megabytes that this process may need at its peak; TensorFlow alone takes half of them."""

STRANGE: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 2, 0.0, 0.5, -0.5, 1.5, 1e308, -1e308, 2**31, 2**63, 10**400, float("nan"), float("inf"), -float("inf"),
    "", "0", "nan", "x" * 10_000, "a\nb", "a\0b", "\x1b[2J", "\ud800", "\u202e", "|", [], {}, [[]], [{}], [None], ["a"], [1, 2], [0.5],
    {"": 0}, {"a": {}}, {"0": None}, {"0": {"accuracy": "high"}}, ["a", "a"], [["a"], "b"], "language",
)  # fmt: skip
"""Values of every type that JSON can write, some of them as only Python writes them."""

DEPTH: Final = 50_000
"""Brackets around a value that is nested deeper than any parser follows."""

_NESTED: Final = "nested too deep, to be replaced"

NUMBERS: Final = (0.0, -1.0, 1e-45, 1e9, 1e19, 1e38, -1e38, 3.4e38, np.nan, np.inf, -np.inf, 256.0, 0.5)
"""What an array may be filled with, or a place of it."""

KINDS: Final[Mapping[str, Any]] = {
    "F64": np.float64, "F16": np.float16, "I8": np.int8, "U8": np.uint8, "I64": np.int64, "BOOL": np.bool_, "I32": np.int32,
}  # fmt: skip
"""Types of arrays in safetensors files, beside the right one, F32."""

FACTS: Final[Mapping[str, Any]] = {
    "accuracy_error": 0.0466, "best_epoch": 2, "confusions": [["alarm", "delivery", 3]], "copies": {"texts": 3, "groups": 2}, "created_by": "retvec-lite 0.2.0", "data": "messages.csv", "doubtful": 2, "epochs": 2,
    "data_hash": "0123456789abcdef", "trained_on": "2026-11-27", "versions": {"retvec-lite": "0.2.0", "numpy": "2.2.6"},
    "options": {"head": "auto", "seed": 0, "class_weights": {"alarm": 1.0}, "languages": []},
    "estimated_bytes": {"float32": 1651199, "int8": 812207}, "factors": {"linear": 1.5928, "network": 0.3509},
    "folds": 3, "learning_curve": [[4, 0.85], [13, 1.0]], "max_kb": 1000,
    "meaning": {"used": True, "share_of_texts": 1.0, "language": "en", "words": 15315, "rows": 31907, "known_words": 1.0,
                "languages": {"en": 15000, "de": 315}},
    "baseline": 0.9, "leaked": 3, "largest_label": 0.25,
    "one_label": ["alarm", "delivery", 6], "smallest_label": ["alarm", 4],
    "weakest": [{"label": "alarm", "texts": 5, "right": 2, "answered": 3, "taken_for": "delivery", "times": 3}],
    "multi_label": False, "rates": [[0.4, 1.0, 0.99, 0.9, None], [0.6, 0.95, 0.9, 0.93, 0.02]], "reject_at": 0.99, "right_answers": 15.5, "sentences": True,
    "described": {"names": 2, "descriptions": 3},
    "learned": [{"data": "more.csv", "learned_on": "2026-11-28", "data_hash_before": "0123456789abcdef", "added": 2, "corrected": 1,
                 "new_labels": ["music"], "right_before": 0.5}],
    "linear": {"few": True, "clean": True, "names": ["alarm"], "shift": 0.0},
    "settings": {"epochs": 2, "class_weights": "sqrt", "variants": 2, "linear_variants": 2, "typo_rate": 0.4, "seed": 0}, "texts_cut_by_max_words": 0.0, "texts_in_windows": 0.0, "training_texts": 20,
    "validation_texts": 20, "warned": 1, "warnings": ["3 texts occur twice."],
    "validation": {rate: {"accuracy": 1.0, "macro_f1": 1.0, "calibration_error": 0.002, "in_scope_unknown": 0.0,
                          "unknown_recognized": None} for rate in ("0", "0.2", "0.5")},
}  # fmt: skip
"""What a training writes down of itself."""


class Hostile(NamedTuple):
    """A file or folder to try: what was done to it, for messages; and what writes it to a place, whose path it returns."""

    what: str
    write: Callable[[Path], Path]


def main() -> None:
    args, started = attack_options(__doc__, 3_000), time.perf_counter()
    counts, faults = attack(args.files, args.seed, exports=True)
    print("\n".join([*faults, str(dict(counts))]))
    print(
        f"{counts.total():,} files in {time.perf_counter() - started:.0f} s (seed {args.seed}), {peak():.0f} MB: {len(faults)} faults."
    )
    sys.exit(1 if faults or peak() > MOST_MEMORY else 0)


def attack(files: int, seed: int, *, exports: bool = False) -> tuple[Counter[str], list[str]]:
    """Try hostile files; return how many had which end, and a line for each fault.

    With `exports`, each twentieth trained classifier that was loaded is exported and verified.
    """
    draw = random.Random(seed)
    counts: Counter[str] = Counter()
    faults: list[str] = []
    makers = [hostile_tail, hostile_folder]
    loaded = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(files):
            victims = makers[number % len(makers)]
            hostile = victims(draw)
            path = hostile.write(Path(folder) / str(number))
            try:
                found = rl.load(path)
                loaded += path.is_dir()
                show(path, found)
                ask(found)
                if exports and path.is_dir() and loaded % 20 == 0:
                    export(found, Path(folder) / f"{number}-dist")
                outcome = "answered"
            except RetvecLiteError as error:
                outcome = "refused"
                if "\n" in str(error) or len(str(error)) > 2_000:
                    faults.append(f"file {number}, {hostile.what}: no sentence: {str(error)[:300]!r}")
            except Exception as error:  # noqa: BLE001 - this is what it looks for
                outcome = "fault"
                faults.append(f"file {number}, {hostile.what}: {_where(error)}")
            counts[f"{makers[number % len(makers)].__name__}: {outcome}"] += 1
    return counts, faults


def show(path: Path, found: rl.Classifier) -> None:
    """Do all that tells about a file without asking it."""
    if path.is_dir():
        str(found)
        model_card(report_of(found.model))
        found.model.to_bytes()
    else:
        str(info(path))
        json.dumps(info(path).to_dict(), allow_nan=False)


def ask(found: rl.Classifier) -> None:
    """Ask a classifier, and raise AssertionError for what are no probabilities."""
    rows = found.probabilities(TEXTS)
    assert np.isfinite(rows).all(), "answers with NaN"
    assert ((rows >= 0) & (rows <= 1)).all(), "answers outside of 0 to 1"
    assert found.decision.multi_label or np.abs(rows.sum(axis=1) - 1).max() < 1e-3, "answers do not add up to 1"
    for answer in found.predict(TEXTS):
        assert all(0 <= probability <= 1 for _, probability in answer)


def export(found: rl.Classifier, place: Path) -> None:
    """Export and verify."""
    found.export(place, formats=("tflite", "engine"), recipes=("int8",))
    str(rl.verify(place))


def mutated(document: Any, draw: random.Random, times: int = 1) -> Any:
    """Return JSON with a value anywhere in it replaced, removed, added, moved or put into a list."""
    document = copy.deepcopy(document)
    for _ in range(times):
        place, key = _somewhere(document, draw)
        way = draw.randrange(8)
        if way == 0:
            del place[key]
        elif way == 1 and isinstance(place, dict):
            place[draw.choice(("", "other", "labels", "decision", "thresholds"))] = draw.choice(STRANGE)
        elif way == 2:
            other, name = _somewhere(document, draw)
            place[key] = copy.deepcopy(other[name])
        elif way == 3:
            place[key] = [place[key]] * draw.choice((1, 2, 5_000))
        elif way == 4 and draw.random() < 0.2:
            place[key] = _NESTED
        else:
            place[key] = copy.deepcopy(draw.choice(STRANGE))
    return document


def written(document: Any) -> str:
    """Return the JSON of a document from `mutated`."""
    return json.dumps(document).replace(f'"{_NESTED}"', "[" * DEPTH + "]" * DEPTH)


def _somewhere(document: Any, draw: random.Random) -> tuple[Any, Any]:
    """Return a place in JSON: a list or an object that is not empty, and an index or a key of it."""
    place = document
    while True:
        key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[key], (dict, list)) or not place[key] or draw.random() < 0.2:
            return place, key
        place = place[key]


def hostile_tail(draw: random.Random) -> Hostile:
    """Return a sound model with a hostile tail."""
    victim = read_artifact(draw.choice(_exported()))
    metadata = {**victim.metadata, "model_sha256": hashlib.sha256(victim.model).hexdigest()}
    if draw.random() < 0.3:
        several = draw.random() < 0.5
        metadata["decision"] = {
            "threshold": None if several else 0.4, "unknown_label": None, "unknown_power": 0.0, "characters": "abc",
            **({"thresholds": [0.5] * len(victim.labels)} if several else {}),
        }  # fmt: skip
    changed = mutated(metadata, draw, draw.choice((1, 1, 1, 2, 3)))
    labels = None
    if draw.random() < 0.2:
        labels = [draw.choice([*victim.labels, *map(str, STRANGE)])[:200] for _ in victim.labels]
        changed["labels"] = labels

    def write(place: Path) -> Path:
        path = place.with_suffix(".tflite")
        path.write_bytes(victim.model + tail(written(changed), changed.get("labels")))
        return path

    return Hostile(f"tail with {_difference(metadata, changed)}", write)


def hostile_folder(draw: random.Random) -> Hostile:
    """Return a trained folder with a hostile description or hostile arrays."""
    model = draw.choice(_trained())
    description = json.loads(_metadata_of(model)["classifier"])
    if draw.random() < 0.3:
        description["decision"] = {
            "threshold": None, "unknown_label": None, "unknown_power": 0.0, "characters": "", "thresholds": [0.5] * len(model.labels),
        }  # fmt: skip
    arrays: list[tuple[str, str, Any]] = [(name, "F32", np.asarray(value)) for name, value in model.weights.items()]
    changed, what = description, ""
    if draw.random() < 0.6:
        place = draw.choice((None, None, "training", "encoder", "head", "labels", "ngrams", "decision"))
        if place is None or not description.get(place):
            changed = mutated(description, draw, draw.choice((1, 1, 2)))
        else:
            changed = {**description, place: mutated(description[place], draw)}
        what = _difference(description, changed)
    else:
        arrays, what = _mutated_arrays(arrays, draw)
    content = written(changed)

    def write(place: Path) -> Path:
        place.mkdir()
        weights = {name: value.astype(np.float32) for name, _, value in arrays}
        metadata = {"classifier": content, "sha256": _checksum(content.encode("utf-8", "replace").decode(), weights)}
        (place / SAVED_FILES[0]).write_bytes(safetensors(arrays, metadata))
        return place

    return Hostile(f"folder of {model.head.name} with {what}", write)


def _mutated_arrays(arrays: list[tuple[str, str, Any]], draw: random.Random) -> tuple[list[tuple[str, str, Any]], str]:
    arrays = list(arrays)
    place = draw.randrange(len(arrays))
    name, kind, value = arrays[place]
    way = draw.randrange(9)
    number = draw.choice(NUMBERS)
    if way == 0:
        del arrays[place]
    elif way == 1:
        arrays.append((name, kind, value))
    elif way == 2:
        arrays[place] = (name, kind, value.T)
    elif way == 3:
        kind = draw.choice(list(KINDS))
        with np.errstate(all="ignore"):
            arrays[place] = (name, kind, value.astype(KINDS[kind]))
    elif way == 4:
        shapes: tuple[Any, ...] = ((), (0,), (value.size,), (1, *value.shape), (*value.shape, 1), (0, *value.shape))
        shape = draw.choice(shapes)
        arrays[place] = (name, kind, np.resize(value, shape).astype(np.float32))
    elif way == 5:
        changed = np.array(value)
        changed.reshape(-1)[draw.randrange(changed.size)] = number
        arrays[place] = (name, kind, changed)
    elif way == 6:
        arrays[place] = (
            draw.choice(("", "other", "head/", f"{name}\0", "embedding/dense_9/kernel", "\n")),
            kind,
            value,
        )
    elif way == 7:
        factor = np.float32(number)
        with np.errstate(all="ignore"):
            arrays = [(each, own, (array * factor).astype(np.float32)) for each, own, array in arrays]
    else:
        arrays[place] = (name, kind, np.full(value.shape, number, np.float32))
    return arrays, f"way {way} of {name} ({number})"


def tail(metadata: str, labels: Any) -> bytes:
    """Return the zip behind a model."""
    content = io.BytesIO()
    names = labels if isinstance(labels, list) else ()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(
            zipfile.ZipInfo(LABELS_NAME), "".join(f"{name}\n" for name in names).encode("utf-8", "replace")
        )
        archive.writestr(zipfile.ZipInfo(METADATA_NAME), metadata)
    return content.getvalue()


def safetensors(arrays: list[tuple[str, str, Any]], metadata: Mapping[str, str]) -> bytes:
    """Return the content of a safetensors file, in which a name may stand twice and a type may be any."""
    body, entries = b"", [f'"__metadata__":{json.dumps(dict(metadata))}']
    for name, kind, value in arrays:
        content = np.ascontiguousarray(value).tobytes()
        entry = {"dtype": kind, "shape": list(value.shape), "data_offsets": [len(body), len(body) + len(content)]}
        entries.append(f"{json.dumps(name)}:{json.dumps(entry)}")
        body += content
    header = ("{" + ",".join(entries) + "}").encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + body


def _exported() -> list[Path]:
    return sorted((ROOT / "tests" / "data" / "exported").glob("*/*int8.tflite"))


def _trained() -> list[TrainedModel]:
    """Return the kept classifiers, with the facts of a training."""
    if not _KEPT:
        for path in sorted((ROOT / "tests" / "data" / "exported").glob("*/reference.safetensors")):
            model = load_trained_model(path)
            _KEPT.append(TrainedModel(**{**vars(model), "training": dict(FACTS)}))
    return _KEPT


_KEPT: Final[list[TrainedModel]] = []


def _metadata_of(model: TrainedModel) -> dict[str, str]:
    data = model.to_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return dict(header["__metadata__"])


def _difference(before: Any, after: Any, path: str = "") -> str:
    """Return the first difference of two JSON values, for messages."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (*before, *(key for key in after if key not in before)):
            if repr(before.get(key, _NESTED)) != repr(after.get(key, _NESTED)):
                return _difference(before.get(key), after.get(key), f"{path}/{key}")
    return f"{path or '/'} = {repr(after)[:60]}"


def _where(error: BaseException) -> str:
    trace, last = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "site-packages" not in code.co_filename:
            last = f"{Path(code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {last}: {str(error)[:120]!r}"


def peak() -> float:
    """Return the megabytes that this process has needed at its peak."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    main()
