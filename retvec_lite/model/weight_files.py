"""The two safetensors files of the project: a word embedding (`Embedding`) and a trained classifier (`TrainedModel`)."""

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import BITS, EncoderConfig, Floats
from retvec_lite.data.labels import check_labels
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError, install, shown
from retvec_lite.foreign import require_size
from retvec_lite.json_text import TEXT, check_fields, parse_json
from retvec_lite.meaning import DIMENSION, MeaningConfig, check_weights, meaning_shapes
from retvec_lite.model.facts import check_facts, check_finite, check_names
from retvec_lite.model.heads import VECTOR, HeadSpec, NgramHead, head_from_dict, ngram_shapes, word_dimension
from retvec_lite.ngrams import NgramConfig
from retvec_lite.runtime.artifact import CLASSIFIER_FILE, locate

EMBEDDING_FORMAT: Final = "retvec-lite-embedding"
EMBEDDING_VERSION: Final = "1"
DEFAULT_FILE: Final = "default_embedding.safetensors"
LAYERS: Final = ("dense_0", "dense_1", "dense_2")
"""The dense layers of a word embedding, in order."""

CLASSIFIER_FORMAT: Final = "retvec-lite-classifier"
CLASSIFIER_VERSION: Final = 1
_PARTS: Final = {"encoder": dict, "head": dict, "labels": list, "embedding": dict, "training": dict}
"""The parts of a classifier's description and their JSON types."""


_STORED: Final = {"ngrams/codes": np.uint8, "ngrams/table": np.int8}
"""Weights that integers of 8 bits may hold."""


@dataclasses.dataclass(frozen=True)
class Embedding:
    """A pre-trained word embedding: `word_length * 21` bits -> dense GELU -> dense GELU -> dense tanh.

    Attributes:
        name: its name in reports.
        weights: float32 arrays `embedding/dense_{0,1,2}/{kernel,bias}`, kernels `[in, out]`.
        card: its training data, training length, licence and metrics.
    """

    name: str
    weights: Mapping[str, Floats]
    card: Mapping[str, Any]

    @property
    def word_length(self) -> int:
        """Code points per word."""
        return self.weights["embedding/dense_0/kernel"].shape[0] // BITS

    @property
    def dimension(self) -> int:
        """Numbers per word."""
        return self.weights["embedding/dense_2/kernel"].shape[1]

    @property
    def digest(self) -> str:
        """What tells embeddings apart: 16 hexadecimal digits."""
        digest = hashlib.sha256()
        for name, value in sorted(self.weights.items()):
            digest.update(f"{name} {value.shape}".encode())
            digest.update(np.ascontiguousarray(value, "<f4").data)
        return digest.hexdigest()[:16]

    def to_bytes(self) -> bytes:
        """Return the content of the file: the same bytes for equal embeddings."""
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


def load_default_embedding() -> Embedding:
    """Read the embedding that ships with the package."""
    with resources.as_file(resources.files("retvec_lite") / "weights" / DEFAULT_FILE) as path:
        return load_embedding(path)


def load_embedding(path: str | os.PathLike[str]) -> Embedding:
    """Read an embedding file.

    Raises:
        RetvecLiteError: when the file is missing, truncated or of another format, or its tensors do not fit together.
    """
    tensors, metadata = read_safetensors(path)
    check_format(path, metadata, EMBEDDING_FORMAT, EMBEDDING_VERSION)
    check_layers(path, tensors)
    card = parse_json(metadata.get("card", "{}"), f"{path}: the card of the embedding")
    if not isinstance(card, dict):
        raise RetvecLiteError(f"{path}: the card of the embedding must be an object, not {shown(card)}.")
    weights = {f"embedding/{name}": tensors[name] for name in sorted(tensors)}
    return Embedding(metadata.get("name", Path(path).stem), weights, card)


