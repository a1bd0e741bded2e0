"""Texts without labels: a teacher labels them, the classifier learns from both, and what a fold is tested on stays unseen."""

import functools
import multiprocessing
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from refusals import refusal
from scipy.sparse import csr_matrix

import retvec_lite as rl
from retvec_lite.data.dataset import as_dataset
from retvec_lite.errors import RetvecLiteError
from retvec_lite.report_page import training_page
from retvec_lite.terminal import silent
from retvec_lite.training import request, sentence_encoders
from retvec_lite.training import train as training
from retvec_lite.training.described import Origin
from retvec_lite.training.teacher import Neighbours, make_teacher

ALARM = ("wake", "alarm", "snooze", "clock", "morning")
MUSIC = ("play", "song", "guitar", "radio", "melody")
TEXTS = [f"{words[0]} {words[1]} please {number}" for words in (ALARM, MUSIC) for number in range(8)]
LABELS = ["alarm"] * 8 + ["music"] * 8


def inbox(count: int = 40) -> list[str]:
    """Return texts that join words of labelled texts with others of the same kind, among words that say nothing."""
    draw = np.random.default_rng(0)
    kinds = [ALARM, MUSIC] * (count // 2)
    others = ["".join(draw.choice(list("bcdfghaeiou"), 6)) for _ in range(3 * count)]
    return [
        " ".join([kind[draw.integers(2)], *others[3 * place : 3 * place + 3], kind[draw.integers(2, 5)]])
        for place, kind in enumerate(kinds)
    ]


class Seeing:
    """An encoder that knows what texts are about, each with noise of its own."""

    kinds = (ALARM, MUSIC, ("goal", "match", "referee", "stadium", "league"))

    def encode(self, texts: Sequence[str]) -> Any:
        noise = [np.random.default_rng(len(text)).normal(0, 0.1, 3) for text in texts]
        return np.array([[any(word in text for word in kind) for kind in self.kinds] for text in texts]) + noise


def train(**options: Any) -> Any:
    return rl.train(TEXTS, LABELS, meaning="none", embedding="raw", **options)


def test_words_that_only_unlabelled_texts_have_are_learned_and_neighbours_help(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    kinds = [["".join(draw.choice(list("bcdfghaeiou"), 6)) for _ in range(60)] for _ in "ab"]
    texts = [" ".join(draw.choice(kinds[number % 2], 4)) for number in range(600)]

    def right(**options: Any) -> float:
        classifier = rl.train(texts[:8], [*"abababab"], meaning="none", embedding="raw", **options)
        return rl.evaluate(classifier, texts[300:], [*"ab"] * 150).accuracy

    options = {"unlabelled": texts[8:300], "teacher": "itself"}
    alone, itself = right(), right(**options)
    monkeypatch.setattr(Neighbours, "mix", lambda _, said: said)
    assert alone + 0.05 < right(**options) < itself - 0.05


def test_the_report_says_who_labelled_how_many_and_what_that_brought() -> None:
    classifier = train(unlabelled=[*inbox(), TEXTS[0], inbox()[3].upper(), ""], teacher=[Seeing(), Seeing()])
    facts = classifier.model.training
    assert facts["unlabelled_texts"] == 40, "no copies, no empty text"
    assert facts["training_texts"] == 16 and facts["taught"]["by"] == "Seeing 1 and Seeing 2"
    assert "40 texts without labels" in str(classifier)
    assert "Texts without labels were labelled by Seeing 1 and Seeing 2 (cross-validated, " in str(classifier)
    said = f", and {classifier.validation[0.0].accuracy:.1%} by this classifier: more labels bring more."
    assert f"{facts['taught']['teacher']:.1%} are right by Seeing 1 and Seeing 2{said}" in str(classifier)
    page = training_page(classifier.model, classifier.held_out)
    assert b"are right by Seeing 1 and Seeing 2" in page
    assert "(validated, " in str(train(unlabelled=inbox(), teacher=Seeing(), validation=0.5))


@pytest.mark.parametrize("table", [dict, pd.DataFrame])
def test_an_inbox_may_be_a_table(table: Any) -> None:
    given = table({"id": [*range(43)], "body": [*inbox(), "half \ud800 a pair", None, float("nan")]})
    classifier = train(teacher="itself", unlabelled=given, text_column="body")
    assert classifier.model.training["unlabelled_texts"] == 41
    with pytest.raises(RetvecLiteError, match="unlabelled: No column 'text' in this table"):
        train(unlabelled=table({"body": inbox()}))


@pytest.mark.parametrize("few", [request.FEW, 30])  # where a teacher labels many others, a network learns as well
def test_texts_unlike_all_labelled_ones_have_no_label(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "FEW", few)
    sport = [f"{text.split()[1]} {text.split()[2]} match {word}" for text in inbox(20) for word in Seeing.kinds[2][3:]]
    asked = ["stadium and match", "a match of the league"]

    def unknown(texts: Sequence[str], **options: Any) -> list[bool]:
        network = {"teacher": Seeing(), "epochs": 2 if few == 30 else None}
        classifier = train(unlabelled=texts, **(options or network))
        assert classifier.predict("wake the alarm please", 1)[0].label == "alarm"
        assert classifier.model.training["folds"] == 3
        assert ("network" in classifier.model.training["factors"]) == (few == 30 and not options)
        assert ("none of these" in classifier.labels) == (classifier.decision.unknown_label == "none of these")
        assert (" 2 labels and none of them, " in str(classifier)) == ("none of these" in classifier.labels)
        return [classifier.predict(text, 1)[0].label is None for text in asked]

    assert all(unknown([*inbox(160), *sport]))
    assert not all(unknown(inbox(160)))
    assert not all(unknown([*inbox(160), *sport], teacher="itself"))


@pytest.mark.parametrize("options", [{"unknown_label": "music"}, {}])
def test_what_is_unlike_all_labelled_texts_gets_no_second_label_for_it(options: dict[str, Any]) -> None:
    names = {"alarm": "alarm", "music": "music" if options else "none of these"}
    labels = [names[label] for label in LABELS]
    classifier = rl.train(
        TEXTS, labels, unlabelled=inbox(), teacher=Seeing(), meaning="none", embedding="raw", **options
    )
    assert set(classifier.labels) == set(labels)
    assert classifier.decision.unknown_label == options.get("unknown_label")


class Noisy:
    """An encoder of little knowledge: what a text is about hides behind noise of its own."""

    def encode(self, texts: Sequence[str]) -> Any:
        noise = [np.random.default_rng(int(text[1:])).normal(0, 0.5, 30) for text in texts]
        about = [[text[0] == "a", text[0] == "b"] for text in texts]
        return np.concatenate([np.array(about, float), np.stack(noise)], axis=1)


def taught_by(teacher: Any, texts: Sequence[str], labelled: int, none: int | None = None) -> tuple[Any, Any]:
    """Return the labels of texts, which are their first letters, and how sure each is, but for the first ones, which are labelled."""
    origins = np.array([Origin.GIVEN] * labelled + [Origin.UNLABELLED] * (len(texts) - labelled))
    data = SimpleNamespace(clean=texts, labels=("a", "b"), labelled=labelled, none=none, origins=origins)
    data.sentences = np.arange(len(texts))
    data.count = lambda origin: int((origins == origin).sum())
    rows, targets = np.arange(len(texts)), np.array([text[0] == "b" for text in texts[:labelled]], np.int32)
    targets = np.concatenate([targets, np.full(len(texts) - labelled, -1, np.int32)])
    return make_teacher({"given": teacher}, cast(Any, data), silent, None).answers(
        rows[:labelled], targets, rows[labelled:]
    )


def test_neighbours_without_labels_make_an_encoder_right_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{'ab'[number % 2]}{number}" for number in range(300)]
    truth = np.array([text[0] == "b" for text in texts[6:]])
    found, sure = taught_by(Noisy(), texts, 6)
    monkeypatch.setattr(Neighbours, "mix", lambda _, said: said)
    assert (found == truth).mean() > (taught_by(Noisy(), texts, 6)[0] == truth).mean() + 0.05
    assert 0 <= sure.min() and sure.max() <= 2
    assert sure[found == truth].mean() > 1.2 * sure[found != truth].mean(), "it knows what it does not know"


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
@pytest.mark.parametrize("known", [40, 1, 0])
def test_a_text_of_which_nothing_is_known_is_nobodys_neighbour(kind: Any, known: int) -> None:
    vectors = np.tile(np.eye(2, dtype=np.float32), (24, 1)) * (np.arange(48) < known)[:, None]
    said = np.concatenate([[[9, 9]], vectors[:40], np.full((8, 2), 9)])
    mixed = Neighbours(kind(vectors), np.arange(1, 49), 49).mix(said)
    np.testing.assert_allclose(mixed[1:41], said[1:41] / (1 if known == 40 else 2))


def test_a_strange_text_has_no_label_only_where_none_is_sure() -> None:
    class Around:
        def encode(self, texts: Sequence[str]) -> Any:
            angles = np.radians([int(text[1:]) for text in texts])
            return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    angles = np.array([0, 2, 358, 178, 180, 182, *range(1, 360, 2)])
    found, _ = taught_by(Around(), [f"{'b' if 90 < angle < 270 else 'a'}{angle}" for angle in angles], 6, none=2)
    from_the_axis = np.abs(angles[6:] % 180 - 90)
    assert (found[from_the_axis < 5] == 2).all() and (found[from_the_axis > 15] != 2).all()


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([[0.9, 0.1], [0.7, 0.3], [0.6, 0.4], [0.4, 0.6]], [24 / 19, 12 / 13, 0.6, 1]),
        ([[0.5, 0.5]] * 4, [1, 1, 1, 1]),
        ([[0, 1], *[[0.55, 0.45]] * 3], [1, 1, 1, 1]),
    ],
)
def test_a_text_counts_as_its_teacher_is_sure_beside_others_of_its_label(table: Any, expected: list[float]) -> None:
    teacher = SimpleNamespace(classes_=("a", "b"), predict_proba=lambda _: np.array(table))
    found, sure = taught_by(teacher, ["a0", "b1", *"abcd"], 2)
    assert found.tolist() == np.argmax(table, axis=1).tolist()
    np.testing.assert_allclose(sure, expected, atol=1e-5)


