"""Training, from labelled texts to a trained model, told in order.

Few texts are cross-validated: every text is predicted by a model that has not seen it, what network and linear part count is
learned from these predictions, and the model that is kept learns from all texts. With many texts, a tenth of them is enough to
decide; the linear part, which is quickly fitted again, then learns from that tenth as well.
"""

import contextlib
import dataclasses
import functools
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from retvec_lite.contract import EncoderConfig
from retvec_lite.data.dataset import Dataset, split
from retvec_lite.data.scores import Evaluation
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.file_sizes import describe_sizes, estimate_bytes
from retvec_lite.model.meaning_file import packaged_requests
from retvec_lite.model.pretrained_head import packaged_head
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.budget import Budget, choose_meaning_kb, choose_parts
from retvec_lite.training.examples import Split, make_examples
from retvec_lite.training.linear_features import count_distinct, count_hashes
from retvec_lite.training.linear_part import KINDS
from retvec_lite.training.meaning_part import MeaningPart, choose_language, make_part, other_languages
from retvec_lite.training.plan import FEW, FitSettings, Plan, settings_for
from retvec_lite.training.request import Request
from retvec_lite.training.stacking import fit_parts
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


def train(request: Request, *, settings: FitSettings | None = None, progress: Progress = silent) -> Trained:
    """Train a classifier.

    Options that are None follow the number of texts, see `recommended`; `settings`, for experiments, replace that choice and what the
    options say of it.

    Raises:
        RetvecLiteError: for data or options that leave nothing to train, a file that would be larger than `request.max_kb`, or a loss that
            is no longer finite.
    """
    plan = make_plan(request, settings, progress)
    data = plan.data
    stack = fit_parts(plan, progress)
    judged = decide(stack.logits, data, request.reject_at, request.unknown_label)
    shapes = {name: value.shape for name, value in stack.weights.items()}
    facts: dict[str, Any] = {
        "created_by": f"retvec-lite {__version__}",
        "data": request.training.path.name,
        "training_texts": len(data.clean),
        "validation_texts": len(data.held_out.truth),
        "warnings": request.warnings,
        "folds": data.folds,
        "multi_label": request.training.multi_label,
        "texts_cut_by_max_words": data.share_cut,
        "texts_in_windows": sum(len(text) > data.config.max_chars for text in data.clean) / len(data.clean),
        "settings": dataclasses.asdict(plan.settings),
        "reject_at": request.reject_at,
        "max_kb": request.max_kb,
        "estimated_bytes": estimate_bytes(shapes, data.config, data.labels, judged.decision),
        **stack.facts,
        **judged.facts(),
    }
    known = request.embedding
    model = TrainedModel(
        encoder=data.config,
        head=plan.head,
        labels=data.labels,
        weights=stack.weights,
        embedding={"name": known.name, "card": known.card} if known else {"name": "raw", "card": {}},
        training=facts,
        ngrams=stack.linear.config if stack.linear else None,
        decision=judged.decision,
        meaning=plan.meaning.config if plan.meaning and stack.reads_meaning else None,
    )
    return Trained(model, judged.scores)


def make_plan(request: Request, fixed: FitSettings | None = None, progress: Progress = silent) -> Plan:
    """Divide the texts, write copies of them, read them all, and choose all that follows; arguments and errors as of `train`."""
    # Which texts are learned from, and which are held out.
    training, validation, folds, refit = request.training, request.validation, [], False
    seed = fixed.seed if fixed else request.seed
    if validation is None and len(training) <= FEW:
        validation, folds = training, choose_folds(training, seed)
    elif not isinstance(validation, Dataset):
        # Set aside here, and not by the user: learned from in the end.
        training, validation = split(training, 0.1 if validation is None else validation, seed)
        refit = True

    # Their language, copies of them, mistyped, disguised and translated, and all of them read by the engine.
    settings = fixed or settings_for(training, request)
    source, facts = choose_language(request.meanings, training.texts, request)
    others = other_languages(source, request.languages)
    embedding = request.embedding.weights if request.embedding else {}
    data = make_examples(
        training,
        validation,
        **settings.typos,
        translation=Translation(source, others) if source and others else None,
        folds=folds,
        refit=refit,
        word_length=request.embedding.word_length if request.embedding else EncoderConfig.word_length,
        progress=progress,
    )

    # The pre-trained head of the language, for few texts with one label each, unless another network is asked for.
    few = len(data.clean) <= FEW and not (data.scheme.multi_label or data.is_translated)
    usual = request.head == "auto" and request.epochs is None
    pretrained = packaged_head(source.language) if few and usual and source else None
    if pretrained and not (request.embedding and pretrained.embedding == request.embedding.digest):
        pretrained = None

    # Words whose meaning the file has room for. Requests help except with two labels: there the usual table alone tells spam better.
    budget = Budget.of(request, data)
    count = functools.cache(lambda: count_distinct(count_hashes(data, [data.clean], KINDS[0])[0]))
    meaning: MeaningPart | None = None
    spec = pretrained.head if pretrained else None
    if source:
        reads_requests = pretrained and request.meaning == "auto" and len(data.labels) > _TOLD_BY_ONE_TABLE
        requests = packaged_requests(source.language) if reads_requests else None
        kilobytes = choose_meaning_kb(budget, data, request.head, count, len(others), spec)
        meaning, more = make_part(source, data, kilobytes, others, settings.seed, requests)
        facts = {**facts, **more}

    # The head, and n-grams in what is left. What words mean is read beside n-grams, and gives way where it leaves them no room.
    head, buckets = None, 0
    if meaning:
        with contextlib.suppress(RetvecLiteError):
            head, buckets = choose_parts(budget, data, request.head, count, meaning.config, spec)
        if not buckets:
            meaning, facts = None, {**facts, "left_out": "the file has no room for it"}
    if head is None or not buckets:
        pretrained = None
        head, buckets = choose_parts(budget, data, request.head, count)
    if pretrained and (meaning is None or pretrained.head != head):
        pretrained = None
    shapes = budget.shapes(head, meaning.config if meaning else None, buckets)
    progress(describe_sizes(estimate_bytes(shapes, data.config, data.labels, budget.decision)), 0, 0)
    return Plan(data, head, buckets, embedding, settings, meaning, facts, pretrained)


def choose_folds(dataset: Dataset, seed: int) -> list[Split]:
    """Return rows to learn from and rows to be tested on, a similar share of every label in each; every text is tested on once."""
    from sklearn.model_selection import StratifiedKFold

    count = min(_FOLDS, max(Counter(dataset.strata).values()))
    with warnings.catch_warnings():
        # A label with two texts is missing in one fold of three: that fold is not tested on it.
        warnings.simplefilter("ignore", UserWarning)
        splits = StratifiedKFold(count, shuffle=True, random_state=seed).split(dataset.texts, dataset.strata)
        return [(np.asarray(rows), np.asarray(others)) for rows, others in splits]
