"""Pre-training of the word embedding (RETVec paper, arXiv:2302.09207), quantization-aware and resumable."""

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write, explain_os_error, refuse_existing, require_writable
from retvec_lite.model.cluster import Cluster, cluster_size, join_cluster
from retvec_lite.model.weight_files import Embedding, load_embedding
from retvec_lite.pretraining.batches import WordBatch, make_shares, prefetch
from retvec_lite.pretraining.checkpoint import origin, read_checkpoint, share_checkpoint, write_checkpoint
from retvec_lite.pretraining.model import NetworkSettings, WordModel, build_model
from retvec_lite.pretraining.run_log import RunLog
from retvec_lite.pretraining.settings import PretrainSettings
from retvec_lite.pretraining.tasks import RetrievalTask, retrieval_task, wordfreq_tasks
from retvec_lite.pretraining.words import WORDFREQ, WordList, WordShares, load_words

CHECKPOINT: Final = "checkpoint.npz"
LOG: Final = "log.jsonl"

_METRIC_LANGUAGES: Final = ("en", "de", "fi", "ru", "ar", "hi", "ko")
_OPTIMIZERS: Final = ("muon", "adam")


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
    sampling: str = PretrainSettings.sampling,
    decomposed_share: float = PretrainSettings.decomposed_share,
    dropout: float = PretrainSettings.dropout,
    weight_decay: float = PretrainSettings.weight_decay,
    export_at: Iterable[int] = (),
    evaluate_every: int = 2500,
    shares: int | None = None,
    name: str = "retvec-lite",
    force: bool = False,
    log: Callable[[str], None] | None = None,
) -> Path:
    """Pre-train a word embedding, and write it as safetensors.

    Args:
        words: `wordfreq` (its 42 languages, and CLDR's words for those it lacks), and UTF-8 files, one for each language and
            named after it: one word a line, or CSV with the columns `word` and `count`.
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
        sampling: how often each kind of typo is drawn: all 22 `kinds` alike, the paper's four `categories` alike, or `shifts`
            more often.
        decomposed_share: share of words written in decomposed form (an accent is a character of its own).
        dropout: share of whole characters hidden from the network.
        weight_decay: of the matrices but the last, a share of the learning rate; 0 for none.
        export_at: steps after which float weights are written as well, as `<out>-<step>.safetensors`.
        evaluate_every: steps between two measurements of the words found.
        shares: how many shares words and batches are cut into: a multiple of the workers, by default as many as `TF_CONFIG` names.
            Runs with the same shares follow the same losses, whatever the number of workers (docs/scale.md).
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
    workers = cluster_size()
    join_cluster()
    require_writable(out, force)
    initial = load_embedding(Path(start_from)) if start_from is not None else None
    options: dict[str, Any] = {"steps": steps, "batch_size": batch_size, "seed": seed, "peak_rate": peak_rate}
    options |= {"warmup": min(warmup, steps // 10), "quantized_share": quantized_share, "sampling": sampling}
    options |= {"decomposed_share": decomposed_share, "dropout": dropout, "weight_decay": weight_decay}
    network = NetworkSettings(learned_clipping=learned_clipping)
    count = workers if shares is None else shares
    settings = PretrainSettings(**options, muon=optimizer == "muon", network=network, shares=count)
    word_list = load_words(files)
    if Path(WORDFREQ) in files:
        tasks = wordfreq_tasks(_METRIC_LANGUAGES, seed=seed)
    else:
        spans = list(word_list.languages.items())[: len(_METRIC_LANGUAGES)]
        tasks = [retrieval_task(language, word_list.rows[first:last], seed=seed) for language, (first, last) in spans]
    told = {**options, "optimizer": optimizer, "warmup": warmup}
    command = ["retvec-lite pretrain --words", *(file.name for file in files), *_told(told)]
    command += [] if learned_clipping else ["--no-learned-clipping"]
    command += ["--start-from", Path(start_from).name] if start_from is not None else []
    command += ["--shares", str(settings.shares)] if settings.shares > 1 else []
    held = _share(word_list, settings)
    del word_list  # the shares of others need no memory here
    pretrain(
        held,
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


def _share(words: WordList, settings: PretrainSettings) -> WordShares:
    """Return the shares of this worker.

    Raises:
        RetvecLiteError: when the shares cannot be dealt out evenly.
    """
    cluster = join_cluster()
    if cluster is None:
        return WordShares.of(words, settings.shares)
    if settings.shares % cluster.count:
        raise RetvecLiteError(
            f"{settings.shares} shares cannot be dealt out to {cluster.count} workers: pass a multiple."
        )
    each = settings.shares // cluster.count
    return WordShares.of(words, settings.shares, range(cluster.index * each, (cluster.index + 1) * each))


def _told(options: Mapping[str, Any]) -> list[str]:
    """Return options as one would type them."""
    told = []
    for name, value in options.items():
        told += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    return told


def pretrain(
    words: WordList | WordShares,
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
        words: what to learn from; on several machines, the shares of this worker.
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
        `out`; None where `stop_at` came first, and on every worker but the chief, which writes all files.

    Raises:
        RetvecLiteError: for a file at `out` without `force`, a checkpoint that belongs to another run or is damaged, initial
            weights of another shape, an interval below 1, or a loss that is no longer finite.
    """
    tasks, exports = list(tasks), frozenset(export_at)
    cluster = join_cluster()
    is_chief = cluster is None or cluster.is_chief
    words = words if isinstance(words, WordShares) else _share(words, settings)
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
    is_begun = is_chief and checkpoint.exists()
    start = read_checkpoint(checkpoint, model, belongs_to, settings.steps) if is_begun else 0
    if cluster is not None:
        cluster.agree("settings, words or starting weights", sorted(belongs_to.items(), key=str))
        start = share_checkpoint(cluster, model, start)
    stop = min(settings.steps, settings.steps if stop_at is None else stop_at)
    record = RunLog(run_dir / LOG, log, settings, report_every) if is_chief else None
    make = functools.partial(
        make_shares,
        words,
        seed=settings.seed,
        batch_size=settings.batch_size,
        random_share=settings.random_share,
        dropout=settings.dropout,
        sampling=settings.sampling,
        decomposed_share=settings.decomposed_share,
    )

    def write(path: Path, step: int, arrays: dict[str, Floats], found: dict[str, float]) -> None:
        card = _card(settings, words, step, found, command, step == settings.steps and settings.quantized_share > 0)
        weights = {f"embedding/{key}": value for key, value in arrays.items()}
        atomic_write(path, Embedding(name, weights, card).to_bytes())

    train = _alone(model) if cluster is None else _together(model, cluster)
    for step, batch in enumerate(prefetch(make, start, stop), start + 1):
        if step - 1 >= settings.quantized_from:
            model.quantized.assign(1.0)
        loss = train(batch)
        if not np.isfinite(loss):
            raise RetvecLiteError(f"The loss is {loss} at step {step}. Start again with a lower learning rate.")
        is_saved = step % checkpoint_every == 0 or step == stop
        if cluster is not None and is_saved:
            # Machines of different kinds round differently: from time to time all take the chief's weights.
            share_checkpoint(cluster, model, step)
        if record is None:
            continue
        record.step(step, loss)
        if is_saved:
            write_checkpoint(checkpoint, model, belongs_to, step)
        if step % evaluate_every == 0 and step != settings.steps and tasks:
            record.found(step, measure(model.embed_words, tasks))
        if step in exports:
            write(_export_path(out, step), step, model.arrays(snapped=False), {})
    if stop < settings.steps or record is None:
        return None
    arrays = model.arrays(snapped=settings.quantized_share > 0)
    model.load(Embedding(name, {f"embedding/{key}": value for key, value in arrays.items()}, {}))
    model.quantized.assign(0.0)
    found = measure(model.embed_words, tasks)  # the figures of the card are those of the very weights in the file
    record.found(settings.steps, found)
    write(out, settings.steps, arrays, found)
    return out


def _alone(model: WordModel) -> Callable[[WordBatch], float]:
    """Return a training step of one machine."""

    def train(batch: WordBatch) -> float:
        inputs = {"codepoints": batch.codepoints, "keep": batch.keep}
        return float(np.asarray(model.train_on_batch(inputs, batch.classes)).ravel()[0])

    return train


def _together(model: WordModel, cluster: Cluster) -> Callable[[WordBatch], float]:
    """Return a training step of several machines."""
    from retvec_lite.pretraining.step import ClusterStep  # needs TensorFlow, whatever Keras runs on

    return ClusterStep(model, cluster)


def _export_path(out: Path, step: int) -> Path:
    """Return where the float weights of a step are written."""
    return out.with_name(f"{out.stem}-{step}{out.suffix}")


def measure(embed: Callable[[Ints], Floats], tasks: Iterable[RetrievalTask]) -> dict[str, float]:
    """Return the share of mistyped words that find their word, by language."""
    return {task.language: task.found(embed) for task in tasks}


def _card(
    settings: PretrainSettings, words: WordShares, step: int, found: dict[str, float], command: str, quantized: bool
) -> dict[str, Any]:
    return {
        "data": {
            "source": words.source,
            "words": words.words,
            "languages": words.languages,
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
