"""scikit-learn's own tools on `RetvecClassifier`."""

import inspect
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import retvec_lite as rl
from retvec_lite.sklearn import RetvecClassifier

TEXTS = np.array(["wake me at six", "alarm at noon please", "where is my parcel", "track my order now"] * 8)
LABELS = np.array([7, 7, 30, 30] * 8)
QUICK = {"head": "linear", "ngram_kb": 20, "meaning": "none"}
"""Options that train in a second, where the network is not what a test is about."""


@pytest.fixture(scope="module")
def fitted() -> RetvecClassifier:
    return RetvecClassifier(epochs=3).fit(TEXTS, LABELS)


def test_fit_predict_and_score(fitted: RetvecClassifier) -> None:
    assert fitted.classes_.tolist() == [7, 30]
    probabilities = fitted.predict_proba(TEXTS)
    assert probabilities.shape == (32, 2) and probabilities.sum(axis=1) == pytest.approx(np.ones(32), abs=1e-5)
    assert np.array_equal(fitted.predict(TEXTS), fitted.classes_[probabilities.argmax(axis=1)])
    assert fitted.score(TEXTS, LABELS) == 1.0
    assert isinstance(fitted.classifier_, rl.Classifier) and fitted.classifier_.labels == ("30", "7")


def test_clone_and_parameters(fitted: RetvecClassifier) -> None:
    model = RetvecClassifier(head="cnn", epochs=2, seed=5)
    copy = clone(model)
    assert copy is not model and copy.get_params() == model.get_params() and copy.get_params()["head"] == "cnn"
    assert copy.set_params(head="pool", typo_rate=0.1).typo_rate == 0.1
    assert not hasattr(clone(fitted), "classes_")
    with pytest.raises(NotFittedError):
        copy.predict(TEXTS)


def test_cross_validation_and_grid_search() -> None:
    scores = cross_val_score(RetvecClassifier(**QUICK), TEXTS, LABELS, cv=2)
    assert scores.shape == (2,) and (scores >= 0.75).all()
    search = GridSearchCV(RetvecClassifier(**QUICK), {"ngram_kb": [10]}, cv=2, refit=False, error_score="raise")
    assert search.fit(TEXTS, LABELS).best_score_ >= 0.75


def test_every_argument_of_train_that_fits_can_be_searched() -> None:
    elsewhere = {"data", "labels", "text_column", "label_column", "out", "force", "progress", "keep"}
    elsewhere |= {"delimiter", "labels_from", "skip_bad_rows"}  # of files and tables
    theirs, ours = (inspect.signature(call).parameters for call in (rl.train, RetvecClassifier))
    assert set(theirs) - elsewhere == set(ours)
    assert {name: theirs[name].default for name in ours} == {name: found.default for name, found in ours.items()}


def test_options_reach_the_training() -> None:
    options = {"head": "linear", "ngram_kb": 3, "validation": 0.25, "seed": 4}
    found = RetvecClassifier(**options).fit(TEXTS, LABELS).classifier_
    assert found.model.head.name == "linear" and found.model.ngrams is not None
    assert found.model.ngrams.buckets == 1000 and found.training["folds"] == 0
    assert found.training["validation_texts"] == 8 and found.training["settings"]["seed"] == 4
    teacher = make_pipeline(FunctionTransformer(lambda texts: [[len(text)] for text in texts]), LogisticRegression())
    for labels in (LABELS, np.array(LABELS, float), np.array(LABELS) == 7):
        options = {**QUICK, "unlabelled": ["parcels"], "teacher": teacher.fit(TEXTS, labels)}
        assert RetvecClassifier(**options).fit(TEXTS, labels).classifier_.training["taught"]["by"] == "Pipeline"


def test_probabilities_of_texts_of_none_of_the_labels_add_up_to_1_too() -> None:
    teacher = SimpleNamespace(encode=lambda texts: [["wake" in text, "track" in text, "zz" in text] for text in texts])
    inbox = [f"{kind} {number}" for kind in ("wake up", "track it", "zz bzz") for number in range(20)]
    model = RetvecClassifier(**QUICK, unlabelled=inbox, teacher=teacher).fit(TEXTS, LABELS)
    assert "none of these" in model.classifier_.labels and model.classifier_.predict("zz 3", 1)[0].label is None
    assert model.predict_proba(["zz 3", "wake up"]).sum(axis=1) == pytest.approx(np.ones(2), abs=1e-5)


def test_pipelines_tables_and_labels_of_other_types() -> None:
    frame = pd.DataFrame({"text": TEXTS, "label": LABELS})
    column = ColumnTransformer([("text", "passthrough", ["text"])])
    lower = FunctionTransformer(lambda texts: np.char.lower(np.asarray(texts, str)))
    steps = [("column", column), ("lower", lower), ("classify", RetvecClassifier(**QUICK))]
    model = Pipeline(steps).fit(frame, frame["label"] == 7)
    assert model.predict(frame.head(1)).dtype == bool and model.score(frame, frame["label"] == 7) == 1.0


def test_an_indicator_matrix_gives_several_labels_a_text() -> None:
    texts = ["wake me", "play a song", "wake me and play a song", "hello you"] * 6
    wanted = np.array([[1, 0, 0], [0, 0, 1], [1, 0, 1], [0, 0, 0]] * 6)
    model = RetvecClassifier(**QUICK).fit(texts, sparse.csr_matrix(wanted))
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict(texts) == wanted).all() and model.score(texts, wanted) == 1.0
    lists = RetvecClassifier(**QUICK, multi_label=True).fit(texts, wanted.tolist())
    assert lists.classes_.tolist() == [0, 1, 2] and (lists.predict(texts) == wanted).all()
    table = model.predict_proba(texts[:4])
    assert table.shape == (4, 3) and not table[:, 1].any() and table[2, [0, 2]].sum() > 1.0


