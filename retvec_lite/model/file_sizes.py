"""How large exported files will be, estimated from the shapes of the weights: before anything is trained."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from retvec_lite.contract import EncoderConfig
from retvec_lite.meaning import PROJECTION
from retvec_lite.runtime.artifact import short_signatures

RECIPE_BITS: Final[Mapping[str, int]] = {"float32": 32, "float16": 16, "int8": 8, "int8-dynamic": 8, "int4": 4}
"""Recipe -> bits of a weight of the network. N-grams and meaning take 8 in every recipe, biases 32."""

USUAL_KB: Final = 1000
"""Most kilobytes (1,000 bytes) of a file with integer weights, unless a training says otherwise (`max_kb`)."""

_OF_AN_OUTPUT: Final = 12
"""Bytes of the scale and the zero point of each output of a matrix of integers."""

_TABLES: Final = 11_000
_OF_A_CHARACTER: Final = 31
_OF_LOWER_CASE: Final = 8_000
"""Bytes of the encoder: its tables, what grows with the code points that it reads, and the table that n-grams need besides."""

_SIGNATURE: Final = 22_000
_NGRAM_SIGNATURE: Final = 27_000
"""Bytes of the graph of a signature, without n-grams and with them."""

_MEANING: Final = 6_000
_MEANING_SIGNATURE: Final = 9_500
"""What words with a meaning need besides their weights: in the encoder's tables, and in the graph of each signature."""

_METADATA: Final = 2_700
_OF_A_LABEL: Final = 7
"""Bytes beside the text of a label, which stands in a file twice."""

Shapes = Mapping[str, tuple[int, ...]]
"""Weight by name -> its shape."""


def estimate_bytes(shapes: Shapes, encoder: EncoderConfig, labels: Sequence[str]) -> dict[str, int]:
    """Return about how many bytes the `.tflite` of each recipe will take, to a few per cent.

    The constants were measured on exports of every head with 8 to 64 word slots and 10 to 1,000 labels.
    """
    return {recipe: _weights(shapes, bits) + around(shapes, encoder, labels) for recipe, bits in RECIPE_BITS.items()}


def describe_sizes(sizes: Mapping[str, int]) -> str:
    """Return estimated sizes in words.

    Example:
        >>> from retvec_lite.model.file_sizes import describe_sizes
        >>> describe_sizes({"float32": 3_612_000, "int8": 953_000, "int8-dynamic": 953_000})
        'A .tflite will take about 3,612 kB as float32, 953 kB as int8 and int8-dynamic.'
    """
    recipes: dict[str, list[str]] = {}
    for recipe in (name for name in RECIPE_BITS if name in sizes):  # a saved classifier has them sorted by name
        recipes.setdefault(f"{sizes[recipe] / 1000:,.0f} kB", []).append(recipe)
    found = (f"{size} as {' and '.join(names)}" for size, names in recipes.items())
    return f"A .tflite will take about {', '.join(found)}."


def around(shapes: Shapes, encoder: EncoderConfig, labels: Sequence[str]) -> int:
    """Return about how many bytes of a file are not weights: graphs, tables of the encoder, labels, metadata."""
    has_ngrams, has_meaning = "ngrams/table" in shapes, "meaning/rows" in shapes
    signatures = 1 + len(short_signatures(encoder))
    return (
        _TABLES
        + _OF_A_CHARACTER * encoder.max_chars
        + (has_ngrams or has_meaning) * _OF_LOWER_CASE
        + signatures * (_NGRAM_SIGNATURE if has_ngrams else _SIGNATURE)
        + has_meaning * (_MEANING + signatures * _MEANING_SIGNATURE)
        + _METADATA
        + sum(2 * len(label.encode()) + _OF_A_LABEL for label in labels)
    )


def _weights(shapes: Shapes, bits: int) -> int:
    total = 0
    for name, shape in shapes.items():
        numbers = int(np.prod(shape))
        if name == PROJECTION:
            total += numbers * max(bits, 8) // 8 + (shape[-1] * _OF_AN_OUTPUT if bits <= 8 else 0)
        elif name.startswith(("ngrams/", "meaning/")) and name != "ngrams/bias":
            total += numbers
        elif len(shape) > 1 and name != "head/positions":
            total += numbers * bits // 8 + (shape[-1] * _OF_AN_OUTPUT if bits <= 8 else 0)
        else:
            total += 4 * numbers
    return total
