"""`TextClassifier`: classify texts with an exported `.tflite`. Needs NumPy and a LiteRT runtime only."""

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.texts import as_texts, chunks, require_strings
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import EMBED, Artifact, read_artifact
from retvec_lite.runtime.interpreters import Engine, choose_runtime, codepoint_rows, import_runtime
from retvec_lite.runtime.pool import Pool, answered, available_cores, check_count
from retvec_lite.runtime.predictor import Predictor
from retvec_lite.runtime.worker import IsolatedEngine

_CHUNK: Final = 64
"""Texts that an interpreter runs between two hand-overs: a few milliseconds of work."""


class TextClassifier(Predictor):
    """Classifies texts with an exported file. Create one with `TextClassifier.load`.

    Threads may share one: calls wait for a free interpreter. Many texts at once are spread over `workers` interpreters,
    each in its own thread; the answers and their order are the same as with one. It can be pickled, sent to other processes
    and used after `fork()`.

    Attributes:
        labels: the classes, in the order of the columns of `probabilities`.
        config: the contract of the export.
        decision: when a text belongs to none of the labels.
        metadata: what the file says about itself (`retvec_lite.json`).
        runtime: the distribution that runs it, `ai-edge-litert` or `tflite-runtime`.
        workers: interpreters for many texts, created on first use.

    Example:
        >>> from retvec_lite import TextClassifier
        >>> classifier = TextClassifier.load("classifier-int8.tflite")
        >>> label, probability = classifier.predict("wkae me up at half past six")[0]
        >>> label in classifier.labels
        True
    """

    def __init__(
        self,
        artifact: Artifact,
        num_threads: int = 1,
        runtime: str | None = None,
        workers: int | None = None,
        isolated: bool = False,
    ) -> None:
        """Start a runtime for an artifact that is already read. Prefer `load`, which describes arguments and errors."""
        check_count("num_threads", num_threads)
        check_count("workers", 1 if workers is None else workers)
        self.labels = artifact.labels
        self.config = artifact.config
        self.decision = artifact.decision
        self.metadata = artifact.metadata
        self.workers = max(1, available_cores() // num_threads) if workers is None else workers
        self._signatures = artifact.signatures
        self._arguments = (artifact, num_threads, runtime, workers, isolated)
        make: Callable[[], Engine | IsolatedEngine]
        if isolated:
            self.runtime = choose_runtime(runtime)
            make = functools.partial(IsolatedEngine, artifact, num_threads, self.runtime)
        else:
            self.runtime, interpreter_class = import_runtime(runtime)
            make = functools.partial(Engine, interpreter_class, artifact, num_threads, self.runtime)
        self._engines: Pool[Engine | IsolatedEngine] = Pool(make)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process loads the same bytes; the file need not exist there.
        return TextClassifier, self._arguments

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        num_threads: int = 1,
        runtime: str | None = None,
        workers: int | None = None,
        isolated: bool = False,
    ) -> "TextClassifier":
        """Load an exported `.tflite`.

        Args:
            path: the file, or "language" for the detector in the package.
            num_threads: threads per call; 1 is fastest for short texts.
            runtime: `ai-edge-litert` or `tflite-runtime`; by default the one that this process has already loaded, else
                the first one installed. Two runtimes in one process break each other.
            workers: texts to run at the same time when there are many; by default the cores of this process divided by
                `num_threads`.
            isolated: run the model in a worker process, one for each worker. A file that crashes the runtime, hangs or takes
                too much memory is then an error here. For files from others; a text takes about 0.2 ms longer.

        Raises:
            RetvecLiteError: for a file that is missing, damaged or not from retvec-lite, and for a runtime that is missing,
                cannot run the file, or is the second one in this process.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite", workers=2)
            >>> classifier.config.word_length
            16
        """
        return cls(read_artifact(path), num_threads, runtime, workers, isolated)

    def codepoints(self, text: str) -> Ints:
        """Return the input of the full model for a text: its code points, cut or zero-padded, int32 `[1, max_chars]`.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite")
            >>> classifier.codepoints("hi")[0, :3].tolist()
            [104, 105, 0]
        """
        return codepoint_rows([text], self.config.max_chars)

    def probabilities(self, texts: str | Iterable[str]) -> Floats:
        """Return the probabilities, float32 `[texts, classes]`, with columns in the order of `labels`.

        Args:
            texts: one string, or a list, tuple, NumPy array or pandas Series of strings.

        Raises:
            RetvecLiteError: for anything but strings.

        Example:
            >>> from retvec_lite import TextClassifier
            >>> classifier = TextClassifier.load("classifier-int8.tflite")
            >>> table = classifier.probabilities(["wkae me up", "play some jazz"])
            >>> table.shape == (2, len(classifier.labels))
            True
        """
        return self._table("probabilities", as_texts(texts), len(self.labels))

    def embed(self, texts: str | Iterable[str]) -> Floats:
        """Return text embeddings, float32 `[texts, dimension]`, for search and deduplication. Dot products are cosines.

        A text embedding is the mean of its word embeddings, scaled to length 1; zeros for a text without words. Word
        embeddings reflect spelling: texts are similar when they share words, mistyped or not, not when they share meaning.

        Args:
            texts: one string, or a list, tuple, NumPy array or pandas Series of strings.

        Raises:
            RetvecLiteError: for anything but strings, or a file exported without `--embed`.
        """
        dimension = self._embed_dimension()
        return self._table("embedding", as_texts(texts), dimension)

    def embed_words(self, text: str) -> tuple[list[str], Floats]:
        """Return the words of a text as the model cuts them, and their embeddings, float32 `[words, dimension]`.

        Raises:
            RetvecLiteError: for anything but a string, or a file exported without `--embed`.
        """
        self._embed_dimension()
        require_strings([text])
        with self._engines.borrow() as engine:
            words, embeddings = engine.words(text)
        used = int(np.count_nonzero(words[:, 0]))
        return ["".join(map(chr, word[word != 0].tolist())) for word in words[:used]], embeddings[:used]

    def _embed_dimension(self) -> int:
        for signature in self._signatures:
            if signature.kind == EMBED and signature.dimension is not None:
                return signature.dimension
        raise RetvecLiteError("This model has no signature 'embed'. Export it again with --embed.")

    def _table(self, method: str, texts: Sequence[str], width: int) -> Floats:
        """Return the answers to all texts, float32 `[texts, width]`."""
        table = np.empty((len(texts), width), np.float32)
        row = 0
        for rows in self._stream(method, texts):
            table[row : row + len(rows)] = rows
            row += len(rows)
        return table

    def _probabilities_of(self, texts: Iterable[object]) -> Iterator[Floats]:
        return self._stream("probabilities", texts)

    def _stream(self, method: str, texts: Iterable[object]) -> Iterator[Floats]:
        """Yield the answers to one chunk of texts after the other, in order, float32 `[texts, width]` each."""
        parts = chunks(texts, _CHUNK)
        # A single chunk needs one interpreter only, and starting threads takes longer than most first answers.
        ahead = list(islice(parts, 2))
        if self.workers == 1 or len(ahead) < 2:
            for part in chain(ahead, parts):
                yield self._answer(method, part)
            return
        self._engines.grow(self.workers)
        yield from answered(functools.partial(self._answer, method), chain(ahead, parts), self.workers)

    def _answer(self, method: str, part: list[str] | Exception) -> Floats:
        """Return the answers to one chunk of texts, float32 `[texts, width]`, or raise what came in its place."""
        if isinstance(part, Exception):
            raise part
        with self._engines.borrow() as engine:
            return np.stack([getattr(engine, method)(text) for text in part])
