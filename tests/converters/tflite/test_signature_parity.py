"""What holds the signature `embed` against the reference: right answers pass, every wrong one is named."""

from collections.abc import Callable

import numpy as np
import pytest
import standin

from retvec_lite import contract
from retvec_lite.converters.parity import Check
from retvec_lite.converters.parity.examiner import STAGES
from retvec_lite.converters.parity.golden_texts import golden_texts
from retvec_lite.converters.parity.oracle import Oracle, Sample, text_embedding
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite.examine import EmbedComparison
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.reference_network import sentence_vector
from retvec_lite.model.weight_files import TrainedModel

Outputs = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def spec() -> TrainedModel:
    return standin.classifier("pool", standin.LONG)


@pytest.fixture(scope="module")
def oracle(spec: TrainedModel) -> Oracle:
    return Oracle(spec, spec.weights)


@pytest.fixture(scope="module")
def texts(spec: TrainedModel) -> Sample:
    golden = golden_texts(spec.encoder)
    return Sample.of((text.name for text in golden), [text.codepoints for text in golden], spec.encoder)


def right_answers(spec: TrainedModel, oracle: Oracle, words: np.ndarray) -> Outputs:
    """What a right file answers to texts with these words."""
    embedding = np.stack([oracle.embeddings(slots)[0] for slots in words])
    found = {
        "words": words,
        "bits": np.stack([contract.bits(slots) for slots in words]),
        "embedding": embedding,
        "embeddings": embedding * (words[:, :, :1] != 0),
    }
    read = found["embeddings"]
    if "head/vector/kernel" in spec.weights:
        pairs = zip(read, words[:, :, 0] != 0, strict=True)
        read = [sentence_vector(*pair, spec.head, spec.weights)[None] for pair in pairs]
    return found | {"text": np.stack([text_embedding(rows) for rows in read])}


def exam(
    spec: TrainedModel, oracle: Oracle, texts: Sample, spoil: Callable[[Outputs], None] = lambda answers: None
) -> dict[str, Check]:
    compared = EmbedComparison(STAGES)
    for number, part in enumerate(texts.parts(20)):
        answers = right_answers(spec, oracle, part.slots)
        if number == 0:
            spoil(answers)
        compared.compare(answers, part, oracle)
    checks = compared.checks(RECIPES["int8"].within(RECIPES["int8"].formats["tflite"]))
    assert {check.signature for check in checks} == {"embed"}
    return {check.name: check for check in checks}


def test_right_answers_pass(spec: TrainedModel, oracle: Oracle, texts: Sample) -> None:
    checks = exam(spec, oracle, texts)
    assert all(check.ok for check in checks.values()), checks
    assert set(checks) == {"words", "bits", "embedding", "embeddings", "text"}
    assert {check.texts for check in checks.values()} == {len(texts)}


def test_the_vector_of_a_head_takes_the_place_of_the_words(texts: Sample) -> None:
    spec = standin.classifier("vector", standin.LONG)
    oracle = Oracle(spec, spec.weights)
    assert all(check.ok for check in exam(spec, oracle, texts).values())

    def by_the_words(answers: Outputs) -> None:
        answers["text"] = np.stack([text_embedding(rows)[:8] for rows in answers["embeddings"]])

    broken = {name for name, check in exam(spec, oracle, texts, by_the_words).items() if not check.ok}
    assert broken == {"text"}
    # A file whose texts have other numbers is refused, and not compared as far as it goes.
    with pytest.raises(RetvecLiteError, match="text"):
        exam(spec, oracle, texts, lambda answers: answers.update(text=answers["text"][:, :1]))


def change(name: str, amount: float) -> Callable[[Outputs], None]:
    def spoil(answers: Outputs) -> None:
        answers[name] = answers[name].copy()
        answers[name].reshape(len(answers[name]), -1)[3, 0] += amount

    return spoil


@pytest.mark.parametrize(
    ("name", "amount"),
    [("words", 1), ("bits", 1), ("embedding", 0.01), ("embeddings", 0.01), ("text", 0.01), ("text", np.nan)],
)
def test_a_wrong_answer_breaks_its_check_and_names_the_text(
    spec: TrainedModel, oracle: Oracle, texts: Sample, name: str, amount: float
) -> None:
    checks = exam(spec, oracle, texts, change(name, amount))
    assert {check.name for check in checks.values() if not check.ok} == {name}
    assert checks[name].worst[0].text == texts.names[3]


def test_the_embedding_of_a_text_is_the_scaled_mean_of_its_words() -> None:
    rows = np.array([[3, 0], [1, 3], [0, 0]], np.float32)
    np.testing.assert_allclose(text_embedding(rows), [0.8, 0.6], atol=1e-7)
    assert not text_embedding(np.zeros((3, 2), np.float32)).any()
