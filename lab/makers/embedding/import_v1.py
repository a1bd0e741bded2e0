"""Import the released RETVec v1 weights as an embedding file of our own format.

The release (https://github.com/google-research/retvec, Apache 2.0) is a Keras 2 SavedModel whose variables are the kernels
and biases of three dense layers, `[384, 256]`, `[256, 256]`, `[256, 256]`, numbered in their order. Inputs are 16 characters of 24 binary digits, most significant first. The top three digits are zero
for every Unicode scalar value, so their rows are dropped without changing any result.
"""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from retvec_lite.contract import BITS, Floats
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write
from retvec_lite.model.weight_files import LAYERS, Embedding, check_layers

_RELEASED_BITS: Final = 24
_RELEASED_WORD_LENGTH: Final = 16

Arrays = Mapping[str, Floats]

_CARD: Final = {
    "description": "Released RETVec v1 word embedding, imported.",
    "source": "https://github.com/google-research/retvec",
    "licence": "Apache-2.0",
    "use": "Published vectors are those of words cut after 16 characters and split at white space only.",
}


def import_embedding(source: Path, out: Path) -> None:
    """Import the released RETVec v1 weights as an embedding file, for `train(embedding=...)` and comparisons.

    Args:
        source: a SavedModel folder, or an .npz file with k0, b0, k1, b1, k2, b2.
        out: the embedding file to write (.safetensors).

    Raises:
        RetvecLiteError: when `source` is none of these or holds other layers, or `out` exists.
    """
    if out.exists():
        raise RetvecLiteError(f"{out} already exists: name another file.")
    atomic_write(out, import_v1(source).to_bytes())


def import_v1(path: Path) -> Embedding:
    """Read the released weights; for `path` and errors see `import_embedding`."""
    if path.is_dir() and (path / "saved_model.pb").is_file():
        arrays = _saved_model(path)
    elif path.suffix == ".npz" and path.is_file():
        arrays = _npz(path)
    else:
        raise RetvecLiteError(f"{path} holds no RETVec v1 weights: name a SavedModel folder or an .npz file.")
    return Embedding("retvec-v1", _layers(path, arrays), _CARD)


def _layers(path: Path, arrays: Arrays) -> dict[str, Floats]:
    """Return kernels and biases in the order of their layers' numbers, without the rows of the digits that are always 0."""
    by_order = sorted(arrays, key=_natural)
    kernels = [arrays[name] for name in by_order if arrays[name].ndim == 2]
    biases = [arrays[name] for name in by_order if arrays[name].ndim == 1]
    inputs = _RELEASED_WORD_LENGTH * _RELEASED_BITS
    expected = [(inputs, 256), (256, 256), (256, 256)]
    if [kernel.shape for kernel in kernels] != expected or [bias.shape for bias in biases] != [(256,)] * 3:
        raise RetvecLiteError(
            f"{path} does not hold the RETVec v1 layers {expected} with biases "
            f"(found: {', '.join(f'{name} {arrays[name].shape}' for name in by_order) or 'none'})."
        )
    digits = kernels[0].reshape(_RELEASED_WORD_LENGTH, _RELEASED_BITS, -1)[:, _RELEASED_BITS - BITS :]
    kernels[0] = digits.reshape(_RELEASED_WORD_LENGTH * BITS, -1)
    layers = {}
    for layer, kernel, bias in zip(LAYERS, kernels, biases, strict=True):
        layers[f"{layer}/kernel"] = np.ascontiguousarray(kernel, np.float32)
        layers[f"{layer}/bias"] = np.ascontiguousarray(bias, np.float32)
    check_layers(path, layers)
    return {f"embedding/{name}": value for name, value in layers.items()}


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key under which dense_9 comes before dense_10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _saved_model(path: Path) -> Arrays:
    import tensorflow as tf

    try:
        variables = tf.saved_model.load(str(path)).variables
    except (OSError, ValueError, AttributeError) as error:
        raise RetvecLiteError(f"Cannot read the SavedModel in {path}: {error}.") from error
    return {variable.name: variable.numpy() for variable in variables}


def _npz(path: Path) -> Arrays:
    """Read the arrays k0, b0, k1, ..., named so that kernels and biases sort by layer."""
    try:
        with path.open("rb") as stream, np.load(stream) as file:
            return {f"{name[1:]}/{name[0]}": file[name] for name in file.files}
    except (OSError, EOFError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise RetvecLiteError(f"Cannot read the .npz file {path}: {error}.") from error
