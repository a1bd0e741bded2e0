"""A trained classifier as one safetensors file: the float reference that every exported artifact is held against."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.characters import filters_in, shapes_in
from retvec_lite.config import BITS, EncoderConfig
from retvec_lite.embedding_file import check_layers
from retvec_lite.errors import RetvecLiteError
from retvec_lite.heads import HeadSpec, head_from_dict
from retvec_lite.safetensors_io import read_safetensors, safetensors_bytes

FORMAT: Final = "retvec-lite-classifier"
VERSION: Final = 1
FILE_NAME: Final = "classifier.safetensors"

_PARTS: Final = {"encoder": dict, "head": dict, "labels": list, "embedding": dict, "training": dict}
"""What the file's description must hold, and of which JSON type."""


@dataclasses.dataclass(frozen=True)
class Classifier:
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
            "format": FORMAT,
            "version": VERSION,
            "encoder": self.encoder.to_dict(),
            "head": self.head.to_dict(),
            "labels": list(self.labels),
            "embedding": dict(self.embedding),
            "training": dict(self.training),
        }
        return safetensors_bytes(self.weights, {"classifier": json.dumps(about, sort_keys=True, ensure_ascii=False)})


def load_classifier(path: str | Path) -> Classifier:
    """Read a classifier from its file, or from the folder that `retvec-lite train` wrote.

    Raises:
        RetvecLiteError: when there is none, it cannot be read, was written under another contract version, or its weights
            do not fit its description.
    """
    path = Path(path)
    file = path / FILE_NAME if path.is_dir() else path
    if not file.is_file():
        raise RetvecLiteError(
            f"Expected a trained classifier at {path} (a folder written by 'retvec-lite train'), received no {FILE_NAME} there."
        )
    weights, metadata = read_safetensors(file)
    about = _description(metadata)
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        raise RetvecLiteError(
            f"Expected {file} to be a {FORMAT} file of version {VERSION}, "
            f"received format {about.get('format')!r}, version {about.get('version')!r}."
        )
    missing = [part for part, kind in _PARTS.items() if not isinstance(about.get(part), kind)]
    if missing:
        raise RetvecLiteError(f"Expected {file} to describe its {', '.join(_PARTS)}, received no {missing[0]}.")
    try:
        encoder = EncoderConfig.from_dict(about["encoder"])
    except RetvecLiteError as error:
        raise RetvecLiteError(f"{error} (in {file})") from error
    classifier = Classifier(
        encoder=encoder,
        head=head_from_dict(about["head"]),
        labels=tuple(about["labels"]),
        weights=weights,
        embedding=about["embedding"],
        training=about["training"],
    )
    _check(file, classifier)
    return classifier


def _description(metadata: Mapping[str, str]) -> dict[str, Any]:
    """The JSON object about the file; empty when there is none, as in a file of another kind."""
    try:
        about = json.loads(metadata.get("classifier", "{}"))
    except (ValueError, RecursionError):
        return {}
    return about if isinstance(about, dict) else {}


def _check(file: Path, classifier: Classifier) -> None:
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
