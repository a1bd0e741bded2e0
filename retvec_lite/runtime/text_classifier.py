"""One interpreter of an exported file, and the choice of the signature that answers a text."""

import contextlib
import functools
import operator
import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple, overload

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import (
    CLASSIFY,
    EMBED,
    Artifact,
    Signature,
    classify_signatures,
    describe_oldest_runtime,
    read_artifact,
)
from retvec_lite.runtime.interpreters import import_runtime


class Engine:
    """Runs one text at a time, in one thread at a time."""

    def __init__(self, interpreter_class: Any, artifact: Artifact, num_threads: int, runtime: str) -> None:
        """Prepare every signature.

        Args:
            interpreter_class: of the runtime.
            artifact: the file.
            num_threads: threads of one call.
            runtime: the distribution, for messages.

        Raises:
            RetvecLiteError: when the runtime cannot run the file, or its graphs are not what the metadata lists.
        """
        try:
            interpreter = interpreter_class(model_content=artifact.model, num_threads=num_threads)
            # It is this call that hands the graphs, all of them, to XNNPACK: without it, tflite-runtime 2.14 runs signatures
            # at half the speed. Runners it must come before: it refuses to work while somebody holds its insides.
            interpreter.allocate_tensors()
            signatures = (*classify_signatures(artifact.signatures), *_embedding(artifact.signatures))
            known = interpreter.get_signature_list()
            missing = [signature.name for signature in signatures if signature.name not in known]
            if missing:
                raise RetvecLiteError(
                    f"Expected {artifact.path} to have the signatures {', '.join(missing)}, received {', '.join(known)}."
                )
            runners = {signature.name: interpreter.get_signature_runner(signature.name) for signature in signatures}
        except (ValueError, RuntimeError) as error:
            raise RetvecLiteError(
                f"Expected {runtime} to run {artifact.path}, which is made for "
                f"{describe_oldest_runtime(artifact.metadata)}, received: {' '.join(str(error).split())}"
            ) from error
        for signature in signatures:
            _check_interface(artifact, signature, runners[signature.name])
        *short, _ = classify_signatures(artifact.signatures)
        self._short = [(signature.max_chars, signature.max_words, runners[signature.name]) for signature in short]
        self._full = runners[CLASSIFY]
        self._embed = runners.get(EMBED)
        self._max_chars = artifact.config.max_chars

    def probabilities(self, text: str) -> Floats:
        """Probabilities float32 [classes], by the smallest signature that the text fits into."""
        for max_chars, max_words, run in self._short:
            # As many blanks as slots are, but for double ones, more words than slots: not worth a try, and a longer one is right, too.
            if len(text) <= max_chars and text.count(" ") < max_words:
                answers = run(codepoints=points(text, max_chars))
                if answers["slots"][0] <= max_words:
                    break
        else:
            answers = self._full(codepoints=points(text, self._max_chars))
        found: Floats = answers["probabilities"][0]
        return found

    def embedding(self, text: str) -> Floats:
        """The text's embedding float32 [dimension]; only for a file with the signature `embed`."""
        found: Floats = self._answers(text)["text"][0]
        return found

    def words(self, text: str) -> tuple[Ints, Floats]:
        """The slots int32 [max_words, word_length] and their embeddings float32 [max_words, dimension], as `embedding`."""
        answers = self._answers(text)
        return answers["words"][0], answers["embeddings"][0]

    def _answers(self, text: str) -> dict[str, Any]:
        assert self._embed is not None
        answers: dict[str, Any] = self._embed(codepoints=points(text, self._max_chars))
        return answers


def points(text: str, max_chars: int) -> Ints:
    """`ord` of each character, cut or zero-padded to int32 [1, max_chars]."""
    found = np.zeros((1, max_chars), np.int32)
    codes = np.frombuffer(text[:max_chars].encode("utf-32-le", "surrogatepass"), "<i4")
    found[0, : codes.size] = codes
    return found


def _embedding(signatures: Sequence[Signature]) -> list[Signature]:
    return [signature for signature in signatures if signature.kind == EMBED]


def _check_interface(artifact: Artifact, signature: Signature, runner: Any) -> None:
    """Make sure that a signature takes and gives what the metadata says; raises RetvecLiteError when it does not."""
    words, length = signature.max_words, artifact.config.word_length
    expected: dict[str, tuple[tuple[int, ...], str]] = {"codepoints": ((1, signature.max_chars), "int32")}
    if signature.kind == CLASSIFY:
        expected["probabilities"] = ((1, len(artifact.labels)), "float32")
        if signature.name != CLASSIFY:
            expected["slots"] = ((1,), "int32")
    else:
        dimension = signature.dimension or 0
        expected |= {
            "words": ((1, words, length), "int32"),
            "embeddings": ((1, words, dimension), "float32"),
            "text": ((1, dimension), "float32"),
        }
    received = {
        name: (tuple(tensor["shape"].tolist()), np.dtype(tensor["dtype"]).name)
        for details in (runner.get_input_details(), runner.get_output_details())
        for name, tensor in details.items()
    }
    if received != expected:
        raise RetvecLiteError(
            f"Expected {artifact.path} to have the interface {expected} as its {signature.name!r}, received {received}."
        )