def test_labels_may_be_lists_where_texts_have_several() -> None:
    texts = ["wake me", "play a song", "wake me and play a song", "hello you"] * 6
    model = RetvecClassifier(**QUICK, multi_label=True)
    model.fit(texts, [["alarm"], "music", ["music", "alarm"], []] * 6)
    assert model.classes_.tolist() == ["alarm", "music"]
    assert model.predict(texts[:4]).tolist() == [[1, 0], [0, 1], [1, 1], [0, 0]]


def test_a_rejected_text_has_the_unknown_label_or_the_most_probable_one() -> None:
    texts, labels = [*TEXTS, "the moon is made of cheese", "who knows what this is"] * 2, [*LABELS, -1, -1] * 2
    options = {**QUICK, "reject_at": 0.9}
    for kind in (float, int):  # of labels, which have the same names in files
        weighted = {**options, "unknown_label": kind(-1), "class_weights": {kind(7): 2, kind(30): 1, kind(-1): 1}}
        model = RetvecClassifier(**weighted).fit(texts, np.array(labels, kind))
        assert model.classes_.tolist() == [-1, 7, 30] and model.classifier_.training["reject_at"] == 0.9
        assert model.predict(["?!", "wake me at six", "the moon is made of cheese"]).tolist() == [-1, 7, -1]
    plain = RetvecClassifier(**options).fit(TEXTS, LABELS)
    assert plain.classifier_.predict("?!", top=1)[0].label is None and plain.predict(["?!"])[0] in (7, 30)
    blank = RetvecClassifier(**options).fit(TEXTS, [f" {label}" for label in LABELS])
    assert blank.predict(TEXTS).tolist() == [f" {label}" for label in LABELS]


PARTS = [QUICK, {"head": "pool", "ngram_kb": 0, "epochs": 8}]


@pytest.mark.parametrize("options", PARTS, ids=["linear part", "network"])
def test_the_weight_of_a_text_reaches_every_part(options: dict[str, object]) -> None:
    """The same texts have either label: the heavier one is learned."""
    texts = ["wake me at six", "where is my parcel", "wake me at six", "where is my parcel"] * 8
    labels, weights = ["a", "b", "b", "a"] * 8, np.array([9, 9, 1, 1] * 8)
    for heavy, expected in ((weights, ["a", "b"]), (10 - weights, ["b", "a"])):
        model = RetvecClassifier(**options).fit(texts, labels, sample_weight=heavy)
        assert model.predict(texts[:2]).tolist() == expected


def test_only_the_ratios_of_weights_matter_and_none_leaves_a_text_out() -> None:
    model = RetvecClassifier(**QUICK, validation=0.25)
    wrong = ["track my order", "wake me at noon"]
    texts, labels = [*TEXTS, *wrong], [*LABELS, 7, 30]

    def fitted(*arguments: object) -> bytes:
        return clone(model).fit(*arguments).classifier_.model.to_bytes()

    plain = fitted(TEXTS, LABELS)
    assert fitted(texts, labels, [1] * len(TEXTS) + [0, 0]) == plain == fitted(TEXTS, LABELS, [8] * len(TEXTS))
    assert fitted(TEXTS, LABELS, [1, 2] * (len(TEXTS) // 2)) != plain


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0], "sample_weight has 1 numbers, but there are 32 texts"),
        ([1e308, 1e-308] * 16, "sample_weight ranges from 1e-308 to 1e.308: the largest may be 1e9 times"),
        ([-1.0] * 32, "sample_weight must hold finite numbers of at least 0, not -1.0"),
        (["heavy"] * 32, "sample_weight must hold finite numbers of at least 0, not 'heavy'"),
        ([10**5000] * 32, "sample_weight must hold finite numbers of at least 0, not a value of the type int"),
        ([float("inf")] * 32, "sample_weight must hold finite numbers of at least 0, not inf"),
        (5, "sample_weight must be a sequence of numbers, one for each text"),
        ([0] * 32, "sample_weight is 0 for every text"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights: object, sentence: str) -> None:
    with pytest.raises(rl.RetvecLiteError, match=sentence):
        RetvecClassifier().fit(TEXTS, LABELS, sample_weight=weights)


def test_bad_input_is_one_sentence() -> None:
    for sentence, texts, y in (
        ("indicator matrix", ["a", "b"], np.array([[1, 2], [0, 1]])),
        ("with multi_label=True, a list of labels", ["a", "b"], [["x"], ["x", "y"]]),
        ("several types", ["a", "b"], np.array([1, "1"], object)),
        ("one column", np.array([["a", "b"]]), ["x"]),
        ("one string", "text", ["x"]),
        *(("of 2 labels in y are missing", ["x", "y"], y) for y in ([None, None], ["a", None], [np.nan, 1.0])),
        *(("infinite, or too large", ["x", "y"], np.array([1, top], object)) for top in (10**400, 10**5000, np.inf)),
    ):
        with pytest.raises(rl.RetvecLiteError, match=sentence):
            RetvecClassifier().fit(texts, y)
    with pytest.raises(rl.RetvecLiteError, match="indicator matrix"):
        RetvecClassifier(multi_label=False).fit(["a", "b"], np.array([[1, 0], [0, 1]]))