def choose_embedding(embedding: str | os.PathLike[str] | Embedding) -> Embedding | None:
    """Return the word embedding that a name, a file or an object means.

    Args:
        embedding: `default` (the one in the package), `raw` (None: bits only), an embedding file, or an `Embedding`.

    Raises:
        RetvecLiteError: for a file that is missing or no embedding.
    """
    if isinstance(embedding, Embedding):
        return embedding
    if embedding == "raw":
        return None
    return load_default_embedding() if embedding == "default" else load_embedding(Path(embedding))


def check_layers(path: str | os.PathLike[str], tensors: Mapping[str, Floats]) -> None:
    """Check that `dense_{0,1,2}/{kernel,bias}` exist, fit together and are finite.

    Raises:
        RetvecLiteError: naming the file and the first layer that does not fit.
    """
    check_names(path, tensors, {f"{layer}/{part}" for layer in LAYERS for part in ("kernel", "bias")})
    shape = tensors["dense_0/kernel"].shape
    inputs = shape[0] if shape else 0
    if inputs == 0 or inputs % BITS:
        raise RetvecLiteError(f"{path}: dense_0/kernel needs {BITS} rows per character, but has {inputs} rows.")
    for layer in LAYERS:
        kernel, bias = tensors[f"{layer}/kernel"], tensors[f"{layer}/bias"]
        if kernel.ndim != 2 or kernel.shape[0] != inputs or bias.shape != (kernel.shape[1],):
            raise RetvecLiteError(
                f"{path}: {layer} has {inputs} inputs, which its kernel {kernel.shape} and bias {bias.shape} do not fit."
            )
        check_finite(path, layer, kernel, bias)
        inputs = kernel.shape[1]


@dataclasses.dataclass(frozen=True)
class TrainedModel:
    """The weights and the configuration of a classifier: all that turns code points into label probabilities.

    Attributes:
        encoder: the parameters of the contract.
        head: the head and its sizes.
        labels: the classes, in the order of the probabilities.
        weights: float32 arrays `embedding/...` (none for RETVec-raw), `head/...`, `ngrams/...` (when there are
            n-grams), and `meaning/...` (when words have a meaning).
        embedding: name and card of the embedding.
        training: how it was trained: data, settings, measured accuracy.
        ngrams: which n-grams it reads beside the words; None for a classifier without them.
        decision: which labels a text has, and when it has none.
        meaning: the sizes of the table of meaning; None for a classifier without one.
    """

    encoder: EncoderConfig
    head: HeadSpec
    labels: tuple[str, ...]
    weights: Mapping[str, Floats]
    embedding: Mapping[str, Any]
    training: Mapping[str, Any]
    ngrams: NgramConfig | None = None
    decision: Decision = dataclasses.field(default_factory=Decision)
    meaning: MeaningConfig | None = None

    @property
    def multi_label(self) -> bool:
        """Whether each label has a probability of its own, the sigmoid of its logit; otherwise they are a softmax."""
        return self.decision.multi_label

    @property
    def word_dimension(self) -> int:
        """Numbers of a word's embedding."""
        return word_dimension(self.weights, self.encoder.word_length)

    @property
    def text_dimension(self) -> int:
        """Numbers of a text's embedding, see `network_graph.embed`."""
        vector = self.weights.get(f"{VECTOR}/bias")
        read = self.word_dimension if vector is None else len(vector)
        return read + (DIMENSION if self.meaning is not None else 0)

    def to_bytes(self) -> bytes:
        """Return the content of the file: the same bytes for equal models."""
        description = {
            "format": CLASSIFIER_FORMAT,
            "version": CLASSIFIER_VERSION,
            "encoder": self.encoder.to_dict(),
            "head": self.head.to_dict(),
            "labels": list(self.labels),
            "embedding": dict(self.embedding),
            "training": dict(self.training),
            "ngrams": None if self.ngrams is None else self.ngrams.to_dict(),
            **self.decision.entry(),
            **({} if self.meaning is None else {"meaning": self.meaning.to_dict()}),
        }
        content = json.dumps(description, sort_keys=True, ensure_ascii=False)
        stored = {name: _smallest(name, value) for name, value in self.weights.items()}
        return typed_safetensors_bytes(stored, {"classifier": content, "sha256": _checksum(content, stored)})


