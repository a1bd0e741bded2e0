"""The plain SVM that a classifier is compared with: its accuracy on texts that it has not seen, and never a long wait."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tiny_data import tiny_dataset

from retvec_lite.data.dataset import Dataset
from retvec_lite.training import baseline
from retvec_lite.training.baseline import plain_svm
from retvec_lite.training.examples import Split, TrainingData, make_examples
from retvec_lite.training.train import choose_folds


def read(training: Dataset, tested: Dataset | None = None, folds: Sequence[Split] = ()) -> TrainingData:
    return make_examples(training, tested or training, copies=0, typo_rate=0.0, seed=0, folds=folds)


def test_it_is_tested_on_the_same_texts() -> None:
    data = tiny_dataset(12)
    assert plain_svm(read(data, folds=choose_folds(data, 0))) == 1.0
    assert plain_svm(read(data, tiny_dataset(5, seed=7))) == 1.0
    wrong = Dataset(data.texts, tuple(reversed(data.labels)), data.path)
    assert (plain_svm(read(data, wrong)) or 0.0) < 0.5, "it answers by the training texts, and is scored by the others"


def test_no_text_is_scored_by_an_svm_that_saw_it() -> None:
    draw = random.Random(5)
    texts = tuple(" ".join("".join(draw.choices("abcdefgh", k=5)) for _ in range(4)) for _ in range(90))
    data = Dataset(texts, tuple(draw.choice("xy") for _ in texts), Path("random.csv"))
    assert plain_svm(read(data)) == 1.0, "what was seen is known by heart"
    assert 0.3 < (plain_svm(read(data, folds=choose_folds(data, 0))) or 0.0) < 0.7


def test_what_would_take_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiny_dataset(4)
    characters = sum(map(len, data.texts))
    labels = len(data.classes) + 20
    for work, is_done in ((characters * labels, True), (characters * labels - 1, False)):
        monkeypatch.setattr(baseline, "_WORK", work)
        assert (plain_svm(read(data, folds=choose_folds(data, 0))) is not None) == is_done
        assert plain_svm(read(data, data)) is None, "twice as many characters"


def test_without_anything_to_learn_there_is_none() -> None:
    data = tiny_dataset(4)
    several = Dataset(data.texts, data.labels, data.path, multi_label=True)
    assert plain_svm(read(several)) is None
    alone = np.flatnonzero(np.array(data.labels) == data.labels[0])
    assert plain_svm(read(data, folds=[(alone, alone), (alone, alone)])) is None, "a fold of one label"
    blank = Dataset((" ", "  ") * 3, ("a", "b") * 3, data.path)
    assert plain_svm(read(blank)) is None, "no n-gram"
