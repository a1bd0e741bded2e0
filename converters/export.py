"""Export a trained classifier: a folder of artifacts, each run and compared before it is kept."""

import contextlib
import dataclasses
import math
import os
import shutil
import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from retvec_lite.card import CARD_NAME, REPORT_NAME, model_card, report_json, without_texts
from retvec_lite.contract import Floats
from retvec_lite.converters.export_report import Exported, IncompleteExportError, Report
from retvec_lite.converters.format import Draft, Format, chosen_formats
from retvec_lite.converters.manifest import manifest_of, released
from retvec_lite.converters.parity import REFERENCE_NAME
from retvec_lite.converters.parity.examiner import Examiner, one_core
from retvec_lite.converters.parity.golden import GOLDEN_NAME
from retvec_lite.converters.recipes import DEFAULT_RECIPE, RECIPES, SMALLEST_RECIPE, Recipe, find_recipe
from retvec_lite.converters.verify import labels_bytes, real_texts
from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_directory, atomic_write, explain_os_error, refuse_existing
from retvec_lite.manifest import MANIFEST_NAME, SIGNATURE_NAME, fingerprint
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import LABELS_NAME
from retvec_lite.signing import public_key, read_private_key
from retvec_lite.terminal import Progress, silent

_Answer = tuple[Floats, float]
"""What an artifact must answer to the golden texts, float32 `[texts, classes]`, and how nearly."""

FOR_ANDROID: Final = ("tflite", "engine")
"""Formats that Android apps open, the first one of an export: their classes look for the asset `classifier` with its suffix."""


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What to make, checked before any work is done."""

    formats: Sequence[Format]
    recipes: Sequence[Recipe]
    embed: bool

    @property
    def steps(self) -> int:
        """The steps of progress: the reference, and each artifact."""
        return 1 + sum(len(self.of(found)) for found in self.formats)

    def of(self, found: Format) -> list[Recipe]:
        """Return the recipes that a format has."""
        return [recipe for recipe in self.recipes if found.has(recipe)]


def export_model(
    model: TrainedModel,
    out: str | os.PathLike[str],
    *,
    formats: str | Sequence[str] = ("tflite",),
    recipes: str | Sequence[str] = (DEFAULT_RECIPE,),
    embed: bool = False,
    data: str | os.PathLike[str] | Dataset | None = None,
    android: str | os.PathLike[str] | None = None,
    name: str | None = None,
    model_version: int | None = None,
    sign: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Report:
    """Write an artifact for each recipe and format, with labels, golden.json, reports and the float reference.

    The options are those of `TrainedClassifier.export`; `formats` are names in `FORMATS`, or "all", and `recipes` names in `RECIPES`.

    Returns:
        What the report files say. The cost of rounding may be out of bounds there, for the user to judge.

    Raises:
        ModuleNotFoundError: when a package of an extra is needed and not installed.
        IncompleteExportError: where some artifacts cannot be made: they compute something else than they say on a runtime they are
            meant for, or are quantized and larger than their training's `max_kb`. The others are written, in place of an earlier export.
        RetvecLiteError: for arguments that do not go together, an existing folder without `force`, or where no artifact can be
            made. Nothing is changed then.
    """
    model = released(without_texts(model), name, model_version)
    signer = None if sign is None else read_private_key(sign)
    if signer and name is None:
        raise RetvecLiteError(
            "Apps accept an update by its name and version: give --name (name) and --model-version (model_version), too."
        )
    plan = _plan(model, formats, recipes, embed, android is not None)
    assets = None
    if android is not None:
        for_app = next(found for found in plan.formats if found.name in FOR_ANDROID)
        assets = find_android_files(Path(android), [one.name for one in plan.recipes], for_app.suffix, force=force)
    texts = real_texts(model, data)
    earlier = {path.name for path in Path(out).iterdir()} if Path(out).is_dir() else set()
    with atomic_directory(out, force=force, owned=owned_files()) as folder, one_core():
        progress("exporting", 0, plan.steps)
        examiner = Examiner(model, texts.texts, texts.labels)
        try:
            report, answers = _fill(folder, examiner, plan, texts.describe(), progress)
            if signer is not None:
                (folder / SIGNATURE_NAME).write_bytes(signer.sign((folder / MANIFEST_NAME).read_bytes()))
                report = dataclasses.replace(report, signed_with=public_key(signer))
        except OSError as error:
            raise explain_os_error(error, out) from error
    report = dataclasses.replace(report, folder=Path(out))
    if assets is not None and (file := for_app.artifact_name(plan.recipes[0])) not in report.failed:
        key = for_app.golden_key(plan.recipes[0])
        # What this recipe alone would have exported, whatever other formats there are.
        write_android_files(assets, Path(out, file).read_bytes(), examiner.golden_json({key: answers[key]}))
        report = dataclasses.replace(report, android_files=tuple(assets))
    if report.failed:
        raise IncompleteExportError(_describe_failed(report, earlier), report)
    return report


def owned_files() -> tuple[str, ...]:
    """Return the patterns of an export's files: all that `force` may replace."""
    artifacts = (f"classifier-*{found.suffix}{'/' * found.is_folder}" for found in chosen_formats())
    return (
        *artifacts,
        MANIFEST_NAME,
        SIGNATURE_NAME,
        LABELS_NAME,
        GOLDEN_NAME,
        REPORT_NAME,
        REFERENCE_NAME,
        CARD_NAME,
    )


