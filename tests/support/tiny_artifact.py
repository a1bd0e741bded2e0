"""An exported file in miniature for the tests of the light path: data/tiny.tflite with a zip tail like the exporter's."""

import hashlib
import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import EncoderConfig
from retvec_lite.runtime.retvec_file import HEADS, SETTINGS, settings_of, to_file

LABELS = ("digits", "CAPITALS", 'other, 🙂 "quoted"')
MODEL = (Path(__file__).parents[1] / "data" / "tiny.tflite").read_bytes()
MAX_CHARS = 32
CONFIG = EncoderConfig(max_chars=MAX_CHARS, max_words=8)
SIGNATURES = [
    {"name": "classify", "max_chars": 32, "max_words": 8},
    {"name": "embed", "max_chars": 32, "max_words": 8, "dimension": 2},
]
"""Of tiny_signatures.tflite, see data/make_tiny_signatures.py."""


def tiny_metadata(**changes: Any) -> dict[str, Any]:
    """`retvec_lite.json` of the tiny model, with some keys changed; None removes a key."""
    metadata = {
        "format": "retvec-lite",
        "contract_version": 3,
        "encoder": CONFIG.to_dict(),
        "labels": list(LABELS),
        "head": "pool",
        "recipe": "float32",
        "embedding": "none",
        "oldest_runtime": {"tflite-runtime": "2.14.0"},
        "created_by": "retvec-lite tests",
        "signatures": SIGNATURES[:1],
        "model_sha256": hashlib.sha256(MODEL).hexdigest(),
        **changes,
    }
    return {key: value for key, value in metadata.items() if value is not None}


def tiny_artifact(members: dict[str, str] | None = None, model: bytes = MODEL, **changes: Any) -> bytes:
    """The bytes of the tiny model with its zip tail; `members` replaces the whole tail, `changes` the metadata's keys."""
    if members is None:
        members = {
            "labels.txt": "".join(f"{label}\n" for label in LABELS),
            "retvec_lite.json": json.dumps(tiny_metadata(**changes)),
        }
    tail = io.BytesIO()
    with zipfile.ZipFile(tail, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return model + tail.getvalue()


def tiny_signatures_artifact(**changes: Any) -> bytes:
    """The bytes of the miniature with both signatures, with its zip tail; `changes` as for `tiny_artifact`."""
    model = (Path(__file__).parents[1] / "data" / "tiny_signatures.tflite").read_bytes()
    digest = hashlib.sha256(model).hexdigest()
    return tiny_artifact(model=model, **{"signatures": SIGNATURES, "model_sha256": digest, **changes})


def tiny_retvec(**changes: Any) -> bytes:
    """The bytes of a .retvec that can be read, but not run; `changes` as for `tiny_artifact`."""
    places, start = b"", 0
    for label in LABELS:
        start += len(label.encode()) + 1
        places += struct.pack("<I", start)
    told = settings_of(CONFIG) | {"labels": len(LABELS), "head": HEADS.index("ngrams")}
    settings = struct.pack(f"<{len(SETTINGS)}I", *(told.get(name, 0) for name in SETTINGS))
    names = b"".join(label.encode() + b"\0" for label in LABELS)
    metadata = json.dumps(tiny_metadata(recipe="int8", **changes)).encode()
    return to_file({"settings": settings, "labels": places + names, "numbers": bytes(16), "metadata": metadata})


def tiny_probabilities(text: str) -> npt.NDArray[np.float64]:
    """What the tiny model answers: float64 [3]."""
    codes = [ord(character) for character in text[:MAX_CHARS]]
    digits, capitals = sum(48 <= code <= 57 for code in codes), sum(65 <= code <= 90 for code in codes)
    powers = np.exp(np.array([digits, capitals, 0.5]) - max(digits, capitals, 0.5))
    return np.asarray(powers / powers.sum())
