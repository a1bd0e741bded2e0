"""Pre-training end to end on a tiny list: both rounds, the 4-bit grid, going on after an interruption, the file and its card."""

from pathlib import Path

import numpy as np
import pytest

from makers.embedding import train as module
from makers.embedding.__main__ import command
from makers.embedding.evaluate import embed
from makers.embedding.model import WordModel
from makers.embedding.retrieval import retrieval_set
from makers.embedding.train import NAME, make_embedding, rounds
from makers.embedding.words import load_words
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import load_embedding

STEPS = 30


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return []


@pytest.fixture(scope="module")
def whole(list_file: Path, lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a run that was not interrupted."""
    out = tmp_path_factory.mktemp("whole")
    return make_embedding([list_file], out, steps=STEPS, batch_size=64, tell=lines.append)


def test_the_rounds_are_those_of_the_package() -> None:
    long, short = rounds(50_000, 0, 2048)
    assert (long.steps, long.warmup, long.quantized_from, long.learned_clipping) == (50_000, 1000, 30_000, True)
    assert (short.steps, short.warmup, short.quantized_from, short.learned_clipping) == (5000, 200, 0, False)
    assert long.rate(1000) == 1e-3 and short.rate(200) == 4e-4
    assert long.rate(50_000) == pytest.approx(module.FINAL_RATE) and long.rate(500) == pytest.approx(5e-4)


def test_the_file_holds_four_bit_weights_and_its_card(whole: Path, lines: list[str]) -> None:
    embedding = load_embedding(whole)
    assert embedding.weights["embedding/dense_0/kernel"].shape == (336, 256)
    kernels = [value for name, value in embedding.weights.items() if name.endswith("kernel")]
    assert max(len(np.unique(kernel[:, 0])) for kernel in kernels) <= 15
    assert embedding.card["steps"] == STEPS + STEPS // 10 and embedding.card["data"]["source"] == "tiny.txt"
    assert embedding.card["command"] == (
        "python -m makers.embedding train --words tiny.txt --steps 30 --seed 0 --batch-size 64"
    )
    assert [line.split("  ")[0] for line in lines[1:3]] == ["step 30/30 4-bit", "step 30"]
    assert "  loss " in lines[1] and "right word found" in lines[2] and "tiny" in lines[2]


def test_the_card_tells_of_the_very_weights_in_the_file(whole: Path, list_file: Path) -> None:
    embedding = load_embedding(whole)
    asked = retrieval_set("tiny", load_words([list_file]).rows, seed=0)
    found = embedding.card["metrics"]["right_word_found"]["tiny"]
    assert asked.found(lambda rows: embed(embedding, rows)) == pytest.approx(found, abs=1e-4)
    assert 0.3 < found < 1


@pytest.mark.exhaustive
def test_an_interrupted_run_ends_with_the_same_bytes(
    whole: Path, list_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed with 4 bits, and in the second round; each time in the middle of a chunk of batches."""
    monkeypatch.setattr(module, "_CHECKPOINT", 1)
    real = WordModel.step
    left = 0

    def step(model: WordModel, batch: object) -> float:
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        return real(model, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(WordModel, "step", step)
    for left in (20, 11):  # noqa: B007 - read by `step`
        with pytest.raises(KeyboardInterrupt):
            make_embedding([list_file], tmp_path, steps=STEPS, batch_size=64, tell=lambda line: None)
        assert not (tmp_path / NAME).exists()
    monkeypatch.setattr(WordModel, "step", real)
    out = make_embedding([list_file], tmp_path, steps=STEPS, batch_size=64, tell=lambda line: None)
    assert out.read_bytes() == whole.read_bytes()


def test_a_folder_of_other_words_or_settings_is_refused(whole: Path, list_file: Path, tmp_path: Path) -> None:
    before = whole.read_bytes()
    others = tmp_path / "others.txt"
    others.write_text("alarm\nclock\nmusic\nweather\numbrella\nparcel\n")
    for words, seed, told in (
        (list_file, 1, "has seed=0, not seed=1"),
        (others, 0, "has words=[0-9a-f]{16}, not words=[0-9a-f]{16}"),
    ):
        with pytest.raises(RetvecLiteError, match=f"{told}: name another folder with --out"):
            make_embedding([words], whole.parent, steps=STEPS, seed=seed, batch_size=64, tell=print)
    assert whole.read_bytes() == before


@pytest.mark.slow
def test_the_command(list_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert command().main(["train", "--words", str(list_file), "--quick", "--out", str(tmp_path)]) == 0
    printed = capfd.readouterr()
    assert printed.out.splitlines()[-1].startswith(f"Written to {tmp_path / NAME}. ") and printed.err == ""
    assert command().main(["train", "--words", "missing.txt", "--out", str(tmp_path / "no")]) == 2
    assert "missing.txt" in capfd.readouterr().err and not (tmp_path / "no").exists()
