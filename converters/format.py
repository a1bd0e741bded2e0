"""The formats, and what a format is: all that `export`, `verify` and the reports ask about one kind of artifact.

To add a format, implement `Format` in a module of its own, name the class in `FORMATS`, and give each recipe its facts. Its suffix also stands in
`runtime/artifact.py`, `card.py` and `data/sources.py`.
"""

import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from retvec_lite.contract import CONTRACT_VERSION, Floats
from retvec_lite.converters.parity import (
    REFERENCE_NAME,
    ArtifactResult,
    Check,
    Difference,
    RuntimeResult,
    bounded,
)
from retvec_lite.converters.parity.examiner import Examiner, place, stage_names
from retvec_lite.converters.parity.oracle import Match, Oracle, magnitude
from retvec_lite.converters.recipes import RECIPES, FormatFacts, Recipe, find_recipe
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.manifest import RELEASE, size_of
from retvec_lite.model.file_sizes import USUAL_KB
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import METADATA_FORMAT, Signature, describe_oldest_runtime
from retvec_lite.version import CREATED_BY, __version__

FORMATS: Final[Mapping[str, str]] = {
    "tflite": "retvec_lite.converters.tflite.format.TFLite",
    "coreml": "retvec_lite.converters.coreml.format.CoreML",
    "engine": "retvec_lite.converters.engine.EngineFormat",
    "onnx": "retvec_lite.converters.onnx.ONNX",
}
"""What users type -> the `Format`, in the order of reports. They are imported on first use: their packages are optional."""

ALL: Final = "all"

MOST_SHOWN: Final = 200
"""Characters of a setting that an error shows."""


@dataclass(frozen=True)
class Draft:
    """An artifact that is ready to be written.

    Attributes:
        recipe: its recipe.
        oldest_runtime: what it states until it has run.
        write: writes it to a path; the mapping is the oldest runtime to state.
    """

    recipe: Recipe
    oldest_runtime: Mapping[str, str]
    write: Callable[[Path, Mapping[str, str]], None]


PARTS: Final = ("encoder", "embedding", "head", "ngrams", "meaning", "graph", "metadata")
"""Parts of an artifact's size. Character features belong to the head, which alone reads them."""


@dataclass(frozen=True)
class Contents:
    """What an artifact holds.

    Attributes:
        sizes: the bytes of each of the `PARTS`; they add up to the artifact's.
        operators: name, version and count of each kind, sorted.
        signatures: its entry points; none where a format has a single one.
    """

    sizes: Mapping[str, int]
    operators: Sequence[tuple[str, int, int]]
    signatures: Sequence[Signature] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        operators = [dict(zip(("name", "version", "count"), kind, strict=True)) for kind in self.operators]
        signatures = [signature.to_dict() for signature in self.signatures]
        return {"sizes": dict(self.sizes), "operators": operators, "signatures": signatures}


class OpenArtifact(ABC):
    """An artifact that was read from disk.

    Attributes:
        metadata: what it says about itself; `recipe` is in it.
    """

    metadata: Mapping[str, Any]

    @abstractmethod
    def weights(self, classifier: TrainedModel, recipe: Recipe) -> dict[str, Match]:
        """Return what it computes with in the place of each weight of the classifier.

        Raises:
            RetvecLiteError: when it is not this classifier under this recipe.
        """

    @abstractmethod
    def run(self, examiner: Examiner, recipe: Recipe, oracle: Oracle) -> Iterable[RuntimeResult]:
        """Run it in every way that this machine can, and compare.

        The recipe holds the bounds, with the parity tolerance of the format; the oracle is the reference under its own weights.
        """

    @abstractmethod
    def contents(self) -> Contents:
        """Return what it holds."""

    def rounding(self, own: Mapping[str, Match], reference: Mapping[str, Floats], recipe: Recipe) -> list[Difference]:
        """Return how far each of its weights is from the classifier's, as a share of the largest of their matrix."""
        found = []
        for name, weights in reference.items():
            off = np.abs(own[name].values - weights) / magnitude(weights)
            found.append(Difference(name, float(off.max()), f"at {place(off)}"))
        return found


