"""A trained classifier goes on learning: new texts, corrected ones, new labels, from whatever its folder keeps."""

import functools
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retvec_lite as rl
from retvec_lite import __main__ as cli
from retvec_lite import learning
from retvec_lite.errors import RetvecLiteError
from retvec_lite.training import linear_part, plan

TEXTS = [
    f"{text} {word}"
    for text, word in itertools.product(
        ("wake me", "alarm at", "where is my", "track the"), ("six", "noon", "parcel", "order", "seven", "again", "now")
    )
]
LABELS = ["alarm" if text.startswith(("wake", "alarm")) else "delivery" for text in TEXTS]
JAZZ = [f"{text} {word}" for text in ("please strum", "put on that") for word in ("jazz", "rock", "song", "tune")]
QUICK: dict[str, Any] = {"meaning": "none", "head": "linear"}
"""Options that train in a second, on n-grams and mean word vectors."""


def usual(**options: Any) -> rl.Classifier:
    """The usual few-text classifier, on the sentence network."""
    return rl.train(TEXTS, LABELS, **options)


def quick(**options: Any) -> rl.Classifier:
    """N-grams and mean word vectors."""
    return rl.train(TEXTS, LABELS, **QUICK, **options)


def machine(**options: Any) -> rl.Classifier:
    """A support vector machine on texts and their mistyped copies, as of many texts."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (plan, linear_part):
            patch.setattr(module, "FEW", 10)
        return quick(**options)


WAYS: dict[str, Callable[..., rl.Classifier]] = {"usual": usual, "quick": quick, "machine": machine}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of what a way to train made, once."""

    @functools.cache
    def folder(way: str) -> Path:
        out = tmp_path_factory.mktemp(way) / "trained"
        WAYS[way](out=out)
        return out

    return folder


@pytest.fixture
def usual_folder(folders: Callable[[str], Path]) -> Path:
    return folders("usual")


@pytest.fixture(name="quick")
def quick_folder(folders: Callable[[str], Path]) -> Path:
    return folders("quick")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def trained(way: str, folders: Callable[[str], Path]) -> Path:
    return folders(way)


def labels_of(classifier: rl.Classifier, texts: list[str]) -> list[str | None]:
    return [answers[0].label for answers in classifier.predict(texts, 1, reject=False)]


def test_new_texts_corrections_and_labels(trained: Path) -> None:
    before = rl.load(trained)
    data = [*((text, "music") for text in JAZZ), ("Wake me NOW!", "delivery"), (TEXTS[0], "alarm")]
    found = before.learn(data)
    assert found.labels == ("alarm", "delivery", "music") and before.labels == ("alarm", "delivery")
    assert labels_of(found, JAZZ) == ["music"] * len(JAZZ)
    kept = found.kept
    assert isinstance(kept, rl.Dataset) and len(kept) == len(TEXTS) + len(JAZZ)
    assert (
        dict(zip(kept.texts, kept.labels, strict=True))["Wake me NOW!"] == "delivery"
        and "wake me now" not in kept.texts
    )
    others = [(text, label) for text, label in zip(TEXTS, LABELS, strict=True) if text != "wake me now"]
    assert labels_of(found, [text for text, _ in others]) == [label for _, label in others], "nothing is forgotten"
    lesson = found.lesson
    assert lesson is not None and (lesson.added, lesson.corrected, lesson.repeated) == (len(JAZZ), 1, 1)
    assert lesson.new_labels == ("music",) and lesson.before == 0.0 and lesson.after is not None
    assert lesson.comparison is not None and lesson.comparison.texts == len(others)
    assert "New labels: music" in str(lesson) and "1 were there already" in str(lesson)
    twin = found.learn(["bring it"], ["Delivery"]).lesson
    assert "look alike, or are one number: 'Delivery' and 'delivery'" in str(twin) and "look alike" not in str(lesson)
    facts = found.training
    assert facts["training_texts"] == len(TEXTS) + len(JAZZ) and facts["data_hash"] != before.training["data_hash"]
    (told,) = facts["learned"]
    assert told["data_hash_before"] == before.training["data_hash"] and told["new_labels"] == ["music"]
    assert found.decision.shares is not None and len(found.decision.shares) == 3
    assert found.validation == {} and found.held_out is None


