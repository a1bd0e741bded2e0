"""The NumPy reference run many times: texts encoded once, each distinct word embedded once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
        return Sample(self.names[:count], self.rows[:count], self.slots[:count])


class Oracle:
    """The reference under one set of weights. It is slow, so each distinct word is embedded once."""

    def __init__(self, classifier: Classifier, weights: Mapping[str, Floats], eight_bit: bool = False) -> None:
        """Prepare.

        Args:
            classifier: contract parameters and head.
            weights: named and shaped like the classifier's.
            eight_bit: whether dense layers read their inputs rounded to 8 bits, as the files of dynamic recipes do.
        """
        self._head = classifier.head
        self._weights = {name: _eight_bit(name, value) for name, value in weights.items()} if eight_bit else weights
        self._known: dict[bytes, Floats] = {}

    def embedding(self, slots: Ints) -> Floats:
        """float32 `[max_words, dimension]` of one text, empty slots included."""
        keys = [word.tobytes() for word in slots]
        new = {key: word for key, word in zip(keys, slots, strict=True) if key not in self._known}
        if new:
            vectors = reference.embed(reference.bits(np.stack(list(new.values()))), self._weights)
            self._known |= dict(zip(new, vectors, strict=True))
        return np.stack([self._known[key] for key in keys])

    def probabilities(self, slots: Ints) -> Floats:
        """float32 `[classes]` of one text."""
        logits = reference_heads.head_logits(self.embedding(slots), slots[:, 0] != 0, self._head, self._weights)
        powers = np.exp((logits - logits.max()).astype(np.float64))
        return (powers / powers.sum()).astype(np.float32)

    def table(self, sample: Sample) -> Floats:
        """float32 `[texts, classes]`."""
        return np.stack([self.probabilities(slots) for slots in sample.slots])


class _EightBitKernel(np.ndarray):
    """A kernel that rounds what it is multiplied with: the reference stays one piece of code for all recipes."""

    def __rmatmul__(self, inputs: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return _rounded(inputs) @ self.view(np.ndarray)


def _eight_bit(name: str, weights: Floats) -> Floats:
    """The kernels of dense layers; a LSTM's hybrid kernel rounds in other ways, and far less of the result hangs on it."""
    is_dense = name.endswith("/kernel") and name != "head/lstm/kernel"
    return weights.view(_EightBitKernel) if is_dense else weights


def _rounded(inputs: npt.NDArray[Any]) -> Floats:
    """Every row on its own grid of 256 values from its least to its largest, with zero on the grid.

    XNNPACK's `qd8` data type (https://github.com/google/XNNPACK, `xnn_f32_qd8_asymmetric_quantization_params`).
    """
    values = inputs.astype(np.float32)
    low = np.minimum(values.min(axis=1, keepdims=True), 0)
    high = np.maximum(values.max(axis=1, keepdims=True), 0)
    scale = np.where(high > low, (high - low) / np.float32(255), np.float32(1)).astype(np.float32)
    zero = np.clip(np.rint(-128 - low / scale), -128, 127)
    rounded = np.clip(np.rint(values / scale) + zero, -128, 127) - zero
    return (rounded * scale).astype(np.float32)
