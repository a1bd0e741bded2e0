"""The NumPy reference with the weights that a file really computes with.

This separates the cost of rounding the weights from computing wrongly. The weights are found by shape and value alone: names do not
survive the converters, and a file must not vouch for itself.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import SPELLING_WEIGHT, text_vector
from retvec_lite.model import reference_network
from retvec_lite.model.heads import VECTOR
from retvec_lite.model.weight_files import TrainedModel


@dataclass(frozen=True)
class Sample:
    """Texts and the words in them: rows int32 `[texts, max_chars]`, slots int32 `[texts, max_words, word_length]`."""

    names: tuple[str, ...]
    rows: Ints
    slots: Ints

    @classmethod
    def of(cls, names: Iterable[str], rows: Sequence[Ints], config: EncoderConfig) -> "Sample":
        """Encode the rows; there may be none."""
        slots = np.array([contract.words(row, config) for row in rows], np.int32)
        texts = np.array(rows, np.int32).reshape(len(rows), config.max_chars)
        return cls(tuple(names), texts, slots.reshape(len(rows), config.max_words, config.word_length))

    def __len__(self) -> int:
        return len(self.names)

    def __add__(self, other: "Sample") -> "Sample":
        rows, slots = (np.concatenate(both) for both in ((self.rows, other.rows), (self.slots, other.slots)))
        return Sample(self.names + other.names, rows, slots)

    def __getitem__(self, part: slice) -> "Sample":
        return Sample(self.names[part], self.rows[part], self.slots[part])

    def chosen(self, places: npt.NDArray[np.intp]) -> "Sample":
        """Return the texts at the given places."""
        return Sample(tuple(self.names[place] for place in places), self.rows[places], self.slots[places])

    def parts(self, count: int) -> list["Sample"]:
        """Return all texts in order, at most `count` in a part."""
        return [self[start : start + count] for start in range(0, len(self), count)]


_NUDGE: Final = 1e-3
"""How far an activation is moved before it is rounded, in steps of the 8-bit grid. The runtime's float32 sums differ from ours in the
last digits, so a number halfway between two steps (a tie) may be rounded to either. One such step moved an embedding by up to 0.023
and a probability by up to 0.048, while all other texts agreed to 1e-6: it says nothing about the file."""

_SEARCHED: Final = (1e-4, 0.1)
"""Distances from all variants between which an embedding is compared with rarer ones: below, there is no need; above, no tie explains it."""


def _same_bits(one: Floats, other: Floats) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


class Oracle:
    """The reference under one set of weights. It is slow, so every word and text is computed once."""

    def __init__(self, classifier: TrainedModel, weights: Mapping[str, Floats], eight_bit: bool = False) -> None:
        """Take a classifier's contract and head, and weights like its own.

        With `eight_bit`, dense layers round their inputs to 8 bits, as files of dynamic recipes do.
        """
        self._classifier = classifier
        self._variants = [_eight_bit(weights, sign) for sign in (0, 1, -1)] if eight_bit else [weights]
        self._weights = weights
        self._eight_bit = eight_bit
        self._known: dict[bytes, Floats] = {}
        self._answers: dict[bytes, Floats] = {}
        self._meanings: dict[bytes, Floats] = {}

    def computes_with(self, weights: Mapping[str, Floats], eight_bit: bool) -> bool:
        """Return whether these are its weights, bit for bit."""
        return (
            eight_bit == self._eight_bit
            and weights.keys() == self._weights.keys()
            and all(_same_bits(value, self._weights[name]) for name, value in weights.items())
        )

    def embeddings(self, slots: Ints) -> Floats:
        """Return every right embedding of one text's words, empty slots included: float32 `[variants, max_words, dimension]`.

        There is one variant, the reference; with `eight_bit` there are two more, with all ties rounded up or down.
        """
        keys = [word.tobytes() for word in slots]
        new = {key: word for key, word in zip(keys, slots, strict=True) if key not in self._known}
        if new:
            bits = contract.bits(np.stack(list(new.values())))
            embeddings = np.stack([reference_network.embed(bits, weights) for weights in self._variants], axis=1)
            self._known |= dict(zip(new, embeddings, strict=True))
        return np.stack([self._known[key] for key in keys], axis=1)

    def nearest(self, slots: Ints, found: Floats) -> Floats:
        """Return the right embedding of each word that is nearest to the one found: float32 `[max_words, dimension]`.

        With `eight_bit`, a word that is near none of the variants is also compared with rarer ones: for any two ties among a layer's
        inputs, some variant rounds one up and the other down.
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
        """Return every right answer to one text, its code points and its words: float32 `[variants, classes]`."""
        key = row.tobytes()
        if key not in self._answers:
            mask = slots[:, 0] != 0
            logits = [
                reference_network.head_logits(vectors, mask, self._classifier.head, weights)
                for vectors, weights in zip(self.embeddings(slots), self._variants, strict=True)
            ]
            model = self._classifier
            linear = reference_network.linear_logits(row, model.encoder, model.ngrams, model.meaning, self._weights)
            if linear is not None:
                logits = [found + linear for found in logits]
            self._answers[key] = reference_network.shares(np.stack(logits), self._classifier.multi_label)
        return self._answers[key]

    def meaning(self, row: Ints) -> Floats:
        """Return the meaning of a text, float32 `[64]`, of a classifier with a table of it."""
        assert self._classifier.meaning is not None
        key = row.tobytes()
        if key not in self._meanings:
            self._meanings[key] = text_vector(row, self._classifier.encoder, self._classifier.meaning, self._weights)
        return self._meanings[key]

    def off(self, row: Ints, slots: Ints, found: Floats) -> Floats:
        """Return how far an answer to a text is from the nearest right one: float32 `[classes]`."""
        differences = np.abs(self.probabilities(row, slots) - found)
        nearest: Floats = differences[differences.max(axis=1).argmin()]
        return nearest

    @property
    def text_dimension(self) -> int:
        """Numbers of a text's embedding."""
        return self._classifier.text_dimension

    def off_embedding(self, row: Ints, slots: Ints, words: Floats, found: Floats) -> Floats:
        """Return how far the embedding of a text is from the nearest right one: float32 `[dimension]`.

        `words` are the right embeddings of its words `[max_words, dimension]`, with zeros for empty slots.
        """
        mask, meaning = slots[:, 0] != 0, self.meaning(row) if self._classifier.meaning else None
        read = [words]
        if f"{VECTOR}/kernel" in self._weights:
            read = [
                reference_network.sentence_vector(each, mask, self._classifier.head, weights)[None]
                for each, weights in zip(self.embeddings(slots), self._variants, strict=True)
            ]
        differences = np.stack([np.abs(text_embedding(rows, meaning) - found) for rows in read])
        nearest: Floats = differences[differences.max(axis=1).argmin()]
        return nearest

    def table(self, sample: Sample) -> Floats:
        """Return the first variant of each text's answer: float32 `[texts, classes]`."""
        return np.stack(
            [self.probabilities(row, slots)[0] for row, slots in zip(sample.rows, sample.slots, strict=True)]
        )


