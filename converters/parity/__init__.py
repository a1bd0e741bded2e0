"""Results: what was measured, the bound, and the worst texts. Never a bare yes or no."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import CLASSIFY
from retvec_lite.terminal import Table

WORST: Final = 3
"""How many of the worst texts are kept."""

REFERENCE_NAME: Final = "reference.safetensors"
"""The file with the float32 weights that the artifacts of a folder are compared with."""

_SHOWN: Final = ("words", "bits", "embedding", "probabilities", "embedding cosine", "same label")
_COLUMNS: Final = ("recipe", "runtime", "words", "bits", "embed.", "output", "cosine", "labels", "result")
"""What the table shows: the checks under shorter names, so that it fits into 80 columns."""


@dataclass(frozen=True)
class Difference:
    """One text (or word or weight) that is off: by how much, and where in it."""

    text: str
    amount: float
    where: str = ""


@dataclass(frozen=True)
class Check:
    """One measured value and its bound.

    Attributes:
        name: what was measured.
        question: `file`: is it the right file? `computation`: does it compute what it says? `cost`: what did rounding cost?
        value: the measured value; NaN when the artifact answered NaN.
        bound: the largest or smallest value allowed.
        at_least: whether `bound` is the smallest.
        texts: number of texts measured (words, for the cosine).
        worst: the worst texts, when the bound is broken.
        note: one more fact in words.
        signature: the signature of the file that was measured.
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

    @property
    def title(self) -> str:
        """What was measured, with the signature where it is not `classify`."""
        return self.name if self.signature == CLASSIFY else f"{self.name} ({self.signature})"

    @property
    def value_text(self) -> str:
        """The value for people."""
        return self._figure(self.value)

    @property
    def bound_text(self) -> str:
        """The bound for people."""
        if self.bound == 0 and not self.at_least:
            return "identical"
        return f"{'>=' if self.at_least else '<='} {self._figure(self.bound)}"

    def complaints(self, place: str) -> list[str]:
        """Return lines about a bound that is broken in a place (file and runtime), with the worst texts; none when it holds."""
        if self.ok:
            return []
        broken = f"{place}: {self.title} is {self.value_text}, must be {self.bound_text}"
        worst = [f"    {item.text}: {item.amount:.3g} {item.where}".rstrip() for item in self.worst]
        return [broken + (". Worst:" if worst else "."), *worst]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; NaN and infinity become null."""
        fields = dataclasses.asdict(self) | {"ok": self.ok}
        fields["value"] = _finite(self.value)
        fields["worst"] = [dataclasses.asdict(item) | {"amount": _finite(item.amount)} for item in self.worst]
        return fields

    def _figure(self, value: float) -> str:
        if self.name == "same label":
            return f"{100 * value:.2f}%"
        if self.name == "embedding cosine":
            return f"{value:.6f}"
        return f"{value:,.0f}" if self.name in ("words", "bits", "size") else f"{value:.1e}"


@dataclass(frozen=True)
class RuntimeResult:
    """One artifact on one runtime.

    Attributes:
        runtime: the distribution.
        version: its version.
        promised: whether the artifact claims to be right on it.
        checks: what was measured; empty after a refusal.
        refusal: why the runtime did not run the artifact; None when it did.
        accuracy: share of real texts with the right label; None without labels.
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
        """Return JSON-ready values."""
        return vars(self) | {
            "ok": self.ok,
            "correct": self.correct,
            "checks": [check.to_dict() for check in self.checks],
        }


