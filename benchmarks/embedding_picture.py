"""Words and their mistyped forms as points: where the embedding puts them, projected by t-SNE.

    python benchmarks/embedding_picture.py [FILE] [--quick]

FILE is an embedding (default: the one in the package). The left picture shows English words, as in the RETVec paper
(arXiv:2302.09207), the right one words of five scripts; each with forms that have one to four typos. A form that lies with its word has its
color. t-SNE keeps neighbours together; distances between groups mean nothing.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from common import command_parser, picture_path

from retvec_lite.model.weight_files import Embedding, choose_embedding
from retvec_lite.pretraining.augment import mistype_all
from retvec_lite.pretraining.measures import embed
from retvec_lite.pretraining.words import word_rows

PANELS: Final = {
    "English": (
        "umbrella",
        "parcel",
        "weather",
        "delivery",
        "keyboard",
        "language",
        "yesterday",
        "invoice",
        "music",
        "tomorrow",
    ),
    "Five scripts": ("погода", "посылка", "եղանակ", "նամակ", "ამინდი", "მუსიკა", "καιρός", "δέμα", "weather", "parcel"),
}
FORMS: Final = 14


def points(embedding: Embedding, words: Sequence[str], forms: int) -> np.ndarray:
    """Return two numbers for each word, and then for its mistyped forms: float64 [words, 1 + forms, 2]."""
    from sklearn.manifold import TSNE

    rows = np.repeat(word_rows(words), 1 + forms, axis=0)
    mistyped = mistype_all(rows, np.random.default_rng(0))
    mistyped[:: 1 + forms] = rows[:: 1 + forms]
    vectors = embed(embedding, mistyped)
    flat = TSNE(metric="cosine", init="random", random_state=0, perplexity=min(12, len(rows) // 4)).fit_transform(
        vectors
    )
    found: np.ndarray = flat.reshape(len(words), 1 + forms, 2)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the picture."""
    parser = command_parser(__doc__, quick="four forms of each word")
    parser.add_argument(
        "file", nargs="?", default="default", metavar="FILE", help="an embedding (default: the built-in one)"
    )
    args = parser.parse_args(arguments)
    embedding = choose_embedding(args.file)
    if embedding is None:
        parser.error("bits alone have no embedding")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(PANELS), figsize=(12, 5.5), layout="constrained")
    colors = pyplot.get_cmap("tab10").colors
    for axis, (title, words) in zip(axes, PANELS.items(), strict=True):
        for word, color, group in zip(words, colors, points(embedding, words, 4 if args.quick else FORMS), strict=True):
            axis.scatter(*group[1:].T, s=18, color=color, alpha=0.6, linewidths=0)
            axis.annotate(word, group[0], (0, 14), textcoords="offset points", color=color, weight="bold", ha="center")
        axis.set(title=title, xticks=[], yticks=[])
    figure.savefig(picture_path("embedding-words", quick=args.quick), dpi=110)


if __name__ == "__main__":
    main()
