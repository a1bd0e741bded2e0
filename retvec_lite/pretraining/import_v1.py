"""Importer: the released RETVec v1 weights -> our embedding file format.

The release (https://github.com/google-research/retvec, Apache 2.0) is a Keras 2 SavedModel whose variables are the kernels
and biases of three dense layers, `[384, 256]`, `[256, 256]`, `[256, 256]`, numbered in their order; there is a TF.js
conversion as well. Inputs are 16 characters of 24 binary digits, most significant first. The top three digits are zero
for every Unicode scalar value, so that their rows are dropped without changing any result.
"""

import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import BITS
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import LAYERS, Embedding, check_layers

RELEASED_BITS: Final = 24
RELEASED_WORD_LENGTH: Final = 16

Arrays = Mapping[str, npt.NDArray[np.float32]]

_CARD: Final = {
    "description": "Released RETVec v1 word embedding, imported.",
    "source": "https://github.com/google-research/retvec",
    "licence": "Apache-2.0",
    "use": 'Parity with published vectors needs overflow="truncate" and words split at white space only.',
}


def import_v1(path: str | Path) -> Embedding:
    """Read the released weights.

    Args:
        path: a SavedModel folder, a TF.js folder (or its model.json), or an .npz file with k0, b0, k1, b1, k2, b2.

    Raises:
        RetvecLiteError: when it is none of these or holds other layers.
    """
    path = Path(path)
    if path.is_dir() and (path / "saved_model.pb").is_file():
        arrays = _saved_model(path)
    elif path.is_dir() and (path / "model.json").is_file():
        arrays = _tfjs(path / "model.json")
    elif path.name == "model.json" and path.is_file():
        arrays = _tfjs(path)
    elif path.suffix == ".npz" and path.is_file():
        arrays = _npz(path)
    else:
        raise RetvecLiteError(
            f"Expected a SavedModel folder, a TF.js folder or an .npz file of RETVec v1 weights, received {path}."
        )
    return Embedding("retvec-v1", _layers(path, arrays), _CARD)


def _layers(path: Path, arrays: Arrays) -> dict[str, npt.NDArray[np.float32]]:
    """Kernels and biases in the order of their layers' numbers, the rows of the dead digits dropped."""
    by_order = sorted(arrays, key=_natural)
    kernels = [arrays[name] for name in by_order if arrays[name].ndim == 2]
    biases = [arrays[name] for name in by_order if arrays[name].ndim == 1]
    inputs = RELEASED_WORD_LENGTH * RELEASED_BITS
    expected = [(inputs, 256), (256, 256), (256, 256)]
    if [kernel.shape for kernel in kernels] != expected or [bias.shape for bias in biases] != [(256,)] * 3:
        raise RetvecLiteError(
            f"Expected {path} to hold dense layers of the shapes {expected} with biases, "
            f"received the arrays {', '.join(f'{name} {arrays[name].shape}' for name in by_order) or 'none'}."
        )
    digits = kernels[0].reshape(RELEASED_WORD_LENGTH, RELEASED_BITS, -1)[:, RELEASED_BITS - BITS :]
    kernels[0] = digits.reshape(RELEASED_WORD_LENGTH * BITS, -1)
    layers = {}
    for layer, kernel, bias in zip(LAYERS, kernels, biases, strict=True):
        layers[f"{layer}/kernel"] = np.ascontiguousarray(kernel, np.float32)
        layers[f"{layer}/bias"] = np.ascontiguousarray(bias, np.float32)
    check_layers(path, layers)
    return {f"embedding/{name}": value for name, value in layers.items()}


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key under which dense_9 comes before dense_10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _saved_model(path: Path) -> Arrays:
    import tensorflow as tf

    try:
        variables = tf.saved_model.load(str(path)).variables
    except (OSError, ValueError, AttributeError) as error:
        raise RetvecLiteError(f"Expected a readable SavedModel with variables in {path}, received: {error}.") from error
    return {variable.name: variable.numpy() for variable in variables}


def _tfjs(path: Path) -> Arrays:
    """Weights of a TF.js model: `weightsManifest` names shapes and dtypes in the order of the bytes of its shard files."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))["weightsManifest"]
        arrays: dict[str, npt.NDArray[np.float32]] = {}
        for group in manifest:
            data = b"".join((path.parent / name).read_bytes() for name in group["paths"])
            offset = 0
            for entry in group["weights"]:
                offset = _take(entry, data, offset, arrays)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RetvecLiteError(
            f"Expected a TF.js model with its weight files at {path}, received: {error!r}."
        ) from error
    return arrays


def _take(entry: Mapping[str, Any], data: bytes, offset: int, arrays: dict[str, npt.NDArray[np.float32]]) -> int:
    dtype = np.dtype(entry["dtype"])
    if "quantization" in entry:
        raise ValueError(f"{entry['name']} is quantized")
    count = int(np.prod(entry["shape"], dtype=np.int64))
    array = np.frombuffer(data, dtype, count, offset).reshape(entry["shape"])
    if dtype == np.float32 and array.ndim:
        arrays[entry["name"]] = array
    return offset + count * dtype.itemsize


def _npz(path: Path) -> Arrays:
    """Arrays k0, b0, k1, ... named so that kernels and biases sort by layer."""
    try:
        with path.open("rb") as stream, np.load(stream) as file:
            return {f"{name[1:]}/{name[0]}": file[name] for name in file.files}
    except (OSError, EOFError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise RetvecLiteError(f"Expected an .npz file of weights at {path}, received: {error}.") from error
