"""`compare`: two classifiers on the same labelled texts."""

import dataclasses
import os
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any, Final

from retvec_lite.arguments import checked, takes
from retvec_lite.classifier import Classifier
from retvec_lite.data.comparison import Comparison, GivenLabels, compare_answers
from retvec_lite.data.dataset import Reading, ReadingOptions, as_dataset
from retvec_lite.data.labels import unknown_rows
from retvec_lite.data.scores import check_data
from retvec_lite.data.sources import check_output
from retvec_lite.errors import RetvecLiteError
from retvec_lite.loading import load
from retvec_lite.terminal import Progress, watched

if TYPE_CHECKING:
    from typing_extensions import Unpack

_CHUNK: Final = 512
"""Texts between two reports of progress."""


@checked
@takes(Reading)
def compare(
    old: str | os.PathLike[str] | Classifier,
    new: str | os.PathLike[str] | Classifier,
    data: Any,
    labels: Sequence[Any] | None = None,
    *,
    unknown_label: str | None = None,
    reject: bool = True,
    old_runtime: str | None = None,
    new_runtime: str | None = None,
    isolated: bool = False,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | bool | None = None,
    **reading: "Unpack[ReadingOptions]",
) -> Comparison:
    """Compare two classifiers on labelled texts: what the new one gains and loses, and whether that could be chance.

    The two may be anything that `load` takes, with different labels, or one file on two runtimes. Of texts that belong to no label
    "unknown" is the right answer; for all others it is wrong.

    Args:
        old: a trained folder, an exported file, or what else `load` takes; in Python also a `Classifier`.
        new: the one to compare with it, likewise.
        data: texts with `labels`, or labelled texts as `evaluate` takes them.
        labels: the right label of each text; a list of them where the classifiers give several.
        unknown_label: the label in the data of the texts that belong to none of the classifiers'; those of their trainings are known.
        reject: answer "unknown" for texts that belong to none of the labels; otherwise every text gets a label.
        old_runtime: of an old `.tflite`: ai-edge-litert or tflite-runtime (default: the one that is installed). Where the two differ, each
            runs in a worker process.
        new_runtime: of a new `.tflite`, likewise.
        isolated: run both in worker processes, as `load` does. For files from others.
        output: a .csv file to write: the texts that the two answer differently.
        force: replace that file if it exists.
        progress: a callback (what, done, total), or True for bars on standard error.
        reading: see `data.dataset.Reading`.

    Raises:
        RetvecLiteError: for classifiers that cannot be loaded, one that gives a text one label beside one that gives several, data that
            cannot be read, labels that neither knows, or an output that exists or cannot be written.

    Example:
        >>> import retvec_lite as rl
        >>> texts, labels = ["wake me up at six", "play some jazz"], ["alarm", "music"]
        >>> comparison = rl.compare("classifier", "classifier-int8.tflite", texts, labels)
        >>> comparison.texts, comparison.p_value
        (2, 1.0)
    """
    check_output(output, force, (".csv",), "The texts that are answered differently are", data)
    # Two runtimes in one process break each other.
    isolated = isolated or old_runtime != new_runtime
    loaded = _loaded(old, "old", old_runtime, isolated), _loaded(new, "new", new_runtime, isolated)
    classifiers = [found for found, _ in loaded]
    several = _give_several(classifiers, unknown_label)
    if reading.get("multi_label") is None:
        reading["multi_label"] = several
    dataset = as_dataset(data, labels, split="test", **reading)
    none = {*filter(None, (unknown_label, *(found.decision.unknown_label for found in classifiers)))}
    known = [{label for label in found.labels if label not in none} for found in classifiers]
    unknown_rows(dataset.labels, dataset.path, none, unknown_label)
    check_data(dataset, sorted(known[0] | known[1]), none, several, ("Neither classifier knows", "they know"))
    with watched(progress) as report:
        answers = [
            _answers_of(found, dataset.texts, none, f"{which} classifier", report, reject=reject or several)
            for found, which in zip(classifiers, ("old", "new"), strict=True)
        ]
    comparison = dataclasses.replace(
        compare_answers(dataset, *answers, none=none),
        old=loaded[0][1],
        new=loaded[1][1],
        only_old=tuple(sorted(known[0] - known[1])),
        only_new=tuple(sorted(known[1] - known[0])),
    )
    if output is not None:
        comparison.to_csv(output, force=force)
    return comparison


def _loaded(
    given: str | os.PathLike[str] | Classifier, which: str, runtime: str | None, isolated: bool
) -> tuple[Classifier, str]:
    """Return a classifier to compare, and what it is called."""
    if not isinstance(given, Classifier):
        name = os.fspath(given)
        return load(given, runtime=runtime, isolated=isolated), name if runtime is None else f"{name} on {runtime}"
    if runtime is not None:
        raise RetvecLiteError(f"{which}_runtime is for a file: `load` takes the runtime of a Classifier.")
    return given, repr(given)


def _give_several(classifiers: Sequence[Classifier], unknown_label: str | None) -> bool:
    """Return whether both classifiers give a text several labels; raises RetvecLiteError where one alone does, or none is unknown then."""
    several, also = (found.decision.multi_label for found in classifiers)
    if several != also:
        raise RetvecLiteError("One of the two gives a text one label and the other one several: not comparable.")
    if several and unknown_label is not None:
        raise RetvecLiteError("unknown_label is for classifiers that give a text one label; these may give none.")
    return several


def _answers_of(
    classifier: Classifier, texts: Sequence[str], none: Container[str], what: str, progress: Progress, *, reject: bool
) -> list[GivenLabels]:
    """Return what a classifier answers; a label that means `none` of the others is no label."""
    several, found = classifier.decision.multi_label, []
    for done, predictions in enumerate(classifier.predict_many(texts, None if several else 1, reject=reject), 1):
        labels = [label for label, _ in predictions if label is not None and label not in none]
        probability = min((probability for _, probability in predictions), default=None)
        found.append(GivenLabels(tuple(sorted(labels)), probability))
        if not done % _CHUNK or done == len(texts):
            progress(what, done, len(texts))
    return found
