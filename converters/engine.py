"""The format .retvec: what the C engine runs. It stores the same integers as the int8 .tflite, in 4 bits each where all of a layer fit.

The file is built from a classifier, and compared with the NumPy reference under the weights that it holds.
"""

import functools
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from retvec_lite.contract import Floats, Ints, bits
from retvec_lite.converters.format import Contents, Draft, Format, OpenArtifact, details, require_origin
from retvec_lite.converters.parity import Difference, RuntimeResult, bounded
from retvec_lite.converters.parity.examiner import MEANING, Examiner, place
from retvec_lite.converters.parity.oracle import EXACT, Match, Oracle, Sample
from retvec_lite.converters.recipes import DEFAULT_RECIPE, Recipe, find_recipe
from retvec_lite.data.labels import problem_in_label
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import PROJECTION
from retvec_lite.model.grid import to_grid
from retvec_lite.model.heads import VECTOR, CnnHead, HeadSpec, NgramHead, PoolHead
from retvec_lite.model.weight_files import LAYERS, TrainedModel
from retvec_lite.ngrams import table_integers
from retvec_lite.runtime import NOT_BUILT, is_built, library_path
from retvec_lite.runtime import retvec_file as layout
from retvec_lite.runtime.artifact import SIGNATURES_KEY, Artifact, classify_signature, embed_signature, read_artifact
from retvec_lite.runtime.native import NATIVE, load_library
from retvec_lite.runtime.worker import IsolatedEngine
from retvec_lite.version import __version__

ADDS_ROWS: Final = ("embedding/dense_0",)
"""Layers that read binary digits."""

PROJECTIONS: Final = ("ngrams/projection", PROJECTION)
"""Layers beside the network, whose weights are named like themselves."""

TABLES: Final[Mapping[str, str]] = {
    "meaning/displacements": "u1",
    "meaning/rows": "u1",
    "meaning/codes": "u1",
    "meaning/codebooks": "i1",
}
"""Weights of meaning that are sections of bytes -> the type of a number. Texts' vectors have length 1, so codebooks need no scale."""


_CHUNK: Final = 64
"""Texts whose inner values are held at once."""


class RetvecFile(OpenArtifact):
    """A .retvec that was read."""

    def __init__(self, path: Path) -> None:
        """Read a file; raise RetvecLiteError when it is damaged."""
        self._artifact = read_artifact(path)
        layout.check_sum(self._artifact.model, str(path))
        self._sections = layout.sections_of(self._artifact.model)
        self.metadata = self._artifact.metadata

    def weights(self, classifier: TrainedModel, recipe: Recipe) -> dict[str, Match]:
        require_origin(self._artifact.path.name, classifier, self._artifact.labels, self.metadata)
        try:
            return {name: self._match(name, weights) for name, weights in classifier.weights.items()}
        except (KeyError, ValueError) as error:
            raise RetvecLiteError(f"The file does not hold the classifier's weights: {error}.") from error

    def run(self, examiner: Examiner, recipe: Recipe, oracle: Oracle) -> Iterator[RuntimeResult]:
        """Run it on the engine of this package, in a worker: a file that crashes it is a result."""
        if is_built():
            yield _examine(examiner, IsolatedEngine(self._artifact, 1, NATIVE), recipe, oracle)

    def contents(self) -> Contents:
        return Contents(layout.part_sizes(self._artifact.model), [], self._artifact.signatures)

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
            dense = layout.Layer.from_bytes(self._sections[name if name in PROJECTIONS else "ngrams/projection"])
            values, found_bits = (dense.bias, EXACT) if part == "bias" else (dense.kernel(), dense.bits)
        elif part in ("kernel", "bias") and layer in layout.SECTIONS:
            dense = layout.Layer.from_bytes(self._sections[layer], layer in ADDS_ROWS)
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
            self.check(recipes)
            check_model(classifier)
        except RetvecLiteError:
            return False
        return bool(recipes)

    def require_runtime(self) -> None:
        load_library(library_path())

    def skipped(self) -> tuple[str, ...]:
        return () if is_built() else (NATIVE,)

    def open(self, path: Path) -> RetvecFile:
        return RetvecFile(path)

    def make(self, model: TrainedModel, recipes: Sequence[Recipe], embed: bool = False) -> Iterator[Draft]:
        check_model(model)
        oldest = {NATIVE: __version__}
        for recipe in recipes:
            yield Draft(recipe, oldest, functools.partial(_write, model, recipe))


