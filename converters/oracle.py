"""The NumPy reference run many times: texts encoded once, each distinct word embedded once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite import reference, reference_heads
from retvec_lite.classifier_file import Classifier
from retvec_lite.config import EncoderConfig

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Sample:
    """Texts with what the reference cuts them into: rows int32 `[texts, max_chars]`, slots `[texts, max_words, word_length]`."""

    names: tuple[str, ...]
    rows: Ints
    slots: Ints

    @classmethod
    def of(cls, names: Iterable[str], rows: Sequence[Ints], config: EncoderConfig) -> "Sample":
        """Encode the rows; there may be none."""
        slots = [reference.words(row, config) for row in rows]
        shape = (len(rows), config.max_words, config.word_length)
        return cls(
            tuple(names),
            np.array(rows, np.int32).reshape(len(rows), config.max_chars),
            np.array(slots, np.int32).reshape(shape),
        )

    def __len__(self) -> int:
        return len(self.names)

    def __add__(self, other: "Sample") -> "Sample":
        return Sample(
            self.names + other.names,
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.slots, other.slots]),
        )

    def first(self, count: int) -> "Sample":
        """The first texts."""
        return self._part(slice(0, count))

    def chosen(self, places: npt.NDArray[np.intp]) -> "Sample":
        """The texts at some places, in their order."""
        return Sample(tuple(self.names[place] for place in places), self.rows[places], self.slots[places])

    def parts(self, count: int) -> Iterator["Sample"]:
        """All texts in order, at most `count` at once."""
        for start in range(0, len(self), count):
            yield self._part(slice(start, start + count))

    def _part(self, part: slice) -> "Sample":
        return Sample(self.names[part], self.rows[part], self.slots[part])


_NUDGES: Final = (0.0, 1e-3, -1e-3)
"""How far, in steps of the 8-bit grid, an activation may be moved before it is rounded. The runtime's float32 sums differ from
ours in the last digits, so that now and then a number in the middle of two steps falls to the other side; one such step moved
an embedding by up to 0.021 and a probability by up to 0.048 (measured; all other texts agreed to 1e-6), and says nothing
about the file."""


class Oracle:
    """The reference under one set of weights. It is slow, so words and texts are computed once."""

    def __init__(self, classifier: Classifier, weights: Mapping[str, Floats], eight_bit: bool = False) -> None:
        """Prepare.

        Args:
            classifier: contract parameters and head.
            weights: named and shaped like the classifier's.
            eight_bit: whether dense layers read their inputs rounded to 8 bits, as the files of dynamic recipes do.
        """
        self._head = classifier.head
        self._variants = [_eight_bit(weights, nudge) for nudge in _NUDGES] if eight_bit else [weights]
        self._known: dict[bytes, Floats] = {}
        self._answers: dict[bytes, Floats] = {}

    def embeddings(self, slots: Ints) -> Floats:
        """Every right embedding of one text's words, empty slots included: float32 `[variants, max_words, dimension]`.

        There is one variant, the reference; with `eight_bit` there are two more, with ties rounded up and down.
        """
        keys = [word.tobytes() for word in slots]
        new = {key: word for key, word in zip(keys, slots, strict=True) if key not in self._known}
        if new:
            bits = reference.bits(np.stack(list(new.values())))
            vectors = np.stack([reference.embed(bits, weights) for weights in self._variants], axis=1)
            self._known |= dict(zip(new, vectors, strict=True))
        return np.stack([self._known[key] for key in keys], axis=1)

    def probabilities(self, slots: Ints) -> Floats:
        """Every right answer to one text: float32 `[variants, classes]`, see `embeddings`."""
        key = slots.tobytes()
        if key not in self._answers:
            mask = slots[:, 0] != 0
            bits = reference.bits(slots)
            logits = [
                reference_heads.head_logits(reference.word_vectors(bits, vectors, weights), mask, self._head, weights)
                for vectors, weights in zip(self.embeddings(slots), self._variants, strict=True)
            ]
            powers = np.exp((np.stack(logits) - np.max(logits, axis=1, keepdims=True)).astype(np.float64))
            self._answers[key] = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
        return self._answers[key]

    def table(self, sample: Sample) -> Floats:
        """The first variant of each text's answer: float32 `[texts, classes]`."""
        return np.stack([self.probabilities(slots)[0] for slots in sample.slots])


def text_embedding(embeddings: Floats) -> Floats:
    """The embedding of a text: the mean over its words, of length 1; zeros for a text without words.

    Args:
        embeddings: float32 `[max_words, dimension]`, zeros for empty slots.
    """
    total = embeddings.sum(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(total))
    found: Floats = (total / length if length > 0 else total).astype(np.float32)
    return found


class _EightBitKernel(np.ndarray[Any, np.dtype[Any]]):
    """A kernel that rounds what it is multiplied with: so the reference stays one piece of code for all recipes."""

    nudge: float

    def __array_finalize__(self, source: Any) -> None:
        self.nudge = getattr(source, "nudge", 0.0)

    def __rmatmul__(self, inputs: Any, /) -> Any:
        return _rounded(inputs, self.nudge) @ self.view(np.ndarray)


def _eight_bit(weights: Mapping[str, Floats], nudge: float) -> dict[str, Floats]:
    """Weights whose dense kernels round; a LSTM's hybrid kernel rounds in other ways, and far less hangs on it."""
    found = dict(weights)
    for name in weights:
        if name.endswith("/kernel") and name != "head/lstm/kernel":
            kernel = weights[name].view(_EightBitKernel)
            kernel.nudge = nudge
            found[name] = kernel
    return found


def _rounded(inputs: npt.NDArray[Any], nudge: float) -> Floats:
    """Every row on its own grid of 256 values from its least to its largest, with zero on the grid.

    XNNPACK's `qd8` data type (https://github.com/google/XNNPACK, `xnn_f32_qd8_asymmetric_quantization_params`).
    """
    values = inputs.astype(np.float32)
    low = np.minimum(values.min(axis=1, keepdims=True), 0)
    high = np.maximum(values.max(axis=1, keepdims=True), 0)
    scale = np.where(high > low, (high - low) / np.float32(255), np.float32(1)).astype(np.float32)
    zero = np.clip(np.rint(-128 - low / scale), -128, 127)
    rounded = np.clip(np.rint(values / scale + nudge) + zero, -128, 127) - zero
    result: Floats = (rounded * scale).astype(np.float32)
    return result
