"""How well `embed` finds texts of the same kind: validation texts cut from training files, each looked up among the others.

    python -m benchmarks.experiments.search [--set NAME] [--data DIR]

Prints the share of texts whose nearest other text, by cosine, has their label: by `embed` of a default file that learned from ten other
texts a label, by its part of spelling and its part of meaning alone, and by TF-IDF of words and of characters, fitted to the texts
themselves.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import retvec_lite as rl
from benchmarks.common import command_parser
from benchmarks.data.sets import read_part, sampled, sampled_of_each
from retvec_lite.meaning import DIMENSION

SETS: Final = ("AG News", "Banking77", "CLINC150")
VALIDATION: Final = 3_000
SHOTS: Final = 10


def share_found(vectors: Any, labels: Sequence[str]) -> float:
    """Return the share of texts whose nearest other text has their label; `vectors` `[texts, dimension]`, dense or sparse."""
    cosines = vectors @ vectors.T
    cosines = cosines.toarray() if hasattr(cosines, "toarray") else cosines
    np.fill_diagonal(cosines, -np.inf)
    names = np.asarray(labels)
    return float((names[cosines.argmax(axis=1)] == names).mean())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, data=True)
    parser.add_argument("--set", dest="sets", choices=SETS, action="append", help="a data set; repeatable")
    args = parser.parse_args(arguments)
    for name in args.sets or SETS:
        every = read_part(args.data, name, "train")
        kept = sampled(len(every), VALIDATION)
        texts, pool = every.select(kept), every.select(sorted(set(range(len(every))) - set(kept)))
        with tempfile.TemporaryDirectory() as folder:
            classifier = rl.train(pool.select(sampled_of_each(pool.labels, SHOTS)))
            classifier.export(Path(folder) / "out", embed=True)
            found = rl.load(Path(folder) / "out/classifier-int8.tflite").embed(list(texts.texts))
        parts = {"embed": found, "spelling alone": found[:, :-DIMENSION], "meaning alone": found[:, -DIMENSION:]}
        lengths = {kind: np.linalg.norm(part, axis=1, keepdims=True) for kind, part in parts.items()}
        parts = {kind: part / np.maximum(lengths[kind], 1e-9) for kind, part in parts.items()}
        for kind, options in (("words", {}), ("characters", {"analyzer": "char_wb", "ngram_range": (1, 4)})):
            parts[f"TF-IDF, {kind}"] = TfidfVectorizer(sublinear_tf=True, **options).fit_transform(texts.texts)
        for kind, part in parts.items():
            print(f"{name}, {kind}: {share_found(part, texts.labels):.3f}", flush=True)


if __name__ == "__main__":
    main()