class Format(ABC):
    """One kind of artifact.

    Attributes:
        name: what users type.
        suffix: of its artifacts.
        is_folder: whether an artifact is a folder.
        runtimes: names of what runs it -> why it is skipped where that is missing.
    """

    name: ClassVar[str]
    suffix: ClassVar[str]
    is_folder: ClassVar[bool] = False
    runtimes: ClassVar[Mapping[str, str]]

    def offers(self, classifier: TrainedModel, recipes: Sequence[Recipe]) -> bool:
        """Return whether `all` takes this format for a classifier, in those of its recipes that are asked for: not where it would refuse."""
        return bool(recipes)

    def check(self, recipes: Sequence[Recipe]) -> None:
        """Check before any work is done that artifacts can be made.

        Raises:
            ModuleNotFoundError: when a package is missing.
            RetvecLiteError: for anything else that is missing, and for recipes that the format does not have.
        """
        for recipe in recipes:
            self.facts(recipe)
        self.require_runtime()

    @abstractmethod
    def make(self, model: TrainedModel, recipes: Sequence[Recipe], embed: bool = False) -> Iterator[Draft]:
        """Make an artifact for each recipe; `embed` is for formats that need to be told to answer embeddings."""

    @abstractmethod
    def open(self, path: Path) -> OpenArtifact:
        """Read an artifact; raise RetvecLiteError when it is damaged."""

    def facts(self, recipe: Recipe) -> FormatFacts:
        """Return what a recipe means in this format; raise RetvecLiteError where it does not have it."""
        if self.name not in recipe.formats:
            known = " or ".join(name for name, other in RECIPES.items() if self.name in other.formats)
            raise RetvecLiteError(f"The format {self.name} has no recipe {recipe.name}: choose {known}.")
        return recipe.formats[self.name]

    def has(self, recipe: Recipe) -> bool:
        """Return whether the format has a recipe."""
        try:
            self.facts(recipe)
        except RetvecLiteError:
            return False
        return True

    @abstractmethod
    def skipped(self) -> tuple[str, ...]:
        """Return which of `runtimes` this machine lacks."""

    @abstractmethod
    def require_runtime(self) -> None:
        """Raise RetvecLiteError where nothing can run the format."""

    def artifact_name(self, recipe: Recipe) -> str:
        """Return the file name of an artifact in an export."""
        return f"classifier-{recipe.name}{self.suffix}"

    def golden_key(self, recipe: Recipe) -> str:
        """Return the key of an artifact's answers in golden.json."""
        return f"{self.name}-{recipe.name}"

    def settle(self, draft: Draft, path: Path, result: ArtifactResult) -> tuple[Mapping[str, str], ArtifactResult]:
        """Return the oldest runtime that an artifact states after it has run, and the result of its final form.

        Raises:
            RetvecLiteError: when it computes something else than it says.
        """
        for run in result.runtimes:
            if not run.correct:
                raise result.error_on(run)
        return draft.oldest_runtime, result

    def examine(self, examiner: Examiner, path: Path) -> tuple[ArtifactResult, Floats | None]:
        """Examine an artifact. Its name does not matter; its recipe is what its metadata says.

        Returns:
            The result, and what the artifact must answer to the golden texts, float32 `[texts, classes]`; None when it could
            not be examined.
        """
        recipe: Recipe | None = None
        size = size_of(path)
        try:
            artifact = self.open(path)
            recipe = find_recipe(str(artifact.metadata.get("recipe")))
            facts = self.facts(recipe)
            own = artifact.weights(examiner.classifier, recipe)
        except RetvecLiteError as error:
            return ArtifactResult(path.name, recipe.name if recipe else None, size, problem=str(error)), None
        rounding = artifact.rounding(own, examiner.classifier.weights, recipe)
        checks = [bounded("weights", "file", rounding, recipe.weight_bound)]
        if recipe.size_limit is not None:
            most = examiner.classifier.training.get("max_kb", USUAL_KB)
            checks.append(Check("size", "file", size, recipe.size_limit + 1000 * (most - USUAL_KB)))
        values = {name: match.values for name, match in own.items()}
        oracle = examiner.oracle(values, facts.eight_bit)
        runs = tuple(artifact.run(examiner, recipe.within(self.facts(recipe)), oracle))
        problem = None
        if not any(run.promised for run in runs):
            needed = describe_oldest_runtime(artifact.metadata)
            problem = (
                f"Nothing proves this file: it promises to be right on {needed}, and only older runtimes are installed."
            )
        result = ArtifactResult(path.name, recipe.name, size, tuple(checks), runs, problem)
        return result, oracle.table(examiner.golden)


@functools.cache
def find_format(name: str) -> Format:
    """Return the format called `name`, a key of `FORMATS`."""
    module, _, kind = FORMATS[name].rpartition(".")
    found: Format = getattr(importlib.import_module(module), kind)()
    return found


def chosen_formats(names: Iterable[str] = (ALL,)) -> tuple[Format, ...]:
    """Return the formats of given names, all by default, in the order of reports.

    Raises:
        RetvecLiteError: for an unknown name.
    """
    wanted = set(names)
    for name in wanted - {*FORMATS, ALL}:
        raise RetvecLiteError(f"Unknown format {name!r}. Choose from {', '.join(FORMATS)}, {ALL}.")
    return tuple(find_format(name) for name in FORMATS if wanted & {name, ALL})


