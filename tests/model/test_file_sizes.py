"""Estimated sizes: tests/training/test_linear_fitter.py compares them with files."""

import pytest
from exported import EXPORTED, ORDERS

from retvec_lite.converters.recipes import RECIPES
from retvec_lite.model.file_sizes import RECIPE_BITS, describe_sizes, estimate_bytes
from retvec_lite.model.weight_files import load_trained_model


def test_the_recipes_are_those_of_the_exporter() -> None:
    assert {name: recipe.bits for name, recipe in RECIPES.items()} == RECIPE_BITS


@pytest.mark.parametrize("head", ORDERS)
def test_even_small_files_are_nearly_as_large_as_estimated(head: str) -> None:
    """The signature `embed` is not estimated."""
    model = load_trained_model(EXPORTED / head / "reference.safetensors")
    found = estimate_bytes({name: value.shape for name, value in model.weights.items()}, model.encoder, model.labels)
    for recipe in ORDERS[head].split(","):
        size = (EXPORTED / head / f"classifier-{recipe}.tflite").stat().st_size
        assert abs(found[recipe] - size) < 40_000, recipe


def test_labels_take_bytes_beside_their_weights() -> None:
    model = load_trained_model(EXPORTED / "pool" / "reference.safetensors")
    shapes = {name: value.shape for name, value in model.weights.items()}
    few, many = (estimate_bytes(shapes, model.encoder, labels)["int8"] for labels in (("a",) * 10, ("ab" * 20,) * 10))
    assert many - few == 10 * 2 * 39


def test_sizes_of_a_saved_classifier_keep_the_order_of_the_recipes() -> None:
    assert describe_sizes({"float16": 3_000, "float32": 4_000, "int4": 1_000, "int8": 2_000}).endswith(
        "4 kB as float32, 2 kB as int8, 1 kB as int4."
    )
