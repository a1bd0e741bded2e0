"""What a training is asked for: options, checked, and what they name, read and checked before any work is done."""

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from retvec_lite.data.calibration import unknown_rows
from retvec_lite.data.copies import different
from retvec_lite.data.dataset import IN_MEMORY, Dataset, ReadingOptions, as_dataset
from retvec_lite.data.descriptions import is_described, read_descriptions, source_of
from retvec_lite.data.labels import ClassWeights, choose_class_weights
from retvec_lite.data.origin import data_hash
from retvec_lite.data.texts import texts_of
from retvec_lite.data.warnings import check_separated, check_single, check_trainable, data_warnings, in_both
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.meaning_file import MeaningFile, language_file, packaged_languages
from retvec_lite.model.weight_files import Embedding, TrainedModel, choose_embedding
from retvec_lite.training.encoders import AUTO, read_teacher, sign_of
from retvec_lite.version import CREATED_BY

REJECT_AT: Final = 0.99
FEW: Final = 3_000
"""Texts up to which they are cross-validated."""

_AUTO, _NONE = "auto", "none"
"""What `meaning` may be besides a file."""

_NUMBER: Final = re.compile(r"[\d.,]+\s*%?")
"""What is meant as a share and is none."""

_PLAIN: Final = ("head", "ngram_kb", "max_kb", "epochs", "typo_rate", "reject_at", "unknown_label", "seed")
"""Options that are used as they were given."""

_INTEGERS: Final = {"ngram_kb": (0, 100_000), "max_kb": (100, 100_000), "epochs": (1, None), "seed": (0, 2**31 - 1)}
"""Option -> the least and the largest integer that it may be."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What to learn from, and the options of `retvec_lite.train` that decide how.

    Attributes:
        training: labelled texts, which may be none where there are descriptions of labels.
        validation: labelled texts of the same labels, or the share of `training` to set aside; None cross-validates few texts and
            sets a tenth of many aside.
        embedding: pre-trained word embedding; None for RETVec-raw.
        class_weights: see `choose_class_weights`; None for the recommended ones.
        warnings: what to check in the texts.
        leaked: how many validation texts are training texts as well, or nearly so.
        meanings: what words mean, to choose the language of the texts from: files, or tags of those in the package, which are read once
            chosen; empty to do without.
        languages: the same of other languages that the classifier shall know.
        unlabelled: texts without a label, none of which is a copy of another or of a labelled one.
        teacher: what labels them, by name, see `read_teacher`; empty for the classifier itself.
        head, meaning, ngram_kb, max_kb, epochs, typo_rate, reject_at, unknown_label, seed: as `train` takes them.
    """

    training: Dataset
    validation: Dataset | float | None
    embedding: Embedding | None
    class_weights: ClassWeights | None
    warnings: Sequence[str]
    leaked: int
    meanings: Sequence[MeaningFile | str]
    languages: Sequence[MeaningFile]
    unlabelled: Sequence[str]
    teacher: Mapping[str, Any]
    head: str
    meaning: str | os.PathLike[str] | MeaningFile
    ngram_kb: int | None
    max_kb: int
    epochs: int | None
    typo_rate: float | None
    reject_at: float
    unknown_label: str | None
    seed: int

    @property
    def options(self) -> dict[str, Any]:
        """The options, JSON-ready; hashes stand for data and files. With the training texts and the release, they decide the classifier."""
        held_out = self.validation
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "validation": data_hash(held_out) if isinstance(held_out, Dataset) else held_out,
            "embedding": self.embedding.digest if self.embedding else None,
            "class_weights": self.class_weights
            if isinstance(self.class_weights, str | None)
            else dict(self.class_weights),
            "meanings": [file if isinstance(file, str) else _hash(file) for file in self.meanings],
            "languages": [_hash(file) for file in self.languages],
            "unlabelled": hashlib.sha256("\n".join(self.unlabelled).encode()).hexdigest()[:16],
            "teacher": [sign_of(name, each, self.unlabelled) for name, each in self.teacher.items()],
        }


def _hash(file: MeaningFile) -> str:
    """Return the tag of a file's language, and 16 hexadecimal digits for what it says."""
    parts = (
        "\n".join(file.words).encode(),
        file.codes.tobytes(),
        file.codebooks.tobytes(),
        repr(file.translations).encode(),
    )
    return f"{file.language}-{hashlib.sha256(b''.join(parts)).hexdigest()[:16]}"


