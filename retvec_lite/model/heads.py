"""The classifier heads, from word vectors to logits: names, sizes, weight shapes and starting values. NumPy only.

`network_graph.py` computes them in TensorFlow and `reference_network.py` in NumPy. `cnn` sees word order; `pool` is the fastest network,
`linear` a single layer, and `ngrams` no network at all. An LSTM and a Transformer, the paper's other families (RETVec, arXiv:2302.09207,
evaluation), were behind `cnn` (docs/results.md).
With an int8 embedding of 218 kB, an exported file with any of them stays below 1 MB.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from retvec_lite.contract import BITS, Floats
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.ngrams import PRIME, NgramConfig

WeightDict = dict[str, Floats]
Shapes = dict[str, tuple[int, ...]]

VECTOR: Final = "head/vector"
"""The layer that makes the vector of a text, in classifiers whose head has one."""

_MOST_SIZE: Final = 65_536
_MOST: Final[Mapping[str, int]] = {"blocks": 16}
"""The largest size of a head, so that a description cannot ask for more weights than memory holds; numbers of layers by name. The
engine has room for as many blocks."""


@dataclasses.dataclass(frozen=True)
class HeadSpec:
    """The name and sizes of a head; each subclass is one head.

    A size whose default is 0 may be 0.

    Raises:
        RetvecLiteError: on construction, for a size that is not an integer of its range.
    """

    name: ClassVar[str]
    fixed: ClassVar[Mapping[str, int]] = {}
    """Sizes that files name and that have one value."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            size, least, most = getattr(self, field.name), int(field.default != 0), _MOST.get(field.name, _MOST_SIZE)
            if isinstance(size, bool) or not isinstance(size, int) or not least <= size <= most:
                raise RetvecLiteError(
                    f"The {field.name} of the head {self.name} must be an integer from {least} to {most:,}, not {shown(size)}."
                )

    def shapes(self, inputs: int, classes: int, max_words: int) -> Shapes:
        """Return name -> shape of every weight, for word vectors of `inputs` numbers and `classes` labels."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready fields, which `head_from_dict` turns into an equal object."""
        return {"name": self.name, **self.sizes(), **self.fixed}

    def sizes(self) -> dict[str, int]:
        """Return name -> size as files and results of benchmarks have them: without those that are 0."""
        return {field: size for field, size in dataclasses.asdict(self).items() if size}

    def initial_weights(self, rng: np.random.Generator, inputs: int, classes: int, max_words: int) -> WeightDict:
        """Return random starting weights, see `initial`."""
        return {name: initial(name, shape, rng) for name, shape in self.shapes(inputs, classes, max_words).items()}


@dataclasses.dataclass(frozen=True)
class LinearHead(HeadSpec):
    """The mean of the word vectors and one dense layer. With n-grams beside it, it is fitted in seconds."""

    name: ClassVar[str] = "linear"

    def shapes(self, inputs: int, classes: int, max_words: int) -> Shapes:
        return _dense("head/logits", inputs, classes)


@dataclasses.dataclass(frozen=True)
class PoolHead(HeadSpec):
    """One dense layer per word, then mean and max over the words. The fastest head; without blocks, it ignores word order.

    Blocks are those of `cnn`, as wide as the layer. With `vector`, a layer without activation makes so many numbers of mean and
    max, zeros for a text without words: the logits are made of them, and a search compares them.
    """

    name: ClassVar[str] = "pool"
    hidden: int = 256
    blocks: int = 0
    vector: int = 0

    def shapes(self, inputs: int, classes: int, max_words: int) -> Shapes:
        return {
            **_dense("head/word", inputs, self.hidden),
            **_blocks(self.blocks, self.hidden),
            **(_dense(VECTOR, 2 * self.hidden, self.vector) if self.vector else {}),
            **_dense("head/logits", self.vector or 2 * self.hidden, classes),
        }


