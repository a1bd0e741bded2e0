"""Small classifiers of every head, and one graph of the operators that no head uses yet: weights and NumPy references."""

import dataclasses

import numpy as np

from retvec_lite.contract import EncoderConfig, bits, codepoints, words
from retvec_lite.model.heads import CnnHead, HeadSpec, LinearHead, NgramHead, PoolHead, ngram_shapes
from retvec_lite.model.reference_network import embed, probabilities
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import NgramConfig, ngram_logits

CONFIG = EncoderConfig(max_chars=96, max_words=12)
LONG = EncoderConfig(max_chars=160, max_words=20)

LABELS = ("one", "two", "three", "four", "five")
HEADS: dict[str, HeadSpec] = {
    "pool": PoolHead(hidden=64),
    "vector": PoolHead(hidden=64, blocks=1, vector=8),
    "blocks": PoolHead(hidden=64, blocks=2),
    "cnn": CnnHead(hidden=72, filters=64, blocks=2),
    "raw": LinearHead(),
    "ngrams": NgramHead(),
}
NGRAMS = {
    "pool": NgramConfig(buckets=300),
    "raw": NgramConfig(buckets=512, longest=6, shortest=3, codebooks=2),
    "ngrams": NgramConfig(buckets=768, longest=5, codebooks=3, rank=6),
}
RANKED = NgramConfig(buckets=300, longest=5, rank=4, plain_letters=True)
TEXTS = (
    "where is my parcle?",
    "",
    "Ünïcödé 😀 𐏿 and a verylongwordthatmustbewrapped",
    "我的包裹在哪里 สวัสดีชาวโลก \u2068zero\u200bwidth",
    "a b c d e f g h i j k l m n o p",
)
CONV_CHARS, CONV_WIDTH = 32, 32


def classifier(name: str, config: EncoderConfig = CONFIG, width: int = 64) -> TrainedModel:
    """`pool`, `vector`, `blocks`, `cnn`; `raw`: linear, without an embedding; `ngrams`; `<head>-snapped`: kernels on a 4-bit grid.

    `pool`, `raw` and `ngrams` have n-grams; `width` is that of the embedding.
    """
    head_name, _, variant = name.partition("-")
    head, ngrams = HEADS[head_name], NGRAMS.get(head_name)
    config = dataclasses.replace(config, max_words=1) if head_name == "ngrams" else config
    dimension = config.word_length * 21 if head_name == "raw" else width
    shapes = dict(head.shapes(dimension, len(LABELS), config.max_words))
    if head_name not in ("raw", "ngrams"):
        for layer, inputs in enumerate((config.word_length * 21, width, width)):
            shapes[f"embedding/dense_{layer}/kernel"] = (inputs, width)
            shapes[f"embedding/dense_{layer}/bias"] = (width,)
    rng = np.random.default_rng(7)
    weights = {}
    for weight, shape in sorted(shapes.items()):
        values = rng.normal(0, 1.5 / np.sqrt(shape[0]) if len(shape) > 1 else 0.1, shape)
        # Nothing depends on the bias of attention's keys, so training leaves it smaller than half precision has digits for.
        values *= 1e-5 if weight.endswith("/key/bias") else 1
        weights[weight] = (values + weight.endswith("/gain")).astype(np.float32)
        if variant == "snapped" and weight.endswith("kernel"):
            weights[weight] = snapped(weights[weight])
    if ngrams is not None:
        weights |= ngram_weights(ngrams, len(LABELS))
    return TrainedModel(config, head, LABELS, weights, {"kind": "dense"}, {}, ngrams)


def ngrams_alone() -> TrainedModel:
    """One that reads no words, with a rank."""
    model = classifier("ngrams")
    return dataclasses.replace(
        model, weights=ngram_weights(RANKED, len(LABELS)), ngrams=RANKED, embedding={"name": "none"}
    )


