"""The format .retvec: what the C engine runs, and how it is compared with the NumPy reference."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from retvec_lite.contract import Floats, bits
from retvec_lite.converters.engine.build import ADDS_ROWS, PROJECTIONS, TABLES, build_file, check_model
from retvec_lite.converters.format import (
    Contents,
    Draft,
    Format,
    OpenArtifact,
    Options,
    details,
    require_origin,
)
from retvec_lite.converters.parity import Difference, RuntimeResult, bounded
from retvec_lite.converters.parity.examiner import MEANING, Examiner, place
from retvec_lite.converters.parity.oracle import EXACT, Match, Oracle, Sample, text_embedding
from retvec_lite.converters.recipes import EngineFacts, Recipe
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import DIMENSION
from retvec_lite.model.heads import NgramHead
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import EMBED, SIGNATURES_KEY, Signature, full_signature, read_artifact
from retvec_lite.runtime.isolated_native import IsolatedNative
from retvec_lite.runtime.library import is_built, library_path
from retvec_lite.runtime.native import NATIVE, load_library
from retvec_lite.runtime.retvec_file import SECTIONS, Layer, check_sum, part_sizes, sections_of
from retvec_lite.version import __version__

_CHUNK: Final = 64
"""Texts whose inner values are held at once."""


class RetvecFile(OpenArtifact):
    """A .retvec that was read."""

    def __init__(self, path: Path) -> None:
        """Read a file; raise RetvecLiteError when it is damaged."""
        self._artifact = read_artifact(path)
        check_sum(self._artifact.model, str(path))
        self._sections = sections_of(self._artifact.model)
        self.metadata = self._artifact.metadata

    def weights(self, classifier: TrainedModel, recipe: Recipe) -> dict[str, Match]:
        require_origin(
            self._artifact.path.name,
            classifier,
            labels=self._artifact.labels,
            encoder=self._artifact.config,
            head=self.metadata.get("head"),
            ngrams=self.metadata.get("ngrams"),
            meaning=self.metadata.get("meaning"),
            decision=self._artifact.decision,
            tensors=self.metadata.get("tensors"),
        )
        try:
            return {name: self._match(name, weights) for name, weights in classifier.weights.items()}
        except (KeyError, ValueError) as error:
            raise RetvecLiteError(f"The file does not hold the classifier's weights: {error}.") from error

    def run(self, examiner: Examiner, recipe: Recipe, oracle: Oracle) -> Iterator[RuntimeResult]:
        """Run it on the engine of this package, in a worker: a file that crashes it is a result."""
        if is_built():
            yield _examine(examiner, IsolatedNative(self._artifact), recipe, oracle)

    def contents(self) -> Contents:
        return Contents(part_sizes(self._artifact.model), [], self._artifact.signatures)

    def _match(self, name: str, reference: Floats) -> Match:
        """Return what the engine computes with in the place of one weight."""
        layer, _, part = name.rpartition("/")
        values: Floats
        found_bits = EXACT
        if layer == "ngrams" and part in ("table", "squares"):
            stored = np.frombuffer(self._sections["ngrams/table"], np.int8).reshape(reference.shape[0], -1)
            scales = np.frombuffer(self._sections["ngrams/scales"], "<f4")
            values = (stored[:, :-1] * scales if part == "table" else stored[:, -1]).astype(np.float32)
        elif name == "ngrams/codes":
            values = np.frombuffer(self._sections[name], np.uint8).astype(np.float32)
        elif name in TABLES:
            values = np.frombuffer(self._sections[name], TABLES[name]).astype(np.float32)
            # One number more or less would pass for rounding.
            if not np.array_equal(values, reference.reshape(-1)):
                raise ValueError(f"{name} has other numbers")
        elif name in PROJECTIONS or (name == "ngrams/bias" and "ngrams/projection" in self._sections):
            dense = Layer.from_bytes(self._sections[name if name in PROJECTIONS else "ngrams/projection"])
            values, found_bits = (dense.bias, EXACT) if part == "bias" else (dense.kernel(), dense.bits)
        elif part in ("kernel", "bias") and layer in SECTIONS:
            dense = Layer.from_bytes(self._sections[layer], layer in ADDS_ROWS)
            values, found_bits = (dense.bias, EXACT) if part == "bias" else (dense.kernel(), dense.bits)
        else:
            values = np.frombuffer(self._sections[name], "<f4").astype(np.float32)
        if values.size != reference.size:
            raise ValueError(f"{name} has {values.size:,} numbers instead of {reference.size:,}")
        return Match(values.reshape(reference.shape), found_bits)


class EngineFormat(Format):
    """The .retvec; what its methods do stands in `Format`."""

    name = "engine"
    suffix = ".retvec"
    runtimes: ClassVar[Mapping[str, str]] = {NATIVE: "the C engine is not built; `retvec-lite --version` says how"}

    def offers(self, classifier: TrainedModel, recipes: Sequence[Recipe]) -> bool:
        try:
            _check_recipes(recipes)
            check_model(classifier)
        except RetvecLiteError:
            return False
        return is_built()

    def check(self, recipes: Sequence[Recipe], options: Options) -> None:
        _check_recipes(recipes)
        self.require_runtime()

    def require_runtime(self) -> None:
        load_library(library_path())

    def skipped(self) -> tuple[str, ...]:
        return () if is_built() else (NATIVE,)

    def facts(self, recipe: Recipe) -> EngineFacts:
        assert recipe.engine is not None
        return recipe.engine

    def open(self, path: Path) -> RetvecFile:
        return RetvecFile(path)

    def make(self, model: TrainedModel, recipes: Sequence[Recipe], options: Options) -> Iterator[Draft]:
        check_model(model)
        oldest = {NATIVE: __version__}
        for recipe in recipes:
            yield Draft(recipe, oldest, functools.partial(_write, model, recipe))


def _check_recipes(recipes: Sequence[Recipe]) -> None:
    for recipe in recipes:
        if recipe.engine is None:
            raise RetvecLiteError(f"The engine has no recipe {recipe.name}: choose int8 or int4.")


def file_metadata(model: TrainedModel, recipe: Recipe, oldest: Mapping[str, str]) -> dict[str, Any]:
    """Return the metadata of a file, JSON-ready."""
    signatures = [full_signature(model.encoder)]
    if not isinstance(model.head, NgramHead):
        config = model.encoder
        kernel = model.weights.get("embedding/dense_2/kernel")
        dimension = config.word_length * 21 if kernel is None else kernel.shape[1]
        sizes = (dimension, None) if model.meaning is None else (dimension + DIMENSION, dimension)
        signatures.append(Signature(EMBED, EMBED, config.max_chars, config.max_words, *sizes))
    return {**details(model, recipe.name, oldest), SIGNATURES_KEY: [signature.to_dict() for signature in signatures]}


def _write(model: TrainedModel, recipe: Recipe, path: Path, oldest: Mapping[str, str]) -> None:
    path.write_bytes(build_file(model, recipe, file_metadata(model, recipe, oldest)))


def _examine(examiner: Examiner, engine: IsolatedNative, recipe: Recipe, oracle: Oracle) -> RuntimeResult:
    """Compare words, embeddings, meaning, text embeddings and answers with the reference under the file's own weights."""
    stages = examiner.stages(recipe)
    texts: list[Difference] = []
    has_words = not isinstance(examiner.classifier.head, NgramHead)
    has_meaning = examiner.classifier.meaning is not None
    for part in examiner.staged.parts(_CHUNK) if has_words or has_meaning else ():
        answers = _inner(engine, part, oracle) if has_words else {}
        if has_meaning:
            answers[MEANING] = engine.meanings_of(part.rows)
        stages.compare(answers, part, oracle)
        if has_words:
            texts += _text_embeddings(engine, part, oracle, has_meaning)
    if has_words:
        stages.compare_encoding(_inner(engine, examiner.edges, oracle), examiner.edges)
    whole = examiner.golden + examiner.real
    table = engine.table_of(whole.rows)
    checks = [*stages.checks(recipe), *examiner.answer_checks(table, oracle, recipe)]
    if texts:
        checks.append(bounded("text", "computation", texts, recipe.parity_tolerance))
    return RuntimeResult(NATIVE, __version__, True, tuple(checks), None, examiner.accuracy_of(table))


def _inner(engine: IsolatedNative, part: Sample, oracle: Oracle) -> dict[str, np.ndarray[Any, Any]]:
    """Return words, bits and embeddings of texts, as the graph's inner tensors. The engine computes none for empty slots."""
    words, embeddings = engine.tables_of_words(part.rows)
    right = np.stack([oracle.embeddings(slots)[0] for slots in words])
    return {
        "words": words,
        "bits": np.stack([bits(slots) for slots in words]),
        "embedding": np.where(words[:, :, :1] != 0, embeddings, right),
    }


def _text_embeddings(engine: IsolatedNative, part: Sample, oracle: Oracle, has_meaning: bool) -> list[Difference]:
    """Return how far the embedding of each text is from the reference's."""
    found = []
    embeddings = engine.embeddings_of(part.rows)
    for name, row, slots, embedding in zip(part.names, part.rows, part.slots, embeddings, strict=True):
        right = oracle.embeddings(slots)[0] * (slots[:, :1] != 0)
        meant = oracle.meaning(row) if has_meaning else None
        off = np.abs(embedding - text_embedding(right, meant))
        found.append(Difference(name, float(off.max()), f"at {place(off)}"))
    return found
