"""Every system of the tables by name: trained once, kept in a folder, measured by many commands.

A system is a vectorizer under one of the product's heads, or fastText as a whole product. All learn from the same texts
and the same mistyped copies, and stop early on the same validation texts. All train for the same number of epochs, except
our fine-tuned system, for which the product chooses more. Ours are trained by `retvec_lite.training`, converted by the
functions behind `retvec-lite export` (without its check on every runtime), and measured as the int8 file for a phone.
"""

import dataclasses
import hashlib
import importlib.util
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.data.sets import Task
from benchmarks.systems.fasttext import SUBWORDS, load_fasttext, train_fasttext
from benchmarks.systems.guesser import Probabilities
from benchmarks.systems.vectorizers import FREE, SMALL, VECTORIZERS, FastTextVectors, TableSize
from retvec_lite import TextClassifier
from retvec_lite.files import atomic_write
from retvec_lite.model.heads import HEADS
from retvec_lite.model.weight_files import load_default_embedding, load_embedding

DEFAULT_FILE: Final = "default file"
"""What `retvec-lite train` makes without options, n-grams included. Commands that compare nothing else of ours call it `ours`."""
FROZEN: Final = "RETVec-lite"
"""Our embedding, frozen under `cnn`, where all systems learn from clean texts."""
LARGE_FASTTEXT: Final = "fastText, any size"
BITS: Final = "bits alone"
"""A plainer name of `RAW`."""

OURS: Final = "ours"
TUNED: Final = "ours, fine-tuned"
RAW: Final = "RETVec-raw"
V1: Final = "RETVec v1"
FASTTEXT: Final = "fastText"
FASTTEXT_CLEAN: Final = "fastText, no typos in training"
VECTORS: Final = "fastText vectors"

TABLES: Final[Mapping[str, tuple[str, TableSize]]] = {
    f"{kind}{suffix}": (kind, size)
    for kind in (*VECTORIZERS, VECTORS)
    for suffix, size in (("", FREE), (", under 1 MB", SMALL))
}
"""System -> vectorizer with a table and its size: as large as usual, and as large as 1 MB allows."""

PACKAGES: Final[Mapping[str, str]] = {"SentencePiece": "sentencepiece", "BPE": "tokenizers", "fastText": "fasttext"}
"""Beginning of a system's name -> the extra package it needs."""

RETVECS: Final = (OURS, TUNED, V1, RAW)
WHOLE: Final = (FASTTEXT, FASTTEXT_CLEAN)
"""Whole products instead of vectorizers; their head is called `whole`."""
NO_HEAD: Final = "whole"
RECIPE: Final = "int8"
"""The recipe of our files, unless a table compares recipes."""
SYSTEMS: Final = (*RETVECS, *TABLES, *WHOLE)


@dataclass(frozen=True)
class Plan:
    """How systems are trained.

    Attributes:
        seed: seed of training.
        epochs: most epochs of every system; None: the product's choice for the size of the data and fine-tuning.
        autotune: seconds for fastText to tune itself.
        embedding: the embedding of ours: `default` or a file.
        v1: the imported weights of RETVec v1; None if there are none.
        work: the folder of trained systems.
    """

    seed: int
    epochs: int | None
    autotune: int
    embedding: str
    v1: Path | None
    work: Path


@dataclass(frozen=True)
class Product:
    """A trained system.

    Attributes:
        labels: class names in the order of the columns.
        probabilities: texts -> float32 `[texts, classes]`.
        bytes: total size of the files on a device, vocabulary included.
        parameters: number of weights, trained or frozen; None if unknown (a pruned fastText model).
        folder: where the system is kept.
        facts: notes on the training, such as its seconds.
    """

    labels: tuple[str, ...]
    probabilities: Probabilities
    bytes: int
    parameters: int | None
    folder: Path
    facts: Mapping[str, Any]


def available(systems: Sequence[str], v1: Path | str | None, *, asked_for: bool) -> list[str]:
    """Return the systems that can be built here; print the others to standard error.

    Args:
        systems: names that begin like those of `SYSTEMS`.
        v1: the file of RETVec v1, if there is one.
        asked_for: the user named these systems: leave none out, so that a missing package is an error later.
    """
    if asked_for:
        return list(systems)
    found = []
    for system in systems:
        package = next((package for name, package in PACKAGES.items() if system.startswith(name)), None)
        if package is not None and importlib.util.find_spec(package) is None:
            print(f"{system} is left out: install {package} (see benchmarks/README.md).", file=sys.stderr)
        elif system.startswith(V1) and v1 is None:
            print(f"{system} is left out: it needs --v1 FILE.", file=sys.stderr)
        else:
            found.append(system)
    return found


