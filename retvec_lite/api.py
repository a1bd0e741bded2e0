"""The functions around a training: `train`, `check` before it, and what it found out.

Importing this module is cheap: TensorFlow is loaded by the calls that need it.
"""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retvec_lite.arguments import checked, spread, takes
from retvec_lite.data.dataset import Reading, ReadingOptions
from retvec_lite.data.sources import check_output
from retvec_lite.data.suspects import Check
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write, refuse_existing, refuse_filled_folder, require_room
from retvec_lite.learning import TEXTS_NAME
from retvec_lite.model.weight_files import TrainedModel, load_trained_model
from retvec_lite.terminal import Progress, watched
from retvec_lite.trained import SAVED_FILES, TrainedClassifier, fitted, written
from retvec_lite.training.options import TrainArguments, TrainOptions
from retvec_lite.training.request import is_made_from, read_request

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ROOM: Final = 8_000_000
"""Bytes of the largest classifier with its report."""
_ROOM_A_CHARACTER: Final = 2
"""Bytes, about, that each character of texts that are kept takes."""


@checked
@spread(TrainArguments)
def train(arguments: TrainArguments) -> TrainedClassifier:
    """Train a classifier on labelled texts, on names and descriptions of labels, or on both.

    Variants of the texts are mistyped on purpose: from 1,000 texts on, or for a network that is asked for. With more than 3,000, counting
    those that a teacher labels, a network is trained; where a tenth of the texts is held out, until its accuracy on them stops improving. With `out`, the texts are kept in `texts.jsonl`, too, unless `keep` is "nothing".

    Raises:
        RetvecLiteError: for data that cannot be trained on, or an option out of range.
        ModuleNotFoundError: when a package of the extra `train` is not installed.

    Example:
        >>> import retvec_lite as rl
        >>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 5
        >>> classifier = rl.train(texts, ["alarm", "alarm", "delivery", "delivery"] * 5, epochs=2)
        >>> classifier.labels
        ('alarm', 'delivery')
        >>> classifier = rl.train(labels={"refund": "wants money back", "delivery": ["where is my parcel", "it came late"]})
        >>> classifier.predict("please return what I paid", top=1)[0].label
        'refund'
    """
    out, force, keep = arguments.out, arguments.force, arguments.keep == "texts"
    earlier = _saved(out, keep)
    if out is not None and earlier is None:
        refuse_filled_folder(out, force)
    request = read_request(arguments.data, arguments.labels, arguments)
    if out is not None:
        if earlier and is_made_from(earlier, request):
            with watched(arguments.progress) as report:
                report(f"Nothing changed: {os.fspath(out)} was made from these data and options.", 0, 0)
            return TrainedClassifier(earlier, kept=Path(out))
        refuse_filled_folder(out, force)
        require_room(out, _ROOM + keep * _ROOM_A_CHARACTER * sum(map(len, request.training.texts)))
    with watched(arguments.progress) as report:
        return written(lambda: fitted(request, keep, report, out), out, force)


def _saved(folder: str | os.PathLike[str] | None, keep: bool) -> TrainedModel | None:
    """Return the classifier in a folder with all that a training writes; None where there is none, or a damaged one."""
    names = [*SAVED_FILES, TEXTS_NAME]
    if folder is None or [(Path(folder) / name).is_file() for name in names] != [*[True] * len(SAVED_FILES), keep]:
        return None
    with contextlib.suppress(RetvecLiteError):
        return load_trained_model(folder)
    return None


@checked
@takes(Reading)
def check(
    data: Any,
    labels: Sequence[Any] | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    seed: int = 0,
    progress: Progress | bool | None = None,
    **reading: "Unpack[ReadingOptions]",
) -> Check:
    """Find what is doubtful in labelled texts: wrong labels, copies, texts of no label, and labels that are one.

    Each text is answered by a classifier that has not seen it, nor a copy of it: up to 3,000 texts as `train` does, more by n-grams alone.

    Args:
        data: labelled texts, as `train` takes them.
        labels: a label for each text.
        output: CSV file to write the doubtful texts to, most suspicious first: row (counted from 0, without the header), label, suggestion,
            score and text; or an .html file: the worst of each kind as a page with filters.
        force: replace that file if it exists.
        seed: of the folds, and of everything else that is random.
        progress: a callback (what, done, total), or True for bars on standard error.
        reading: see `data.dataset.Reading`.

    Returns:
        What was found. `print(check)` shows the worst of each kind.

    Raises:
        RetvecLiteError: for data that cannot be trained on, or a file that exists without `force` or cannot be written.
        ModuleNotFoundError: when a package of the extra `train` is not installed.

    Example:
        >>> import retvec_lite as rl
        >>> texts = ["Wake me at six!", "wake me at 6", "alarm at noon", "where is my parcel", "where is my parcel?", "track my order"]
        >>> found = rl.check(texts, ["alarm", "alarm", "alarm", "delivery", "alarm", "delivery"])
        >>> [group.labels for group in found.contradictions]
        [('alarm', 'delivery')]
    """
    check_output(output, force, (".csv", ".html"), "What is doubtful is", data)
    request = read_request(data, labels, TrainOptions(seed=seed, **reading))
    from retvec_lite.training.train import answer_all

    with watched(progress) as report:
        found = answer_all(request, report).check
    if output is None:
        return found
    if os.fspath(output).lower().endswith(".html"):
        from retvec_lite.report_page import check_page

        refuse_existing(output, force)
        atomic_write(output, check_page(found))
    else:
        found.to_csv(output, force=force)
    return found


@checked
def write_report(classifier: TrainedClassifier, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write what a training found out as one HTML page: verdict, confusions, calibration, learning curve, typos, doubtful texts.

    Works right after a training alone, because a loaded classifier has no held-out answers to show. `train` with `out`, and `save` then,
    write it as `report.html`.

    Args:
        classifier: what `train` returned.
        path: the file to write.
        force: replace it if it exists.

    Raises:
        RetvecLiteError: for a classifier that was loaded, or a file that exists or cannot be written.

    Example:
        >>> import retvec_lite as rl
        >>> from retvec_lite.api import write_report
        >>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 5
        >>> classifier = rl.train(texts, ["alarm", "alarm", "delivery", "delivery"] * 5, head="linear")
        >>> write_report(classifier, "report.html")
    """
    if classifier.held_out is None:
        raise RetvecLiteError(
            "A loaded classifier has no texts to report on: train it again with --out (in Python: out), which writes report.html."
        )
    from retvec_lite.report_page import training_page

    refuse_existing(path, force)
    atomic_write(path, training_page(classifier.model, classifier.held_out))
