"""The quantization recipes: what each stores and computes, and what `verify` holds it to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from retvec_lite.errors import RetvecLiteError


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One way to write the network's weights. The encoder, which computes with code points, stays as it is in all of them.

    Attributes:
        name: what users type, and the suffix of the file name.
        description: one line for help texts and reports.
        weights: how the network's matrices are stored; biases and layer norms stay float32.
        dynamic: whether matrix products run on 8-bit integers (activations quantized on the fly) instead of float32.
        parity_tolerance: largest difference of any embedding value or probability from the reference that is run with
            the file's own dequantized weights (DESIGN.md, section 1.4).
        embedding_cosine: least mean cosine of the embeddings to those of the float32 weights; None: not asked.
        label_agreement: least share of real texts with the same label as under the float32 weights; None: not asked.
        oldest_runtime: distribution and version of the oldest runtime that the recipe is meant for. What an artifact
            states comes from having run it there.
    """

    name: str
    description: str
    weights: Literal["float32", "float16", "int8", "int4"]
    dynamic: bool = False
    parity_tolerance: float
    embedding_cosine: float | None
    label_agreement: float | None
    oldest_runtime: tuple[str, str] = ("tflite-runtime", "2.14.0")


RECIPES: Final[Mapping[str, Recipe]] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="float32",
            description="weights as trained",
            weights="float32",
            parity_tolerance=1e-5,
            embedding_cosine=None,
            label_agreement=None,
        ),
        Recipe(
            name="float16",
            description="half-precision weights, float32 arithmetic: half the size",
            weights="float16",
            parity_tolerance=2e-3,
            embedding_cosine=0.99999,
            label_agreement=0.999,
        ),
        Recipe(
            name="int8",
            description="8-bit weights, one scale per output, float32 arithmetic: right on every runtime",
            weights="int8",
            parity_tolerance=2e-3,
            embedding_cosine=0.999,
            label_agreement=0.995,
        ),
        Recipe(
            name="int8-dynamic",
            description="8-bit weights and 8-bit arithmetic: fastest, current LiteRT only",
            weights="int8",
            dynamic=True,
            parity_tolerance=2e-2,
            embedding_cosine=0.999,
            label_agreement=0.995,
            oldest_runtime=("ai-edge-litert", "2.3.0"),
        ),
        Recipe(
            name="int4",
            description="4-bit weights and 8-bit arithmetic: smallest, current LiteRT only",
            weights="int4",
            dynamic=True,
            parity_tolerance=2e-2,
            embedding_cosine=0.99,
            label_agreement=0.985,
            oldest_runtime=("ai-edge-litert", "2.3.0"),
        ),
    )
}
DEFAULT_RECIPE: Final = "int8"


def find_recipe(name: str) -> Recipe:
    """The recipe called `name`; raises RetvecLiteError with the known names when there is none."""
    if name not in RECIPES:
        raise RetvecLiteError(f"Expected a recipe out of {', '.join(RECIPES)}, received {name!r}.")
    return RECIPES[name]
