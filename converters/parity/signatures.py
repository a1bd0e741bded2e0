"""Holding the other signatures of a file against the reference and against its `classify` (see `parity.py`).

A signature for short texts must cut the same words out of a text as `classify`, count its slots, and answer the same; `embed`
must give the reference's words and embeddings. Both are run on the same texts as `classify`, where they take them.
"""

import dataclasses
from collections.abc import Iterator
from typing import Final

import numpy as np

from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.converters.parity.checks import Check, Difference, bounded
from retvec_lite.converters.parity.golden import edge_sample
from retvec_lite.converters.parity.oracle import Oracle, Sample, text_embedding
from retvec_lite.converters.parity.stages import Answers, Stages, checked, place
from retvec_lite.converters.recipes import Recipe
from retvec_lite.converters.tflite.editing import promote_outputs
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import CLASSIFY, EMBED, Signature
from retvec_lite.runtime.interpreters import Job

SAME: Final = 1e-5
"""How far a short signature may be from `classify` where both compute in float32. The sums of fewer slots end on other last
digits; where activations are rounded to 8 bits such a digit may move one of them by a step, and the recipe's bound holds."""


class SignatureExam:
    """The examination of one signature of one artifact on one runtime: jobs first, then the answers to each in turn."""

    def __init__(self, signature: Signature, stages: Stages, texts: Sample, config: EncoderConfig, chunk: int) -> None:
        """Choose the texts.

        Args:
            signature: not `classify` itself.
            stages: a fresh collector for it.
            texts: those on which `classify` is compared stage by stage.
            config: the contract of the file.
            chunk: word slots whose stages are held at once.
        """
        self.signature = signature
        self._stages = stages
        lengths = (texts.rows != 0) * np.arange(1, texts.rows.shape[1] + 1)
        chosen = np.flatnonzero(lengths.max(axis=1) <= signature.max_chars)
        self._texts = _cut(texts.chosen(chosen), signature)
        self._whole = texts.chosen(chosen).slots
        self._places = chosen
        narrow = dataclasses.replace(config, max_chars=signature.max_chars, max_words=signature.max_words)
        self._edges = edge_sample(narrow)
        self._chunk = max(1, chunk // signature.max_words)
        self._found: dict[str, list[Difference]] = {}

    def jobs(self, model: bytes) -> Iterator[Job]:
        """What is to be run; `take` wants the answers in this order."""
        promoted = promote_outputs(model, self._stages.names, self.signature.name)
        for part in (*self._texts.parts(self._chunk), self._edges):
            yield Job(promoted, part.rows, self.signature.name)

    def take(self, answered: Iterator[Answers], classifier: TrainedModel, table: Floats, oracle: Oracle) -> None:
        """Compare the answers.

        Args:
            answered: the answers to `jobs`; no more is taken from it.
            classifier: for its labels.
            table: what `classify` answered to the texts that were given, float32 `[texts, classes]`; more may follow.
            oracle: the reference under the artifact's own weights.
        """
        start = 0
        for part in self._texts.parts(self._chunk):
            answers = next(answered)
            self._stages.compare(answers, part, oracle)
            if self.signature.kind == EMBED:
                self._compare_embeddings(answers, part, oracle)
            else:
                self._compare_answers(answers, part, start, classifier, table, oracle)
            start += len(part)
        self._stages.compare_encoding(next(answered), self._edges)

    def checks(self, recipe: Recipe) -> list[Check]:
        """One for each thing compared."""
        same = recipe.parity_tolerance if recipe.dynamic else SAME
        bounds = {"slots": 0.0, f"as {CLASSIFY}": same}
        found = self._stages.checks(recipe)
        for name, differences in self._found.items():
            found.append(bounded(name, "computation", differences, bounds.get(name, recipe.parity_tolerance)))
        return [dataclasses.replace(check, signature=self.signature.name) for check in found]

    def _compare_answers(
        self, answers: Answers, part: Sample, start: int, classifier: TrainedModel, table: Floats, oracle: Oracle
    ) -> None:
        """Slots of all texts; probabilities of those that fit, against the reference and `classify`."""
        counts = checked(answers, "slots", (len(part),), np.int32)
        rows = checked(answers, "probabilities", (len(part), len(classifier.labels)), np.float32)
        for index, name in enumerate(part.names):
            whole = self._whole[start + index]
            # More than there is room for is all that the count must tell then.
            asked = min(int(np.count_nonzero(whole[:, 0])), self.signature.max_words + 1)
            found = int(counts[index])
            self._note("slots", name, float(abs(found - asked)), f"{found} instead of {asked}")
            if asked > self.signature.max_words:
                continue
            right = np.abs(oracle.probabilities(whole) - rows[index])
            right = right[right.max(axis=1).argmin()]
            self._note("probabilities", name, float(right.max()), f"label {classifier.labels[int(right.argmax())]!r}")
            off = np.abs(table[self._places[start + index]] - rows[index])
            self._note(f"as {CLASSIFY}", name, float(off.max()), f"label {classifier.labels[int(off.argmax())]!r}")

    def _compare_embeddings(self, answers: Answers, part: Sample, oracle: Oracle) -> None:
        """The outputs of `embed`; the stage `embedding`, empty slots included, is compared like that of `classify`."""
        words, dimension = self.signature.max_words, self.signature.dimension or 0
        rows = checked(answers, "embeddings", (len(part), words, dimension), np.float32)
        texts = checked(answers, "text", (len(part), dimension), np.float32)
        for name, slots, found, text in zip(part.names, part.slots, rows, texts, strict=True):
            used = slots[:, :1] != 0
            right = oracle.nearest(slots, np.where(used, found, oracle.embeddings(slots)[0])) * used
            off = np.abs(found - right)
            self._note("embeddings", name, float(off.max()), f"at {place(off)}")
            off = np.abs(text - text_embedding(right))
            self._note("text", name, float(off.max()), f"at {place(off)}")

    def _note(self, check: str, text: str, amount: float, where: str) -> None:
        self._found.setdefault(check, []).append(Difference(text, amount, where))


def _cut(texts: Sample, signature: Signature) -> Sample:
    """Texts as a signature with fewer code points and slots sees them."""
    return Sample(texts.names, texts.rows[:, : signature.max_chars], texts.slots[:, : signature.max_words])
