"""What decides a training: every option with its help and limits, what the files that they name hold, and recommended settings."""

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from retvec_lite.data.calibration import unknown_rows
from retvec_lite.data.class_weights import ClassWeights, choose_class_weights
from retvec_lite.data.dataset import Dataset, as_dataset, check_single, check_trainable
from retvec_lite.data.warnings import data_warnings
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.file_sizes import USUAL_KB
from retvec_lite.model.heads import HEADS
from retvec_lite.model.meaning_file import MeaningFile, language_file, packaged_languages
from retvec_lite.model.weight_files import Embedding, choose_embedding
from retvec_lite.option_fields import DELIMITER, NAMES, Options, choice, integer, number, option

ValidationData = Dataset | tuple[Sequence[str], Sequence[Any]] | str | os.PathLike[str] | Any
"""What `as_dataset` takes, tables of any library included."""

REJECT_AT: Final = 0.99

_AUTO, _NONE = "auto", "none"
"""What `meaning` may be besides a file."""

_NUMBER: Final = re.compile(r"[\d.,]+\s*%?")
"""What is meant as a share and is none."""


def _share_or_file(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


@dataclasses.dataclass(frozen=True)
class Inputs:
    """What to learn from, read and checked.

    Attributes:
        training: labelled texts.
        validation: labelled texts of the same labels, or the share of `training` to set aside; None cross-validates few texts and
            sets a tenth of many aside.
        embedding: pre-trained word embedding; None for RETVec-raw.
        class_weights: see `choose_class_weights`; None for the recommended ones.
        warnings: what to check in the texts.
        meanings: what words mean, to choose the language of the texts from: files, or tags of those in the package, which are read once
            chosen; empty to do without.
        languages: the same of other languages that the classifier shall know.
    """

    training: Dataset
    validation: Dataset | float | None
    embedding: Embedding | None
    class_weights: ClassWeights | None
    warnings: Sequence[str]
    meanings: Sequence[MeaningFile | str] = ()
    languages: Sequence[MeaningFile] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOptions(Options):
    """The options of `retvec_lite.train`, of `retvec-lite train`, and of `RetvecClassifier`.

    Raises:
        RetvecLiteError: on construction, for a value out of its limits, or options that do not go together.
    """

    text_column: str = option("text", "column of the texts in a file (default: text)", metavar="NAME")
    label_column: str = option("label", "column of the labels in a file (default: label)", metavar="NAME")
    delimiter: str | None = option(
        None,
        "between the cells of a CSV or TSV file, such as ; or tab (default: recognized by the header)",
        DELIMITER,
    )
    skip_bad_rows: bool = option(False, "leave out rows that cannot be read, or lack a text or a label, and count them")
    multi_label: bool | None = option(
        None,
        "a text may have several labels, separated by | (in JSON Lines and Python: a list), or none; --no-multi-label (False): | is "
        "part of a label (default: one label, without |)",
    )
    validation: float | ValidationData | Literal["auto"] = option(
        "auto",
        "labelled file (in Python also other data, or texts and labels), or the share of the data to set aside (default: "
        "cross-validate up to 3,000 texts, a tenth of more)",
        type=_share_or_file,
        metavar="auto|FILE|SHARE",
    )
    head: str = option(
        "auto",
        "linear (fitted in seconds), pool (small and fast), cnn, rnn or bert (these see word order) (default: chosen by the data)",
        choice("auto", *HEADS),
    )
    embedding: str | os.PathLike[str] | Embedding = option(
        "default",
        "word embedding: a file, or raw for bits alone (default: the built-in one)",
        metavar="default|raw|FILE",
    )
    ngram_kb: int | None = option(
        None,
        "kilobytes for n-grams (default: as many as int8 files of max_kb have room for; 0: none)",
        integer(0, 100_000),
        metavar="KB",
    )
    meaning: str | os.PathLike[str] | MeaningFile = option(
        _AUTO,
        "what words mean: a file that `makers/` wrote, or none (default: the built-in one if a fifth of the texts are "
        "in its language); n-grams read it too, and it is left out where it does not help",
        metavar="auto|none|FILE",
    )
    languages: Sequence[str | os.PathLike[str] | MeaningFile] | None = option(
        None,
        "other languages that the classifier shall know besides that of the texts, such as de,es,fr (in Python a list), by what words "
        "mean",
        NAMES,
        metavar="TAG,...",
    )
    max_kb: int = option(
        USUAL_KB,
        "most kilobytes (1,000 bytes) of a file with integer weights, in every format, which head and n-grams are chosen to fit, from 100 to "
        f"100,000 (default: {USUAL_KB})",
        integer(100, 100_000),
        metavar="KB",
    )
    epochs: int | None = option(None, "most passes over the data (default: chosen by the size of the data)", integer(1))
    typo_rate: float | None = option(
        None,
        "mean share of mistyped words in mistyped texts (default: 0.4; 0: no text is mistyped or disguised)",
        number(lambda rate: 0 <= rate <= 1, "a share from 0 to 1 (0.2 for 20 %)"),
        metavar="SHARE",
    )
    class_weights: ClassWeights | os.PathLike[str] | None = option(
        None,
        "how much the texts of each label count: sqrt (by the root of the inverse frequency), balanced (by the inverse: every label "
        "counts the same), none, or weights by label, of which only the ratios matter: a mapping or a file, .csv (label,weight) or "
        ".json (default: sqrt; none with several labels a text)",
        metavar="sqrt|balanced|none|FILE",
    )
    reject_at: float = option(
        REJECT_AT,
        "share of the right answers to keep when texts that belong to no label are rejected; a smaller share rejects more "
        f"(default: {REJECT_AT})",
        number(lambda share: 0 < share < 1, "a share above 0 and below 1"),
        metavar="SHARE",
    )
    unknown_label: str | None = option(
        None, "label in the data of the texts that belong to no other label: never an answer", metavar="LABEL"
    )
    seed: int = option(0, "seed of everything random (default: 0)", integer(0, 2**31 - 1))
    out: str | os.PathLike[str] | None = option(
        None,
        "folder for the trained classifier, checked before the training begins",
        required=True,
        metavar="DIR",
    )
    force: bool = option(False, "replace an earlier classifier in that folder")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ngram_kb == 0 and self.meaning not in (_AUTO, _NONE):
            raise RetvecLiteError("meaning needs n-grams: the linear part reads both. Leave ngram_kb 0 out.")
        if self.languages and (self.ngram_kb == 0 or self.meaning == _NONE):
            raise RetvecLiteError("languages needs n-grams and what words mean: leave meaning and ngram_kb out.")
        if isinstance(self.validation, (int, float)) and not 0.0 < self.validation < 1.0:
            raise RetvecLiteError(f"validation is a file or a share between 0 and 1, not {self.validation:g}.")

    def read_inputs(
        self, data: Any, labels: Sequence[Any] | None = None, sample_weight: Sequence[float] | None = None
    ) -> Inputs:
        """Read what the options name, and check it before any work is done; arguments as for `retvec_lite.train`.

        Raises:
            RetvecLiteError: for data that cannot be trained on, or options that do not fit them.
        """
        training = self._dataset(data, labels, bool(self.multi_label), sample_weight=sample_weight)
        validation = self._validation(training.multi_label)
        check_trainable(training)
        if self.multi_label is None and not training.multi_label:
            check_single(training.labels, training.path)
        if isinstance(validation, Dataset) and (missing := sorted(set(validation.classes) - set(training.classes))):
            raise RetvecLiteError(
                f"The label {missing[0]!r} of {validation.path} does not occur in {training.path}. "
                "Add texts of it there, or remove it from the validation texts."
            )
        self._check_rejection(training)
        weights = None if self.class_weights is None else choose_class_weights(self.class_weights, training.classes)
        embedding = choose_embedding(self.embedding)
        warnings = data_warnings(training, validation if isinstance(validation, Dataset) else None)
        languages = [language_file(name) for name in self.languages or ()]
        return Inputs(training, validation, embedding, weights, warnings, self._meanings(), languages)

    def _meanings(self) -> Sequence[MeaningFile | str]:
        if self.ngram_kb == 0 or self.meaning == _NONE:
            return ()
        if isinstance(self.meaning, MeaningFile):
            return (self.meaning,)
        if self.meaning != _AUTO:
            return (MeaningFile.load(self.meaning),)
        return packaged_languages()

    def _dataset(self, data: Any, labels: Sequence[Any] | None, multi_label: bool, **more: Any) -> Dataset:
        reading = ("text_column", "label_column", "delimiter", "skip_bad_rows")
        given: Mapping[str, Any] = {name: getattr(self, name) for name in reading}
        return as_dataset(data, labels, **given, multi_label=multi_label, **more)

    def _validation(self, multi_label: bool) -> Dataset | float | None:
        if isinstance(self.validation, str) and self.validation == "auto":
            return None
        if isinstance(self.validation, (int, float)):
            return float(self.validation)
        if isinstance(self.validation, str) and _NUMBER.fullmatch(self.validation):
            raise RetvecLiteError(f"validation is a labelled file or a share such as 0.2, not {self.validation!r}.")
        try:
            return self._dataset(self.validation, None, multi_label, split="test")
        except RetvecLiteError as error:
            raise RetvecLiteError(f"The validation data: {error}") from error

    def _check_rejection(self, training: Dataset) -> None:
        if training.multi_label and (self.unknown_label is not None or self.reject_at != REJECT_AT):
            given = "reject_at" if self.unknown_label is None else "unknown_label"
            name = f"--{given.replace('_', '-')} ({given})"
            raise RetvecLiteError(
                f"Leave out {name}: with --multi-label (multi_label) a text may have no label, and each label has a threshold."
            )
        if self.unknown_label is not None:
            unknown_rows(training.labels, training.path, {self.unknown_label}, self.unknown_label)