def load_trained_model(path: str | os.PathLike[str]) -> TrainedModel:
    """Read a trained model from its file or from a trained folder; `language` names the one in the package.

    Raises:
        RetvecLiteError: when it is missing, unreadable, changed since it was written or of another contract version, or when
            the weights do not fit the description.
    """
    path = locate(path, ".safetensors")
    file = path / CLASSIFIER_FILE if path.is_dir() else path
    if not file.is_file():
        if path.suffix == ".mlpackage" or any(path.glob("*.tflite")) or any(path.glob("*.mlpackage")):
            raise _exported(path)
        raise RetvecLiteError(
            f"No trained classifier at {path}: there is no {CLASSIFIER_FILE}. Create one with `retvec-lite train`."
        )
    if file.suffix == ".tflite":
        raise _exported(path)
    weights, metadata = read_safetensors(file)
    description = _description(file, metadata)
    check_format(file, description, CLASSIFIER_FORMAT, CLASSIFIER_VERSION)
    if metadata.get("sha256") != _checksum(metadata["classifier"], weights):
        raise RetvecLiteError(
            f"{file} was changed since it was written (wrong SHA-256). Copy it again, or train again."
        )
    for part, kind in _PARTS.items():
        if not isinstance(description.get(part), kind):
            raise RetvecLiteError(f"{file}: the description has no valid {part}.")
    try:
        encoder, head = EncoderConfig.from_dict(description["encoder"]), head_from_dict(description["head"])
        found = description.get("ngrams")
        ngrams = None if found is None else NgramConfig.from_dict(found)
        table = description.get("meaning")
        meaning = None if table is None else MeaningConfig.from_dict(table)
        decision = Decision.from_dict(description.get("decision"))
        check_labels(description["labels"])
        decision.check_labels(description["labels"])
        check_fields(description["embedding"], {"name": TEXT})
        check_facts(description["training"])
        model = TrainedModel(
            encoder,
            head,
            tuple(description["labels"]),
            weights,
            description["embedding"],
            description["training"],
            ngrams,
            decision,
            meaning,
        )
        _check_model(file, model)
    except RetvecLiteError as error:
        # Its checksum is right, so nothing is damaged.
        place = "" if str(error).startswith(str(file)) else f"{file}: "
        raise RetvecLiteError(
            f"{place}{error} It was made by another version of retvec-lite: train it again."
        ) from error
    return model


def _exported(path: Path) -> RetvecLiteError:
    """Return the error about exported files in the place of a trained classifier; the weights of an export lie beside its files."""
    folder = path if path.is_dir() and path.suffix != ".mlpackage" else path.parent
    kept = "".join(f", or {file}, its weights" for file in folder.glob("reference.safetensors"))
    return RetvecLiteError(
        f"{path} was exported; this needs the trained classifier. Name the folder that `retvec-lite train` wrote{kept}."
    )


def _smallest(name: str, value: Floats) -> npt.NDArray[Any]:
    """Return weights as they are stored: codes, and tables of integers, in 8 bits; every release reads any type as float32."""
    with np.errstate(invalid="ignore"):
        integers = np.asarray(value, _STORED.get(name, np.float32))
    return integers if np.array_equal(integers, value) else np.asarray(value, np.float32)


