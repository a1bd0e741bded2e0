"""The options of a pre-training: names, defaults, help and limits. Imports nothing heavy, for the command line."""

import dataclasses
import math
import os
from collections.abc import Sequence
from typing import Any, Final

from retvec_lite.option_fields import Limits, Options, choice, integer, number, option

WORDFREQ: Final = "wordfreq"
"""Stands for the lists that come with Python packages, where names of files are asked for."""

_SHARE: Final = number(lambda value: 0 <= value < 1, "at least 0 and less than 1")
_RATE: Final = number(lambda value: 0 < value < math.inf, "a number above 0")
_ROWS: Final = Limits(
    lambda value: isinstance(value, int) and value >= 4 and value % 2 == 0,
    "{name} must be an even number of at least 4, not {value!r}.",
    {"type": int, "metavar": "N"},
)

_NETWORK: Final = ("word_length", "embedding_dim", "learned_clipping", "projection")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResultOptions(Options):
    """What decides the result of a run, together with the words. The defaults are ours (docs/embedding.md)."""

    steps: int = option(100_000, "training steps (default: 100,000)", integer(1))
    batch_size: int = option(
        2048, "rows of a batch, two for each word; of several machines, each draws its own (default: 2,048)", _ROWS
    )
    seed: int = option(0, "seed of everything random (default: 0)", integer(0))
    peak_rate: float = option(1e-3, "highest learning rate (default: 0.001)", _RATE, metavar="R")
    warmup: int = option(1000, "steps of warm-up, a tenth of all steps at most (default: 1,000)", integer(0))
    quantized_share: float = option(
        0.4,
        "last part of the steps, trained with 4-bit weights; 0 for none (default: 0.4)",
        number(lambda value: 0 <= value <= 1, "a share from 0 to 1"),
        metavar="SHARE",
    )
    sampling: str = option(
        "shifts",
        "how often each kind of typo is drawn: all 22 kinds alike, the paper's four categories alike, or shifts of the rest "
        "of the word more often (default: shifts)",
        choice("kinds", "categories", "shifts"),
    )
    learned_clipping: bool = option(
        True,
        "train the steps of the 4-bit grid too, instead of taking them from each output's largest weight (default: on)",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainOptions(ResultOptions):
    """The options of `retvec_lite.pretrain` and of `retvec-lite pretrain`."""

    words: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = option(
        (WORDFREQ,),
        "UTF-8 files, one for each language and named after it: one word a line, or CSV with the columns word and count; "
        "'wordfreq' (default): its 42 languages, and CLDR's words for those it lacks; both may be combined",
        nargs="+",
        metavar="FILE",
    )
    out: str | os.PathLike[str] = option(
        "embedding.safetensors", "the file to write (default: embedding.safetensors)", metavar="FILE"
    )
    resume: str | os.PathLike[str] | None = option(
        None,
        "folder of checkpoints and log: continue there, or begin there (default: beside the file, named after it)",
        metavar="DIR",
    )
    start_from: str | os.PathLike[str] | None = option(
        None, "embedding file whose weights to begin with (default: random ones)", metavar="FILE"
    )
    name: str = option("retvec-lite", "name of the embedding, inside the file (default: retvec-lite)", metavar="NAME")
    evaluate_every: int = option(2500, "steps between two measurements of the words found (default: 2,500)", integer(1))
    force: bool = option(False, "replace an existing file")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainSettings(ResultOptions):
    """All that decides the result of a run: the options, and what only experiments change (`benchmarks/`)."""

    final_rate: float = option(2e-5, "last learning rate, on a cosine from the highest", _RATE)
    muon: bool = option(
        True, "train matrices by Muon, which learns more in the same time, not by Adam, the paper's choice"
    )
    dropout: float = option(1 / 16, "spatial dropout: the share of whole characters hidden from the network", _SHARE)
    random_share: float = option(0.1, "share of random tokens instead of words", _SHARE)
    weight_decay: float = option(
        0.0,
        "of the matrices but the last, decoupled (Loshchilov and Hutter 2019): each step takes this share of the learning rate "
        "off them",
        number(lambda value: 0 <= value < math.inf, "a number of at least 0"),
    )
    word_length: int = option(16, "characters a word", integer(1))
    embedding_dim: int = option(256, "width of all three layers' outputs", integer(1))
    projection: bool = option(
        False,
        "train the similarities of a fourth layer that is dropped afterwards, as the paper does, not the embedding's own",
    )

    @property
    def quantized_from(self) -> int:
        """The first step with 4-bit weights."""
        return self.steps - round(self.steps * self.quantized_share)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step: a linear warm-up, then a cosine."""
        if step < self.warmup:
            return self.peak_rate * step / self.warmup
        progress = min((step - self.warmup) / max(self.steps - self.warmup, 1), 1.0)
        return self.final_rate + (self.peak_rate - self.final_rate) * 0.5 * (1 + math.cos(math.pi * progress))

    def to_dict(self) -> dict[str, Any]:
        """Return all values as files have them: those of the network by themselves."""
        fields = dataclasses.asdict(self)
        network = {name: fields.pop(name) for name in _NETWORK}
        return {**fields, "network": network}
