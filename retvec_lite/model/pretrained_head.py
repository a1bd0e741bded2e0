"""A pre-trained head: a network that knows what sentences of a language mean, before it has seen a text of yours.

It learned to give open sentences the vectors that a large sentence encoder gives them (Reimers and Gurevych 2020,
https://arxiv.org/abs/2004.09813, section 2, where the small network learns other languages). Its last layer is fitted to the texts of a
training; exported files hold it as they hold any other head.
"""

import dataclasses
import json
import os
from collections.abc import Mapping
from importlib import resources
from typing import Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError, reason
from retvec_lite.files import atomic_write
from retvec_lite.json_text import parse_json
from retvec_lite.model.grid import FOUR_BITS, snap
from retvec_lite.model.heads import HeadSpec, head_from_dict
from retvec_lite.model.weight_files import check_format, read_safetensors, typed_safetensors_bytes

HEAD_FORMAT: Final = "retvec-lite-head"
HEAD_VERSION: Final = "1"

LAST_LAYER: Final = "head/logits/"
"""What the weights of the last layer of a head are called: in the file, those of the layer to the vectors."""


@dataclasses.dataclass(frozen=True)
class PretrainedHead:
    """The weights of a head, and the layer that makes sentence vectors of what its last layer would read.

    Attributes:
        head: which head, with its sizes.
        weights: `head/...` but for `head/logits`, float32; the kernels lie on their 4-bit grid.
        kernel: of that layer, float32 `[width, dimension]`.
        bias: of that layer, float32 `[dimension]`.
        language: the tag of the language of the sentences, such as `en`.
        embedding: the digest of the word embedding that it reads, see `Embedding.digest`.
        card: sources, licences and measurements, by what they are about.

    Raises:
        RetvecLiteError: on construction, for weights that do not fit together.

    Example:
        >>> from retvec_lite.model.pretrained_head import packaged_head
        >>> packaged_head("en").kernel.shape
        (256, 384)
    """

    head: HeadSpec
    weights: Mapping[str, Floats]
    kernel: Floats
    bias: Floats
    language: str
    embedding: str
    card: Mapping[str, str]

    def __post_init__(self) -> None:
        inputs = self.weights["head/word/kernel"].shape[0] if "head/word/kernel" in self.weights else 0
        expected = self.head.shapes(inputs, len(self.bias), 1)
        found = {**self.weights, f"{LAST_LAYER}kernel": self.kernel, f"{LAST_LAYER}bias": self.bias}
        if {name: value.shape for name, value in found.items()} != expected:
            raise RetvecLiteError(f"the weights are not those of the head {self.head.name}")
        if not all(np.isfinite(value).all() for value in found.values()):
            raise RetvecLiteError("the weights are not all finite")

    def to_bytes(self) -> bytes:
        """Return the content of the file, the same bytes for equal heads. Float16 holds kernels on a 4-bit grid exactly, and rounds the rest."""
        arrays = {**self.weights, f"{LAST_LAYER}kernel": self.kernel, f"{LAST_LAYER}bias": self.bias}
        metadata = {
            "format": HEAD_FORMAT,
            "version": HEAD_VERSION,
            "head": json.dumps(self.head.to_dict(), sort_keys=True),
            "language": self.language,
            "embedding": self.embedding,
            "card": json.dumps(dict(self.card), sort_keys=True, ensure_ascii=False),
        }
        return typed_safetensors_bytes({name: value.astype(np.float16) for name, value in arrays.items()}, metadata)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file whole or not at all; raises RetvecLiteError where it cannot be written."""
        atomic_write(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "PretrainedHead":
        """Read a file.

        Raises:
            RetvecLiteError: when it is missing, damaged or of another format.
        """
        tensors, metadata = read_safetensors(path)
        check_format(path, metadata, HEAD_FORMAT, HEAD_VERSION)
        try:
            head, card = head_from_dict(parse_json(metadata["head"], "head")), parse_json(metadata["card"], "card")
            kernel, bias = (tensors.pop(f"{LAST_LAYER}{part}") for part in ("kernel", "bias"))
            return cls(head, tensors, kernel, bias, metadata["language"], metadata["embedding"], card)
        except (KeyError, ValueError, TypeError, RetvecLiteError) as error:
            raise RetvecLiteError(f"{path} is damaged: {reason(error)}. Copy it again.") from error


def on_grid(weights: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return weights with their kernels on the 4-bit grid."""
    return {name: snap(value, FOUR_BITS) if name.endswith("/kernel") else value for name, value in weights.items()}


def packaged_head(language: str) -> PretrainedHead | None:
    """Return the pre-trained head of a language that ships with the package; None for a language without one."""
    file = resources.files("retvec_lite") / "weights" / f"head_{language}.safetensors"
    if not file.is_file():
        return None
    with resources.as_file(file) as path:
        return PretrainedHead.load(path)