@pytest.mark.parametrize("head", ["linear", "pool"])
def test_each_part_learns_as_a_teacher_is_sure_and_weights_of_texts_go_on_counting(head: Any) -> None:
    def model(sure: float, weights: list[float] | None = None) -> bytes:
        teacher = SimpleNamespace(classes_=("alarm", "music"))
        kinds = {"alarm": [sure, 1 - sure], "wake": [0.9, 0.1]}
        teacher.predict_proba = lambda texts: np.array([kinds.get(text.split()[0], [0.1, 0.9]) for text in texts])
        options = {"meaning": "none", "embedding": "raw", "epochs": 1, "head": head, "validation": 0.25}
        data = as_dataset(TEXTS, LABELS, multi_label=False, sample_weight=weights)
        return rl.train(data, unlabelled=inbox(), teacher=teacher, **options).model.to_bytes()

    assert len({model(0.9), model(0.6), model(0.9, [1.0, 2.0] * 8)}) == 3


class Memory:
    """An encoder of whose vectors a regression can learn by heart each text, and those of the same first word, and nothing of others."""

    def encode(self, texts: Sequence[str]) -> Any:
        return np.stack([np.random.default_rng([*text.split()[0].encode()]).normal(size=400) for text in texts])


def test_no_answer_to_a_held_out_text_has_seen_its_label() -> None:
    draw = np.random.default_rng(1)
    texts = ["".join(draw.choice([*"abcdefghijklmnopqrstuvwxyz"], 8)) for _ in range(120)]
    others = [f"{text} again" for text in texts]  # each would tell the label of a held-out text
    labels = [str(label) for label in draw.integers(2, size=120)]
    for teacher, options in [(Memory(), {}), ("itself", {}), (Memory(), {"head": "pool", "epochs": 8})]:
        classifier = rl.train(texts, labels, unlabelled=others, teacher=teacher, embedding="raw", **options)
        assert classifier.validation[0.0].accuracy < 0.65, "labels are drawn by lot"
        assert classifier.model.training["taught"].get("teacher", 0) < 0.65
    all_knowing = SimpleNamespace(classes_=("0", "1"))
    all_knowing.predict_proba = lambda asked: np.eye(2)[[int(labels[others.index(text)]) for text in asked]]
    leaking = rl.train(texts, labels, unlabelled=others, teacher=all_knowing, embedding="raw")
    assert leaking.validation[0.0].accuracy > 0.8, "a leak would be seen"


