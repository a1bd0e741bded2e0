"""Export a trained classifier: a folder of artifacts, each run and compared before it is kept."""

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.converters.format import Draft, Format, Options, fingerprint
from retvec_lite.converters.formats import chosen_formats, every_format
from retvec_lite.converters.parity import REFERENCE_NAME, ArtifactResult
from retvec_lite.converters.parity.examiner import Examiner
from retvec_lite.converters.parity.golden import GOLDEN_NAME, golden_bytes, golden_texts
from retvec_lite.converters.recipes import DEFAULT_IOS, DEFAULT_RECIPE, Recipe, find_recipe
from retvec_lite.converters.report import Exported, Report
from retvec_lite.converters.verify import REPORT_NAME, RealTexts, labels_bytes, real_texts
from retvec_lite.data.dataset import Dataset
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_directory, atomic_write, explain_os_error, refuse_existing
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import LABELS_NAME
from retvec_lite.terminal import Progress, silent

REPORT_MARKDOWN: Final = "report.md"


MODEL_NAME: Final = "classifier.tflite"
"""The asset's name for any recipe: `TextClassifier.kt` opens it by default."""

_MODULES: Final = ("app", ".")
"""Where the module is in the folder that the user names: the usual place in a project, or the folder itself."""


class AndroidFiles(NamedTuple):
    """The paths of a project's files: the app's model, and the golden texts of its tests."""

    model: Path
    golden: Path


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What to make, checked before any work is done."""

    formats: Sequence[Format]
    recipes: Sequence[Recipe]
    options: Options


def export_model(
    model: TrainedModel,
    out: str | os.PathLike[str],
    *,
    formats: Sequence[str] = ("tflite",),
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
    options: Options = {"ios": ios, "block": block, "embed": embed, "android": android}
    plan = _plan(formats, recipes, options)
    assets = None
    if android is not None:
        assets = find_android_files(Path(android), [recipe.name for recipe in plan.recipes], force=force)
    texts = real_texts(model, data)
    with atomic_directory(out, force=force, owned=owned_files()) as folder:
        try:
            report = _fill(folder, model, plan, texts, progress)
        except OSError as error:
            raise explain_os_error(error, out) from error
    report = dataclasses.replace(report, folder=Path(out))
    if assets is not None:
        write_android_assets(Path(out), plan.recipes[0].name, assets)
        report = dataclasses.replace(report, android_files=tuple(assets))
    return report


def owned_files() -> tuple[str, ...]:
    """Return the patterns of an export's files: all that `force` may replace."""
    artifacts = (f"classifier-*{found.suffix}" for found in every_format())
    return (*artifacts, LABELS_NAME, GOLDEN_NAME, REPORT_NAME, REPORT_MARKDOWN, REFERENCE_NAME)


def _plan(formats: Sequence[str], recipes: Sequence[str], options: Options) -> _Plan:
    """Check all arguments."""
    if isinstance(recipes, str) or isinstance(formats, str):
        raise RetvecLiteError("Pass recipes and formats as lists of names.")
    plan = _Plan(chosen_formats(formats), [find_recipe(name) for name in dict.fromkeys(recipes)], options)
    if not plan.recipes or not plan.formats:
        raise RetvecLiteError("Name at least one recipe and one format to export.")
    for other in every_format():
        for option, default in other.options.items():
            if options[option] != default and other not in plan.formats:
                raise RetvecLiteError(f"The option {option} needs the format {other.name}: add it.")
    for found in plan.formats:
        found.check(plan.recipes, options)
    return plan


def _fill(folder: Path, model: TrainedModel, plan: _Plan, texts: RealTexts, progress: Progress) -> Report:
    """Write everything into an empty folder."""
    total = 1 + len(plan.formats) * len(plan.recipes)
    progress("exporting", 0, total)
    examiner = Examiner(model, texts.texts, texts.labels)
    progress("exporting", 1, total)
    exported: list[Exported] = []
    answers: dict[str, tuple[Floats, float]] = {}
    for kind in plan.formats:
        for draft in kind.make(model, plan.recipes, plan.options):
            artifact, answers[kind.golden_key(draft.recipe)] = _artifact(folder, kind, draft, examiner)
            exported.append(artifact)
            progress("exporting", 1 + len(exported), total)
    report = Report(
        folder=folder,
        classifier=model,
        artifacts=exported,
        texts=texts.describe(),
        golden_texts=len(examiner.golden),
        accuracy=examiner.accuracy,
        skipped=[name for kind in plan.formats for name in kind.skipped()],
    )
    for name, content in (
        (LABELS_NAME, labels_bytes(model.labels)),
        (GOLDEN_NAME, examiner.golden_json(answers)),
        (REPORT_NAME, report.to_json()),
        (REPORT_MARKDOWN, report.to_markdown()),
        (REFERENCE_NAME, model.to_bytes()),
    ):
        (folder / name).write_bytes(content)
    return report


