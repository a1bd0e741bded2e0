"""The word embedding's own file format: one safetensors file with float32 kernels and a model card.

Tensors `dense_{0,1,2}/kernel` `[in, out]` and `/bias` `[out]`; string metadata `format`, `version`, `word_length`, `bits`,
`embedding_dim`, `activation`, `name` and `card` (a JSON object: data, steps, licences, metrics, command).
"""

import dataclasses
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.config import BITS
from retvec_lite.errors import RetvecLiteError
from retvec_lite.safetensors_io import read_safetensors, safetensors_bytes

FORMAT: Final = "retvec-lite-embedding"
VERSION: Final = "1"
LAYERS: Final = ("dense_0", "dense_1", "dense_2")
DEFAULT_FILE: Final = "default_embedding.safetensors"


@dataclasses.dataclass(frozen=True)
class Embedding:
    """A pre-trained word embedding: `word_length * 21` bits -> GELU -> GELU -> tanh (design, section 1.2).

    Attributes:
        name: how reports call it.
        weights: float32 arrays named `embedding/dense_{0,1,2}/{kernel,bias}`, kernels `[in, out]`.
        card: what it was trained on, how long, its licence, its metrics.
    """

    name: str
    weights: Mapping[str, npt.NDArray[np.float32]]
    card: Mapping[str, Any]

    @property
    def word_length(self) -> int:
        """Code points per word."""
        return self.weights["embedding/dense_0/kernel"].shape[0] // BITS

    @property
    def dimension(self) -> int:
        """Numbers per word."""
        return self.weights["embedding/dense_2/kernel"].shape[1]

    def to_bytes(self) -> bytes:
        """The file's bytes, the same for equal embeddings."""
        tensors = {name.removeprefix("embedding/"): value for name, value in self.weights.items()}
        metadata = {
            "format": FORMAT,
            "version": VERSION,
            "word_length": str(self.word_length),
            "bits": str(BITS),
            "embedding_dim": str(self.dimension),
            "activation": "gelu,gelu,tanh",
            "name": self.name,
            "card": json.dumps(self.card, sort_keys=True, ensure_ascii=False),
        }
        return safetensors_bytes(tensors, metadata)


def load_embedding(path: str | Path) -> Embedding:
    """Read an embedding file.

    Raises:
        RetvecLiteError: when the file is missing, truncated, of another format, or its tensors do not fit together.
    """
    tensors, metadata = read_safetensors(path)
    if metadata.get("format") != FORMAT or metadata.get("version") != VERSION:
        raise RetvecLiteError(
            f"Expected {path} to be a {FORMAT} file of version {VERSION}, "
            f"received format {metadata.get('format')!r}, version {metadata.get('version')!r}."
        )
    check_layers(path, tensors)
    try:
        card = json.loads(metadata.get("card", "{}"))
    except (ValueError, RecursionError) as error:
        raise RetvecLiteError(f"Expected {path} to carry its card as JSON, received: {error}.") from error
    weights = {f"embedding/{name}": tensors[name] for name in sorted(tensors)}
    return Embedding(metadata.get("name", Path(path).stem), weights, card)


def load_default_embedding() -> Embedding:
    """The embedding that ships inside the package."""
    with resources.as_file(resources.files("retvec_lite") / "weights" / DEFAULT_FILE) as path:
        return load_embedding(path)


def check_layers(path: str | Path, tensors: Mapping[str, npt.NDArray[np.float32]]) -> None:
    """Make sure that `dense_{0,1,2}/{kernel,bias}` are there, fit together and hold numbers.

    Raises:
        RetvecLiteError: naming the file and the layer that does not fit.
    """
    expected = {f"{layer}/{part}" for layer in LAYERS for part in ("kernel", "bias")}
    if set(tensors) != expected:
        raise RetvecLiteError(
            f"Expected {path} to hold the tensors {', '.join(sorted(expected))}, received {', '.join(sorted(tensors))}."
        )
    shape = tensors["dense_0/kernel"].shape
    inputs = shape[0] if shape else 0
    if inputs == 0 or inputs % BITS:
        raise RetvecLiteError(f"Expected {path}: dense_0/kernel to have {BITS} rows per character, received {inputs}.")
    for layer in LAYERS:
        kernel, bias = tensors[f"{layer}/kernel"], tensors[f"{layer}/bias"]
        if kernel.ndim != 2 or kernel.shape[0] != inputs or bias.shape != (kernel.shape[1],):
            raise RetvecLiteError(
                f"Expected {path}: {layer} to take {inputs} numbers, received kernel {kernel.shape} and bias {bias.shape}."
            )
        if not (np.isfinite(kernel).all() and np.isfinite(bias).all()):
            raise RetvecLiteError(f"Expected {path}: {layer} to hold finite numbers, received NaN or infinity.")
        inputs = kernel.shape[1]