_CHUNK: Final = 64
"""Texts that one interpreter answers at a stretch: milliseconds, so that nobody waits long, and handing over costs nothing."""

_AHEAD: Final = 2
"""Chunks for each interpreter that are under way: one is worked on, one is ready."""

_Ask = Callable[[Engine, str], Floats]


class Prediction(NamedTuple):
    """One label and its probability."""

    label: str
    probability: float


class TextClassifier:
    """A classifier that is ready to run. Make one with `TextClassifier.load`.

    Safe to share between threads: calls wait for each other where they have to. Many texts at once are spread over `workers`
    interpreters, each in a thread of its own; the answers are those of one after the other, in the same order.

    Attributes:
        labels: the classes, in the order of `probabilities`' columns.
        config: the contract the file was exported under.
        metadata: what the file says about itself (`retvec_lite.json`).
        runtime: the distribution that runs it, `ai-edge-litert` or `tflite-runtime`.
        workers: interpreters for many texts; they are made when they are first needed.
    """

    def __init__(
        self, artifact: Artifact, num_threads: int = 1, runtime: str | None = None, workers: int | None = None
    ) -> None:
        """Prefer `load`; this takes an artifact that is already read. Raises RetvecLiteError like `load`."""
        for name, value in (("num_threads", num_threads), ("workers", 1 if workers is None else workers)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise RetvecLiteError(f"Expected {name} to be a positive integer, received {value!r}.")
        self.labels = artifact.labels
        self.config = artifact.config
        self.metadata = artifact.metadata
        self.workers = max(1, _cores() // num_threads) if workers is None else workers
        self.runtime, interpreter_class = import_runtime(runtime)
        self._signatures = artifact.signatures
        self._make = functools.partial(Engine, interpreter_class, artifact, num_threads, self.runtime)
        self._idle: queue.SimpleQueue[Engine] = queue.SimpleQueue()
        self._idle.put(self._make())
        self._made = 1
        self._growing = threading.Lock()

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        num_threads: int = 1,
        runtime: str | None = None,
        workers: int | None = None,
    ) -> "TextClassifier":
        """Load an exported `.tflite`.

        Args:
            path: the file.
            num_threads: threads of one call; one is fastest for short texts.
            runtime: `ai-edge-litert` or `tflite-runtime`; by default the one that this process has already loaded,
                else the first of the two that is installed. Never both in one process: they break each other.
            workers: how many texts are answered at a time where there are many; by default the cores that this process may
                use, divided by `num_threads`.

        Raises:
            RetvecLiteError: for a file that `read_artifact` refuses, a missing runtime, one that cannot run the file,
                or a second runtime in one process.
        """
        return cls(read_artifact(path), num_threads, runtime, workers)

    def codepoints(self, text: str) -> Ints:
        """The full model's input for a text: `ord` of each character, cut or zero-padded to int32 [1, max_chars].

        Nothing is cleaned here, unpaired surrogates included: all of the preprocessing is inside the graph.
        """
        return points(text, self.config.max_chars)

    def probabilities(self, texts: str | Sequence[str]) -> Floats:
        """Probabilities float32 [texts, classes], columns in the order of `labels`; a single string counts as one text.

        Raises:
            RetvecLiteError: for something else than strings.
        """
        texts = [texts] if isinstance(texts, str) else texts
        return self._table(Engine.probabilities, texts, len(self.labels))

    # A string is a sequence of strings too: the first overload is the one that a type checker takes for it.
    @overload
    def predict(self, texts: str, top: int | None = None) -> list[Prediction]: ...  # type: ignore[overload-overlap]
    @overload
    def predict(self, texts: Sequence[str], top: int | None = None) -> list[list[Prediction]]: ...
    def predict(self, texts: str | Sequence[str], top: int | None = None) -> list[Prediction] | list[list[Prediction]]:
        """The labels of one text or of many, the most probable first.

        Args:
            texts: one string, which gives one list, or a sequence of strings, which gives one list for each.
            top: how many labels to keep of each text; all of them by default.

        Raises:
            RetvecLiteError: for something else than strings, or a `top` below 1.
        """
        rows = list(self.predict_many([texts] if isinstance(texts, str) else texts, top))
        return rows[0] if isinstance(texts, str) else rows

    def predict_many(self, texts: Iterable[str], top: int | None = None) -> Iterator[list[Prediction]]:
        """The labels of any number of texts, one list after the other, in the order of the texts.

        Texts are taken and answers given as they come, so that neither need fit into memory; some hundred texts are under way
        at a time. Arguments and errors are those of `predict`; what can be wrong with `top` is found at once.
        """
        if top is not None and top < 1:
            raise RetvecLiteError(f"Expected top to be at least 1, received {top!r}.")
        if isinstance(texts, str):
            raise RetvecLiteError(f"Expected texts one after the other, received the one string {texts[:40]!r}.")
        return (
            sorted(map(Prediction, self.labels, row), key=operator.itemgetter(1), reverse=True)[:top]
            for rows in self._stream(Engine.probabilities, texts)
            for row in rows.tolist()
        )

    def embed(self, texts: str | Sequence[str]) -> Floats:
        """Text embeddings float32 [texts, dimension], for search and deduplication: products are cosines.

        Each is the mean of the embeddings of the text's words, of length 1; zeros for a text without words. Words are known
        by their spelling: near are texts of nearly the same words, mistyped or not, and not texts of the same meaning.

        Args:
            texts: a single string counts as one text.

        Raises:
            RetvecLiteError: for a file exported without `--embed`, or something else than strings.
        """
        dimension = self._embed_dimension()
        texts = [texts] if isinstance(texts, str) else texts
        return self._table(Engine.embedding, texts, dimension)

    def embed_words(self, text: str) -> tuple[list[str], Floats]:
        """The words of a text as the model cuts them, and the embedding of each, float32 [words, dimension].

        Raises:
            RetvecLiteError: for a file exported without `--embed`, or something else than a string.
        """
        self._embed_dimension()
        _require_string(text, 0)
        with self._engine() as engine:
            words, embeddings = engine.words(text)
        used = int(np.count_nonzero(words[:, 0]))
        return ["".join(map(chr, word[word != 0].tolist())) for word in words[:used]], embeddings[:used]

    def _embed_dimension(self) -> int:
        for signature in self._signatures:
            if signature.kind == EMBED and signature.dimension is not None:
                return signature.dimension
        raise RetvecLiteError(
            "Expected a model with the signature 'embed', received one without it: export it with `--embed`."
        )

    def _table(self, ask: _Ask, texts: Sequence[str], width: int) -> Floats:
        """The answers to all texts, float32 [texts, width]."""
        table = np.empty((len(texts), width), np.float32)
        row = 0
        for rows in self._stream(ask, texts):
            table[row : row + len(rows)] = rows
            row += len(rows)
        return table

    def _stream(self, ask: _Ask, texts: Iterable[str]) -> Iterator[Floats]:
        """The answers to chunk after chunk, float32 [texts, width] each, in order."""
        chunks = _chunks(texts)
        # One chunk is no work for two, and starting threads takes longer than most first answers.
        ahead = list(islice(chunks, 2))
        if self.workers == 1 or len(ahead) < 2:
            for chunk in chain(ahead, chunks):
                yield self._answer(ask, *chunk)
            return
        from concurrent.futures import Future, ThreadPoolExecutor

        with self._growing:
            while self._made < self.workers:
                self._idle.put(self._make())
                self._made += 1
        waiting: deque[Future[Floats]] = deque()
        with ThreadPoolExecutor(self.workers, "retvec-lite") as threads:
            try:
                for chunk in chain(ahead, chunks):
                    waiting.append(threads.submit(self._answer, ask, *chunk))
                    if len(waiting) > _AHEAD * self.workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def _answer(self, ask: _Ask, start: int, texts: Sequence[str]) -> Floats:
        """The answers to one chunk, whose first text has the number `start`."""
        for index, text in enumerate(texts, start):
            _require_string(text, index)
        with self._engine() as engine:
            return np.stack([ask(engine, text) for text in texts])

    @contextlib.contextmanager
    def _engine(self) -> Iterator[Engine]:
        """An interpreter that nobody else uses meanwhile."""
        engine = self._idle.get()
        try:
            yield engine
        finally:
            self._idle.put(engine)


def _chunks(texts: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """All texts in order, some at a time, with the number of the first."""
    rest, start = iter(texts), 0
    while chunk := list(islice(rest, _CHUNK)):
        yield start, chunk
        start += len(chunk)


def _require_string(text: object, index: int) -> None:
    if not isinstance(text, str):
        raise RetvecLiteError(f"Expected texts as strings, received {type(text).__name__} at index {index}.")


def _cores() -> int:
    """How many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