@dataclasses.dataclass(frozen=True)
class CnnHead(HeadSpec):
    """Two dense layers per word, then residual separable convolutions and pooling by two.

    After DPCNN (Johnson and Zhang, ACL 2017) with regions of one word: convolution blocks with shortcuts, pooling by two.
    """

    name: ClassVar[str] = "cnn"
    fixed: ClassVar[Mapping[str, int]] = {"region": 1}
    hidden: int = 512
    filters: int = 256
    blocks: int = 2

    def shapes(self, inputs: int, classes: int, max_words: int) -> Shapes:
        return {
            **_dense("head/word", inputs, self.hidden),
            **_dense("head/region", self.hidden, self.filters),
            **_blocks(self.blocks, self.filters),
            **_dense("head/logits", 2 * self.filters, classes),
        }


@dataclasses.dataclass(frozen=True)
class NgramHead(HeadSpec):
    """Nothing: the file reads n-grams alone, no words. For many labels and many texts (makers/language)."""

    name: ClassVar[str] = "ngrams"


HEADS: Final[Mapping[str, type[HeadSpec]]] = {head.name: head for head in (LinearHead, PoolHead, CnnHead)}
"""The heads that `train` fits."""

_KNOWN: Final[Mapping[str, type[HeadSpec]]] = {**HEADS, NgramHead.name: NgramHead}


def head_from_dict(fields: Mapping[str, Any]) -> HeadSpec:
    """Rebuild a head from the values of `HeadSpec.to_dict`.

    Raises:
        RetvecLiteError: for an unknown name, a missing or unknown size, or a bad value.
    """
    sizes = dict(fields)
    name = sizes.pop("name", None)
    if not isinstance(name, str) or name not in _KNOWN:
        raise RetvecLiteError(f"Unknown head {shown(name)}. Choose one of {', '.join(_KNOWN)}.")
    fixed = _KNOWN[name].fixed
    expected = [*(field.name for field in dataclasses.fields(_KNOWN[name])), *fixed]
    left_out = {field.name for field in dataclasses.fields(_KNOWN[name]) if field.default == 0}
    if set(sizes) | left_out != set(expected):
        raise RetvecLiteError(
            f"The head {name} has the sizes {', '.join(expected)}, not {shown(', '.join(sizes) or 'none')}."
        )
    for size, value in fixed.items():
        if type(sizes[size]) is not int or sizes.pop(size) != value:
            raise RetvecLiteError(
                f"The {size} of the head {name} must be {value}, not {shown(fields[size])}: train the classifier again."
            )
    return _KNOWN[name](**sizes)


def _dense(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}/kernel": (inputs, outputs), f"{name}/bias": (outputs,)}


def _blocks(count: int, width: int) -> Shapes:
    """Return the shapes of residual separable convolutions over three words."""
    shapes: Shapes = {}
    for block in range(count):
        shapes[f"head/block_{block}/depthwise"] = (3, width)
        shapes |= _dense(f"head/block_{block}/pointwise", width, width)
    return shapes


def initial(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Return the starting values of a weight; its name tells its kind.

    Kernels are Glorot uniform (Glorot and Bengio 2010, formula 16), depthwise kernels uniform within 1 / sqrt(width), and biases zero.
    """
    if name.endswith("/bias"):
        return np.zeros(shape, np.float32)
    limit = math.sqrt(6.0 / (shape[0] + shape[1])) if not name.endswith("/depthwise") else math.sqrt(1.0 / shape[0])
    return rng.uniform(-limit, limit, shape).astype(np.float32)


def word_dimension(embedding: Mapping[str, Any], word_length: int) -> int:
    """Return how many numbers a word has under an embedding, or without one: the bits of its characters."""
    last = embedding.get("embedding/dense_2/kernel")
    return word_length * BITS if last is None else int(last.shape[1])


def ngram_shapes(config: NgramConfig, classes: int) -> Shapes:
    """Return name -> shape of the weights of n-grams; `squares` is the share of a bucket in a text's squared length."""
    shapes: Shapes = {
        "ngrams/table": (config.buckets, config.rank or classes),
        "ngrams/squares": (config.buckets,),
        "ngrams/bias": (classes,),
    }
    if config.codebooks:
        shapes["ngrams/codes"] = (PRIME, config.codebooks)
    if config.rank:
        shapes["ngrams/projection"] = (config.rank, classes)
    return shapes
