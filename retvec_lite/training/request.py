"""What a training is asked for: options, checked, and what they name, read and checked before any work is done."""

import dataclasses
import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from retvec_lite.data.copies import different
from retvec_lite.data.dataset import IN_MEMORY, Dataset, as_dataset
from retvec_lite.data.descriptions import is_described, read_descriptions, source_of
from retvec_lite.data.labels import ClassWeights, choose_class_weights, unknown_rows
from retvec_lite.data.texts import encodable, texts_of
from retvec_lite.data.warnings import check_separated, check_single, check_trainable, data_warnings, in_both
from retvec_lite.errors import RetvecLiteError, install
from retvec_lite.model.facts import data_hash
from retvec_lite.model.heads import LinearHead
from retvec_lite.model.meaning_file import MeaningFile, language_file, packaged_languages
from retvec_lite.model.weight_files import Embedding, TrainedModel, choose_embedding
from retvec_lite.training.options import AUTO, NONE, REJECT_AT, TrainOptions
from retvec_lite.training.sentence_encoders import encode_of, read_teacher, sign_of
from retvec_lite.version import CREATED_BY

NONE_LABEL: Final = "none of these"
"""The label of texts without labels that are unlike all that have one."""
FEW: Final = 3_000
"""Up to so many texts with a label, a linear part alone learns. Up to so many labelled texts, they are cross-validated."""

OWN: Final = "sha256:"
"""What the record of an option begins with that was more than a word or a number."""

_NUMBER: Final = re.compile(r"[\d.,]+\s*%?")
"""What is meant as a share and is none."""


def are_few(texts: int, multi_label: bool = False) -> bool:
    """Return whether so many texts with a label are few, those that are set aside for validation among them."""
    return texts <= FEW and not multi_label


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What to learn from, and the options that decide how: what they name, read.

    Attributes:
        options: as they were given.
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
        answers: the folder that keeps what it says; None for none.
    """

    options: TrainOptions
    training: Dataset
    validation: Dataset | float | None
    embedding: Embedding | None
    class_weights: ClassWeights | None
    warnings: Sequence[str]
    leaked: int
    meanings: Sequence[MeaningFile | str]
    languages: Sequence[MeaningFile]
    unlabelled: Sequence[str] = ()
    teacher: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    answers: Path | None = None

    @functools.cached_property
    def record(self) -> dict[str, Any]:
        """The options, JSON-ready; hashes stand for data, files and objects. With the training texts and the release, they decide the classifier."""
        asked, held_out, weights = self.options, self.validation, self.class_weights
        named = asked.languages if asked.languages is not None else ()
        read = {
            "validation": OWN + data_hash(held_out) if isinstance(held_out, Dataset) else held_out,
            "embedding": _word(asked.embedding, ("default", "raw"), lambda: getattr(self.embedding, "digest", "")),
            "meaning": _word(asked.meaning, (AUTO, NONE), lambda: _hash(language_file(self.meanings[0]))),
            "languages": [
                _word(name, packaged_languages(), functools.partial(_hash, file))
                for name, file in zip(named, self.languages, strict=True)
            ],
            "class_weights": weights if isinstance(weights, str | None) else dict(weights),
            "unlabelled": OWN + _digest("\n".join(self.unlabelled).encode()) if self.unlabelled else None,
            "teacher": [sign_of(name, each, self.unlabelled) for name, each in self.teacher.items()],
        }
        return {
            field.name: read.get(field.name, getattr(asked, field.name))
            for field in dataclasses.fields(TrainOptions)
            if field.name not in asked.reading
        }

    @property
    def learned(self) -> int:
        """How many texts have a label: it was given, or a teacher gives it."""
        return len(self.training) + bool(self.teacher) * len(self.unlabelled)

    @property
    def is_few(self) -> bool:
        """Whether texts with a label are few, with one label each."""
        return are_few(self.learned, self.training.multi_label)

    @property
    def is_linear(self) -> bool:
        """Whether no network is trained: few texts need none, unless something of it is asked for."""
        return self.options.head == LinearHead.name or (self.is_few and not self.options.ask_for_network)

    @property
    def none_label(self) -> str | None:
        """The label of texts that belong to no other one: the unknown label, or that of texts which an encoder finds unlike all labelled ones."""
        unknown, taught = self.options.unknown_label, any(map(encode_of, self.teacher.values()))
        is_told = taught and are_few(len(self.training)) and NONE_LABEL not in self.training.classes
        return NONE_LABEL if unknown is None and is_told else unknown


def _word(given: Any, words: Sequence[str], content: Callable[[], str]) -> str:
    """Return the record of an option: a word of ours, or the hash of what it names."""
    return given if isinstance(given, str) and given in words else f"{OWN}{content()}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _hash(file: MeaningFile) -> str:
    """Return the tag of a file's language, and 16 hexadecimal digits for what it says."""
    parts = (
        "\n".join(file.words).encode(),
        file.codes.tobytes(),
        file.codebooks.tobytes(),
        repr(file.translations).encode(),
    )
    return f"{file.language}-{_digest(b''.join(parts))}"