def text_embedding(embeddings: Floats, meaning: Floats | None = None) -> Floats:
    """Return the mean of a text's embeddings `[max_words, dimension]`, or its one vector, scaled to length 1; zeros stay zeros.

    With the text's meaning, float32 `[64]`: half of that and the meaning, scaled to length 1.
    """
    found = _scaled(embeddings.sum(axis=0, dtype=np.float64))
    if meaning is not None:
        found = _scaled(np.concatenate([found * SPELLING_WEIGHT, meaning]))
    return found.astype(np.float32)


def _scaled(vector: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a vector scaled to length 1; zeros stay zeros."""
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector


class _EightBitKernel(np.ndarray[Any, np.dtype[Any]]):
    """A kernel that rounds what it is multiplied with, so the reference code is the same for all recipes."""

    nudge: Floats

    def __array_finalize__(self, source: Any) -> None:
        self.nudge = getattr(source, "nudge", np.zeros(1, np.float32))

    def __rmatmul__(self, inputs: Any, /) -> Any:
        return _rounded(inputs, self.nudge) @ self.view(np.ndarray)


def _eight_bit(weights: Mapping[str, Floats], sign: int, bit: int | None = None) -> dict[str, Floats]:
    """Return weights whose dense kernels round.

    Ties are rounded up (`sign` 1), down (-1) or by the sums themselves (0); inputs whose place has the binary digit `bit` set, the
    other way.
    """
    found = dict(weights)
    for name in weights:
        if name.endswith("/kernel"):
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


# --- which weights ----------------------------------------------------------------------------------------------------

_BOUNDS: Final = ((32, 1e-6), (16, 1e-3), (8, 0.05), (6, 0.2), (0, 0.4))
"""Fewest bits of a value, and the largest root mean square of (found - reference) / reference. Rounding a normal distribution with a
maximum of four deviations to b bits gives about 4 / 2**(b - 1) / sqrt(12); unrelated weights differ by 1.4."""

EXACT: Final = 32
"""Bits of a value that is not rounded."""

SMALLEST: Final = 2.0**-14
"""Smaller numbers have fewer digits in half precision: its steps stay 2**-24 below it."""

_MOST_PARTS: Final = 8
"""A constant may hold this many weights, and a weight may be kept as this many constants."""


@dataclass(frozen=True)
class Constant:
    """A stored float tensor, dequantized: what the graph computes with, and in how many bits the file stores each value."""

    name: str
    values: Floats
    bits: int


@dataclass(frozen=True)
class Match:
    """What a file computes with in the place of a weight, in its shape, and the bits in which it is stored."""

    values: Floats
    bits: int


def magnitude(weights: Floats) -> float:
    """Return what a tensor's rounding errors are measured by: its largest weight, or `SMALLEST` if that is larger."""
    return max(float(np.abs(weights).max()), SMALLEST)


def match_constants(found: Sequence[Constant], reference: Mapping[str, Floats]) -> dict[str, Match]:
    """Return what a file computes with in the place of every reference weight.

    A weight may be transposed, have other axes of one, be part of a larger constant, or be stored row by row (a depthwise kernel
    becomes three vectors). A weight that is all zeros may have been left out, which computes the same.

    Raises:
        RetvecLiteError: names every weight for which the file holds nothing that is close enough.
    """
    matches = {name: _match(name, weights, found) for name, weights in reference.items()}
    missing = [name for name, match in matches.items() if match is None]
    if missing:
        raise RetvecLiteError(f"The model does not hold the classifier's weights: none for {', '.join(missing)}.")
    return {name: match for name, match in matches.items() if match is not None}


def _match(name: str, weights: Floats, found: Sequence[Constant]) -> Match | None:
    whole = _nearest(weights, found)
    if whole is None and weights.ndim == 2 and len(weights) <= _MOST_PARTS:
        whole = _joined(weights, found)
    if whole is None and not weights.any():
        whole = Match(weights.copy(), EXACT)
    return whole


def _joined(rows: Floats, found: Sequence[Constant]) -> Match | None:
    """Return the matches of all rows as one; None when one is missing."""
    matches = [match for match in (_nearest(row, found) for row in rows) if match is not None]
    if len(matches) < len(rows):
        return None
    return Match(np.stack([match.values for match in matches]), min(match.bits for match in matches))


def _nearest(weights: Floats, found: Sequence[Constant]) -> Match | None:
    """Return the nearest part of a constant in the shape of `weights`; None when none is within its bound."""
    best, least = None, np.inf
    size = float(np.sqrt(np.mean(np.square(weights, dtype=np.float64))))
    for constant in found:
        bound = next(bound for bits, bound in _BOUNDS if constant.bits >= bits)
        bound *= size if constant.bits >= EXACT else max(size, SMALLEST)
        for values in _views(constant.values, weights.shape):
            distance = float(np.sqrt(np.mean(np.square(values - weights, dtype=np.float64))))
            if distance < least and distance <= bound:
                best, least = Match(values, constant.bits), distance
    return best


def _views(values: Floats, shape: tuple[int, ...]) -> Iterator[Floats]:
    """Yield `values`, or equal parts of it along one axis, in every order of axes that makes `shape`."""
    wanted = int(np.prod(shape))
    if not wanted or values.size % wanted:
        return
    given = values.reshape([size for size in values.shape if size > 1])
    parts = values.size // wanted
    if parts > _MOST_PARTS:
        return
    pieces = [given] if parts == 1 else []
    for axis, size in enumerate(given.shape if parts > 1 else ()):
        if size % parts == 0:
            pieces += np.split(given, parts, axis=axis)
    sizes = [size for size in shape if size > 1]
    for piece in pieces:
        for order in itertools.permutations(range(piece.ndim)):
            turned = piece.transpose(order)
            if _merges(turned.shape, sizes):
                yield turned.reshape(shape)


def _merges(given: tuple[int, ...], wanted: list[int]) -> bool:
    """Return whether joining neighbouring axes of `given` makes `wanted`."""
    left = [size for size in given if size > 1]
    for size in wanted:
        joined = 1
        while joined < size and left:
            joined *= left.pop(0)
        if joined != size:
            return False
    return not left


def require_table(table: npt.NDArray[Any], found: Iterable[Floats]) -> None:
    """Raise RetvecLiteError when the file does not hold a part of a table of letters: golden texts have few of them."""
    if not any(np.array_equal(values.reshape(-1), table) for values in found):
        raise RetvecLiteError("The model does not hold the table of letters that n-grams or words with a meaning need.")