def read_request(given: Mapping[str, Any]) -> Request:
    """Check the arguments of `retvec_lite.train` by name, and read what they name.

    Raises:
        RetvecLiteError: for an option out of range, options that do not go together, or data that cannot be trained on.
    """
    options = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    check_options(options)
    reading: ReadingOptions = options["reading"]
    multi_label = reading.get("multi_label")
    teacher, inbox = read_teacher(options["teacher"]), _read_inbox(options)
    training = _read_training(options, reading)
    if training.multi_label and training.descriptions:
        raise RetvecLiteError(
            "Descriptions of labels (labels) are for one label a text: leave out --multi-label (multi_label), or give texts alone."
        )
    validation = _read_validation(options["validation"], {**reading, "multi_label": training.multi_label})
    check_trainable(training)
    if multi_label is None and not training.multi_label:
        check_single((*training.labels, *dict(training.descriptions)), training.path)
    elif training.multi_label and not any(len(names) > 1 for names in training.label_sets):
        check_separated([*training.label_counts.elements()], training.path)
    if isinstance(validation, Dataset) and (missing := sorted(set(validation.classes) - set(training.classes))):
        raise RetvecLiteError(
            f"The label {missing[0]!r} of {validation.path} does not occur in {training.path}. "
            "Add texts of it there, or remove it from the validation texts."
        )
    unlabelled = _new_texts(inbox, options, training, validation)
    both = in_both(training, validation) if isinstance(validation, Dataset) else []
    _check_rejection(training, options["reject_at"], options["unknown_label"])
    weights = options["class_weights"]
    return Request(
        training=training,
        validation=validation,
        embedding=choose_embedding(options["embedding"]),
        class_weights=None if weights is None else choose_class_weights(weights, training.classes),
        warnings=data_warnings(training, validation if isinstance(validation, Dataset) else None, both),
        leaked=sum(map(set(both).__contains__, validation.texts)) if isinstance(validation, Dataset) else 0,
        meanings=_read_meanings(options["meaning"], options["ngram_kb"]),
        languages=[language_file(name) for name in (() if options["languages"] is None else options["languages"])],
        meaning=options["meaning"],
        unlabelled=unlabelled,
        teacher=teacher if unlabelled else {},
        **{name: options[name] for name in _PLAIN},
    )


def is_made_from(model: TrainedModel, request: Request) -> bool:
    """Return whether this release trained a classifier on the same texts and labels with the same options.

    One that got another threshold afterwards was not.
    """
    asked = json.loads(json.dumps(request.options))
    facts = {
        "created_by": CREATED_BY,
        "data_hash": data_hash(request.training),
        "options": asked,
        "reject_at": request.reject_at,
    }
    return all(model.training.get(name) == fact for name, fact in facts.items())


def check_options(given: Mapping[str, Any]) -> None:
    """Refuse, with RetvecLiteError, values of a right type that are out of range, and options that do not go together."""
    for name, (least, most) in _INTEGERS.items():
        value = given[name]
        if value is not None and not least <= value <= (value if most is None else most):
            span = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise RetvecLiteError(f"{name} must be an integer {span}, not {value!r}.")
    rate, share, validation = given["typo_rate"], given["reject_at"], given["validation"]
    if rate is not None and not 0 <= rate <= 1:
        raise RetvecLiteError(f"typo_rate must be a share from 0 to 1 (0.2 for 20 %), not {rate!r}.")
    if not 0 < share < 1:
        raise RetvecLiteError(f"reject_at must be a share above 0 and below 1, not {share!r}.")
    if isinstance(validation, int | float) and not 0 < validation < 1:
        raise RetvecLiteError(f"validation is a file or a share between 0 and 1, not {validation:g}.")
    if given["ngram_kb"] == 0 and given["meaning"] not in (_AUTO, _NONE):
        raise RetvecLiteError("meaning needs n-grams: the linear part reads both. Leave ngram_kb 0 out.")
    asks_languages = (
        given["languages"] is not None and len(given["languages"]) > 0
    )  # an array is neither true nor false
    if asks_languages and (given["ngram_kb"] == 0 or given["meaning"] == _NONE):
        raise RetvecLiteError("languages needs n-grams and what words mean: leave meaning and ngram_kb out.")