def ngram_weights(config: NgramConfig, classes: int) -> dict[str, np.ndarray]:
    """Weights on their grid: squares of 0 to 127, scales of ten binary digits with 127 of them in every column."""
    rng = np.random.default_rng(8)
    shapes = ngram_shapes(config, classes)
    integers = rng.integers(-127, 128, shapes["ngrams/table"])
    columns = shapes["ngrams/table"][1]
    integers[rng.integers(config.buckets, size=columns), np.arange(columns)] = 127
    scales = np.ones(columns) if config.rank else rng.integers(512, 1024, columns) / 2**17
    codes = (
        {"ngrams/codes": rng.integers(0, 256, shapes["ngrams/codes"]).astype(np.float32)} if config.codebooks else {}
    )
    if config.rank:
        codes["ngrams/projection"] = rng.normal(0, 1 / 128, shapes["ngrams/projection"]).astype(np.float32)
    return {
        **codes,
        "ngrams/table": (integers * scales).astype(np.float32),
        "ngrams/squares": rng.integers(0, 128, shapes["ngrams/squares"]).astype(np.float32),
        "ngrams/bias": rng.normal(0, 0.1, shapes["ngrams/bias"]).astype(np.float32),
    }


def snapped(kernel: np.ndarray) -> np.ndarray:
    """Every column on a grid of fifteen values, its largest on +-7, as training for int4 leaves it."""
    step = (np.abs(kernel).max(axis=0) / np.float32(7)).astype(np.float32)
    return np.rint(kernel / step).astype(np.float32) * step


def inputs(config: EncoderConfig = CONFIG) -> np.ndarray:
    """Code points of all texts and of two hostile inputs, int32 `[texts, 1, max_chars]`."""
    hostile = np.zeros((2, config.max_chars), np.int32)
    hostile[0, :6] = [-1, 2**31 - 1, -(2**31), 0xD800, 0x10FFFF, 0x110000]
    hostile[1] = np.arange(0x20000, 0x20000 + config.max_chars)
    return np.concatenate([[codepoints(text, config.max_chars) for text in TEXTS], hostile])[:, None]


def reference(spec: TrainedModel, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every stage of `inputs()` by the NumPy oracle, each `[texts, 1, ...]`."""
    found: dict[str, list[np.ndarray]] = {"words": [], "bits": [], "embedding": [], "probabilities": []}
    for values in inputs():
        slots = words(values[0], spec.encoder)
        found["words"].append(slots)
        found["bits"].append(bits(slots))
        found["embedding"].append(embed(bits(slots), weights))
        ngrams = None if spec.ngrams is None else ngram_logits(values[0], spec.encoder, spec.ngrams, weights)
        found["probabilities"].append(probabilities(slots, spec.head, weights, ngrams))
    return {name: np.stack(values)[:, None] for name, values in found.items()}


@dataclasses.dataclass(frozen=True)
class ConvWeights:
    """Of the graph with CONV_2D, DEPTHWISE_CONV_2D and a large constant addend."""

    dense: np.ndarray
    positions: np.ndarray
    conv: np.ndarray
    depthwise: np.ndarray
    logits: np.ndarray


def conv_weights() -> ConvWeights:
    rng = np.random.default_rng(11)

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.3, shape).astype(np.float32)

    width = CONV_WIDTH
    return ConvWeights(
        draw(21, width), draw(1, CONV_CHARS, width), draw(3, width, width), draw(3, width), draw(width, 5)
    )


def conv_inputs() -> np.ndarray:
    return np.random.default_rng(3).integers(0, 0x10FFFF, (4, 1, CONV_CHARS), dtype=np.int32)


def conv_reference(weights: ConvWeights) -> np.ndarray:
    """Probabilities of `conv_inputs()`, `[inputs, 1, 5]`."""
    digits = (conv_inputs()[..., None] >> np.arange(20, -1, -1) & 1).astype(np.float64)
    hidden = np.maximum(digits @ weights.dense, 0) + weights.positions
    padded = np.pad(hidden, ((0, 0), (0, 0), (1, 1), (0, 0)))
    hidden = np.maximum(sum(padded[:, :, k : k + CONV_CHARS] @ weights.conv[k] for k in range(3)), 0)
    padded = np.pad(hidden, ((0, 0), (0, 0), (1, 1), (0, 0)))
    hidden = sum(padded[:, :, k : k + CONV_CHARS] * weights.depthwise[k] for k in range(3))
    logits = hidden.max(axis=2) @ weights.logits
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
