"""Training: from labelled texts to a trained model of a network, of n-grams, or of both.

Few texts are cross-validated: every text is predicted by a model that has not seen it, what network and linear part count is
learned from these predictions, and the model that is kept learns from all texts. With many texts, a tenth of them is enough to
decide; the linear part, which is quickly fitted again, then learns from that tenth as well.
"""

import contextlib
import dataclasses
import functools
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.contract import EncoderConfig
from retvec_lite.data.dataset import Dataset, split
from retvec_lite.data.scores import Evaluation
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.file_sizes import describe_sizes, estimate_bytes
from retvec_lite.model.meaning_file import MeaningFile, packaged_requests
from retvec_lite.model.pretrained_head import PretrainedHead, packaged_head
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.budget import choose_meaning_kb, choose_parts, network_shapes, planned_decision, with_ngrams
from retvec_lite.training.ensemble import Ensemble, Plan
from retvec_lite.training.examples import Split, TrainingData, make_examples
from retvec_lite.training.linear_features import count_distinct, count_hashes
from retvec_lite.training.linear_part import KINDS
from retvec_lite.training.meaning_part import MeaningPart, choose_language, make_part, other_languages
from retvec_lite.training.request import Request
from retvec_lite.training.settings import FEW, FitSettings, settings_for
from retvec_lite.training.thresholds import decide
from retvec_lite.training.translation import Translation
from retvec_lite.version import __version__

_FOLDS: Final = 3

_TOLD_BY_ONE_TABLE: Final = 2
"""Labels up to which few texts read the usual table of meaning alone (docs/meaning.md)."""


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
    request: Request,
    *,
    settings: FitSettings | None = None,
    progress: Progress = silent,
) -> Trained:
    """Train a classifier.

    Options that are None follow the number of texts, see `recommended`; `settings`, for experiments, replace that choice and what the
    options say of it.

    Raises:
        RetvecLiteError: for data or options that leave nothing to train, or a loss that is no longer finite.
    """
    prepared = prepare(request, settings, progress)
    ensemble = Ensemble(prepared.plan, progress)
    ensemble.learn()
    return judge(prepared, ensemble, request)


def prepare(request: Request, fixed: FitSettings | None = None, progress: Progress = silent) -> Prepared:
    """Divide the texts, choose all that follows from their number, and mistype and encode them.

    Raises:
        RetvecLiteError: for a share that leaves no texts, or a file that would be larger than `request.max_kb`.
    """
    training, validation, folds = request.training, request.validation, []
    refit, seed = False, fixed.seed if fixed else request.seed
    if validation is None and len(training) <= FEW:
        validation, folds = training, choose_folds(training, seed)
    elif not isinstance(validation, Dataset):
        # Set aside here, and not by the user: learned from in the end.
        training, validation = split(training, 0.1 if validation is None else validation, seed)
        refit = True
    settings = fixed or settings_for(training, request)
    source, facts = choose_language(request.meanings, training.texts, request)
    others = other_languages(source, request.languages)
    translation = Translation(source, others) if source and others else None
    data = make_examples(
        training,
        validation,
        **settings.typos,
        translation=translation,
        folds=folds,
        refit=refit,
        word_length=request.embedding.word_length if request.embedding else EncoderConfig.word_length,
        progress=progress,
    )
    language = _Language(source, others, facts)
    plan = _plan(request, data, settings, language)
    network = network_shapes(
        plan.head,
        plan.embedding,
        len(data.labels),
        data.config,
        plan.meaning.config if plan.meaning else None,
    )
    shapes = with_ngrams(network, plan.buckets, len(data.labels))
    sizes = estimate_bytes(shapes, data.config, data.labels, planned_decision(data))
    progress(describe_sizes(sizes), 0, 0)
    return Prepared(training, validation, plan)


class _Language(NamedTuple):
    """What the words of the texts mean, those of other languages that the file shall carry, and what the report says of the choice."""

    source: MeaningFile | None
    others: Sequence[MeaningFile]
    facts: Mapping[str, Any]


