"""The classifier heads by name and size: what is built on top of the word embeddings. NumPy only.

`modeling/heads.py` computes them in TensorFlow, `reference_heads.py` in NumPy; both read sizes and weight names from here.
The families are the paper's three (RETVec, NeurIPS 2023, section 4: RNN, CNN, BERT-Mini, here scaled down to a phone) and
`pool`, the fast one. With an int8 embedding of 218 kB each of them leaves the exported file below 1 MB.
"""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import BITS
from retvec_lite.errors import RetvecLiteError

WeightDict = dict[str, npt.NDArray[np.float32]]
Shapes = dict[str, tuple[int, ...]]


@dataclasses.dataclass(frozen=True)
class HeadSpec:
    """A head's name and sizes. Subclasses are the heads; `shapes` lists every weight that one has.

    Raises:
        RetvecLiteError: on construction, for a size that is no positive integer.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        for field, size in dataclasses.asdict(self).items():
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise RetvecLiteError(
                    f"Expected the head {self.name} to have a positive integer as {field}, received {size!r}."
                )

    def shapes(self, inputs: int, classes: int, max_words: int) -> Shapes:
        """Weight names and shapes for word embeddings of `inputs` numbers and `classes` labels."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `head_from_dict` gives back an equal object."""
        return {"name": self.name, **dataclasses.asdict(self)}

    def initial_weights(self, rng: np.random.Generator, inputs: int, classes: int, max_words: int) -> WeightDict:
        """Random starting weights: Glorot uniform kernels (Glorot and Bengio 2010), zero biases, unit gains."""
        return {name: initial(name, shape, rng) for name, shape in self.shapes(inputs, classes, max_words).items()}


@dataclasses.dataclass(frozen=True)
class PoolHead(HeadSpec):
    """One dense layer per word, then masked mean and max over the words: order-free, the fastest."""

    name: ClassVar[str] = "pool"
    hidden: int = 256

    def shapes(self, inputs: int, classes: int, max_words: int) -> Shapes:
        """See `HeadSpec.shapes`."""
        return {**_dense("head/word", inputs, self.hidden), **_dense("head/logits", 2 * self.hidden, classes)}


@dataclasses.dataclass(frozen=True)
class CnnHead(HeadSpec):
    """Two dense layers, of a word and of a region of words, then residual separable convolutions between halvings of the text.

    After DPCNN (Johnson and Zhang, ACL 2017): region embedding, convolution blocks with shortcuts, pooling by two.
    """

    name: ClassVar[str] = "cnn"
    hidden: int = 512
    filters: int = 256
    blocks: int = 2
    region: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.region % 2 == 0:
            raise RetvecLiteError(f"Expected the region of cnn to be an odd number of words, received {self.region}.")

    def shapes(self, inputs: int, classes: int, max_words: int) -> Shapes:
        """See `HeadSpec.shapes`."""
        shapes = _dense("head/word", inputs, self.hidden)
        shapes |= _dense("head/region", self.region * self.hidden, self.filters)
        for block in range(self.blocks):
            shapes[f"head/block_{block}/depthwise"] = (3, self.filters)
            shapes |= _dense(f"head/block_{block}/pointwise", self.filters, self.filters)
        return shapes | _dense("head/logits", 2 * self.filters, classes)


@dataclasses.dataclass(frozen=True)
class RnnHead(HeadSpec):
    """A dense layer per word, a projection, one LSTM over the words (Hochreiter and Schmidhuber 1997), masked mean and max."""

    name: ClassVar[str] = "rnn"
    hidden: int = 512
    projection: int = 128
    units: int = 128

    def shapes(self, inputs: int, classes: int, max_words: int) -> Shapes:
        """See `HeadSpec.shapes`. Gates in the order input, forget, cell, output."""
        return {
            **_word_and_projection(inputs, self.hidden, self.projection),
            "head/lstm/kernel": (self.projection, 4 * self.units),
            "head/lstm/recurrent_kernel": (self.units, 4 * self.units),
            "head/lstm/bias": (4 * self.units,),
            **_dense("head/logits", 2 * self.units, classes),
        }


