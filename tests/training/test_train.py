"""From a data set to a model: sizes, facts, the model that the reference confirms, and what is refused beforehand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fitted import Fitted, Told, train
from modeling_cases import random_embedding
from refusals import refusal
from tiny_data import QUICK, WORDS, tiny_dataset

from retvec_lite import contract
from retvec_lite.contract import EncoderConfig
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.typos import Way
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import CLASSIFIER_FILE, choose_embedding, load_trained_model
from retvec_lite.ngrams import ngram_logits
from retvec_lite.training import plan, request
from retvec_lite.training import train as trainer
from retvec_lite.training.plan import recommended
from retvec_lite.training.request import are_few
from retvec_lite.training.train import Trained


def test_the_model_carries_its_facts(trained: Trained) -> None:
    model, facts = trained.model, trained.model.training
    assert model.labels == tuple(sorted(WORDS)) and model.head.name == "pool"
    assert model.encoder.max_words == 24 and model.encoder.word_length == 16
    assert dict(model.embedding) == {"name": "random", "card": random_embedding().card}
    assert (facts["training_texts"], facts["validation_texts"], facts["data"]) == (120, 40, "tiny.csv")
    assert facts["folds"] == 0 and set(facts["factors"]) == {"linear", "network"} and model.ngrams is not None
    assert facts["settings"] == vars(QUICK)
    assert 0.0 <= facts["texts_in_windows"] < 0.02, "few training texts are longer than max_chars"
    assert 0.0 <= facts["texts_cut_by_max_words"] < 0.02 and 1 <= facts["best_epoch"] <= facts["epochs"] <= QUICK.epochs
    assert set(trained.held_out.validation) == {way.rate for way in Way} - {None}
    assert facts["validation"]["0"]["accuracy"] == trained.held_out.validation[0.0].accuracy > 0.9


def test_the_reference_scores_the_file_as_training_did(trained: Trained, tmp_path: Path) -> None:
    """What was trained on word ids, float16 vectors and XLA is what the file says from raw text."""
    (tmp_path / CLASSIFIER_FILE).write_bytes(trained.model.to_bytes())
    model = load_trained_model(tmp_path)
    validation = tiny_dataset(10, seed=1)
    assert model.ngrams is not None
    right = 0
    for text, label in zip(validation.texts, validation.labels, strict=True):
        codes = contract.codepoints(text, model.encoder.max_chars)
        ngrams = ngram_logits(codes, model.encoder, model.ngrams, model.weights)
        slots = contract.words(codes, model.encoder)
        found = reference_network.probabilities(slots, model.head, model.weights, ngrams)
        right += model.labels[int(np.argmax(found))] == label
    assert right / len(validation) == pytest.approx(
        trained.held_out.validation[0.0].accuracy, abs=0.5 / len(validation)
    )


def test_the_same_seed_gives_the_same_bits(trained: Trained, frozen: Fitted) -> None:
    """`train` is `make_examples` and `NetworkPart`, two trainings of equal weights; only the logits are scaled in the end."""
    factor = trained.model.training["factors"]["network"]
    weights = {name: value for name, value in trained.model.weights.items() if not name.startswith("ngrams/")}
    assert weights.keys() == frozen.weights.keys()
    for name, value in weights.items():
        if name == "head/logits/bias":
            np.testing.assert_allclose(value, frozen.weights[name] * factor, rtol=1e-3)
        elif name == "head/logits/kernel":
            step = np.abs(value).max(axis=0) / 7
            np.testing.assert_array_equal(np.rint(value / step), np.rint(frozen.weights[name] * factor / step))
        else:
            np.testing.assert_array_equal(value, frozen.weights[name], err_msg=name)
    facts = trained.model.training
    assert (facts["epochs"], facts["best_epoch"]) == (len(frozen.history), frozen.epoch)


def test_progress_is_told_to_the_end(trained: Trained, told: Told) -> None:
    assert set(told) == {"encoding texts", "embedding words", "fitting n-grams", "training"}
    for what, steps in told.items():
        done = [count for count, _ in steps]
        assert done == sorted(done)
        assert steps[-1][0] == steps[-1][1] or (what == "training" and trained.model.training["epochs"] < QUICK.epochs)


def settings_of(
    monkeypatch: pytest.MonkeyPatch, data: Dataset, validation: Dataset | float | None, **options: Any
) -> Any:
    """The settings that `train` would train a network with, and the name of its head."""

    class Stop(Exception):
        pass

    def stop(plan: Any, *args: Any) -> None:
        raise Stop(plan.settings, plan.head.name)

    def make_examples(training: Dataset, *args: Any, **kwargs: Any) -> SimpleNamespace:
        return SimpleNamespace(
            labels=("x", "y"),
            config=EncoderConfig(),
            scheme=SimpleNamespace(multi_label=training.multi_label),
            clean=training.texts,
            texts=len(training),
            are_few=are_few(len(training), training.multi_label),
            characters="",
            label_shares=None,
            is_translated=False,
        )

    monkeypatch.setattr(trainer, "make_examples", make_examples)
    monkeypatch.setattr(trainer, "fit_parts", stop)
    with pytest.raises(Stop) as stopped:
        train(data, validation, ngram_kb=0, **options)
    return stopped.value.args


def test_settings_follow_the_texts_that_are_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that validation takes away do not count: `VERY_MANY` texts or more are trained with other settings."""
    monkeypatch.setattr(plan, "VERY_MANY", 3010)
    short = dict.fromkeys(list(WORDS)[:2], 1510)
    data = tiny_dataset(counts=short)
    texts = len(data.split(0.1, 0)[0])
    assert texts < plan.VERY_MANY < len(data)
    for validation in (0.1, None):
        found, _ = settings_of(monkeypatch, data, validation, typo_rate=0.0)
        assert found == recommended(texts, len(data), typo_rate=0.0), "beyond the border, whatever is set aside"
    separate, _ = settings_of(monkeypatch, data, tiny_dataset(2, counts=dict.fromkeys(short, 2)), typo_rate=0.0)
    assert separate == recommended(len(data), typo_rate=0.0) != found