def _plan(
    model: TrainedModel, formats: str | Sequence[str], recipes: str | Sequence[str], embed: bool, android: bool
) -> _Plan:
    """Check all arguments."""
    recipes = [recipes] if isinstance(recipes, str) else recipes
    formats = [formats] if isinstance(formats, str) else formats
    found_recipes = [find_recipe(name) for name in dict.fromkeys(recipes)]
    plan = _Plan(chosen_formats(formats), found_recipes, embed)
    taken = [found for found in plan.formats if found.name in formats or found.offers(model, plan.of(found))]
    plan = dataclasses.replace(plan, formats=taken)
    if not plan.recipes or not plan.formats:
        raise RetvecLiteError("Name at least one recipe and one format to export.")
    for option, is_on, formats_of_it in (("embed", embed, ("tflite",)), ("android", android, FOR_ANDROID)):
        if is_on and not any(found.name in formats_of_it for found in taken):
            raise RetvecLiteError(f"The option {option} needs the format {' or '.join(formats_of_it)}: add it.")
    for found in plan.formats:
        found.check(plan.recipes if found.name in formats else plan.of(found))
    return plan


def _fill(
    folder: Path, examiner: Examiner, plan: _Plan, texts: str, progress: Progress
) -> tuple[Report, dict[str, _Answer]]:
    """Write everything into an empty folder; return the report, and the answers of golden.json by their keys."""
    model = examiner.classifier
    progress("exporting", 1, plan.steps)
    exported: list[Exported] = []
    answers: dict[str, _Answer] = {}
    failed: dict[str, str] = {}
    for kind in plan.formats:
        for recipe, draft in _drafts(kind, model, plan):
            try:
                if isinstance(draft, RetvecLiteError):
                    raise draft
                artifact, answers[kind.golden_key(recipe)] = _artifact(folder, kind, draft, examiner)
                exported.append(artifact)
            except _TooLargeError as error:
                failed[kind.artifact_name(recipe)] = f"{error} {_smaller(error, kind, recipe, examiner, plan)}"
            except RetvecLiteError as error:
                failed[kind.artifact_name(recipe)] = str(error)
            progress("exporting", 1 + len(exported) + len(failed), plan.steps)
    if not exported:
        raise RetvecLiteError(_listed(failed))
    report = Report(
        folder=folder,
        classifier=model,
        artifacts=exported,
        texts=texts,
        golden_texts=len(examiner.golden),
        accuracy=examiner.accuracy,
        skipped=[name for kind in plan.formats for name in kind.skipped()],
        failed=failed,
    )
    for name, content in (
        (LABELS_NAME, labels_bytes(model.labels)),
        (GOLDEN_NAME, examiner.golden_json(answers)),
        (REPORT_NAME, report_json(report.to_dict())),
        (CARD_NAME, model_card(report.to_dict())),
        (MANIFEST_NAME, manifest_of(examiner, [found.listed for found in exported], answers.values()).to_bytes()),
        (REFERENCE_NAME, released(model, None, None).to_bytes()),
    ):
        (folder / name).write_bytes(content)
    return report, answers


def _drafts(
    kind: Format, model: TrainedModel, plan: _Plan
) -> Iterator[tuple[Recipe, Draft] | tuple[Recipe, RetvecLiteError]]:
    """Yield the artifact of each recipe, or why it cannot be made."""
    left = plan.of(kind)
    while left:
        try:
            for draft in kind.make(model, tuple(left), plan.embed):
                yield left.pop(0), draft
            return
        except RetvecLiteError as error:
            yield left.pop(0), error


