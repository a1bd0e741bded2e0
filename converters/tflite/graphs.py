"""What a classifier's .tflite is made of: a TensorFlow function for each signature."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from retvec_lite.converters.describing import stage_names
from retvec_lite.converters.tflite.convert import INPUT, OUTPUT, Entry
from retvec_lite.converters.tflite.fused_lstm import fused_lstm
from retvec_lite.model.network_graph import classify, classify_short, embed
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import CLASSIFY, EMBED, short_signatures

SHORT_OUTPUTS = (OUTPUT, "slots")
EMBED_OUTPUTS = ("words", "embeddings", "text")

Graph = Callable[[tf.Tensor], dict[str, tf.Tensor]]


def entries(classifier: TrainedModel, embeds: bool) -> list[Entry]:
    """The signatures of a classifier's file: `classify` first, then those for short texts, then maybe `embed`."""
    weights = {name: np.asarray(value, np.float32) for name, value in classifier.weights.items()}
    stages = stage_names(classifier)

    def full(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        return _only(classify(codepoints, classifier, weights, fused_lstm), [*stages, OUTPUT])

    def short(max_words: int) -> Graph:
        def graph(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
            found, slots = classify_short(codepoints, classifier, weights, fused_lstm, max_words)
            return {**_only(found, [*stages, OUTPUT]), "slots": slots}

        return graph

    def embedded(codepoints: tf.Tensor) -> dict[str, tf.Tensor]:
        return _only(embed(codepoints, classifier, weights), [*stages, *EMBED_OUTPUTS])

    config = classifier.encoder
    made = [Entry(_traced(full, config.max_chars), CLASSIFY)]
    for signature in short_signatures(config):
        made.append(Entry(_traced(short(signature.max_words), signature.max_chars), signature.name, SHORT_OUTPUTS))
    if embeds:
        made.append(Entry(_traced(embedded, config.max_chars), EMBED, EMBED_OUTPUTS))
    return made


def _traced(graph: Graph, max_chars: int) -> Any:
    spec = tf.TensorSpec([1, max_chars], tf.int32, name=INPUT)
    return tf.function(graph, input_signature=[spec], autograph=False)


def _only(found: Any, names: list[str]) -> dict[str, tf.Tensor]:
    return {name: getattr(found, name) for name in names}
