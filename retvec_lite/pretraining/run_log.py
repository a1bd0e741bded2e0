"""The log of a pre-training: lines for people, and the same facts in a JSON-lines file."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from retvec_lite.pretraining.settings import PretrainSettings


class RunLog:
    """Lines for people, and the same facts in a JSON-lines file."""

    def __init__(self, path: Path, tell: Callable[[str], None] | None, settings: PretrainSettings, every: int) -> None:
        self._path, self._tell, self._settings, self._every = path, tell, settings, every
        self._losses: list[float] = []
        self._since = time.perf_counter()

    def step(self, step: int, loss: float) -> None:
        """Note the loss of a step; write a line where one is due."""
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
        """Write the share of right words found, by language."""
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
