"""Pre-training end to end on a tiny list: words, batches, the 4-bit grid, resuming, the file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

from retvec_lite.errors import RetvecLiteError
from retvec_lite.pretraining import words as wl
from retvec_lite.pretraining.augment import word_lengths

SYLLABLES = ("ka", "ro", "mi", "tun", "les", "vo")
NAMES = [a + b + c for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES]


@pytest.fixture
def list_file(tmp_path: Path) -> Path:
    """A word list of 216 words."""
    path = tmp_path / "tiny.txt"
    path.write_text("\n".join(NAMES), encoding="utf-8")
    return path


@pytest.fixture
def small_lists() -> wl.WordList:
    """Two languages of very different size."""
    big = wl.encode_words([f"w{number}" for number in range(10_000)])
    small = wl.encode_words(["слово", "рука", "дом", "окно", "наука", "школа", "0000"])
    lists = [("big", big, np.ones(len(big)), 1.0), ("small", small, np.ones(len(small)), 1.0)]
    return wl.build_word_list(lists, "test")


# --- words ---


def test_words_become_rows_and_back() -> None:
    rows = wl.encode_words(["", "naïve", "🙂", "x" * 20])
    assert rows.shape == (4, 16) and rows.dtype == np.int32
    assert [wl.decode_word(row) for row in rows] == ["", "naïve", "🙂", "x" * 16]


def test_two_percent_are_held_out_for_good() -> None:
    rows = wl.encode_words([f"word{number}" for number in range(20_000)])
    share = wl.held_out(rows).mean()
    assert 0.016 < share < 0.024
    assert not wl.held_out(wl.encode_words([chr(code) for code in range(0x4E00, 0x9000)])).any()
    # Pinned: the evaluation of a published file must find the same words unseen on any machine.
    assert wl.row_hashes(wl.encode_words(["hello", "東京"])).tolist() == PINNED_HASHES


PINNED_HASHES = [15659007880727369383, 5680158758884408313]


def test_held_out_words_are_never_sampled(small_lists: wl.WordList) -> None:
    assert len(small_lists.rows) < 10_007
    assert not wl.held_out(small_lists.rows).any()


def test_languages_are_balanced_and_case_is_restored(small_lists: wl.WordList) -> None:
    sampled = [wl.decode_word(row) for row in small_lists.sample(5000, np.random.default_rng(0))]
    small = [word for word in sampled if word[0].lower() != "w"]
    # (10,000 / 7) ** 0.3 is about 9: a tenth of the samples from a list a thousand times shorter.
    assert 0.07 < len(small) / len(sampled) < 0.14
    assert {"дом", "Дом", "ДОМ"} <= set(small)
    digits = [word for word in small if word.isdigit()]
    assert digits and len(set(digits)) > 10  # wordfreq's "0000" stands for any four digits


def test_pieces_are_all_runs_of_one_to_four() -> None:
    found = {wl.decode_word(row) for row in wl.pieces(wl.encode_words(["東京都庁前", "東"]), (1, 2, 3, 4))}
    word = "東京都庁前"
    assert found == {word[i : i + n] for n in (1, 2, 3, 4) for i in range(len(word) - n + 1)}


def test_cldr_gives_words_in_every_script_that_wordfreq_lacks() -> None:
    pytest.importorskip("babel")
    from retvec_lite.pretraining.cldr_words import SCRIPT_LOCALES, cldr_words

    for locale in SCRIPT_LOCALES:
        words = cldr_words(locale)
        assert len(words) > 300, locale
        assert not any("a" <= char <= "z" for word in words for char in word)
        assert all(word == word.casefold() and "{" not in word for word in words)


def test_bad_word_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(RetvecLiteError, match=r"missing\.txt"):
        wl.load_files([tmp_path / "missing.txt"])
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(RetvecLiteError, match="UTF-8"):
        wl.load_files([tmp_path / "latin.txt"])
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(RetvecLiteError, match="received none"):
        wl.load_files([tmp_path / "empty.txt"])


def test_other_word_lengths_leave_out_the_same_words() -> None:
    names = [f"word{number}" for number in range(3000)]
    assert (wl.held_out(wl.encode_words(names)) == wl.held_out(wl.encode_words(names, 20))).all()


# --- batches ---


def test_batches_are_pairs_and_a_function_of_seed_and_number(small_lists: wl.WordList) -> None:
    from retvec_lite.pretraining.batches import CHUNK, make_chunk

    options = {"batch_size": 64, "random_share": 0.1, "dropout": 0.25}
    first, again = (make_chunk(small_lists, 3, seed=1, **options) for _ in range(2))
    other = make_chunk(small_lists, 4, seed=1, **options)
    assert len(first) == CHUNK
    for batch, same, different in zip(first, again, other, strict=True):
        assert (batch.codepoints == same.codepoints).all() and (batch.keep == same.keep).all()
        assert (batch.codepoints != different.codepoints).any()
        assert batch.codepoints.shape == batch.keep.shape == (64, 16)
        assert (batch.classes[:32] == batch.classes[32:]).all()
        assert len(set(batch.classes.tolist())) > 20
    values = np.unique(np.concatenate([batch.keep for batch in first]))
    assert values == pytest.approx([0, 1 / 0.75])


def test_the_same_word_twice_is_one_class() -> None:
    from retvec_lite.pretraining.batches import make_chunk

    single = wl.build_word_list([("one", wl.encode_words(["12"]), np.ones(1), 1.0)], "test")
    for batch in make_chunk(single, 0, seed=0, batch_size=32, random_share=0.0, dropout=0.0):
        assert (batch.classes == 0).all()


def test_batches_resume_in_the_middle_of_a_chunk_and_errors_come_through() -> None:
    from retvec_lite.pretraining.batches import CHUNK, prefetch

    def numbers(chunk: int) -> list[int]:
        if chunk == 5:
            raise RuntimeError("no more words")
        return list(range(chunk * CHUNK, (chunk + 1) * CHUNK))

    assert list(prefetch(numbers, 0, 19)) == list(range(19))  # type: ignore[arg-type]
    assert list(prefetch(numbers, 11, 30)) == list(range(11, 30))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="no more words"):
        list(prefetch(numbers, 0, 100))  # type: ignore[arg-type]


def test_retrieval_finds_words_of_an_embedding_that_knows_them() -> None:
    from retvec_lite.pretraining.retrieval import retrieval_task

    task = retrieval_task("tiny", wl.encode_words(NAMES), seed=0)
    assert len(task.candidates) == len(NAMES)

    def counts(rows: np.ndarray) -> np.ndarray:
        return np.stack([(rows == code).sum(axis=1) for code in range(97, 123)], axis=1).astype(np.float32)

    right = task.candidates[task.answers]
    assert (word_lengths(right) > 2).all()
    assert task.found(lambda rows: np.zeros((len(rows), 2), np.float32)) <= 0.5
    assert 0.05 < task.found(counts) < 1.0  # anagrams keep it from all


@pytest.mark.parametrize("options", [{}, {"per_tensor": True}, {"learned_clipping": False}, {"weight_bits": 2}])
def test_files_hold_what_the_network_computed_with(options: dict[str, object]) -> None:
    pytest.importorskip("keras")
    from retvec_lite.pretraining.model import NetworkSettings, WordModel

    settings = NetworkSettings(**options)  # type: ignore[arg-type]
    model = WordModel(0, settings)
    rows = wl.encode_words(NAMES[:50])
    model.embed_words(rows)
    model.quantized.assign(1.0)
    computed = model.embed_words(rows)
    arrays = model.arrays(snapped=True)
    for index, layer in enumerate(model.dense_layers):
        kernel = arrays[f"dense_{index}/kernel"]
        most = 2 * settings.levels + 1
        columns = [kernel] if settings.per_tensor else list(kernel.T)
        assert all(len(np.unique(column)) <= most for column in columns)
        layer.kernel.assign(kernel)
    model.quantized.assign(0.0)
    stored = model.embed_words(rows)
    cosine = (computed * stored).sum(1) / np.linalg.norm(computed, axis=1) / np.linalg.norm(stored, axis=1)
    assert cosine.min() > 0.99  # scales are rounded up to 8 binary digits on the way into the file


# --- whole runs ---


def test_a_resumed_run_ends_with_the_same_weights(list_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("keras")
    from rich.console import Console
    from safetensors import safe_open

    from retvec_lite.pretraining.pretrain import LOG, PretrainSettings, pretrain
    from retvec_lite.pretraining.retrieval import retrieval_task

    words = wl.load_files([list_file])
    tasks = [retrieval_task("tiny", wl.encode_words(NAMES), seed=0)]
    settings = PretrainSettings(steps=30, batch_size=64, warmup=5)
    quiet = Console(quiet=True)

    def go(name: str, stop_at: int | None = None) -> Path | None:
        out = tmp_path / f"{name}.safetensors"
        return pretrain(
            words, settings, out, run_dir=tmp_path / name, tasks=tasks, report_every=10, evaluate_every=15,
            export_at=[20], stop_at=stop_at, console=quiet,
        )  # fmt: skip

    whole = go("whole")
    assert go("parts", stop_at=13) is None  # in the middle of a chunk, before 4 bits
    assert go("parts", stop_at=26) is None  # with 4 bits
    parts = go("parts")
    assert whole and parts and not list(tmp_path.glob("*.partial"))
    with safe_open(whole, "np") as file, safe_open(parts, "np") as other:
        assert file.metadata() == other.metadata()
        metadata = file.metadata()
        assert set(file.keys()) == {f"dense_{i}/{part}" for i in range(3) for part in ("kernel", "bias")}
        for key in file.keys():  # noqa: SIM118 - not a dictionary
            assert file.get_tensor(key).dtype == np.float32
            assert (file.get_tensor(key) == other.get_tensor(key)).all()
        kernel = file.get_tensor("dense_0/kernel")
        assert kernel.shape == (336, 256)
        assert len(np.unique(kernel[:, 0])) <= 15
    with safe_open(tmp_path / "whole-20.safetensors", "np") as early:
        assert len(np.unique(early.get_tensor("dense_0/kernel")[:, 0])) > 300  # not snapped
    assert (metadata["format"], metadata["bits"], metadata["activation"]) == (
        "retvec-lite-embedding",
        "21",
        "gelu,gelu,tanh",
    )
    card = json.loads(metadata["card"])
    assert card["steps"] == 30 and 0 <= card["metrics"]["right_word_found"]["tiny"] <= 1
    log = [json.loads(line) for line in (tmp_path / "whole" / LOG).read_text().splitlines()]
    losses = [line["loss"] for line in log if "loss" in line]
    assert losses[-1] < losses[0]

    changed = PretrainSettings(steps=30, batch_size=64, warmup=5, seed=1)
    with pytest.raises(RetvecLiteError, match=r"seed=0.*seed=1"):
        pretrain(words, changed, tmp_path / "x.safetensors", run_dir=tmp_path / "parts", console=quiet)


def test_bits_and_embedding_are_those_of_the_reference() -> None:
    pytest.importorskip("keras")
    from retvec_lite.pretraining.model import NetworkSettings, WordModel, bits_of

    rows = wl.encode_words(["hello", "🙂\U0010ffff", "東京"])
    expected = (rows[..., None] >> np.arange(20, -1, -1)) & 1
    assert (np.asarray(bits_of(rows)) == expected).all()
    model = WordModel(0, NetworkSettings())
    got = model.embed_words(rows)
    arrays = model.arrays(snapped=False)
    values = expected.reshape(3, -1).astype(np.float64)
    erf = np.vectorize(__import__("math").erf)
    for index in range(3):
        values = values @ arrays[f"dense_{index}/kernel"] + arrays[f"dense_{index}/bias"]
        values = np.tanh(values) if index == 2 else values * 0.5 * (1 + erf(values / np.sqrt(2)))
    assert np.abs(got - values).max() < 1e-5


@pytest.mark.parametrize("learned_clipping", [False, True])
def test_the_card_tells_of_the_very_weights_in_the_file(
    list_file: Path, tmp_path: Path, learned_clipping: bool
) -> None:
    """Kernels were put on their grid twice once, and a learned grid is another one the second time."""
    pytest.importorskip("keras")
    from rich.console import Console

    from retvec_lite.model.weight_files import load_embedding
    from retvec_lite.pretraining.evaluation_network import embed
    from retvec_lite.pretraining.model import NetworkSettings
    from retvec_lite.pretraining.pretrain import PretrainSettings, pretrain
    from retvec_lite.pretraining.retrieval import retrieval_task

    words = wl.load_files([list_file])
    task = retrieval_task("tiny", wl.encode_words(NAMES), seed=0)
    network = NetworkSettings(learned_clipping=learned_clipping)
    settings = PretrainSettings(steps=20, batch_size=64, warmup=5, quantized_share=0.5, network=network)
    out = tmp_path / "e.safetensors"
    pretrain(words, settings, out, run_dir=tmp_path / "run", tasks=[task], console=Console(quiet=True))
    embedding = load_embedding(out)
    assert task.found(lambda rows: embed(embedding, rows)) == pytest.approx(
        embedding.card["metrics"]["right_word_found"]["tiny"], abs=1e-4
    )


def test_a_run_can_begin_with_another_ones_weights(list_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("keras")
    from rich.console import Console

    from retvec_lite.model.weight_files import load_default_embedding, load_embedding
    from retvec_lite.pretraining.model import NetworkSettings
    from retvec_lite.pretraining.pretrain import PretrainSettings, pretrain

    words, default = wl.load_files([list_file], 16), load_default_embedding()

    def go(network: NetworkSettings) -> Path | None:
        settings = PretrainSettings(steps=1, batch_size=8, warmup=0, peak_rate=1e-6, quantized_share=0, network=network)
        out, quiet = tmp_path / "next.safetensors", Console(quiet=True)
        return pretrain(words, settings, out, run_dir=tmp_path / "run", initial=default, console=quiet)

    found = go(NetworkSettings())
    assert found is not None
    for name, weights in load_embedding(found).weights.items():
        assert np.abs(weights - default.weights[name]).max() < 1e-4
    with pytest.raises(RetvecLiteError, match=r"word length 16 and 128 dimensions.*16 and 256"):
        go(NetworkSettings(embedding_dim=128))


@pytest.mark.parametrize("options", [{"word_length": 20}, {"embedding_dim": 32}, {"projection": True}])
def test_other_shapes_train_as_well(list_file: Path, tmp_path: Path, options: dict[str, object]) -> None:
    pytest.importorskip("keras")
    from rich.console import Console

    from retvec_lite.model.weight_files import load_embedding
    from retvec_lite.pretraining.model import NetworkSettings
    from retvec_lite.pretraining.pretrain import PretrainSettings, pretrain

    network = NetworkSettings(**options)  # type: ignore[arg-type]
    words = wl.load_files([list_file], network.word_length)
    settings = PretrainSettings(steps=2, batch_size=8, warmup=0, network=network, muon=False)
    out = tmp_path / "e.safetensors"
    assert pretrain(words, settings, out, run_dir=tmp_path / "run", console=Console(quiet=True)) == out
    embedding = load_embedding(out)
    assert (embedding.word_length, embedding.dimension) == (network.word_length, network.embedding_dim)


@pytest.mark.parametrize("options", [{"steps": 0}, {"batch_size": 7}, {"dropout": 1.0}, {"quantized_share": 1.5}])
def test_settings_that_cannot_be_trained_with_are_refused(options: dict[str, float]) -> None:
    pytest.importorskip("keras")
    from retvec_lite.pretraining.pretrain import PretrainSettings

    with pytest.raises(RetvecLiteError, match=str(next(iter(options.values())))):
        PretrainSettings(**options)  # type: ignore[arg-type]


def test_the_command(list_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("keras")
    from retvec_lite.cli import pretrain as pretrain_command

    parser = argparse.ArgumentParser()
    pretrain_command.add_arguments(parser)
    out = tmp_path / "e.safetensors"
    options = ["--words", str(list_file), "--steps", "4", "--batch-size", "32", "--out", str(out)]
    assert pretrain_command.run(parser.parse_args(options)) == 0
    assert out.exists() and (tmp_path / "e-run").is_dir()
