"""Build a .retvec file from a classifier: the same stored integers as in the .tflite of the recipe."""

import json
import struct
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats
from retvec_lite.converters.recipes import Recipe
from retvec_lite.converters.tflite.quantize import to_grid
from retvec_lite.data.labels import problem_in_label
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import PROJECTION
from retvec_lite.model.heads import CnnHead
from retvec_lite.model.weight_files import LAYERS, TrainedModel
from retvec_lite.ngrams import table_integers
from retvec_lite.runtime.retvec_check import decision_settings, labels_section, ngram_settings, ranges_of
from retvec_lite.runtime.retvec_file import HEADS, SETTINGS, Layer, settings_of, to_file

ADDS_ROWS: Final = ("embedding/dense_0",)
"""Layers that read binary digits."""

PROJECTIONS: Final = ("ngrams/projection", PROJECTION)
"""Layers beside the network, whose weights are named like themselves."""

TABLES: Final[Mapping[str, str]] = {
    "meaning/displacements": "u1",
    "meaning/rows": "u1",
    "meaning/codes": "u1",
    "meaning/codebooks": "i1",
}
"""Weights of meaning that are sections of bytes -> the type of a number. Texts' vectors have length 1, so codebooks need no scale."""


def check_model(model: TrainedModel) -> None:
    """Raise RetvecLiteError for a classifier that the engine cannot compute."""
    name = model.head.name
    if name not in HEADS:
        raise RetvecLiteError(
            f"The engine does not compute the head {name}: export tflite, or train with {', '.join(HEADS[:-1])}."
        )
    if isinstance(model.head, CnnHead) and model.head.region > 1:
        raise RetvecLiteError("The engine computes no regions of several words: train the classifier again.")
    if "characters/kernel" in model.weights:
        raise RetvecLiteError("The engine computes no character features: train the classifier again.")
    for label in model.labels:
        if problem := problem_in_label(label):
            raise RetvecLiteError(f"The label {label!r} {problem}. Rename it.")


def build_file(model: TrainedModel, recipe: Recipe, metadata: Mapping[str, Any]) -> bytes:
    """Return the file of a classifier that `check_model` passed, under a recipe with integer weights; the same bytes each time."""
    decision = model.decision
    sections = {
        "settings": struct.pack(f"<{len(SETTINGS)}I", *(_settings(model)[name] for name in SETTINGS)),
        "labels": labels_section(model.labels),
        "numbers": struct.pack("<2d", decision.threshold or 0.0, decision.unknown_power),
        "characters_known": ranges_of(decision.characters),
    }
    if decision.thresholds is not None:
        sections["thresholds"] = struct.pack(f"<{len(decision.thresholds)}d", *decision.thresholds)
    sections |= {name: _layer(model.weights, name, recipe).to_bytes() for name in layer_names(model)}
    if isinstance(model.head, CnnHead):
        for block in range(model.head.blocks):
            name = f"head/block_{block}/depthwise"
            sections[name] = model.weights[name].astype("<f4").tobytes()
    if model.ngrams is not None:
        sections |= _ngrams(model.weights)
    if model.meaning is not None:
        sections |= {name: model.weights[name].astype(kind).tobytes() for name, kind in TABLES.items()}
    text = json.dumps(metadata, ensure_ascii=False, sort_keys=True)
    sections["metadata"] = text.encode()
    return to_file(sections)


def layer_names(model: TrainedModel) -> list[str]:
    """Return the dense layers of a classifier, as sections are named."""
    kernels = [name.removesuffix("/kernel") for name in model.weights if name.endswith("/kernel")]
    order = [*(f"embedding/{layer}" for layer in LAYERS), "head/word", "head/region"]
    blocks = sorted(name for name in kernels if name.startswith("head/block_"))
    found = [name for name in (*order, *blocks, "head/logits") if name in kernels]
    return [*found, *(name for name in PROJECTIONS if name in model.weights)]


def _layer(weights: Mapping[str, Floats], name: str, recipe: Recipe) -> Layer:
    is_beside = name in PROJECTIONS
    kernel = weights[name if is_beside else f"{name}/kernel"]
    if is_beside:
        bias = weights["ngrams/bias"] if name != PROJECTION else np.zeros(kernel.shape[1], np.float32)
    else:
        bias = weights[f"{name}/bias"]
    # As in the .tflite, where an odd number of inputs has no kernel for 4 bits, and what is beside the network gets 8 at least.
    bits = 8 if recipe.bits == 4 and (is_beside or len(kernel) % 2) else recipe.bits
    integers, scales = to_grid(np.ascontiguousarray(kernel.T), bits, 0)
    adds_rows = name in ADDS_ROWS
    return Layer(np.ascontiguousarray(integers.T) if adds_rows else integers, scales, bias, bits, adds_rows)


def _settings(model: TrainedModel) -> dict[str, int]:
    decision, ngrams, weights, head = model.decision, model.ngrams, model.weights, model.head
    found = settings_of(model.encoder) | {
        "labels": len(model.labels),
        "head": HEADS.index(head.name),
        "blocks": head.blocks if isinstance(head, CnnHead) else 0,
        "region": head.region if isinstance(head, CnnHead) else 0,
        "has_embedding": int("embedding/dense_0/kernel" in weights),
        "character_window": 0,
    }
    return found | decision_settings(decision, model.labels) | ngram_settings(ngrams)


def _ngrams(weights: Mapping[str, Floats]) -> dict[str, bytes]:
    table, squares = weights["ngrams/table"], weights["ngrams/squares"]
    has_rank = "ngrams/projection" in weights
    integers, scales = (
        (np.rint(table).astype(np.int8), np.ones(table.shape[1], np.float32)) if has_rank else table_integers(table)
    )
    found = {
        "ngrams/table": np.concatenate([integers, np.rint(squares).astype(np.int8)[:, None]], axis=1).tobytes(),
        "ngrams/scales": scales.astype("<f4").tobytes(),
    }
    if "ngrams/codes" in weights:
        found["ngrams/codes"] = weights["ngrams/codes"].astype(np.uint8).tobytes()
    if not has_rank:
        found["ngrams/bias"] = weights["ngrams/bias"].astype("<f4").tobytes()
    return found