def test_options_override_the_recommended_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiny_dataset(6)
    options: dict[str, Any] = {"epochs": 3, "typo_rate": 0.1, "seed": 5}
    found, _ = settings_of(monkeypatch, data, 0.2, **options)
    assert found == recommended(len(data.split(0.2, 5)[0]), **options)
    assert settings_of(monkeypatch, data, 0.2)[0] == recommended(len(data.split(0.2, 0)[0]))
    assert settings_of(monkeypatch, data, None)[0] == recommended(len(data)), "all texts are learned from"
    assert settings_of(monkeypatch, data, 0.2, settings=QUICK)[0] == QUICK


def test_the_head_follows_the_size_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "FEW", 60)
    few, more = (tiny_dataset(counts=dict.fromkeys(list(WORDS)[:2], count)) for count in (30, 31))
    validation = tiny_dataset(2, counts=dict.fromkeys(list(WORDS)[:2], 2))
    heads = [settings_of(monkeypatch, data, validation, typo_rate=0.0)[1] for data in (few, more)]
    assert heads == ["pool", "cnn"]
    assert settings_of(monkeypatch, few, validation, typo_rate=0.0, head="cnn")[1] == "cnn"


def data(*rows: tuple[str, str], name: str = "d.csv") -> Dataset:
    return Dataset(tuple(text for text, _ in rows), tuple(label for _, label in rows), Path(name))


TWO = data(("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"))


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("make_examples", "fit_parts"):
        monkeypatch.setattr(trainer, name, lambda *args, **kwargs: pytest.fail("no work may be done"))


@pytest.mark.usefixtures("no_work")
def test_data_that_cannot_be_trained_on_is_refused_before_any_work() -> None:
    assert "'x'" in refusal(train, data(("a", "x"), ("b", "x")), 0.2)
    message = refusal(train, TWO, data(("e", "z"), ("f", "x"), name="v.csv"))
    assert message.startswith("The label 'z' of v.csv does not occur in d.csv. ")
    assert "1.5" in refusal(train, TWO, 1.5)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"head": "gru"}, "head must be 'auto', 'linear', 'pool' or 'cnn', not 'gru'."),
        ({"ngram_kb": -1}, "ngram_kb must be an integer from 0 to 100000, not -1."),
        ({"ngram_kb": 1.5}, "ngram_kb must be an integer or None, not 1.5."),
        ({"typo_rate": 1.5}, "typo_rate must be a share from 0 to 1 (0.2 for 20 %), not 1.5."),
        ({"typo_rate": float("nan")}, "typo_rate must be a share from 0 to 1 (0.2 for 20 %), not nan."),
        ({"epochs": 0}, "epochs must be an integer of at least 1, not 0."),
        ({"seed": -1}, "seed must be an integer from 0 to 2147483647, not -1."),
        ({"seed": 2**31}, "seed must be an integer from 0 to 2147483647, not 2147483648."),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)  # fmt: skip
def test_arguments_out_of_range_are_refused_before_any_work(arguments: dict[str, Any], message: str) -> None:
    assert refusal(train, TWO, 0.2, **arguments) == message


@pytest.mark.parametrize("kilobytes", [0, 1])
def test_the_linear_head_cannot_be_without_ngrams(kilobytes: int) -> None:
    """One kilobyte holds 91 buckets of ten labels: fewer than are worth reading."""
    many = data(*((f"text {number}", f"label {number % 10}") for number in range(20)))
    message = refusal(train, many, 0.2, head="linear", ngram_kb=kilobytes)
    assert message.startswith("The head linear needs n-grams") and "ngram_kb" in message


def test_embeddings_are_chosen_by_name(tmp_path: Path) -> None:
    assert choose_embedding("raw") is None
    path = tmp_path / "e.safetensors"
    path.write_bytes(random_embedding().to_bytes())
    for form in (path, str(path), random_embedding()):
        chosen = choose_embedding(form)
        assert chosen is not None and chosen.name == "random"
    with pytest.raises(RetvecLiteError, match=r"none\.safetensors"):
        choose_embedding(tmp_path / "none.safetensors")
