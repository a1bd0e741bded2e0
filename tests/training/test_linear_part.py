"""The n-grams of a training: buckets that fill a file below 1 MB, the kind that fits the texts, and the learning curve."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from fitted import linear_of
from modeling_cases import random_head
from ngram_counts import count_ngrams
from tiny_data import QUICK, TINY_CONFIG, tiny_dataset

from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.converters.recipes import find_recipe
from retvec_lite.converters.tflite.format import convert, package
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.data.typos import Way
from retvec_lite.model.file_sizes import estimate_bytes
from retvec_lite.model.grid import EIGHT_BITS, FOUR_BITS, snap
from retvec_lite.model.heads import HEADS
from retvec_lite.model.weight_files import TrainedModel, load_default_embedding
from retvec_lite.ngrams import MOST_BUCKETS, NgramConfig
from retvec_lite.training import linear_part, request
from retvec_lite.training.budget import Budget
from retvec_lite.training.examples import TrainingData, make_examples
from retvec_lite.training.linear_features import Kind
from retvec_lite.training.linear_part import LinearPart
from retvec_lite.training.train import choose_folds

CONFIG = EncoderConfig(max_chars=136, max_words=24)
LABELS = 150


def labels_of(classes: int) -> tuple[str, ...]:
    return tuple(f"a label of usual length {number}" for number in range(classes))


def buckets_beside(
    head: str,
    embedding: Mapping[str, Floats],
    classes: int = LABELS,
    *,
    encoder: EncoderConfig = CONFIG,
    **options: Any,
) -> int:
    return Budget(labels_of(classes), encoder, embedding, **options).buckets(HEADS[head]())


# --- buckets ----------------------------------------------------------------------------------------------------------


def test_kilobytes_are_bytes_of_the_table_and_its_lengths() -> None:
    def buckets(kilobytes: int, classes: int = 9) -> int:
        return buckets_beside("pool", {}, classes, ngram_kb=kilobytes)

    assert [buckets(kilobytes) for kilobytes in (2, 10, 100)] == [200, 1000, 10_000]
    assert buckets(10, classes=99) == 0 == buckets(0), "too few to be worth reading"
    assert buckets(100_000) == MOST_BUCKETS


def test_what_the_network_takes_is_not_there_for_ngrams() -> None:
    embedding = load_default_embedding().weights
    sizes = {name: buckets_beside(name, embedding) for name in HEADS}
    assert sizes["linear"] > sizes["pool"] > sizes["cnn"] > 0
    assert buckets_beside("pool", embedding, 2) == MOST_BUCKETS
    assert buckets_beside("cnn", embedding, 5000) == 0, "no room at all"


def test_a_limit_gives_room_and_takes_it() -> None:
    embedding = load_default_embedding().weights
    limits = (100, 550, 700, 999, 1000, 1001, 2000)
    found = [buckets_beside("pool", embedding, max_kb=limit) for limit in limits]
    assert found == sorted(found) and found[0] == 0 < found[1] and found[-2] > found[-3]
    assert (found[-1] - found[-3]) * (LABELS + 1) == pytest.approx(1_000_000, rel=1e-3)


def filled(name: str, config: EncoderConfig, max_kb: int = 1000) -> TrainedModel:
    """A classifier of random weights with as many buckets as there is room for."""
    embedding, head, rng = load_default_embedding(), HEADS[name](), np.random.default_rng(0)
    buckets = buckets_beside(name, embedding.weights, encoder=config, max_kb=max_kb)

    def normal(*shape: int) -> Floats:
        return rng.normal(0.0, 1.0, shape).astype(np.float32)

    weights = random_head(head, embedding.dimension, LABELS, config.max_words)
    weights = {key: snap(value, FOUR_BITS) if value.ndim == 2 else value for key, value in weights.items()}
    weights |= {
        **embedding.weights,
        "ngrams/table": snap(normal(buckets, LABELS), EIGHT_BITS),
        "ngrams/squares": rng.integers(1, 128, buckets).astype(np.float32),
        "ngrams/bias": normal(LABELS),
    }
    labels = labels_of(LABELS)
    about = {"name": embedding.name, "card": embedding.card}
    return TrainedModel(config, head, labels, weights, about, {"data": "none"}, NgramConfig(buckets=buckets, longest=5))


LONG = EncoderConfig(max_chars=1536, max_words=256)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "config"),
    [
        ("cnn", CONFIG),
        ("pool", CONFIG),
        pytest.param("linear", CONFIG, marks=pytest.mark.exhaustive),
        pytest.param("cnn", LONG, marks=pytest.mark.exhaustive),
    ],
    ids=lambda value: f"{value.max_words} words" if isinstance(value, EncoderConfig) else str(value),
)
def test_the_int8_file_stays_below_one_megabyte(head: str, config: EncoderConfig) -> None:
    model = filled(head, config)
    size = len(package(quantize(convert(model), "int8"), model, find_recipe("int8"), {}))
    assert 850_000 < size < 1_000_000, "the room is used, and no more than there is"
    shapes = {name: value.shape for name, value in model.weights.items()}
    assert estimate_bytes(shapes, config, model.labels)["int8"] == pytest.approx(size, rel=0.05)


@pytest.mark.slow
def test_a_file_stays_below_a_limit_of_ones_own() -> None:
    model = filled("linear", EncoderConfig(max_chars=64, max_words=8), max_kb=500)
    graph, shapes = convert(model), {name: value.shape for name, value in model.weights.items()}
    expected = estimate_bytes(shapes, model.encoder, model.labels)
    for recipe, size in expected.items():
        found = len(package(quantize(graph, recipe), model, find_recipe(recipe), {}))
        assert found == pytest.approx(size, rel=0.05), recipe
        assert recipe != "int8" or 400_000 < found < 500_000, "as much as leaves room for the other formats"


# --- which n-grams ----------------------------------------------------------------------------------------------------


def data_of(labels: int = 4) -> TrainingData:
    training = tiny_dataset(9)
    if labels > 4:
        names = tuple(f"{label} {place % (labels // 4)}" for place, label in enumerate(training.labels))
        training = type(training)(training.texts, names, training.path)
    folds = choose_folds(training, 0)
    return make_examples(training, training, variants=2, typo_rate=0.2, seed=3, folds=folds, config=TINY_CONFIG)


def kind_of(found: LinearPart) -> Kind:
    return found.config.shortest, found.config.longest


def fitter(data: TrainingData) -> LinearPart:
    return linear_of(data, 500)


# --- the last fit -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("with_held_out", "texts", "typo_rate"), [(False, 32, 0.2), (True, 32 + 20, 0.2), (True, 32 + 20, 0.0)]
)
def test_the_last_fit_learns_from_the_held_out_texts_as_well(
    monkeypatch: pytest.MonkeyPatch, with_held_out: bool, texts: int, typo_rate: float
) -> None:
    training, validation = tiny_dataset(8), tiny_dataset(5, seed=1)
    data = make_examples(
        training, validation, variants=2, typo_rate=typo_rate, seed=3, config=TINY_CONFIG, refit=with_held_out
    )
    seen, told = [], []
    plain = linear_part.fit_linear

    def fit_linear(features, targets, classes, **options):  # type: ignore[no-untyped-def]
        seen.append((features, targets, options["text_weights"]))
        return plain(features, targets, classes, **options)

    monkeypatch.setattr(linear_part, "fit_linear", fit_linear)
    found = linear_of(data, 500, progress=lambda *progress: told.append(progress))
    found.fit_and_answer()
    variants = 1 + QUICK.linear_variants if typo_rate else 1  # texts as they are need no second reading
    features, targets, weights = max(seen, key=lambda fit: len(fit[1]))
    assert len(targets) == len(features.counts) == variants * texts > 32
    assert weights.sum() == pytest.approx(texts), "a text counts once, however many variants of it there are"
    if with_held_out:
        held_out = count_ngrams(validation.texts, TINY_CONFIG, found.config)
        found_there = features.counts[variants * 32 :][:20].matrix()
        assert (found_there != held_out.matrix()).nnz == 0, "clean first, then mistyped"
        np.testing.assert_array_equal(targets[variants * 32 :], np.tile(data.held_out.truth, variants))
        assert told[-1][1] == told[-1][2], "progress ends where it said"


# --- the learning curve -----------------------------------------------------------------------------------------------


def test_shares_that_are_all_of_the_texts_are_told_once() -> None:
    """A fold of two texts a label has one of each, and so has every share of it."""
    training = tiny_dataset(2)
    folds = choose_folds(training, 0)
    data = make_examples(training, training, variants=1, typo_rate=0.0, seed=3, folds=folds, config=TINY_CONFIG)
    found = fitter(data)
    found.fit_and_answer()
    assert [count for count, _ in found.curve] == [4]


def test_the_curve_has_a_quarter_half_and_all_of_the_texts() -> None:
    data = data_of()
    found = fitter(data)
    logits, curve = found.fit_and_answer(), found.curve
    assert [texts for texts, _ in curve] == [8, 12, 24], "each label has 6 in a fold: 2, 3 and all of them"
    assert curve[-1][1] == (logits[Way.CLEAN].argmax(axis=1) == data.held_out.truth).mean()
    assert all(0.0 <= accuracy <= 1.0 for _, accuracy in curve) and curve[0][1] <= curve[-1][1]


def test_without_folds_the_curve_is_that_of_the_validation_texts() -> None:
    training, validation = tiny_dataset(8), tiny_dataset(5, seed=1)
    found = fitter(make_examples(training, validation, variants=2, typo_rate=0.2, seed=3, config=TINY_CONFIG))
    found.fit_and_answer()
    curve = found.curve
    assert [texts for texts, _ in curve] == [8, 16, 32]
    assert all(round(accuracy * 20) == pytest.approx(accuracy * 20) for _, accuracy in curve)


def test_every_label_is_in_every_point_of_the_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of three texts of each of two labels could be texts of one, which no solver takes."""
    counts = {"alarm": 3, "music": 3}
    texts = tiny_dataset(counts=counts)
    data = make_examples(texts, texts, variants=1, typo_rate=0.0, seed=3, folds=choose_folds(texts, 0))
    seen = []
    plain = linear_part.fit_linear
    monkeypatch.setattr(linear_part, "fit_linear", lambda features, targets, *args, **kwargs: (seen.append(set(targets)), plain(features, targets, *args, **kwargs))[1])  # fmt: skip
    found = linear_of(data, 500)
    found.fit_and_answer()
    assert [texts for texts, _ in found.curve] == [2, 4]
    assert len(seen) == 13 and all(targets == {0, 1} for targets in seen)


@pytest.mark.parametrize("few", [True, False], ids=["few", "many"])
@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("設定", (1, 2)),
        ("設定をひらく", (1, 2)),
        ("설정", (1, 2)),
        ("settings", (1, 4)),
        ("सेटिंग", (1, 4)),
        ("ตั้งค่า", (1, 4)),
    ],
)
def test_syllables_are_read_by_short_ngrams(monkeypatch: pytest.MonkeyPatch, word: str, kind: Kind, few: bool) -> None:
    """Letters of the scripts decide, not digits or signs; every part of a training asks for the same kind."""
    monkeypatch.setattr(request, "FEW", 10_000 if few else 1)
    texts = tiny_dataset(9)
    training = type(texts)(tuple(f"{word} 10:30, {place}!" for place in range(36)), texts.labels, texts.path)
    data = make_examples(training, training, variants=1, typo_rate=0.0, folds=choose_folds(training, 0), seed=0)
    found = fitter(data)
    found.fit_and_answer()
    assert kind_of(found) == kind
