"""Pre-training of the word embedding (RETVec paper, section 3.3), quantization-aware and resumable."""

import dataclasses
import functools
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write, explain_os_error, refuse_existing, require_writable
from retvec_lite.model.weight_files import Embedding, load_embedding
from retvec_lite.pretraining.batches import AUGMENTATION_WEIGHTS, make_chunk, prefetch
from retvec_lite.pretraining.checkpoint import origin, read_checkpoint, write_checkpoint
from retvec_lite.pretraining.model import NetworkSettings, Schedule, build_model
from retvec_lite.pretraining.tasks import RetrievalTask, retrieval_task, wordfreq_tasks
from retvec_lite.pretraining.words import WordList, load_files, load_wordfreq

CHECKPOINT: Final = "checkpoint.npz"
LOG: Final = "log.jsonl"

_METRIC_LANGUAGES: Final = ("en", "de", "fi", "ru", "ar", "hi", "ko")
_OPTIMIZERS: Final = ("muon", "adam")


@dataclass(frozen=True)
class PretrainSettings:
    """Everything that decides the result of a run, together with the words.

    The defaults are ours (docs/embedding.md), except for `random_share`, which is the paper's.

    Attributes:
        steps: training steps in all.
        batch_size: rows of a batch, two for each word.
        seed: of initial weights, words, typos and dropout.
        warmup: steps of linear warm-up.
        peak_rate, final_rate: the learning rate, cosine between them.
        muon: train matrices by Muon, not by Adam.
        dropout: spatial dropout, the share of whole characters hidden from the model.
        random_share: share of random tokens instead of words.
        equal_kinds: draw all 22 augmentations equally often, not by `AUGMENTATION_WEIGHTS`.
        quantized_share: the last part of the steps, trained with 4-bit weights; 0 for a float model.
        network: shape and grid.

    Raises:
        RetvecLiteError: for values that cannot be trained with.
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
        if self.steps < 1:
            raise RetvecLiteError(f"steps must be at least 1, not {self.steps}.")
        if self.batch_size < 4 or self.batch_size % 2:
            raise RetvecLiteError(f"batch_size must be an even number of at least 4, not {self.batch_size}.")
        for name in ("seed", "warmup"):
            if getattr(self, name) < 0:
                raise RetvecLiteError(f"{name} must be at least 0, not {getattr(self, name)}.")
        for name in ("peak_rate", "final_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise RetvecLiteError(f"{name} must be a number above 0, not {getattr(self, name)}.")
        for name in ("dropout", "random_share"):
            if not 0 <= getattr(self, name) < 1:
                raise RetvecLiteError(f"{name} must be at least 0 and less than 1, not {getattr(self, name)}.")
        if not 0 <= self.quantized_share <= 1:
            raise RetvecLiteError(f"quantized_share must be a share from 0 to 1, not {self.quantized_share}.")

    @property
    def schedule(self) -> Schedule:
        """Learning rate and optimizer."""
        return Schedule(self.steps, self.warmup, self.peak_rate, self.final_rate, self.muon)

    @property
    def quantized_from(self) -> int:
        """The first step with 4-bit weights."""
        return self.steps - round(self.steps * self.quantized_share)


def pretrain_embedding(
    words: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ("wordfreq",),
    *,
    out: str | os.PathLike[str] = "embedding.safetensors",
    steps: int = 100_000,
    batch_size: int = 2048,
    resume: str | os.PathLike[str] | None = None,
    seed: int = 0,
    optimizer: str = "muon",
    start_from: str | os.PathLike[str] | None = None,
    peak_rate: float = 1e-3,
    learned_clipping: bool = True,
    warmup: int = 1000,
    quantized_share: float = 0.4,
    export_at: Iterable[int] = (),
    evaluate_every: int = 2500,
    name: str = "retvec-lite",
    force: bool = False,
    log: Callable[[str], None] | None = None,
) -> Path:
    """Pre-train a word embedding, and write it as safetensors.

    Args:
        words: `wordfreq` (its 42 languages, and CLDR's words for those it lacks), or UTF-8 files, one word per line, one
            file per language.
        out: the file to write; checked before the first step.
        steps: training steps.
        batch_size: rows of a batch, two for each word.
        resume: folder of checkpoints and log: continue there, or begin there; by default beside `out`, named after it.
        seed: of everything random.
        optimizer: of matrices: `muon` learns more in the same time, `adam` is the paper's.
        start_from: an embedding file whose weights to begin with, instead of random ones.
        peak_rate: highest learning rate.
        learned_clipping: train the steps of the 4-bit grid too, instead of taking them from each output's largest weight.
        warmup: steps of warm-up, a tenth of all steps at most.
        quantized_share: last part of the steps, trained with 4-bit weights; 0 for none.
        export_at: steps after which float weights are written as well, as `<out>-<step>.safetensors`.
        evaluate_every: steps between two measurements of the words found.
        name: of the embedding, inside the file.
        force: replace a file at `out`.
        log: receives a line every 100 steps; None for silence. The folder of checkpoints always holds a `log.jsonl`.

    Returns:
        The path of the file written.

    Raises:
        RetvecLiteError: for a file at `out` without `force`, words that cannot be read, an option out of range, a run to
            resume that has other settings, words or starting weights, or a loss that is no longer finite.

    Example:
        >>> from pathlib import Path
        >>> import retvec_lite as rl
        >>> words = ("alarm", "clock", "music", "weather", "umbrella", "parcel", "order", "track")
        >>> _ = Path("words.txt").write_text(chr(10).join(words))
        >>> rl.pretrain("words.txt", steps=2, batch_size=8, out="tiny.safetensors").name
        'tiny.safetensors'
    """
    if optimizer not in _OPTIMIZERS:
        raise RetvecLiteError(f"Unknown optimizer {optimizer!r}: choose from {', '.join(_OPTIMIZERS)}.")
    files = [Path(words)] if isinstance(words, (str, os.PathLike)) else [Path(file) for file in words]
    out = Path(out)
    require_writable(out, force)
    initial = load_embedding(Path(start_from)) if start_from is not None else None
    options = {"steps": steps, "batch_size": batch_size, "seed": seed, "peak_rate": peak_rate}
    options |= {"warmup": min(warmup, steps // 10), "quantized_share": quantized_share}
    network = NetworkSettings(learned_clipping=learned_clipping)
    settings = PretrainSettings(**options, muon=optimizer == "muon", network=network)  # type: ignore[arg-type]
    if files == [Path("wordfreq")]:
        word_list = load_wordfreq()
        tasks = wordfreq_tasks(_METRIC_LANGUAGES, seed=seed)
    else:
        word_list = load_files(files)
        spans = list(word_list.languages.items())[: len(_METRIC_LANGUAGES)]
        tasks = [retrieval_task(language, word_list.rows[first:last], seed=seed) for language, (first, last) in spans]
    told = {**options, "optimizer": optimizer, "warmup": warmup}
    command = ["retvec-lite pretrain --words", *(file.name for file in files), *_told(told)]
    command += [] if learned_clipping else ["--no-learned-clipping"]
    command += ["--start-from", Path(start_from).name] if start_from is not None else []
    pretrain(
        word_list,
        settings,
        out,
        run_dir=out.with_name(out.stem + "-run") if resume is None else Path(resume),
        tasks=tasks,
        name=name,
        command=" ".join(command),
        initial=initial,
        evaluate_every=evaluate_every,
        export_at=export_at,
        force=force,
        log=log,
    )
    return out


def _told(options: Mapping[str, Any]) -> list[str]:
    """Return options as one would type them."""
    told = []
    for name in ("steps", "batch_size", "seed", "optimizer", "peak_rate", "warmup", "quantized_share"):
        value = options[name]
        told += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    return told


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
    force: bool = False,
    log: Callable[[str], None] | None = None,
) -> Path | None:
    """Pre-train an embedding with any settings, or continue a run, and write it as safetensors.

    A run that is interrupted and continued from `run_dir` ends with the same weights, bit for bit, as one that was not
    (on the same machine and backend): batches are a function of seed and step, all other state is in the checkpoint.

    Args:
        words: what to learn from.
        settings: what decides the result; these, `words` and `initial` must be those of the checkpoint in `run_dir`, if there
            is one.
        out: the safetensors file to write at the end; checked before the first step.
        run_dir: folder for the checkpoint (written every `checkpoint_every` steps) and the log; made if missing.
        tasks: retrieval tasks, measured every `evaluate_every` steps and at the end.
        name: of the embedding, for the file's metadata.
        command: that repeats the run, for the model card.
        checkpoint_every: steps between two checkpoints.
        report_every: steps between two lines of the log.
        evaluate_every: steps between two measurements of `tasks`.
        export_at: steps after which float weights are written beside `out`, as `<out>-<step>.safetensors`.
        stop_at: leave after this step with a checkpoint, as if interrupted.
        initial: weights to begin with, of the same shape; None for random ones.
        force: replace a file at `out`.
        log: receives the lines of the log.

    Returns:
        `out`, or None where `stop_at` came first.

    Raises:
        RetvecLiteError: for a file at `out` without `force`, a checkpoint that belongs to another run or is damaged, initial
            weights of another shape, an interval below 1, or a loss that is no longer finite.
    """
    tasks, exports = list(tasks), frozenset(export_at)
    intervals = {"checkpoint_every": checkpoint_every, "report_every": report_every, "evaluate_every": evaluate_every}
    for interval, value in (*intervals.items(), *(("export_at", step) for step in sorted(exports))):
        if value < 1:
            raise RetvecLiteError(f"{interval} must be at least 1, not {value}.")
    require_writable(out, force)
    checkpoint = run_dir / CHECKPOINT
    # A run that continues may write again what it wrote after its last checkpoint.
    if not checkpoint.exists():
        for step in exports:
            refuse_existing(_export_path(out, step), force)
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain_os_error(error, run_dir) from error
    model = build_model(settings.schedule, settings.seed, settings.network)
    if initial is not None:
        model.load(initial)
    belongs_to = origin(settings, words, initial)
    start = read_checkpoint(checkpoint, model, belongs_to, settings.steps) if checkpoint.exists() else 0
    stop = min(settings.steps, settings.steps if stop_at is None else stop_at)
    record = _Log(run_dir / LOG, log, settings, report_every)
    make = functools.partial(
        make_chunk,
        words,
        seed=settings.seed,
        batch_size=settings.batch_size,
        random_share=settings.random_share,
        dropout=settings.dropout,
        weights=None if settings.equal_kinds else AUGMENTATION_WEIGHTS,
    )

    def write(path: Path, step: int, arrays: dict[str, Floats], found: dict[str, float]) -> None:
        card = _card(settings, words, step, found, command, step == settings.steps and settings.quantized_share > 0)
        weights = {f"embedding/{key}": value for key, value in arrays.items()}
        atomic_write(path, Embedding(name, weights, card).to_bytes())

    for step, batch in enumerate(prefetch(make, start, stop), start + 1):
        if step - 1 >= settings.quantized_from:
            model.quantized.assign(1.0)
        inputs = {"codepoints": batch.codepoints, "keep": batch.keep}
        loss = float(np.asarray(model.train_on_batch(inputs, batch.classes)).ravel()[0])
        if not np.isfinite(loss):
            raise RetvecLiteError(f"The loss is {loss} at step {step}. Start again with a lower learning rate.")
        record.step(step, loss)
        if step % checkpoint_every == 0 or step == stop:
            write_checkpoint(checkpoint, model, belongs_to, step)
        if step % evaluate_every == 0 and step != settings.steps and tasks:
            record.found(step, measure(model.embed_words, tasks))
        if step in exports:
            write(_export_path(out, step), step, model.arrays(snapped=False), {})
    if stop < settings.steps:
        return None
    arrays = model.arrays(snapped=settings.quantized_share > 0)
    model.load(Embedding(name, {f"embedding/{key}": value for key, value in arrays.items()}, {}))
    model.quantized.assign(0.0)
    found = measure(model.embed_words, tasks)  # the figures of the card are those of the very weights in the file
    record.found(settings.steps, found)
    write(out, settings.steps, arrays, found)
    return out


def _export_path(out: Path, step: int) -> Path:
    """Return where the float weights of a step are written."""
    return out.with_name(f"{out.stem}-{step}{out.suffix}")


def measure(embed: Callable[[Ints], Floats], tasks: Iterable[RetrievalTask]) -> dict[str, float]:
    """Return the share of mistyped words that find their word, by language."""
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


class _Log:
    """Lines for people, and the same facts in a JSON-lines file."""

    def __init__(self, path: Path, tell: Callable[[str], None] | None, settings: PretrainSettings, every: int) -> None:
        self._path, self._tell, self._settings, self._every = path, tell, settings, every
        self._losses: list[float] = []
        self._since = time.perf_counter()

    def step(self, step: int, loss: float) -> None:
        self._losses.append(loss)
        if step % self._every and step != self._settings.steps:
            return
        now = time.perf_counter()
        settings, mean = self._settings, float(np.mean(self._losses))
        seconds = (now - self._since) / len(self._losses)
        rate = settings.schedule.rate(step)
        left = (settings.steps - step) * seconds / 60
        words = settings.batch_size / seconds
        quantized = " 4-bit" if step > settings.quantized_from else ""
        self._write(
            f"step {step}/{settings.steps}{quantized}  loss {mean:.4f}  rate {rate:.2e}  {words:,.0f} words/s  "
            f"{seconds * 1000:.1f} ms/step  {left:.0f} min left",
            {"step": step, "loss": round(mean, 5), "rate": rate, "ms_per_step": round(seconds * 1000, 2)},
        )
        self._losses, self._since = [], now

    def found(self, step: int, found: Mapping[str, float]) -> None:
        if found:
            mean = sum(found.values()) / len(found)
            languages = "  ".join(f"{language} {share:.3f}" for language, share in found.items())
            self._write(
                f"step {step}  right word found {mean:.4f}  ({languages})",
                {"step": step, "found": {key: round(value, 4) for key, value in found.items()}},
            )
        self._since = time.perf_counter()

    def _write(self, line: str, record: Mapping[str, Any]) -> None:
        if self._tell is not None:
            self._tell(line)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
