"""From a trained classifier to a folder of .tflite files and .mlpackages that were run before they were kept."""

import dataclasses
import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from retvec_lite.contract import Floats
from retvec_lite.converters.coreml.build import build_package, load_coremltools
from retvec_lite.converters.coreml.storage import DEFAULT_TARGET, Storage, find_storage
from retvec_lite.converters.describing import CREATED_BY, about, details, signatures_of
from retvec_lite.converters.parity.checks import RuntimeResult, age, promises
from retvec_lite.converters.parity.coreml import RUNTIME, TOLERANCES, examine_package, has_core_ml
from retvec_lite.converters.parity.golden import golden_bytes
from retvec_lite.converters.parity.tflite import Examiner
from retvec_lite.converters.parity.verify import (
    GOLDEN_NAME,
    LABELS_NAME,
    REFERENCE_NAME,
    REPORT_NAME,
    ArtifactResult,
    RealTexts,
    Tell,
    examine_file,
    labels_bytes,
    real_texts,
    require_runtimes,
    skipped_runtimes,
)
from retvec_lite.converters.recipes import DEFAULT_RECIPE, Recipe, find_recipe
from retvec_lite.converters.report import Exported, Report, format_bound, format_value, name_of
from retvec_lite.converters.tflite.metadata import attach_metadata
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.converters.tflite.reading import read_model
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_directory, explain_os_error
from retvec_lite.model.weight_files import TrainedModel, load_trained_model
from retvec_lite.runtime.artifact import SIGNATURES_KEY as METADATA_KEY
from retvec_lite.runtime.interpreters import silent_standard_error

FORMATS: Final = ("tflite", "coreml")

