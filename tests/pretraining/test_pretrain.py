"""Pre-training end to end on a tiny list: the 4-bit grid, resuming, the file and its card, the command."""

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tiny_words import NAMES

from retvec_lite import __main__ as cli
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import Embedding, load_default_embedding, load_embedding
from retvec_lite.pretraining.measures import embed
from retvec_lite.pretraining.options import PretrainOptions, PretrainSettings
from retvec_lite.pretraining.pretrain import Every, pretrain, pretrain_embedding
from retvec_lite.pretraining.retrieval import RetrievalSet, retrieval_set
from retvec_lite.pretraining.run_folder import LOG
from retvec_lite.pretraining.words import WordList, load_words, word_rows

SETTINGS = PretrainSettings(steps=30, batch_size=64, warmup=5)


class Run(NamedTuple):
    """What every run of the module is started with."""

    words: WordList
    asked: RetrievalSet
    folder: Path
    lines: list[str]

    def go(self, name: str, stop_at: int | None = None) -> Path | None:
        return pretrain(
            self.words, SETTINGS, self.folder / f"{name}.safetensors", run_dir=self.folder / name, sets=[self.asked],
            every=Every(report=10, evaluate=15), stop_at=stop_at, log=self.lines.append,
        )  # fmt: skip


@pytest.fixture(scope="module")
def run(list_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    asked = retrieval_set("tiny", word_rows(NAMES), seed=0)
    return Run(load_words([list_file]), asked, tmp_path_factory.mktemp("runs"), [])


@pytest.fixture(scope="module")
def whole(run: Run) -> Path:
    """The file of a run that was not interrupted."""
    out = run.go("whole")
    assert out == run.folder / "whole.safetensors"
    return out


def distinct_values(embedding: Embedding) -> list[int]:
    """How many different numbers the first output of each layer has."""
    kernels = [value for name, value in embedding.weights.items() if name.endswith("kernel")]
    return [len(np.unique(kernel[:, 0])) for kernel in kernels]


def test_the_file_holds_four_bit_weights_and_its_card(run: Run, whole: Path) -> None:
    from safetensors import safe_open

    with safe_open(whole, "np") as file:
        metadata = file.metadata()
        assert set(file.keys()) == {f"dense_{i}/{part}" for i in range(3) for part in ("kernel", "bias")}
        assert all(file.get_tensor(key).dtype == np.float32 for key in file.keys())  # noqa: SIM118
    assert [metadata[name] for name in ("format", "bits", "activation")] == ["retvec-lite-embedding", "21", "gelu,gelu,tanh"]  # fmt: skip
    embedding = load_embedding(whole)
    assert embedding.weights["embedding/dense_0/kernel"].shape == (336, 256)
    assert max(distinct_values(embedding)) <= 15
    assert embedding.card["steps"] == 30
    log = [json.loads(line) for line in (run.folder / "whole" / LOG).read_text().splitlines()]
    losses = [line["loss"] for line in log if "loss" in line]
    assert losses[-1] < losses[0]
    assert [line["step"] for line in log if "found" in line] == [15, 30]
    assert [line.split("  ")[0] for line in run.lines[:5]] == ["step 10/30", "step 15", "step 20/30 4-bit", "step 30/30 4-bit", "step 30"]  # fmt: skip
    assert "  loss " in run.lines[0] and "right word found" in run.lines[1] and "tiny" in run.lines[1]


def card_tells_of_the_file(asked: RetrievalSet, path: Path) -> None:
    embedding = load_embedding(path)
    found = embedding.card["metrics"]["right_word_found"]["tiny"]
    assert asked.found(lambda rows: embed(embedding, rows)) == pytest.approx(found, abs=1e-4)
    assert 0 <= found <= 1


def test_the_card_tells_of_the_very_weights_in_the_file(run: Run, whole: Path) -> None:
    """A learned grid is another one when a kernel is put on it a second time."""
    card_tells_of_the_file(run.asked, whole)


@pytest.mark.exhaustive
def test_the_card_tells_of_the_weights_on_a_grid_that_is_not_learned(run: Run, tmp_path: Path) -> None:
    settings = PretrainSettings(steps=20, batch_size=64, warmup=5, quantized_share=0.5, learned_clipping=False)
    out = tmp_path / "e.safetensors"
    pretrain(run.words, settings, out, run_dir=tmp_path / "run", sets=[run.asked])
    card_tells_of_the_file(run.asked, out)


@pytest.mark.parametrize(
    "stops",
    [
        pytest.param([26], id="with 4 bits"),
        pytest.param([13, 26], id="before 4 bits and with them", marks=pytest.mark.exhaustive),
    ],
)
def test_a_resumed_run_ends_with_the_same_weights(run: Run, whole: Path, stops: list[int]) -> None:
    """Stopped in the middle of a chunk of batches."""
    name = f"parts-{len(stops)}"
    for stop in stops:
        assert run.go(name, stop_at=stop) is None
    parts = run.go(name)
    assert parts is not None and not list(run.folder.rglob(".*"))
    assert parts.read_bytes() == whole.read_bytes()


@pytest.mark.usefixtures("whole")
def test_a_run_of_other_settings_is_not_resumed(run: Run) -> None:
    changed = PretrainSettings(steps=30, batch_size=64, warmup=5, seed=1)
    with pytest.raises(RetvecLiteError, match=r"has seed=0\. Resume it with the same settings, not seed=1"):
        pretrain(run.words, changed, run.folder / "x.safetensors", run_dir=run.folder / "whole")


def test_a_run_cannot_begin_with_weights_of_another_shape(run: Run, tmp_path: Path) -> None:
    settings = PretrainSettings(steps=1, batch_size=8, warmup=0, embedding_dim=128)
    with pytest.raises(RetvecLiteError, match=r"word length 16 and 256 dimensions.*16 and 128"):
        pretrain(
            run.words, settings, tmp_path / "e.safetensors", run_dir=tmp_path / "run", initial=load_default_embedding()
        )


SHAPES: list[dict[str, Any]] = [{"word_length": 20}, {"embedding_dim": 32}, {"projection": True}]


@pytest.mark.parametrize(
    "options",
    [
        {name: value for shape in SHAPES for name, value in shape.items()},
        *(pytest.param(shape, marks=pytest.mark.exhaustive) for shape in SHAPES),
    ],
    ids="+".join,
)
def test_other_shapes_train_as_well(list_file: Path, tmp_path: Path, options: Mapping[str, Any]) -> None:
    settings = PretrainSettings(steps=2, batch_size=8, warmup=0, muon=False, **options)
    words = load_words([list_file], settings.word_length)
    out = tmp_path / "e.safetensors"
    assert pretrain(words, settings, out, run_dir=tmp_path / "run") == out
    embedding = load_embedding(out)
    assert (embedding.word_length, embedding.dimension) == (settings.word_length, settings.embedding_dim)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be an integer of at least 1, not 0."),
        ({"batch_size": 7}, "batch_size must be an even number of at least 4, not 7."),
        ({"sampling": "all"}, "Unknown sampling 'all': choose from kinds, categories, shifts."),
        ({"weight_decay": float("nan")}, "weight_decay must be a number of at least 0, not nan."),
        ({"dropout": 1.0}, "dropout must be at least 0 and less than 1, not 1.0."),
        ({"seed": -1}, "seed must be an integer of at least 0, not -1."),
        ({"warmup": -1}, "warmup must be an integer of at least 0, not -1."),
        ({"peak_rate": float("nan")}, "peak_rate must be a number above 0, not nan."),
        ({"peak_rate": float("inf")}, "peak_rate must be a number above 0, not inf."),
        ({"peak_rate": 0.0}, "peak_rate must be a number above 0, not 0.0."),
        ({"final_rate": -1.0}, "final_rate must be a number above 0, not -1.0."),
        ({"quantized_share": float("nan")}, "quantized_share must be a share from 0 to 1, not nan."),
        ({"quantized_share": 1.5}, "quantized_share must be a share from 0 to 1, not 1.5."),
    ],
)
def test_settings_that_cannot_be_trained_with_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RetvecLiteError) as caught:
        PretrainSettings(**options)
    assert str(caught.value) == message


