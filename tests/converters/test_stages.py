"""Which bound an embedding's difference is held to."""

from typing import Any

import numpy as np
import pytest

from retvec_lite import reference
from retvec_lite.config import EncoderConfig
from retvec_lite.converters.golden import BIT_TEXTS, golden_texts
from retvec_lite.converters.oracle import Sample
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.converters.stages import EVERY_BIT_BOUND, Stages

CONFIG = EncoderConfig(max_chars=64, max_words=4)
BITS = f"golden text '{BIT_TEXTS} every bit'"
HOSTILE = "golden text 'negative values'"
TYPED = f"'{BIT_TEXTS} as a user may write it'"


class ZeroOracle:
    def embeddings(self, words: Any) -> Any:
        return np.zeros((1, len(words), 2), np.float32)


def checks(recipe: str, **off: float) -> dict[str, Any]:
    """The checks where the embedding of each named text is off by so much."""
    names = {"bits": BITS, "hostile": HOSTILE, "typed": TYPED}
    rows = [reference.codepoints("some words", CONFIG.max_chars) for _ in off]
    sample = Sample.of([names[name] for name in off], rows, CONFIG)
    embedding = np.zeros((len(off), CONFIG.max_words, 2), np.float32)
    embedding[:, 0, 0] = list(off.values())
    answers = {
        "words": np.stack(list(sample.slots)),
        "bits": np.stack([reference.bits(words) for words in sample.slots]),
        "embedding": embedding,
    }
    stages = Stages({name: name for name in answers}, None, frozenset())
    stages.compare(answers, sample, ZeroOracle())  # type: ignore[arg-type]
    return {check.name: check for check in stages.checks(find_recipe(recipe))}


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
