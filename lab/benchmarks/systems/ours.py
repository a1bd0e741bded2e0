"""Our classifiers as files of a device: trained, kept in a folder, exported and loaded again.

Files are made by the functions behind `retvec-lite export`, without its check on every runtime.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import retvec_lite as rl
from benchmarks.systems.trained import Guess, Trained
from retvec_lite.data.dataset import Dataset
from retvec_lite.files import atomic_write
from retvec_lite.model.weight_files import CLASSIFIER_FILE

if TYPE_CHECKING:
    from retvec_lite.model.weight_files import TrainedModel

RECIPE: Final = "int8"
"""The recipe of our files, unless a table compares recipes."""


def train_file(texts: Dataset, folder: Path | None = None, **options: Any) -> Trained:
    """Train with these options of `retvec_lite.train`, or load from the folder; classify with the exported file.

    Args:
        texts: to learn from.
        folder: keeps the classifier and its files; None: nothing is kept.
        **options: none for the default file.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as scratch:
            return train_file(texts, Path(scratch) / "trained", **options)
    if not (folder / CLASSIFIER_FILE).is_file():
        rl.train(texts, **options).save(folder, force=True)
    return load_file(folder)


def load_file(folder: Path, recipe: str = RECIPE) -> Trained:
    """Load the exported file of the classifier in a folder; export it where it is missing."""
    file = export_files(folder, [recipe])[recipe]
    classifier = rl.load(file)
    return Trained(
        classifier.labels, classifier.probabilities, {"bytes": file.stat().st_size}, folder, answers(classifier)
    )


def answers(classifier: rl.Classifier) -> Guess | None:
    """Return what gives texts of no label the unknown label; None where the data have no such label."""
    unknown = classifier.decision.unknown_label
    if unknown is None:
        return None
    return lambda texts: [unknown if found.label is None else found.label for (found,) in classifier.predict(texts, 1)]


def export_files(folder: Path, recipes: Sequence[str]) -> dict[str, Path]:
    """Return the files of the classifier in a folder by recipe; export those that are missing."""
    files = {recipe: folder / f"classifier-{recipe}.tflite" for recipe in recipes}
    missing = [recipe for recipe, file in files.items() if not file.is_file()]
    if missing:
        from retvec_lite.model.weight_files import load_trained_model

        for recipe, content in file_contents(load_trained_model(folder), missing).items():
            atomic_write(files[recipe], content)
    return files


def file_contents(model: "TrainedModel", recipes: Sequence[str]) -> Mapping[str, bytes]:
    """Return the .tflite files of a classifier by recipe, with metadata, not run."""
    from retvec_lite.converters.recipes import find_recipe
    from retvec_lite.converters.tflite.format import convert, package
    from retvec_lite.converters.tflite.quantize import quantize

    graph = convert(model)
    found = map(find_recipe, recipes)
    return {
        recipe.name: package(quantize(graph, recipe.name), model, recipe, dict([recipe.oldest_runtime]))
        for recipe in found
    }
