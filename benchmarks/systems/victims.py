"""The systems of `adversarial.py`: those of systems.py, and whole products that learn from the training file by themselves.

`default file` is what `retvec-lite train` makes of that file without options, exported as int8, n-grams included. The linear SVM on
characters (of any size) and hashed n-grams below 1 MB are those of `few_shot.py --shots 0`. What that command chose on the
same texts is not chosen again, if its results have it.

An attack looks at probabilities. Naive Bayes has them, though most are so close to 0 or 1 that they tell an attack little. A
linear SVM has none: it gets the softmax of its decision function (guesser.py).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import retvec_lite as rl
from benchmarks.common import read_results, result_path
from benchmarks.data.sets import Task
from benchmarks.systems import few_shot_systems, hashed_ngrams
from benchmarks.systems import networks as systems
from benchmarks.systems.guesser import Guesser
from benchmarks.systems.networks import DEFAULT_FILE, NO_HEAD, Plan, digest, fingerprint
from retvec_lite.data.dataset import Dataset, read_dataset
from retvec_lite.model.weight_files import CLASSIFIER_FILE, load_default_embedding

CHARACTERS: Final = "SVM, characters"
PRODUCTS: Final = (DEFAULT_FILE, CHARACTERS, hashed_ngrams.LINEAR, hashed_ngrams.BAYES)
SYSTEMS: Final = (DEFAULT_FILE, *systems.SYSTEMS, *PRODUCTS[1:])
WHOLE: Final = (*systems.WHOLE, *PRODUCTS)
"""Systems without one of the compared heads."""
_OURS: Final = "ours"
"""What few_shot.py calls the default file."""


def settings_of(system: str, head: str, plan: Plan, task: Task) -> dict[str, Any]:
    """Return everything that decides how a system is trained, JSON-ready."""
    if system not in PRODUCTS:
        return systems.settings_of(system, head, plan, task)
    texts = fingerprint([*task.training.texts, *task.training.labels, *task.validation.texts])
    settings = {"system": system, "head": NO_HEAD, "texts": texts}
    if system != DEFAULT_FILE:
        return settings | few_shot_systems.settings_of(system)
    embedding = {"seed": plan.seed, "embedding": digest(load_default_embedding().weights)}
    return settings | few_shot_systems.settings_of(_OURS) | embedding


def build(system: str, head: str, task: Task, plan: Plan) -> Guesser:
    """Train a system, or load it from the work folder.

    Raises:
        SystemExit: a baseline's package or the file of RETVec v1 is missing.
    """
    if system not in PRODUCTS:
        product = systems.build(system, head, task, plan)
        return Guesser(product.labels, product.probabilities)
    texts = training_file(task)
    if system != DEFAULT_FILE:
        return few_shot_systems.train(system, texts, chosen=chosen_before(system, task.name, texts)).guess
    settings = json.dumps(settings_of(system, head, plan, task), sort_keys=True)
    return _default_file(texts, plan.seed, plan.work / f"default-file-{plan.seed}-{fingerprint([settings])}")


def training_file(task: Task) -> Dataset:
    """Return the rows of the training file of which the task has its training and validation texts, in their order."""
    every = read_dataset(task.training.path)
    known = {*task.training.texts, *task.validation.texts}
    return every.select(row for row, text in enumerate(every.texts) if text in known)


def chosen_before(system: str, name: str, texts: Dataset) -> Mapping[str, Any] | None:
    """Return what `few_shot.py` chose for a system on exactly these texts; None if it has no such row."""
    settings = {**few_shot_systems.settings_of(system), "training": fingerprint([*texts.texts, *texts.labels])}
    wanted = json.loads(json.dumps(settings))
    for row in read_results(result_path("few_shot", quick=False)):
        same = all(row["settings"].get(setting) == value for setting, value in wanted.items())
        if same and (row["data"], row["system"], row["shots"]) == (name, system, 0):
            found: Mapping[str, Any] = row
            return found
    return None


def _default_file(texts: Dataset, seed: int, folder: Path) -> Guesser:
    if not (folder / CLASSIFIER_FILE).is_file():
        rl.train(texts, seed=seed, progress=True).save(folder)
    file = systems.export_files(folder, [systems.RECIPE])[systems.RECIPE]
    classifier = rl.TextClassifier.load(file)
    return Guesser(classifier.labels, classifier.probabilities)
