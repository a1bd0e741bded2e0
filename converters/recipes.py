"""The recipes: how each stores the network's weights, in every format, and the bounds that `verify` applies.

A recipe changes the network only. The encoder computes with code points and stays exact in all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from retvec_lite.errors import RetvecLiteError

Weights = Literal["float32", "float16", "int8", "int4"]

DEFAULT_RECIPE: Final = "int8"
SMALLEST_RECIPE: Final = "int4"

IOS_VERSIONS: Final = (16, 17, 18)
"""Oldest iOS versions that an .mlpackage can be made for; macOS 13, 14 and 15 belong to them."""

DEFAULT_IOS: Final = 16

SIZE_LIMIT: Final = 999_999
"""Bytes of an artifact with integer weights: less than 1 MB."""

_LITERT_OPERATORS: Final[Mapping[str, int]] = {"FULLY_CONNECTED": 12, "DEQUANTIZE": 6}
"""Operator versions that only current LiteRT runs correctly: 8-bit matrix products with one scale per output, int4 weights."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a recipe means in one format.

    Attributes:
        description: one line for help texts and reports.
        parity_tolerance: largest difference of any embedding value or probability from the NumPy reference that runs with
            the artifact's own dequantized weights.
    """

    description: str
    parity_tolerance: float


@dataclass(frozen=True, kw_only=True)
class CoreMLFacts(Facts):
    """What a recipe means in an .mlpackage.

    Arithmetic in 16 bits alone moves values of the default embedding by up to 7e-3 and probabilities by up to 1.3e-3.

    Attributes:
        computes: data type of the network's arithmetic. The encoder, the softmax and an LSTM always use float32.
        unclipped_bound: like `Recipe.weight_bound`, for weights that were not clipped. With 4 bits, half a step of 15 even
            levels is 0.07.
    """

    computes: Literal["float32", "float16"]
    unclipped_bound: float


EngineFacts = Facts
"""What a recipe means in a .retvec: activations have 16 bits, and words that are kept are rounded to as many."""


@dataclass(frozen=True, kw_only=True)
class Recipe(Facts):
    """One way to store the network's weights; as `Facts`, what it means in a .tflite.

    Attributes:
        name: what users type, and the suffix of the file name.
        weights: data type of the network's matrices. Biases and layer norms stay float32.
        dynamic: whether matrix products use 8-bit integers (activations are quantized on the fly) instead of float32.
        bits: bits per weight.
        embedding_cosine: smallest mean cosine of the embeddings to those of the float32 weights; None: not checked.
        label_agreement: smallest share of real texts with the same label as under float32 weights; None: not checked.
        weight_bound: largest rounding error of a weight as a share of its tensor's largest: half a step of 10 mantissa
            bits; half of 1/127 and some room for a recognized 4-bit grid; with 4 bits, the best clipping may cost the largest
            weight 0.4 of itself.
        oldest_runtime: distribution and version of the oldest runtime that the recipe is meant for. What an artifact
            states comes from running it.
        newer_operators: name -> version of operators that this recipe may use in a newer version than the oldest runtime
            knows.
        coreml: the same recipe in an .mlpackage; None: there is none.
        engine: the same recipe in a .retvec; None: there is none.
    """

    name: str
    weights: Weights
    dynamic: bool = False
    bits: int
    embedding_cosine: float | None
    label_agreement: float | None
    weight_bound: float
    oldest_runtime: tuple[str, str] = ("tflite-runtime", "2.14.0")
    newer_operators: Mapping[str, int] = field(default_factory=dict)
    coreml: CoreMLFacts | None
    engine: EngineFacts | None = None

    @property
    def size_limit(self) -> int | None:
        """Most bytes of an artifact, unless its training says otherwise (`max_kb`); None for float weights."""
        return SIZE_LIMIT if self.bits <= 8 else None


RECIPES: Final[Mapping[str, Recipe]] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="float32",
            description="weights as trained",
            weights="float32",
            bits=32,
            parity_tolerance=1e-5,
            embedding_cosine=None,
            label_agreement=None,
            weight_bound=0.0,
            coreml=CoreMLFacts(
                description="weights as trained, float32 arithmetic",
                computes="float32",
                parity_tolerance=1e-5,
                unclipped_bound=0.0,
            ),
        ),
        Recipe(
            name="float16",
            description="half-precision weights, float32 arithmetic: half the size",
            weights="float16",
            bits=16,
            parity_tolerance=2e-3,
            embedding_cosine=0.99999,
            label_agreement=0.999,
            weight_bound=2**-10,
            coreml=CoreMLFacts(
                description="half-precision weights and arithmetic",
                computes="float16",
                parity_tolerance=1.5e-2,
                unclipped_bound=2**-10,
            ),
        ),
        Recipe(
            name="int8",
            description="8-bit weights, one scale per output, float32 arithmetic: right on every runtime",
            weights="int8",
            bits=8,
            parity_tolerance=2e-3,
            embedding_cosine=0.999,
            label_agreement=0.995,
            weight_bound=0.01,
            coreml=CoreMLFacts(
                description="8-bit weights, half-precision arithmetic",
                computes="float16",
                parity_tolerance=1.5e-2,
                unclipped_bound=0.01,
            ),
            engine=EngineFacts(description="8-bit weights, 16-bit activations", parity_tolerance=2e-3),
        ),
        Recipe(
            name="int8-dynamic",
            description="8-bit weights and 8-bit arithmetic: fastest, current LiteRT only",
            weights="int8",
            dynamic=True,
            bits=8,
            parity_tolerance=2e-2,
            embedding_cosine=0.999,
            label_agreement=0.995,
            weight_bound=0.01,
            oldest_runtime=("ai-edge-litert", "2.3.0"),
            newer_operators=_LITERT_OPERATORS,
            coreml=None,
        ),
        Recipe(
            name="int4",
            description="4-bit weights and 8-bit arithmetic: smallest, current LiteRT only",
            weights="int4",
            dynamic=True,
            bits=4,
            parity_tolerance=2e-2,
            embedding_cosine=0.99,
            label_agreement=0.985,
            weight_bound=0.45,
            oldest_runtime=("ai-edge-litert", "2.3.0"),
            newer_operators=_LITERT_OPERATORS,
            coreml=CoreMLFacts(
                description="4-bit weights, half-precision arithmetic",
                computes="float16",
                parity_tolerance=1.5e-2,
                unclipped_bound=0.15,
            ),
            engine=EngineFacts(description="4-bit weights, 16-bit activations", parity_tolerance=2e-3),
        ),
    )
}


def find_recipe(name: str) -> Recipe:
    """Return the recipe called `name`; raise RetvecLiteError when there is none."""
    if name not in RECIPES:
        raise RetvecLiteError(f"Unknown recipe {name!r}. Choose from {', '.join(RECIPES)}.")
    return RECIPES[name]
