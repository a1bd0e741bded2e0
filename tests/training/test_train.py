"""From a data set to a classifier: sizes, facts, the classifier that the oracle confirms, and data that cannot be trained on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from modeling_cases import random_embedding
from tiny_data import QUICK, WORDS, tiny_dataset

from retvec_lite import contract
from retvec_lite.cli.train import _validation
from retvec_lite.data.dataset import Dataset, split
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import CLASSIFIER_FILE as FILE_NAME
from retvec_lite.model.weight_files import load_trained_model
from retvec_lite.training import trainer as train_module
from retvec_lite.training.fit import VALIDATION_RATES
from retvec_lite.training.settings import FitSettings, recommended
from retvec_lite.training.trainer import Trained, choose_embedding, train


@pytest.fixture(scope="module")
def trained() -> Trained:
    return train(tiny_dataset(60), 0.25, embedding=random_embedding(dimension=64), settings=QUICK)


def test_the_classifier_carries_its_facts(trained: Trained) -> None:
    classifier, facts = trained.classifier, trained.classifier.training
    assert classifier.labels == tuple(sorted(WORDS)) and classifier.head.name == "pool"
    assert classifier.encoder.max_words == 16 and classifier.encoder.word_length == 16
    assert dict(classifier.embedding) == {"name": "random", "card": random_embedding().card}
    assert (facts["training_texts"], facts["validation_texts"], facts["data"]) == (180, 60, "tiny.csv")
    assert facts["settings"] == vars(QUICK) and facts["fine_tuned_embedding"] is False
    assert facts["texts_cut_by_max_words"] == 0.0 and 1 <= facts["best_epoch"] <= facts["epochs"] <= QUICK.epochs
    assert set(trained.validation) == set(VALIDATION_RATES)
    assert facts["validation"]["0"]["accuracy"] == trained.validation[0.0].accuracy > 0.9


def test_the_oracle_scores_the_file_as_training_did(trained: Trained, tmp_path: Path) -> None:
    """What was trained on word ids, float16 vectors and XLA is what the file says from raw text."""
    (tmp_path / FILE_NAME).write_bytes(trained.classifier.to_bytes())
    classifier = load_trained_model(tmp_path)
    _, validation = split(tiny_dataset(60), 0.25, QUICK.seed)
    right = 0
    for text, label in zip(validation.texts, validation.labels, strict=True):
        slots = contract.words(contract.codepoints(text, classifier.encoder.max_chars), classifier.encoder)
        found = reference_network.probabilities(slots, classifier.head, classifier.weights)
        right += classifier.labels[int(np.argmax(found))] == label
    assert right / len(validation) == pytest.approx(trained.validation[0.0].accuracy, abs=0.5 / len(validation))


def data(*rows: tuple[str, str], name: str = "d.csv") -> Dataset:
    return Dataset(tuple(text for text, _ in rows), tuple(label for _, label in rows), Path(name))


def refusal(training: Dataset, validation: Dataset | float = 0.2, **arguments: Any) -> str:
    with pytest.raises(RetvecLiteError) as caught:
        train(training, validation, **{"embedding": None, "settings": QUICK, **arguments})
    message = str(caught.value)
    assert message.startswith("Expected ") and "received" in message and "\n" not in message
    return message


def test_data_that_cannot_be_trained_on_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_module, "fit", lambda *args, **kwargs: pytest.fail("no work may be done"))
    two = data(("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"))
    assert "only 'x'" in refusal(data(("a", "x"), ("b", "x")))
    assert "received 1 of 'y'" in refusal(data(("a", "x"), ("b", "x"), ("c", "y")))
    assert "'z'" in refusal(two, data(("e", "z"), ("f", "x"), name="v.csv"))
    assert "v.csv" in refusal(two, data(("e", "z"), name="v.csv"))
    assert "'raw'" in refusal(two, fine_tune=True)
    assert "1.5" in refusal(two, 1.5)
    assert "received 8 without fine-tuning" in refusal(two, settings=FitSettings(character_filters=8))
    assert "'gru'" in refusal(two, head="gru")
    assert "max_words" in refusal(two, max_words=0)
    assert "max_words" in refusal(two, max_words=5000)


def test_embeddings_are_chosen_by_name(tmp_path: Path) -> None:
    assert choose_embedding("raw") is None
    path = tmp_path / "e.safetensors"
    path.write_bytes(random_embedding().to_bytes())
    chosen = choose_embedding(str(path))
    assert chosen is not None and chosen.name == "random"
    with pytest.raises(RetvecLiteError, match="no such file"):
        choose_embedding(str(tmp_path / "none.safetensors"))


def test_validation_is_a_share_or_a_file() -> None:
    assert _validation("0.25") == 0.25
    assert _validation("test.csv") == Path("test.csv")
    for value in ("0", "1", "-0.1", "nan", "inf", "25"):
        with pytest.raises(RetvecLiteError, match=f"--validation .* received {value}"):
            _validation(value)


def test_epochs_follow_the_size_of_the_data_and_what_is_trained() -> None:
    few, many = 19_999, 20_000
    assert [recommended(texts, fine_tune=False).epochs for texts in (few, many)] == [30, 16]
    assert [recommended(texts, fine_tune=True).epochs for texts in (few, many)] == [60, 32]
    assert [recommended(few, fine_tune=tuned).patience for tuned in (False, True)] == [10, 20]
    assert recommended(few, fine_tune=True).learning_rate < recommended(few, fine_tune=False).learning_rate
    assert (
        recommended(few, fine_tune=True).character_filters and not recommended(few, fine_tune=False).character_filters
    )
    assert [recommended(texts, fine_tune=True).embedding_rate for texts in (few, many)] == [0.25, 1.0]
    assert recommended(few, fine_tune=True, epochs=3).epochs == 3, "what is asked for wins"
