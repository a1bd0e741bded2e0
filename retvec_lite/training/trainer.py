"""Training: from labelled texts to a trained model of a network, of n-grams, or of both.

Few texts are cross-validated: every text is predicted by a model that has not seen it, what network and linear part count is
learned from these predictions, and the model that is kept learns from all texts. With many texts, a tenth of them is enough to
decide; the linear part, which is quickly fitted again, then learns from that tenth as well.
"""

import dataclasses
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.contract import BITS, EncoderConfig, Floats
from retvec_lite.data.dataset import Dataset, split
from retvec_lite.data.scores import Evaluation
from retvec_lite.decision import letters_and_digits
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.distribution import Workers
from retvec_lite.model.heads import HEADS, CnnHead, HeadSpec, LinearHead, PoolHead, character_shapes
from retvec_lite.model.network_graph import predictor
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import MOST_BUCKETS
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.checkpoint import Checkpoint, origin
from retvec_lite.training.codebooks import codebooks_in, is_crowded
from retvec_lite.training.ensemble import Ensemble, Plan
from retvec_lite.training.examples import Split, TrainingData, make_examples
from retvec_lite.training.linear_part import KINDS, clean_hashes
from retvec_lite.training.options import FEW, FitSettings, Inputs, TrainOptions, settings_for
from retvec_lite.training.thresholds import decide
from retvec_lite.version import __version__

_FOLDS: Final = 3

_LARGEST_FILE: Final = 950_000
"""Bytes that an int8 file may take: less than 1 MB, so that the int4 file of the head cnn with 150 labels is below 600 kB."""
_AROUND: Final = 150_000
"""Bytes of a file that are neither weights of the network nor n-grams: graphs, tables of the encoder, metadata, labels."""
_FEWEST_BUCKETS: Final = 128
_WORTH_A_NETWORK: Final = 2
"""Codebooks beside the head `cnn` that make it better than `pool` with more of them."""

_SURE: Final = 0.5
"""Probability from which a label that was predicted counts as right."""


class Trained(NamedTuple):
    """A trained model and its validation scores at each share of mistyped words."""

    model: TrainedModel
    validation: Mapping[float, Evaluation]


class Prepared(NamedTuple):
    """Texts to learn from, held-out texts (the same where they are cross-validated), and what to fit to them, mistyped and encoded."""

    training: Dataset
    validation: Dataset
    plan: Plan


def train(
    inputs: Inputs,
    options: TrainOptions,
    *,
    settings: FitSettings | None = None,
    checkpoint: Path | None = None,
    workers: Workers | None = None,
    progress: Progress = silent,
) -> Trained:
    """Train a classifier.

    Options that are None follow the number of texts, see `recommended`; `settings`, for experiments, replace that choice and what the
    options say of it. A long training is kept in the file `checkpoint`; one that is there goes on where it was.

    Raises:
        RetvecLiteError: for data or options that leave nothing to train, a checkpoint of another training without
            `options.force`, or a loss that is no longer finite.
    """
    belongs_to = origin(inputs, options, settings)
    kept = Checkpoint(checkpoint, belongs_to, options.force, workers)
    prepared = prepare(inputs, options, settings, progress)
    ensemble = fit(prepared.plan, kept, progress)
    trained = judge(prepared, ensemble, inputs, options)
    if inputs.unlabelled:
        trained = improve(trained, prepared, ensemble, inputs, options, settings, kept, progress)
    return trained


