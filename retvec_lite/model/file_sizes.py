"""How large exported files will be, from the shapes of the weights: before anything is trained.

A file consists of its weights, whose bytes follow from their shapes, and of what `graph_sizes.json` tells: the bytes of graphs, tables
and descriptions, which `python -m tools.graph_sizes` measured on real exports.
"""

import functools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from retvec_lite.contract import EncoderConfig
from retvec_lite.decision import Decision
from retvec_lite.meaning import PROJECTION
from retvec_lite.runtime.retvec_file import ALIGN

RECIPE_BITS: Final[Mapping[str, int]] = {"float32": 32, "int8": 8, "int4": 4}
"""Recipe -> bits of a weight of the network. N-grams and meaning take 8 in every recipe, biases 32."""

LARGEST: Final = "int8"
"""The recipe of the largest files with integer weights."""

USUAL_KB: Final = 1000
"""Most kilobytes (1,000 bytes) of a file with integer weights, unless a training says otherwise (`max_kb`)."""

GRAPH_SIZES: Final = Path(__file__).with_name("graph_sizes.json")
"""File -> part -> its bytes."""

_TFLITE: Final = "tflite"

_INTEGERS: Final = frozenset(f"ngrams/{part}" for part in ("table", "squares", "codes")) | frozenset(
    f"meaning/{part}" for part in ("displacements", "rows", "codes", "codebooks")
)
"""Weights that are bytes in every recipe."""

_BESIDE: Final = ("ngrams/projection", PROJECTION)
"""Matrices beside the network."""

_MARKS: Final = (
    *(f"head/{part}" for part in ("word/kernel", "region/kernel", "vector/kernel")),
    *("ngrams/table", "meaning/rows"),
)
"""Weights that tell which parts a graph has."""

_OF_AN_OUTPUT: Final = 12
"""Bytes of the scale and the zero point of each output of a matrix of integers in a .tflite."""

_ORIGIN: Final = 160
"""Bytes of what a file says of its training: data, day, texts, seed and accuracy."""

Shapes = Mapping[str, tuple[int, ...]]
"""Weight by name -> its shape."""

_NOTHING: Final = Decision()


def estimate_bytes(
    shapes: Shapes, encoder: EncoderConfig, labels: Sequence[str], decision: Decision = _NOTHING
) -> dict[str, int]:
    """Return about how many bytes the `.tflite` of each recipe will take."""
    around = _around(_TFLITE, shapes, encoder, labels, decision)
    return {recipe: _stored_in_tflite(shapes, bits) + around for recipe, bits in RECIPE_BITS.items()}


def estimate_files(
    shapes: Shapes, encoder: EncoderConfig, labels: Sequence[str], decision: Decision = _NOTHING
) -> dict[str, int]:
    """Return how many bytes each kind of file will take as int8: at most 7,000 too many, or 2,500 too few (150 labels).

    The names are those of formats, and `tflite embed`, whose files are larger. A .retvec is not there: it is smaller than the .tflite.
    """
    return {
        file: stored_bytes(file, shapes) + _around(file, shapes, encoder, labels, decision) for file in _graph_sizes()
    }


def describe_sizes(sizes: Mapping[str, int]) -> str:
    """Return estimated sizes in words."""
    # A saved classifier has them sorted by name.
    found = (f"{sizes[recipe] / 1000:,.0f} kB as {recipe}" for recipe in RECIPE_BITS if recipe in sizes)
    return f"A .tflite will take about {', '.join(found)}."


def stored_bytes(file: str, shapes: Shapes) -> int:
    """Return how many bytes of a kind of file, as int8, are weights."""
    if file.startswith(_TFLITE):
        return _stored_in_tflite(shapes, RECIPE_BITS[LARGEST])
    return sum(_in_package(name, shape) for name, shape in shapes.items())


def text_bytes(labels: Sequence[str], decision: Decision) -> int:
    """Return how many bytes of a file are texts of labels, which stand in it twice, and the decision."""
    total = sum(2 * len(label.encode()) for label in labels)
    return total + len(json.dumps(decision.to_dict(), ensure_ascii=False, indent=1).encode())


def parts_of(shapes: Shapes, encoder: EncoderConfig, labels: Sequence[str]) -> dict[str, int]:
    """Return how often a file has each part beside weights and texts."""
    parts = {"graph": 1, **{name: 1 for name in _MARKS if name in shapes}}
    if blocks := sum(name.endswith("/depthwise") for name in shapes):
        parts["block"] = blocks
    return parts | {"code point": encoder.max_chars, "word": encoder.max_words, "label": len(labels)}


def _around(file: str, shapes: Shapes, encoder: EncoderConfig, labels: Sequence[str], decision: Decision) -> int:
    """Return the bytes of a kind of file that are not weights."""
    sizes = _graph_sizes()[file]
    total = sum(count * sizes[part] for part, count in parts_of(shapes, encoder, labels).items())
    return math.ceil(total) + _ORIGIN + text_bytes(labels, decision)


@functools.cache
def _graph_sizes() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = json.loads(GRAPH_SIZES.read_text(encoding="utf-8"))
    return found


def _stored_in_tflite(shapes: Shapes, bits: int) -> int:
    total = 0
    for name, shape in shapes.items():
        numbers = math.prod(shape)
        if _is_matrix(name, shape):
            # What is beside the network gets 8 bits at least, and 4 bits need an even number of inputs.
            own = max(bits, 8) if name in _BESIDE or shape[0] % 2 else bits
            total += numbers * own // 8 + (shape[-1] * _OF_AN_OUTPUT if bits <= 8 else 0)
        else:
            total += numbers if name in _INTEGERS else 4 * numbers
    return total


def _in_package(name: str, shape: tuple[int, ...]) -> int:
    """Return the bytes of a weight in an .mlpackage: each array has a header, and starts at a multiple of `ALIGN`."""
    numbers = math.prod(shape)
    if name in _INTEGERS:
        arrays = [numbers]
    elif name in (*_BESIDE, "ngrams/bias"):
        arrays = [4 * numbers]
    else:
        arrays = [numbers, 2 * shape[-1]] if _is_matrix(name, shape) else [2 * numbers]
    return sum(ALIGN - (-array // ALIGN) * ALIGN for array in arrays)


def _is_matrix(name: str, shape: tuple[int, ...]) -> bool:
    """Return whether a weight is stored with a scale for each output."""
    return len(shape) > 1 and name not in _INTEGERS