REPORT_MARKDOWN: Final = "report.md"
OWNED: Final = (
    "classifier-*.tflite",
    "classifier-*.mlpackage",
    LABELS_NAME,
    GOLDEN_NAME,
    REPORT_NAME,
    REPORT_MARKDOWN,
    REFERENCE_NAME,
)
"""The files of the folder: all that `force` may replace."""


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What to make, checked before any work is done: `runtimes` are distribution -> version, for the recipes."""

    recipes: Sequence[Recipe]
    embed: bool
    runtimes: Mapping[str, str]
    storages: Sequence[Storage]


@dataclasses.dataclass(frozen=True)
class _Finished:
    """An artifact with what it must answer to the golden texts: its key in golden.json, the table and its tolerance."""

    exported: Exported
    key: str
    table: Floats
    tolerance: float


def export(
    source: str | Path,
    dist: str | Path,
    recipes: Sequence[str] = (DEFAULT_RECIPE,),
    *,
    formats: Sequence[str] = FORMATS[:1],
    ios: int = DEFAULT_TARGET,
    block: int | None = None,
    embed: bool = False,
    force: bool = False,
    data: str | Path | None = None,
    tell: Tell = lambda _: None,
) -> Report:
    """Write `classifier-<recipe>.tflite` or `.mlpackage` for each recipe, labels, golden.json, reports, the float reference.

    Args:
        source: the folder that `retvec-lite train` wrote.
        dist: the folder to make.
        recipes: names out of `RECIPES`; a name given twice counts once.
        formats: out of `FORMATS`.
        ios: the oldest iOS that packages are for.
        block: how many weights share a scale in packages with the recipe int4; None: all of an output.
        embed: give .tflite files the signature `embed` (words, their embeddings, one of the text) besides `classify`.
        force: replace an earlier export.
        data: a labelled file with real texts (columns `text` and `label`) to measure what quantization costs; the starter
            texts by default.
        tell: receives a line before each longer step.

    Returns:
        What the report files say. What rounding the weights cost may be out of bounds there: the user may want to know,
        and decide; an artifact that computes wrongly is an error.

    Raises:
        ModuleNotFoundError: when coremltools is needed and not installed.
        RetvecLiteError: for bad input, an existing folder without `force`, an artifact that computes something else than
            it says on a runtime it is meant for, or a quantized one of 1 MB or more. Nothing is left then.
    """
    plan = _plan(dict.fromkeys(recipes), set(formats), ios, block, embed)
    classifier = load_trained_model(source)
    texts = real_texts(classifier, data)
    with atomic_directory(dist, force=force, owned=OWNED) as folder:
        try:
            return _fill(folder, classifier, plan, texts, tell)
        except OSError as error:
            raise explain_os_error(error, dist) from error


def _plan(recipes: Iterable[str], formats: set[str], ios: int, block: int | None, embed: bool) -> _Plan:
    if not formats or not formats.issubset(FORMATS):
        raise RetvecLiteError(f"Expected formats out of {', '.join(FORMATS)}, received {sorted(formats)}.")
    chosen = [find_recipe(name) for name in recipes]
    storages: list[Storage] = []
    if "coreml" in formats:
        storages = [find_storage(recipe.name, ios, block) for recipe in chosen]
        if importlib.util.find_spec("coremltools") is None:
            raise ModuleNotFoundError("No module named 'coremltools'", name="coremltools")
    is_tflite = "tflite" in formats
    if embed and not is_tflite:
        raise RetvecLiteError(f"Expected embed with the format tflite, received the formats {sorted(formats)} alone.")
    return _Plan(chosen if is_tflite else [], embed, require_runtimes() if is_tflite else {}, storages)


def _fill(folder: Path, classifier: TrainedModel, plan: _Plan, texts: RealTexts, tell: Tell) -> Report:
    tell(f"Computing the reference on {texts.describe()}")
    examiner = Examiner(classifier, texts.texts, texts.labels)
    finished = [*_tflite_files(folder, examiner, plan, tell), *_packages(folder, examiner, plan, tell)]
    exported = [item.exported for item in finished]
    skipped = skipped_runtimes(plan.runtimes) if plan.recipes else ()
    if plan.storages and not has_core_ml():
        skipped = (*skipped, RUNTIME)
    report = Report(
        classifier=classifier,
        created_by=CREATED_BY,
        artifacts=exported,
        texts=texts.describe(),
        golden_texts=len(examiner.golden),
        accuracy=examiner.accuracy,
        skipped=skipped,
    )
    golden = golden_bytes(
        classifier.encoder,
        classifier.labels,
        examiner.golden_texts,
        {item.key: item.table for item in finished},
        {item.key: item.tolerance for item in finished},
    )
    for name, content in (
        (LABELS_NAME, labels_bytes(classifier.labels)),
        (GOLDEN_NAME, golden),
        (REPORT_NAME, report.to_json()),
        (REPORT_MARKDOWN, report.to_markdown()),
        (REFERENCE_NAME, classifier.to_bytes()),
    ):
        (folder / name).write_bytes(content)
    return report


def _tflite_files(folder: Path, examiner: Examiner, plan: _Plan, tell: Tell) -> Iterator[_Finished]:
    """Write and run a .tflite for each recipe."""
    if not plan.recipes:
        return
    tell("Converting the graph")
    classifier = examiner.classifier
    model = convert(classifier, plan.embed)
    for recipe in plan.recipes:
        tell(f"Running {recipe.name} on {', '.join(plan.runtimes)}")
        file = folder / f"classifier-{recipe.name}.tflite"
        quantized = quantize(model, recipe.name)
        file.write_bytes(package(quantized, classifier, recipe, dict([recipe.oldest_runtime])))
        result, table = examine_file(examiner, file, plan.runtimes)
        if table is None:
            raise RetvecLiteError(str(result.problem))
        oldest = _oldest_runtime(recipe, result)
        # The statement is in the zip tail alone: what was run and what is kept are the same flatbuffer.
        data = package(quantized, classifier, recipe, oldest)
        file.write_bytes(data)
        result = _final(result, len(data), oldest)
        _refuse_broken_file(result)
        yield _Finished(Exported(data, oldest, result), recipe.name, table, recipe.parity_tolerance)


def _packages(folder: Path, examiner: Examiner, plan: _Plan, tell: Tell) -> Iterator[_Finished]:
    """Write an .mlpackage for each recipe and evaluate it; where there is Core ML, it runs as well."""
    if not plan.storages:
        return
    load_coremltools()
    from retvec_lite.converters.coreml.package import write_package

    classifier = examiner.classifier
    for storage in plan.storages:
        tell(f"Evaluating {storage.recipe} for Core ML")
        oldest = {"iOS": str(storage.target)}
        files = build_package(
            classifier, storage, about(classifier, storage.recipe), details(classifier, storage.recipe, oldest)
        )
        folder_of_package = folder / f"classifier-{storage.recipe}.mlpackage"
        write_package(files, folder_of_package)
        result, table = examine_package(examiner, folder_of_package)
        if table is None:
            raise RetvecLiteError(str(result.problem))
        for run in result.runtimes:
            if not run.correct:
                raise _wrong(result, run)
        _refuse_broken_file(result)
        yield _Finished(
            Exported(files, oldest, result), f"{RUNTIME}-{storage.recipe}", table, TOLERANCES[storage.weights]
        )


def convert(classifier: TrainedModel, embed: bool = False) -> bytes:
    """The classifier's whole graph as a float32 .tflite with all its signatures, without metadata.

    Imports TensorFlow, whose notes about the machine and the conversion are kept from standard error; what goes wrong is
    an exception.
    """
    with silent_standard_error():
        from retvec_lite.converters.tflite.convert import to_tflite
        from retvec_lite.converters.tflite.graphs import entries

        return to_tflite(entries(classifier, embed))


def package(model: bytes, classifier: TrainedModel, recipe: Recipe, oldest_runtime: dict[str, str]) -> bytes:
    """A quantized model with its metadata and zip tail, the same bytes for the same arguments."""
    told = details(classifier, recipe.name, oldest_runtime)
    told[METADATA_KEY] = [signature.to_dict() for signature in signatures_of(read_model(model))]
    return attach_metadata(model, about(classifier, recipe.name), classifier.labels, told)


def _oldest_runtime(recipe: Recipe, result: ArtifactResult) -> dict[str, str]:
    """The oldest installed runtime from which on the artifact is right on every one.

    Raises:
        RetvecLiteError: when it is wrong on the newest, or on one that the recipe is meant for.
    """
    by_age = sorted(result.runtimes, key=lambda run: age(run.runtime, run.version))
    oldest = None
    for run in reversed(by_age):
        if not run.correct:
            break
        oldest = run
    for run in by_age:
        meant = promises(dict([recipe.oldest_runtime]), run.runtime, run.version)
        if not run.correct and (meant or run is by_age[-1]):
            raise _wrong(result, run)
    assert oldest is not None
    return {oldest.runtime: oldest.version}


def _wrong(result: ArtifactResult, run: RuntimeResult) -> RetvecLiteError:
    """The sentence about an artifact that computes something else than it says on one runtime."""
    if run.refusal is not None:
        complaint = f"received: {run.refusal}"
    else:
        check = next(check for check in run.checks if check.question == "computation" and not check.ok)
        worst = check.worst[0]
        complaint = (
            f"received {name_of(check)} off by {format_value(check)} (bound {format_bound(check)}), "
            f"worst {worst.text} {worst.where}."
        )
    return RetvecLiteError(f"Expected {result.file} to be right on {run.runtime} {run.version}, {complaint}")


def _final(result: ArtifactResult, size: int, oldest: Mapping[str, str]) -> ArtifactResult:
    """The result of the provisional file as that of the final one, which states another oldest runtime and has its size."""
    checks = tuple(
        dataclasses.replace(check, value=float(size)) if check.name == "size" else check for check in result.checks
    )
    runs = tuple(
        dataclasses.replace(run, promised=promises(oldest, run.runtime, run.version)) for run in result.runtimes
    )
    return dataclasses.replace(result, bytes=size, checks=checks, runtimes=runs, problem=None)


def _refuse_broken_file(result: ArtifactResult) -> None:
    for check in result.checks:
        if not check.ok:
            advice = "choose a smaller head or recipe" if check.name == "size" else f"worst {check.worst[0].text}"
            raise RetvecLiteError(
                f"Expected {result.file} to have {check.name} {format_bound(check)}, received {format_value(check)}: {advice}."
            )
