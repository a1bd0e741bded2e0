"""A trained classifier as one safetensors file: the float reference that every exported artifact is held against."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.config import EncoderConfig
from retvec_lite.errors import RetvecLiteError
from retvec_lite.heads import HeadSpec, head_from_dict
from retvec_lite.safetensors_io import read_safetensors, safetensors_bytes

FORMAT: Final = "retvec-lite-classifier"
VERSION: Final = 1
FILE_NAME: Final = "classifier.safetensors"


@dataclasses.dataclass(frozen=True)
class Classifier:
    """Everything that turns code points into label probabilities.

    Attributes:
        encoder: the contract's parameters.
        head: which head, with its sizes.
        labels: class names in the order of the probabilities.
        weights: float32 arrays `embedding/...` (absent for RETVec-raw) and `head/...`.
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
        RetvecLiteError: when there is none, it cannot be read, or it was written under another contract version.
    """
    path = Path(path)
    file = path / FILE_NAME if path.is_dir() else path
    if not file.is_file():
        raise RetvecLiteError(
            f"Expected a trained classifier at {path} (a folder written by 'retvec-lite train'), received no {FILE_NAME} there."
        )
    weights, metadata = read_safetensors(file)
    about = json.loads(metadata.get("classifier", "{}"))
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        raise RetvecLiteError(
            f"Expected {file} to be a {FORMAT} file of version {VERSION}, "
            f"received format {about.get('format')!r}, version {about.get('version')!r}."
        )
    return Classifier(
        encoder=EncoderConfig.from_dict(about["encoder"]),
        head=head_from_dict(about["head"]),
        labels=tuple(about["labels"]),
        weights=weights,
        embedding=about["embedding"],
        training=about["training"],
    )
