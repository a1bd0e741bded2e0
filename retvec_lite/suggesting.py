"""`suggest`: which of the user's unlabelled texts it pays most to label next.

One rule: the texts are put into as many clusters as are asked for (k-means), and of each cluster the text in its middle is suggested. A
text pulls by how unsure the classifier is of it, so that clusters are dense where it knows little; without a classifier all pull alike, and
the suggestions cover the collection. Where texts lie is what the sentence network of the package says of them, see `training.sentences`.
"""

import dataclasses
import os
import warnings
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.arguments import checked
from retvec_lite.classifier import Classifier
from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.data.copies import different
from retvec_lite.data.labels import join_labels
from retvec_lite.data.sources import check_output
from retvec_lite.data.texts import texts_of
from retvec_lite.equal_rows import distinct_rows
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write, refuse_existing, write_csv
from retvec_lite.loading import load
from retvec_lite.model.sentence_network import packaged_sentences
from retvec_lite.terminal import Progress, watched

_MOST: Final = 20_000
"""Texts that are compared: of more the most uncertain, or as many at random."""
_VECTOR: Final = 64
"""Directions in which they are compared: those in which they differ most."""
_LEAST: Final = 1e-6
"""How much a text pulls that the classifier is sure of."""
_AT_ONCE: Final = 512
"""Texts between two reports of progress."""


class Suggestion(NamedTuple):
    """A text to label.

    Attributes:
        row: its place in the texts, counted from 0.
        text: the text as it was given.
        suggestion: the label that the classifier would give it, several joined by `|`; empty for none, or without a classifier.
    """

    row: int
    text: str
    suggestion: str


@checked
def suggest(
    texts: Any,
    classifier: str | os.PathLike[str] | Classifier | None = None,
    *,
    count: int = 100,
    labelled: Any = None,
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    seed: int = 0,
    text_column: str = "text",
    delimiter: str | None = None,
    progress: Progress | bool | None = None,
) -> list[Suggestion]:
    """Choose from unlabelled texts those that it pays most to label next, the most telling first.

    Without a classifier they cover the collection. With one, they are texts of which it is unsure, of many kinds. Empty texts are never
    chosen, nor is more than one of several copies (see `data.copies`) with the same numbers and signs.

    Args:
        texts: unlabelled texts: a .txt (one text a line), .csv, .tsv, .jsonl, .json or .parquet file; in Python also a list of strings.
        classifier: what was trained on the texts labelled so far: a trained folder, an exported file, or what else `load` takes; in
            Python also a `Classifier` (default: none).
        count: texts to choose.
        labelled: texts that have their labels, which are not suggested again, nor are their copies: a file, or in Python also a list.
        output: a .csv file to write, with the columns text, label (empty, to be filled in) and suggestion (what the classifier says); or
            an .html page on which labels are filled in. The file can be trained on as it is, once every row has a label.
        force: replace that file if it exists.
        seed: of where the search begins.
        text_column: column of the texts in a file.
        delimiter: between the cells of a CSV or TSV file (default: recognized by the header).
        progress: a callback (what, done, total), or True for bars on standard error.

    Raises:
        RetvecLiteError: for texts or a classifier that cannot be read, fewer different texts than `count`, or an output that exists or
            cannot be written.
        ModuleNotFoundError: when a package of the extra `train` is not installed.

    Example:
        >>> import retvec_lite as rl
        >>> texts = ["wake me at six", "Wake me at six!", "", "where is my parcel", "play some jazz"]
        >>> [found.row for found in sorted(rl.suggest(texts, count=3))]
        [0, 3, 4]
    """
    if count < 1:
        raise RetvecLiteError(f"count must be at least 1, not {count}.")
    check_output(output, force, (".csv", ".html"), "Suggestions are", texts, labelled)
    given = texts_of(texts, text_column, delimiter)
    try:
        known = [] if labelled is None else texts_of(labelled, text_column, delimiter)
    except RetvecLiteError as error:
        raise RetvecLiteError(f"labelled: {error}") from error
    asked = classifier if isinstance(classifier, Classifier | None) else load(classifier)
    rows = different(given, known)
    if not rows:
        raise RetvecLiteError("There is no text to choose from: each one is empty, or labelled already.")
    if len(rows) < count:
        raise RetvecLiteError(
            f"There are {len(rows):,} different texts to choose from, fewer than the {count:,} asked for: lower --count (in Python: count)."
        )
    with watched(progress) as report:
        chosen = [rows[place] for place in choose([given[row] for row in rows], asked, count, seed, report)]
    guesses = [""] * count if asked is None else _guesses(asked, [given[row] for row in chosen])
    found = [Suggestion(row, given[row], guess) for row, guess in zip(chosen, guesses, strict=True)]
    if output is not None:
        _write(found, asked, output, force)
    return found


