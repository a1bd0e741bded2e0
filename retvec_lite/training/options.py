"""What `train` takes, declared once: its signature, its docstring, the command and the estimator are made from this."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from retvec_lite.data.dataset import Dataset, Reading
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.file_sizes import USUAL_KB
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.model.weight_files import Embedding
from retvec_lite.terminal import Progress

REJECT_AT: Final = 0.99
AUTO, NONE = "auto", "none"

_INTEGERS: Final = {"ngram_kb": (0, 100_000), "max_kb": (100, 100_000), "epochs": (1, None), "seed": (0, 2**31 - 1)}
"""Option -> the least and the largest integer that it may be."""

Named = str | os.PathLike[str]
ValidationData = Dataset | tuple[Sequence[str], Sequence[Any]] | Named | Any
"""What `as_dataset` takes, tables of any library included."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TrainOptions(Reading):
    """What decides a classifier, besides its texts and their labels.

    Attributes:
        validation: labelled file (in Python also other data, or texts and labels), or the share of the data to set aside (default:
            cross-validate up to 3,000 texts, a tenth of more).
        unlabelled: texts of the same kind without labels, such as an inbox, which are learned from as well: a .txt (one text a line), CSV,
            TSV, JSON or Parquet file; in Python also a list or a table (default: none).
        teacher: who labels them: auto (the encoder of the extra `teacher` where it is installed, else the classifier itself), itself, or
            encoders, which stand side by side: auto, or in a folder or on a hub (hf://user/model) with model.onnx and tokenizer.json; in
            Python also objects with `encode` or `embed`, or a classifier with `predict_proba` and `classes_`.
        head: linear (fitted in seconds), pool (small and fast) or cnn (sees word order) (default: chosen by the data).
        embedding: word embedding: a file, or raw for bits alone (default: the built-in one).
        ngram_kb: kilobytes for n-grams (default: as many as int8 files of max_kb have room for; 0: none).
        meaning: what words mean: a file of `python -m makers.meaning`, or none (default: the built-in one if a fifth of the texts are
            in its language); it is read beside n-grams.
        languages: other languages that the classifier shall know besides that of the texts, such as de,es,fr (in Python a list), by what
            words mean.
        max_kb: most kilobytes (1,000 bytes) of a file with integer weights, in every format, which head and n-grams are chosen to fit,
            from 100 to 100,000.
        epochs: most passes over the data (default: chosen by the size of the data).
        typo_rate: mean share of mistyped words in mistyped texts (default: 0.4, but few texts stay as they are; 0: no text is changed).
        class_weights: how much the texts of each label count: sqrt (by the root of the inverse frequency), balanced (by the inverse:
            every label counts the same), none, or weights by label, of which only the ratios matter: a mapping or a
            .json file (default: sqrt; none with several labels a text).
        reject_at: share of the right answers to keep when texts that belong to no label are rejected; a smaller share rejects more.
        unknown_label: label in the data of the texts that belong to no other label: never an answer.
        seed: seed of everything random.
    """

    validation: float | ValidationData | Literal["auto"] = AUTO
    unlabelled: Any = None
    teacher: Sequence[Named] | Any = AUTO
    head: Literal["auto", "linear", "pool", "cnn"] = "auto"
    embedding: Literal["default", "raw"] | Named | Embedding = "default"
    ngram_kb: int | None = None
    meaning: Literal["auto", "none"] | Named | MeaningFile = AUTO
    languages: Sequence[Named | MeaningFile] | None = None
    max_kb: int = USUAL_KB
    epochs: int | None = None
    typo_rate: float | None = None
    class_weights: Literal["sqrt", "balanced", "none"] | Named | Mapping[Any, float] | None = None
    reject_at: float = REJECT_AT
    unknown_label: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse, with RetvecLiteError, values of a right type that are out of range, and options that do not go together."""
        super().__post_init__()
        for name, value in vars(self).items():
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value.item())
        for name, (least, most) in _INTEGERS.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= (value if most is None else most):
                span = f"of at least {least}" if most is None else f"from {least} to {most}"
                raise RetvecLiteError(f"{name} must be an integer {span}, not {value!r}.")
        if self.typo_rate is not None and not 0 <= self.typo_rate <= 1:
            raise RetvecLiteError(f"typo_rate must be a share from 0 to 1 (0.2 for 20 %), not {self.typo_rate!r}.")
        if not 0 < self.reject_at < 1:
            raise RetvecLiteError(f"reject_at must be a share above 0 and below 1, not {self.reject_at!r}.")
        if isinstance(self.validation, int | float) and not 0 < self.validation < 1:
            raise RetvecLiteError(f"validation is a file or a share between 0 and 1, not {self.validation:g}.")
        if self.ngram_kb == 0 and self.meaning not in (AUTO, NONE):
            raise RetvecLiteError("meaning needs n-grams: the linear part reads both. Leave ngram_kb 0 out.")
        # An array is neither true nor false.
        asks_languages = self.languages is not None and len(self.languages) > 0
        if asks_languages and (self.ngram_kb == 0 or self.meaning == NONE):
            raise RetvecLiteError("languages needs n-grams and what words mean: leave meaning and ngram_kb out.")

    @property
    def ask_for_network(self) -> bool:
        """Whether they are about a network, which few texts train none of otherwise."""
        return self.head not in (AUTO, "linear") or self.epochs is not None or self.ngram_kb == 0

    @property
    def reading(self) -> dict[str, Any]:
        """How files and tables are read, as `as_dataset` takes it."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(Reading)}


@dataclasses.dataclass(frozen=True, eq=False)
class TrainArguments(TrainOptions):
    """All arguments of `train`.

    Attributes:
        data: texts (list, NumPy array, pandas Series) with `labels`; or each without `labels`: a CSV, TSV, JSON or Parquet file, a
            folder of them, a pattern such as "data/*.csv", or a list of `pathlib.Path`; a DataFrame of pandas or Polars, or another table; a list of records or of pairs (text, label); a `Dataset`; or "starter" for the
            built-in data.
        labels: a label for each text; or what labels mean, with data that have their own labels or without data: a mapping from labels to
            descriptions (a string, a list of them, or None for the name alone), or a file with the columns label and description.
            Booleans and numbers become strings, as JSON writes them (1 and 1.0: "1", True: "true").
        keep: what the classifier keeps to go on learning: the texts, as `texts.jsonl` in its folder, or nothing. Exported files have none of it.
        out: folder for the trained classifier, checked before the training begins. One that this release made from the same texts, labels
            and options is left as it is, and loaded.
        force: replace an earlier classifier in that folder.
        progress: a callback (what, done, total), or True for bars on standard error; where that is no terminal, as in a
            notebook, a line now and then. A sentence to tell comes as (sentence, 0, 0).
    """

    data: Any = None
    labels: Sequence[Any] | Mapping[Any, str | Sequence[str] | None] | Named | None = None
    _: dataclasses.KW_ONLY
    keep: Literal["texts", "nothing"] = "texts"
    out: Named | None = None
    force: bool = False
    progress: Progress | bool | None = None