def test_the_same_again_changes_nothing(trained: Path, tmp_path: Path) -> None:
    before = rl.load(trained)
    same = before.learn(TEXTS, LABELS, out=tmp_path / "same")
    assert same.model.to_bytes() == before.model.to_bytes() and "Nothing changed" in str(same.lesson)
    assert rl.load(tmp_path / "same").model.to_bytes() == before.model.to_bytes()
    once = before.learn(JAZZ, ["alarm"] * len(JAZZ))
    twice = once.learn(JAZZ, ["alarm"] * len(JAZZ))
    assert twice.model is once.model and twice.lesson is not None and twice.lesson.repeated == len(JAZZ)
    assert once.model.to_bytes() == before.learn(JAZZ, ["alarm"] * len(JAZZ)).model.to_bytes(), "the same bytes again"


def test_it_ends_where_a_training_of_all_texts_does(usual_folder: Path) -> None:
    found = rl.load(usual_folder).learn(JAZZ, ["music"] * len(JAZZ))
    anew = rl.train([*TEXTS, *JAZZ], [*LABELS, *["music"] * len(JAZZ)])
    texts = [
        "wake me at seven please",
        "where is the parcel of mine",
        "please strum the rock tune",
        "track my order again",
    ]
    assert labels_of(found, texts) == labels_of(anew, texts) == ["alarm", "delivery", "music", "delivery"]


def test_vectors_teach_what_texts_teach(way: str, trained: Path, tmp_path: Path) -> None:
    more = JAZZ, ["music"] * len(JAZZ)
    by_texts = rl.load(trained)
    assert by_texts.training["linear"]["few"] == (way != "machine")
    WAYS[way](keep="vectors", out=tmp_path / "vectors")
    assert {path.name for path in (tmp_path / "vectors").iterdir()} >= {"vectors.safetensors", "report.html"}
    for path in ("vectors.safetensors", "classifier.safetensors"):
        content = (tmp_path / "vectors" / path).read_bytes()
        assert not any(text.encode() in content for text in TEXTS), "no text can be read there"
    by_vectors = rl.load(tmp_path / "vectors")
    for name, value in by_texts.model.weights.items():
        assert np.array_equal(by_vectors.model.weights[name], value), "what is kept does not change the classifier"
    found, expected = (
        each.learn(*more, out=tmp_path / f"{place}") for place, each in enumerate((by_vectors, by_texts))
    )
    assert found.probabilities([*TEXTS, *JAZZ]) == pytest.approx(expected.probabilities([*TEXTS, *JAZZ]), abs=0.1)
    assert found.lesson is not None and found.lesson.comparison is None and found.lesson.before == 0.0
    # And on, and corrections too.
    again = rl.load(tmp_path / "0").learn([("WAKE me now", "delivery"), (JAZZ[0], "music")])
    assert again.lesson is not None and (again.lesson.corrected, again.lesson.repeated) == (1, 1)
    assert labels_of(again, JAZZ) == ["music"] * len(JAZZ)