@dataclass(frozen=True)
class ArtifactResult:
    """One artifact.

    Attributes:
        file: its name.
        recipe: what its metadata says; None when that could not be read.
        bytes: its size.
        checks: what was measured of the file itself.
        runtimes: what was measured on each runtime.
        problem: why it could not be examined, or not where it promises to run; None otherwise.
    """

    file: str
    recipe: str | None
    bytes: int
    checks: tuple[Check, ...] = ()
    runtimes: tuple[RuntimeResult, ...] = ()
    problem: str | None = None

    @property
    def ok(self) -> bool:
        """Whether every bound holds on every runtime that the artifact promises."""
        are_right = [check.ok for check in self.checks] + [run.ok for run in self.runtimes if run.promised]
        return self.problem is None and all(are_right)

    def complaints(self) -> list[str]:
        """Return lines about everything that is wrong; none when `ok`."""
        lines = [line for check in self.checks for line in check.complaints(self.file)]
        if self.problem is not None:
            lines.append(f"{self.file}: {self.problem}")
        for run in self.runtimes:
            if run.promised:
                place = f"{self.file} on {run.runtime} {run.version}"
                lines += [f"{place}: {run.refusal}"] if run.refusal else []
                lines += [line for check in run.checks for line in check.complaints(place)]
        return lines

    def error_on(self, run: RuntimeResult) -> RetvecLiteError:
        """Return the error for a runtime on which the artifact computes something else than it says."""
        place = f"{self.file} is wrong on {run.runtime} {run.version}"
        if run.refusal is not None:
            return RetvecLiteError(f"{place}: {run.refusal}")
        check = next(check for check in run.checks if check.question == "computation" and not check.ok)
        worst = check.worst[0]
        return RetvecLiteError(
            f"{place}: {check.title} is off by {check.value_text} (bound {check.bound_text}), "
            f"worst {worst.text} {worst.where}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        checks, runtimes = ([item.to_dict() for item in items] for items in (self.checks, self.runtimes))
        return vars(self) | {"ok": self.ok, "checks": checks, "runtimes": runtimes}


class Row(NamedTuple):
    """One line of a verification: a signature of a file on a runtime.

    Attributes:
        file: the artifact's name.
        recipe: its recipe; the file's name when that could not be read.
        runtime: the distribution; empty when nothing ran.
        version: its version.
        signature: the signature.
        checks: what was measured.
        verdict: `ok`, `broken`; on a runtime that the file does not promise: `too old` when it refused the file, else `unstated`.
    """

    file: str
    recipe: str
    runtime: str
    version: str
    signature: str
    checks: tuple[Check, ...]
    verdict: str


def rows_of(artifacts: Sequence[ArtifactResult]) -> tuple[Row, ...]:
    """Return one row for each signature of each file on each runtime."""
    rows = []
    for artifact in artifacts:
        recipe = artifact.recipe or artifact.file
        if not artifact.runtimes:
            rows.append(Row(artifact.file, recipe, "", "", CLASSIFY, artifact.checks, "broken"))
        for run in artifact.runtimes:
            for signature in dict.fromkeys([CLASSIFY, *(check.signature for check in run.checks)]):
                checks = tuple(check for check in run.checks if check.signature == signature)
                verdict = "too old" if run.refusal else "unstated"
                if run.promised:
                    verdict = "ok" if run.refusal is None and all(check.ok for check in checks) else "broken"
                rows.append(Row(artifact.file, recipe, run.runtime, run.version, signature, checks, verdict))
    return tuple(rows)


def results_table(artifacts: Sequence[ArtifactResult]) -> Table:
    """Return the rows as a table for people."""
    lines = []
    for row in rows_of(artifacts):
        values = {check.name: check.value_text if check.value or check.at_least else "same" for check in row.checks}
        title = row.recipe if row.signature == CLASSIFY else f"{row.recipe}\n{row.signature}"
        cells = [values.get(name, "") for name in _SHOWN]
        lines.append((title, f"{row.runtime}\n{row.version}".strip(), *cells, row.verdict))
    return Table("", _COLUMNS, lines)


def bounded(
    name: str, question: Literal["file", "computation"], differences: Sequence[Difference], bound: float
) -> Check:
    """Compare the largest difference with a bound; NaN counts as the largest of all."""
    ordered = sorted(differences, key=lambda item: -math.inf if math.isnan(item.amount) else -item.amount)
    value = ordered[0].amount
    worst = () if value <= bound else tuple(item for item in ordered[:WORST] if not item.amount <= bound)
    return Check(name, question, value, bound, False, len(differences), worst)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