def prepare(
    inputs: Inputs, options: TrainOptions, fixed: FitSettings | None = None, progress: Progress = silent
) -> Prepared:
    """Divide the texts, choose all that follows from their number, and mistype and encode them.

    Raises:
        RetvecLiteError: for a share that leaves no texts, or the head linear without room for n-grams.
    """
    training, validation, folds = inputs.training, inputs.validation, []
    refit, seed = False, fixed.seed if fixed else options.seed
    if validation is None and len(training) <= FEW:
        validation, folds = training, choose_folds(training, seed)
    elif not isinstance(validation, Dataset):
        # Set aside here, and not by the user: learned from in the end.
        training, validation = split(training, 0.1 if validation is None else validation, seed)
        refit = True
    settings = fixed or settings_for(training, options, inputs.class_weights)
    data = make_examples(
        training,
        validation,
        **settings.typos,
        folds=folds,
        refit=refit,
        word_length=inputs.embedding.word_length if inputs.embedding else EncoderConfig.word_length,
        max_words=None if options.max_words == "auto" else options.max_words,
        progress=progress,
    )
    embedding = inputs.embedding.weights if inputs.embedding else {}
    head, buckets = choose_parts(
        data, options, embedding, settings, lambda: len(np.unique(clean_hashes(data, KINDS[0]).indices))
    )
    plan = Plan(data, head, buckets, embedding, options.fine_tune_embedding, settings)
    return Prepared(training, validation, plan)


def choose_parts(
    data: TrainingData,
    options: TrainOptions,
    embedding: Mapping[str, Floats],
    settings: FitSettings,
    count: Callable[[], int],
) -> tuple[HeadSpec, int]:
    """Return the head, and how many buckets of n-grams there is room for beside it.

    Few texts get the head `pool`, many get `cnn`. Many languages with many labels are better off with `pool` as well: the bytes that it
    saves are worth more as codebooks (docs/benchmarks.md). `count` counts the different n-grams of the texts, which takes time.

    Raises:
        RetvecLiteError: for the head linear without room for n-grams.
    """
    head, classes, multi_label = options.head, len(data.labels), data.scheme.multi_label

    def buckets_beside(head: HeadSpec) -> int:
        return choose_buckets(head, embedding, classes, data.config, settings, options.ngram_kb)

    if head == "auto":
        head = CnnHead.name
        if not multi_label and len(data.clean) <= FEW:
            head = PoolHead.name
        # Where the size of the table is given, a smaller head leaves it no more room.
        elif not multi_label and options.ngram_kb is None:
            buckets = buckets_beside(CnnHead())
            if codebooks_in(buckets, classes) < _WORTH_A_NETWORK and is_crowded(count(), buckets):
                head = PoolHead.name
    spec = HEADS[head]()
    buckets = buckets_beside(spec)
    if isinstance(spec, LinearHead) and not buckets:
        raise RetvecLiteError(
            f"The head linear needs n-grams, and there is no room for {_FEWEST_BUCKETS} buckets of them: choose a larger ngram_kb or "
            "another head."
        )
    return spec, buckets