def test_several_labels_a_text(tmp_path: Path) -> None:
    sets = [["alarm", "soon"] if "now" in text else [label] for text, label in zip(TEXTS, LABELS, strict=True)]
    before = rl.train(TEXTS, sets, multi_label=True, **QUICK)
    found = before.learn(JAZZ, [["music"], ["music", "soon"]] * (len(JAZZ) // 2))
    assert found.labels == ("alarm", "delivery", "music", "soon") and len(found.decision.thresholds or ()) == 4
    assert before.learn(TEXTS, sets).model is before.model
    with pytest.raises(rl.RetvecLiteError, match="cannot learn from texts with one label"):
        before.learn(rl.Dataset(("play",), ("music",)))


def test_the_command_goes_on_in_the_same_folder(
    quick: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more, out = tmp_path / "more.jsonl", tmp_path / "out"
    more.write_text("".join(json.dumps({"text": text, "label": "music"}) + "\n" for text in JAZZ))
    assert cli.main(["train", str(more), "--start-from", str(quick), "--out", str(out)]) == 0, capsys.readouterr().err
    printed = capsys.readouterr().out
    assert (
        f"Learned {len(JAZZ)} new texts" in printed
        and "New labels: music" in printed
        and f"Written to {out}" in printed
    )
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md",
        "classifier.safetensors",
        "report.json",
        "texts.jsonl",
    ]
    assert f"{len(JAZZ)} new texts and 0 corrected ones were learned" in (out / "README.md").read_text()
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    arguments = ["train", str(more), "--start-from", str(out), "--out", str(out)]
    assert cli.main(arguments) == cli.USAGE_ERROR and "--force" in capsys.readouterr().err
    assert cli.main([*arguments, "--force"]) == 0 and "Nothing changed" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in out.iterdir()} == files
    same = rl.train(more, start_from=quick)
    assert same.model.to_bytes() == files["classifier.safetensors"], "one way in the code"


def test_nothing_is_lost_when_it_is_ended(quick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "trained"
    rl.load(quick).save(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(learning, "texts_bytes", end)
    with pytest.raises(KeyboardInterrupt):
        rl.load(folder).learn(JAZZ, ["music"] * len(JAZZ), out=folder, force=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_a_folder_keeps(quick: Path, tmp_path: Path) -> None:
    assert rl.read_dataset(quick / "texts.jsonl").texts == tuple(TEXTS)
    (tmp_path / "trained").mkdir()
    for path in quick.iterdir():
        if path.name != "texts.jsonl":
            (tmp_path / "trained" / path.name).write_bytes(path.read_bytes())
    with pytest.raises(
        rl.RetvecLiteError, match="keeps nothing of its training texts, so it cannot go on learning: train it again"
    ):
        rl.load(tmp_path / "trained").learn(JAZZ, ["music"] * len(JAZZ))
    nothing = rl.train(TEXTS, LABELS, keep="nothing", out=tmp_path / "nothing", **QUICK)
    assert nothing.model.to_bytes() == (quick / "classifier.safetensors").read_bytes()
    assert not (tmp_path / "nothing" / "texts.jsonl").exists()
    # The same training that shall keep something else is no repetition.
    kept = rl.train(TEXTS, LABELS, keep="texts", out=tmp_path / "nothing", force=True, **QUICK)
    assert kept.held_out is not None and (tmp_path / "nothing" / "texts.jsonl").is_file()


def test_other_thresholds_keep_the_texts(quick: Path) -> None:
    careful = rl.load(quick).with_threshold(0.9)
    found = careful.learn(["wake us at ten"], ["alarm"])
    assert found.decision.threshold == 0.9 and found.decision.characters != ""


def test_exported_files_have_nothing_of_it(usual_folder: Path, tmp_path: Path) -> None:
    found = rl.load(usual_folder).learn(JAZZ, ["music"] * len(JAZZ))
    found.export(tmp_path / "dist", formats="engine")
    for path in (tmp_path / "dist").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert not [text for text in (*TEXTS, *JAZZ) if text.encode() in content], path
    assert {path.suffix for path in (tmp_path / "dist").iterdir()}.isdisjoint({".jsonl"})
    assert not (tmp_path / "dist" / "vectors.safetensors").exists()


def test_vectors_of_no_ngrams_are_refused_before_the_training() -> None:
    with pytest.raises(rl.RetvecLiteError, match="The vectors are of n-grams"):
        rl.train(TEXTS, LABELS, keep="vectors", ngram_kb=0)


def test_a_network_alone_cannot_go_on() -> None:
    alone = rl.train(TEXTS, LABELS, head="pool", ngram_kb=0, epochs=1)
    with pytest.raises(rl.RetvecLiteError, match="trained without n-grams"):
        alone.learn(JAZZ, ["music"] * len(JAZZ))


@pytest.mark.slow
def test_other_languages_are_not_forgotten(tmp_path: Path) -> None:
    before = rl.train(TEXTS, LABELS, languages=["de"])
    found = before.learn(["wake us at ten", "wake them early"], ["alarm"] * 2)
    german = ["weck mich um sechs", "wo ist mein paket"]
    assert labels_of(found, german) == labels_of(before, german)


@pytest.mark.parametrize(
    "option", [{"head": "cnn"}, {"seed": 1}, {"keep": "nothing"}, {"validation": 0.2}, {"sample_weight": np.ones(3)}]
)
def test_options_that_cannot_change_are_refused(option: dict[str, Any], quick: Path) -> None:
    (name,) = option
    with pytest.raises(
        rl.RetvecLiteError, match=f"{name} cannot change when a classifier goes on learning: leave it out"
    ):
        rl.train(JAZZ, ["music"] * len(JAZZ), start_from=quick, **option)


def test_what_cannot_be_learned_is_refused_in_a_sentence(quick: Path, tmp_path: Path) -> None:
    before = rl.load(quick)
    with pytest.raises(rl.RetvecLiteError, match="--multi-label"):
        before.learn(["play"], ["music|soon"])
    for given in (
        {"data": rl.Dataset(("play",), ("music",), multi_label=True)},
        {"data": ["play"], "labels": [["a"]], "multi_label": True},
    ):
        with pytest.raises(
            rl.RetvecLiteError, match="gives a text one, so it cannot learn from texts with several labels"
        ):
            before.learn(**given)
    before.export(tmp_path / "dist", formats="engine")
    for exported in (tmp_path / "dist", tmp_path / "dist" / "classifier-int8.retvec"):
        with pytest.raises(rl.RetvecLiteError, match="exported"):
            rl.train(JAZZ, ["music"] * len(JAZZ), start_from=exported)
    with pytest.raises(AttributeError, match="load the trained folder"):
        rl.load("language").learn(JAZZ, ["music"] * len(JAZZ))
    bare = rl.train(TEXTS, LABELS, class_weights={"alarm": 1, "delivery": 2}, **QUICK)
    with pytest.raises(rl.RetvecLiteError, match="name no 'music': train again on all texts"):
        bare.learn(JAZZ, ["music"] * len(JAZZ))


@pytest.mark.parametrize("damage", [b"", b"{}", b"not json\n"])
def test_damaged_files_are_refused(damage: bytes, quick: Path, tmp_path: Path) -> None:
    rl.load(quick).save(tmp_path / "trained")
    for name in ("texts.jsonl", "vectors.safetensors"):
        for other in ("texts.jsonl", "vectors.safetensors"):
            (tmp_path / "trained" / other).unlink(missing_ok=True)
        (tmp_path / "trained" / name).write_bytes(damage)
        with pytest.raises(rl.RetvecLiteError, match=name):
            rl.load(tmp_path / "trained").learn(JAZZ, ["music"] * len(JAZZ))


def test_sent_to_other_processes_it_takes_no_texts_along(quick: Path) -> None:
    import pickle

    content = pickle.dumps(rl.load(quick).learn(["wake us at ten"], ["alarm"]))
    assert b"wake us at ten" not in content
    with pytest.raises(rl.RetvecLiteError, match="keeps nothing"):
        pickle.loads(content).learn(JAZZ, ["music"] * len(JAZZ))
    assert np.isfinite(pickle.loads(content).probabilities(JAZZ)).all()


def test_a_network_that_stays_gets_new_labels(tmp_path: Path) -> None:
    before = rl.train(TEXTS * 3, LABELS * 3, head="pool", meaning="none", epochs=6)
    found = before.learn(JAZZ, ["music"] * len(JAZZ))
    assert labels_of(found, [*JAZZ, *TEXTS]) == [*["music"] * len(JAZZ), *LABELS]
    name = "head/word/kernel"
    assert np.array_equal(found.model.weights[name], before.model.weights[name]), "but for its last layer"
    vectors = rl.train(TEXTS, LABELS, head="pool", meaning="none", epochs=2, keep="vectors")
    with pytest.raises(rl.RetvecLiteError, match="keeps vectors alone: train it again"):
        vectors.learn(JAZZ, ["music"] * len(JAZZ))


def test_what_labels_mean_is_not_forgotten(tmp_path: Path) -> None:
    """Begun with names alone, a classifier learns texts and a new label, and still knows the labels that no text has."""
    meant = {"refund": "wants money back", "delivery": ["where is my parcel", "it came late"], "greeting": None}
    rl.train(labels=meant, out=tmp_path / "named")
    rows = [json.loads(line) for line in (tmp_path / "named/texts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {"label": "delivery", "description": "it came late"} in rows and not any("text" in row for row in rows)
    asked = {
        "where is my package": "delivery",
        "please give my money back": "refund",
        "do you have it in stock": "stock",
    }
    learned = rl.load(tmp_path / "named").learn(["is it in stock", "can I have my cash again"], ["stock", "refund"])
    learned.save(tmp_path / "learned")
    for classifier in (learned, rl.load(tmp_path / "learned").learn(["good morning"], ["greeting"])):
        assert [classifier.predict(text, top=1, reject=False)[0].label for text in asked] == list(asked.values())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"labels": {"a": "one thing", "b": "another"}, "keep": "vectors"}, "are kept as texts"),
        ({"labels": {"a": "one thing"}, "start_from": "anywhere"}, "goes on learning from labelled texts"),
        ({"start_from": "anywhere"}, "goes on learning from labelled texts"),
    ],
)
def test_what_labels_mean_goes_with_texts(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RetvecLiteError, match=sentence):
        rl.train(**options)


def test_a_folder_with_nothing_to_learn_keeps_its_report(tmp_path: Path) -> None:
    classifier = rl.train(TEXTS, LABELS, **QUICK, out=tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    again = classifier.learn(TEXTS[:3], LABELS[:3], out=tmp_path / "out", force=True)
    assert str(again.lesson).startswith("Nothing changed")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_an_unknown_label_needs_texts() -> None:
    with pytest.raises(
        RetvecLiteError, match="'other' has no texts, and a description says nothing of what belongs nowhere"
    ):
        rl.train(labels={"a": "one thing", "b": "another", "other": "all else"}, unknown_label="other")
    with pytest.raises(RetvecLiteError, match=r"\|"):
        rl.train(labels={"refund|urgent": "money back, now", "b": "another"})