def test_many_labelled_texts_need_a_teacher_and_learn_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "FEW", 10)
    with pytest.raises(RetvecLiteError, match="more than 10 labelled texts"):
        train(unlabelled=inbox(), teacher="itself")
    classifier = train(unlabelled=inbox(), teacher=Seeing())
    assert classifier.model.training["unlabelled_texts"] == 40 and "none of these" not in classifier.labels
    assert classifier.predict("guitar and melody", 1)[0].label == "music"
    assert "labelled by Seeing (validated, " in str(classifier)


class Wrong:
    """A classifier that is always wrong."""

    classes_ = ("alarm", "music")

    def predict_proba(self, texts: Sequence[str]) -> Any:
        return np.array([[0.0, 1.0] if any(word in text for word in ALARM) else [1.0, 0.0] for text in texts])


def test_labels_that_make_it_worse_are_left_out() -> None:
    classifier = train(unlabelled=inbox(2_000), teacher=Wrong())
    facts = classifier.model.training
    assert facts["unlabelled_texts"] == 0 and facts["taught"]["taught"] < facts["taught"]["alone"]
    assert classifier.learn(["sing a tune"], ["music"]).predict("wake alarm please", top=1)[0].label == "alarm"
    assert "Texts without labels are left out" in str(classifier)


