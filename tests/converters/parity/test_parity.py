import dataclasses
import functools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import standin

from retvec_lite import contract
from retvec_lite.converters.parity import Check, Difference, bounded
from retvec_lite.converters.parity.examiner import Examiner
from retvec_lite.converters.parity.oracle import Oracle, _rounded
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite import examine as parity
from retvec_lite.converters.tflite.examine import age, promises
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import ngram_logits
from retvec_lite.runtime.artifact import Artifact, classify_signature
from retvec_lite.runtime.worker import Job

Outputs = dict[str, np.ndarray]


def test_nan_is_never_within_a_bound() -> None:
    assert not Check("embedding", "computation", math.nan, 1e9).ok
    assert not Check("embedding cosine", "cost", math.nan, 0.0, at_least=True).ok
    found = Check("embedding", "computation", math.nan, 1.0, worst=(Difference("a text", math.nan),))
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["value"] is None


def test_the_worst_texts_are_named_and_nan_is_the_worst() -> None:
    amounts = [0.0, 0.3, math.nan, 0.1, 0.2]
    check = bounded("embedding", "computation", [Difference(str(a), a) for a in amounts], 0.15)
    assert [item.text for item in check.worst] == ["nan", "0.3", "0.2"]
    assert not check.ok
    assert bounded("embedding", "computation", [Difference("a", 0.1)], 0.15).worst == ()


@pytest.mark.parametrize(
    ("oldest", "runtime", "version", "expected"),
    [
        ({"tflite-runtime": "2.14.0"}, "tflite-runtime", "2.14.0", True),
        ({"tflite-runtime": "2.14.0"}, "tflite-runtime", "2.9.1", False),
        ({"tflite-runtime": "2.14.0"}, "ai-edge-litert", "1.0.1", True),
        ({"ai-edge-litert": "2.3.0"}, "tflite-runtime", "2.14.0", False),
        ({"ai-edge-litert": "2.3.0"}, "ai-edge-litert", "2.10.0", True),
        ({"ai-edge-litert": "2.3.0"}, "ai-edge-litert", "2.2.9", False),
        (None, "tflite-runtime", "2.14.0", True),
    ],
)
def test_a_promise_covers_newer_runtimes(oldest: Any, runtime: str, version: str, expected: bool) -> None:
    assert promises(oldest, runtime, version) is expected


def test_runtimes_are_sorted_by_age() -> None:
    given = [("ai-edge-litert", "2.10.0"), ("ai-edge-litert", "2.3.0rc1"), ("tflite-runtime", "2.14.0")]
    assert sorted(given, key=lambda item: age(*item)) == given[::-1]


@pytest.mark.parametrize("name", ["pool", "vector", "cnn", "raw"])
def test_the_oracle_is_the_reference(name: str) -> None:
    spec = standin.classifier(name)
    oracle = Oracle(spec, spec.weights)
    for values in standin.inputs():
        slots = contract.words(values[0], spec.encoder)
        np.testing.assert_allclose(
            oracle.embeddings(slots)[0], reference_network.embed(contract.bits(slots), spec.weights), atol=1e-6
        )
        ngrams = ngram_logits(values[0], spec.encoder, spec.ngrams, spec.weights) if spec.ngrams else None
        expected = reference_network.probabilities(slots, spec.head, spec.weights, ngrams)
        np.testing.assert_allclose(oracle.probabilities(values[0], slots)[0], expected, atol=1e-6)


def test_eight_bit_rounding_has_256_values_with_zero_among_them() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(0.3, 2.0, (4, 5000)).astype(np.float32)
    values[:, 0] = 0.0
    values[3] = 0.0
    rounded = _rounded(values, np.zeros(1, np.float32))
    assert all(len(np.unique(row)) <= 256 for row in rounded)
    assert not rounded[:, 0].any()
    steps = (values.max(axis=1) - values.min(axis=1)) / 255
    assert (np.abs(rounded - values).max(axis=1) <= 1.01 * steps).all()
    ones = np.array([[0.0, 1.0, 1.0, 0.0]], np.float32)
    np.testing.assert_allclose(_rounded(ones, np.zeros(1, np.float32)), ones, atol=1e-7)


