"""Table and network learn what sentences mean, go on after an interruption, and the file says what was trained."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from makers.sentences import learn, lessons, network, table
from makers.sentences.__main__ import command
from makers.sentences.corpus import Vocabulary
from makers.sentences.learn import finished, learn_network
from makers.sentences.lessons import Lessons
from makers.sentences.network import NetworkTrainer, Reader
from makers.sentences.table import SPACE, TableTrainer, first_vectors, learn_table
from retvec_lite.contract import EncoderConfig, Floats, bits, codepoints, words
from retvec_lite.model.heads import PoolHead
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.model.reference_network import embed, head_logits
from retvec_lite.model.sentence_network import SentenceNetwork
from retvec_lite.model.weight_files import load_default_embedding

TOPICS = ("soup bread lunch", "train airport ticket", "rain wind today", "bank account money")
WIDTH = 8


def _sentence(number: int) -> str:
    rng = np.random.default_rng(number)
    return " ".join(rng.permutation([*TOPICS[number % 4].split(), "the", "a", f"w{number}"]))


SENTENCES = [_sentence(number) for number in range(600)]
VECTORS = np.eye(4, dtype=np.float32)[np.arange(600) % 4]
PLACES = {sentence: place for place, sentence in enumerate(SENTENCES)}


def teach(sentences: list[str]) -> Floats:
    """A vector of its own for each topic, from two teachers."""
    return np.stack([VECTORS[[PLACES[sentence] for sentence in sentences]]] * 2, axis=1)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lessons:
    """Lessons of a few hundred sentences, in small batches."""
    monkeypatch.setattr(lessons, "PART", 200)
    monkeypatch.setattr(lessons, "HELD_OUT", 80)
    monkeypatch.setattr(network, "HEAD", PoolHead(hidden=16, blocks=1))
    monkeypatch.setattr(learn, "HEAD", network.HEAD)
    monkeypatch.setattr(learn, "PART", 200)
    monkeypatch.setattr(learn, "DIRECTIONS", WIDTH)
    for module in (network, learn):
        monkeypatch.setattr(module, "BATCH", 20)
    for module in (table, learn):
        monkeypatch.setattr(module, "_CHECKPOINT", 1)
    for module in (table, network):
        monkeypatch.setattr(module, "_WARM_UP", 5)
    monkeypatch.setattr(table, "_BATCH", 20)
    return Lessons(SENTENCES, tmp_path / "teachers", teach)


def interrupted(
    kind: type[TableTrainer] | type[NetworkTrainer], at: int, run: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run until visit `at`, which a kill ends."""
    visit = kind.visit

    def killed(self: Any, read: Any, wanted: Floats, number: int) -> float:
        if number == at:
            raise KeyboardInterrupt
        return visit(self, read, wanted, number)

    monkeypatch.setattr(kind, "visit", killed)
    with pytest.raises(KeyboardInterrupt):
        run()
    monkeypatch.setattr(kind, "visit", visit)


def printed_losses(output: str) -> list[float]:
    return [float(line.rpartition("loss ")[2]) for line in output.splitlines() if "loss" in line]


