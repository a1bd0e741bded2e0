"""Pre-training of the word embedding (RETVec paper, arXiv:2302.09207), quantization-aware, in two rounds."""

import dataclasses
import functools
import hashlib
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from makers.embedding.batches import make_chunk, prefetch
from makers.embedding.model import FINAL_RATE, WordModel
from makers.embedding.retrieval import RetrievalSet, retrieval_set
from makers.embedding.words import WORDFREQ, WordList, load_words, wordfreq_words
from makers.stage import Stage
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write
from retvec_lite.model.weight_files import Embedding

NAME: Final = "default_embedding.safetensors"

_CHECKPOINT: Final = 1000
_REPORT: Final = 100
_MEASURE: Final = 2500
"""Steps between two checkpoints, two reports, and two measurements of the words found."""
_METRIC_LANGUAGES: Final = ("en", "de", "fi", "ru", "ar", "hi", "ko")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Round:
    """What decides the result of a round, beside the words and the weights it starts from.

    Attributes:
        steps: training steps.
        seed: of everything random.
        batch_size: rows of a batch, two for each word.
        peak_rate: the highest learning rate.
        warmup: steps until it is reached; from there a cosine leads to `FINAL_RATE`.
        quantized_share: last part of the steps, which compute with 4-bit weights.
        learned_clipping: whether the steps of the 4-bit grid are trained, not taken from each output's largest weight.
    """

    steps: int
    seed: int = 0
    batch_size: int = 2048
    peak_rate: float = 1e-3
    warmup: int = 0
    quantized_share: float = 0.4
    learned_clipping: bool = True

    @property
    def quantized_from(self) -> int:
        """The first step with 4-bit weights."""
        return self.steps - round(self.steps * self.quantized_share)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        if step < self.warmup:
            return self.peak_rate * step / self.warmup
        progress = min((step - self.warmup) / max(self.steps - self.warmup, 1), 1.0)
        return FINAL_RATE + (self.peak_rate - FINAL_RATE) * 0.5 * (1 + math.cos(math.pi * progress))