class _TooLargeError(RetvecLiteError):
    """An artifact is larger than its training allows."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"size is {size:,}, must be <= {limit:,}.")
        self.size = size


def _artifact(folder: Path, kind: Format, draft: Draft, examiner: Examiner) -> tuple[Exported, _Answer]:
    """Write an artifact and run it; return what it is and must answer.

    Raises:
        RetvecLiteError: when it is too large or wrong. It is not left in the folder.
    """
    path = folder / kind.artifact_name(draft.recipe)
    try:
        draft.write(path, draft.oldest_runtime)
        result, table = kind.examine(examiner, path)
        if table is None:
            raise RetvecLiteError(str(result.problem))
        oldest, result = kind.settle(draft, path, result)
        for check in result.checks:
            if not check.ok and check.name == "size":
                raise _TooLargeError(result.bytes, int(check.bound))
            if not check.ok:
                problem = f"{check.title} is {check.value_text}, must be {check.bound_text}"
                raise RetvecLiteError(f"{problem}. Worst: {check.worst[0].text}.")
    except RetvecLiteError:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        raise
    exported = Exported(kind, result, oldest, fingerprint(path), kind.open(path).contents())
    return exported, (table, kind.facts(draft.recipe).parity_tolerance)


def _smaller(error: _TooLargeError, kind: Format, recipe: Recipe, examiner: Examiner, plan: _Plan) -> str:
    """Return what makes a smaller file, or room for this one: each way was tried, or is what training promises."""
    kilobytes = math.ceil(error.size / 1000)
    advice = f"Train again: training leaves room for every format, in files of up to --max-kb {kilobytes} (max_kb) too"
    smallest = RECIPES[SMALLEST_RECIPE]
    if recipe.bits > smallest.bits and smallest not in plan.recipes:
        with contextlib.suppress(RetvecLiteError), tempfile.TemporaryDirectory() as folder:
            kind.check([smallest])
            (draft,) = kind.make(examiner.classifier, [smallest], plan.embed)
            size = _artifact(Path(folder), kind, draft, examiner)[0].result.bytes
            advice += f"; or choose --recipe {smallest.name} (recipes): {size:,} bytes"
    return f"{advice}."


def _listed(failed: Mapping[str, str]) -> str:
    return " ".join(f"{file} cannot be written: {why}" for file, why in failed.items())


def _describe_failed(report: Report, earlier: Container[str]) -> str:
    """Return which files failed and why, which are written, and which earlier ones are gone."""
    written = ", ".join(str(path) for path in report.files)
    lost = [file for file in report.failed if file in earlier]
    gone = f" The earlier {' and '.join(lost)} went with the earlier export." if lost else ""
    return f"{_listed(report.failed)} Written: {written}.{gone}"


# --- Android ----------------------------------------------------------------------------------------------------------


def find_android_files(
    project: str | Path, recipes: Sequence[str], suffix: str = ".tflite", *, force: bool = False
) -> tuple[Path, Path]:
    """Return where the app's model and the golden texts of its tests go in a Gradle project, or in one of its modules.

    Raises:
        RetvecLiteError: for a folder that is not an Android project, several recipes, or files that exist without `force`.
    """
    names = list(dict.fromkeys(recipes))
    if len(names) != 1:
        raise RetvecLiteError(f"An Android app opens one model: choose one recipe out of {', '.join(names) or 'none'}.")
    manifest = Path("src", "main", "AndroidManifest.xml")
    module = next((Path(project, name) for name in ("app", ".") if Path(project, name, manifest).is_file()), None)
    if module is None:
        raise RetvecLiteError(
            f"{project} is not an Android project: {Path('app', manifest)} is not in it. Name the Gradle project's folder."
        )
    files = (module / f"src/main/assets/classifier{suffix}", module / "src/test/resources" / GOLDEN_NAME)
    for file in files:
        refuse_existing(file, force)
    return files


def write_android_files(files: tuple[Path, Path], model: bytes, golden: bytes) -> None:
    """Put a model and its `golden.json` into a project.

    Raises:
        RetvecLiteError: when the project cannot be written.
    """
    # The texts first: after a write that was cut off between the two, the app's tests fail.
    atomic_write(files[1], golden)
    atomic_write(files[0], model)