def _plan(request: Request, data: TrainingData, settings: FitSettings, language: _Language) -> Plan:
    """Choose the parts. What words mean gives way where it leaves no room for n-grams, beside which it is read."""
    embedding = request.embedding.weights if request.embedding else {}
    meaning, facts = None, dict(language.facts)
    pretrained = _pretrained_head(request, data, language)

    @functools.cache
    def count() -> int:
        return count_distinct(count_hashes(data, [data.clean], KINDS[0])[0])

    if language.source:
        requests = _requests(language.source, request, data) if pretrained else None
        head = pretrained.head if pretrained else None
        kilobytes = choose_meaning_kb(data, request, embedding, count, len(language.others), head)
        meaning, more = make_part(language.source, data, kilobytes, language.others, settings.seed, requests)
        facts |= more

    def plan(meaning: MeaningPart | None) -> Plan:
        head, buckets = choose_parts(
            data,
            request,
            embedding,
            count,
            meaning.config if meaning else None,
            pretrained.head if pretrained and meaning else None,
        )
        known = pretrained if pretrained and meaning and pretrained.head == head else None
        return Plan(data, head, buckets, embedding, settings, meaning, facts, known)

    if meaning:
        with contextlib.suppress(RetvecLiteError):
            found = plan(meaning)
            if found.buckets:
                return found
        facts = {**facts, "left_out": "the file has no room for it"}
    return plan(None)


def _requests(source: MeaningFile, request: Request, data: TrainingData) -> MeaningFile | None:
    """Return what words mean in requests, which helps except with two labels: there the usual table alone tells spam better."""
    is_read = request.meaning == "auto" and len(data.labels) > _TOLD_BY_ONE_TABLE
    return packaged_requests(source.language) if is_read else None


def _pretrained_head(request: Request, data: TrainingData, language: _Language) -> PretrainedHead | None:
    """Return the pre-trained head of the language of few texts, with one label each, unless another network is asked for."""
    few = len(data.clean) <= FEW and not (data.scheme.multi_label or data.is_translated)
    usual = request.head == "auto" and request.epochs is None
    found = packaged_head(language.source.language) if few and usual and language.source else None
    return found if found and request.embedding and found.embedding == request.embedding.digest else None


def judge(prepared: Prepared, ensemble: Ensemble, request: Request) -> Trained:
    """Choose when a text has a label, score the answers to held-out texts, and write down the facts of the training."""
    plan, data, texts = prepared.plan, prepared.plan.data, prepared.training.texts
    judged = decide(ensemble.logits, data, request.reject_at, request.unknown_label)
    facts: dict[str, Any] = {
        "created_by": f"retvec-lite {__version__}",
        "data": request.training.path.name,
        "training_texts": len(prepared.training),
        "validation_texts": len(prepared.validation),
        "warnings": request.warnings,
        "folds": data.folds,
        "multi_label": request.training.multi_label,
        "texts_cut_by_max_words": data.share_cut,
        "texts_in_windows": sum(len(text) > data.config.max_chars for text in texts) / len(texts),
        "settings": dataclasses.asdict(plan.settings),
        "reject_at": request.reject_at,
        "max_kb": request.max_kb,
        "estimated_bytes": estimate_bytes(
            {name: value.shape for name, value in ensemble.weights.items()},
            data.config,
            data.labels,
            judged.decision,
        ),
        **ensemble.facts,
        **judged.facts(),
    }
    known = request.embedding
    about = {"name": known.name, "card": known.card} if known else {"name": "raw", "card": {}}
    model = TrainedModel(
        data.config,
        plan.head,
        data.labels,
        ensemble.weights,
        about,
        facts,
        ensemble.ngrams,
        judged.decision,
        ensemble.meaning,
    )
    return Trained(model, judged.scores)


def choose_folds(dataset: Dataset, seed: int) -> list[Split]:
    """Return rows to learn from and rows to be tested on, a similar share of every label in each; every text is tested on once."""
    from sklearn.model_selection import StratifiedKFold

    count = min(_FOLDS, max(Counter(dataset.strata).values()))
    with warnings.catch_warnings():
        # A label with two texts is missing in one fold of three: that fold is not tested on it.
        warnings.simplefilter("ignore", UserWarning)
        splits = StratifiedKFold(count, shuffle=True, random_state=seed).split(dataset.texts, dataset.strata)
        return [(np.asarray(rows), np.asarray(others)) for rows, others in splits]
