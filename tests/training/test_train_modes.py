"""The ways to train: cross-validated, without a network, without n-grams; what each keeps, tells and says about itself."""

import dataclasses
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fitted import Crossed, train
from modeling_cases import random_embedding
from ngram_counts import count_ngrams
from scipy.special import softmax
from tiny_data import QUICK, WORDS, tiny_dataset

from retvec_lite import contract
from retvec_lite.contract import Floats
from retvec_lite.converters.recipes import RECIPES
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.suspects import HeldOutAnswers
from retvec_lite.data.typos import Way
from retvec_lite.evaluating import evaluate
from retvec_lite.loading import load
from retvec_lite.model import reference_network
from retvec_lite.model.weight_files import TrainedModel, load_trained_model
from retvec_lite.ngrams import ngram_logits
from retvec_lite.trained import TrainedClassifier
from retvec_lite.training import request, stacking
from retvec_lite.training.linear_features import Features
from retvec_lite.training.linear_part import LinearPart
from retvec_lite.training.plan import FitSettings
from retvec_lite.training.reading import TextReader
from retvec_lite.training.train import Trained

OTHERS = tiny_dataset(5, seed=7).texts
"""Texts that no training of these tests has seen."""


def centred(logits: Floats) -> Floats:
    found: Floats = logits - logits.mean(axis=1, keepdims=True)
    return found


def reference_logits(model: TrainedModel, texts: Sequence[str]) -> Floats:
    """What the NumPy reference says to texts, up to a constant for each text."""
    found = []
    for text in texts:
        codes = contract.codepoints(text, model.encoder.max_chars)
        ngrams = ngram_logits(codes, model.encoder, model.ngrams, model.weights) if model.ngrams else None
        slots = contract.words(codes, model.encoder)
        found.append(np.log(reference_network.probabilities(slots, model.head, model.weights, ngrams)))
    return centred(np.stack(found))


# --- cross-validated --------------------------------------------------------------------------------------------------


def test_the_model_is_that_of_the_last_fit_each_part_by_its_factor(crossed: Crossed, tmp_path: Path) -> None:
    """Reloaded from its folder, it says what the parts said when all texts were learned."""
    model, factors = crossed.trained.model, crossed.trained.model.training["factors"]
    assert min(factors.values()) > 0.1 and model.ngrams is not None
    reader = TextReader(OTHERS, model.encoder)
    ids, vectors = (
        reader.word_ids(OTHERS),
        reference_network.embed(contract.bits(reader.words), random_embedding(dimension=64).weights),
    )
    vectors[0] = 0.0
    head = {name: value for name, value in model.weights.items() if name.startswith("head/")}
    network = np.stack([reference_network.head_logits(vectors[row], row != 0, model.head, head) for row in ids])
    linear = crossed.linear.model.scores(Features(count_ngrams(OTHERS, model.encoder, model.ngrams)))
    expected = centred(network + np.float32(factors["linear"]) * linear)
    TrainedClassifier(model).save(tmp_path / "saved")
    found = reference_logits(load_trained_model(tmp_path / "saved"), OTHERS)
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())

    last = crossed.network.fit(np.arange(48))
    for name in ("head/word/kernel", "head/word/bias"):
        np.testing.assert_array_equal(model.weights[name], last.weights[name], err_msg="learned from all texts")
    scaled = last.weights["head/logits/kernel"] * np.float32(factors["network"])
    np.testing.assert_allclose(model.weights["head/logits/kernel"], scaled, atol=0.01 * np.abs(scaled).max())


def assert_the_engine_says_what_the_reference_says(model: TrainedModel) -> None:
    expected = softmax(reference_logits(model, OTHERS), axis=1)
    tolerance = RECIPES["int8"].formats["engine"].parity_tolerance
    np.testing.assert_allclose(TrainedClassifier(model).probabilities(OTHERS), expected, atol=tolerance)


def test_the_engine_says_what_the_reference_says(crossed: Crossed) -> None:
    assert_the_engine_says_what_the_reference_says(crossed.trained.model)


