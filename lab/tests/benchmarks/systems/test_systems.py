from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.systems import fasttext as fasttext_product
from benchmarks.systems import networks as systems
from benchmarks.systems.fasttext import SUBWORDS, probabilities_of
from benchmarks.systems.names import FASTTEXT, NETWORK, RAW, V1
from benchmarks.systems.networks import Plan, available, settings_of
from benchmarks.systems.vectorizers import TableSize, Whitespace, eight_bit_rows
from retvec_lite.data.dataset import Dataset


def test_whitespace_keeps_the_most_frequent_words_and_one_row_for_the_others() -> None:
    texts = ["b a a", "c b a", "d"]
    vectorizer = Whitespace.learn(texts, TableSize(4, 8, lean=True))
    assert vectorizer.rows == 4
    assert vectorizer.vocabulary() == b"a\nb\n"
    assert vectorizer.tokens(["B, a! x d", ""]) == [[3, 2, 1, 1], []]
    assert Whitespace.read(vectorizer.vocabulary()).tokens(["a b c"]) == [[2, 3, 1]]


def test_rows_of_eight_bits_are_near_and_their_integers_small() -> None:
    table = np.random.default_rng(0).normal(size=(20, 16)).astype(np.float32) * np.logspace(-3, 3, 20)[:, None]
    rounded, integers = eight_bit_rows(table.astype(np.float32))
    assert integers.dtype == np.int8
    assert np.abs(integers).max(axis=1).tolist() == [127] * 20
    step = np.abs(table).max(axis=1, keepdims=True) / 127
    assert (np.abs(rounded - table) <= 0.501 * step).all()
    assert not eight_bit_rows(np.zeros((1, 4), np.float32))[0].any()
    again, same = eight_bit_rows(rounded)
    assert (same == integers).all()
    np.testing.assert_allclose(again, rounded, rtol=1e-6)


def test_fasttext_answers_are_put_into_the_columns_of_the_labels() -> None:
    class Model:
        def predict(self, texts: Sequence[str], k: int) -> tuple[list[list[str]], list[list[float]]]:
            assert (list(texts), k) == (["one , two"], -1)
            return [["__label__2", "__label__0"]], [[0.75, 0.25]]

    probabilities = probabilities_of(Model(), ("a", "b", "c"))
    assert probabilities(["One, TWO"]).tolist() == [[0.25, 0.0, 0.75]]
    assert probabilities([]).shape == (0, 3)


def test_fasttext_is_asked_for_less_until_its_file_is_small_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[int] = []
    overhead = 80_000

    class Package:
        def train_supervised(self, autotuneModelSize: str, **_: Any) -> Any:
            asked.append(int(autotuneModelSize))
            return SimpleNamespace(save_model=lambda path: Path(path).write_bytes(bytes(asked[-1] + overhead)))

    monkeypatch.setattr(fasttext_product, "require", lambda _: Package())
    path = tmp_path / "model.ftz"
    fasttext_product._tune("train", "validation", 1, 0, str(path))
    assert asked == [1_000_000, int(1_000_000 * 0.98 / 1.08)]
    assert path.stat().st_size < 1_000_000
    overhead = 2_000_000
    with pytest.raises(SystemExit, match=r"The file has 2,\d{3},\d{3} bytes instead of less than 1,000,000"):
        fasttext_product._tune("train", "validation", 1, 0, str(path))
    assert not path.exists()


def plan(tmp_path: Path, **changed: Any) -> Plan:
    fields = {"seed": 0, "epochs": 4, "autotune": 20, "embedding": "default", "v1": None, "work": tmp_path}
    return Plan(**(fields | changed))


def corpus(*texts: str) -> Any:
    data = Dataset(texts, ("l",) * len(texts), Path("data.csv"))
    return SimpleNamespace(training=data, validation=data)


def test_settings_tell_trainings_apart_that_differ(tmp_path: Path) -> None:
    base = settings_of(NETWORK, "cnn", plan(tmp_path), corpus("a"))
    assert settings_of(NETWORK, "cnn", plan(tmp_path, work=tmp_path / "x", autotune=5), corpus("a")) == base
    assert settings_of(NETWORK, "cnn", plan(tmp_path, epochs=5), corpus("a")) != base
    assert settings_of(NETWORK, "cnn", plan(tmp_path), corpus("b")) != base
    assert settings_of(NETWORK, "cnn", plan(tmp_path, seed=1), corpus("a")) != base
    assert settings_of(RAW, "cnn", plan(tmp_path), corpus("a"))["embedding"] == "raw" != base["embedding"]
    tuned = settings_of(FASTTEXT, "whole", plan(tmp_path), corpus("a"))
    assert settings_of(FASTTEXT, "whole", plan(tmp_path, epochs=9), corpus("a")) == tuned
    assert settings_of(FASTTEXT, "whole", plan(tmp_path, autotune=60), corpus("a")) != tuned
    assert tuned["subwords"] == SUBWORDS
    with pytest.raises(SystemExit, match="RETVec v1 needs --v1 FILE"):
        settings_of(V1, "cnn", plan(tmp_path), corpus("a"))


def test_what_cannot_be_built_is_left_out_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(systems.importlib.util, "find_spec", lambda name: None if name == "fasttext" else object())
    chosen = available(["BPE", "fastText", V1, NETWORK], None, asked_for=False)
    assert chosen == ["BPE", NETWORK]
    told = capsys.readouterr().err
    assert "fastText is left out: install fasttext" in told
    assert "RETVec v1 is left out: it needs --v1 FILE." in told
    assert available(["fastText", V1], None, asked_for=True) == ["fastText", V1]