def read_request(data: Any, labels: Any, options: TrainOptions) -> Request:
    """Read what the arguments of `retvec_lite.train` name, and check it.

    Raises:
        RetvecLiteError: for options that do not go together, or data that cannot be trained on.
    """
    teacher, inbox = read_teacher(options.teacher), _read_inbox(options)
    training = _read_training(data, labels, options)
    if training.multi_label and training.descriptions:
        raise RetvecLiteError(
            "Descriptions of labels (labels) are for one label a text: leave out --multi-label (multi_label), or give texts alone."
        )
    validation = _read_validation(options.validation, {**options.reading, "multi_label": training.multi_label})
    check_trainable(training)
    if options.multi_label is None and not training.multi_label:
        check_single((*training.labels, *dict(training.descriptions)), training.path)
    elif training.multi_label and not any(len(names) > 1 for names in training.label_sets):
        check_separated([*training.label_counts.elements()], training.path)
    tested = validation if isinstance(validation, Dataset) else Dataset((), ())
    if missing := sorted(set(tested.classes) - set(training.classes)):
        raise RetvecLiteError(
            f"The label {missing[0]!r} of {tested.path} does not occur in {training.path}. "
            "Add texts of it there, or remove it from the validation texts."
        )
    both = in_both(training, tested)
    _check_rejection(training, options.reject_at, options.unknown_label)
    weights = options.class_weights
    request = Request(
        options=options,
        training=training,
        validation=validation,
        embedding=choose_embedding(options.embedding),
        class_weights=None if weights is None else choose_class_weights(weights, training.classes),
        warnings=data_warnings(training, validation if isinstance(validation, Dataset) else None, both),
        leaked=sum(map(set(both).__contains__, tested.texts)),
        meanings=_named_meanings(options.meaning, options.ngram_kb),
        languages=[language_file(name) for name in (() if options.languages is None else options.languages)],
    )
    return request if options.unlabelled is None else _with_inbox(request, teacher, inbox)


def is_made_from(model: TrainedModel, request: Request) -> bool:
    """Return whether this release trained a classifier on the same texts and labels with the same options.

    One that got another threshold afterwards was not.
    """
    asked = json.loads(json.dumps(request.record))
    facts = {
        "created_by": CREATED_BY,
        "data_hash": data_hash(request.training),
        "options": asked,
        "reject_at": request.options.reject_at,
    }
    return all(model.training.get(name) == fact for name, fact in facts.items())


def _read_training(data: Any, labels: Any, options: TrainOptions) -> Dataset:
    """Return the labelled texts, none where only labels are given, and what labels mean."""
    if not is_described(labels):
        if data is None:
            raise RetvecLiteError(
                'There is nothing to learn from: pass texts (data), or what labels mean, such as labels={"refund": "wants money back", ...}, '
                "with None for what a name alone says, or the file of them (--labels labels.csv)."
            )
        return as_dataset(data, labels, **options.reading)
    descriptions = read_descriptions(labels)
    if data is not None:
        texts = as_dataset(data, **options.reading)
    elif isinstance(options.validation, float):
        raise RetvecLiteError(
            "validation is a share of the texts, and there are none: leave it out, or pass a labelled file."
        )
    else:
        texts = Dataset((), (), source_of(labels) or IN_MEMORY, bool(options.multi_label))
    return dataclasses.replace(texts, descriptions=descriptions)


def _read_validation(given: Any, reading: Mapping[str, Any]) -> Dataset | float | None:
    if isinstance(given, int | float):
        return float(given)
    if isinstance(given, str) and given == AUTO:
        return None
    if isinstance(given, str) and _NUMBER.fullmatch(given):
        raise RetvecLiteError(f"validation is a labelled file or a share such as 0.2, not {given!r}.")
    try:
        return as_dataset(given, split="test", **reading)
    except RetvecLiteError as error:
        raise RetvecLiteError(f"The validation data: {error}") from error


def _read_inbox(options: TrainOptions) -> Sequence[str]:
    """Return the texts without labels; none where none were given."""
    if options.unlabelled is not None:
        try:
            return [*map(encodable, texts_of(options.unlabelled, options.text_column, options.delimiter))]
        except RetvecLiteError as error:
            raise RetvecLiteError(f"unlabelled: {error}") from error
    if not (isinstance(options.teacher, str) and options.teacher == AUTO):
        raise RetvecLiteError("A teacher labels texts without labels: pass them, too (--unlabelled, unlabelled).")
    return ()


def _with_inbox(request: Request, teacher: Mapping[str, Any], inbox: Sequence[str]) -> Request:
    """Return the request with the texts of the inbox that say something new, and with who labels them."""
    training, validation = request.training, request.validation
    if training.multi_label or not (request.is_linear or teacher):
        way = f"run {install('.[teacher]')}, name one (--teacher, teacher), or "
        need = f"need a teacher if a network is trained, as it is for more than {FEW:,} labelled texts: {way}"
        why = "are for data with one label a text: " if training.multi_label else need
        raise RetvecLiteError(f"Texts without labels {why}leave them out (--unlabelled, unlabelled).")
    known = [*training.texts, *(validation.texts if isinstance(validation, Dataset) else ())]
    found = [inbox[row] for row in different(inbox, known)]
    if not found:
        raise RetvecLiteError("unlabelled has no new text: all are empty or among the labelled ones. Leave it out.")
    return dataclasses.replace(request, unlabelled=found, teacher=teacher)


def _named_meanings(given: str | os.PathLike[str] | MeaningFile, ngram_kb: int | None) -> Sequence[MeaningFile | str]:
    if ngram_kb == 0 or given == NONE:
        return ()
    if isinstance(given, MeaningFile):
        return (given,)
    return packaged_languages() if given == AUTO else (MeaningFile.load(given),)


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