def _read_training(options: Mapping[str, Any], reading: ReadingOptions) -> Dataset:
    """Return the labelled texts, none where only labels are given, and what labels mean."""
    data, labels, weights = (options[name] for name in ("data", "labels", "sample_weight"))
    if not is_described(labels):
        if data is None:
            raise RetvecLiteError(
                'There is nothing to learn from: pass texts (data), or what labels mean, such as labels={"refund": "wants money back", ...}, '
                "with None for what a name alone says, or the file of them (--labels labels.csv)."
            )
        return as_dataset(data, labels, sample_weight=weights, **reading)
    descriptions = read_descriptions(labels)
    if data is not None:
        texts = as_dataset(data, sample_weight=weights, **reading)
    elif weights is not None:
        raise RetvecLiteError("sample_weight says how much texts count: pass these as data, or leave it out.")
    elif isinstance(options["validation"], float):
        raise RetvecLiteError(
            "validation is a share of the texts, and there are none: leave it out, or pass a labelled file."
        )
    else:
        texts = Dataset((), (), source_of(labels) or IN_MEMORY, bool(reading.get("multi_label")))
    return dataclasses.replace(texts, descriptions=descriptions)


def _read_validation(given: Any, reading: ReadingOptions) -> Dataset | float | None:
    if isinstance(given, int | float):
        return float(given)
    if isinstance(given, str) and given == _AUTO:
        return None
    if isinstance(given, str) and _NUMBER.fullmatch(given):
        raise RetvecLiteError(f"validation is a labelled file or a share such as 0.2, not {given!r}.")
    try:
        return as_dataset(given, split="test", **reading)
    except RetvecLiteError as error:
        raise RetvecLiteError(f"The validation data: {error}") from error


def _read_inbox(options: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the texts without labels; None where none were given."""
    given, reading = options["unlabelled"], options["reading"]
    if given is None:
        if isinstance(options["teacher"], str) and options["teacher"] == AUTO:
            return None
        raise RetvecLiteError("A teacher labels texts without labels: pass them, too (--unlabelled, unlabelled).")
    try:
        return texts_of(given, reading.get("text_column") or "text", reading.get("delimiter"))
    except RetvecLiteError as error:
        raise RetvecLiteError(f"unlabelled: {error}") from error


def _new_texts(
    inbox: Sequence[str] | None, options: Mapping[str, Any], training: Dataset, validation: Dataset | float | None
) -> Sequence[str]:
    """Return the texts without labels that say something new."""
    if inbox is None:
        return ()
    has_network = options["head"] not in (_AUTO, "linear") or options["epochs"] is not None or options["ngram_kb"] == 0
    if training.multi_label or len(training) > FEW or has_network or options["languages"]:
        raise RetvecLiteError(
            f"Texts without labels are for at most {FEW:,} labelled ones with one label each, and go with neither languages, epochs, "
            "ngram_kb=0 nor a head other than linear: leave unlabelled (--unlabelled) out, or those."
        )
    known = [*training.texts, *(validation.texts if isinstance(validation, Dataset) else ())]
    found = [inbox[row] for row in different(inbox, known)]
    if not found:
        raise RetvecLiteError("unlabelled has no text that is not empty or among the labelled ones: leave it out.")
    return found


def _read_meanings(given: str | os.PathLike[str] | MeaningFile, ngram_kb: int | None) -> Sequence[MeaningFile | str]:
    if ngram_kb == 0 or given == _NONE:
        return ()
    if isinstance(given, MeaningFile):
        return (given,)
    return packaged_languages() if given == _AUTO else (MeaningFile.load(given),)


def _check_rejection(training: Dataset, reject_at: float, unknown_label: str | None) -> None:
    if training.multi_label and (unknown_label is not None or reject_at != REJECT_AT):
        given = "reject_at" if unknown_label is None else "unknown_label"
        raise RetvecLiteError(
            f"Leave out --{given.replace('_', '-')} ({given}): with --multi-label (multi_label) a text may have no label, and each "
            "label has a threshold."
        )
    if unknown_label in dict(training.descriptions) and unknown_label not in training.labels:
        raise RetvecLiteError(
            f"The unknown label {unknown_label!r} has no texts, and a description says nothing of what belongs nowhere: give texts of it, or "
            "leave it out of the labels; texts that belong nowhere are told apart without it."
        )
    if unknown_label is not None:
        unknown_rows(training.labels, training.path, {unknown_label}, unknown_label)
