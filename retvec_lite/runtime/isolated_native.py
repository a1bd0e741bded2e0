"""The C engine in a worker process."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import DIMENSION
from retvec_lite.runtime.artifact import Artifact
from retvec_lite.runtime.native import NATIVE
from retvec_lite.runtime.worker import IsolatedEngine, numbers_of

_TEXTS: Final = 256
_BYTES: Final = 4 << 20
"""Most texts of one request, and most bytes of its answer: a worker has little memory, and a limit of time."""


class IsolatedNative(IsolatedEngine):
    """`NativeEngine` in a worker process that this one does not trust: many texts in one request."""

    def __init__(self, artifact: Artifact) -> None:
        """Start the worker and let it load the file; raises as `IsolatedEngine`."""
        super().__init__(artifact, 1, NATIVE)

    def table(self, texts: Sequence[str]) -> Floats:
        """Return the probabilities of composed texts, float32 `[texts, classes]`."""
        return self._floats("table", list(texts), len(self.artifact.labels))

    def table_of(self, rows: Ints) -> Floats:
        """Return the probabilities for rows of code points, int32 `[texts, max_chars]`."""
        return self._floats("table_of", rows, len(self.artifact.labels))

    def embeddings_of(self, rows: Ints) -> Floats:
        """Return the embeddings of texts, float32 `[texts, dimension]`."""
        return self._floats("embeddings_of", rows, self.artifact.dimensions[0])

    def meanings_of(self, rows: Ints) -> Floats:
        """Return what the words of the texts mean, float32 `[texts, 64]`."""
        return self._floats("meanings_of", rows, DIMENSION)

    def tables_of_words(self, rows: Ints) -> tuple[Ints, Floats]:
        """Return slots, int32 `[texts, max_words, word_length]`, and embeddings, float32 `[texts, max_words, word_dimension]`."""
        config, of_words = self.artifact.config, self.artifact.dimensions[1]
        slots, embeddings = [], []
        for count, content in self._answers(
            "tables_of_words", rows, config.max_words * (config.word_length + of_words)
        ):
            slots.append(np.frombuffer(content, "<i4", count * config.max_words * config.word_length))
            embeddings.append(np.frombuffer(content, "<f4", offset=slots[-1].nbytes))
        return (
            np.concatenate(slots).reshape(len(rows), config.max_words, config.word_length),
            np.concatenate(embeddings).reshape(len(rows), config.max_words, of_words),
        )

    def _floats(self, method: str, texts: Sequence[str] | Ints, width: int) -> Floats:
        found = np.frombuffer(b"".join(content for _, content in self._answers(method, texts, width)), "<f4")
        if not np.isfinite(found).all():
            raise RetvecLiteError(
                f"{self.artifact.path} answers with NaN or infinity. Do not use this file, or export it again."
            )
        return found.reshape(len(texts), width)

    def _answers(self, method: str, texts: Sequence[str] | Ints, width: int) -> Iterator[tuple[int, bytes]]:
        """Yield how many texts were asked at once, and their answers: `width` numbers a text."""
        together = max(1, min(_TEXTS, _BYTES // (4 * max(1, width))))
        for start in range(0, len(texts), together):
            part = texts[start : start + together]
            yield len(part), self.request(4 * len(part) * width, numbers_of, method, part)
