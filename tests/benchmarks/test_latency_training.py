"""The profile of a training: each second counts once, and what is watched is left as it was."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from modeling_cases import SMALL_HEADS, random_embedding
from training_profile import Phases, watched_training


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """`now`, in seconds, for a test to set forward."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("time.perf_counter", lambda: clock.now)
    return clock


def test_a_phase_inside_another_counts_alone(clock: SimpleNamespace) -> None:
    def inner(seconds: float) -> float:
        clock.now += seconds
        return seconds

    owner = SimpleNamespace(inner=inner)
    phases = Phases()
    with phases.watch(owner, "inner", "inner"), phases.phase("outer"):
        clock.now += 1.0
        assert owner.inner(4.0) == 4.0
        assert owner.inner(seconds=2.0) == 2.0
    assert owner.inner is inner
    assert phases.seconds == {"inner": 6.0, "outer": 1.0}
    assert phases.calls == {"inner": 2, "outer": 1}


def test_a_watch_ends_with_an_error(clock: SimpleNamespace) -> None:
    def fail() -> None:
        clock.now += 3.0
        raise ValueError("as asked")

    owner = SimpleNamespace(fail=fail)
    phases = Phases()
    with pytest.raises(ValueError, match="as asked"), phases.watch(owner, "fail", "failing"):
        owner.fail()
    assert owner.fail is fail
    assert phases.seconds == {"failing": 3.0}


@pytest.mark.slow
def test_every_step_of_a_training_is_counted() -> None:
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing is trained")
    from retvec_lite.contract import EncoderConfig
    from retvec_lite.data.dataset import Dataset
    from retvec_lite.training import examples, fitting
    from retvec_lite.training.network import TrainableNetwork
    from retvec_lite.training.settings import FitSettings

    texts = ("wake me please", "play a song", "wake me now", "play it again")
    training = Dataset(texts * 2, ("alarm", "music") * 4, Path("tiny.csv"))
    settings = FitSettings(epochs=3, patience=3, batch_size=2, copies=1)
    phases = Phases()
    with watched_training(phases), phases.phase("the rest"):
        data = examples.prepare(
            training,
            Dataset(texts, ("alarm", "music") * 2, Path("tiny.csv")),
            copies=settings.copies,
            typo_rate=settings.typo_rate,
            seed=settings.seed,
            config=EncoderConfig(max_chars=32, max_words=4),
        )
        embedding = random_embedding(dimension=64).weights
        fitter = fitting.NetworkFitter(data, SMALL_HEADS[0], embedding, fine_tune=False, settings=settings)
        fitter.fit(held_out=data.held_out)
    assert fitting.TrainableNetwork is TrainableNetwork
    rates = len(examples.VALIDATION_RATES)
    evaluations = settings.epochs * rates
    assert phases.calls == Counter(
        {
            "typos": 1 + rates,
            "texts through the encoder": 3,
            "distinct words through the embedding": 1,
            "first step (builds the graph)": 1,
            "steps": 11,
            "validation": evaluations,
            "rows of each batch": 12 + evaluations,
            "the rest": 1,
        }
    )
    assert all(seconds > 0 for seconds in phases.seconds.values())


@pytest.mark.slow
def test_every_part_of_train_is_counted() -> None:
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed: nothing is trained")
    from tiny_data import QUICK, tiny_dataset

    from retvec_lite.training.trainer import train

    phases = Phases()
    with watched_training(phases), phases.phase("the rest"):
        train(tiny_dataset(6), tiny_dataset(2, seed=1), head="pool", max_words=8, settings=QUICK)
    copies, rates, kinds, points = QUICK.copies, 3, 2, 3
    assert phases.calls["n-grams of texts"] % (1 + copies + rates) == 0 < phases.calls["n-grams of texts"]
    assert phases.calls["fitting n-grams"] == kinds + points - 1, (
        "one of each kind, and the smaller points of the curve"
    )
    assert phases.calls["distinct words through the embedding"] == 1 and phases.calls["steps"] > 0
