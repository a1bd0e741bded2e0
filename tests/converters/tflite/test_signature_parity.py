"""What holds the other signatures against the reference and `classify`: right answers pass, every wrong one is named."""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import standin

from retvec_lite import contract
from retvec_lite.converters.parity import Check
from retvec_lite.converters.parity.examiner import STAGES, StageComparison
from retvec_lite.converters.parity.golden_texts import golden_texts
from retvec_lite.converters.parity.oracle import Oracle, Sample, text_embedding
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.converters.tflite.examine import Promoted, SignatureExam
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.reference_network import sentence_vector
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import EMBED, Signature, full_signature, short_signatures
from retvec_lite.runtime.worker import Job

Outputs = dict[str, np.ndarray]
(SHORT,) = short_signatures(standin.LONG)
WHOLE = Signature(EMBED, EMBED, standin.LONG.max_chars, standin.LONG.max_words, 64)


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


def right_answers(spec: TrainedModel, oracle: Oracle, signature: Signature, job: Job) -> Outputs:
    """What a right file answers."""
    config = dataclasses.replace(spec.encoder, max_chars=signature.max_chars, max_words=signature.max_words)
    words = np.stack([contract.words(row, config) for row in job.rows])
    found = {
        "words": words,
        "bits": np.stack([contract.bits(slots) for slots in words]),
        "embedding": np.stack([oracle.embeddings(slots)[0] for slots in words]),
    }
    if signature.kind == EMBED:
        found["embeddings"] = found["embedding"] * (words[:, :, :1] != 0)
        read = found["embeddings"]
        if "head/vector/kernel" in spec.weights:
            pairs = zip(read, words[:, :, 0] != 0, strict=True)
            read = [sentence_vector(*pair, spec.head, spec.weights)[None] for pair in pairs]
        found["text"] = np.stack([text_embedding(rows) for rows in read])
        return found
    counts = [contract.count_pieces(row.tolist(), config) for row in job.rows]
    found["slots"] = np.minimum(counts, signature.max_words + 1).astype(np.int32)
    found["probabilities"] = np.stack(
        [oracle.probabilities(row, slots)[0] for row, slots in zip(job.rows, words, strict=True)]
    )
    return found


def exam(
    spec: TrainedModel,
    oracle: Oracle,
    texts: Sample,
    signature: Signature,
    spoil: Callable[[Outputs], None] = lambda answers: None,
    recipe: str = "int8",
) -> dict[str, Check]:
    stages = StageComparison(STAGES)
    found = SignatureExam(signature, stages, texts, spec.encoder, 400)
    table = oracle.table(texts)

    def answers() -> Iterator[Outputs]:
        for number, job in enumerate(found.jobs(Promoted(b"", b""))):
            assert job.signature == signature.name
            assert job.rows.shape[1] == signature.max_chars
            made = right_answers(spec, oracle, signature, job)
            if number == 0:
                spoil(made)
            yield made

    answered = answers()
    found.take(answered, spec, table, oracle)
    assert list(answered) == []
    checks = found.checks(RECIPES[recipe].within(RECIPES[recipe].formats["tflite"]))
    assert {check.signature for check in checks} == {signature.name}
    return {check.name: check for check in checks}


@pytest.mark.parametrize("signature", [SHORT, WHOLE], ids=lambda signature: signature.name)
def test_right_answers_pass(spec: TrainedModel, oracle: Oracle, texts: Sample, signature: Signature) -> None:
    checks = exam(spec, oracle, texts, signature)
    assert all(check.ok for check in checks.values()), checks
    own = {"embeddings", "text"} if signature.kind == EMBED else {"slots", "probabilities", "as classify"}
    assert set(checks) == {"words", "bits", "embedding"} | own


def test_the_vector_of_a_head_takes_the_place_of_the_words(texts: Sample) -> None:
    spec = standin.classifier("vector", standin.LONG)
    oracle, whole = Oracle(spec, spec.weights), dataclasses.replace(WHOLE, dimension=8, word_dimension=64)
    assert all(check.ok for check in exam(spec, oracle, texts, whole).values())

    def by_the_words(answers: Outputs) -> None:
        answers["text"] = np.stack([text_embedding(rows)[:8] for rows in answers["embeddings"]])

    broken = {name for name, check in exam(spec, oracle, texts, whole, by_the_words).items() if not check.ok}
    assert broken == {"text"}
    # A file whose texts have other numbers is refused, and not compared as far as it goes.
    with pytest.raises(RetvecLiteError, match="text"):
        exam(spec, oracle, texts, whole, lambda answers: answers.update(text=answers["text"][:, :1]))


