"""The NumPy reference run many times: texts encoded once, each distinct word embedded once."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import TrainedModel


@dataclass(frozen=True)
class Sample:
    """Texts with what the reference cuts them into: rows int32 `[texts, max_chars]`, slots `[texts, max_words, word_length]`."""

    names: tuple[str, ...]
    rows: Ints
    slots: Ints

    @classmethod
    def of(cls, names: Iterable[str], rows: Sequence[Ints], config: EncoderConfig) -> "Sample":
        """Encode the rows; there may be none."""
        slots = [contract.words(row, config) for row in rows]
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


_NUDGE: Final = 1e-3
"""How far, in steps of the 8-bit grid, an activation may be moved before it is rounded. The runtime's float32 sums differ from
ours in the last digits, so that now and then a number in the middle of two steps falls to the other side; one such step moved
an embedding by up to 0.023 and a probability by up to 0.048 (measured; all other texts agreed to 1e-6), and says nothing
about the file."""
_SEARCHED: Final = (1e-4, 0.1)
"""How far from all variants an embedding must be for a search among rarer ones: nearer ones need none, and ties move none farther."""


class Oracle:
    """The reference under one set of weights. It is slow, so words and texts are computed once."""

    def __init__(self, classifier: TrainedModel, weights: Mapping[str, Floats], eight_bit: bool = False) -> None:
        """Prepare.

        Args:
            classifier: contract parameters and head.
            weights: named and shaped like the classifier's.
            eight_bit: whether dense layers read their inputs rounded to 8 bits, as the files of dynamic recipes do.
        """
        self._head = classifier.head
        self._variants = [_eight_bit(weights, sign) for sign in (0, 1, -1)] if eight_bit else [weights]
        self._weights = weights
        self._eight_bit = eight_bit
        self._known: dict[bytes, tuple[Floats, Floats]] = {}
        self._answers: dict[bytes, Floats] = {}

    def embeddings(self, slots: Ints) -> Floats:
        """Every right embedding of one text's words, empty slots included: float32 `[variants, max_words, dimension]`.

        There is one variant, the reference; with `eight_bit` there are two more, with ties rounded up and down.
        """
        return np.stack([embedding for embedding, _ in self._of_words(slots)], axis=1)

    def _of_words(self, slots: Ints) -> list[tuple[Floats, Floats]]:
        """Of each word its right embeddings, and with them what the head reads: float32 `[variants, ...]` both."""
        keys = [word.tobytes() for word in slots]
        new = {key: word for key, word in zip(keys, slots, strict=True) if key not in self._known}
        if new:
            bits = contract.bits(np.stack(list(new.values())))
            embeddings = [reference_network.embed(bits, weights) for weights in self._variants]
            vectors = [
                reference_network.word_vectors(bits, embedding, weights)
                for embedding, weights in zip(embeddings, self._variants, strict=True)
            ]
            both = zip(np.stack(embeddings, axis=1), np.stack(vectors, axis=1), strict=True)
            self._known |= dict(zip(new, both, strict=True))
        return [self._known[key] for key in keys]

    def nearest(self, slots: Ints, found: Floats) -> Floats:
        """The right embedding of each word that is nearest to the one found: float32 `[max_words, dimension]`.

        With `eight_bit`, a word that is near none of the variants is held against rarer ones too: of any two ties, wherever they are
        among a layer's inputs, some variant rounds one up and the other down.

        Args:
            slots: the words of one text.
            found: float32 `[max_words, dimension]`.
        """
        right = self.embeddings(slots)
        off = np.abs(found - right).max(axis=2)
        chosen: Floats = right[off.argmin(axis=0), np.arange(len(slots))].copy()
        least, most = _SEARCHED
        near = off.min(axis=0)
        # As many binary digits as the place of a layer's last input has: any two places differ in one.
        digits = max(len(kernel) - 1 for name, kernel in self._weights.items() if name.endswith("/kernel")).bit_length()
        for place in np.flatnonzero((near > least) & (near < most)) if self._eight_bit else ():
            bits = contract.bits(slots[place : place + 1])
            for bit, sign in itertools.product(range(digits), (1, -1)):
                other = reference_network.embed(bits, _eight_bit(self._weights, sign, bit))[0]
                if np.abs(found[place] - other).max() < np.abs(found[place] - chosen[place]).max():
                    chosen[place] = other
        return chosen

    def probabilities(self, slots: Ints) -> Floats:
        """Every right answer to one text: float32 `[variants, classes]`, see `embeddings`."""
        key = slots.tobytes()
        if key not in self._answers:
            mask = slots[:, 0] != 0
            words = np.stack([vectors for _, vectors in self._of_words(slots)], axis=1)
            logits = [
                reference_network.head_logits(vectors, mask, self._head, weights)
                for vectors, weights in zip(words, self._variants, strict=True)
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

    nudge: Floats

    def __array_finalize__(self, source: Any) -> None:
        self.nudge = getattr(source, "nudge", np.zeros(1, np.float32))

    def __rmatmul__(self, inputs: Any, /) -> Any:
        return _rounded(inputs, self.nudge) @ self.view(np.ndarray)


def _eight_bit(weights: Mapping[str, Floats], sign: int, bit: int | None = None) -> dict[str, Floats]:
    """Weights whose dense kernels round; a LSTM's hybrid kernel rounds in other ways, and far less hangs on it.

    Args:
        weights: float32 weights by name.
        sign: whether ties go up (1), down (-1) or as they are (0).
        bit: inputs whose place has this binary digit set go the other way; None: all go the same way.
    """
    found = dict(weights)
    for name in weights:
        if name.endswith("/kernel") and name != "head/lstm/kernel":
            kernel = weights[name].view(_EightBitKernel)
            other = np.zeros(len(kernel), np.int64) if bit is None else np.arange(len(kernel)) >> bit & 1
            kernel.nudge = np.asarray(_NUDGE * sign * (1 - 2 * other), np.float32)
            found[name] = kernel
    return found


def _rounded(inputs: npt.NDArray[Any], nudge: Floats) -> Floats:
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
