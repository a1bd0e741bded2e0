"""The settings of a pre-training."""

import dataclasses
import math
from dataclasses import dataclass

from retvec_lite.errors import RetvecLiteError
from retvec_lite.pretraining.batches import SAMPLING
from retvec_lite.pretraining.model import NetworkSettings, Schedule


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
        sampling: how often each kind of typo is drawn, a name of `SAMPLING`.
        decomposed_share: share of rows in decomposed form (NFD), before they are mistyped.
        weight_decay: of the matrices but the last, a share of the learning rate; 0 for none.
        quantized_share: the last part of the steps, trained with 4-bit weights; 0 for a float model.
        network: shape and grid.
        shares: how many equal shares words and batches are cut into; workers of a cluster hold as many shares each.

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
    sampling: str = "shifts"
    decomposed_share: float = 0.0
    weight_decay: float = 0.0
    quantized_share: float = 0.4
    network: NetworkSettings = dataclasses.field(default_factory=NetworkSettings)
    shares: int = 1

    def __post_init__(self) -> None:
        """Refuse values that cannot be trained with."""
        if self.steps < 1:
            raise RetvecLiteError(f"steps must be at least 1, not {self.steps}.")
        if self.batch_size < 4 or self.batch_size % 2:
            raise RetvecLiteError(f"batch_size must be an even number of at least 4, not {self.batch_size}.")
        if self.shares < 1 or self.batch_size % (2 * self.shares) or self.batch_size < 4 * self.shares:
            raise RetvecLiteError(
                f"batch_size must be a multiple of {2 * max(self.shares, 1)} for {self.shares} shares, and at least twice that, "
                f"not {self.batch_size}."
            )
        for name in ("seed", "warmup"):
            if getattr(self, name) < 0:
                raise RetvecLiteError(f"{name} must be at least 0, not {getattr(self, name)}.")
        for name in ("peak_rate", "final_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise RetvecLiteError(f"{name} must be a number above 0, not {getattr(self, name)}.")
        if self.sampling not in SAMPLING:
            raise RetvecLiteError(f"Unknown sampling {self.sampling!r}: choose from {', '.join(SAMPLING)}.")
        if not 0 <= self.weight_decay < math.inf:
            raise RetvecLiteError(f"weight_decay must be a number of at least 0, not {self.weight_decay}.")
        for name in ("dropout", "random_share", "decomposed_share"):
            if not 0 <= getattr(self, name) < 1:
                raise RetvecLiteError(f"{name} must be at least 0 and less than 1, not {getattr(self, name)}.")
        if not 0 <= self.quantized_share <= 1:
            raise RetvecLiteError(f"quantized_share must be a share from 0 to 1, not {self.quantized_share}.")

    @property
    def schedule(self) -> Schedule:
        """Learning rate and optimizer."""
        return Schedule(self.steps, self.warmup, self.peak_rate, self.final_rate, self.muon, self.weight_decay)

    @property
    def quantized_from(self) -> int:
        """The first step with 4-bit weights."""
        return self.steps - round(self.steps * self.quantized_share)
