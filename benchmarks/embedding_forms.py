"""Are both canonical forms of a word the same word? Cosine of composed (NFC) and decomposed (NFD) words under embeddings.

    python benchmarks/embedding_forms.py FILE [FILE ...] [--quick]

A FILE is an embedding or `default`. Takes the 1,000 most frequent words of each language that are written differently in the two
forms and fit into 16 code points in both. This is what the bare graph makes of them: apps compose a text before they pass it on
(docs/contract.md), and then both forms are one.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from common import command_parser, markdown_table, result_path, write_results

from retvec_lite.contract import Ints
from retvec_lite.model.weight_files import Embedding, choose_embedding
from retvec_lite.pretraining.augment import word_lengths
from retvec_lite.pretraining.forms import decomposed, have_two_forms
from retvec_lite.pretraining.measures import embed
from retvec_lite.pretraining.words import wordfreq_words

LANGUAGES: Final = {"vi": "Vietnamese", "ko": "Korean", "fr": "French", "hi": "Hindi"}
WORDS: Final = 1_000


def pairs(language: str, count: int) -> tuple[Ints, Ints]:
    """Return the most frequent words of a language in composed and in decomposed form, int32 [count, 16] each."""
    rows, _ = wordfreq_words(language, 48)
    rows = rows[have_two_forms(rows)]
    forms = decomposed(rows)
    fits = np.flatnonzero(word_lengths(forms) <= 16)[:count]
    return rows[fits, :16], forms[fits, :16]


def cosine(embedding: Embedding, one: Ints, other: Ints) -> float:
    """Return the mean cosine of two rows of words."""
    first, second = (embed(embedding, rows) for rows in (one, other))
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return float(((first * second).sum(axis=1) / norms).mean())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the chosen embeddings and write the table."""
    parser = command_parser(__doc__, quick="50 words a language")
    parser.add_argument("files", nargs="+", metavar="FILE", help="an embedding, or `default`")
    args = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    for file in args.files:
        embedding = choose_embedding(file)
        if embedding is None:
            parser.error("bits alone have no embedding")
        found = {name: cosine(embedding, *pairs(name, 50 if args.quick else WORDS)) for name in LANGUAGES}
        rows.append({"embedding": Path(file).stem, "cosine": found})
    table = [[row["embedding"], *(f"{row['cosine'][name]:.3f}" for name in LANGUAGES)] for row in rows]
    path = result_path("embedding_forms", quick=args.quick)
    write_results(path, rows, markdown_table(["embedding", *LANGUAGES.values()], table))


if __name__ == "__main__":
    main()