def test_progress_counts_the_steps_of_all_fits_together(crossed: Crossed) -> None:
    """So the time that is left is that of the whole training."""
    assert set(crossed.told) == {"encoding texts", "embedding words", "fitting n-grams", "training"}
    halved = dataclasses.replace(QUICK, epochs=QUICK.epochs // 2)
    assert crossed.told["training"][0][1] == 3 * halved.steps(32) + QUICK.steps(48)
    for steps in crossed.told.values():
        done = [count for count, _ in steps]
        assert done == sorted(done) and steps[-1][0] == steps[-1][1]
        assert len({total for _, total in steps}) == 1


def test_facts_of_a_cross_validation(crossed: Crossed, tmp_path: Path) -> None:
    trained = crossed.trained
    TrainedClassifier(trained.model, trained.held_out).save(tmp_path / "saved")
    facts = json.loads((tmp_path / "saved" / "report.json").read_text(encoding="utf-8"))["training"]
    assert facts["folds"] == 3 and facts["training_texts"] == facts["validation_texts"] == 48
    assert facts["epochs"] == facts["best_epoch"] == QUICK.epochs, "no text is left to say which epoch is the best"
    assert set(facts["factors"]) == {"linear", "network"}
    assert [texts for texts, _ in facts["learning_curve"]] == [8, 16, 32], "of the texts that a fold learns from"
    assert facts["learning_curve"][-1][1] > facts["learning_curve"][0][1] - 0.1
    accuracy = facts["validation"]["0"]["accuracy"]
    assert accuracy == trained.held_out.validation[0.0].accuracy > 0.9 and trained.held_out.validation[0.0].texts == 48
    assert 0.0 < facts["accuracy_error"] < 0.2, "48 texts that are all right do not prove perfection"
    assert facts["largest_label"] == 0.25 and facts["baseline"] == 1.0, "of four equal labels that words tell apart"
    assert facts["smallest_label"] == [sorted(WORDS)[0], 12] and facts["weakest"] == [] and facts["one_label"] is None
    assert told_by(trained)[-1].startswith("Next: nothing.")


def random_dataset() -> Dataset:
    """Texts of words that say nothing about their labels."""
    draw = random.Random(5)
    texts = tuple(" ".join("".join(draw.choices("abcdefgh", k=5)) for _ in range(4)) for _ in range(90))
    return Dataset(texts, tuple(draw.choice("xy") for _ in texts), Path("random.csv"))


@pytest.mark.parametrize("options", [{"head": "linear"}, {"head": "pool", "ngram_kb": 0}], ids=["linear", "network"])
def test_no_text_is_scored_by_a_model_that_saw_it(options: dict[str, Any]) -> None:
    """What can only be learned by heart is known of the training texts, and of no other."""
    data = random_dataset()
    settings = FitSettings(epochs=60, batch_size=16, learning_rate=1e-2, typo_rate=0.0, dropout=0.0, linear_variants=0)
    trained = train(data, settings=settings, embedding=random_embedding(dimension=64), **options)
    assert evaluate(TrainedClassifier(trained.model), data, typos=()).accuracy > 0.95
    assert 0.3 < trained.held_out.validation[0.0].accuracy < 0.7
    assert 0.03 < trained.model.training["accuracy_error"] < 0.15


def test_many_texts_are_not_cross_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "FEW", 40)
    told = []
    trained = train(tiny_dataset(12), settings=QUICK, progress=lambda what, *_: told.append(what))
    facts = trained.model.training
    assert (facts["folds"], facts["training_texts"], facts["validation_texts"]) == (0, 43, 5)
    assert "training" in told and facts["accuracy_error"] > 0.0
    assert told_by(trained)[-1] == "Next: test it on 20 texts of each label."


