"""Whole pre-trainings of meaning on a tiny corpus: one result however often they are interrupted, and one sentence for bad input."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_texts import TOPIC_WORDS, write_topics

import retvec_lite as rl
from retvec_lite.__main__ import main
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.pretraining.meaning import stages
from retvec_lite.terminal import silent

pytest.importorskip("gensim", reason="gensim is not installed: no word2vec")
pytestmark = pytest.mark.usefixtures("few_words_suffice")

OPTIONS: dict[str, Any] = {"least_count": 2, "passes": 2, "steps": 4, "code_steps": 3, "words": 300}


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_topics(tmp_path / "topics.txt")


@pytest.fixture
def valence(tmp_path: Path) -> Path:
    path = tmp_path / "moods.csv"
    lines = [f"{word},{3 - topic}" for topic, words in enumerate(TOPIC_WORDS) for word in words]
    path.write_text("\n".join(["word,valence", *lines, "absent,1"]))
    return path


def test_a_file_with_a_card(texts: Path, valence: Path, tmp_path: Path) -> None:
    (tmp_path / "about.md").write_text("# Made-up texts\n\nCC0 – by nobody.\n", encoding="utf-8")
    out = tmp_path / "deep" / "m.safetensors"
    found = rl.pretrain_meaning(texts, out=out, valence=valence, about=tmp_path / "about.md", language="tlh", **OPTIONS)
    again = MeaningFile.load(out)
    assert again.to_bytes() == found.to_bytes() == out.read_bytes()
    assert len(found.words) == 300 and found.language == "tlh" and found.words[0] in ("und", "oder")
    assert found.card["sources"] == "# Made-up texts\n\nCC0 – by nobody."
    assert found.card["counts"].startswith(
        "24,000 words read; 326 words trained, which occur 2 times or more; the 300 most"
    )
    assert found.card["files"] == "topics.txt" and found.card["valence"].endswith(" 298 of the words are, by moods.csv")
    assert found.card["biases"].startswith("Not measured") and "decisions about people" in found.card["not_for"]
    assert found.card["settings"] == "seed=0, least_count=2, passes=2, steps=4, code_steps=3"
    assert str(tmp_path) not in "".join(found.card.values())


def test_words_of_a_topic_mean_the_same(texts: Path, tmp_path: Path) -> None:
    options = {**OPTIONS, "passes": 12, "steps": 10, "words": 40_000}
    found = rl.pretrain_meaning(texts, out=tmp_path / "m.safetensors", **options)
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
    monkeypatch.setattr(stages, "_CHECKPOINT", 2)
    monkeypatch.setattr(stages, "_REPORT", 1)
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    rl.pretrain_meaning(texts, out=whole, valence=valence, **OPTIONS)
    for what, count in (("reading texts", 1), ("word vectors", 6), ("neighbours", 1), ("neighbours", 4), ("codes", 2)):
        with pytest.raises(KeyboardInterrupt):
            rl.pretrain_meaning(texts, out=parts, valence=valence, progress=Interrupting(what, count), **OPTIONS)
        assert not parts.exists()
    told = []
    rl.pretrain_meaning(texts, out=parts, valence=valence, progress=lambda *report: told.append(report), **OPTIONS)
    assert parts.read_bytes() == whole.read_bytes()
    assert {what for what, _, _ in told} == {"codes"}, "earlier stages were done"


def test_the_same_bytes_in_another_process(texts: Path, tmp_path: Path) -> None:
    rl.pretrain_meaning(texts, out=tmp_path / "here.safetensors", **OPTIONS)
    code = (
        "from retvec_lite.pretraining.meaning import corpus; corpus.FEWEST_WORDS = 1000\n"
        f"import retvec_lite as rl; rl.pretrain_meaning({str(texts)!r}, out={str(tmp_path / 'there.safetensors')!r}, **{OPTIONS})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    here, there = ((tmp_path / f"{name}.safetensors").read_bytes() for name in ("here", "there"))
    assert here == there
    rl.pretrain_meaning(texts, out=tmp_path / "other.safetensors", seed=1, **OPTIONS)
    assert (tmp_path / "other.safetensors").read_bytes() != here


def refusal(*args: Any, **options: Any) -> str:
    with pytest.raises(rl.RetvecLiteError) as caught:
        rl.pretrain_meaning(*args, **{**OPTIONS, **options})
    message = str(caught.value)
    assert "\n" not in message and message.endswith(".")
    return message


def test_other_settings_or_texts_are_refused(texts: Path, valence: Path, tmp_path: Path) -> None:
    out, run = tmp_path / "m.safetensors", tmp_path / "m-run"
    rl.pretrain_meaning(texts, out=out, **OPTIONS)
    for name, value in (
        ("least_count", 3),
        ("passes", 1),
        ("seed", 1),
        ("steps", 5),
        ("words", 299),
        ("code_steps", 9),
    ):
        said = refusal(texts, out=out, force=True, **{name: value})
        assert (
            f"The run in {run} has {name}={OPTIONS.get(name, 0)}. " in said
            and f"not {name}={value}, or name another" in said
        )
    assert "has valence=None. " in refusal(texts, out=out, force=True, valence=valence)
    others = write_topics(tmp_path / "others.txt", seed=1)
    assert f"The run in {run} has texts=" in refusal(others, out=out, force=True)
    elsewhere = rl.pretrain_meaning(others, out=out, force=True, resume=tmp_path / "elsewhere", **OPTIONS)
    assert elsewhere.to_bytes() == out.read_bytes() and (tmp_path / "elsewhere").is_dir()


def test_a_damaged_checkpoint_is_named(texts: Path, tmp_path: Path) -> None:
    out, run = tmp_path / "m.safetensors", tmp_path / "m-run"
    whole = rl.pretrain_meaning(texts, out=out, **OPTIONS).to_bytes()
    for name in ("corpus", "word_vectors", "neighbors", "codes"):
        path = run / f"{name}.npz"
        path.write_bytes(path.read_bytes()[:-50])
        assert refusal(texts, out=out, force=True).startswith(f"{path} is damaged (")
        path.unlink()
        assert rl.pretrain_meaning(texts, out=out, force=True, **OPTIONS).to_bytes() == whole


def test_bad_input_leaves_nothing(texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.safetensors"
    assert "texts must name at least one file" in refusal([], out=out)
    assert "the name of a file of texts ends in .txt" in refusal(tmp_path / "a.csv", out=out)
    assert "No such file" in refusal([texts, tmp_path / "absent.txt"], out=out)
    assert "language must be the tag of a language, such as en, not 'English!'" in refusal(
        texts, out=out, language="English!"
    )
    assert "words must be an integer of at least 256" in refusal(texts, out=out, words=100)
    assert "No such file" in refusal(texts, out=out, valence=tmp_path / "absent.csv")
    assert "No such file" in refusal(texts, out=out, about=tmp_path / "absent.md")
    assert not out.exists() and not (tmp_path / "m-run").exists()
    out.touch()
    assert "already exists" in refusal(texts, out=out)


def test_the_command(texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "m.safetensors"
    told = [part for name, value in OPTIONS.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    assert main(["pretrain-meaning", str(texts), "--out", str(out), *told]) == 0
    assert capsys.readouterr().out.endswith(f"Written to {out}.\n")
    assert MeaningFile.load(out).card["settings"] == "seed=0, least_count=2, passes=2, steps=4, code_steps=3"
    assert main(["pretrain-meaning", str(texts), "--out", str(out), "--force", "--steps", "9"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("retvec-lite: error: The run in ") and said.count("\n") == 1


def test_without_gensim_one_line_says_what_to_install(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "gensim", None)
    assert main(["pretrain-meaning", str(texts), "--out", str(tmp_path / "m.safetensors")]) == 2
    assert 'The package gensim is not installed. Run: pip install "retvec-lite[pretrain]"' in capsys.readouterr().err


def test_silence_is_the_default(texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rl.pretrain_meaning(texts, out=tmp_path / "m.safetensors", progress=silent, **OPTIONS)
    assert capsys.readouterr() == ("", "")
