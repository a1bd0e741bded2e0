"""The sentence network: it knows what English sentences mean, before it has seen a text of yours.

It learned to give open sentences the vectors that large sentence encoders give them (Reimers and Gurevych 2020,
https://arxiv.org/abs/2004.09813, section 2, where the small network learns other languages). It reads words by an embedding of its own,
which was trained with it. Its last layer makes vectors of sentences; those of classifiers take its place.
"""

import dataclasses
import functools
import json
import os
from collections.abc import Mapping
from importlib import resources
from typing import ClassVar, Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.json_text import parse_json
from retvec_lite.model.facts import check_finite
from retvec_lite.model.heads import PoolHead, head_from_dict
from retvec_lite.model.weight_files import check_format, check_layers, read_safetensors, typed_safetensors_bytes

SENTENCES_FORMAT: Final = "retvec-lite-sentences"
SENTENCES_VERSION: Final = "1"
SENTENCES_FILE: Final = "sentences.safetensors"

LAST_LAYER: Final = "head/logits/"
"""What the weights of the last layer of a head are called: in the file, those of the layer to the vectors."""
_EMBEDDING: Final = "embedding/"
_THE_NETWORK: Final = "the sentence network"


@dataclasses.dataclass(frozen=True)
class SentenceNetwork:
    """The weights of a word embedding and a head, and the layer that makes sentence vectors of what the head's last layer would read.

    Attributes:
        head: with its sizes.
        weights: `embedding/...` and `head/...` but for `head/logits`, float32; the kernels lie on their 4-bit grid.
        kernel: of the layer to the vectors, float32 `[width, dimension]`.
        bias: of that layer, float32 `[dimension]`.
        card: sources, licences and measurements, by what they are about.

    Raises:
        RetvecLiteError: on construction, for weights that do not fit together.
    """

    name: ClassVar = "sentences"
    """What reports call its word embedding."""

    head: PoolHead
    weights: Mapping[str, Floats]
    kernel: Floats
    bias: Floats
    card: Mapping[str, str]

    @property
    def embedding_weights(self) -> dict[str, Floats]:
        """The weights of its word embedding, `embedding/...`."""
        return {name: value for name, value in self.weights.items() if name.startswith(_EMBEDDING)}

    @property
    def head_weights(self) -> dict[str, Floats]:
        """The weights of its head but for the last layer, `head/...`."""
        return {name: value for name, value in self.weights.items() if not name.startswith(_EMBEDDING)}

    def __post_init__(self) -> None:
        layers: dict[str, Floats] = {}
        own = {f"{LAST_LAYER}kernel": self.kernel, f"{LAST_LAYER}bias": self.bias}
        for name, value in self.weights.items():
            (layers if name.startswith(_EMBEDDING) else own)[name.removeprefix(_EMBEDDING)] = value
        check_layers(_THE_NETWORK, layers)
        expected = self.head.shapes(layers["dense_2/kernel"].shape[1], self.bias.size, 1)
        if {name: value.shape for name, value in own.items()} != expected:
            raise RetvecLiteError(f"{_THE_NETWORK}: the weights are not those of the head {self.head.name}.")
        for name, value in own.items():
            check_finite(_THE_NETWORK, name, value)
        if not all(isinstance(value, str) for value in self.card.values()):
            raise RetvecLiteError(f"{_THE_NETWORK}: its card consists of strings.")

    def to_bytes(self) -> bytes:
        """Return the content of the file, the same bytes for equal networks.

        Float16 holds kernels on a 4-bit grid exactly, and rounds the rest.
        """
        arrays = {**self.weights, f"{LAST_LAYER}kernel": self.kernel, f"{LAST_LAYER}bias": self.bias}
        metadata = {
            "format": SENTENCES_FORMAT,
            "version": SENTENCES_VERSION,
            "head": json.dumps(self.head.to_dict(), sort_keys=True),
            "card": json.dumps(dict(self.card), sort_keys=True, ensure_ascii=False),
        }
        return typed_safetensors_bytes({name: value.astype(np.float16) for name, value in arrays.items()}, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SentenceNetwork":
        """Read a file.

        Raises:
            RetvecLiteError: when it is missing, damaged or of another format.
        """
        tensors, metadata = read_safetensors(path)
        check_format(path, metadata, SENTENCES_FORMAT, SENTENCES_VERSION)
        try:
            head, card = head_from_dict(parse_json(metadata["head"], "head")), parse_json(metadata["card"], "card")
            if not isinstance(head, PoolHead):
                raise RetvecLiteError(f"its head is {head.name}, not {PoolHead.name}")
            kernel, bias = (tensors.pop(f"{LAST_LAYER}{part}") for part in ("kernel", "bias"))
            return cls(head, tensors, kernel, bias, dict(card))
        except (KeyError, ValueError, TypeError, RetvecLiteError) as error:
            raise RetvecLiteError(f"{path} is damaged: {reason(error)}. Copy it again.") from error


@functools.cache
def packaged_sentences() -> SentenceNetwork:
    """Return the sentence network that ships with the package, read once."""
    with resources.as_file(resources.files("retvec_lite") / "weights" / SENTENCES_FILE) as path:
        return SentenceNetwork.load(path)