def test_an_eight_bit_oracle_knows_which_ties_may_fall_either_way() -> None:
    spec = standin.classifier("pool")
    slots = contract.words(standin.inputs()[0, 0], spec.encoder)
    exact = Oracle(spec, spec.weights).embeddings(slots)
    rounded = Oracle(spec, spec.weights, eight_bit=True).embeddings(slots)
    assert exact.shape[0] == 1
    assert rounded.shape[0] == 3
    assert 1e-5 < np.abs(rounded[0] - exact[0]).max() < 0.2


@pytest.mark.parametrize("steps", [(101, 120), (100, 121), (101, 121)], ids=["up, down", "down, up", "up, up"])
def test_two_ties_may_fall_differently(steps: tuple[int, int]) -> None:
    """Two inputs of the second layer in the middle of two steps of 0.1: what a runtime makes of them is right either way."""
    spec = standin.classifier("pool")
    weights = dict(spec.weights)
    weights["embedding/dense_0/kernel"] = np.zeros_like(weights["embedding/dense_0/kernel"])
    weights["embedding/dense_0/bias"] = np.zeros(64, np.float32)
    weights["embedding/dense_0/bias"][[0, 3, 40]] = 25.5, 10.05, 12.05
    slots = contract.words(contract.codepoints("a", spec.encoder.max_chars), spec.encoder)
    oracle = Oracle(dataclasses.replace(spec, weights=weights), weights, eight_bit=True)

    rounded = np.zeros((1, 64), np.float32)
    rounded[0, [0, 3, 40]] = 25.5, steps[0] / 10, steps[1] / 10
    hidden = reference_network.gelu(reference_network.dense(rounded, weights, "embedding/dense_1"))
    hidden = _rounded(hidden, np.zeros(1, np.float32))
    found = np.repeat(np.tanh(reference_network.dense(hidden, weights, "embedding/dense_2")), len(slots), axis=0)
    usual = np.abs(oracle.embeddings(slots) - found).max(axis=(1, 2)).min()
    assert bool(usual < 1e-5) == (steps == (101, 121)), "the usual variants round all ties alike"
    np.testing.assert_allclose(oracle.nearest(slots, found), found, atol=1e-5)

    wrong = found + np.float32(0.01)
    assert np.abs(oracle.nearest(slots, wrong) - wrong).max() > 1e-3


class Stage:
    """Stands in for the runtimes: answers with the oracle, and lets a test spoil the answers."""

    def __init__(self, spec: TrainedModel, oracle: Oracle, spoil: Callable[[Outputs], None]) -> None:
        self.oracle = oracle
        self.spec = spec
        self.spoil = spoil

    def run_models(self, runtime: str, jobs: Sequence[Job]) -> Iterator[Outputs]:
        for _, rows, _ in jobs:
            words = np.stack([contract.words(row, self.spec.encoder) for row in rows])
            answers = {
                "words": words,
                "bits": np.stack([contract.bits(slots) for slots in words]),
                "embedding": np.stack([self.oracle.embeddings(slots)[0] for slots in words]),
                "probabilities": np.stack(
                    [self.oracle.probabilities(row, slots)[0] for row, slots in zip(rows, words, strict=True)]
                ),
            }
            self.spoil(answers)
            yield answers


@pytest.fixture(scope="module")
def examiner() -> Examiner:
    return Examiner(
        standin.classifier("pool"),
        [text for text in standin.TEXTS if text],
        [("one",), ("two",), ("three",), ("four",)],
    )


@pytest.fixture(scope="module")
def oracle(examiner: Examiner) -> Oracle:
    return Oracle(examiner.classifier, examiner.classifier.weights)


Examine = Callable[..., dict[str, Check]]


@pytest.fixture
def examine(examiner: Examiner, oracle: Oracle, monkeypatch: pytest.MonkeyPatch) -> Examine:
    """Examine an artifact whose answers a function spoils."""
    return functools.partial(examined, examiner, oracle, monkeypatch)


def examined(
    examiner: Examiner,
    oracle: Oracle,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Outputs], None],
    recipe: str = "int8",
) -> dict[str, Check]:
    spec = examiner.classifier
    stage = Stage(spec, oracle, spoil)
    monkeypatch.setattr(parity, "run_models", stage.run_models)
    signatures = [classify_signature(spec.encoder).to_dict()]
    metadata = {"oldest_runtime": {"tflite-runtime": "2.14.0"}, "signatures": signatures}
    artifact = Artifact(Path("classifier-int8.tflite"), b"", spec.labels, spec.encoder, MappingProxyType(metadata))
    result = parity.run_artifact(
        examiner,
        artifact,
        parity.Promoted(b"", b""),
        RECIPES[recipe].within(RECIPES[recipe].formats["tflite"]),
        oracle,
        "ai-edge-litert",
        "2.3.0",
    )
    assert result.refusal is None
    assert result.ok == all(check.ok for check in result.checks)
    return {check.name: check for check in result.checks}


