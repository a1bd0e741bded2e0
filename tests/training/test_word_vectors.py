"""Word vectors of a training: those of the reference, without TensorFlow, and nothing of them is left when it is over."""

import sys

import numpy as np
import pytest
from light import run_python
from modeling_cases import random_embedding

from retvec_lite import contract
from retvec_lite.model import reference_network
from retvec_lite.training import word_vectors
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.word_vectors import embed_words


def test_word_vectors_are_the_reference_s(monkeypatch: pytest.MonkeyPatch, tiny_training_data: TrainingData) -> None:
    monkeypatch.setattr(word_vectors, "WORDS_AT_ONCE", 8)
    words = tiny_training_data.words[:30]
    seen: list[int] = []
    weights = random_embedding().weights
    vectors = embed_words(words, weights, lambda what, done, total: seen.append(done))
    assert vectors.dtype == np.float16 and len(vectors) == 30 and seen == [8, 16, 24, 30]
    assert not vectors[0].any()
    expected = reference_network.embed(contract.bits(words), weights)
    np.testing.assert_allclose(vectors[1:], expected[1:], atol=6e-4)  # float16 below 1: half a step is 2.4e-4
    np.testing.assert_array_equal(embed_words(words, {}), contract.bits(words))


TRAININGS = """
import gc, sys
import retvec_lite as rl

texts = [f"{word} number {row} please" for word in ("alarm", "music", "parcel") for row in range(8)]
labels = [text.split()[0] for text in texts]
held = []
for _ in range(5):
    rl.train(texts, labels, head="linear", meaning="none")
    gc.collect()
    with open("/proc/self/statm") as file:
        held.append(int(file.read().split()[1]) * 4096)
print(held[-1] - held[1], "tensorflow" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much memory a process holds in /proc")
def test_trainings_of_the_linear_head_leave_nothing_behind_and_need_no_tensorflow() -> None:
    """Each graph that TensorFlow compiles stays: 11 MB a training once."""
    done = run_python(TRAININGS)
    assert done.returncode == 0, done.stderr
    grown, loaded = done.stdout.split()
    assert int(grown) < 15_000_000 and loaded == "False"
