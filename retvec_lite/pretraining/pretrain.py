"""Pre-training of the word embedding (RETVec paper, arXiv:2302.09207), quantization-aware and resumable."""

import functools
import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.arguments import checked
from retvec_lite.contract import Floats, Ints
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write, explain_os_error, require_writable
from retvec_lite.model.weight_files import Embedding, load_embedding
from retvec_lite.pretraining.batches import make_chunk, prefetch
from retvec_lite.pretraining.model import WordModel, build_model
from retvec_lite.pretraining.options import WORDFREQ, PretrainOptions, PretrainSettings, ResultOptions
from retvec_lite.pretraining.retrieval import RetrievalSet, retrieval_set
from retvec_lite.pretraining.run_folder import RunLog, origin, read_checkpoint, write_checkpoint
from retvec_lite.pretraining.words import WordList, load_words, wordfreq_words

_METRIC_LANGUAGES: Final = ("en", "de", "fi", "ru", "ar", "hi", "ko")


@PretrainOptions.document
@checked
def pretrain_embedding(  # noqa: D417  # the decorator documents the options
    words: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = PretrainOptions.words,
    *,
    out: str | os.PathLike[str] = PretrainOptions.out,
    steps: int = PretrainOptions.steps,
    batch_size: int = PretrainOptions.batch_size,
    resume: str | os.PathLike[str] | None = PretrainOptions.resume,
    seed: int = PretrainOptions.seed,
    start_from: str | os.PathLike[str] | None = PretrainOptions.start_from,
    peak_rate: float = PretrainOptions.peak_rate,
    learned_clipping: bool = PretrainOptions.learned_clipping,
    warmup: int = PretrainOptions.warmup,
    quantized_share: float = PretrainOptions.quantized_share,
    sampling: str = PretrainOptions.sampling,
    evaluate_every: int = PretrainOptions.evaluate_every,
    name: str = PretrainOptions.name,
    force: bool = PretrainOptions.force,
    log: Callable[[str], None] | None = None,
) -> Path:
    """Pre-train a word embedding, and write it as safetensors.

    Args:
        words, ..., force: see `PretrainOptions`.
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
    options = PretrainOptions.of(locals())
    files = [Path(words)] if isinstance(words, (str, os.PathLike)) else [Path(file) for file in words]
    out = Path(out)
    require_writable(out, force)
    initial = None if start_from is None else load_embedding(Path(start_from))
    word_list = load_words(files)
    pretrain(
        word_list,
        PretrainSettings.of({**vars(options), "warmup": min(warmup, steps // 10)}),
        out,
        run_dir=out.with_name(out.stem + "-run") if resume is None else Path(resume),
        sets=_metric_sets(files, word_list, seed),
        name=name,
        command=_command(files, options),
        every=Every(evaluate=evaluate_every),
        initial=initial,
        log=log,
    )
    return out


def _metric_sets(files: Sequence[Path], words: WordList, seed: int) -> list[RetrievalSet]:
    """Return what is measured during the run: words of up to seven languages."""
    if Path(WORDFREQ) in files:
        lists = {language: wordfreq_words(language)[0] for language in _METRIC_LANGUAGES}
    else:
        lists = {language: words.rows[first:last] for language, (first, last) in words.languages.items()}
    chosen = itertools.islice(lists.items(), len(_METRIC_LANGUAGES))
    return [retrieval_set(language, rows, seed=seed) for language, rows in chosen]


def _command(files: Sequence[Path], options: PretrainOptions) -> str:
    """Return the command that repeats a run."""
    told = ["retvec-lite pretrain --words", *(file.name for file in files)]
    for name, value in vars(ResultOptions.of(vars(options))).items():
        if not isinstance(value, bool):
            told += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    told += [] if options.learned_clipping else ["--no-learned-clipping"]
    told += [] if options.start_from is None else ["--start-from", Path(options.start_from).name]
    return " ".join(told)


class Every(NamedTuple):
    """Steps between two checkpoints, two lines of the log, and two measurements."""

    checkpoint: int = 1000
    report: int = 100
    evaluate: int = PretrainOptions.evaluate_every


def pretrain(
    words: WordList,
    settings: PretrainSettings,
    out: Path,
    *,
    run_dir: Path,
    sets: Iterable[RetrievalSet] = (),
    name: str = PretrainOptions.name,
    command: str = "",
    every: Every = Every(),  # noqa: B008 - immutable
    stop_at: int | None = None,
    initial: Embedding | None = None,
    log: Callable[[str], None] | None = None,
) -> Path | None:
    """Pre-train an embedding with any settings, or continue a run, and write it as safetensors, in place of a file at `out`.

    A run that is interrupted and continued from `run_dir` ends with the same weights, bit for bit, as one that was not
    (on the same machine and backend): batches are a function of seed and step, all other state is in the checkpoint.

    `run_dir` is made if missing; where it has a checkpoint, `words`, `settings` and `initial` (weights of the same shape to begin with)
    must be those of the checkpoint. `sets` are measured during the run and at the end, and `command` is for the model card.
    `stop_at` leaves after that step with a checkpoint, as if interrupted.

    Returns:
        `out`; None where `stop_at` came first.

    Raises:
        RetvecLiteError: for a checkpoint that belongs to another run or is damaged, initial weights of another shape, or a loss that
            is no longer finite.
    """
    sets = list(sets)
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain_os_error(error, run_dir) from error
    model = build_model(settings)
    if initial is not None:
        model.load(initial)
    belongs_to = origin(settings, words, initial)
    start = read_checkpoint(run_dir, model, belongs_to, settings.steps)
    stop = min(settings.steps, settings.steps if stop_at is None else stop_at)
    run_log = RunLog(run_dir, log, settings, every.report)
    losses = _train(model, words, settings, start, stop)
    for step, loss in enumerate(losses, start + 1):
        run_log.step(step, loss)
        if step % every.checkpoint == 0 or step == stop:
            write_checkpoint(run_dir, model, belongs_to, step)
        if step % every.evaluate == 0 and step != settings.steps:
            run_log.found(step, measure(model.embed_words, sets))
    if stop < settings.steps:
        return None
    weights = _final_weights(model, settings, name)
    found = measure(model.embed_words, sets)
    run_log.found(settings.steps, found)
    atomic_write(out, Embedding(name, weights, _card(settings, words, found, command)).to_bytes())
    return out


def _train(model: WordModel, words: WordList, settings: PretrainSettings, start: int, stop: int) -> Iterable[float]:
    """Take the steps from `start` to `stop`; yield the loss of each.

    Raises:
        RetvecLiteError: for a loss that is no longer finite.
    """
    make = functools.partial(make_chunk, words, settings)
    for step, batch in enumerate(prefetch(make, start, stop), start + 1):
        if step > settings.quantized_from:
            model.quantized.assign(1.0)
        inputs = {"codepoints": batch.codepoints, "keep": batch.keep}
        loss = float(np.asarray(model.train_on_batch(inputs, batch.classes)).ravel()[0])
        if not np.isfinite(loss):
            raise RetvecLiteError(f"The loss is {loss} at step {step}. Start again with a lower learning rate.")
        yield loss


def _final_weights(model: WordModel, settings: PretrainSettings, name: str) -> dict[str, Floats]:
    """Return the weights of the file, on their grid; the model takes them too, so that its figures are those of the file."""
    arrays = model.arrays(snapped=settings.quantized_share > 0)
    weights = {f"embedding/{key}": value for key, value in arrays.items()}
    model.load(Embedding(name, weights, {}))
    model.quantized.assign(0.0)
    return weights


def measure(embed: Callable[[Ints], Floats], sets: Iterable[RetrievalSet]) -> dict[str, float]:
    """Return the share of mistyped words that find their word, by language."""
    return {one.name: one.found(embed) for one in sets}


def _card(settings: PretrainSettings, words: WordList, found: dict[str, float], command: str) -> dict[str, Any]:
    return {
        "data": {
            "source": words.source,
            "words": len(words.rows),
            "languages": len(words.languages),
            "held_out": "2 % of the words of three characters or more, by a stable hash",
        },
        "license": "wordfreq lists: CC BY-SA 4.0; CLDR: Unicode License v3; weights and code: Apache 2.0",
        "steps": settings.steps,
        "settings": settings.to_dict(),
        "metrics": {"right_word_found": {key: round(value, 4) for key, value in found.items()}},
        "quantization": (
            "4 bits, symmetric, one scale per output channel: kernels are on their grid"
            if settings.quantized_share > 0
            else "none: float weights"
        ),
        "command": command,
    }
