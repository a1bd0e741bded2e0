"""`evaluate`: how good a classifier is on labelled texts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from retvec_lite.arguments import checked, takes
from retvec_lite.classifier import Classifier
from retvec_lite.data import scores
from retvec_lite.data.dataset import Dataset, Reading, ReadingOptions, as_dataset
from retvec_lite.data.scores import TYPO_RATES, TYPO_SEED, Evaluation
from retvec_lite.errors import RetvecLiteError
from retvec_lite.terminal import Progress, watched
from retvec_lite.windows import read_limit

if TYPE_CHECKING:
    from typing_extensions import Unpack


@checked
@takes(Reading)
def evaluate(
    classifier: Classifier,
    data: Any,
    labels: Sequence[Any] | None = None,
    *,
    unknown_label: str | None = None,
    reject: bool = True,
    typos: Sequence[float] = TYPO_RATES,
    seed: int = TYPO_SEED,
    by: str | None = None,
    progress: Progress | bool | None = None,
    **reading: "Unpack[ReadingOptions]",
) -> Evaluation:
    """Measure accuracy, F1, confusions and calibration, how much accuracy remains when words are mistyped, and rejection.

    Args:
        classifier: what `train` or `load` made.
        data: texts; or each without `labels`: a labelled file, several of them, a DataFrame or another table, a list of records or
            of pairs (text, label), a `Dataset`, or "starter" (its test split).
        labels: the right label of each text; a list of them for each text where the classifier gives several.
        unknown_label: the label in the data of the texts that belong to none of the classifier's; that of its training is
            known.
        reject: answer None for texts that belong to none of the labels; otherwise every text gets a label. Of no effect where
            texts may have several labels.
        typos: shares of mistyped words, 0 to 1; empty for clean texts only.
        seed: of the typos.
        by: column of a file or table, such as the language of each text: each of its values is also scored by itself.
        progress: a callback (what, done, total), or True for a bar on standard error.
        reading: see `data.dataset.Reading`.

    Raises:
        RetvecLiteError: for data that cannot be read, labels that the model does not know, an unknown label that is not in
            the data, or data with one label a text where the classifier gives several, or the other way round.

    Example:
        >>> import retvec_lite as rl
        >>> classifier = rl.load("classifier-int8.tflite")
        >>> rl.evaluate(classifier, ["wake me up at six", "play some jazz"], ["alarm", "music"], typos=()).texts
        2
    """
    several, is_told = classifier.decision.multi_label, reading.get("multi_label") is not None
    if not is_told:
        reading["multi_label"] = several
    dataset = as_dataset(data, labels, split="test", **reading)
    if by is not None and (labels is not None or isinstance(data, Dataset)):
        raise RetvecLiteError("by names a column: pass a file or a table with it.")
    groups = () if by is None else _values_of(by, data, dataset, reading)
    if several and not is_told and labels is None and all(len(found) == 1 for found in dataset.label_sets):
        raise RetvecLiteError(
            f"Every text of {dataset.path} has exactly one label, but this classifier gives several or none. "
            "Pass --multi-label (multi_label=True) if that is right."
        )
    with watched(progress) as report:
        return scores.evaluate(
            classifier.probabilities,
            classifier.labels,
            dataset,
            decision=classifier.decision if reject or several else None,
            max_chars=read_limit(classifier.config),
            unknown_label=unknown_label,
            typos=typos,
            seed=seed,
            groups=groups,
            progress=report,
        )


def _values_of(column: str, data: Any, dataset: Dataset, reading: ReadingOptions) -> tuple[str, ...]:
    """Return what a column of the data says of each text of `dataset`; the reader takes it for the column of the labels."""
    shared = ("text_column", "delimiter", "skip_bad_rows")
    own: dict[str, Any] = {name: value for name, value in reading.items() if name in shared}
    try:
        values = as_dataset(data, label_column=column, split="test", **own)
    except RetvecLiteError as error:
        raise RetvecLiteError(str(error).replace("--label-column", "--by").replace("label_column", "by")) from error
    if values.texts != dataset.texts:
        raise RetvecLiteError(f"Rows that have a label lack {column!r}, or the other way round: fill both in.")
    return values.labels
