"""The systems of the judge of few texts: our classifier, its parts alone, and plain rivals, all in memory."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import retvec_lite as rl
from benchmarks.systems import linear
from benchmarks.systems.names import (
    BAYES,
    DEFAULT_FILE,
    INBOX_ITSELF,
    INBOX_TAUGHT,
    NETWORK,
    NGRAMS,
    NGRAMS_ALONE,
    RECIPE,
    SENTENCE_VECTOR,
    SVM,
    SVM_COPY,
)
from benchmarks.systems.recipe import train_recipe
from benchmarks.systems.trained import Guess
from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.typos import mistype_many
from retvec_lite.model.sentence_network import packaged_sentences

Fit = Callable[[Sequence[str], Sequence[str], str], Guess]
"""Texts, the label of each, and their language (such as `en`) -> what answers: texts -> labels."""

_COPY_SEED: Final = 1


def ours(**options: Any) -> Fit:
    """Return the training with these options of `retvec_lite.train`, answered by the trained classifier; every text gets a label."""

    def fit(texts: Sequence[str], labels: Sequence[str], language: str) -> Guess:
        classifier = rl.train(list(texts), list(labels), keep="nothing", **options)
        return lambda asked: [str(found.label) for (found,) in classifier.predict(asked, 1, reject=False)]

    return fit


def ours_with_inbox(**options: Any) -> Fit:
    """Return the training that also gets texts without labels."""

    def fit(texts: Sequence[str], labels: Sequence[str], language: str, inbox: Sequence[str]) -> Guess:
        return ours(unlabelled=list(inbox) or None, **options)(texts, labels, language)

    fit.reads_inbox = True  # type: ignore[attr-defined]
    return fit  # type: ignore[return-value]


def train_svm(texts: Sequence[str], labels: Sequence[str], language: str) -> Guess:
    """Fit a linear SVM (C = 1) on TF-IDF of 1 to 4 characters: nothing is chosen."""
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    fitted = make_pipeline(linear.tfidf([linear.CHARACTERS]), LinearSVC(random_state=0)).fit(texts, labels)
    return lambda asked: fitted.predict(asked).tolist()


def train_svm_copy(texts: Sequence[str], labels: Sequence[str], language: str) -> Guess:
    """Fit the same SVM on the texts and one mistyped copy of each."""
    copies = mistype_many(texts, linear.TYPO_RATE, _COPY_SEED)
    return train_svm([*texts, *copies], [*labels, *labels], language)


def train_bayes(texts: Sequence[str], labels: Sequence[str], language: str) -> Guess:
    """Fit naive Bayes on hashed n-grams below 1 MB, settings chosen on a held-out fifth."""
    return linear.train(BAYES, Dataset(tuple(texts), tuple(labels)))


def train_sentences(texts: Sequence[str], labels: Sequence[str], language: str) -> Guess:
    """Fit a linear SVM (C = 1) on the vectors of the sentence network alone."""
    from sklearn.preprocessing import normalize
    from sklearn.svm import LinearSVC

    middle = sentence_vectors(texts).mean(axis=0)

    def vectors(some: Sequence[str]) -> Any:
        return normalize(sentence_vectors(some) - middle)

    model = LinearSVC(random_state=0).fit(vectors(texts), labels)
    return lambda asked: model.predict(vectors(asked)).tolist()


def sentence_vectors(texts: Sequence[str]) -> Floats:
    """Return what the sentence network of the package says of texts, float32 `[texts, width]`."""
    from retvec_lite.training.reading import TextReader
    from retvec_lite.training.sentences import SentenceReader

    network = packaged_sentences()
    reader = TextReader(texts, EncoderConfig())
    return SentenceReader(network, network.head, reader.words, None).vectors(reader.word_ids(texts))


SYSTEMS: Final[Mapping[str, Fit]] = {
    SVM: train_svm,
    SVM_COPY: train_svm_copy,
    BAYES: train_bayes,
    RECIPE: train_recipe,
    DEFAULT_FILE: ours(),
    INBOX_ITSELF: ours_with_inbox(teacher="itself"),
    INBOX_TAUGHT: ours_with_inbox(),
    NGRAMS: ours(head="linear"),
    NGRAMS_ALONE: ours(head="linear", meaning="none"),
    SENTENCE_VECTOR: train_sentences,
    NETWORK: ours(head="pool", ngram_kb=0),
}
"""Cheap ones first. `NGRAMS` reads what words mean where there is a table of the language."""


def system_of(name: str) -> Fit:
    """Return one of `SYSTEMS`, or a function that is named as `module:function`.

    Raises:
        SystemExit: there is no such system.
    """
    if name in SYSTEMS:
        return SYSTEMS[name]
    module, _, function = name.partition(":")
    try:
        found: Fit = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise SystemExit(
            f"No system {name!r} ({error}): name a function as module:function, or choose from {'; '.join(SYSTEMS)}."
        ) from error
    return found