def test_an_interval_below_one_is_refused() -> None:
    with pytest.raises(RetvecLiteError, match=r"^evaluate_every must be an integer of at least 1, not 0\.$"):
        pretrain_embedding(evaluate_every=0)


def test_the_function_has_every_option_with_its_default() -> None:
    given = {name: parameter.default for name, parameter in inspect.signature(pretrain_embedding).parameters.items()}
    options = vars(PretrainOptions())
    assert {name: given.get(name, "missing") for name in options} == options
    assert all(f"{name}: " in pretrain_embedding.__doc__ for name in options)


def test_a_file_in_the_way_is_told_before_the_first_step(
    list_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retvec_lite.pretraining.pretrain.build_model", lambda *_: pytest.fail("too late"))
    (tmp_path / "e.safetensors").write_bytes(b"mine")
    (tmp_path / "empty").mkdir()
    for options, sentence in (
        ({"out": tmp_path / "e.safetensors"}, r"e\.safetensors already exists\. .*--force"),
        ({"out": tmp_path / "empty"}, "is a folder. Name a file in it"),
        ({"out": tmp_path / "e.safetensors" / "x"}, "Cannot write"),
    ):
        with pytest.raises(RetvecLiteError, match=sentence):
            pretrain_embedding(list_file, steps=2, **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.safetensors", "empty"]


def test_force_replaces_the_file(list_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "e.safetensors"
    out.write_bytes(b"old")
    assert (
        cli.main(
            ["pretrain", "--words", str(list_file), "--steps", "1", "--batch-size", "8", "--out", str(out), "--force"]
        )
        == 0
    )
    assert load_embedding(out).name == "retvec-lite"


def test_the_command_begins_with_another_embedding(
    list_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    default, out = load_default_embedding(), tmp_path / "e.safetensors"
    (tmp_path / "default.safetensors").write_bytes(default.to_bytes())
    arguments = [
        *("pretrain", "--words", str(list_file), "--start-from", str(tmp_path / "default.safetensors")),
        *(
            "--steps",
            "1",
            "--batch-size",
            "8",
            "--peak-rate",
            "1e-6",
            "--quantized-share",
            "0",
            "--no-learned-clipping",
        ),
        *("--name", "next", "--out", str(out)),
    ]
    assert cli.main(arguments) == 0
    assert (tmp_path / "e-run").is_dir()
    printed = capsys.readouterr().out
    assert "step 1/1  loss " in printed and "right word found" in printed and f"Written to {out}." in printed
    embedding = load_embedding(out)
    for name, weights in embedding.weights.items():
        assert np.abs(weights - default.weights[name]).max() < 1e-4
    assert embedding.name == "next"
    assert embedding.card["command"] == (
        "retvec-lite pretrain --words tiny.txt --steps 1 --batch-size 8 --seed 0 --peak-rate 1e-06 --warmup 1000 "
        "--quantized-share 0 --sampling shifts --no-learned-clipping --start-from default.safetensors"
    )