@pytest.mark.parametrize("counts", [(2, 2), (9, 2), (2, 2, 2, 2), (6, 6)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_very_few_texts_are_enough(counts: tuple[int, ...], seed: int) -> None:
    data = tiny_dataset(counts=dict(zip(WORDS, counts, strict=False)), seed=seed)
    trained = train(data, head="linear", seed=seed)
    sizes = [texts for texts, _ in trained.model.training["learning_curve"]]
    assert 1 <= len(sizes) <= 3 and sizes == sorted(set(sizes)) and sizes[0] >= len(counts)
    assert trained.model.training["folds"] == min(3, max(counts))


# --- without a network ------------------------------------------------------------------------------------------------


def test_the_linear_head_fits_no_network(linear_alone: Trained, tmp_path: Path) -> None:
    """The fixture fails when a network is fitted."""
    model, facts = linear_alone.model, linear_alone.model.training
    head = {"head/logits/kernel", "head/logits/bias"}
    assert model.head.name == "linear" and model.ngrams is not None
    assert {name for name in model.weights if not name.startswith(("embedding/", "ngrams/"))} == head
    assert set(facts["factors"]) == {"linear"} and facts["epochs"] == facts["best_epoch"] == 0
    assert linear_alone.held_out.validation[0.0].accuracy > 0.9
    assert_the_engine_says_what_the_reference_says(model)
    TrainedClassifier(model).save(tmp_path / "saved")
    found = load(tmp_path / "saved").probabilities(OTHERS)
    truth = tiny_dataset(5, seed=7).labels
    assert np.mean([model.labels[best] == label for best, label in zip(found.argmax(axis=1), truth, strict=True)]) > 0.9


def test_the_linear_head_reads_words_as_well(linear_alone: Trained) -> None:
    model = linear_alone.model
    blind = {name: np.zeros_like(value) if name.startswith("head/") else value for name, value in model.weights.items()}
    seen = reference_logits(model, OTHERS)
    slots = [contract.words(contract.codepoints(text, model.encoder.max_chars), model.encoder) for text in OTHERS]
    without = np.stack([reference_network.probabilities(slot, model.head, blind) for slot in slots])
    assert np.ptp(without, axis=1).max() < 1e-6 and np.ptp(seen, axis=1).min() > 0.1
    assert np.abs(model.weights["head/logits/kernel"]).max() > 0


# --- without n-grams --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def without_ngrams() -> Trained:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stacking, "LinearPart", lambda *args, **kwargs: pytest.fail("no n-grams may be fitted"))
        return train(tiny_dataset(12), ngram_kb=0, embedding=random_embedding(dimension=64), settings=QUICK)


def test_no_kilobytes_leave_ngrams_out(without_ngrams: Trained) -> None:
    model, facts = without_ngrams.model, without_ngrams.model.training
    assert model.ngrams is None and not any(name.startswith("ngrams/") for name in model.weights)
    assert facts["learning_curve"] == [] and set(facts["factors"]) == {"network"} and facts["folds"] == 3
    # Four labels, so chance is .25. Folds run half of the few epochs: six seeds gave .67 to .92.
    assert without_ngrams.held_out.validation[0.0].accuracy > 0.55


def test_kilobytes_decide_how_many_buckets() -> None:
    found = train(tiny_dataset(4), head="linear", ngram_kb=3, settings=QUICK).model
    assert found.ngrams is not None and found.ngrams.buckets == 3000 // 5
    assert found.weights["ngrams/table"].shape == (600, 4)


# --- what it says about itself ----------------------------------------------------------------------------------------


def told_by(trained: Trained) -> list[str]:
    text = str(TrainedClassifier(trained.model))
    assert "None" not in text.replace("None of these: ", "") and "nan" not in text and "{" not in text
    return text.splitlines()


def expected_of(trained: Trained) -> str:
    (line,) = (line for line in told_by(trained) if line.startswith("Expect "))
    return line


def test_a_cross_validated_classifier_tells_how_good_it_is(crossed: Crossed) -> None:
    lines = told_by(crossed.trained)
    assert crossed.trained.model.ngrams is not None
    buckets = f"{crossed.trained.model.ngrams.buckets:,} buckets of n-grams"
    start = f"pool with {buckets} on tiny.csv: 48 training texts, 4 labels, 24 word slots of "
    assert lines[0].startswith(start) and lines[0].endswith(" code points, 14 epochs."), "nothing is cut"
    assert lines[1].startswith("A .tflite will take about ")
    assert lines[2:4] == ["", "Validation (cross-validated in 3 folds)"]
    model = crossed.trained.model
    assert lines.index("Verdict") > lines.index("Validation (cross-validated in 3 folds)"), "last, where the eye falls"
    assert re.fullmatch(
        r"Expect at least 89% right answers to texts like these, with 95% confidence: all were right \(48 texts, cross-validated in 3 "
        r"folds\)\.",
        expected_of(crossed.trained),
    )
    scores = {**model.training["validation"], "0": {**model.training["validation"]["0"], "accuracy": 0.9}}
    other = dataclasses.replace(model, training={**model.training, "validation": scores})
    assert expected_of(crossed.trained._replace(model=other)).startswith(
        "Expect 90% right answers to texts like these, "
    )
    assert lines[-1].startswith("Next: ")


def test_the_other_ways_tell_theirs(trained: Trained, linear_alone: Trained, without_ngrams: Trained) -> None:
    explicit, linear, network = (told_by(found) for found in (trained, linear_alone, without_ngrams))
    facts = trained.model.training
    assert explicit[0].endswith(f", best of {facts['epochs']} epochs: {facts['best_epoch']}.")
    assert explicit[3] == "Validation (40 texts)" and not any("each fold" in line for line in explicit)
    assert linear[0].startswith("linear with ") and " buckets of n-grams on tiny.csv: 48 training texts, " in linear[0]
    assert linear[0].endswith(" code points."), "it has no epochs"
    assert network[0].startswith("pool on tiny.csv: 48 training texts") and network[0].endswith(", 14 epochs.")
    assert not any("more texts" in line for line in network), "without n-grams, there is no learning curve"
    assert all(found[-1].startswith("Next: ") for found in (explicit, linear, network))


def test_right_after_a_training_the_verdict_comes_with_texts(trained: Trained) -> None:
    """With those that a loaded classifier does not have: mistakes of the weakest labels, the surest first."""
    model, held_out = trained.model, trained.held_out
    label, other = model.labels[:2]
    weak = {"label": label, "texts": 10, "right": 8, "answered": 8, "taken_for": other, "times": 2}
    model = dataclasses.replace(model, training={**model.training, "weakest": [weak]})
    mine = [row for row, name in enumerate(held_out.dataset.labels) if name == label]
    table = np.eye(len(model.labels), dtype=np.float32)[[model.labels.index(name) for name in held_out.dataset.labels]]
    repeated = list(held_out.dataset.texts)
    repeated[mine[3]] = repeated[mine[1]]
    for row, sure in zip(mine, (0.6, 0.9, 0.7, 0.8), strict=False):
        table[row] = (1 - sure) * table[row] + sure * np.eye(len(model.labels))[1]
    dataset = dataclasses.replace(held_out.dataset, texts=tuple(repeated))
    clean = dataclasses.replace(held_out.clean, probabilities=table)
    found = HeldOutAnswers(dataset, tuple(range(100, 100 + len(table))), {Way.CLEAN: clean})
    lines = str(TrainedClassifier(model, found)).splitlines()
    start = lines.index(next(line for line in lines if line.startswith("Weakest: ")))
    shown = [(mine[1], "90%"), (mine[2], "70%")]
    texts = held_out.dataset.texts
    expected = [
        f"- row {100 + row}, labelled {label!r}, answered {other!r} ({sure}): {texts[row]!r}" for row, sure in shown
    ]
    assert lines[start + 1 : -1] == expected and lines[-1].startswith("Next: ")
    without = str(TrainedClassifier(model)).splitlines()
    assert [line for line in lines if line not in expected] == without, "and otherwise it says the same"


# --- class weights ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"head": "linear"}, {"head": "pool", "ngram_kb": 0}], ids=["linear part", "network"]
)
def test_class_weights_decide_between_labels_of_the_same_texts(options: dict[str, Any]) -> None:
    """Three texts in four have one label, the fourth the other: what the texts count says which is the answer."""
    texts = tiny_dataset(5).texts[:12]
    data = Dataset(texts * 4, ("often",) * 36 + ("seldom",) * 12)
    found = {}
    for name, weights in {"none": "none", "seldom": {"often": 1.0, "seldom": 20.0}}.items():
        settings = dataclasses.replace(QUICK, typo_rate=0.0, class_weights=weights)
        trained = train(data, embedding=random_embedding(dimension=64), settings=settings, **options)
        probabilities = TrainedClassifier(trained.model).probabilities(texts)
        found[name] = float((probabilities[:, 1] > probabilities[:, 0]).mean())
        assert trained.model.training["settings"]["class_weights"] == weights
    assert found == {"none": 0.0, "seldom": 1.0}


@pytest.mark.parametrize(("validation", "learned"), [(0.25, True), ("file", False), (None, False)])
def test_only_texts_set_aside_by_training_are_learned_from_in_the_end(
    monkeypatch: pytest.MonkeyPatch, validation: float | str | None, learned: bool
) -> None:
    """A file that the user names for validation stays unseen; with folds there is nothing left to add."""
    told = []
    plain = stacking.LinearPart

    def make(*args: Any, **kwargs: Any) -> LinearPart:
        told.append(args[0].data.refit)
        return plain(*args, **kwargs)

    monkeypatch.setattr(stacking, "LinearPart", make)
    held_out = tiny_dataset(3, seed=1) if validation == "file" else validation
    train(tiny_dataset(8), held_out, head="linear", settings=QUICK)  # type: ignore[arg-type]
    assert told == [learned]