def settings_of(system: str, head: str, plan: Plan, task: Task) -> dict[str, Any]:
    """Return everything that decides how a system is trained, JSON-ready: equal settings give the same training."""
    settings: dict[str, Any] = {
        "system": system,
        "head": head,
        "seed": plan.seed,
        "epochs": plan.epochs,
        "texts": fingerprint([*task.training.texts, *task.training.labels, *task.validation.texts]),
    }
    if head in HEADS:
        settings["head_sizes"] = dataclasses.asdict(HEADS[head]())
    if system in RETVECS:
        settings["embedding"] = _embedding_digest(system, plan)
    if system == TUNED:
        # The product trains it longer than a head alone; a note under the tables says so.
        chosen = _settings(task, plan, fine_tune=True)
        settings |= {
            "epochs_of_fine_tuning": chosen.epochs,
            "character_filters": chosen.character_filters,
            "embedding_rate": chosen.embedding_rate,
        }
    if system in TABLES:
        settings["table"] = dataclasses.asdict(TABLES[system][1])
    if system in WHOLE:
        # fastText tunes its epochs itself.
        settings |= {"epochs": None, "autotune": plan.autotune}
    if system == FASTTEXT:
        settings["subwords"] = SUBWORDS
    return settings


def build(system: str, head: str, task: Task, plan: Plan) -> Product:
    """Load the system from the work folder, or train it and save it there.

    Raises:
        SystemExit: a baseline's package or the file of RETVec v1 is missing.
    """
    settings = settings_of(system, head, plan, task)
    told_apart = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
    folder = plan.work / f"{_slug(task.name)}-{_slug(system)}-{_slug(head)}-{plan.seed}-{told_apart}"
    done = folder / "facts.json"
    if not done.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        facts = _train(system, head, task, plan, folder)
        facts |= {"seconds": round(time.perf_counter() - began, 1), "settings": settings}
        # Written last: a folder without it was interrupted and is trained again.
        atomic_write(done, json.dumps(facts, indent=1, ensure_ascii=False).encode())
    return _load(system, folder, json.loads(done.read_text(encoding="utf-8")), plan)


def export_files(folder: Path, recipes: Sequence[str]) -> dict[str, Path]:
    """Return the files of one of our systems by recipe; export those that are missing."""
    files = {recipe: _file(folder, recipe) for recipe in recipes}
    missing = [recipe for recipe, file in files.items() if not file.is_file()]
    if missing:
        from retvec_lite.converters.export import convert, package
        from retvec_lite.converters.recipes import find_recipe
        from retvec_lite.converters.tflite.quantize import quantize
        from retvec_lite.model.weight_files import load_trained_model

        classifier = load_trained_model(folder)
        model = convert(classifier)
        for recipe in map(find_recipe, missing):
            data = package(quantize(model, recipe.name), classifier, recipe, dict([recipe.oldest_runtime]))
            atomic_write(files[recipe.name], data)
    return files


def _file(folder: Path, recipe: str) -> Path:
    return folder / f"classifier-{recipe}.tflite"


def fingerprint(texts: Sequence[str]) -> str:
    """Return a short digest of texts, which tells trainings on different rows apart."""
    found = hashlib.sha256()
    for text in texts:
        found.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return found.hexdigest()[:12]


def digest(weights: Mapping[str, npt.NDArray[np.float32]]) -> str:
    """Return what tells two embeddings apart, 12 hexadecimal digits."""
    found = hashlib.sha256()
    for name in sorted(weights):
        found.update(weights[name].tobytes())
    return found.hexdigest()[:12]


def _train(system: str, head: str, task: Task, plan: Plan, folder: Path) -> dict[str, Any]:
    if system in WHOLE:
        return _train_fasttext(system, task, plan, folder)
    # After fastText, which can be measured without waiting for TensorFlow.
    from retvec_lite.model import load_tensorflow

    load_tensorflow()
    return (
        _train_ours(system, head, task, plan, folder)
        if system in RETVECS
        else _train_table(system, head, task, plan, folder)
    )


