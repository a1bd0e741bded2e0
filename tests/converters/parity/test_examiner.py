"""Which bound an embedding's difference is held to."""

from typing import Any

import numpy as np
import pytest

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig
from retvec_lite.converters.parity.examiner import EVERY_BIT_BOUND, StageComparison
from retvec_lite.converters.parity.golden_texts import BIT_TEXTS, golden_texts
from retvec_lite.converters.parity.oracle import Sample
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import load_default_embedding

CONFIG = EncoderConfig(max_chars=64, max_words=4)
BITS = f"golden text '{BIT_TEXTS} every bit'"
HOSTILE = "golden text 'negative values'"
TYPED = f"'{BIT_TEXTS} as a user may write it'"


class ZeroOracle:
    def embeddings(self, words: Any) -> Any:
        return np.zeros((1, len(words), 2), np.float32)

    def nearest(self, words: Any, found: Any) -> Any:
        return np.zeros_like(found)


def checks(recipe: str, **off: float) -> dict[str, Any]:
    """The checks where the embedding of each named text is off by so much."""
    names = {"bits": BITS, "hostile": HOSTILE, "typed": TYPED}
    rows = [contract.codepoints("some words", CONFIG.max_chars) for _ in off]
    sample = Sample.of([names[name] for name in off], rows, CONFIG)
    embedding = np.zeros((len(off), CONFIG.max_words, 2), np.float32)
    embedding[:, 0, 0] = list(off.values())
    answers = {
        "words": np.stack(list(sample.slots)),
        "bits": np.stack([contract.bits(words) for words in sample.slots]),
        "embedding": embedding,
    }
    stages = StageComparison(answers)
    stages.compare(answers, sample, ZeroOracle())  # type: ignore[arg-type]
    return {
        check.name: check for check in stages.checks(find_recipe(recipe).within(find_recipe(recipe).formats["tflite"]))
    }


def test_words_of_every_bit_have_a_bound_of_their_own() -> None:
    found = checks("float32", bits=3e-5, hostile=5e-6)
    assert all(check.ok for check in found.values())
    assert found["embedding of every bit"].bound == EVERY_BIT_BOUND
    assert found["embedding"].bound == 1e-5


@pytest.mark.parametrize("name", ["hostile", "typed"])
def test_no_other_text_has(name: str) -> None:
    found = checks("float32", bits=0.0, **{name: 3e-5})
    assert not found["embedding"].ok and found["embedding of every bit"].ok


def test_words_of_every_bit_have_a_bound() -> None:
    assert not checks("float32", bits=6e-5)["embedding of every bit"].ok


def test_a_recipe_with_a_wider_bound_keeps_it() -> None:
    assert checks("int4", bits=1e-2)["embedding of every bit"].ok


def test_there_are_such_texts() -> None:
    assert sum(text.name.startswith(BIT_TEXTS) for text in golden_texts(CONFIG)) >= 2


def in_plain_float32(inputs: Any, weights: Any) -> Any:
    """The embedding by float32 sums, one addend after another, as a slow but honest runtime would."""
    values = inputs.astype(np.float32)
    for layer in range(3):
        kernel, bias = (weights[f"embedding/dense_{layer}/{part}"] for part in ("kernel", "bias"))
        sums = np.zeros((len(values), kernel.shape[1]), np.float32)
        for column, row in zip(values.T, kernel, strict=True):
            sums += column[:, None] * row
        sums += bias
        values = reference_network.gelu(sums) if layer < 2 else np.tanh(sums)
    return values


def test_no_float32_sums_keep_to_the_usual_bound_where_half_of_all_bits_are_set() -> None:
    weights = load_default_embedding().weights
    bits = (np.random.default_rng(0).random((400, 336)) < 0.5).astype(np.float32)
    off = np.abs(in_plain_float32(bits, weights) - reference_network.embed(bits, weights)).max()
    assert 1e-5 < off < EVERY_BIT_BOUND
