"""More labels for a network that stays as it is: columns of its last layer, fitted beside those that it has."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from scipy.optimize import minimize

from retvec_lite.contract import Floats, Ints
from retvec_lite.model.grid import FOUR_BITS, snap
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.label_scheme import LabelScheme
from retvec_lite.training.plan import FitSettings
from retvec_lite.training.reading import TextReader
from retvec_lite.training.word_vectors import embed_words

_PENALTY: Final = 1e-3
_STEPS: Final = 60
"""What the squares of the weights cost, and how many steps of L-BFGS are taken, chosen on validation texts."""

LAST: Final = "head/logits"


def fit_columns(
    model: TrainedModel,
    known: Sequence[int],
    reader: TextReader,
    texts: Sequence[str],
    targets: Ints,
    scheme: LabelScheme,
    settings: FitSettings,
    factor: float,
    progress: Progress = silent,
) -> dict[str, Floats]:
    """Return the last layer of a network with columns for new labels.

    Args:
        model: the classifier, with all labels; the columns of new ones are not looked at.
        known: places of the labels that the network knows.
        reader: has read the texts.
        texts: texts of all labels.
        targets: what is right for them, see `LabelScheme.targets`.
        scheme: one label a text, or several.
        settings: those of the training.
        factor: by which its logits count.
        progress: told of "embedding words".
    """
    kernel, bias = model.weights[f"{LAST}/kernel"], model.weights[f"{LAST}/bias"]
    hidden = _pooled(model, reader, texts, settings, progress)
    width, new = kernel.shape[0], np.setdiff1d(np.arange(len(model.labels)), known)
    logits: Any = ((hidden @ kernel + bias) / factor).astype(np.float64)

    def loss(values: Floats) -> tuple[float, Floats]:
        inner = values.reshape(width + 1, len(new))
        logits[:, new] = hidden @ inner[:-1] + inner[-1]
        value, slope = scheme.likelihood(logits, targets)
        of_new = slope[:, new]
        slopes = np.concatenate([hidden.T @ of_new + 2 * _PENALTY * inner[:-1], of_new.sum(axis=0)[None]])
        return value + _PENALTY * float(np.square(inner[:-1]).sum()), slopes.reshape(-1)

    start = np.zeros((width + 1) * len(new))
    solved = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x.reshape(width + 1, -1)
    wider, biases = kernel.copy(), bias.copy()
    wider[:, new], biases[new] = solved[:-1] * factor, solved[-1] * factor
    return {f"{LAST}/kernel": snap(wider, FOUR_BITS), f"{LAST}/bias": biases}


def _pooled(
    model: TrainedModel, reader: TextReader, texts: Sequence[str], settings: FitSettings, progress: Progress
) -> Floats:
    """Return what the last layer reads of each text, float32 `[texts, width]`: the logits of a network whose last layer is the identity."""
    from retvec_lite.training.network import PREDICTION_BATCH, TrainableNetwork

    width = model.weights[f"{LAST}/kernel"].shape[0]
    weights: Mapping[str, Floats] = {
        **{name: value for name, value in model.weights.items() if name.startswith("head/")},
        f"{LAST}/kernel": np.eye(width, dtype=np.float32),
        f"{LAST}/bias": np.zeros(width, np.float32),
    }
    embedding = {name: value for name, value in model.weights.items() if name.startswith("embedding/")}
    vectors = embed_words(reader.words, embedding, progress)
    network = TrainableNetwork(model.head, weights, vectors, np.ones(width, np.float32), lambda step: 0.0, settings)
    return network.logits(reader.word_ids(texts), width, PREDICTION_BATCH)
