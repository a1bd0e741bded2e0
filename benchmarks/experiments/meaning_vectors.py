"""How much pre-trained meanings tell a classifier of few texts: validation texts cut from training files, clean, whole words looked up.

    python -m benchmarks.experiments.meaning_vectors [FILE.safetensors ...] [--words N ...] [--data DIR]

Two classifiers learn from ten texts a label. "nearest mean" reads text vectors alone and chooses the label whose mean is nearest (30
draws). "SVM" is a linear one on TF-IDF of words and of 1 to 5 characters, with the text vector of length .6 beside them (three draws);
without meanings first. Prints the accuracy; the packaged file is measured where none is named.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from benchmarks.common import command_parser
from benchmarks.data.sets import read_part, sampled, sampled_of_each
from retvec_lite.data.dataset import Dataset
from retvec_lite.model.meaning_file import MeaningFile, packaged_meaning
from retvec_lite.pretraining.meaning.words import meaning_words_of

SETS: Final = ("AG News", "Banking77")
SHOTS: Final = 10
TEXTS: Final = 10_000
VALIDATION: Final = 3_000
DRAWS: Final = {"nearest mean": 30, "SVM": 3}
LENGTH: Final = 0.6


def text_vectors(texts: Sequence[str], words: Sequence[str], vectors: Any) -> Any:
    """Return the sum of the words' vectors of each text at length 1; zeros for texts without a known word."""
    places = {word: place for place, word in enumerate(words)}
    found = np.zeros((len(texts), vectors.shape[1]), np.float32)
    for row, text in zip(found, texts, strict=True):
        known = [places[word] for word in meaning_words_of(text) if word in places]
        row += vectors[known].sum(axis=0)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


def nearest_mean(training: Dataset, test: Dataset, rows: Any, test_rows: Any) -> float:
    labels = np.asarray(training.labels)
    means = np.stack([rows[labels == label].mean(axis=0) for label in training.classes])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    answers = np.asarray(training.classes)[(test_rows @ means.T).argmax(axis=1)]
    return float((answers == np.asarray(test.labels)).mean())


def svm(training: Dataset, test: Dataset, rows: Any, test_rows: Any) -> float:
    """Rows of None stand for no meanings."""
    chars = TfidfVectorizer(analyzer="char", ngram_range=(1, 5), sublinear_tf=True)
    words = TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True)
    features = []
    for texts, beside, name in ((training.texts, rows, "fit_transform"), (test.texts, test_rows, "transform")):
        parts = [getattr(one, name)(texts) * 0.5**0.5 for one in (chars, words)]
        parts += [] if beside is None else [sparse.csr_matrix(LENGTH * beside)]
        features.append(sparse.hstack(parts).tocsr())
    return float(LinearSVC(C=0.5).fit(features[0], training.labels).score(features[1], test.labels))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, data=True)
    parser.add_argument("files", nargs="*", metavar="FILE", help="meaning files (default: the packaged one)")
    parser.add_argument("--words", type=int, nargs="+", default=[0], metavar="N", help="most frequent words (0: all)")
    args = parser.parse_args(arguments)
    files = {name: MeaningFile.load(name) for name in args.files} or {"packaged": packaged_meaning("en")}
    for name in SETS:
        every = read_part(args.data, name, "train", TEXTS)
        kept = sampled(len(every), VALIDATION)
        validation, pool = every.select(kept), every.select(sorted(set(range(len(every))) - set(kept)))
        draws = [pool.select(sampled_of_each(pool.labels, SHOTS, seed)) for seed in range(max(DRAWS.values()))]
        alone = [svm(draw, validation, None, None) for draw in draws[: DRAWS["SVM"]]]
        print(f"{name}, SVM without meanings: {np.mean(alone):.3f}", flush=True)
        for file, meanings in files.items():
            for count in args.words:
                words, vectors = (part[: count or None] for part in (meanings.words, meanings.vectors))
                test_rows = text_vectors(validation.texts, words, vectors)
                rows = [text_vectors(draw.texts, words, vectors) for draw in draws]
                for kind, measure in (("nearest mean", nearest_mean), ("SVM", svm)):
                    found = [
                        measure(draw, validation, row, test_rows)
                        for draw, row in list(zip(draws, rows, strict=True))[: DRAWS[kind]]
                    ]
                    print(f"{name}, {file}, {len(words):,} words, {kind}: {np.mean(found):.3f}", flush=True)


if __name__ == "__main__":
    main()