def choose_buckets(
    head: HeadSpec,
    embedding: Mapping[str, Floats],
    classes: int,
    encoder: EncoderConfig,
    settings: FitSettings,
    ngram_kb: int | None,
) -> int:
    """Return how many buckets of n-grams there is room for beside a head and its embedding; 0 for none.

    Their table takes `ngram_kb` kilobytes (1,000 bytes); None fills an int8 file up to 1 MB.
    """
    if ngram_kb is None:
        inputs = embedding["embedding/dense_2/kernel"].shape[1] if embedding else encoder.word_length * BITS
        shapes = head.shapes(inputs + settings.character_filters, classes, encoder.max_words)
        shapes |= character_shapes(settings.character_filters)
        shapes |= {name: value.shape for name, value in embedding.items()}
        # A byte for each weight of a matrix; vectors and positions are float32.
        network = sum(
            int(np.prod(shape)) * (1 if len(shape) > 1 and name != "head/positions" else 4)
            for name, shape in shapes.items()
        )
        room = _LARGEST_FILE - _AROUND - network
    else:
        room = ngram_kb * 1000
    buckets = min(room // (classes + 1), MOST_BUCKETS)
    return buckets if buckets >= _FEWEST_BUCKETS else 0


def fit(plan: Plan, checkpoint: Checkpoint | None = None, progress: Progress = silent) -> Ensemble:
    """Fit network and linear part, and decide how much each counts."""
    ensemble = Ensemble(plan, progress, checkpoint)
    ensemble.learn()
    return ensemble


def judge(prepared: Prepared, ensemble: Ensemble, inputs: Inputs, options: TrainOptions) -> Trained:
    """Choose when a text has a label, score the answers to held-out texts, and write down the facts of the training."""
    plan, data = prepared.plan, prepared.plan.data
    judged = decide(ensemble.logits, data, options.reject_at, options.unknown_label)
    facts: dict[str, Any] = {
        "created_by": f"retvec-lite {__version__}",
        "data": inputs.training.path.name,
        "training_texts": len(prepared.training),
        "validation_texts": len(prepared.validation),
        "warnings": inputs.warnings,
        "folds": data.folds,
        "multi_label": inputs.training.multi_label,
        "texts_cut_by_max_words": data.share_cut,
        "fine_tuned_embedding": plan.fine_tune,
        "settings": dataclasses.asdict(plan.settings),
        "reject_at": options.reject_at,
        **ensemble.facts,
        **judged.facts(),
    }
    known = inputs.embedding
    about = {"name": known.name, "card": known.card} if known else {"name": "raw", "card": {}}
    model = TrainedModel(
        data.config, plan.head, data.labels, ensemble.weights, about, facts, ensemble.ngrams, judged.decision
    )
    return Trained(model, judged.scores)


def improve(
    trained: Trained,
    prepared: Prepared,
    ensemble: Ensemble,
    inputs: Inputs,
    options: TrainOptions,
    fixed: FitSettings | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress = silent,
) -> Trained:
    """Fit everything again, as `ensemble` decided, to the unlabelled texts as well: those whose label the model is sure of.

    The scores stay those of the classifier that labelled them.
    """
    model, plan = trained.model, prepared.plan
    texts = label_texts(model, inputs.unlabelled, prepared.training)
    settings = fixed or settings_for(texts, options, inputs.class_weights)
    data = make_examples(
        texts,
        prepared.validation,
        **settings.typos,
        refit=plan.data.refit,
        config=plan.data.config,
        progress=progress,
    )
    again = Ensemble(dataclasses.replace(plan, data=data, settings=settings), progress, checkpoint)
    again.learn_as(ensemble)
    facts = {**model.training, "unlabelled_texts": len(texts) - len(prepared.training)}
    decision = dataclasses.replace(
        model.decision, characters=letters_and_digits(texts.texts, model.encoder.contract_version)
    )
    model = dataclasses.replace(model, weights=again.weights, training=facts, decision=decision)
    return Trained(model, trained.validation)


def choose_folds(dataset: Dataset, seed: int) -> list[Split]:
    """Return rows to learn from and rows to be tested on, a similar share of every label in each; every text is tested on once."""
    from sklearn.model_selection import StratifiedKFold

    count = min(_FOLDS, max(Counter(dataset.strata).values()))
    with warnings.catch_warnings():
        # A label with two texts is missing in one fold of three: that fold is not tested on it.
        warnings.simplefilter("ignore", UserWarning)
        splits = StratifiedKFold(count, shuffle=True, random_state=seed).split(dataset.texts, dataset.strata)
        return [(np.asarray(rows), np.asarray(others)) for rows, others in splits]


def label_texts(model: TrainedModel, texts: Sequence[str], training: Dataset) -> Dataset:
    """Return the training texts, and those texts whose label the model is sure of: self-training.

    Yarowsky 1995, https://aclanthology.org/P95-1026.
    """
    probabilities = predictor(model)(texts)
    sure = np.flatnonzero(probabilities.max(axis=1) >= _SURE)
    labels = (model.labels[place] for place in probabilities[sure].argmax(axis=1))
    return Dataset((*training.texts, *(texts[row] for row in sure)), (*training.labels, *labels), training.path)
