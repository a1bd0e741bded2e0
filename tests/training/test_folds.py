"""Folds: every text is tested on once, by a model that has not seen it, and every label is known to every model."""

import dataclasses
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fitted import asked, train
from hypothesis import given, settings
from hypothesis import strategies as st

import retvec_lite as rl
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.warnings import check_trainable
from retvec_lite.training import request as requests
from retvec_lite.training.train import choose_folds, make_plan


def counted(*counts: int) -> Dataset:
    """So many texts of each of several labels, mixed."""
    labels = [f"label {place}" for place, count in enumerate(counts) for _ in range(count)]
    order = np.random.default_rng(0).permutation(len(labels))
    return Dataset(tuple(f"text {row}" for row in order), tuple(labels[row] for row in order), Path("d.csv"))


@given(st.lists(st.integers(2, 40), min_size=2, max_size=12), st.integers(0, 99))
@settings(max_examples=60)
def test_every_text_is_tested_once_and_every_label_is_learned(counts: list[int], seed: int) -> None:
    dataset = counted(*counts)
    folds = choose_folds(dataset, seed)
    assert len(folds) == min(3, max(counts))
    for rows, others in folds:
        assert rows.dtype == others.dtype == np.int64 and len(others)
        assert sorted([*rows, *others]) == list(range(len(dataset))), "learned from or tested on, never both"
        assert {dataset.labels[row] for row in rows} == set(dataset.labels)
    assert sorted(row for _, others in folds for row in others) == list(range(len(dataset)))


@pytest.mark.filterwarnings("error")
def test_two_texts_a_label_are_enough() -> None:
    folds = choose_folds(counted(2, 2, 2), 0)
    assert [(len(rows), len(others)) for rows, others in folds] == [(3, 3)] * 2
    assert [len(others) for _, others in choose_folds(counted(9, 2), 0)] == [4, 4, 3]


def test_one_text_a_label_is_divided_and_so_is_none() -> None:
    for counts in ((1, 1, 1, 1), (5, 1, 4)):
        dataset = counted(*counts)
        check_trainable(dataset)
        folds = choose_folds(dataset, 0)
        assert sorted(row for _, others in folds for row in others) == list(range(len(dataset)))
    assert choose_folds(counted(1), 0) == choose_folds(counted(), 0) == []


def test_texts_are_not_tested_where_one_label_alone_would_be_learned() -> None:
    data = Dataset(("one text", "another text"), ("7", "8"))
    check_trainable(data)
    assert choose_folds(data, 0) == []
    described = dataclasses.replace(data, descriptions=(("7", "seven"), ("8", "eight")))
    assert len(choose_folds(described, 0)) == 2


class Vowels:
    """An encoder that counts letters."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[text.count(letter) for letter in "aeiou"] for text in texts], np.float32)


@pytest.mark.parametrize("options", [{}, {"unlabelled": [f"{'a' * n} {'o' * m}" for n in range(8) for m in range(8)]}])
@pytest.mark.parametrize(("few", "meaning", "folds"), [(3000, "none", 0), (30, "none", 0), (30, "auto", 2)])
def test_a_fold_without_a_label_knows_it_by_its_name(
    few: int, meaning: str, folds: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many texts a teacher labels; where nothing is known of words, there are no folds."""
    monkeypatch.setattr(requests, "FEW", few)
    options |= {"teacher": Vowels()} if options else {}
    found = rl.train(
        *(["wake me at six", "play the song"], ["alarm", "music"]),
        **{"meaning": meaning, "embedding": "raw", "epochs": 2, "class_weights": {"alarm": 1, "music": 2}, **options},
    )
    assert found.model.training["folds"] == folds and set(found.labels) >= {"alarm", "music"}


def test_labels_are_shared_out_alike() -> None:
    dataset = counted(30, 60, 9)
    for _, others in choose_folds(dataset, 0):
        assert Counter(dataset.labels[row] for row in others) == {"label 0": 10, "label 1": 20, "label 2": 3}


def test_folds_follow_the_seed() -> None:
    dataset = counted(20, 20)
    one, again, other = ([others.tolist() for _, others in choose_folds(dataset, seed)] for seed in (1, 1, 2))
    assert one == again != other


def test_texts_set_aside_do_not_make_the_others_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the border, there are no folds and there is a network; up to it, folds and none."""
    assert requests.FEW == 3000
    monkeypatch.setattr(requests, "FEW", 40)
    for count, trains in ((20, False), (21, True)):
        plan, _ = make_plan(asked(counted(count, count)))
        assert plan.trains == trains == (not plan.data.are_few) == (not plan.data.folds)


def repeated(times: int, texts: int = 90, seed: int = 0) -> Dataset:
    """Texts of random words under random labels, each so many times, written a little differently, in any order."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(60)]
    rows = [(" ".join(draw.sample(words, 7)), draw.choice(("a", "b"))) for _ in range(texts)]
    ways = (str, str.upper, "Hello {}".format, "{}!!".format)
    many = [(ways[copy % 4](text), label) for copy in range(times) for text, label in rows]
    draw.shuffle(many)
    return Dataset(tuple(text for text, _ in many), tuple(label for _, label in many))


def test_copies_are_in_one_fold_and_labels_shared_out_alike() -> None:
    dataset = repeated(4)
    folds = choose_folds(dataset, 0)
    assert sorted(row for _, others in folds for row in others) == list(range(len(dataset)))
    shares = [Counter(dataset.labels[row] for row in others) for _, others in folds]
    for label in ("a", "b"):
        assert max(share[label] for share in shares) - min(share[label] for share in shares) <= 4
    for rows, others in folds:
        assert sorted([*rows, *others]) == list(range(len(dataset)))
        assert not {dataset.groups[row] for row in rows} & {dataset.groups[row] for row in others}


def test_copies_of_texts_with_several_labels_are_in_one_fold() -> None:
    single = repeated(3)
    labels = tuple("" if row % 5 == 0 else label if row % 3 else "a|b" for row, label in enumerate(single.labels))
    dataset = Dataset(single.texts, labels, multi_label=True)
    for rows, others in choose_folds(dataset, 0):
        assert not {dataset.groups[row] for row in rows} & {dataset.groups[row] for row in others}


def test_a_label_whose_texts_are_all_copies_is_known_to_every_fold() -> None:
    dataset = Dataset(
        ("where is my parcel", "Where is my parcel?", "hi where is my parcel", *"abcdef"), tuple("xxxyyyyyy")
    )
    for rows, _ in choose_folds(dataset, 0):
        assert {dataset.labels[row] for row in rows} == {"x", "y"}


@pytest.mark.parametrize("times", [2, 8])
def test_random_labels_are_reported_as_chance_however_often_each_text_comes(times: int) -> None:
    outcome = train(repeated(times), head="linear", typo_rate=0.0)
    facts = outcome.model.training
    accuracy, error = facts["validation"]["0"]["accuracy"], facts["accuracy_error"]
    assert abs(accuracy - 0.5) <= 2 * error
    # That of 90 texts, or of the folds' own scores.
    assert 0.05 <= error <= 0.12
    assert facts["copies"] == {"texts": 90 * (times - 1), "groups": 90 * (times > 1)}
