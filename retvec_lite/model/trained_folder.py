"""The folder of a trained classifier, which `weight_files.load_trained_model` reads, and what a terminal shows of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from retvec_lite.files import explain_os_error
from retvec_lite.model.file_sizes import describe_sizes
from retvec_lite.model.report import CARD_NAME, REPORT_NAME, describe_meaning, model_card, report_json, report_of
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import CLASSIFIER_FILE
from retvec_lite.terminal import Table, draw, margin, printable

SAVED_FILES: Final = (CLASSIFIER_FILE, REPORT_NAME, CARD_NAME)
"""What `write_trained` writes."""

OWNED_FILES: Final = (*SAVED_FILES, "training.json", "labels.txt")
"""All that `force` may replace: earlier releases wrote more."""


def write_trained(model: TrainedModel, validation: Mapping[str, Any], place: Path) -> None:
    """Write weights, report and model card into a folder that exists, the same bytes for equal classifiers.

    Args:
        model: the classifier.
        validation: JSON-ready scores by share of mistyped words, which the report then holds in place of those in `model.training`.
        place: the folder.

    Raises:
        RetvecLiteError: when they cannot be written.
    """
    report = report_of(model, validation)
    contents = (model.to_bytes(), report_json(report), model_card(report))
    try:
        for name, content in zip(SAVED_FILES, contents, strict=True):
            (place / name).write_bytes(content)
    except OSError as error:
        raise explain_os_error(error, place) from error


def summary(model: TrainedModel) -> str:
    """Return what a terminal shows of a trained classifier: size, scores, confusions, and what to check."""
    facts = model.training
    ngrams = f" with {model.ngrams.buckets:,} buckets of n-grams" if model.ngrams else ""
    # Classifiers of earlier releases, and those that were not trained with `train`, tell less.
    folds, epochs = facts.get("folds", 0), facts.get("epochs")
    texts = f"{facts['training_texts']:,} training texts, " if "training_texts" in facts else ""
    cut = [
        f"{facts[name]:.1%} {what}"
        for name, what in (
            ("texts_cut_by_max_words", "of the texts were cut"),
            ("texts_in_windows", "are read in windows"),
        )
        if name in facts
    ]
    about_cut = f" ({', '.join(cut)})" if cut else ""
    about_epochs = f", {epochs} epochs" if epochs else ""
    if epochs and not folds and "best_epoch" in facts:
        about_epochs = f", best of {epochs} epochs: {facts['best_epoch']}"
    parts: list[str | Table] = [
        f"{model.head.name}{ngrams} on {printable(facts.get('data', 'unknown data'))}: {texts}{len(model.labels)} labels, "
        f"{model.encoder.max_words} word slots of {model.encoder.max_chars} code points"
        f"{about_cut}{about_epochs}."
    ]
    if "estimated_bytes" in facts:
        parts.append(describe_sizes(facts["estimated_bytes"]))
    if about := describe_meaning(facts.get("meaning", {})):
        parts.append(about)
    names = {"accuracy": "accuracy", "macro_f1": "macro F1", "calibration_error": "calibration error"}
    if model.decision.multi_label:
        names = {"micro_f1": "micro F1", **names, "accuracy": "all labels right"}
    names |= {"in_scope_unknown": "unknown", "unknown_recognized": "unknown recognized"}
    found = sorted(facts.get("validation", {}).items(), key=lambda item: float(item[0]))
    names = {key: name for key, name in names.items() if all(scores.get(key) is not None for _, scores in found)}
    score = next(iter(names))
    rows = [(f"{float(rate):.0%}", *(f"{scores[key]:.3f}" for key in names)) for rate, scores in found]
    way = f"cross-validated in {folds} folds" if folds else f"{facts.get('validation_texts', 0):,} texts"
    title = f"Validation ({way})"
    if found:
        parts.append(Table(title, ("mistyped words", *names.values()), rows, frozenset(names.values())))
    if model.decision.threshold is not None:
        parts.append(f"Texts are unknown where the probability of the best label is {model.decision.rule}.")
    if "accuracy_error" in facts and found:
        clean = facts["validation"]["0"][score]
        expected = f"{clean:.1%} ({margin(facts['accuracy_error'])})"
        is_less = folds and f"{clean:.1%}" != f"{1:.1%}"
        more = " or more, because each fold learned from a part of the texts only" if is_less else ""
        what = f"a {names[score]} of " if model.decision.multi_label else ""
        parts.append(f"Expect {what}{expected} on clean texts like these{more}.")
    if facts.get("warnings"):
        parts.append("Check your data:\n" + "\n".join(f"- {printable(warning)}" for warning in facts["warnings"]))
    if facts.get("learning_curve"):
        curve = [(f"{texts:,}", f"{accuracy:.3f}") for texts, accuracy in facts["learning_curve"]]
        numbers = ("training texts", names[score])
        parts.append(Table("Would more texts help? (without the network)", numbers, curve, frozenset(numbers)))
    if facts.get("confusions"):
        rows = [(expected, predicted, f"{texts:,}") for expected, predicted, texts in facts["confusions"]]
        columns = ("expected", "predicted", "texts")
        parts.append(Table("Confusions (no typos)", columns, rows, frozenset({"texts"})))
    return draw(*parts)