@dataclasses.dataclass(frozen=True)
class BertHead(HeadSpec):
    """A dense layer per word, a small Transformer encoder (Vaswani et al. 2017, norm before each part), masked mean and max.

    The norms inside the layers have no gain and bias: the dense layers behind them hold both, and a converter that folds
    them there would take the kernels off their quantization grid.
    """

    name: ClassVar[str] = "bert"
    hidden: int = 256
    width: int = 128
    layers: int = 2
    attention_heads: int = 4
    feed_forward: int = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % self.attention_heads:
            raise RetvecLiteError(
                f"Expected the head {self.name} to have a width that its {self.attention_heads} attention heads divide, "
                f"received {self.width}."
            )

    def shapes(self, inputs: int, classes: int, max_words: int) -> Shapes:
        """See `HeadSpec.shapes`."""
        shapes = _word_and_projection(inputs, self.hidden, self.width)
        shapes["head/positions"] = (max_words, self.width)
        for layer in range(self.layers):
            name = f"head/layer_{layer}"
            for part in ("query", "key", "value", "output"):
                shapes |= _dense(f"{name}/{part}", self.width, self.width)
            shapes |= _dense(f"{name}/expand", self.width, self.feed_forward)
            shapes |= _dense(f"{name}/contract", self.feed_forward, self.width)
        return shapes | _norm("head/final_norm", self.width) | _dense("head/logits", 2 * self.width, classes)


HEADS: Final[Mapping[str, type[HeadSpec]]] = {head.name: head for head in (PoolHead, CnnHead, RnnHead, BertHead)}
NORM_EPSILON: Final = 1e-5


def head_from_dict(fields: Mapping[str, Any]) -> HeadSpec:
    """Rebuild a head from `HeadSpec.to_dict`'s values.

    Raises:
        RetvecLiteError: for an unknown name or field, or a size that is no positive integer.
    """
    sizes = dict(fields)
    name = sizes.pop("name", None)
    if not isinstance(name, str) or name not in HEADS:
        raise RetvecLiteError(f"Expected the head to be one of {', '.join(HEADS)}, received {name!r}.")
    expected = {field.name for field in dataclasses.fields(HEADS[name])}
    if set(sizes) != expected:
        raise RetvecLiteError(f"Expected the head {name} to have {sorted(expected)}, received {sorted(sizes)}.")
    return HEADS[name](**sizes)


def _dense(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}/kernel": (inputs, outputs), f"{name}/bias": (outputs,)}


def _word_and_projection(inputs: int, hidden: int, outputs: int) -> Shapes:
    """What reads a word before words read each other.

    A word embedding tells how a word is written; what it means to the labels is no linear function of that, so a
    projection alone costs `rnn` four points (docs/benchmarks.md).
    """
    return {**_dense("head/word", inputs, hidden), **_dense("head/projection", hidden, outputs)}


def _norm(name: str, width: int) -> Shapes:
    return {f"{name}/gain": (width,), f"{name}/bias": (width,)}


def initial(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """Starting values of a weight, by the kind that its name tells: see `HeadSpec.initial_weights`."""
    if name == "head/lstm/bias":
        # The forget gate starts open (Jozefowicz et al. 2015), so that early words are not lost before anything is learned.
        bias = np.zeros(shape, np.float32)
        bias[shape[0] // 4 : shape[0] // 2] = 1.0
        return bias
    if name.endswith("/bias"):
        return np.zeros(shape, np.float32)
    if name.endswith("/gain"):
        return np.ones(shape, np.float32)
    if name == "head/positions":
        return rng.normal(0.0, 0.02, shape).astype(np.float32)
    limit = math.sqrt(6.0 / (shape[0] + shape[1])) if not name.endswith("/depthwise") else math.sqrt(1.0 / shape[0])
    return rng.uniform(-limit, limit, shape).astype(np.float32)


WINDOW: Final = 3
"""Neighbouring characters that a new classifier's filters see at once."""

_CHARACTER_KERNEL: Final = "characters/kernel"


def character_shapes(filters: int, window: int = WINDOW) -> Shapes:
    """Weight names and shapes of so many filters; nothing for none."""
    return {_CHARACTER_KERNEL: (window * BITS, filters), "characters/bias": (filters,)} if filters else {}


def filters_in(weights: Mapping[str, npt.NDArray[np.float32]]) -> int:
    """How many features a classifier's weights give, 0 for none."""
    return weights[_CHARACTER_KERNEL].shape[1] if _CHARACTER_KERNEL in weights else 0


def shapes_in(weights: Mapping[str, npt.NDArray[np.float32]], file: Path) -> Shapes:
    """What `character_shapes` says of the filters that `weights` hold.

    Raises:
        RetvecLiteError: when the windows of `characters/kernel` are not an odd number of whole characters.
    """
    if _CHARACTER_KERNEL not in weights:
        return {}
    shape = weights[_CHARACTER_KERNEL].shape
    if len(shape) != 2 or shape[0] % (2 * BITS) != BITS or not shape[1]:
        raise RetvecLiteError(
            f"Expected {file}: {_CHARACTER_KERNEL} of {BITS} rows for each of an odd number of characters, received shape {list(shape)}."
        )
    return character_shapes(shape[1], shape[0] // BITS)