def skipped_lines(runtimes: Iterable[str]) -> list[str]:
    """Return why nothing ran on some runtimes."""
    reasons = {runtime: why for found in chosen_formats() for runtime, why in found.runtimes.items()}
    return [reasons[runtime] for runtime in runtimes]


def require_origin(file: str, classifier: TrainedModel, labels: Sequence[str], metadata: Mapping[str, Any]) -> None:
    """Raise RetvecLiteError about the first of an artifact's own settings that is not the classifier's."""
    for what, found, wanted in (
        ("labels", list(labels), list(classifier.labels)),
        ("encoder settings", metadata.get("encoder"), classifier.encoder.to_dict()),
        ("head settings", metadata.get("head"), classifier.head.name),
        ("n-gram settings", metadata.get("ngrams"), classifier.ngrams and classifier.ngrams.to_dict()),
        ("settings of meaning", metadata.get("meaning"), classifier.meaning and classifier.meaning.to_dict()),
        ("decision", Decision.from_dict(metadata.get("decision")).to_dict(), classifier.decision.to_dict()),
        ("names of inner tensors", metadata.get("tensors"), _tensors(classifier)),
    ):
        if found != wanted:
            reference = f"{shown(wanted, MOST_SHOWN)} as in {REFERENCE_NAME}"
            raise RetvecLiteError(f"{file}: the {what} must be {reference}, not {shown(found, MOST_SHOWN)}.")


@dataclass(frozen=True, kw_only=True)
class About:
    """The words of the metadata: about the model and its output."""

    name: str = "retvec-lite text classifier"
    description: str
    version: str
    author: str
    license: str = "Set by the owner of the training data; the software is under Apache-2.0."
    output: str


def about(classifier: TrainedModel, recipe: str) -> About:
    """Return the words about a classifier under a recipe."""
    several = "a text may have several, or none" if classifier.multi_label else "they add up to 1"
    release = classifier.training.get(RELEASE, {})
    return About(
        name=release.get("name", About.name),
        description=f"Classifies text into {len(classifier.labels)} labels from its code points alone, typos and all scripts "
        f"included ({classifier.head.name} head, {recipe} weights).",
        version=str(release.get("version", __version__)),
        author=CREATED_BY,
        output=f"The probability of each label; {several}.",
    )


def details(classifier: TrainedModel, recipe: str, oldest_runtime: Mapping[str, str]) -> dict[str, Any]:
    """Return what a runtime and `verify` need to know, JSON-ready; every format stores it."""
    return {
        "format": METADATA_FORMAT,
        "contract_version": CONTRACT_VERSION,
        "encoder": classifier.encoder.to_dict(),
        "labels": list(classifier.labels),
        "head": classifier.head.name,
        "ngrams": None if classifier.ngrams is None else classifier.ngrams.to_dict(),
        "recipe": recipe,
        "embedding": str(classifier.embedding.get("name", "raw")),
        "oldest_runtime": dict(oldest_runtime),
        "created_by": CREATED_BY,
        "tensors": _tensors(classifier),
        **({} if classifier.meaning is None else {"meaning": classifier.meaning.to_dict()}),
        **_languages(classifier),
        **_origin(classifier),
        **classifier.decision.entry(),
        **classifier.training.get(RELEASE, {}),
    }


def _languages(classifier: TrainedModel) -> dict[str, list[str]]:
    """Return the languages whose words the table of meaning knows, that of the training texts first; nothing where it is that one alone."""
    known = classifier.training.get("meaning", {})
    tags = dict.fromkeys([known.get("language"), *known.get("languages", {})])
    return {"languages": list(tags)} if classifier.meaning and len(tags) > 1 else {}


def _origin(classifier: TrainedModel) -> dict[str, dict[str, Any]]:
    """Return where a classifier came from; nothing for one that was not trained with `train`. `file_sizes` counts its bytes."""
    facts = classifier.training
    accuracy = facts.get("validation", {}).get("0", {}).get("accuracy")
    found = {
        "data": facts.get("data_hash"),
        "day": facts.get("trained_on"),
        "texts": facts.get("training_texts"),
        "seed": facts.get("options", {}).get("seed"),
        "accuracy": None if accuracy is None else round(accuracy, 4),
    }
    known = {name: value for name, value in found.items() if value is not None}
    return {"trained": known} if "data" in known else {}


def _tensors(classifier: TrainedModel) -> dict[str, str]:
    """Return stage -> the graph's name of it, for readers of the metadata."""
    return {stage: stage for stage in stage_names(classifier)}
