"""Meanings learned from a tiny corpus: one result however often the run is interrupted, and one sentence for bad input."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_texts import TOPIC_WORDS, write_topics

from makers.meaning import texts as module
from makers.meaning.__main__ import command
from makers.meaning.texts import Settings, learn_texts
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.terminal import Progress, silent

pytest.importorskip("gensim", reason="gensim is not installed: no word2vec")
pytestmark = pytest.mark.usefixtures("few_words_suffice")

SETTINGS = Settings(least_count=2, passes=2, steps=4, words=300)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_topics(tmp_path / "topics.txt")


@pytest.fixture
def valence(tmp_path: Path) -> Path:
    path = tmp_path / "moods.csv"
    lines = [f"{word},{3 - topic}" for topic, words in enumerate(TOPIC_WORDS) for word in words]
    path.write_text("\n".join(["word,mean", *lines, "absent,1"]))
    return path


def learn(
    texts: Path, folder: Path, progress: Progress = silent, settings: Settings = SETTINGS, **more: Any
) -> MeaningFile:
    return learn_texts([texts], "tlh", folder, progress, settings=settings, **more)


def test_a_file_with_a_card(texts: Path, valence: Path, tmp_path: Path) -> None:
    found = learn(texts, tmp_path / "run", valence=valence, about="# Made-up texts\n\nCC0 – by nobody.\n")
    assert len(found.words) == 300 and found.language == found.space == "tlh" and found.words[0] in ("und", "oder")
    assert found.card["sources"] == "# Made-up texts\n\nCC0 – by nobody."
    assert found.card["counts"].startswith(
        "24,000 words read; 326 words trained, which occur 2 times or more; the 300 most"
    )
    assert found.card["files"] == "topics.txt" and found.card["valence"].endswith(" 298 of the words are, by moods.csv")
    assert found.card["biases"].startswith("Not measured") and "decisions about people" in found.card["not_for"]
    assert found.card["settings"] == "words=300, least_count=2, passes=2, steps=4"
    assert str(tmp_path) not in "".join(found.card.values())


def test_words_of_a_topic_mean_the_same(texts: Path, tmp_path: Path) -> None:
    found = learn(texts, tmp_path, settings=Settings(least_count=2, passes=12, steps=10))
    vectors = found.vectors / np.linalg.norm(found.vectors, axis=1, keepdims=True)
    places = {word: place for place, word in enumerate(found.words)}
    groups = [vectors[[places[word] for word in words if word in places]] for words in TOPIC_WORDS]
    within = np.mean([(rows @ rows.T).mean() for rows in groups])
    across = np.mean([(groups[one] @ groups[one - 1].T).mean() for one in range(len(groups))])
    assert within > across + 0.2
    lengths = np.linalg.norm(found.vectors, axis=1)
    assert lengths[places["und"]] < 0.1 < 0.1 + lengths[places[TOPIC_WORDS[0][0]]]


class Interrupting:
    """A progress that stops the run at its n-th report of one kind."""

    def __init__(self, what: str, count: int) -> None:
        self.what, self.count = what, count

    def __call__(self, what: str, done: int, total: int) -> None:
        self.count -= what == self.what
        if self.count == 0:
            raise KeyboardInterrupt


def test_an_interrupted_run_ends_with_the_same_bytes(
    texts: Path, valence: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHECKPOINT", 2)
    whole = learn(texts, tmp_path / "whole", valence=valence).to_bytes()
    for what, count in (("reading texts", 1), ("word vectors", 6), ("neighbors", 1), ("neighbors", 3)):
        with pytest.raises(KeyboardInterrupt):
            learn(texts, tmp_path / "parts", Interrupting(what, count), valence=valence)
    told = []
    parts = learn(texts, tmp_path / "parts", lambda *report: told.append(report), valence=valence)
    assert parts.to_bytes() == whole
    assert {what for what, _, _ in told} == {"neighbors"}, "earlier stages were done"


def test_other_settings_or_texts_are_refused(texts: Path, valence: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    learn(texts, run)
    for name in ("least_count", "passes", "steps"):
        was = getattr(SETTINGS, name)
        changed = Settings(**{**vars(SETTINGS), name: was + 1})
        with pytest.raises(RetvecLiteError, match=f"has {name}={was}, not {name}={was + 1}: name another folder"):
            learn(texts, run, settings=changed)
    # What the last stage is followed by may change: it takes seconds.
    fewer = learn(texts, run, settings=dataclasses.replace(SETTINGS, words=200), valence=valence)
    assert len(fewer.words) == 200 and "by moods.csv" in fewer.card["valence"]
    with pytest.raises(RetvecLiteError, match="has texts="):
        learn(write_topics(tmp_path / "others.txt", seed=1), run)


def test_the_command(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "Settings", lambda **_: SETTINGS)
    out = tmp_path / "out"
    assert command().main(["texts", str(texts), "--out", str(out), "--language", "tlh", "--quick"]) == 0
    file = out / "meaning_tlh.safetensors"
    assert f"Written to {file}." in capsys.readouterr().out and len(MeaningFile.load(file).words) == 300
    for arguments, told in (
        ([str(tmp_path / "a.csv")], "the name of a file of texts ends in .txt"),
        ([str(texts), str(tmp_path / "absent.txt")], "No such file"),
        ([str(texts), "--valence", str(tmp_path / "absent.csv")], "No such file"),
        ([str(texts), "--about", str(tmp_path / "absent.md")], "No such file"),
    ):
        assert command().main(["texts", *arguments, "--out", str(tmp_path / "none")]) == 2
        said = capsys.readouterr().err
        assert told in said and said.startswith("python -m makers.meaning: error: ") and said.count("\n") == 1
    assert not (tmp_path / "none").exists()