def choose(texts: Sequence[str], classifier: Classifier | None, count: int, seed: int, progress: Progress) -> list[int]:
    """Return the places of the texts to label, those that stand for most of what is uncertain first."""
    draw = np.random.default_rng(seed)
    weights = np.ones(len(texts), np.float32) if classifier is None else uncertainty(classifier, texts, progress)
    weights = np.maximum(weights, _LEAST)
    order = draw.permutation(len(texts))  # no rule prefers the first of a file
    compared = order[np.argsort(-weights[order], kind="stable")][: max(_MOST, count)]
    vectors = sentence_vectors([texts[place] for place in compared], progress)
    return [int(compared[place]) for place in middles(vectors, weights[compared], count, seed)]


def uncertainty(classifier: Classifier, texts: Sequence[str], progress: Progress) -> Floats:
    """Return how unsure a classifier is of each text, float32 `[texts]`: from 0, sure, to 1, where two labels are as probable.

    Where a text may have several labels, those count of which it is least sure.
    """
    found = np.ones(len(texts), np.float32)
    for start in range(0, len(texts), _AT_ONCE):
        table = classifier.probabilities(texts[start : start + _AT_ONCE])
        if classifier.decision.multi_label:
            lead = np.abs(2 * table - 1).min(axis=1)
        else:
            lead = np.diff(np.sort(table, axis=1)[:, -2:], axis=1).sum(axis=1)
        found[start : start + len(table)] = 1 - lead
        progress("asking classifier", start + len(table), len(texts))
    return found


def sentence_vectors(texts: Sequence[str], progress: Progress) -> Floats:
    """Return where texts lie, float32 `[texts, dimension]`: unit vectors in the directions in which these texts differ most."""
    from retvec_lite.training.reading import TextReader
    from retvec_lite.training.sentences import SentenceReader

    network = packaged_sentences()
    reader = TextReader(texts, EncoderConfig(), progress)
    ids = reader.word_ids(texts)
    head = dataclasses.replace(network.head, vector=_VECTOR)
    found = SentenceReader(network, head, reader.words, ids, progress).vectors(ids)
    # Of length 1: otherwise the clusters are those of the oddest texts, and accuracy is worse than with random ones.
    scaled: Floats = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return scaled


def middles(vectors: Floats, weights: Floats, count: int, seed: int) -> list[int]:
    """Return the places of the texts in the middle of each of `count` clusters, the heaviest cluster first."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    distinct, places = distinct_rows(vectors)
    shares = np.bincount(places, weights)
    with warnings.catch_warnings():
        # Told of vectors that are nearly equal: then some clusters are empty.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = KMeans(min(count, len(distinct)), n_init=1, random_state=seed).fit(distinct, sample_weight=shares)
    labels = fitted.labels_
    away = np.linalg.norm(distinct - fitted.cluster_centers_[labels], axis=1)
    order = np.lexsort((away, labels))
    first = order[np.append(True, np.diff(labels[order]) > 0)]
    heaviest = np.bincount(labels, shares)
    middle = first[np.argsort(-heaviest[labels[first]], kind="stable")]
    found = np.unique(places, return_index=True)[1][middle].tolist()
    others = np.setdiff1d(np.argsort(-weights, kind="stable"), found, assume_unique=True)
    return [*found, *others.tolist()][:count]


def _guesses(classifier: Classifier, texts: Sequence[str]) -> list[str]:
    """Return the labels that a classifier gives texts, as files have them."""
    several = classifier.decision.multi_label
    answers = classifier.predict(texts, None if several else 1)
    return [join_labels(tuple(label for label, _ in answer if label is not None)) for answer in answers]


def _write(
    found: Sequence[Suggestion], classifier: Classifier | None, output: str | os.PathLike[str], force: bool
) -> None:
    if os.fspath(output).lower().endswith(".html"):
        from retvec_lite.report_page import labelling_page

        refuse_existing(output, force)
        labels = () if classifier is None else classifier.labels
        atomic_write(output, labelling_page([(each.text, each.suggestion) for each in found], labels))
        return
    columns = ("text", "label", "suggestion")
    write_csv(output, columns, ((each.text, "", each.suggestion) for each in found), force=force)