def file_metadata(model: TrainedModel, recipe: Recipe, oldest: Mapping[str, str]) -> dict[str, Any]:
    """Return the metadata of a file, JSON-ready."""
    signatures = [classify_signature(model.encoder)]
    if not isinstance(model.head, NgramHead):
        signatures.append(embed_signature(model.encoder, model.text_dimension, model.word_dimension))
    return {**details(model, recipe.name, oldest), SIGNATURES_KEY: [signature.to_dict() for signature in signatures]}


def in_memory(model: TrainedModel) -> Artifact:
    """Return what `read_artifact` would of the `.retvec` that the default recipe makes of a classifier.

    Raises:
        RetvecLiteError: where the engine is not built, or cannot compute the classifier.
        FloatingPointError: for weights that are too large to be rounded.
    """
    if not is_built():
        raise RetvecLiteError(NOT_BUILT)
    check_model(model)
    metadata = file_metadata(model, find_recipe(DEFAULT_RECIPE), {NATIVE: __version__})
    with np.errstate(
        over="raise", invalid="raise"
    ):  # an export is run before it is kept; nothing else would notice here
        content = build_file(model, metadata)
    return Artifact(Path("classifier"), content, model.labels, model.encoder, metadata)


def _write(model: TrainedModel, recipe: Recipe, path: Path, oldest: Mapping[str, str]) -> None:
    path.write_bytes(build_file(model, file_metadata(model, recipe, oldest)))


def _examine(examiner: Examiner, engine: IsolatedEngine, recipe: Recipe, oracle: Oracle) -> RuntimeResult:
    """Compare words, embeddings, meaning, text embeddings and answers with the reference under the file's own weights."""
    stages = examiner.stages(recipe)
    texts: list[Difference] = []
    has_words = not isinstance(examiner.classifier.head, NgramHead)
    has_meaning = examiner.classifier.meaning is not None
    for part in examiner.staged.parts(_CHUNK) if has_words or has_meaning else ():
        answers = _inner(engine, part, oracle) if has_words else {}
        if has_meaning:
            answers[MEANING] = engine.meanings(part.rows)
        stages.compare(answers, part, oracle)
        if has_words:
            texts += _text_embeddings(engine, part, oracle)
    if has_words:
        stages.compare_encoding(_encoding(engine.words(examiner.edges.rows)[0]), examiner.edges)
    whole = examiner.golden + examiner.real
    table = engine.probabilities(whole.rows)
    checks = [*stages.checks(recipe), *examiner.answer_checks(table, oracle, recipe)]
    if texts:
        checks.append(bounded("text", "computation", texts, recipe.parity_tolerance))
    return RuntimeResult(NATIVE, __version__, True, tuple(checks), None, examiner.accuracy_of(table))


def _inner(engine: IsolatedEngine, part: Sample, oracle: Oracle) -> dict[str, np.ndarray[Any, Any]]:
    """Return words, bits and embeddings of texts, as the graph's inner tensors. The engine computes none for empty slots."""
    words, embeddings = engine.words(part.rows)
    right = np.stack([oracle.embeddings(slots)[0] for slots in words])
    return {**_encoding(words), "embedding": np.where(words[:, :, :1] != 0, embeddings, right)}


def _encoding(words: Ints) -> dict[str, np.ndarray[Any, Any]]:
    """Return words and bits, which the engine adds up without writing them down."""
    return {"words": words, "bits": np.stack([bits(slots) for slots in words])}


def _text_embeddings(engine: IsolatedEngine, part: Sample, oracle: Oracle) -> list[Difference]:
    """Return how far the embedding of each text is from the reference's."""
    found = []
    embeddings = engine.embeddings(part.rows)
    for name, row, slots, embedding in zip(part.names, part.rows, part.slots, embeddings, strict=True):
        right = oracle.embeddings(slots)[0] * (slots[:, :1] != 0)
        off = oracle.off_embedding(row, slots, right, embedding)
        found.append(Difference(name, float(off.max()), f"at {place(off)}"))
    return found


# --- building ---------------------------------------------------------------------------------------------------------


