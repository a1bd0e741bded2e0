"""Pre-training of the word embedding (RETVec paper, 3.3), quantization-aware and resumable."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from retvec_lite.contract import Floats
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write
from retvec_lite.model.weight_files import Embedding
from retvec_lite.pretraining.batches import KIND_WEIGHTS, make_chunk, prefetch
from retvec_lite.pretraining.model import NetworkSettings, Schedule, WordModel, build_model
from retvec_lite.pretraining.retrieval import RetrievalTask
from retvec_lite.pretraining.words import WordList

CHECKPOINT = "checkpoint.npz"
LOG = "log.jsonl"


@dataclass(frozen=True)
class PretrainSettings:
    """Everything that decides the result of a run, together with the words. Defaults are the paper's where it has any.

    Attributes:
        steps: training steps in all.
        batch_size: rows of a batch, two for each word.
        seed: of initial weights, words, typos and dropout.
        warmup: steps of linear warm-up.
        peak_rate, final_rate: the learning rate, cosine between them.
        muon: train matrices by Muon and not by Adam.
        dropout: spatial dropout, the share of whole characters hidden from the model.
        random_share: share of random UTF-8 tokens.
        equal_kinds: draw all 22 kinds of typos alike, and not by `KIND_WEIGHTS`.
        quantized_share: the last part of the steps that trains with 4-bit weights; 0 for a float model.
        network: shape and grid.
    """

    steps: int = 100_000
    batch_size: int = 2048
    seed: int = 0
    warmup: int = 1000
    peak_rate: float = 1e-3
    final_rate: float = 2e-5
    muon: bool = True
    dropout: float = 1 / 16
    random_share: float = 0.1
    equal_kinds: bool = False
    quantized_share: float = 0.4
    network: NetworkSettings = dataclasses.field(default_factory=NetworkSettings)

    def __post_init__(self) -> None:
        """Refuse values that cannot be trained with."""
        if self.steps < 1 or self.batch_size < 4 or self.batch_size % 2:
            raise RetvecLiteError(
                "Expected at least one step and an even batch size of at least 4, "
                f"received {self.steps} steps and batch size {self.batch_size}."
            )
        if not 0 <= self.dropout < 1 or not 0 <= self.random_share < 1 or not 0 <= self.quantized_share <= 1:
            raise RetvecLiteError(
                "Expected dropout and random share in [0, 1) and quantized share in [0, 1], "
                f"received {self.dropout}, {self.random_share} and {self.quantized_share}."
            )

    @property
    def schedule(self) -> Schedule:
        """Learning rate and optimizer."""
        return Schedule(self.steps, self.warmup, self.peak_rate, self.final_rate, self.muon)

    @property
    def quantized_from(self) -> int:
        """The first step with 4-bit weights."""
        return self.steps - round(self.steps * self.quantized_share)


def pretrain(
    words: WordList,
    settings: PretrainSettings,
    out: Path,
    *,
    run_dir: Path,
    tasks: Iterable[RetrievalTask] = (),
    name: str = "retvec-lite",
    command: str = "",
    checkpoint_every: int = 1000,
    report_every: int = 100,
    evaluate_every: int = 2500,
    export_at: Iterable[int] = (),
    stop_at: int | None = None,
    initial: Embedding | None = None,
    console: Console | None = None,
) -> Path | None:
    """Pre-train an embedding, or continue a run, and write it as safetensors.

    A run that is interrupted and continued from `run_dir` ends with the same weights, bit for bit, as one that was not
    (on the same machine and backend): batches are a function of seed and step, all other state is in the checkpoint.

    Args:
        words: what to learn from.
        settings: what decides the result; must be those of the checkpoint in `run_dir`, if there is one.
        out: the safetensors file to write at the end.
        run_dir: folder for the checkpoint (written every `checkpoint_every` steps) and the log; made if missing.
        tasks: retrieval tasks, measured every `evaluate_every` steps and at the end.
        name: of the embedding, for the file's metadata.
        command: that repeats the run, for the model card.
        checkpoint_every: steps between two checkpoints.
        report_every: steps between two lines of progress.
        evaluate_every: steps between two measurements of `tasks`.
        export_at: steps after which float weights are written beside `out`, as `<out>-<step>.safetensors`.
        stop_at: leave after this step with a checkpoint, as if interrupted.
        initial: weights to begin with, of the same shape; random ones by default.
        console: where progress goes; standard output by default.

    Returns:
        `out`, or None where `stop_at` came first.
    """
    tasks, exports = list(tasks), frozenset(export_at)
    console = console or Console()
    run_dir.mkdir(parents=True, exist_ok=True)
    model = build_model(settings.schedule, settings.seed, settings.network)
    if initial is not None:
        model.load(initial)
    checkpoint = run_dir / CHECKPOINT
    start = _restore(checkpoint, model, settings) if checkpoint.exists() else 0
    stop = min(settings.steps, settings.steps if stop_at is None else stop_at)
    log = _Log(run_dir / LOG, console, settings, start, report_every)
    make = functools.partial(
        make_chunk,
        words,
        seed=settings.seed,
        batch_size=settings.batch_size,
        random_share=settings.random_share,
        dropout=settings.dropout,
        weights=None if settings.equal_kinds else KIND_WEIGHTS,
    )

    def write(path: Path, step: int, arrays: dict[str, Floats], found: dict[str, float]) -> None:
        card = _card(settings, words, step, found, command, step == settings.steps and settings.quantized_share > 0)
        path.parent.mkdir(parents=True, exist_ok=True)
        weights = {f"embedding/{key}": value for key, value in arrays.items()}
        atomic_write(path, Embedding(name, weights, card).to_bytes())

    with log.progress:
        for step, batch in enumerate(prefetch(make, start, stop), start + 1):
            if step - 1 >= settings.quantized_from:
                model.quantized.assign(1.0)
            inputs = {"codepoints": batch.codepoints, "keep": batch.keep}
            loss = float(np.asarray(model.train_on_batch(inputs, batch.classes)).ravel()[0])
            if not np.isfinite(loss):
                raise RetvecLiteError(
                    f"The loss is {loss} at step {step}: lower the learning rate and resume from {run_dir}."
                )
            log.step(step, loss)
            if step % checkpoint_every == 0 or step == stop:
                _store(checkpoint, model, settings, step)
            if step % evaluate_every == 0 and step != settings.steps and tasks:
                log.found(step, measure(model.embed_words, tasks))
            if step in exports:
                write(out.with_name(f"{out.stem}-{step}{out.suffix}"), step, model.arrays(snapped=False), {})
    if stop < settings.steps:
        return None
    arrays = model.arrays(snapped=settings.quantized_share > 0)
    model.load(Embedding(name, {f"embedding/{key}": value for key, value in arrays.items()}, {}))
    model.quantized.assign(0.0)
    found = measure(model.embed_words, tasks)  # the figures of the card are those of the very weights in the file
    log.found(settings.steps, found)
    write(out, settings.steps, arrays, found)
    return out


def measure(embed: Callable[[npt.NDArray[np.int32]], Floats], tasks: Iterable[RetrievalTask]) -> dict[str, float]:
    """Share of mistyped words that find their word, per language: {language: share}."""
    return {task.language: task.found(embed) for task in tasks}


def _card(
    settings: PretrainSettings, words: WordList, step: int, found: dict[str, float], command: str, quantized: bool
) -> dict[str, Any]:
    return {
        "data": {
            "source": words.source,
            "words": len(words.rows),
            "languages": len(words.languages),
            "held_out": "2 % of the words of three characters or more, by a stable hash",
        },
        "license": "wordfreq lists: CC BY-SA 4.0; CLDR: Unicode License v3; weights and code: Apache 2.0",
        "steps": step,
        "settings": dataclasses.asdict(settings),
        "metrics": {"right_word_found": {key: round(value, 4) for key, value in found.items()}},
        "quantization": (
            f"{settings.network.weight_bits} bits, symmetric, one scale per "
            f"{'kernel' if settings.network.per_tensor else 'output channel'}: kernels are on their grid"
            if quantized
            else "none: float weights"
        ),
        "command": command,
    }


def _store(path: Path, model: WordModel, settings: PretrainSettings, step: int) -> None:
    """Write a checkpoint atomically."""
    arrays = {f"variable_{index}": value for index, value in enumerate(_state(model))}
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        np.savez(file, step=np.asarray(step), settings=np.asarray(json.dumps(dataclasses.asdict(settings))), **arrays)
    os.replace(partial, path)


def _restore(path: Path, model: WordModel, settings: PretrainSettings) -> int:
    """Read a checkpoint into the model; returns the steps done."""
    with np.load(path) as stored:
        before = json.loads(str(stored["settings"]))
        now = dataclasses.asdict(settings)
        changed = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
        if changed:
            was = ", ".join(f"{key}={before.get(key)}" for key in changed)
            given = ", ".join(f"{key}={now.get(key)}" for key in changed)
            raise RetvecLiteError(
                f"The run in {path.parent} has {was}; expected the same to resume it, received {given}."
            )
        for index, variable in enumerate(_variables(model)):
            variable.assign(stored[f"variable_{index}"])
        return int(stored["step"])


def _variables(model: WordModel) -> list[Any]:
    return [*model.trainable_variables, model.quantized, *model.optimizer.variables]


def _state(model: WordModel) -> list[npt.NDArray[Any]]:
    from keras import ops

    return [ops.convert_to_numpy(variable) for variable in _variables(model)]


class _Log:
    """Progress: a bar on a terminal, a line every so often elsewhere, and all of it in a JSON-lines file."""

    def __init__(self, path: Path, console: Console, settings: PretrainSettings, start: int, every: int) -> None:
        self._path, self._console, self._settings, self._every = path, console, settings, every
        self._losses: list[float] = []
        self._since = time.perf_counter()
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._bar = self.progress.add_task("pre-training", total=settings.steps, completed=start)

    def step(self, step: int, loss: float) -> None:
        self._losses.append(loss)
        self.progress.update(self._bar, completed=step)
        if step % self._every and step != self._settings.steps:
            return
        now = time.perf_counter()
        settings, mean = self._settings, float(np.mean(self._losses))
        seconds = (now - self._since) / len(self._losses)
        rate = settings.schedule.rate(step)
        left = (settings.steps - step) * seconds / 60
        words = settings.batch_size / seconds
        quantized = " 4-bit" if step > settings.quantized_from else ""
        self._print(
            f"step {step}/{settings.steps}{quantized}  loss {mean:.4f}  rate {rate:.2e}  {words:,.0f} words/s  "
            f"{seconds * 1000:.1f} ms/step  {left:.0f} min left"
        )
        self._write({"step": step, "loss": round(mean, 5), "rate": rate, "ms_per_step": round(seconds * 1000, 2)})
        self._losses, self._since = [], now

    def found(self, step: int, found: dict[str, float]) -> None:
        if found:
            mean = sum(found.values()) / len(found)
            languages = "  ".join(f"{language} {share:.3f}" for language, share in found.items())
            self._print(f"step {step}  right word found {mean:.4f}  ({languages})")
            self._write({"step": step, "found": {key: round(value, 4) for key, value in found.items()}})
        self._since = time.perf_counter()

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, soft_wrap=True)

    def _write(self, record: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
