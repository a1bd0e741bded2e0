"""Export a trained classifier: a folder of .tflite files and .mlpackages, each run and compared before it is kept."""

import dataclasses
import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from retvec_lite.contract import Floats
from retvec_lite.converters.android import AndroidFiles, find_android_files, write_android_assets
from retvec_lite.converters.coreml import Storage, find_storage, load_coremltools
from retvec_lite.converters.parity import CORE_ML, REFERENCE_NAME, ArtifactResult, RuntimeResult, age, promises
from retvec_lite.converters.parity.coreml import examine_package, has_core_ml
from retvec_lite.converters.parity.examiner import Examiner
from retvec_lite.converters.parity.golden import golden_bytes
from retvec_lite.converters.parity.tflite import examine_file
from retvec_lite.converters.recipes import DEFAULT_IOS, DEFAULT_RECIPE, Recipe, find_recipe
from retvec_lite.converters.report import Exported, Report
from retvec_lite.converters.tflite import read_model
from retvec_lite.converters.tflite.graph import signatures_of
from retvec_lite.converters.tflite.metadata import about, attach_files, attach_metadata, details
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.converters.verify import (
    GOLDEN_NAME,
    REPORT_NAME,
    RealTexts,
    golden_entry,
    labels_bytes,
    real_texts,
    require_runtimes,
    skipped_runtimes,
)
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_directory, explain_os_error
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import LABELS_NAME, SIGNATURES_KEY
from retvec_lite.runtime.interpreters import silent_standard_error
from retvec_lite.terminal import Progress, silent

FORMATS: Final = ("tflite", "coreml")
ALL_FORMATS: Final = "all"

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
    android: AndroidFiles | None

    def steps(self) -> int:
        """Return the number of steps: the reference, the conversion, and the artifacts."""
        return 1 + bool(self.recipes) + len(self.recipes) + len(self.storages)


@dataclasses.dataclass(frozen=True)
class _Finished:
    """An artifact and what it must answer to the golden texts."""

    exported: Exported
    recipe: Recipe
    table: Floats


