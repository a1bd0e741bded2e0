"""Every system of the tables by name: trained once, kept in a folder, measured by many commands.

A system is a vectorizer under one of the product's heads, or fastText as a whole product. All learn from the same texts
and the same mistyped variants, and stop early on the same validation texts. All train for the same number of epochs, except
fastText. Ours are measured as the int8 file for a phone.
"""

import dataclasses
import hashlib
import importlib.util
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import retvec_lite as rl
from benchmarks.data.sets import Corpus
from benchmarks.systems.fasttext import SUBWORDS, load_fasttext, train_fasttext
from benchmarks.systems.names import NETWORKS, PACKAGES, RAW, SMALL, TABLES, V1, WHOLE
from benchmarks.systems.ours import load_file
from benchmarks.systems.trained import Trained, digest, fingerprint
from benchmarks.systems.vectorizers import VECTORIZERS, size_of
from retvec_lite.files import atomic_write
from retvec_lite.model.heads import HEADS
from retvec_lite.model.weight_files import choose_embedding

FACTS: Final = "facts.json"
"""Beside a system: its labels, bytes and parameters, and how it was trained."""


@dataclass(frozen=True)
class Plan:
    """How systems are trained.

    Attributes:
        seed: seed of training.
        epochs: most epochs of every system; None: the product's choice for the size of the data.
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


def available(systems: Sequence[str], v1: Path | str | None, *, asked_for: bool) -> list[str]:
    """Return the systems that can be built here; print the others to standard error.

    Args:
        systems: names that begin like those in names.py.
        v1: the file of RETVec v1, if there is one.
        asked_for: the user named these systems: leave none out, so that a missing package is an error later.
    """
    if asked_for:
        return list(systems)
    found = []
    for system in systems:
        package = next((package for name, package in PACKAGES.items() if system.startswith(name)), None)
        if package is not None and importlib.util.find_spec(package) is None:
            print(f"{system} is left out: install {package} (see lab/benchmarks/README.md).", file=sys.stderr)
        elif system.startswith(V1) and v1 is None:
            print(f"{system} is left out: it needs --v1 FILE.", file=sys.stderr)
        else:
            found.append(system)
    return found


def settings_of(system: str, head: str, plan: Plan, corpus: Corpus) -> dict[str, Any]:
    """Return everything that decides how a system is trained, JSON-ready: equal settings give the same training."""
    settings: dict[str, Any] = {
        "system": system,
        "head": head,
        "seed": plan.seed,
        "epochs": plan.epochs,
        "texts": fingerprint([*corpus.training.texts, *corpus.training.labels, *corpus.validation.texts]),
    }
    if head in HEADS:
        settings["head_sizes"] = dataclasses.asdict(HEADS[head]())
    if system in NETWORKS:
        settings["embedding"] = _embedding_digest(system, plan)
    if system in TABLES:
        settings["table"] = dataclasses.asdict(size_of(system))
    if system in WHOLE:
        # fastText tunes its epochs itself.
        settings |= {"epochs": None, "autotune": plan.autotune, "subwords": SUBWORDS}
    return settings


def build(system: str, head: str, corpus: Corpus, plan: Plan) -> Trained:
    """Load the system from the work folder, or train it and save it there.

    Raises:
        SystemExit: a baseline's package or the file of RETVec v1 is missing.
    """
    settings = settings_of(system, head, plan, corpus)
    told_apart = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
    folder = plan.work / f"{_slug(corpus.name)}-{_slug(system)}-{_slug(head)}-{plan.seed}-{told_apart}"
    if not (folder / FACTS).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        facts = _train(system, head, corpus, plan, folder)
        facts |= {"seconds": round(time.perf_counter() - began, 1), "settings": settings}
        # Written last: a folder without it was interrupted and is trained again.
        atomic_write(folder / FACTS, json.dumps(facts, indent=1, ensure_ascii=False).encode())
    return _load(system, folder)


def _train(system: str, head: str, corpus: Corpus, plan: Plan, folder: Path) -> dict[str, Any]:
    if system in WHOLE:
        return _train_fasttext(corpus, plan, folder)
    # After fastText, which can be measured without waiting for TensorFlow.
    from retvec_lite.model import load_tensorflow

    load_tensorflow()
    train = _train_ours if system in NETWORKS else _train_table
    return train(system, head, corpus, plan, folder)


def _train_fasttext(corpus: Corpus, plan: Plan, folder: Path) -> dict[str, Any]:
    from retvec_lite.training.examples import write_variants
    from retvec_lite.training.languages import common_words, language_shares

    texts = corpus.training.texts
    variants = write_variants(
        texts, **_settings(corpus, plan).typos, common_words=common_words(language_shares(texts, plan.seed))
    )
    path = folder / "model.ftz"
    trained = train_fasttext(variants, corpus.training.labels, corpus.validation, plan.autotune, plan.seed, path)
    return {"labels": trained.labels, **trained.facts}


def _train_ours(system: str, head: str, corpus: Corpus, plan: Plan, folder: Path) -> dict[str, Any]:
    classifier = rl.train(
        corpus.training,
        validation=corpus.validation,
        head=head,
        embedding=_embedding_name(system, plan),
        epochs=plan.epochs or None,
        # These tables compare what stands in front of a head. `few_shot.py` measures the whole product, n-grams included.
        ngram_kb=0,
        seed=plan.seed,
        progress=True,
    )
    classifier.save(folder, force=True)
    return {
        **load_file(folder).facts,
        "labels": classifier.labels,
        "parameters": sum(value.size for value in classifier.model.weights.values()),
        "epochs": classifier.training["epochs"],
    }


def _train_table(system: str, head: str, corpus: Corpus, plan: Plan, folder: Path) -> dict[str, Any]:
    from benchmarks.systems.table_network import same_label_in_file, train_table
    from retvec_lite.terminal import watched

    kind, size = system.removesuffix(SMALL), size_of(system)
    settings = _settings(corpus, plan)
    vectorizer = VECTORIZERS[kind].learn(corpus.training.texts, size)
    with watched(True) as progress:
        classifier = train_table(corpus, vectorizer, head, size.dimension, settings, progress)
    used = classifier.save(folder, kind)
    agreement = same_label_in_file(classifier, folder, corpus.validation.texts[:100])
    if agreement < 0.99:
        raise SystemExit(
            f"{folder / 'network.tflite'} gives {1 - agreement:.1%} of the texts another label than the trained network."
        )
    return {"labels": classifier.labels, "bytes": used, "parameters": classifier.parameters}


def _load(system: str, folder: Path) -> Trained:
    facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    if system in WHOLE:
        found = load_fasttext(folder / "model.ftz", facts["labels"])
    elif system in NETWORKS:
        found = load_file(folder)
    else:
        from benchmarks.systems.table_network import load_table_classifier

        found = load_table_classifier(folder).trained()
    return Trained(found.labels, found.probabilities, facts, folder)


def _settings(corpus: Corpus, plan: Plan) -> Any:
    """Return the product's own settings for so many texts."""
    from retvec_lite.training.plan import recommended

    chosen = {"seed": plan.seed} | ({"epochs": plan.epochs} if plan.epochs else {})
    return recommended(len(corpus.training), **chosen)


def _embedding_name(system: str, plan: Plan) -> str:
    if system == RAW:
        return "raw"
    if system != V1:
        return plan.embedding
    if plan.v1 is None:
        raise SystemExit(
            "RETVec v1 needs --v1 FILE: the released weights, converted with `python -m makers.embedding import-v1`."
        )
    return str(plan.v1)


def _embedding_digest(system: str, plan: Plan) -> str:
    chosen = choose_embedding(_embedding_name(system, plan))
    return "raw" if chosen is None else digest(chosen.weights)


def _slug(name: str) -> str:
    return "".join(character if character.isalnum() else "_" for character in name.lower())
