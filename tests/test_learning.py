"""A trained classifier goes on learning: new texts, corrected ones, new labels, from whatever its folder keeps."""

import dataclasses
import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from command_line import Main
from modeling_cases import random_embedding

import retvec_lite as rl
from retvec_lite import __main__ as cli
from retvec_lite import trained
from retvec_lite.errors import RetvecLiteError
from retvec_lite.learning import options_of
from retvec_lite.training.options import TrainOptions

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


@pytest.fixture(name="quick", scope="module")
def quick_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("quick") / "trained"
    rl.train(TEXTS, LABELS, **QUICK, out=out)
    return out


@pytest.fixture(name="usual", scope="module")
def usual_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The usual few-text classifier, on the sentence network."""
    out = tmp_path_factory.mktemp("usual") / "trained"
    rl.train(TEXTS, LABELS, out=out)
    return out


def labels_of(classifier: rl.Classifier, texts: list[str]) -> list[str | None]:
    return [answers[0].label for answers in classifier.predict(texts, 1, reject=False)]


def test_new_texts_corrections_and_labels(quick: Path) -> None:
    before = rl.load(quick)
    data = [*((text, "music") for text in JAZZ), ("Wake me NOW!", "delivery"), (TEXTS[0], "alarm")]
    found = before.learn(data)
    assert found.labels == ("alarm", "delivery", "music") and before.labels == ("alarm", "delivery")
    assert labels_of(found, JAZZ) == ["music"] * len(JAZZ)
    kept = found.kept
    assert isinstance(kept, rl.Dataset) and len(kept) == len(TEXTS) + len(JAZZ)
    label_of = dict(zip(kept.texts, kept.labels, strict=True))
    assert label_of["Wake me NOW!"] == "delivery" and "wake me now" not in kept.texts
    lesson = found.lesson
    assert lesson is not None and (lesson.added, lesson.corrected, lesson.repeated) == (len(JAZZ), 1, 1)
    assert lesson.new_labels == ("music",)
    assert "New labels: music" in str(lesson) and "1 were there already" in str(lesson)
    assert found.training["training_texts"] == len(kept) and found.held_out is not None, "it is measured anew"


@pytest.mark.parametrize("way", ["quick", "usual"])
def test_it_is_a_training_of_all_texts_with_the_same_options(way: str, request: pytest.FixtureRequest) -> None:
    found = rl.load(request.getfixturevalue(way)).learn(JAZZ, ["music"] * len(JAZZ))
    anew = rl.train([*TEXTS, *JAZZ], [*LABELS, *["music"] * len(JAZZ)], **(QUICK if way == "quick" else {}))
    assert found.model.weights.keys() == anew.model.weights.keys() and found.decision == anew.decision
    for name, value in anew.model.weights.items():
        assert np.array_equal(found.model.weights[name], value), name
    assert found.training["options"] == anew.training["options"]


OPTIONS: dict[str, Any] = {
    **{
        "head": "linear",
        "meaning": "none",
        "ngram_kb": 20,
        "max_kb": 300,
        "typo_rate": 0.2,
        "seed": 7,
        "reject_at": 0.9,
    },
    **{"class_weights": {"alarm": 1.0, "delivery": 2.0}, "validation": 0.25, "unknown_label": "delivery"},
    **{"multi_label": False, "embedding": "raw"},
}


def test_every_option_is_kept(tmp_path: Path) -> None:
    rl.train(TEXTS, LABELS, **OPTIONS, out=tmp_path / "out")
    found = options_of(rl.load(tmp_path / "out").model)
    assert {name: getattr(found, name) for name in OPTIONS} == OPTIONS
    several = dataclasses.fields(TrainOptions)
    assert {field.name for field in several} - {*OPTIONS, "unlabelled", "teacher", "languages", "epochs"} <= {
        *found.reading
    }
    spoken = rl.train(["wake me", "where is it"] * 4, ["alarm", "delivery"] * 4, languages=["de"], epochs=1).model
    assert options_of(spoken).languages == ["de"] and options_of(spoken).epochs == 1


def test_what_is_not_kept_is_asked_for(tmp_path: Path) -> None:
    bare = rl.train(TEXTS, LABELS, **QUICK, validation=rl.Dataset(tuple(TEXTS[:9]), tuple(LABELS[:9])))
    assert bare.learn(JAZZ, ["music"] * len(JAZZ)).training["folds"] == 3, "texts to test on are not kept"
    own = rl.train(TEXTS, LABELS, head="linear", meaning="none", embedding=random_embedding())
    with pytest.raises(RetvecLiteError, match=r"--embedding \(embedding\): train it again on all texts"):
        own.learn(JAZZ, ["music"] * len(JAZZ))
    for odd in ({"epochs": "many"}, {"nothing": 1}):
        facts = {**bare.training, "options": {**bare.training["options"], **odd}}
        with pytest.raises(RetvecLiteError, match=r"epochs|nothing"):
            options_of(dataclasses.replace(bare.model, training=facts))


def test_texts_without_labels_are_given_again_and_encoded_once(tmp_path: Path, main: Main) -> None:
    asked: list[str] = []
    kinds, out = ("wake", "parcel", "zz"), tmp_path / "trained"

    def encode(texts: list[str]) -> list[list[bool]]:
        asked.extend(texts)
        return [[kind in text for kind in kinds] for text in texts]

    inbox = [f"{kind} {number} {word}" for kind in kinds for number, word in enumerate("abcdefghijklmnopqrst")]
    given: dict[str, Any] = {"unlabelled": inbox, "teacher": SimpleNamespace(encode=encode), "out": out}
    classifier = rl.train(TEXTS, LABELS, meaning="none", **given)
    assert "none of these" in classifier.labels and {*inbox} <= {*asked}
    with pytest.raises(RetvecLiteError, match=r"as --unlabelled \(unlabelled\): give it the same again\.$"):
        classifier.learn(["sing a tune"], ["music"])
    asked.clear()
    better = classifier.learn(["sing a tune"], ["music"], force=True, **given)
    assert {*better.labels} == {*classifier.labels, "music"} and better.training["unlabelled_texts"] == 60
    assert len({*asked}) < 30, "those that tell whether it is the same teacher, and the new text"
    (tmp_path / "more.csv").write_text("text,label\nsing a tune,music\n")
    (tmp_path / "inbox.txt").write_text("\n".join(inbox[1:]))
    options = ["--start-from", out, "--unlabelled", tmp_path / "inbox.txt", "--teacher", "itself"]
    code, output, _ = main("train", *map(str, [tmp_path / "more.csv", *options, "--out", tmp_path / "better"]))
    assert code == 0 and "Nothing is new" in output and "59 texts without labels" in output, "but the inbox"


def test_the_same_again_changes_nothing(quick: Path, tmp_path: Path) -> None:
    before = rl.load(quick)
    same = before.learn(TEXTS, LABELS, out=tmp_path / "same")
    assert same.model.to_bytes() == before.model.to_bytes() and "Nothing is new" in str(same.lesson)
    assert rl.load(tmp_path / "same").model.to_bytes() == before.model.to_bytes()
    once = before.learn(JAZZ, ["alarm"] * len(JAZZ))
    twice = once.learn(JAZZ, ["alarm"] * len(JAZZ))
    assert twice.model is once.model and twice.lesson is not None and twice.lesson.repeated == len(JAZZ)


def test_several_labels_a_text(tmp_path: Path) -> None:
    sets = [["alarm", "soon"] if "now" in text else [label] for text, label in zip(TEXTS, LABELS, strict=True)]
    before = rl.train(TEXTS, sets, multi_label=True, **QUICK)
    found = before.learn(JAZZ, [["music"], ["music", "soon"]] * (len(JAZZ) // 2))
    assert found.labels == ("alarm", "delivery", "music", "soon") and len(found.decision.thresholds or ()) == 4
    assert found.model.multi_label
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
        "report.html",
        "report.json",
        "texts.jsonl",
    ]
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    arguments = ["train", str(more), "--start-from", str(out), "--out", str(out)]
    assert cli.main(arguments) == cli.USAGE_ERROR and "--force" in capsys.readouterr().err
    assert cli.main([*arguments, "--force"]) == 0 and "Nothing changed" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in out.iterdir()} == files
    same = rl.load(quick).learn(more)
    assert same.model.to_bytes() == files["classifier.safetensors"], "one way in the code"


def test_nothing_is_lost_when_it_is_ended(quick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "trained"
    rl.load(quick).save(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trained, "texts_bytes", end)
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
    same = rl.load(quick).model.weights
    assert all(np.array_equal(value, same[name]) for name, value in nothing.model.weights.items())
    assert not (tmp_path / "nothing" / "texts.jsonl").exists()
    # The same training that shall keep something else is no repetition.
    kept = rl.train(TEXTS, LABELS, keep="texts", out=tmp_path / "nothing", force=True, **QUICK)
    assert kept.held_out is not None and (tmp_path / "nothing" / "texts.jsonl").is_file()


def test_other_thresholds_keep_the_texts(quick: Path) -> None:
    careful = rl.load(quick).with_threshold(0.9)
    found = careful.learn(["wake us at ten"], ["alarm"])
    assert found.decision.threshold == 0.9 and found.decision.characters != ""
    shared = rl.load(quick).with_threshold(keep=0.9).learn(["wake us at ten"], ["alarm"])
    assert shared.training["reject_at"] == 0.9


def test_exported_files_have_nothing_of_it(usual: Path, tmp_path: Path) -> None:
    found = rl.load(usual).learn(JAZZ, ["music"] * len(JAZZ))
    found.export(tmp_path / "dist", formats="engine")
    for path in (tmp_path / "dist").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert not [text for text in (*TEXTS, *JAZZ) if text.encode() in content], path
    assert {path.suffix for path in (tmp_path / "dist").iterdir()}.isdisjoint({".jsonl"})


@pytest.mark.parametrize(
    "option",
    [("--head", "cnn"), ("--seed", "1"), ("--keep", "nothing"), ("--validation", "0.2"), ("--labels", "labels.csv")],
)
def test_options_that_cannot_change_are_refused(option: tuple[str, str], quick: Path, main: Main) -> None:
    code, _, told = main("train", "more.csv", "--start-from", str(quick), "--out", "out", *option)
    assert code == cli.USAGE_ERROR and f"{option[0]} cannot change when a classifier goes on learning: leave it" in told


def test_what_cannot_be_learned_is_refused_in_a_sentence(quick: Path, tmp_path: Path, main: Main) -> None:
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
        code, _, told = main("train", "more.csv", "--start-from", str(exported), "--out", str(tmp_path / "out"))
        assert code == cli.USAGE_ERROR and "exported" in told
    with pytest.raises(AttributeError, match="load the trained folder"):
        rl.load("language").learn(JAZZ, ["music"] * len(JAZZ))
    bare = rl.train(TEXTS, LABELS, class_weights={"alarm": 1, "delivery": 2}, **QUICK)
    with pytest.raises(rl.RetvecLiteError, match="music"):
        bare.learn(JAZZ, ["music"] * len(JAZZ))


@pytest.mark.parametrize("damage", [b"", b"{}", b"not json\n"])
def test_damaged_files_are_refused(damage: bytes, quick: Path, tmp_path: Path) -> None:
    rl.load(quick).save(tmp_path / "trained")
    (tmp_path / "trained" / "texts.jsonl").write_bytes(damage)
    with pytest.raises(rl.RetvecLiteError, match=r"texts\.jsonl"):
        rl.load(tmp_path / "trained").learn(JAZZ, ["music"] * len(JAZZ))


def test_sent_to_other_processes_it_takes_no_texts_along(quick: Path) -> None:
    import pickle

    content = pickle.dumps(rl.load(quick).learn(["wake us at ten"], ["alarm"]))
    assert b"wake us at ten" not in content
    with pytest.raises(rl.RetvecLiteError, match="keeps nothing"):
        pickle.loads(content).learn(JAZZ, ["music"] * len(JAZZ))
    assert np.isfinite(pickle.loads(content).probabilities(JAZZ)).all()


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


def test_a_folder_with_nothing_to_learn_keeps_its_report(tmp_path: Path) -> None:
    classifier = rl.train(TEXTS, LABELS, **QUICK, out=tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    again = classifier.learn(TEXTS[:3], LABELS[:3], out=tmp_path / "out", force=True)
    assert str(again.lesson).startswith("Nothing is new")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_an_unknown_label_needs_texts() -> None:
    with pytest.raises(
        RetvecLiteError, match="'other' has no texts, and a description says nothing of what belongs nowhere"
    ):
        rl.train(labels={"a": "one thing", "b": "another", "other": "all else"}, unknown_label="other")
    with pytest.raises(RetvecLiteError, match=r"\|"):
        rl.train(labels={"refund|urgent": "money back, now", "b": "another"})