def _checksum(description: str, weights: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return the SHA-256 of a classifier's description and of its weights, their names and shapes included."""
    digest = hashlib.sha256(description.encode())
    for name, value in sorted(weights.items()):
        digest.update(f"\n{name} {value.shape}\n".encode())
        digest.update(np.ascontiguousarray(value, "<f4").data)
    return digest.hexdigest()


def _description(file: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON object that describes a classifier; empty when there is none, as in other safetensors files."""
    description = parse_json(metadata.get("classifier", "{}"), f"{file}: the description")
    return description if isinstance(description, dict) else {}


def _check_model(file: Path, model: TrainedModel) -> None:
    """Check that labels, encoder, head and weights fit together."""
    labels, encoder = model.labels, model.encoder
    if isinstance(model.head, NgramHead) and (model.ngrams is None or encoder.max_words != 1):
        raise RetvecLiteError(f"{file}: the head ngrams needs n-grams, and max_words 1 since it reads no words.")
    layers = {
        name.removeprefix("embedding/"): value for name, value in model.weights.items() if name.startswith("embedding/")
    }
    inputs = encoder.word_length * BITS
    if layers:
        check_layers(file, layers)
        rows, inputs = layers["dense_0/kernel"].shape[0], layers["dense_2/kernel"].shape[1]
        if rows != encoder.word_length * BITS:
            raise RetvecLiteError(
                f"{file}: the encoder writes {encoder.word_length} characters per word, but the embedding reads {rows // BITS}."
            )
    expected = dict(model.head.shapes(inputs, len(labels), encoder.max_words))
    if model.ngrams is not None:
        expected |= ngram_shapes(model.ngrams, len(labels))
    if model.meaning is not None:
        expected |= meaning_shapes(model.meaning, len(labels))
    found = {name: value for name, value in model.weights.items() if not name.startswith("embedding/")}
    check_names(file, found, expected)
    for name, value in found.items():
        if value.shape != expected[name]:
            raise RetvecLiteError(f"{file}: {name} needs the shape {expected[name]}, but has {value.shape}.")
        check_finite(file, name, value)
    if model.meaning is not None:
        try:
            check_weights(model.meaning, model.weights)
        except RetvecLiteError as error:
            raise RetvecLiteError(f"{file}: {error}") from error


def check_format(path: str | os.PathLike[str], found: Mapping[str, Any], name: str, version: str | int) -> None:
    """Refuse, with RetvecLiteError, a file whose metadata name another format or version."""
    if found.get("format") != name or found.get("version") != version:
        raise RetvecLiteError(
            f"{path} is not a {name} file of version {version}: "
            f"its format is {shown(found.get('format'))}, its version {shown(found.get('version'))}."
        )


def read_safetensors(path: str | os.PathLike[str]) -> tuple[dict[str, Floats], dict[str, str]]:
    """Read the tensors, as float32, and the string metadata of a safetensors file.

    Raises:
        RetvecLiteError: when the file is missing or unreadable, or the package safetensors is not installed.
    """
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise RetvecLiteError(f"Reading weights needs safetensors. Run {install('.[train]')}.") from error
    try:
        require_size(path, os.stat(path).st_size)
        with safe_open(os.fspath(path), framework="numpy") as file:
            tensors = {name: np.asarray(file.get_tensor(name), np.float32) for name in sorted(file.keys())}
            return tensors, dict(file.metadata() or {})
    except FileNotFoundError as error:
        raise RetvecLiteError(f"{path} does not exist: name a safetensors file.") from error
    except (
        SafetensorError,
        OSError,
        TypeError,
        ValueError,
    ) as error:  # a type that NumPy lacks, or too many dimensions
        raise RetvecLiteError(f"{path} is not a readable safetensors file: {error}. Copy it again.") from error


def safetensors_bytes(tensors: Mapping[str, Floats], metadata: Mapping[str, str]) -> bytes:
    """Return the content of a safetensors file of float32 tensors: the same bytes for equal tensors and metadata."""
    return typed_safetensors_bytes({name: np.asarray(value, np.float32) for name, value in tensors.items()}, metadata)


def typed_safetensors_bytes(tensors: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """Return the content of a safetensors file whose tensors keep their types: the same bytes for equal tensors and metadata.

    The library writes the metadata in the random order of a hash map, so the header is written again with sorted keys.
    Format: 8 bytes of header length, JSON header, data (https://huggingface.co/docs/safetensors/index#format).
    """
    from safetensors.numpy import save

    data = save({name: np.ascontiguousarray(value) for name, value in tensors.items()}, metadata=dict(metadata))
    length = int.from_bytes(data[:8], "little")
    header = json.dumps(
        json.loads(data[8 : 8 + length]), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()
    header += b" " * (-len(header) % 8)
    rewritten: bytes = len(header).to_bytes(8, "little") + header + data[8 + length :]
    return rewritten