@pytest.mark.parametrize(("lost", "kept"), [(4, 40), (5, 0)])
def test_a_loss_counts_among_the_same_texts(lost: int, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_16(request: Any, *others: Any, fit: Any = training._fit) -> Any:
        found, _ = fit(request, *others)
        for outcome in found.held_out.outcomes.values():
            outcome.__dict__["is_right"] = np.arange(16) >= lost * bool(request.unlabelled)
        return found, {}

    monkeypatch.setattr(training, "_fit", of_16)
    assert train(unlabelled=inbox(), teacher=Seeing()).model.training["unlabelled_texts"] == kept


class Embeds:
    def __init__(self, *rows: Any) -> None:
        self.rows = rows

    def embed(self, texts: Sequence[str]) -> Any:
        return (row for row, _ in zip(self.rows * len(texts), texts, strict=False))


class Stranger:
    def __init__(self, row: Any, classes: Any = ("alarm", "music")) -> None:
        self.row, self.classes_ = row, classes

    def predict_proba(self, texts: Sequence[str]) -> Any:
        return np.array([self.row] * len(texts))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"teacher": Seeing()}, "pass them, too"),
        ({"unlabelled": [*TEXTS, ""]}, "has no new text"),
        ({"unlabelled": [1, 2]}, "unlabelled: Texts must be strings"),
        ({"unlabelled": "no_such_file.csv"}, "no_such_file.csv"),
        ({"unlabelled": inbox(), "teacher": "itself", "head": "cnn"}, "need a teacher"),
        ({"unlabelled": inbox(), "multi_label": True}, "one label a text"),
        ({"unlabelled": inbox(), "teacher": "e5"}, "teacher cannot be 'e5': pass auto"),
        ({"unlabelled": inbox(), "teacher": []}, "teacher cannot be []"),
        ({"unlabelled": inbox(), "teacher": [Wrong(), Seeing()]}, "Of several, each is an encoder."),
        *(({"unlabelled": inbox(), "teacher": Embeds([1.0, wrong])}, "not finite, or a") for wrong in (np.nan, 3e38)),
        ({"unlabelled": inbox(), "teacher": Embeds([1.0], [1.0, 2.0])}, "Embeds"),
        *(({"unlabelled": inbox(), "teacher": Embeds(*rows)}, "for each") for rows in ((), ([],))),
        ({"unlabelled": inbox(), "teacher": Embeds("no number")}, "Embeds failed (could not convert"),
        ({"unlabelled": inbox(), "teacher": Stranger([1, 0], ("alarm", "weather"))}, "does not know the label 'music'"),
        *(({"unlabelled": inbox(), "teacher": Stranger(row)}, "no probability") for row in ([1, 1], [2, -1])),
        ({"unlabelled": [str(Path(rl.__file__).parent / "starter/test.csv")]}, "Pass the path of a file alone"),
    ],
)
def test_what_cannot_be_taught_is_told(options: dict[str, Any], message: str) -> None:
    assert message in refusal(train, **options)


@pytest.mark.parametrize("kinds", [(1, 2), (1.0, 2.0), (True, False), np.array([1.0, 2.0]), np.array([True, False])])
def test_labels_of_a_classifier_may_be_numbers(kinds: Any) -> None:
    labels = [dict(zip(("alarm", "music"), kinds, strict=True))[label] for label in LABELS]
    teacher = Wrong()
    teacher.classes_ = kinds[::-1]  # so that it is always right
    classifier = rl.train(TEXTS, labels, unlabelled=inbox(), teacher=teacher, meaning="none", embedding="raw")
    found = classifier.predict(["snooze the clock", "wake alarm"], 1, reject=False)
    assert len({best.label for (best,) in found}) == 1


