"""The two safetensors formats: a word embedding, and a trained classifier."""

import dataclasses
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import BITS, EncoderConfig
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.heads import HeadSpec, filters_in, head_from_dict, shapes_in


def read_safetensors(path: str | Path) -> tuple[dict[str, npt.NDArray[np.float32]], dict[str, str]]:
    """Tensors as float32 and the string metadata of a safetensors file.

    Raises:
        RetvecLiteError: when the file is missing, unreadable or no safetensors file, or the package is not installed.
    """
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise RetvecLiteError('Reading weights needs safetensors: pip install "retvec-lite[train]".') from error
    try:
        with safe_open(str(path), framework="numpy") as file:
            tensors = {name: np.asarray(file.get_tensor(name), np.float32) for name in sorted(file.keys())}
            return tensors, dict(file.metadata() or {})
    except FileNotFoundError as error:
        raise RetvecLiteError(f"Expected a safetensors file at {path}, received nothing: no such file.") from error
    except (SafetensorError, OSError, TypeError) as error:  # TypeError: a dtype that NumPy lacks (bfloat16)
        raise RetvecLiteError(
            f"Expected a safetensors file at {path}, received one that cannot be read: {error}."
        ) from error


def safetensors_bytes(tensors: Mapping[str, npt.NDArray[np.float32]], metadata: Mapping[str, str]) -> bytes:
    """A safetensors file's bytes, the same for equal contents.

    The library writes the header's metadata in the random order of a hash map, so its header is written again, sorted
    (format: https://huggingface.co/docs/safetensors/index#format: 8 bytes of header length, JSON header, data).
    """
    from safetensors.numpy import save

    data = save(
        {name: np.ascontiguousarray(value, np.float32) for name, value in tensors.items()}, metadata=dict(metadata)
    )
    length = int.from_bytes(data[:8], "little")
    header = json.dumps(
        json.loads(data[8 : 8 + length]), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()
    header += b" " * (-len(header) % 8)
    rewritten: bytes = len(header).to_bytes(8, "little") + header + data[8 + length :]
    return rewritten


EMBEDDING_FORMAT: Final = "retvec-lite-embedding"
EMBEDDING_VERSION: Final = "1"
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
            "format": EMBEDDING_FORMAT,
            "version": EMBEDDING_VERSION,
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
    if metadata.get("format") != EMBEDDING_FORMAT or metadata.get("version") != EMBEDDING_VERSION:
        raise RetvecLiteError(
            f"Expected {path} to be a {EMBEDDING_FORMAT} file of version {EMBEDDING_VERSION}, "
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


CLASSIFIER_FORMAT: Final = "retvec-lite-classifier"
CLASSIFIER_VERSION: Final = 1
CLASSIFIER_FILE: Final = "classifier.safetensors"

_PARTS: Final = {"encoder": dict, "head": dict, "labels": list, "embedding": dict, "training": dict}
"""What the file's description must hold, and of which JSON type."""


@dataclasses.dataclass(frozen=True)
class TrainedModel:
    """Everything that turns code points into label probabilities.

    Attributes:
        encoder: the contract's parameters.
        head: which head, with its sizes.
        labels: class names in the order of the probabilities.
        weights: float32 arrays `embedding/...` (absent for RETVec-raw), `characters/...` (where character features were trained)
            and `head/...`.
        embedding: name and card of the embedding.
        training: how it was trained: data, settings, measured accuracy.
    """

    encoder: EncoderConfig
    head: HeadSpec
    labels: tuple[str, ...]
    weights: Mapping[str, npt.NDArray[np.float32]]
    embedding: Mapping[str, Any]
    training: Mapping[str, Any]

    def to_bytes(self) -> bytes:
        """The file's bytes, the same for equal classifiers."""
        about = {
            "format": CLASSIFIER_FORMAT,
            "version": CLASSIFIER_VERSION,
            "encoder": self.encoder.to_dict(),
            "head": self.head.to_dict(),
            "labels": list(self.labels),
            "embedding": dict(self.embedding),
            "training": dict(self.training),
        }
        return safetensors_bytes(self.weights, {"classifier": json.dumps(about, sort_keys=True, ensure_ascii=False)})


def load_trained_model(path: str | Path) -> TrainedModel:
    """Read a classifier from its file, or from the folder that `retvec-lite train` wrote.

    Raises:
        RetvecLiteError: when there is none, it cannot be read, was written under another contract version, or its weights
            do not fit its description.
    """
    path = Path(path)
    file = path / CLASSIFIER_FILE if path.is_dir() else path
    if not file.is_file():
        raise RetvecLiteError(
            f"Expected a trained classifier at {path} (a folder written by 'retvec-lite train'), received no {CLASSIFIER_FILE} there."
        )
    weights, metadata = read_safetensors(file)
    about = _classifier_description(metadata)
    if about.get("format") != CLASSIFIER_FORMAT or about.get("version") != CLASSIFIER_VERSION:
        raise RetvecLiteError(
            f"Expected {file} to be a {CLASSIFIER_FORMAT} file of version {CLASSIFIER_VERSION}, "
            f"received format {about.get('format')!r}, version {about.get('version')!r}."
        )
    missing = [part for part, kind in _PARTS.items() if not isinstance(about.get(part), kind)]
    if missing:
        raise RetvecLiteError(f"Expected {file} to describe its {', '.join(_PARTS)}, received no {missing[0]}.")
    try:
        encoder = EncoderConfig.from_dict(about["encoder"])
    except RetvecLiteError as error:
        raise RetvecLiteError(f"{error} (in {file})") from error
    classifier = TrainedModel(
        encoder=encoder,
        head=head_from_dict(about["head"]),
        labels=tuple(about["labels"]),
        weights=weights,
        embedding=about["embedding"],
        training=about["training"],
    )
    _check_classifier(file, classifier)
    return classifier


def _classifier_description(metadata: Mapping[str, str]) -> dict[str, Any]:
    """The JSON object about the file; empty when there is none, as in a file of another kind."""
    try:
        about = json.loads(metadata.get("classifier", "{}"))
    except (ValueError, RecursionError):
        return {}
    return about if isinstance(about, dict) else {}


def _check_classifier(file: Path, classifier: TrainedModel) -> None:
    labels, encoder = classifier.labels, classifier.encoder
    if not all(isinstance(label, str) for label in labels) or len(set(labels)) != len(labels) or len(labels) < 2:
        raise RetvecLiteError(f"Expected {file} to have at least 2 different labels, received {list(labels)}.")
    layers = {
        name.removeprefix("embedding/"): value
        for name, value in classifier.weights.items()
        if name.startswith("embedding/")
    }
    inputs = encoder.word_length * BITS
    if layers:
        check_layers(file, layers)
        rows, inputs = layers["dense_0/kernel"].shape[0], layers["dense_2/kernel"].shape[1]
        if rows != encoder.word_length * BITS:
            raise RetvecLiteError(
                f"Expected {file}: an embedding of {encoder.word_length} characters a word, received {rows // BITS}."
            )
    expected = shapes_in(classifier.weights, file) if layers else {}
    inputs += filters_in(classifier.weights) if expected else 0
    expected |= classifier.head.shapes(inputs, len(labels), encoder.max_words)
    received = {name: value for name, value in classifier.weights.items() if not name.startswith("embedding/")}
    if set(received) != set(expected):
        raise RetvecLiteError(
            f"Expected {file} to hold the weights {', '.join(sorted(expected))}, received {', '.join(sorted(received))}."
        )
    for name, value in received.items():
        if value.shape != expected[name]:
            raise RetvecLiteError(f"Expected {file}: {name} of shape {expected[name]}, received {value.shape}.")
        if not np.isfinite(value).all():
            raise RetvecLiteError(f"Expected {file}: {name} to hold finite numbers, received NaN or infinity.")