def check_model(model: TrainedModel) -> None:
    """Raise RetvecLiteError for a classifier that the engine cannot compute."""
    for label in model.labels:
        if problem := problem_in_label(label):
            raise RetvecLiteError(f"The label {label!r} {problem}. Rename it.")


def build_file(model: TrainedModel, metadata: Mapping[str, Any]) -> bytes:
    """Return the file of a classifier that `check_model` passed; the same bytes each time."""
    numbers = layout.decision_numbers(model.decision)
    sections = {
        "settings": struct.pack(f"<{len(layout.SETTINGS)}I", *(_settings(model)[name] for name in layout.SETTINGS)),
        "labels": layout.labels_section(model.labels),
        "numbers": numbers.pop("numbers"),
        "characters_known": layout.ranges_of(model.decision.characters),
        **numbers,
    }
    sections |= {name: _layer(model.weights, name).to_bytes() for name in layer_names(model)}
    for block in range(_blocks(model.head)):
        name = f"head/block_{block}/depthwise"
        sections[name] = model.weights[name].astype("<f4").tobytes()
    if model.ngrams is not None:
        sections |= _ngrams(model.weights)
    if model.meaning is not None:
        sections |= {name: model.weights[name].astype(kind).tobytes() for name, kind in TABLES.items()}
    text = json.dumps(metadata, ensure_ascii=False, sort_keys=True)
    sections["metadata"] = text.encode()
    return layout.to_file(sections)


def layer_names(model: TrainedModel) -> list[str]:
    """Return the dense layers of a classifier, as sections are named."""
    kernels = [name.removesuffix("/kernel") for name in model.weights if name.endswith("/kernel")]
    order = [*(f"embedding/{layer}" for layer in LAYERS), "head/word", "head/region"]
    blocks = sorted(name for name in kernels if name.startswith("head/block_"))
    found = [name for name in (*order, *blocks, VECTOR, "head/logits") if name in kernels]
    return [*found, *(name for name in PROJECTIONS if name in model.weights)]


def _layer(weights: Mapping[str, Floats], name: str) -> layout.Layer:
    is_beside = name in PROJECTIONS
    kernel = weights[name if is_beside else f"{name}/kernel"]
    if is_beside:
        bias = weights["ngrams/bias"] if name != PROJECTION else np.zeros(kernel.shape[1], np.float32)
    else:
        bias = weights[f"{name}/bias"]
    integers, scales = to_grid(np.ascontiguousarray(kernel.T), 8, 0)
    adds_rows = name in ADDS_ROWS
    return layout.Layer(np.ascontiguousarray(integers.T) if adds_rows else integers, scales, bias, adds_rows)


def _settings(model: TrainedModel) -> dict[str, int]:
    decision, ngrams, weights, head = model.decision, model.ngrams, model.weights, model.head
    blocks = _blocks(head)
    found = layout.settings_of(model.encoder) | {
        "labels": len(model.labels),
        # `pool` with blocks is a `cnn` without a region: engines that know no blocks in `pool` refuse it instead of leaving them out.
        "head": layout.HEADS.index(CnnHead.name if blocks else head.name),
        "blocks": blocks,
        "region": head.fixed.get("region", 0),
        "has_embedding": int("embedding/dense_0/kernel" in weights),
        "character_window": 0,
    }
    return found | layout.decision_settings(decision, model.labels) | layout.ngram_settings(ngrams)


def _blocks(head: HeadSpec) -> int:
    return head.blocks if isinstance(head, PoolHead | CnnHead) else 0


def _ngrams(weights: Mapping[str, Floats]) -> dict[str, bytes]:
    table, squares = weights["ngrams/table"], weights["ngrams/squares"]
    has_rank = "ngrams/projection" in weights
    integers, scales = (
        (np.rint(table).astype(np.int8), np.ones(table.shape[1], np.float32)) if has_rank else table_integers(table)
    )
    found = {
        "ngrams/table": np.concatenate([integers, np.rint(squares).astype(np.int8)[:, None]], axis=1).tobytes(),
        "ngrams/scales": scales.astype("<f4").tobytes(),
    }
    if "ngrams/codes" in weights:
        found["ngrams/codes"] = weights["ngrams/codes"].astype(np.uint8).tobytes()
    if not has_rank:
        found["ngrams/bias"] = weights["ngrams/bias"].astype("<f4").tobytes()
    return found