class Counting(Seeing):
    """An encoder that writes down what it is asked, and does something else in the second of its large parts."""

    def __init__(self, log: Path, then: Any = None) -> None:
        self.log, self.then = log, then

    def encode(self, texts: Sequence[str]) -> Any:
        said = self.log.read_text() if self.log.exists() else ""
        if self.then and len(said.splitlines()) > 60:
            self.then()
        self.log.write_text(said + "".join(f"{text}\n" for text in texts))
        return super().encode(texts)


@pytest.mark.parametrize("way", ["killed", "failed", "trained"])
def test_no_text_is_encoded_twice(tmp_path: Path, way: str) -> None:
    log, options = tmp_path / "log", dict[str, Any](out=tmp_path / "trained", force=True)
    if way == "killed":
        options |= {"unlabelled": inbox(100), "teacher": Counting(log, functools.partial(os._exit, 9))}
        process = multiprocessing.get_context("spawn").Process(target=train, kwargs=options)
        process.start()
        process.join()
        assert process.exitcode == 9
    elif way == "failed":
        with pytest.raises(RetvecLiteError, match="Counting failed \\(division by zero\\)"):
            train(unlabelled=inbox(100), teacher=Counting(log, lambda: 1 / 0), **options)
    else:
        train(unlabelled=inbox(100)[:50], teacher=Counting(log), **options)
    asked = set(log.read_text().splitlines())
    options |= {"unlabelled": inbox(100), "teacher": Counting(tmp_path / "again")}
    classifier = train(**options)
    again = (tmp_path / "again").read_text().splitlines()
    assert len(asked) >= 64 and len(asked.intersection(again)) <= 16 + 4, "whether it is the same one"
    assert {*TEXTS, *inbox(100)} == asked.union(again)
    at_once = train(unlabelled=inbox(100), teacher=Counting(Path(os.devnull)))
    assert classifier.model.to_bytes() == at_once.model.to_bytes()


def test_what_is_kept_of_another_encoder_or_damaged_is_not_used(tmp_path: Path) -> None:
    options = {"unlabelled": inbox(), "out": tmp_path / "trained", "force": True}
    teacher = Embeds([2.0, 1.0, 0.0], [0.0, 1.0, 7.0])
    right = train(unlabelled=inbox(), teacher=teacher).model.to_bytes()
    train(teacher=Embeds([1.0, 2.0], [3.0, 5.0]), **options)
    train(teacher=teacher, **options | {"unlabelled": ["another text"]})
    assert train(teacher=teacher, **options).model.to_bytes() == right
    for content in (b"", b"\x93NUMPY", b"no array"):
        for file in (tmp_path / "trained" / ".retvec-lite" / "answers").glob("*/*"):
            file.write_bytes(content)
        (tmp_path / "trained" / "classifier.safetensors").unlink()  # else nothing has changed
        assert train(teacher=teacher, **options).model.to_bytes() == right


def test_little_is_kept_and_nothing_without_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    train(unlabelled=inbox(), teacher=Seeing(), out=tmp_path / "trained", keep="nothing")
    assert not (tmp_path / "trained" / ".retvec-lite").exists()
    monkeypatch.setattr(sentence_encoders, "LARGEST", 5_000)
    for word in ("this", "new"):
        train(unlabelled=[text + word for text in inbox()], teacher=Seeing(), out=tmp_path / "trained", force=True)
    files = (tmp_path / "trained" / ".retvec-lite" / "answers").glob("*/*")
    assert 0 < sum(file.stat().st_size for file in files) < 10_000, "of one inbox: 16 texts and 40, a row has 136 bytes"


def test_another_teacher_or_inbox_trains_again_and_the_same_does_not(tmp_path: Path) -> None:
    for row, texts, trains in ((0.0, inbox(), 1), (0.0, inbox(), 0), (1.0, inbox(), 1), (1.0, inbox()[1:], 1)):
        said: list[str] = []
        options = {"out": tmp_path / "trained", "force": True, "progress": lambda what, *_: said.append(what)}  # noqa: B023
        train(unlabelled=texts, teacher=Embeds([row, 1.0]), **options)
        assert trains != any("Nothing changed" in what for what in said)


def test_where_no_text_is_held_out_it_is_untested() -> None:
    options: dict[str, Any] = {"unlabelled": inbox(), "teacher": "itself", "meaning": "none", "embedding": "raw"}
    classifier = rl.train(labels={"alarm": "wake me at six", "music": "play a song"}, **options)
    assert "40 texts without labels" in str(classifier) and "itself (untested: no text" in str(classifier)
