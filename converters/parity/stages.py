"""Collecting how far the inner values of an artifact are from the reference, text by text."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite import contract
from retvec_lite.contract import Floats, Ints
from retvec_lite.converters.parity.checks import WORST, Check, Difference, bounded
from retvec_lite.converters.parity.golden import BIT_TEXTS
from retvec_lite.converters.parity.oracle import Oracle, Sample
from retvec_lite.converters.recipes import Recipe
from retvec_lite.errors import RetvecLiteError

STAGES: Final = ("words", "bits", "embedding")
"""Inner tensors of a graph that are compared, by their keys in the metadata; RETVec-raw has no embedding."""

EVERY_BIT_BOUND: Final = 5e-5
"""Largest difference of an embedding value where a word sets bits that no text sets together: with half of 336 bits at random, plain
float32 sums, one addend after another, are up to 2.4e-5 off the exact ones (the released v1 weights: 1.4e-5), whatever the runtime.
Elsewhere the recipe's own bound holds. tests/converters/test_stages.py repeats the measurement with the default embedding."""

_BIT_NAMES: Final = f"golden text '{BIT_TEXTS}"

Answers = Mapping[str, npt.NDArray[Any]]
"""Name of an output -> its values for some texts `[texts, ...]`."""


class Stages:
    """Collects the differences of the inner values of one artifact, text by text."""

    def __init__(self, tensors: Mapping[str, str], exact: Oracle | None, real: frozenset[str]) -> None:
        """Prepare; `Examiner.stages` does so.

        Args:
            tensors: stage -> the name under which the answers hold it.
            exact: the oracle of the float32 weights where the cosine to it is wanted.
            real: names of the texts whose words count for it.
        """
        self.names = list(dict.fromkeys(tensors.values()))
        self._tensors = tensors
        self._exact = exact if "embedding" in tensors else None
        self._real = real
        self._found: dict[str, list[Difference]] = {stage: [] for stage in tensors}
        self._cosines: dict[bytes, float] = {}

    def compare(self, answers: Answers, sample: Sample, oracle: Oracle) -> None:
        """Take all inner values of some texts.

        Args:
            answers: name -> values `[texts, ...]`.
            sample: the texts.
            oracle: the reference under the artifact's own weights.
        """
        self.compare_encoding(answers, sample)
        if "embedding" not in self._tensors:
            return
        for index, (name, words) in enumerate(zip(sample.names, sample.slots, strict=True)):
            found = self._one(answers, "embedding", index, oracle.embeddings(words)[0])
            off = np.abs(found - oracle.nearest(words, found))
            self._found["embedding"].append(Difference(name, float(off.max()), f"at {place(off)}"))
            if self._exact is not None and name in self._real:
                self._compare_direction(found, words, self._exact)

    def compare_encoding(self, answers: Answers, sample: Sample) -> None:
        """Take the words and bits of some texts, and nothing else; arguments as for `compare`."""
        for index, (name, words) in enumerate(zip(sample.names, sample.slots, strict=True)):
            for stage, right in (("words", words), ("bits", contract.bits(words))):
                wrong = self._one(answers, stage, index, right) != right
                self._found[stage].append(Difference(name, float(wrong.sum()), f"first at {place(wrong)}"))

    def _one(self, answers: Answers, stage: str, index: int, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A stage of one text, of the shape and type of `like`."""
        name = self._tensors[stage]
        found: npt.NDArray[Any] = checked(answers, name, (len(answers.get(name, ())), *like.shape), like.dtype.type)[
            index
        ]
        return found

    def _compare_direction(self, found: Floats, words: Ints, oracle: Oracle) -> None:
        """Cosine of each word in use to its embedding under the float32 weights."""
        exact = oracle.embeddings(words)[0].astype(np.float64)
        given = found.astype(np.float64)
        norms = np.linalg.norm(exact, axis=1) * np.linalg.norm(given, axis=1)
        cosines = (exact * given).sum(axis=1) / np.where(norms > 0, norms, 1.0)
        for word, cosine in zip(words, cosines, strict=True):
            if word[0]:
                self._cosines[word.tobytes()] = float(cosine)

    def checks(self, recipe: Recipe) -> list[Check]:
        """One check for each stage, and one for the cosine."""
        checks = []
        for stage, differences in self._found.items():
            if stage != "embedding":
                checks.append(bounded(stage, "computation", differences, 0.0))
                continue
            wide = max(recipe.parity_tolerance, EVERY_BIT_BOUND)
            for name, is_bits, bound in (
                (stage, False, recipe.parity_tolerance),
                (f"{stage} of every bit", True, wide),
            ):
                chosen = [item for item in differences if item.text.startswith(_BIT_NAMES) is is_bits]
                if chosen:
                    checks.append(bounded(name, "computation", chosen, bound))
        if recipe.embedding_cosine is not None and self._cosines:
            mean, least = float(np.mean(list(self._cosines.values()))), min(self._cosines.values())
            lowest = sorted(self._cosines.items(), key=lambda item: item[1])[:WORST]
            worst = tuple(Difference(f"word {_word(key)!r}", cosine) for key, cosine in lowest)
            checks.append(
                Check(
                    "embedding cosine",
                    "cost",
                    mean,
                    recipe.embedding_cosine,
                    True,
                    len(self._cosines),
                    () if mean >= recipe.embedding_cosine else worst,
                    f"least {least:.6f}",
                )
            )
        return checks


def checked(answers: Answers, name: str, shape: tuple[int, ...], dtype: type[np.generic]) -> npt.NDArray[Any]:
    """One of the answers; raises RetvecLiteError when it is missing or of another shape or type."""
    if name not in answers:
        raise RetvecLiteError(f"Expected an output {name!r}, received {', '.join(map(repr, sorted(answers)))}.")
    found = answers[name]
    if found.shape != shape or found.dtype != dtype:
        raise RetvecLiteError(
            f"Expected the tensor {name!r} to be {np.dtype(dtype).name} {list(shape[1:])}, "
            f"received {found.dtype.name} {list(found.shape[1:])}."
        )
    return found


def place(off: npt.NDArray[Any]) -> str:
    """Where the largest value stands, NaN first."""
    return ", ".join(map(str, np.unravel_index(int(off.argmax()), off.shape)))


def _word(key: bytes) -> str:
    return "".join(map(chr, np.trim_zeros(np.frombuffer(key, np.int32), "b")))