@pytest.mark.slow
def test_the_table_learns_topics_and_goes_on_after_a_kill(
    small: Lessons, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    vocabulary = Vocabulary.of(SENTENCES, 300)
    capsys.readouterr()
    whole = learn_table(small, vocabulary, None, tmp_path / "whole", 4)
    losses = printed_losses(capsys.readouterr().out)
    assert len(losses) == 12 and losses[-1] < losses[0] / 2

    def run() -> MeaningFile:
        return learn_table(small, vocabulary, None, tmp_path / "parts", 4)

    interrupted(TableTrainer, 7, run, monkeypatch)
    assert run().to_bytes() == whole.to_bytes()
    (tmp_path / "meaning_en.safetensors").write_bytes(whole.to_bytes())
    found = MeaningFile.load(tmp_path / "meaning_en.safetensors")
    assert (found.language, found.space, found.words) == ("en", SPACE, vocabulary.words)
    assert found.codes.shape == (300, 32) and "MiniLM" in found.card["method"]
    (said,) = Reader(found).read(
        [[" ".join(topic.split()[:2]) for topic in TOPICS] + [topic.split()[2] for topic in TOPICS]]
    )
    cosines = said.sums[:4] @ said.sums[4:].T
    assert (cosines.argmax(axis=1) == np.arange(4)).all() and np.diag(cosines).min() > 0.5


def test_a_table_begins_from_a_file(small: Lessons) -> None:
    vocabulary = Vocabulary.of(SENTENCES, 300)
    codebooks = np.zeros((16, 256, 8), np.float32)
    codebooks[:, 1] = np.random.default_rng(0).integers(-127, 128, (16, 8))
    codes = np.stack([np.ones(16), np.zeros(16)]).astype(np.uint8)
    start = MeaningFile(("soup", "elsewhere"), codes, codebooks, "en", "mine", {})
    found, noise = first_vectors(vocabulary.words, start), first_vectors(vocabulary.words, None)
    place = vocabulary.words.index("soup")
    np.testing.assert_allclose(np.corrcoef(found[place], start.vectors[0])[0, 1], 1.0, atol=1e-6)
    assert 0.01 < found[place - 1].std() < 0.03 and 0.25 < noise.std() < 0.35


def test_a_step_sees_no_unknown_word(small: Lessons) -> None:
    trainer = TableTrainer(np.ones((2, 128), np.float32), WIDTH, 10)
    wanted = np.eye(WIDTH, dtype=np.float32)[:3]
    ids = np.array([[1, 2, 0], [2, 0, 0], [0, 0, 0]], np.int32)
    trainer.visit(ids, wanted, 0)
    assert not trainer.state()["0"][0].any() and np.isfinite(trainer.vectors).all()


@pytest.mark.exhaustive
def test_the_network_learns_topics_and_goes_on_after_a_kill(
    small: Lessons, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    meaning = learn_table(small, Vocabulary.of(SENTENCES, 300), None, tmp_path / "table", 2)
    capsys.readouterr()
    whole = learn_network(small, meaning, tmp_path / "whole", 2)
    losses = printed_losses(capsys.readouterr().out)
    assert len(losses) == 6 and np.isfinite(losses).all() and losses[-1] < losses[0] / 2

    def run() -> SentenceNetwork:
        return learn_network(small, meaning, tmp_path / "parts", 2)

    interrupted(NetworkTrainer, 4, run, monkeypatch)
    assert run().to_bytes() == whole.to_bytes()
    assert {"biases", "teachers", "texts", "measured", "license"} <= whole.card.keys()


def reference(found: SentenceNetwork, text: str) -> Floats:
    """What a network says of a text by the reference of exported files."""
    config = EncoderConfig(max_words=24, max_chars=200)
    slots = words(codepoints(text, config.max_chars), config)
    weights = {**found.weights, "head/logits/kernel": found.kernel, "head/logits/bias": found.bias}
    return head_logits(embed(bits(slots), weights), slots[:, 0] > 0, found.head, weights)


@pytest.mark.slow
def test_the_file_says_what_the_trained_network_says(small: Lessons, tmp_path: Path) -> None:
    meaning = learn_table(small, Vocabulary.of(SENTENCES, 300), None, tmp_path / "table", 1)
    reader = Reader(meaning)
    trainer = NetworkTrainer(load_default_embedding(), np.zeros((128, WIDTH), np.float32), 30)
    lesson = small.visit(0)
    for number in range(3):
        trainer.visit(reader.read([lesson.sentences] * 2), lesson.vectors, number)
    before = trainer.answers(reader.read([SENTENCES[:80]])[0]).both
    (tmp_path / "sentences.safetensors").write_bytes(finished(trainer, reader, small).to_bytes())
    found = SentenceNetwork.load(tmp_path / "sentences.safetensors")
    texts = [SENTENCES[0], "soup", "", "a text that is longer, w1th an unknown wrod"]
    both = trainer.answers(reader.read([SENTENCES[:80]])[0]).both
    assert not np.array_equal(before, both) and (before * both).sum(axis=1).min() > 0.99, (
        "the same integers, rounder steps"
    )
    alone = trainer.answers(reader.read([texts])[0]).alone
    said = np.stack([reference(found, text) for text in texts])
    # All directions are kept: lengths and angles stay.
    scale = np.linalg.norm(said[0]) / np.linalg.norm(alone[0])
    np.testing.assert_allclose(said @ said.T, scale**2 * alone @ alone.T, rtol=5e-3, atol=1e-3)


@pytest.mark.exhaustive
def test_the_command_makes_both_files_once(
    small: Lessons, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lessons, "Teachers", lambda *jars: teach)
    (tmp_path / "texts.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    out = tmp_path / "out"
    jars = ["--bge", "bge.jar", "--minilm", "minilm.jar"]
    arguments = ["train", str(tmp_path / "texts.txt"), *jars, "--out", str(out), "--quick"]
    assert command().main(arguments) == 0
    made = {name: (out / name).read_bytes() for name in ("meaning_en.safetensors", "sentences.safetensors")}
    assert MeaningFile.load(out / "meaning_en.safetensors").words
    assert SentenceNetwork.load(out / "sentences.safetensors").kernel.shape == (32, WIDTH)
    capsys.readouterr()
    monkeypatch.setattr(lessons, "Teachers", lambda *jars: pytest.fail)
    assert command().main(arguments) == 0
    assert made == {name: (out / name).read_bytes() for name in made}
    assert "visit" not in capsys.readouterr().out, "nothing is learned again"
    (tmp_path / "texts.txt").write_text("\n".join(SENTENCES[:500]), encoding="utf-8")
    assert command().main(arguments) == 2
    assert "has sentences=" in capsys.readouterr().err