@pytest.mark.parametrize("recipe", RECIPES)
def test_right_answers_pass(examiner: Examiner, examine: Examine, recipe: str) -> None:
    checks = examine(lambda answers: None, recipe)
    assert all(check.ok for check in checks.values())
    cost = {"embedding cosine", "same label"} if recipe != "float32" else set()
    assert set(checks) == {"words", "bits", "embedding", "embedding of every bit", "probabilities"} | cost
    assert checks["words"].texts == checks["bits"].texts == len(examiner.staged) + len(examiner.edges)
    assert checks["probabilities"].texts == len(examiner.staged) == len(examiner.golden) + len(examiner.real)


def test_parts_of_a_long_list_are_put_together(
    examiner: Examiner, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parity, "_CHUNK_WORDS", 7 * examiner.classifier.encoder.max_words)
    checks = examine(lambda answers: None)
    assert all(check.ok for check in checks.values())
    compared = checks["embedding"].texts + checks["embedding of every bit"].texts
    assert compared == len(examiner.golden) + len(examiner.real)


def spoil_words(answers: Outputs) -> None:
    answers["words"][1, 0, 0] += 1


def spoil_bits(answers: Outputs) -> None:
    answers["bits"][1, 0, 7] = 0.5


def spoil_embedding(answers: Outputs) -> None:
    answers["embedding"][-len(standin.TEXTS) - 1, 0, 7] += 0.004


def spoil_embedding_with_nan(answers: Outputs) -> None:
    answers["embedding"][-len(standin.TEXTS) - 1, 0, 7] = np.nan


def spoil_probabilities(answers: Outputs) -> None:
    answers["probabilities"][1] = np.roll(answers["probabilities"][1], 1)


def spoil_directions(answers: Outputs) -> None:
    answers["embedding"][-len(standin.TEXTS) :] += 0.05


def spoil_labels(answers: Outputs) -> None:
    answers["probabilities"][-1] = np.roll(answers["probabilities"][-1], 1)


@pytest.mark.parametrize(
    ("spoil", "name", "worst"),
    [
        (spoil_words, "words", "golden text"),
        (spoil_bits, "bits", "golden text"),
        (spoil_embedding, "embedding", "golden text"),
        (spoil_embedding_with_nan, "embedding", "golden text"),
        (spoil_probabilities, "probabilities", "golden text"),
        (spoil_directions, "embedding cosine", "word "),
        (spoil_labels, "same label", repr(standin.TEXTS[-1])),
    ],
)
def test_a_wrong_answer_breaks_its_check_and_is_named(
    examiner: Examiner, examine: Examine, spoil: Callable[[Outputs], None], name: str, worst: str
) -> None:
    check = examine(spoil)[name]
    assert not check.ok
    assert worst in check.worst[0].text


@pytest.mark.parametrize("tensor", ["words", "bits", "embedding"])
def test_a_tensor_of_another_shape_is_a_refusal(examiner: Examiner, examine: Examine, tensor: str) -> None:
    def spoil(answers: Outputs) -> None:
        answers[tensor] = answers[tensor][:, :-1]

    with pytest.raises(AssertionError, match=f"The tensor '{tensor}' must be"):
        examine(spoil)


def test_files_of_equal_weights_share_a_reference_and_no_others_do(examiner: Examiner) -> None:
    weights = dict(examiner.classifier.weights)
    assert examiner.oracle({name: value.copy() for name, value in weights.items()}) is examiner.oracle(weights)
    assert examiner.oracle(weights, eight_bit=True) is not examiner.oracle(weights)
    for name, value in weights.items():
        other = value.copy()
        other.flat[-1] = np.nextafter(other.flat[-1], np.float32(9))
        assert examiner.oracle({**weights, name: other}) is not examiner.oracle(weights), name
    fewer = {name: value for name, value in weights.items() if name != "head/logits/bias"}
    assert examiner.oracle(fewer) is not examiner.oracle(weights)
