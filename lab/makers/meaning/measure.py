"""How much meanings tell a classifier of few texts: validation texts cut from training files, clean, whole words looked up.

A linear SVM learns from ten texts a label, in three draws: from TF-IDF of words and of 1 to 5 characters, with the text vector of length
.6 beside them; without meanings first.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from benchmarks.data.sets import read_part, sampled, sampled_of_each
from makers.meaning.words import meaning_words_of
from retvec_lite.data.dataset import Dataset
from retvec_lite.model.meaning_file import MeaningFile

SETS: Final = ("AG News", "Banking77")
SHOTS: Final = 10
TEXTS: Final = 10_000
VALIDATION: Final = 3_000
DRAWS: Final = 3
LENGTH: Final = 0.6


def text_vectors(texts: Sequence[str], meanings: MeaningFile) -> Any:
    """Return the sum of the words' vectors of each text at length 1; zeros for texts without a known word."""
    places, vectors = {word: place for place, word in enumerate(meanings.words)}, meanings.vectors
    found = np.zeros((len(texts), vectors.shape[1]), np.float32)
    for row, text in zip(found, texts, strict=True):
        known = [places[word] for word in meaning_words_of(text) if word in places]
        row += vectors[known].sum(axis=0)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


def svm(training: Dataset, test: Dataset, rows: Any, test_rows: Any) -> float:
    """Return the accuracy of a support vector machine; rows of None stand for no meanings."""
    chars = TfidfVectorizer(analyzer="char", ngram_range=(1, 5), sublinear_tf=True)
    words = TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True)
    features = []
    for texts, beside, name in ((training.texts, rows, "fit_transform"), (test.texts, test_rows, "transform")):
        parts = [getattr(one, name)(texts) * 0.5**0.5 for one in (chars, words)]
        parts += [] if beside is None else [sparse.csr_matrix(LENGTH * beside)]
        features.append(sparse.hstack(parts).tocsr())
    return float(LinearSVC(C=0.5).fit(features[0], training.labels).score(features[1], test.labels))


def measure_files(files: Sequence[Path], data: Path) -> None:
    """Print the accuracy for each file of meanings.

    Args:
        files: of meanings.
        data: folder of the data sets.
    """
    meanings = {file: MeaningFile.load(file) for file in files}
    for name in SETS:
        every = read_part(data, name, "train", TEXTS)
        kept = sampled(len(every), VALIDATION)
        validation, pool = every.select(kept), every.select(sorted(set(range(len(every))) - set(kept)))
        draws = [pool.select(sampled_of_each(pool.labels, SHOTS, seed)) for seed in range(DRAWS)]
        alone = [svm(draw, validation, None, None) for draw in draws]
        print(f"{name}, without meanings: {np.mean(alone):.3f}", flush=True)
        for file, found in meanings.items():
            rows = text_vectors(validation.texts, found)
            scores = [svm(draw, validation, text_vectors(draw.texts, found), rows) for draw in draws]
            print(f"{name}, {file.name}: {np.mean(scores):.3f}", flush=True)