def export_model(
    model: TrainedModel,
    out: str | os.PathLike[str],
    *,
    formats: Sequence[str] = FORMATS[:1],
    recipes: Sequence[str] = (DEFAULT_RECIPE,),
    ios: int = DEFAULT_IOS,
    block: int | None = None,
    embed: bool = False,
    data: str | os.PathLike[str] | Dataset | None = None,
    android: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Report:
    """Write an artifact for each recipe and format, with labels, golden.json, reports and the float reference.

    Args:
        model: the classifier.
        out: the folder to make.
        formats: names in `FORMATS`, or "all".
        recipes: names in `RECIPES`; a name given twice counts once.
        ios: the oldest iOS that packages are for.
        block: number of weights that share a scale in int4 packages; None: all of an output.
        embed: add the signature `embed` (words, their embeddings, one of the text) to .tflite files.
        data: real texts with labels to measure what quantization costs, a file or a `Dataset`; the starter texts by default.
        android: an Android project to put the model and its golden texts into as well.
        force: replace an earlier export.
        progress: receives (what, done, total).

    Returns:
        What the report files say. The cost of rounding may be out of bounds there, for the user to judge.

    Raises:
        ModuleNotFoundError: when coremltools is needed and not installed.
        RetvecLiteError: for arguments that do not go together, an existing folder without `force`, an artifact that computes
            something else than it says on a runtime it is meant for, or a quantized one of 1 MB or more. Nothing is left then.
    """
    plan = _plan(recipes, formats, ios, block, embed, android, force)
    texts = real_texts(model, data)
    with atomic_directory(out, force=force, owned=OWNED) as folder:
        try:
            report = _fill(folder, model, plan, texts, progress)
        except OSError as error:
            raise explain_os_error(error, out) from error
    report = dataclasses.replace(report, folder=Path(out))
    if plan.android is not None:
        write_android_assets(Path(out), plan.recipes[0].name, plan.android)
        report = dataclasses.replace(report, android_files=tuple(plan.android))
    return report


def _plan(
    recipes: Sequence[str],
    formats: Sequence[str],
    ios: int,
    block: int | None,
    embed: bool,
    android: str | os.PathLike[str] | None,
    force: bool,
) -> _Plan:
    """Check all arguments."""
    if isinstance(recipes, str) or isinstance(formats, str):
        raise RetvecLiteError("Pass recipes and formats as lists of names.")
    chosen = [find_recipe(name) for name in dict.fromkeys(recipes)]
    for name in formats:
        if name not in (*FORMATS, ALL_FORMATS):
            raise RetvecLiteError(f"Unknown format {name!r}. Choose from {', '.join(FORMATS)}, {ALL_FORMATS}.")
    if not chosen or not formats:
        raise RetvecLiteError("Name at least one recipe and one format to export.")
    is_tflite, is_coreml = (name in formats or ALL_FORMATS in formats for name in FORMATS)
    options: tuple[tuple[str, Any, bool, str], ...] = (
        ("ios", ios != DEFAULT_IOS, is_coreml, "coreml"),
        ("block", block is not None, is_coreml, "coreml"),
        ("embed", embed, is_tflite, "tflite"),
        ("android", android is not None, is_tflite, "tflite"),
    )
    for option, is_given, is_made, name in options:
        if is_given and not is_made:
            raise RetvecLiteError(f"The option {option} needs the format {name}: add it.")
    storages: list[Storage] = []
    if is_coreml:
        storages = [find_storage(recipe.name, ios, block) for recipe in chosen]
        if importlib.util.find_spec("coremltools") is None:
            raise ModuleNotFoundError("No module named 'coremltools'", name="coremltools")
    files = None
    if android is not None:
        files = find_android_files(Path(android), [recipe.name for recipe in chosen], force=force)
    return _Plan(chosen if is_tflite else [], embed, require_runtimes() if is_tflite else {}, storages, files)


def _fill(folder: Path, model: TrainedModel, plan: _Plan, texts: RealTexts, progress: Progress) -> Report:
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        progress("exporting", done, plan.steps())

    progress("exporting", 0, plan.steps())
    examiner = Examiner(model, texts.texts, texts.labels)
    step()
    finished = []
    if plan.recipes:
        converted = convert(model, plan.embed)
        signatures = _listed_signatures(converted)
        step()
        for recipe in plan.recipes:
            finished.append(_tflite_file(folder, examiner, converted, signatures, recipe, plan.runtimes))
            step()
    for item in _packages(folder, examiner, plan.storages):
        finished.append(item)
        step()
    skipped = skipped_runtimes(plan.runtimes) if plan.recipes else ()
    if plan.storages and not has_core_ml():
        skipped = (*skipped, CORE_ML)
    report = Report(
        folder=folder,
        classifier=model,
        artifacts=[item.exported for item in finished],
        texts=texts.describe(),
        golden_texts=len(examiner.golden),
        accuracy=examiner.accuracy,
        skipped=skipped,
    )
    tables, tolerances = {}, {}
    for item in finished:
        key, tolerance = golden_entry(item.recipe, not isinstance(item.exported.data, bytes))
        tables[key], tolerances[key] = item.table, tolerance
    golden = golden_bytes(
        model.encoder, model.labels, examiner.golden_texts, tables, tolerances, decision=model.decision
    )
    for name, content in (
        (LABELS_NAME, labels_bytes(model.labels)),
        (GOLDEN_NAME, golden),
        (REPORT_NAME, report.to_json()),
        (REPORT_MARKDOWN, report.to_markdown()),
        (REFERENCE_NAME, model.to_bytes()),
    ):
        (folder / name).write_bytes(content)
    return report


def _tflite_file(
    folder: Path, examiner: Examiner, converted: bytes, signatures: Any, recipe: Recipe, runtimes: Mapping[str, str]
) -> _Finished:
    """Write a .tflite, run it, and let it state the oldest runtime on which it was right."""
    model = examiner.classifier
    file = folder / f"classifier-{recipe.name}.tflite"
    described = attach_metadata(quantize(converted, recipe.name), about(model, recipe.name), model.labels)

    def stating(oldest: Mapping[str, str]) -> bytes:
        facts = {**details(model, recipe.name, oldest), SIGNATURES_KEY: signatures}
        return attach_files(described, model.labels, facts)

    file.write_bytes(stating(dict([recipe.oldest_runtime])))
    result, table = examine_file(examiner, file, runtimes)
    if table is None:
        raise RetvecLiteError(str(result.problem))
    oldest = _oldest_runtime(recipe, result)
    # The statement is only in the zip tail: what was run and what is kept are the same flatbuffer.
    data = stating(oldest)
    file.write_bytes(data)
    result = _final(result, len(data), oldest)
    _refuse_broken_file(result)
    return _Finished(Exported(data, oldest, result), recipe, table)


def _packages(folder: Path, examiner: Examiner, storages: Sequence[Storage]) -> Iterator[_Finished]:
    """Write an .mlpackage for each recipe and evaluate it; where there is Core ML, it runs as well."""
    if not storages:
        return
    load_coremltools()
    from retvec_lite.converters.coreml.build import build_package, write_package

    model = examiner.classifier
    for storage in storages:
        oldest = {"iOS": str(storage.ios)}
        name = storage.recipe.name
        files = build_package(model, storage, about(model, name), details(model, name, oldest))
        path = folder / f"classifier-{name}.mlpackage"
        write_package(files, path)
        result, table = examine_package(examiner, path)
        if table is None:
            raise RetvecLiteError(str(result.problem))
        for run in result.runtimes:
            if not run.correct:
                raise _wrong(result, run)
        _refuse_broken_file(result)
        yield _Finished(Exported(files, oldest, result), storage.recipe, table)


def convert(model: TrainedModel, embed: bool = False) -> bytes:
    """Return the classifier's whole graph as a float32 .tflite with all its signatures, without metadata.

    Imports TensorFlow. Its notes about the machine and the conversion are kept from standard error; whatever goes wrong is an
    exception.
    """
    with silent_standard_error():
        from retvec_lite.converters.tflite.convert import entries, to_tflite

        return to_tflite(entries(model, embed))


def package(graph: bytes, model: TrainedModel, recipe: Recipe, oldest_runtime: Mapping[str, str]) -> bytes:
    """Return a quantized graph as a file with metadata and zip tail that was not run; `export_model` runs its files."""
    facts = {**details(model, recipe.name, oldest_runtime), SIGNATURES_KEY: _listed_signatures(graph)}
    return attach_files(attach_metadata(graph, about(model, recipe.name), model.labels), model.labels, facts)


def _listed_signatures(graph: bytes) -> list[dict[str, Any]]:
    return [signature.to_dict() for signature in signatures_of(read_model(graph))]


def _oldest_runtime(recipe: Recipe, result: ArtifactResult) -> dict[str, str]:
    """Return the oldest installed runtime from which on the artifact is right on every one.

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
    """Return the error for an artifact that computes something else than it says on one runtime."""
    place = f"{result.file} is wrong on {run.runtime} {run.version}"
    if run.refusal is not None:
        return RetvecLiteError(f"{place}: {run.refusal}")
    check = next(check for check in run.checks if check.question == "computation" and not check.ok)
    worst = check.worst[0]
    return RetvecLiteError(
        f"{place}: {check.title} is off by {check.value_text} (bound {check.bound_text}), worst {worst.text} {worst.where}."
    )


def _final(result: ArtifactResult, size: int, oldest: Mapping[str, str]) -> ArtifactResult:
    """Return the result of the provisional file as that of the final one: another oldest runtime, another size."""
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
            advice = "Choose a smaller head or recipe." if check.name == "size" else f"Worst: {check.worst[0].text}."
            raise RetvecLiteError(
                f"{result.file}: {check.title} is {check.value_text}, must be {check.bound_text}. {advice}"
            )
