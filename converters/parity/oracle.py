"""Run the NumPy reference on many texts: each text is encoded once, each distinct word embedded once."""

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
from retvec_lite.ngrams import ngram_logits


@dataclass(frozen=True)
class Sample:
    """Texts and the words in them: rows int32 `[texts, max_chars]`, slots int32 `[texts, max_words, word_length]`."""

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
        """Return the first `count` texts."""
        return self._part(slice(0, count))

    def chosen(self, places: npt.NDArray[np.intp]) -> "Sample":
        """Return the texts at the given places."""
        return Sample(tuple(self.names[place] for place in places), self.rows[places], self.slots[places])

    def parts(self, count: int) -> Iterator["Sample"]:
        """Yield all texts in order, at most `count` at once."""
        for start in range(0, len(self), count):
            yield self._part(slice(start, start + count))

    def _part(self, part: slice) -> "Sample":
        return Sample(self.names[part], self.rows[part], self.slots[part])


_NUDGE: Final = 1e-3
"""How far an activation is moved before it is rounded, in steps of the 8-bit grid. The runtime's float32 sums differ from ours in the
last digits, so a number halfway between two steps (a tie) may be rounded to either. One such step moved an embedding by up to 0.023
and a probability by up to 0.048, while all other texts agreed to 1e-6: it says nothing about the file."""

_SEARCHED: Final = (1e-4, 0.1)
"""Distances from all variants between which an embedding is compared with rarer ones: below, there is no need; above, no tie explains it."""


class Oracle:
    """The reference under one set of weights. It is slow, so every word and text is computed once."""

    def __init__(self, classifier: TrainedModel, weights: Mapping[str, Floats], eight_bit: bool = False) -> None:
        """Prepare.

        Args:
            classifier: contract parameters and head.
            weights: named and shaped like the classifier's.
            eight_bit: whether dense layers round their inputs to 8 bits, as files of dynamic recipes do.
        """
        self._classifier = classifier
        self._variants = [_eight_bit(weights, sign) for sign in (0, 1, -1)] if eight_bit else [weights]
        self._weights = weights
        self._eight_bit = eight_bit
        self._known: dict[bytes, tuple[Floats, Floats]] = {}
        self._answers: dict[bytes, Floats] = {}

    def embeddings(self, slots: Ints) -> Floats:
        """Return every right embedding of one text's words, empty slots included: float32 `[variants, max_words, dimension]`.

        There is one variant, the reference; with `eight_bit` there are two more, with all ties rounded up or down.
        """
        return np.stack([embedding for embedding, _ in self._of_words(slots)], axis=1)

    def _of_words(self, slots: Ints) -> list[tuple[Floats, Floats]]:
        """Return the right embeddings of each word, and what the head reads with them: float32 `[variants, ...]` both."""
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
        """Return the right embedding of each word that is nearest to the one found: float32 `[max_words, dimension]`.

        With `eight_bit`, a word that is near none of the variants is also compared with rarer ones: for any two ties among a layer's
        inputs, some variant rounds one up and the other down.

        Args:
            slots: the words of one text.
            found: float32 `[max_words, dimension]`.
        """
        right = self.embeddings(slots)
        off = np.abs(found - right).max(axis=2)
        chosen: Floats = right[off.argmin(axis=0), np.arange(len(slots))].copy()
        least, most = _SEARCHED
        near = off.min(axis=0)
        # The binary digits of the last input's place: any two places differ in one of them.
        digits = max(len(kernel) - 1 for name, kernel in self._weights.items() if name.endswith("/kernel")).bit_length()
        for place in np.flatnonzero((near > least) & (near < most)) if self._eight_bit else ():
            bits = contract.bits(slots[place : place + 1])
            for bit, sign in itertools.product(range(digits), (1, -1)):
                other = reference_network.embed(bits, _eight_bit(self._weights, sign, bit))[0]
                if np.abs(found[place] - other).max() < np.abs(found[place] - chosen[place]).max():
                    chosen[place] = other
        return chosen

    def probabilities(self, row: Ints, slots: Ints) -> Floats:
        """Return every right answer to one text: float32 `[variants, classes]`, see `embeddings`.

        Args:
            row: its code points.
            slots: its words.
        """
        key = row.tobytes()
        if key not in self._answers:
            mask = slots[:, 0] != 0
            words = np.stack([vectors for _, vectors in self._of_words(slots)], axis=1)
            logits = [
                reference_network.head_logits(vectors, mask, self._classifier.head, weights)
                for vectors, weights in zip(words, self._variants, strict=True)
            ]
            if self._classifier.ngrams is not None:
                encoder, ngrams = self._classifier.encoder, self._classifier.ngrams
                logits = [found + ngram_logits(row, encoder, ngrams, self._weights) for found in logits]
            self._answers[key] = reference_network.shares(np.stack(logits), self._classifier.multi_label)
        return self._answers[key]

    def table(self, sample: Sample) -> Floats:
        """Return the first variant of each text's answer: float32 `[texts, classes]`."""
        return np.stack(
            [self.probabilities(row, slots)[0] for row, slots in zip(sample.rows, sample.slots, strict=True)]
        )


def text_embedding(embeddings: Floats) -> Floats:
    """Return the embedding of a text: the mean over its words, scaled to length 1; zeros for a text without words.

    Args:
        embeddings: float32 `[max_words, dimension]`, zeros for empty slots.
    """
    total = embeddings.sum(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(total))
    found: Floats = (total / length if length > 0 else total).astype(np.float32)
    return found


class _EightBitKernel(np.ndarray[Any, np.dtype[Any]]):
    """A kernel that rounds what it is multiplied with, so the reference code is the same for all recipes."""

    nudge: Floats

    def __array_finalize__(self, source: Any) -> None:
        self.nudge = getattr(source, "nudge", np.zeros(1, np.float32))

    def __rmatmul__(self, inputs: Any, /) -> Any:
        return _rounded(inputs, self.nudge) @ self.view(np.ndarray)


def _eight_bit(weights: Mapping[str, Floats], sign: int, bit: int | None = None) -> dict[str, Floats]:
    """Return weights whose dense kernels round. An LSTM's hybrid kernel rounds in other ways, which matters far less.

    Args:
        weights: float32 weights by name.
        sign: whether ties are rounded up (1), down (-1) or by the sums themselves (0).
        bit: inputs whose place has this binary digit set are rounded the other way; None: all the same way.
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
    """Round every row to its own grid of 256 values from its smallest to its largest, with zero on the grid.

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
