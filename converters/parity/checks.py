"""What was measured, and the bound it was held to: figures that can name the worst texts, never a bare yes or no."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from retvec_lite.runtime.artifact import CLASSIFY

WORST: Final = 3
"""How many of the worst texts are kept."""

_RUNTIMES_BY_AGE: Final = ("tflite-runtime", "ai-edge-litert")
"""ai-edge-litert 1.0 continued tflite-runtime, which ended with 2.14."""


@dataclass(frozen=True)
class Difference:
    """One text (or word) that is off: by how much, and where in it."""

    text: str
    amount: float
    where: str = ""


@dataclass(frozen=True)
class Check:
    """One measured figure and the bound it is held to.

    Attributes:
        name: what was measured.
        question: `file`: is it the right file; `computation`: does it compute what it says; `cost`: what rounding cost.
        value: the figure; NaN when the artifact answered NaN.
        bound: the most it may be, or the least.
        at_least: whether `bound` is the least.
        texts: over how many texts (or words, for the cosine).
        worst: the worst texts, when the bound is broken.
        note: one more figure in words.
        signature: of the file, that it was measured on.
    """

    name: str
    question: Literal["file", "computation", "cost"]
    value: float
    bound: float
    at_least: bool = False
    texts: int = 0
    worst: tuple[Difference, ...] = ()
    note: str = ""
    signature: str = CLASSIFY

    @property
    def ok(self) -> bool:
        """Whether the bound holds; never with NaN."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values; a figure that is not finite becomes null."""
        fields = dataclasses.asdict(self) | {"ok": self.ok}
        fields["value"] = _finite(self.value)
        fields["worst"] = [dataclasses.asdict(item) | {"amount": _finite(item.amount)} for item in self.worst]
        return fields


@dataclass(frozen=True)
class RuntimeResult:
    """One artifact on one runtime.

    Attributes:
        runtime: the distribution.
        version: its version.
        promised: whether the artifact claims to be right on it.
        checks: what was measured; empty after a refusal.
        refusal: the sentence, when the runtime did not run the artifact.
        accuracy: share of real texts whose label is right; None without labels.
    """

    runtime: str
    version: str
    promised: bool
    checks: tuple[Check, ...]
    refusal: str | None = None
    accuracy: float | None = None

    @property
    def correct(self) -> bool:
        """Whether it computes what it says."""
        return self.refusal is None and all(check.ok for check in self.checks if check.question == "computation")

    @property
    def ok(self) -> bool:
        """Whether every bound holds."""
        return self.refusal is None and all(check.ok for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"ok": self.ok, "correct": self.correct, "checks": [check.to_dict() for check in self.checks]}


def promises(oldest: Any, runtime: str, version: str) -> bool:
    """Whether a metadata entry `oldest_runtime` ({distribution: version} "or newer") covers a runtime."""
    if not isinstance(oldest, Mapping) or len(oldest) != 1:
        return True
    name, since = next(iter(oldest.items()))
    return age(runtime, version) >= age(str(name), str(since))


def age(runtime: str, version: str) -> tuple[int, tuple[int, ...]]:
    """Sorts runtimes from the oldest to the newest."""
    place = _RUNTIMES_BY_AGE.index(runtime) if runtime in _RUNTIMES_BY_AGE else len(_RUNTIMES_BY_AGE)
    numbers = tuple(int("".join(filter(str.isdigit, part)) or 0) for part in version.split("."))
    return place, numbers


def bounded(
    name: str, question: Literal["file", "computation"], differences: Sequence[Difference], bound: float
) -> Check:
    """The largest difference against a bound; NaN counts as the largest of all."""
    ordered = sorted(differences, key=lambda item: -math.inf if math.isnan(item.amount) else -item.amount)
    value = ordered[0].amount
    worst = () if value <= bound else tuple(item for item in ordered[:WORST] if not item.amount <= bound)
    return Check(name, question, value, bound, False, len(differences), worst)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
