"""The recipes: how each stores the network's weights, in every format, and the bounds that `verify` applies.

A recipe changes the network only. The encoder computes with code points and stays exact in all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from retvec_lite.errors import RetvecLiteError

DEFAULT_RECIPE: Final = "int8"
SMALLEST_RECIPE: Final = "int4"

SIZE_LIMIT: Final = 999_999
"""Bytes of an artifact with integer weights: less than 1 MB."""


class FormatFacts(NamedTuple):
    """What a recipe means in one format.

    Attributes:
        description: one line for help texts and reports.
        parity_tolerance: largest difference of any embedding value or probability from the NumPy reference that runs with
            the artifact's own dequantized weights.
        eight_bit: whether dense layers compute with 8-bit integers, to which their inputs are rounded on the fly.
    """

    description: str
    parity_tolerance: float
    eight_bit: bool = False


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One way to store the network's weights. Biases and layer norms stay float32.

    Attributes:
        name: what users type, the suffix of the file name, and the data type of the network's matrices.
        bits: bits per weight.
        formats: name of a format that has the recipe -> what it means there. Arithmetic in 16 bits, as in an .mlpackage, alone moves
            values of the default embedding by up to 7e-3 and probabilities by up to 1.3e-3.
        parity_tolerance: that of a format, see `within`; 0 before one is chosen.
        embedding_cosine: smallest mean cosine of the embeddings to those of the float32 weights; None: not checked.
        label_agreement: smallest share of real texts with the same label as under float32 weights; None: not checked.
        weight_bound: largest rounding error of a weight as a share of its tensor's largest: half of 1/127 and some room for a
            recognized 4-bit grid; with 4 bits, the best clipping may cost the largest weight 0.4 of itself.
        unclipped_bound: the same for weights that were not clipped; half a step of 15 even levels is 0.07.
        oldest_runtime: distribution and version of the oldest runtime that a .tflite of it is meant for. What a file states comes
            from running it.
    """

    name: str
    bits: int
    formats: Mapping[str, FormatFacts]
    parity_tolerance: float = 0.0
    embedding_cosine: float | None = None
    label_agreement: float | None = None
    weight_bound: float
    unclipped_bound: float
    oldest_runtime: tuple[str, str] = ("tflite-runtime", "2.14.0")

    def within(self, facts: FormatFacts) -> "Recipe":
        """Return the recipe with the bounds of what it means in a format."""
        return replace(self, parity_tolerance=facts.parity_tolerance)

    @property
    def size_limit(self) -> int | None:
        """Most bytes of an artifact, unless its training says otherwise (`max_kb`); None for float weights."""
        return SIZE_LIMIT if self.bits <= 8 else None


RECIPES: Final[Mapping[str, Recipe]] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="float32",
            bits=32,
            formats={
                "tflite": FormatFacts("weights as trained", 1e-5),
                "coreml": FormatFacts("weights as trained, float32 arithmetic", 1e-5),
                "onnx": FormatFacts("weights as trained", 1e-5),
            },
            weight_bound=0.0,
            unclipped_bound=0.0,
        ),
        Recipe(
            name="int8",
            bits=8,
            formats={
                "tflite": FormatFacts(
                    "8-bit weights, one scale per output, float32 arithmetic: right on every runtime", 2e-3
                ),
                "coreml": FormatFacts("8-bit weights, half-precision arithmetic", 1.5e-2),
                "engine": FormatFacts(
                    "weights of the int8 .tflite in as few bits as hold them, 16-bit activations", 2e-3
                ),
                "onnx": FormatFacts("8-bit weights, one scale per output, float32 arithmetic", 2e-3),
            },
            embedding_cosine=0.999,
            label_agreement=0.995,
            weight_bound=0.01,
            unclipped_bound=0.01,
        ),
        Recipe(
            name="int4",
            bits=4,
            formats={
                "tflite": FormatFacts(
                    "4-bit weights and 8-bit arithmetic: smallest and fastest, current LiteRT only", 2e-2, True
                ),
                "coreml": FormatFacts("4-bit weights, half-precision arithmetic", 1.5e-2),
            },
            embedding_cosine=0.99,
            label_agreement=0.985,
            weight_bound=0.45,
            unclipped_bound=0.15,
            oldest_runtime=("ai-edge-litert", "2.3.0"),
        ),
    )
}


def find_recipe(name: str) -> Recipe:
    """Return the recipe called `name`; raise RetvecLiteError when there is none."""
    if name not in RECIPES:
        raise RetvecLiteError(f"Unknown recipe {name!r}. Choose from {', '.join(RECIPES)}.")
    return RECIPES[name]
