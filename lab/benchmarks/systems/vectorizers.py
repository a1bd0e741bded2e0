"""The vectorizers that RETVec is compared with: texts -> rows of a table, and the bytes a device needs for that.

lab/benchmarks/README.md says how to install their packages. Row 0 of every table is the empty slot. The paper's vectorizers are
vocabularies (RETVec, arXiv:2302.09207); the files they need beside the network are counted to the byte.
"""

import importlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from benchmarks.systems.names import BPE, PIECES, SMALL, WHITESPACE

Ids = list[int]
Table = npt.NDArray[np.float32]

_PUNCTUATION: Final = re.compile(r"[^\w\s]+")


@dataclass(frozen=True)
class TableSize:
    """The size of a vectorizer's table.

    Attributes:
        rows: most tokens.
        dimension: numbers for each token.
        lean: leave out SentencePiece's normalization table (240 kB).
    """

    rows: int
    dimension: int
    lean: bool


FREE: Final = TableSize(20_000, 256, lean=False)
"""A table of the usual size."""
TINY: Final = TableSize(3_000, 128, lean=True)
"""The largest table with which a head's int8 file stays below 1 MB."""


def size_of(system: str) -> TableSize:
    """Return the size of the table of a system with this name."""
    return TINY if system.endswith(SMALL) else FREE


class Vectorizer(Protocol):
    """Maps texts to rows of a table that is trained with the head."""

    @property
    def rows(self) -> int:
        """The number of rows of the table, with the empty slot."""
        ...

    def tokens(self, texts: Sequence[str]) -> list[Ids]:
        """Return the rows of each text's tokens, in order; never 0."""
        ...

    def vocabulary(self) -> bytes:
        """Return the file that a device needs to do the same."""
        ...


def words_of(text: str) -> list[str]:
    """Return lower-case words without punctuation, the usual input of word vectorizers."""
    return _PUNCTUATION.sub(" ", text.lower()).split()


class Whitespace:
    """One row for each of the most frequent words, and row 1 for all others."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = tuple(words)
        self._row = {word: place for place, word in enumerate(self._words, start=2)}

    @classmethod
    def learn(cls, texts: Iterable[str], size: TableSize) -> "Whitespace":
        """Learn the most frequent words of the texts; alphabetical order breaks ties."""
        counts = Counter(word for text in texts for word in words_of(text))
        ordered = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(ordered[: size.rows - 2])

    @classmethod
    def read(cls, data: bytes) -> "Whitespace":
        return cls(data.decode().splitlines())

    @property
    def rows(self) -> int:
        return len(self._words) + 2

    def tokens(self, texts: Sequence[str]) -> list[Ids]:
        return [[self._row.get(word, 1) for word in words_of(text)] for text in texts]

    def vocabulary(self) -> bytes:
        """Return one word a line."""
        return "".join(f"{word}\n" for word in self._words).encode()


def coverage(texts: Iterable[str], characters: int) -> float:
    """Return the share of all characters that the most frequent `characters` cover, 0..1.

    SentencePiece needs one piece for each covered character and fails if these exceed its vocabulary, as 52 languages do
    with 3,000 pieces at the usual coverage of .9995.
    """
    counts = Counter("".join(texts))
    return sum(count for _, count in counts.most_common(characters)) / max(counts.total(), 1)


class SentencePiece:
    """Unigram pieces (Kudo 2018, arXiv:1804.10959) by the package `sentencepiece`."""

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor = require("sentencepiece").SentencePieceProcessor(model_proto=model)

    @classmethod
    def learn(cls, texts: Iterable[str], size: TableSize) -> "SentencePiece":
        """Learn the pieces; fewer than `size.rows` if the texts do not contain enough."""
        texts = list(texts)
        model = io.BytesIO()
        require("sentencepiece").SentencePieceTrainer.train(
            sentence_iterator=iter([text.replace("\n", " ") for text in texts]),
            model_writer=model,
            vocab_size=size.rows - 1,
            hard_vocab_limit=False,
            normalization_rule_name="identity" if size.lean else "nmt_nfkc",
            # The package accepts shares from .98.
            character_coverage=min(0.9995, max(0.98, coverage(texts, size.rows // 2))),
            num_threads=1,
            minloglevel=2,
        )
        return cls(model.getvalue())

    @classmethod
    def read(cls, data: bytes) -> "SentencePiece":
        return cls(data)

    @property
    def rows(self) -> int:
        return int(self._processor.get_piece_size()) + 1

    def tokens(self, texts: Sequence[str]) -> list[Ids]:
        return [[piece + 1 for piece in pieces] for pieces in self._processor.encode(list(texts))]

    def vocabulary(self) -> bytes:
        """Return the package's own model file."""
        return self._model


class Bpe:
    """Byte-level byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909) by the package `tokenizers`."""

    def __init__(self, description: str) -> None:
        self._description = description
        self._tokenizer = require("tokenizers").Tokenizer.from_str(description)

    @classmethod
    def learn(cls, texts: Iterable[str], size: TableSize) -> "Bpe":
        """Learn the merges. There are no unknown tokens, since every text is made of bytes."""
        package = require("tokenizers")
        tokenizer = package.Tokenizer(package.models.BPE())
        tokenizer.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=True)
        trainer = package.trainers.BpeTrainer(
            vocab_size=size.rows - 1, initial_alphabet=package.pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer.to_str(pretty=False))

    @classmethod
    def read(cls, data: bytes) -> "Bpe":
        return cls(data.decode())

    @property
    def rows(self) -> int:
        return int(self._tokenizer.get_vocab_size()) + 1

    def tokens(self, texts: Sequence[str]) -> list[Ids]:
        return [[token + 1 for token in found.ids] for found in self._tokenizer.encode_batch(list(texts))]

    def vocabulary(self) -> bytes:
        """Return the package's own JSON: tokens and merges."""
        return self._description.encode()


VECTORIZERS: Final[Mapping[str, type[Whitespace] | type[SentencePiece] | type[Bpe]]] = {
    WHITESPACE: Whitespace,
    PIECES: SentencePiece,
    BPE: Bpe,
}


def eight_bit_rows(table: Table) -> tuple[Table, npt.NDArray[np.int8]]:
    """Round each row of a table to -127..127 steps; return it as floats and as the integers of a file."""
    scales = row_scales(table)
    integers = np.rint(table / scales).astype(np.int8)
    return integers.astype(np.float32) * scales, integers


def row_scales(table: Table) -> Table:
    """Return the step of each row's grid, float32 `[rows, 1]`, positive even for a row of zeros."""
    largest = np.abs(table).max(axis=1, keepdims=True).astype(np.float32)
    scales: Table = np.maximum(largest / np.float32(127), np.float32(2.0**-20))
    return scales


def require(package: str) -> Any:
    """Import a baseline's package.

    Raises:
        SystemExit: it is not installed.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"The package {package} is not installed. Install it as described in lab/benchmarks/README.md, "
            "or choose other systems with --only."
        ) from error