def _train_fasttext(system: str, task: Task, plan: Plan, folder: Path) -> dict[str, Any]:
    copies: Sequence[Sequence[str]] = [task.training.texts]
    if system == FASTTEXT:
        from retvec_lite.training.examples import augmented_copies

        copies = augmented_copies(task.training.texts, **_settings(task, plan).typos)
    trained = train_fasttext(
        copies,
        task.training.labels,
        task.validation.texts,
        task.validation.labels,
        seconds=plan.autotune,
        seed=plan.seed,
        path=folder / "model.ftz",
    )
    return {"labels": trained.labels, "bytes": trained.bytes, "parameters": None}


def _train_ours(system: str, head: str, task: Task, plan: Plan, folder: Path) -> dict[str, Any]:
    from retvec_lite.model.weight_files import choose_embedding
    from retvec_lite.terminal import watched
    from retvec_lite.training.trainer import train

    with watched(True) as progress:
        trained = train(
            task.training,
            task.validation,
            head=head,
            embedding=choose_embedding(_embedding_name(system, plan)),
            fine_tune_embedding=system == TUNED,
            epochs=plan.epochs or None,
            # These tables compare what stands in front of a head. `few_shot.py` measures the whole product, n-grams included.
            ngram_kb=0,
            seed=plan.seed,
            progress=progress,
        )
    atomic_write(folder / "classifier.safetensors", trained.model.to_bytes())
    file = export_files(folder, [RECIPE])[RECIPE]
    return {
        "labels": trained.model.labels,
        "bytes": file.stat().st_size,
        "parameters": sum(value.size for value in trained.model.weights.values()),
        "epochs": trained.model.training["epochs"],
        "validation": {f"{rate:g}": found.accuracy for rate, found in trained.validation.items()},
    }


def _train_table(system: str, head: str, task: Task, plan: Plan, folder: Path) -> dict[str, Any]:
    from benchmarks.systems.table_network import same_label_in_file, train_table
    from retvec_lite.terminal import watched
    from retvec_lite.training.examples import augmented_copies

    kind, size = TABLES[system]
    settings = _settings(task, plan)
    if kind == VECTORS:
        # The same texts that the head sees, typos included.
        texts = [text for copy in augmented_copies(task.training.texts, **settings.typos) for text in copy]
        vectorizer: Any = FastTextVectors.learn(texts, size)
    else:
        vectorizer = VECTORIZERS[kind].learn(task.training.texts, size)
    with watched(True) as progress:
        classifier = train_table(task, kind, vectorizer, head, size.dimension, settings, progress)
    used = classifier.save(folder, kind)
    agreement = same_label_in_file(classifier, folder, task.validation.texts[:100])
    if agreement < 0.99:
        raise SystemExit(
            f"{folder / 'network.tflite'} gives {1 - agreement:.1%} of the texts another label than the trained network."
        )
    return {"labels": classifier.labels, "bytes": used, "parameters": classifier.parameters}


def _load(system: str, folder: Path, facts: dict[str, Any], plan: Plan) -> Product:
    labels = tuple(facts["labels"])
    if system in WHOLE:
        probabilities: Probabilities = load_fasttext(folder / "model.ftz", labels).probabilities
    elif system in RETVECS:
        probabilities = TextClassifier.load(_file(folder, RECIPE)).probabilities
    else:
        from benchmarks.systems.table_network import load_table_classifier

        probabilities = load_table_classifier(folder).probabilities
    return Product(labels, probabilities, facts["bytes"], facts["parameters"], folder, facts)


def _settings(task: Task, plan: Plan, *, fine_tune: bool = False) -> Any:
    """Return the product's own settings for so many texts."""
    from retvec_lite.training.settings import recommended

    chosen = {"seed": plan.seed} | ({"epochs": plan.epochs} if plan.epochs else {})
    return recommended(len(task.training), fine_tune=fine_tune, **chosen)


def _embedding_name(system: str, plan: Plan) -> str:
    if system == RAW:
        return "raw"
    if system != V1:
        return plan.embedding
    if plan.v1 is None:
        raise SystemExit(
            "RETVec v1 needs --v1 FILE: the released weights, converted with `retvec-lite import-embedding`."
        )
    return str(plan.v1)


def _embedding_digest(system: str, plan: Plan) -> str:
    name = _embedding_name(system, plan)
    if name == "raw":
        return "raw"
    chosen = load_default_embedding() if name == "default" else load_embedding(name)
    return digest(chosen.weights)


def _slug(name: str) -> str:
    return "".join(character if character.isalnum() else "_" for character in name.lower())
