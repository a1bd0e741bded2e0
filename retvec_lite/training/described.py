"""What a training learns beside its texts: names and descriptions of labels, words related to them, and open texts of no label.

Names and descriptions are texts that are learned from and never tested on. Related are the words whose meaning lies in the direction in which a
label differs from the others: from texts made of them, n-grams and sums of words learn more than from the few words given. Open texts say how
sure answers are to texts that belong nowhere, where no text of the training can be held out; that they also say which n-grams are rare, and in
which directions texts differ, was tried and gained nothing.
"""

import csv
import enum
import random
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.dataset import Dataset, starter_file
from retvec_lite.data.descriptions import SAYS, plain_name
from retvec_lite.equal_rows import products
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.training.languages import directions, plain_words


class Origin(enum.IntEnum):
    """Where a text comes from that is learned from."""

    GIVEN = 0
    """One of the labelled texts."""
    NAME = 1
    """What a label is called."""
    DESCRIPTION = 2
    """What the user says of a label."""
    RELATED = 3
    """Words that are related to what a label is called and means."""
    UNLABELLED = 4
    """One of the texts without labels."""


class Described(NamedTuple):
    """Names and descriptions as texts, with the label and the origin of each."""

    texts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()


NOTHING: Final = Described()


def describe(dataset: Dataset, *, few: bool) -> Described:
    """Return the names that have a word, and all descriptions; names of labels with many texts say nothing more."""
    if dataset.multi_label:
        return Described()
    counts = dataset.label_counts
    names = [label for label in dataset.classes if (few or not counts[label]) and SAYS.search(plain_name(label))]
    said = [(label, text) for label, text in dataset.descriptions if text]
    return Described(
        (*map(plain_name, names), *(text for _, text in said)),
        (*names, *(label for label, _ in said)),
        (*[Origin.NAME] * len(names), *[Origin.DESCRIPTION] * len(said)),
    )


def telling_names(texts: Floats, targets: Ints, names: Floats, of_labels: Ints) -> npt.NDArray[np.bool_]:
    """Return which names of labels mean what the texts of their label mean: *ham* is also meat, and says nothing of messages.

    Such a name is nearer to a text of its label than to another one at least half of the time, which is the area under the ROC
    curve, by ranks (Mann and Whitney 1947, https://doi.org/10.1214/aoms/1177730491). A single one would only draw texts to its label, so none is left then.

    Args:
        texts: what each text means, `[texts, 64]`, of length 1 or 0.
        targets: the label of each text, `[texts]`.
        names: the same of each name.
        of_labels: the label of each name.

    Returns:
        bool `[names]`. A name of a label without a text here is kept: it says something, or nothing does.
    """
    from scipy.stats import rankdata

    known = set(targets.tolist())
    if len(known) < 2:
        return np.ones(len(names), bool)
    ranks = rankdata(products(names, texts), axis=1)
    is_own = of_labels[:, None] == targets
    own, is_alone = is_own.sum(axis=1), ~is_own.any(axis=1)
    # Pairs of a text of the label and a farther one of another label; ties count half.
    below = (ranks * is_own).sum(axis=1) - own * (own + 1) / 2
    found = is_alone | (below >= own * (len(targets) - own) / 2)
    kept: npt.NDArray[np.bool_] = (found & (np.count_nonzero(found) > 1)) | is_alone
    return kept


def labels_of(described: Described, labels: Sequence[str]) -> Ints:
    """Return the number of the label of each text, int32 `[texts]`."""
    number = {label: place for place, label in enumerate(labels)}
    return np.array([number[label] for label in described.labels], np.int32)


_BACKGROUND: Final = 300
_WORDS: Final = (3, 15)
"""How many texts there are, and how many words those have that are drawn."""
_COMMON: Final = 10_000
_FIRST: Final = 20
"""Words that are drawn, the most frequent ones; about so many of them are equally frequent."""


def background_texts(file: MeaningFile) -> tuple[str, ...]:
    """Return open texts in the language of a file: starter texts, or its words as often as they occur where the starter data lack it."""
    rng = random.Random(0)
    with starter_file("train").open(encoding="utf-8", newline="") as opened:
        found = [row["text"] for row in csv.DictReader(opened) if row["lang"] == file.language]
    if found:
        return tuple(rng.sample(found, min(_BACKGROUND, len(found))))
    return tuple(" ".join(drawn_words(file, rng, rng.randint(*_WORDS))) for _ in range(_BACKGROUND))


def drawn_words(file: MeaningFile, rng: random.Random, count: int) -> list[str]:
    """Draw words of a language as often as they occur (Zipf's law)."""
    words = file.words[:_COMMON]
    return rng.choices(words, [1.0 / (_FIRST + rank) for rank in range(len(words))], k=count)


_RELATED: Final = 60
"""Words of a label."""
_RARE: Final = 0.05
"""What the logarithm of a word's rank costs against its cosine: rare words are seldom written."""
_TEXTS: Final = 20
_MOST: Final = 1_000
"""Texts of a label without any, and of all labels together. Real texts soon say more: one leaves half of them, ten leave one. All of them
would also decide in which directions sentences differ, which cost spam of ten texts a label three points."""
_DRAWN: Final = 4
"""Related words of a text; it has as many common ones, as sentences do."""


def with_related(
    described: Described, labels: Sequence[str], counts: Mapping[str, int], file: MeaningFile, seed: int
) -> Described:
    """Return names, descriptions, and behind them texts of related words for each label with a known word and few texts.

    `counts` says how many texts labels have.
    """
    prototypes = _prototypes(described, labels, file)
    known = np.flatnonzero(prototypes.any(axis=1))
    if len(known) < 2:
        return described
    away = prototypes[known] - prototypes[known].mean(axis=0)
    away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    likeness = products(away, directions(file))
    cost = (_RARE * np.log1p(np.arange(likeness.shape[1]))).astype(np.float32)
    rng, texts, of_labels = random.Random(seed), [], []
    for place, near in zip(known.tolist(), likeness, strict=True):
        best = np.argsort(cost - near, kind="stable")[:_RELATED].tolist()
        for _ in range(min(_TEXTS, max(1, _MOST // len(known))) // (1 + counts.get(labels[place], 0))):
            drawn = [file.words[word] for word in rng.choices(best, k=_DRAWN)] + drawn_words(file, rng, _DRAWN)
            rng.shuffle(drawn)
            texts.append(" ".join(drawn))
            of_labels.append(labels[place])
    origins = (*described.origins, *[Origin.RELATED] * len(texts))
    return Described((*described.texts, *texts), (*described.labels, *of_labels), origins)


def _prototypes(described: Described, labels: Sequence[str], file: MeaningFile) -> Floats:
    """Return what each label is said to mean: the sum over its texts, each of length 1, float32 `[labels, width]` of length 1 or 0."""
    places = {word: place for place, word in enumerate(file.words)}
    number = {label: place for place, label in enumerate(labels)}
    vectors = file.vectors
    found = np.zeros((len(labels), vectors.shape[1]), np.float32)
    for text, label in zip(described.texts, described.labels, strict=True):
        known = [places[word] for word in plain_words(text) if word in places]
        said = vectors[known].sum(axis=0)
        found[number[label]] += said / max(float(np.linalg.norm(said)), 1e-6)
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-6)
    return found