def _artifact(folder: Path, kind: Format, draft: Draft, examiner: Examiner) -> tuple[Exported, tuple[Floats, float]]:
    """Write an artifact and run it; return what it is, and what it must answer to the golden texts and how nearly."""
    path = folder / f"classifier-{draft.recipe.name}{kind.suffix}"
    draft.write(path, draft.oldest_runtime)
    result, table = kind.examine(examiner, path)
    if table is None:
        raise RetvecLiteError(str(result.problem))
    oldest, result = kind.settle(draft, path, result)
    _refuse_broken(result)
    exported = Exported(kind, result, oldest, fingerprint(path), kind.open(path).contents())
    return exported, (table, kind.facts(draft.recipe).parity_tolerance)


def _refuse_broken(result: ArtifactResult) -> None:
    for check in result.checks:
        if not check.ok:
            advice = "Choose a smaller head or recipe." if check.name == "size" else f"Worst: {check.worst[0].text}."
            raise RetvecLiteError(
                f"{result.file}: {check.title} is {check.value_text}, must be {check.bound_text}. {advice}"
            )


# --- Android ----------------------------------------------------------------------------------------------------------


def find_android_files(project: str | Path, recipes: Sequence[str], *, force: bool = False) -> AndroidFiles:
    """Return where the one recipe goes in a Gradle project, or in one of its modules; checked before any work is done.

    Raises:
        RetvecLiteError: for a folder that is not an Android project, several recipes, or files that exist without `force`.
    """
    names = list(dict.fromkeys(recipes))
    if len(names) != 1:
        raise RetvecLiteError(f"An Android app opens one model: choose one recipe out of {', '.join(names) or 'none'}.")
    manifest = Path("src", "main", "AndroidManifest.xml")
    module = next((Path(project, name) for name in _MODULES if Path(project, name, manifest).is_file()), None)
    if module is None:
        raise RetvecLiteError(
            f"{project} is not an Android project: {Path('app', manifest)} is not in it. Name the Gradle project's folder."
        )
    files = AndroidFiles(module / "src/main/assets" / MODEL_NAME, module / "src/test/resources" / GOLDEN_NAME)
    for file in files:
        refuse_existing(file, force)
    return files


def write_android_assets(dist: str | Path, recipe: str, files: AndroidFiles) -> None:
    """Copy the `.tflite` of one recipe out of an export, and `golden.json` with only the answers of that recipe.

    Raises:
        RetvecLiteError: when the export has no such file, or the project cannot be written.
    """
    source = Path(dist, f"classifier-{recipe}.tflite")
    try:
        model, golden = source.read_bytes(), Path(dist, GOLDEN_NAME).read_bytes()
    except FileNotFoundError as error:
        raise RetvecLiteError(f"{error.filename} does not exist: export the recipe {recipe} again.") from error
    except OSError as error:
        raise explain_os_error(error, source) from error
    told = _golden_of(golden, recipe)
    # The texts first: after a write that was cut off between the two, the app's tests fail.
    atomic_write(files.golden, told)
    atomic_write(files.model, model)


def _golden_of(golden: bytes, recipe: str) -> bytes:
    """Return `golden.json` as an export of that recipe alone writes it."""
    document = json.loads(golden)
    config = EncoderConfig.from_dict(document["encoder"])
    table = np.array([case["probabilities"][recipe] for case in document["cases"]], np.float32)
    expected = {recipe: (table, document["tolerance"][recipe])}
    decision = Decision.from_dict(document.get("decision"))
    return golden_bytes(config, document["labels"], golden_texts(config), expected, decision)
