"""The score of a plain SVM on the texts that a classifier was tested on, to compare it with."""

from typing import Final

import numpy as np

from retvec_lite.data.typos import Way
from retvec_lite.training.examples import TrainingData

_WORK: Final = 12_000_000
_WORK_BESIDE_LABELS: Final = 20
"""Characters times labels, with so many labels more for counting n-grams, that take about a second on one core."""


def plain_svm(data: TrainingData) -> float | None:
    """Return the accuracy of a linear SVM on TF-IDF of character n-grams, as scikit-learn makes them; None where it would take long.

    What takes long is decided by the size of the data, so that the same data give the same report.
    """
    texts, tested = list(data.clean[: data.labelled]), list(data.held_out_texts[Way.CLEAN])
    characters = sum(map(len, texts)) + (0 if data.folds else sum(map(len, tested)))
    if not tested or data.scheme.multi_label or characters * (len(data.labels) + _WORK_BESIDE_LABELS) > _WORK:
        return None
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    counter = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4), dtype=np.float64)
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # no text has an n-gram
        return None
    of_tested = counts if data.folds else counter.transform(tested)
    right, targets = 0, data.examples.targets
    for learned, others in data.splits:
        rows = learned[learned < data.labelled]
        if len(np.unique(targets[rows])) < 2:
            return None
        svm = make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(random_state=0))
        found = svm.fit(counts[rows], targets[rows]).predict(of_tested[others])
        right += int((found == data.held_out.truth[others]).sum())
    return right / len(tested)