def rounds(steps: int, seed: int, batch_size: int) -> tuple[Round, Round]:
    """Return both rounds: the long one, and a short restart on the plain 4-bit grid, which every quantizer finds."""
    short = max(steps // 10, 1)
    return (
        Round(steps=steps, seed=seed, batch_size=batch_size, warmup=min(1000, steps // 10)),
        Round(
            steps=short,
            seed=seed + 1,
            batch_size=batch_size,
            peak_rate=4e-4,
            warmup=min(200, short // 10),
            quantized_share=1.0,
            learned_clipping=False,
        ),
    )


def make_embedding(
    words: Sequence[Path], out: Path, *, steps: int, seed: int = 0, batch_size: int = 2048, tell: Callable[[str], None]
) -> Path:
    """Pre-train an embedding and write it, or go on where an earlier call was interrupted: to the same bytes on one machine.

    Batches are a function of seed and step; all other state is in the checkpoints.

    Args:
        words: word lists, see `load_words`.
        out: folder of the file and of the checkpoints.
        steps: of the first round; the second has a tenth.
        seed: of the first round.
        batch_size: rows of a batch, an even number.
        tell: receives a line every 100 steps.

    Returns:
        The path of the file written.

    Raises:
        RetvecLiteError: for words that cannot be read, a folder of other settings or words, or a loss that is no longer finite.
    """
    word_list = load_words(words)
    sets = _metric_sets(words, word_list, seed)
    embedding: Embedding | None = None
    found: dict[str, float] = {}
    for number, settings in enumerate(rounds(steps, seed, batch_size), 1):
        tell(f"round {number}: {len(word_list.rows):,} words of {len(word_list.languages)} languages")
        embedding, found = train_round(word_list, settings, out / f"round{number}.npz", embedding, sets, tell)
    assert embedding is not None
    card = _card(word_list, rounds(steps, seed, batch_size), found, words)
    atomic_write(out / NAME, dataclasses.replace(embedding, card=card).to_bytes())
    return out / NAME


def _metric_sets(files: Sequence[Path], words: WordList, seed: int) -> list[RetrievalSet]:
    """Return what is measured during the run: words of up to seven languages."""
    if Path(WORDFREQ) in files:
        lists = {language: wordfreq_words(language)[0] for language in _METRIC_LANGUAGES}
    else:
        lists = {language: words.rows[first:last] for language, (first, last) in words.languages.items()}
    chosen = itertools.islice(lists.items(), len(_METRIC_LANGUAGES))
    return [retrieval_set(language, rows, seed=seed) for language, rows in chosen]


def train_round(
    words: WordList,
    settings: Round,
    checkpoint: Path,
    start: Embedding | None,
    sets: Sequence[RetrievalSet],
    tell: Callable[[str], None],
) -> tuple[Embedding, dict[str, float]]:
    """Return the embedding after a round, its kernels on their grid, and the share of right words that it finds by language.

    Args:
        words: to learn from.
        settings: of the round.
        checkpoint: a file to go on from, or to begin.
        start: weights to begin with; None for random ones.
        sets: what is measured.
        tell: receives lines about the progress.
    """
    model = WordModel(settings)
    if start is not None:
        model.load(start)
    origin = None if start is None else hashlib.sha256(start.to_bytes()).hexdigest()[:16]
    stage = Stage(checkpoint, {**dataclasses.asdict(settings), "words": words.digest, "start": origin})
    report = _Report(settings, tell)
    batches = None
    for number in stage.steps(model, settings.steps, _CHECKPOINT):
        if batches is None:
            batches = prefetch(functools.partial(make_chunk, words, settings), number, settings.steps)
        model.use_grid(number >= settings.quantized_from)
        loss = model.step(next(batches))
        if not math.isfinite(loss):
            raise RetvecLiteError(f"The loss is {loss} at step {number + 1}.")
        report.step(number + 1, loss)
        if (number + 1) % _MEASURE == 0 and number + 1 != settings.steps:
            report.found(number + 1, measure(model, sets))
    weights = {f"embedding/{name}": value for name, value in model.arrays(snapped=True).items()}
    embedding = Embedding("retvec-lite", weights, {})
    # What is measured last are the weights of the file.
    model.load(embedding)
    model.use_grid(False)
    found = measure(model, sets)
    report.found(settings.steps, found)
    return embedding, found


def measure(model: WordModel, sets: Sequence[RetrievalSet]) -> dict[str, float]:
    """Return the share of mistyped words that find their word, by language."""
    return {one.name: one.found(model.embed_words) for one in sets}


class _Report:
    """Lines about the progress."""

    def __init__(self, settings: Round, tell: Callable[[str], None]) -> None:
        self._settings, self._tell = settings, tell
        self._losses: list[float] = []
        self._since = time.perf_counter()

    def step(self, step: int, loss: float) -> None:
        self._losses.append(loss)
        if step % _REPORT and step != self._settings.steps:
            return
        seconds = (time.perf_counter() - self._since) / len(self._losses)
        left = (self._settings.steps - step) * seconds / 60
        self._tell(
            f"step {step}/{self._settings.steps}{' 4-bit' * (step > self._settings.quantized_from)}  loss {np.mean(self._losses):.4f}  "
            f"rate {self._settings.rate(step):.2e}  {1000 * seconds:.1f} ms/step  {left:.0f} min left"
        )
        self._losses, self._since = [], time.perf_counter()

    def found(self, step: int, found: Mapping[str, float]) -> None:
        languages = "  ".join(f"{language} {share:.3f}" for language, share in found.items())
        self._tell(f"step {step}  right word found {np.mean(list(found.values())):.4f}  ({languages})")
        self._since = time.perf_counter()


def _card(
    words: WordList, settings: Sequence[Round], found: Mapping[str, float], files: Sequence[Path]
) -> dict[str, Any]:
    first = settings[0]
    return {
        "data": {
            "source": words.source,
            "words": len(words.rows),
            "languages": len(words.languages),
            "held_out": "2 % of the words of three characters or more, by a stable hash",
        },
        "license": "wordfreq lists: CC BY-SA 4.0; CLDR: Unicode License v3; weights and code: Apache 2.0",
        "steps": sum(each.steps for each in settings),
        "settings": [dataclasses.asdict(each) for each in settings],
        "metrics": {"right_word_found": {name: round(value, 4) for name, value in found.items()}},
        "quantization": "4 bits, symmetric, one scale per output channel: kernels are on their grid",
        "command": (
            f"python -m makers.embedding train --words {' '.join(file.name for file in files)} --steps {first.steps} "
            f"--seed {first.seed} --batch-size {first.batch_size}"
        ),
    }
