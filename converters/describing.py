"""What every exported file says about itself, whatever its format."""

from collections.abc import Mapping
from typing import Any, Final

from retvec_lite import __version__
from retvec_lite.converters.tflite.metadata import About
from retvec_lite.converters.tflite.reading import Model
from retvec_lite.model.heads import filters_in
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import CLASSIFY, EMBED, Signature

CREATED_BY: Final = f"retvec-lite {__version__}"


def stage_names(classifier: TrainedModel) -> list[str]:
    """The inner tensors that artifacts name; the bits of RETVec-raw are its embedding."""
    return ["words", "bits", *(["embedding"] if "embedding/dense_0/kernel" in classifier.weights else [])]


def about(classifier: TrainedModel, recipe: str) -> About:
    """The words about a classifier under a recipe."""
    return About(
        name="retvec-lite text classifier",
        description=f"Classifies text into {len(classifier.labels)} labels from its code points alone, typos and all scripts "
        f"included ({classifier.head.name} head, {recipe} weights).",
        version=__version__,
        author=CREATED_BY,
        license="Set by the owner of the training data; the software is under Apache-2.0.",
    )


def details(classifier: TrainedModel, recipe: str, oldest_runtime: Mapping[str, str]) -> dict[str, Any]:
    """What a runtime and `verify` need to know, JSON-ready."""
    return {
        "format": "retvec-lite",
        "contract_version": classifier.encoder.contract_version,
        "encoder": classifier.encoder.to_dict(),
        "labels": list(classifier.labels),
        "head": classifier.head.name,
        "recipe": recipe,
        "embedding": str(classifier.embedding.get("name", "raw")),
        "fine_tuned": bool(classifier.training.get("fine_tuned_embedding", False)),
        "character_filters": filters_in(classifier.weights),
        "oldest_runtime": dict(oldest_runtime),
        "created_by": CREATED_BY,
        "tensors": {stage: stage for stage in stage_names(classifier)},
    }


def signatures_of(model: Model) -> list[Signature]:
    """The signatures of a .tflite as its graphs have them, those that classify before the others, short ones first.

    Raises:
        RetvecLiteError: for a graph without a tensor `words`, or an `embed` without `embeddings`.
    """
    found = []
    for signature in model.signatures:
        graph = model.graphs[signature.graph]
        max_chars = graph.tensors[graph.inputs[0]].shape[-1]
        max_words = graph.tensors[graph.index("words")].shape[1]
        if signature.name == EMBED:
            dimension = graph.tensors[graph.index("embeddings")].shape[-1]
            found.append(Signature(EMBED, EMBED, max_chars, max_words, dimension))
        else:
            found.append(Signature(signature.name, CLASSIFY, max_chars, max_words))
    return sorted(found, key=lambda signature: (signature.kind != CLASSIFY, signature.max_words))
