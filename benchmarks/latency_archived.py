"""The archived project's .tflite, rebuilt, and fastText: the other side of `latency.py --archived PYTHON`.

    PYTHON benchmarks/latency_archived.py FOLDER --labels N --slots 64,128 [--weights v1.npz] [--train train.csv --size BYTES]

Needs a separate environment with tensorflow-text (and fasttext-wheel), because TensorFlow Text brings custom operators:

    python -m venv archived && archived/bin/pip install tensorflow-text fasttext-wheel "numpy<2"

The graph is what google-research/retvec exports for TFLite: TensorFlow Text's whitespace tokenizer, its op `utf8_binarize`
with 16 characters of 24 bits, three dense layers of 256, and then the same `pool` head as ours. Weights are random unless
the released ones are given: time does not depend on them. TensorFlow converts it as its users would: float32 without
options, int8-dynamic with `Optimize.DEFAULT`.
"""

import argparse
import csv
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np

BITS: Final = 24
WIDTH: Final = 16


def released_weights(file: Path | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return kernel and bias of the three dense layers, in order."""
    if file is None:
        rng = np.random.default_rng(0)
        sizes = [(WIDTH * BITS, 256), (256, 256), (256, 256)]
        return [(rng.normal(0, 0.05, size).astype(np.float32), np.zeros(size[1], np.float32)) for size in sizes]
    with np.load(file) as stored:
        arrays = [stored[name].astype(np.float32) for name in sorted(stored.files)]
    kernels = [array for array in arrays if array.ndim == 2 and array.shape[1] == 256][:3]
    kernels.sort(key=lambda array: array.shape[0] != WIDTH * BITS)
    biases = [array for array in arrays if array.shape == (256,)][:3]
    if [kernel.shape[0] for kernel in kernels] != [WIDTH * BITS, 256, 256] or len(biases) != 3:
        raise SystemExit(f"{file} does not hold three dense layers 384 -> 256 -> 256 -> 256.")
    return list(zip(kernels, biases, strict=True))


def build_graph(folder: Path, labels: int, slots: int, weights: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Write `archived-SLOTS-float32.tflite` and `archived-SLOTS-int8-dynamic.tflite`: one string [1] -> probabilities."""
    import tensorflow as tf
    import tensorflow_text as tf_text

    rng = np.random.default_rng(0)
    hidden, logits = (rng.normal(0, 0.05, size).astype(np.float32) for size in ((256, 256), (512, labels)))
    tokenizer = tf_text.WhitespaceTokenizer()

    def dense(values: Any, kernel: np.ndarray, bias: np.ndarray | None = None) -> Any:
        product = tf.matmul(tf.reshape(values, [-1, kernel.shape[0]]), kernel)
        product = product if bias is None else tf.nn.bias_add(product, bias)
        return tf.reshape(product, [-1, slots, kernel.shape[1]])

    def classify(text: Any) -> dict[str, Any]:
        tokens = tokenizer.tokenize(text)
        # The operator that pads ragged tensors only takes numbers, so bits come before slots.
        bits = tf_text.utf8_binarize(tokens.flat_values, word_length=WIDTH, bits_per_char=BITS, replacement_char=65533)
        bits = tokens.with_flat_values(bits).to_tensor(default_value=0.0, shape=[1, slots, WIDTH * BITS])
        used = tf.reduce_max(bits[:, :, :BITS], axis=-1, keepdims=True)
        values = bits
        for layer, (kernel, bias) in enumerate(weights):
            values = dense(values, kernel, bias)
            values = tf.tanh(values) if layer == 2 else tf.nn.gelu(values, approximate=False)
        values = tf.nn.gelu(dense(values * used, hidden), approximate=False) * used
        count = tf.reduce_sum(used, axis=1)
        mean = tf.reduce_sum(values, axis=1) / tf.maximum(count, 1.0)
        highest = tf.reduce_max(values + (used - 1.0) * 1e4, axis=1) * tf.minimum(count, 1.0)
        return {"probabilities": tf.nn.softmax(tf.matmul(tf.concat([mean, highest], axis=-1), logits))}

    function = tf.function(classify, input_signature=[tf.TensorSpec([1], tf.string, name="text")], autograph=False)
    module = tf.Module()
    module.classify = function.get_concrete_function()
    with tempfile.TemporaryDirectory() as saved:
        tf.saved_model.save(module, saved, signatures={"classify": module.classify})
        for recipe, optimizations in (("float32", []), ("int8-dynamic", [tf.lite.Optimize.DEFAULT])):
            converter = tf.lite.TFLiteConverter.from_saved_model(saved, signature_keys=["classify"])
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
            converter.allow_custom_ops = True
            converter.optimizations = optimizations
            (folder / f"archived-{slots}-{recipe}.tflite").write_bytes(converter.convert())


def train_fasttext(folder: Path, train: Path, size: int) -> None:
    """Write `fasttext.ftz`: words and character 2- to 4-grams of our starter data, quantized and pruned to `size` bytes."""
    import fasttext

    made = folder / "fasttext.ftz"
    with train.open(encoding="utf-8", newline="") as file, tempfile.TemporaryDirectory() as work:
        lines, whole = Path(work) / "train.txt", Path(work) / "whole.bin"
        texts = [
            f"__label__{row['label'].replace(' ', '_')} {' '.join(row['text'].split())}" for row in csv.DictReader(file)
        ]
        lines.write_text("\n".join(texts) + "\n", encoding="utf-8")
        options = {"minn": 2, "maxn": 4, "dim": 50, "bucket": 50_000, "epoch": 5, "lr": 0.5, "thread": 1, "verbose": 0}
        fasttext.train_supervised(str(lines), **options).save_model(str(whole))
        # The number of n-grams decides the size. Pruning is final, so each try starts from the whole model.
        for cutoff in (20_000, 14_000, 10_000, 7_000, 5_000, 3_500):
            model = fasttext.load_model(str(whole))
            model.quantize(cutoff=cutoff, qnorm=True)
            model.save_model(str(made))
            if made.stat().st_size <= size:
                return
    raise SystemExit(f"The smallest fastText model has {made.stat().st_size} bytes, more than --size {size}.")


def main() -> None:
    """Build the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labels", type=int, required=True)
    parser.add_argument("--slots", required=True, help="slots of the graphs, comma-separated")
    parser.add_argument("--weights", type=Path, help="the released v1 weights as .npz")
    parser.add_argument("--train", type=Path, help="a CSV with text and label for fastText")
    parser.add_argument("--size", type=int, default=350_000, help="most bytes of fastText's file (default: 350,000)")
    args = parser.parse_args()
    weights = released_weights(args.weights)
    for slots in map(int, args.slots.split(",")):
        build_graph(args.folder, args.labels, slots, weights)
    if args.train:
        train_fasttext(args.folder, args.train, args.size)


if __name__ == "__main__":
    main()
