"""From a trained classifier to a folder of .tflite files that were run, on every installed runtime, before they were kept."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite import __version__
from retvec_lite.classifier_file import Classifier, load_classifier
from retvec_lite.converters.checks import RuntimeResult, age, promises
from retvec_lite.converters.golden import golden_bytes
from retvec_lite.converters.metadata import About, attach_metadata
from retvec_lite.converters.parity import Examiner
from retvec_lite.converters.quantize import quantize
from retvec_lite.converters.recipes import DEFAULT_RECIPE, Recipe, find_recipe
from retvec_lite.converters.report import Exported, Report, format_bound, format_value
from retvec_lite.converters.verify import (
    GOLDEN_NAME,
    LABELS_NAME,
    REFERENCE_NAME,
    ArtifactResult,
    RealTexts,
    Tell,
    examine_file,
    labels_bytes,
    real_texts,
    require_runtimes,
    skipped_runtimes,
)
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_directory, explain_os_error
from retvec_lite.quiet import silent_standard_error

REPORT_JSON: Final = "report.json"
REPORT_MARKDOWN: Final = "report.md"
OWNED: Final = ("classifier-*.tflite", LABELS_NAME, GOLDEN_NAME, REPORT_JSON, REPORT_MARKDOWN, REFERENCE_NAME)
"""The files of the folder: all that `force` may replace."""

CREATED_BY: Final = f"retvec-lite {__version__}"


def export(
    source: str | Path,
    dist: str | Path,
    recipes: Sequence[str] = (DEFAULT_RECIPE,),
    *,
    force: bool = False,
    data: str | Path | None = None,
    tell: Tell = lambda _: None,
) -> Report:
    """Write `classifier-<recipe>.tflite` for each recipe, labels, golden.json, the reports and the float reference.

    Args:
        source: the folder that `retvec-lite train` wrote.
        dist: the folder to make.
        recipes: names out of `RECIPES`; a name given twice counts once.
        force: replace an earlier export.
        data: a labelled file with real texts (columns `text` and `label`) to measure what quantization costs; the starter
            texts by default.
        tell: receives a line before each longer step.

    Returns:
        What the report files say. What rounding the weights cost may be out of bounds there: the user may want to know,
        and decide; an artifact that computes wrongly is an error.

    Raises:
        RetvecLiteError: for bad input, an existing folder without `force`, an artifact that computes something else than
            it says on a runtime it is meant for, or a quantized one of 1 MB or more. Nothing is left then.
    """
    chosen = [find_recipe(name) for name in dict.fromkeys(recipes)]
    classifier = load_classifier(source)
    texts = real_texts(classifier, data)
    runtimes = require_runtimes()
    with atomic_directory(dist, force=force, owned=OWNED) as folder:
        try:
            return _fill(folder, classifier, chosen, texts, runtimes, tell)
        except OSError as error:
            raise explain_os_error(error, dist) from error


def _fill(
    folder: Path,
    classifier: Classifier,
    recipes: Sequence[Recipe],
    texts: RealTexts,
    runtimes: Mapping[str, str],
    tell: Tell,
) -> Report:
    tell("Converting the graph")
    model = convert(classifier)
    tell(f"Computing the reference on {texts.describe()}")
    examiner = Examiner(classifier, texts.texts, texts.labels)
    exported, expected = [], {}
    for recipe in recipes:
        tell(f"Running {recipe.name} on {', '.join(runtimes)}")
        file = folder / f"classifier-{recipe.name}.tflite"
        quantized = quantize(model, recipe.name)
        file.write_bytes(package(quantized, classifier, recipe, dict([recipe.oldest_runtime])))
        result, table = examine_file(examiner, file, runtimes)
        if table is None:
            raise RetvecLiteError(str(result.problem))
        oldest = _oldest_runtime(recipe, result)
        # The statement is in the zip tail alone: what was run and what is kept are the same flatbuffer.
        data = package(quantized, classifier, recipe, oldest)
        file.write_bytes(data)
        result = _final(result, len(data), oldest)
        _refuse_broken_file(result)
        exported.append(Exported(data, oldest, result))
        expected[recipe.name] = table
    report = Report(
        classifier=classifier,
        created_by=CREATED_BY,
        artifacts=exported,
        texts=texts.describe(),
        golden_texts=len(examiner.golden),
        accuracy=examiner.accuracy,
        skipped=skipped_runtimes(runtimes),
    )
    for name, content in (
        (LABELS_NAME, labels_bytes(classifier.labels)),
        (GOLDEN_NAME, golden_bytes(classifier.encoder, classifier.labels, examiner.golden_texts, expected)),
        (REPORT_JSON, report.to_json()),
        (REPORT_MARKDOWN, report.to_markdown()),
        (REFERENCE_NAME, classifier.to_bytes()),
    ):
        (folder / name).write_bytes(content)
    return report


def convert(classifier: Classifier) -> bytes:
    """The classifier's whole graph as a float32 .tflite, without metadata.

    Imports TensorFlow, whose notes about the machine and the conversion are kept from standard error; what goes wrong is
    an exception.
    """
    with silent_standard_error():
        return _convert(classifier)


def _convert(classifier: Classifier) -> bytes:
    import tensorflow as tf

    from retvec_lite.converters.tflite import INPUT, to_tflite
    from retvec_lite.modeling.classifier import classify
    from retvec_lite.modeling.fused_lstm import fused_lstm

    weights = {name: np.asarray(value, np.float32) for name, value in classifier.weights.items()}
    stages = [*stage_names(classifier), "probabilities"]

    def graph(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        computed = classify(codepoints, classifier, weights, fused_lstm)
        return {stage: getattr(computed, stage) for stage in stages}

    signature = [tf.TensorSpec([1, classifier.encoder.max_chars], tf.int32, name=INPUT)]
    return to_tflite(tf.function(graph, input_signature=signature, autograph=False))


def stage_names(classifier: Classifier) -> list[str]:
    """The inner tensors that artifacts name; the bits of RETVec-raw are its embedding."""
    return ["words", "bits", *(["embedding"] if "embedding/dense_0/kernel" in classifier.weights else [])]


def package(model: bytes, classifier: Classifier, recipe: Recipe, oldest_runtime: dict[str, str]) -> bytes:
    """A quantized model with its metadata and zip tail, the same bytes for the same arguments."""
    details: dict[str, Any] = {
        "format": "retvec-lite",
        "contract_version": classifier.encoder.contract_version,
        "encoder": classifier.encoder.to_dict(),
        "labels": list(classifier.labels),
        "head": classifier.head.name,
        "recipe": recipe.name,
        "embedding": str(classifier.embedding.get("name", "raw")),
        "oldest_runtime": oldest_runtime,
        "created_by": CREATED_BY,
        "tensors": {stage: stage for stage in stage_names(classifier)},
    }
    about = About(
        name="retvec-lite text classifier",
        description=f"Classifies text into {len(classifier.labels)} labels from its code points alone, typos and all scripts "
        f"included ({classifier.head.name} head, {recipe.name} weights).",
        version=__version__,
        author=CREATED_BY,
        license="Set by the owner of the training data; the software is under Apache-2.0.",
    )
    return attach_metadata(model, about, classifier.labels, details)


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
            raise RetvecLiteError(
                f"Expected {result.file} to be right on {run.runtime} {run.version}, {_complaint(run)}"
            )
    assert oldest is not None
    return {oldest.runtime: oldest.version}


def _complaint(run: RuntimeResult) -> str:
    if run.refusal is not None:
        return f"received: {run.refusal}"
    check = next(check for check in run.checks if check.question == "computation" and not check.ok)
    worst = check.worst[0]
    return f"received {check.name} off by {format_value(check)} (bound {format_bound(check)}), worst {worst.text} {worst.where}."


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