def test_texts_at_the_limits_are_among_them(spec: TrainedModel, oracle: Oracle, texts: Sample) -> None:
    """Just fitting, just not fitting by slots: both are counted; one code point too many: not asked at all."""
    config = spec.encoder
    slots = {name: int(np.count_nonzero(words[:, 0])) for name, words in zip(texts.names, texts.slots, strict=True)}
    chars = {
        name: int((np.flatnonzero(row) + 1).max(initial=0)) for name, row in zip(texts.names, texts.rows, strict=True)
    }
    for kind in ("", ", Han", ", hostile"):
        assert slots[f"classify_16: as many slots as it has{kind}"] == 16
        assert slots[f"classify_16: one slot more{kind}"] == 17
    for kind in ("", ", spaces last"):
        assert chars[f"classify_16: as many code points as it takes{kind}"] == SHORT.max_chars
        assert chars[f"classify_16: one code point more{kind}"] == SHORT.max_chars + 1
    assert chars["classify_16: one slot more, Han"] == 17
    checks = exam(spec, oracle, texts, SHORT)
    fitting = [name for name in texts.names if chars[name] <= SHORT.max_chars]
    assert checks["slots"].texts == len(fitting)
    assert checks["probabilities"].texts == sum(slots[name] <= 16 for name in fitting) < len(fitting)
    assert full_signature(config).max_words > 17


def change(name: str, amount: float) -> Callable[[Outputs], None]:
    def spoil(answers: Outputs) -> None:
        answers[name] = answers[name].copy()
        answers[name].reshape(len(answers[name]), -1)[3, 0] += amount

    return spoil


@pytest.mark.parametrize(
    ("signature", "spoil", "broken"),
    [
        (SHORT, change("words", 1), {"words"}),
        (SHORT, change("bits", 1), {"bits"}),
        (SHORT, change("embedding", 0.01), {"embedding"}),
        (SHORT, change("slots", 1), {"slots"}),
        (SHORT, change("probabilities", 0.01), {"probabilities", "as classify"}),
        (SHORT, change("probabilities", 1e-4), {"as classify"}),
        (SHORT, change("probabilities", np.nan), {"probabilities", "as classify"}),
        (WHOLE, change("embeddings", 0.01), {"embeddings"}),
        (WHOLE, change("text", 0.01), {"text"}),
        (WHOLE, change("text", np.nan), {"text"}),
    ],
)
def test_a_wrong_answer_breaks_its_check_and_names_the_text(
    spec: TrainedModel,
    oracle: Oracle,
    texts: Sample,
    signature: Signature,
    spoil: Callable[[Outputs], None],
    broken: set[str],
) -> None:
    checks = exam(spec, oracle, texts, signature, spoil)
    assert {name for name, check in checks.items() if not check.ok} == broken
    taken = [name for name, row in zip(texts.names, texts.rows, strict=True) if not row[signature.max_chars :].any()]
    for name in broken:
        assert checks[name].worst[0].text == taken[3]


def test_files_that_round_activations_get_the_bound_of_their_recipe(
    spec: TrainedModel, oracle: Oracle, texts: Sample
) -> None:
    spoil = change("probabilities", 1e-4)
    assert exam(spec, oracle, texts, SHORT, spoil, "int4")["as classify"].ok
    assert not exam(spec, oracle, texts, SHORT, spoil, "int8")["as classify"].ok


def test_the_embedding_of_a_text_is_the_scaled_mean_of_its_words() -> None:
    rows = np.array([[3, 0], [1, 3], [0, 0]], np.float32)
    np.testing.assert_allclose(text_embedding(rows), [0.8, 0.6], atol=1e-7)
    assert not text_embedding(np.zeros((3, 2), np.float32)).any()
