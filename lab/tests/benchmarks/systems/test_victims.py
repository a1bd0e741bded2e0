"""The systems that attacks are measured on: rivals with probabilities, and the default file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import common
from benchmarks.data.sets import Corpus, load_corpus
from benchmarks.systems import linear, ours, whole
from benchmarks.systems.names import BAYES, DEFAULT_FILE, LINEAR, NETWORK, SVM, lines_of
from benchmarks.systems.networks import Plan
from benchmarks.systems.trained import Trained, fingerprint, from_scikit_learn
from benchmarks.systems.whole import WITHOUT_HEAD, build_victim, chosen_before, training_file, victim_settings
from retvec_lite.decision import Decision

TOPICS = {"food": ("bread", "cheese", "soup", "salad"), "play": ("guitar", "singer", "concert", "album")}
THREE = {**TOPICS, "work": ("office", "meeting", "boss", "salary")}
RIVALS = (SVM, LINEAR, BAYES)


@pytest.fixture(autouse=True)
def results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    return tmp_path


@pytest.fixture(params=[TOPICS, THREE], ids=["two labels", "three labels"])
def corpus(request: pytest.FixtureRequest, tmp_path: Path) -> Corpus:
    """Texts of which one word decides the label."""
    folder = tmp_path / "data" / "sms_spam"
    folder.mkdir(parents=True)
    for name, count in (("train", 20), ("test", 8)):
        rows = [f"{words[n % 4]} number {n},{label}\n" for n in range(count) for label, words in request.param.items()]
        (folder / f"{name}.csv").write_text("text,label\n" + "".join(rows))
    return load_corpus(folder.parent, "SMS spam")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(0, None, 300, "default", None, tmp_path / "work")


@pytest.mark.parametrize("system", RIVALS)
def test_a_rival_has_probabilities(system: str, corpus: Corpus, plan: Plan) -> None:
    victim = build_victim(system, "whole", corpus, plan)
    found = victim.probabilities(corpus.test.texts)
    assert found.shape == (len(corpus.test), len(corpus.training.classes))
    assert found.min() >= 0
    assert found.sum(axis=1) == pytest.approx(1)
    assert victim(corpus.test.texts) == list(corpus.test.labels)
    settings = victim_settings(system, "whole", plan, corpus)
    assert json.loads(json.dumps(settings)).keys() == settings.keys()


@pytest.mark.parametrize("labels", [("a", "b"), ("a", "b", "c")])
def test_decisions_become_probabilities_in_the_same_order(labels: tuple[str, ...]) -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.svm import LinearSVC

    letters = FunctionTransformer(lambda texts: np.array([[text.count(label) for label in labels] for text in texts]))
    fitted = make_pipeline(letters, LinearSVC(random_state=0)).fit([label * 3 for label in labels], labels)
    guess = from_scikit_learn(fitted, {})
    texts = ["a", "aab", "abb", "bbb", "abbb"]
    assert guess.labels == labels
    assert guess(texts) == fitted.predict(texts).tolist()
    shares, decisions = guess.probabilities(texts), fitted.decision_function(texts)
    decisions = decisions if decisions.ndim == 1 else decisions[:, 1]
    if len(labels) == 2:
        assert np.argsort(shares[:, 1]).tolist() == np.argsort(decisions).tolist()
    assert shares.sum(axis=1) == pytest.approx(1)


def test_whole_products_learn_from_the_training_file_in_its_order(corpus: Corpus) -> None:
    found = training_file(corpus)
    assert sorted(found.texts) == sorted((*corpus.training.texts, *corpus.validation.texts))
    lines = corpus.training.path.read_text().splitlines()[1:]
    assert [f"{text},{label}" for text, label in zip(found.texts, found.labels, strict=True)] == lines
    fewer = Corpus(corpus.name, corpus.training.select(range(10)), corpus.validation, corpus.test)
    assert len(training_file(fewer)) == 10 + len(corpus.validation)


@pytest.mark.parametrize("system", RIVALS)
def test_what_was_chosen_on_these_texts_is_not_chosen_again(
    system: str, corpus: Corpus, plan: Plan, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = training_file(corpus)
    trained = whole.train(system, texts)
    everything = fingerprint([*texts.texts, *texts.labels])
    settings = {**whole.settings_of(system), "training": everything, "test": "x", "test_texts": 9}
    row = {"data": corpus.name, "system": system, "shots": 0, "settings": settings, **trained.facts}
    (results / "few_shot.json").write_text(json.dumps([row | {"shots": 5}, row]))
    before = chosen_before(system, corpus.name, texts)
    assert before is not None
    assert before["shots"] == 0
    assert chosen_before(system, corpus.name, texts.select(range(9))) is None
    assert chosen_before(system, "AG News", texts) is None

    def refuse(*_: object) -> None:
        raise AssertionError("chosen again")

    monkeypatch.setattr(linear, "choose_settings", refuse)
    monkeypatch.setattr(linear, "choose_penalty", refuse)
    asked = [*corpus.test.texts, "something else", ""]
    assert build_victim(system, "whole", corpus, plan).probabilities(asked) == pytest.approx(
        trained.probabilities(asked)
    )
    again = whole.train(system, texts, chosen=before).facts
    assert json.loads(json.dumps(again)) == json.loads(json.dumps(trained.facts))


def test_the_default_file_is_trained_once_for_the_same_texts(
    corpus: Corpus, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainings: list[tuple[int, int]] = []

    class Fake:
        """Stands for a trained classifier, and for the exported file."""

        labels = corpus.training.classes
        decision = Decision()

        def save(self, folder: Path, *, force: bool) -> None:
            folder.mkdir(parents=True)
            for name in (ours.CLASSIFIER_FILE, "classifier-int8.tflite"):
                (folder / name).write_text("")

        def probabilities(self, texts: Any) -> np.ndarray:
            return np.eye(len(self.labels), dtype=np.float32)[[len(text) % 2 for text in texts]]

    def train(texts: Any, *, seed: int) -> Fake:
        trainings.append((len(texts), seed))
        return Fake()

    monkeypatch.setattr(ours.rl, "train", train)
    monkeypatch.setattr(ours.rl, "load", lambda _: Fake())
    for _ in range(2):
        assert build_victim(DEFAULT_FILE, "whole", corpus, plan)(["ab", "a"]) == ["food", "play"]
    assert trainings == [(len(corpus.training) + len(corpus.validation), 0)]
    build_victim(DEFAULT_FILE, "whole", corpus, Plan(1, None, 300, "default", None, plan.work))
    assert trainings[1:] == [(trainings[0][0], 1)]


def test_systems_of_the_tables_come_from_their_own_module(
    corpus: Corpus, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    product = Trained(("a",), lambda texts: np.ones((len(texts), 1)))
    monkeypatch.setattr(whole.networks, "build", lambda *_: product)
    assert build_victim(NETWORK, "cnn", corpus, plan) == product
    assert victim_settings(NETWORK, "cnn", plan, corpus)["head"] == "cnn"
    assert lines_of([DEFAULT_FILE, NETWORK], ["cnn", "pool"], WITHOUT_HEAD) == [
        (DEFAULT_FILE, "whole"),
        (NETWORK, "cnn"),
        (NETWORK, "pool"),
    ]
