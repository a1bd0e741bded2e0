"""From weights to an .mlpackage: what a package is called, how it stores weights, and how coremltools is imported.

`build`, `encoder` and `network` import coremltools: call `load_coremltools` before importing them, to keep its warnings away.
"""

import logging
import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from retvec_lite.converters.recipes import DEFAULT_IOS, IOS_VERSIONS, RECIPES, Recipe, find_recipe
from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.interpreters import silent_standard_error

FOUR_BITS_SINCE: Final = 18
"""The first iOS that knows 4-bit integers with one scale for each output, or for each block of a row."""


@dataclass(frozen=True, kw_only=True)
class Storage:
    """How one package stores its matrices.

    Attributes:
        recipe: the recipe, which has a Core ML form.
        ios: the oldest iOS version.
        block: for int4, how many weights of a row share a scale; None: the whole row.
    """

    recipe: Recipe
    ios: int
    block: int | None = None

    @property
    def computes(self) -> type[np.floating[Any]]:
        """The data type of the network's arithmetic. The encoder, the softmax and an LSTM always use float32."""
        assert self.recipe.coreml is not None
        return np.float32 if self.recipe.coreml.computes == "float32" else np.float16


def find_storage(recipe: str, ios: int = DEFAULT_IOS, block: int | None = None) -> Storage:
    """Return how a recipe is stored for an iOS version.

    Args:
        recipe: a name from `RECIPES`.
        ios: the oldest iOS version; macOS 13, 14 and 15 belong to iOS 16, 17 and 18.
        block: see `Storage`.

    Raises:
        RetvecLiteError: for a recipe without a Core ML form, an unsupported iOS, or a block where there can be none.
    """
    found = find_recipe(recipe)
    if found.coreml is None:
        known = ", ".join(name for name, item in RECIPES.items() if item.coreml is not None)
        raise RetvecLiteError(f"There is no recipe {recipe!r} for Core ML. Choose from {known}.")
    if ios not in IOS_VERSIONS:
        raise RetvecLiteError(f"iOS {ios} is not supported. Choose from {', '.join(map(str, IOS_VERSIONS))}.")
    if block is not None and (found.bits != 4 or ios < FOUR_BITS_SINCE):
        raise RetvecLiteError(
            f"Blocks of weights need the recipe int4 and iOS {FOUR_BITS_SINCE} or newer, not {recipe} and iOS {ios}."
        )
    return Storage(recipe=found, ios=ios, block=block)


def load_coremltools() -> Any:
    """Import coremltools, without its warnings about versions of other packages that it was not tested with.

    Raises:
        ModuleNotFoundError: when it is not installed.
    """
    with silent_standard_error(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import coremltools

        logging.getLogger("coremltools").setLevel(logging.ERROR)
    return coremltools
