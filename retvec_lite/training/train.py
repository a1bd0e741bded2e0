"""Training, from labelled texts to a trained model, told in order.

What becomes of a text on the way, and where:

    bytes, lines, cells, a row that counts     request.py asks data/dataset.py, which asks data/rows.py (cells; empty rows go), and that data/lines.py
    str, learned from or held out              divide, here: copies of a text together (data/copies.py, which request.py asks first)
    the language, of 200 texts; names of labels languages.py; described.py: of many texts, no names of labels that have one
    variants: mistyped, disguised, translated  examples.py, with data/typos.py, data/disguises.py, languages.py; of few texts, none below 1,000
    how many words and letters are read        choose_sizes in examples.py, which reads the texts a first time, up to 4,096 code points
    normal form, by the C engine; words as ids reading.py
    what a file has room for                   choose_parts_of_file, here, by budget.py; where texts are few or labels many, n-grams are counted for it
    words that have a meaning                  meaning_reader.py, asked by choose_parts_of_file, chooses them; meaning_table.py builds their table
    n-grams; word vectors, a sentence vector   linear_features.py; sentences.py
    logits of each part                        linear_part.py (solved by linear_model.py): the texts and a variant or two; network_part.py, network.py: all variants
    logits of the classifier                   stacking.py
    a label, several, or none                  thresholds.py, by the rules of data/rejection.py
    weights, facts, report                     trained.py fills a hidden folder, whose entries files.py moves to their places in the end
    the text itself                            trained.py writes it there, to texts.jsonl, unless keep="nothing"

Few texts are read by a linear part alone, with the usual penalty unless the firm one is clearly better. Few labelled texts are cross-validated,
however many others a teacher labels: every text is predicted by a model that has not seen it, which says how sure answers are, and the model that
is kept learns from all texts. Of many labelled texts, a tenth is held out, to decide what network and linear part count. The linear part is fitted
twice: without that tenth, which it then answers, and to all texts, which is kept. Of the longest texts, one in a hundred, training reads the beginning; windows are for answers alone.

Held-out texts are `HeldOutTexts` when they are set aside, `HeldOutExamples` when they are read, `HeldOutLogits` when a part answers them, and
`HeldOutAnswers` when the classifier does.
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
from retvec_lite.data.copies import count_copies, split_rows, undivided
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.outcome import Outcome
from retvec_lite.data.suspects import HeldOutAnswers
from retvec_lite.data.typos import Way
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.facts import data_hash, today, versions
from retvec_lite.model.file_sizes import describe_sizes, estimate_bytes
from retvec_lite.model.heads import LinearHead
from retvec_lite.model.meaning_file import MeaningFile
from retvec_lite.model.sentence_network import SentenceNetwork, packaged_sentences
from retvec_lite.model.weight_files import TrainedModel, load_default_embedding
from retvec_lite.ngrams import PRIME
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.baseline import plain_svm
from retvec_lite.training.budget import Budget, choose_meaning_kb, choose_parts
from retvec_lite.training.described import Origin, background_texts, describe, with_related
from retvec_lite.training.examples import Rows, Split, TrainingData, make_examples
from retvec_lite.training.languages import (
    Language,
    Translation,
    choose_language,
    choose_pieces,
    common_words,
    language_shares,
    other_languages,
)
from retvec_lite.training.linear_features import count_distinct, count_hashes, usual_kind
from retvec_lite.training.linear_part import LinearPart
from retvec_lite.training.meaning_reader import make_reader
from retvec_lite.training.plan import LINEAR, FitSettings, Plan, settings_for
from retvec_lite.training.request import Request, are_few
from retvec_lite.training.sentence_encoders import ITSELF
from retvec_lite.training.stacking import fit_parts, mix_held_out
from retvec_lite.training.teacher import Encoders, make_teacher
from retvec_lite.training.thresholds import decide
from retvec_lite.version import CREATED_BY

_FOLDS: Final = 3
_SENTENCE_VECTOR: Final = 64
"""Numbers of a sentence vector in a classifier: as many as of what its words mean."""
_OF_SENTENCES: Final = "en"
"""The language of the sentence network."""


class Trained(NamedTuple):
    """A trained model, and what was answered to held-out texts by fits that had not seen them."""

    model: TrainedModel
    held_out: HeldOutAnswers


def fit_classifier(request: Request, *, settings: FitSettings | None = None, progress: Progress = silent) -> Trained:
    """Train a classifier.

    Options that are None follow the number of texts, see `recommended`; `settings`, for experiments, replace that choice and what the
    options say of it.

    Raises:
        RetvecLiteError: for data or options that leave nothing to train, a file that would be larger than `request.options.max_kb`, or a loss that
            is no longer finite.
    """
    trained, of_teacher = _fit(request, settings, progress)
    if not request.unlabelled:
        return trained
    by = " and ".join(request.teacher) or ITSELF
    facts: dict[str, Any] = {"unlabelled_texts": len(request.unlabelled), "taught": {"by": by}}
    if len(trained.held_out.dataset):
        alone, _ = _fit(dataclasses.replace(request, unlabelled=(), teacher={}), settings, _bars(progress))
        # In what share of the ways of writing each held-out text is right, without the others and with them.
        before, right = (
            np.mean([way.is_right for way in each.held_out.outcomes.values()], axis=0) for each in (alone, trained)
        )
        shares = np.round([before.mean(), right.mean()], 4).tolist()
        facts["taught"] |= dict(zip(("alone", "taught"), shares, strict=True)) | of_teacher
        # McNemar's test (1947, https://doi.org/10.1007/BF02295996) at two standard errors, since both answer the same texts.
        lost = before - right
        if lost.sum() > 2 * np.sqrt(np.square(lost).sum()):
            facts |= {"unlabelled_texts": 0, "options": trained.model.training["options"]}
            trained = alone
    return trained._replace(model=dataclasses.replace(trained.model, training={**trained.model.training, **facts}))


def _fit(request: Request, settings: FitSettings | None, progress: Progress) -> tuple[Trained, dict[str, float]]:
    """Train a classifier, see `fit_classifier`; return also how good its teacher is."""
    day = today()
    plan, tested = make_plan(request, settings, progress)
    data, options = plan.data, request.record  # which asks the teacher: if it fails, it is before the training
    stack = fit_parts(plan, progress)
    decided = decide(stack.logits, data, request.options.reject_at, request.none_label, stack.background)
    shapes = {name: value.shape for name, value in stack.weights.items()}
    rows = tuple(request.training.given_rows[place] for place in tested.rows)
    warned = (*request.warnings, *_about_names(request.training, plan))
    answers = HeldOutAnswers(tested.texts, rows, decided.outcomes, warned)
    facts: dict[str, Any] = {
        "created_by": CREATED_BY,
        "data": request.training.path.name or request.training.path.resolve().name,  # of the current folder
        "copies": count_copies(request.training.groups),
        "data_hash": data_hash(request.training),
        "trained_on": day,
        "versions": versions(),
        "options": options,
        "training_texts": data.texts,
        "described": {"names": data.count(Origin.NAME), "descriptions": data.count(Origin.DESCRIPTION)},
        "validation_texts": len(data.held_out.truth),
        "warnings": [*warned],
        "leaked": request.leaked,
        "folds": data.folds,
        "multi_label": request.training.multi_label,
        "texts_cut_by_max_words": data.share_cut,
        "texts_in_windows": data.share_in_windows,
        "settings": dataclasses.asdict(plan.settings),
        "reject_at": request.options.reject_at,
        "max_kb": request.options.max_kb,
        "estimated_bytes": estimate_bytes(shapes, data.config, data.labels, decided.decision),
        "smallest_label": list(request.training.smallest_label),
        "baseline": plain_svm(data),
        **stack.facts,
        **decided.facts,
        "doubtful": len(answers.check.suspects),
        "one_label": next(([pair.first, pair.second, pair.texts] for pair in answers.check.twins), None),
    }
    known = plan.sentences or request.embedding
    model = TrainedModel(
        encoder=data.config,
        head=plan.head,
        labels=data.labels,
        weights=stack.weights,
        embedding={"name": known.name, "card": known.card} if known else {"name": "raw", "card": {}},
        training=facts,
        ngrams=stack.linear.config if stack.linear else None,
        decision=decided.decision,
        meaning=plan.meaning.config if plan.meaning else None,
    )
    teacher, is_tested = plan.teacher, bool(data.folds)
    of_teacher = {"teacher": round(teacher.accuracy(data), 4)} if isinstance(teacher, Encoders) and is_tested else {}
    return Trained(model, answers), of_teacher


def _about_names(texts: Dataset, plan: Plan) -> list[str]:
    """Return what to know where labels are described in a language of which little is known."""
    language = plan.meaning_facts.get("language")
    if not texts.descriptions or language == _OF_SENTENCES:
        return []
    if plan.meaning is None:
        return [
            "What labels are called and mean is in no language whose words are known: without texts, a text gets the right label only where "
            "it has the same words."
        ]
    return [
        f"What labels are called and mean is in {language}, and sentences are known in {_OF_SENTENCES} alone: expect less until there are texts."
    ]


def answer_all(request: Request, progress: Progress = silent) -> HeldOutAnswers:
    """Return what is answered to every training text by a fit that has not seen it: of many texts, by n-grams alone, as they are.

    Raises:
        RetvecLiteError: as `fit_classifier`.
    """
    texts = request.training
    if are_few(len(texts)):
        return fit_classifier(dataclasses.replace(request, validation=None), progress=_bars(progress)).held_out
    options = dataclasses.replace(request.options, typo_rate=0.0)
    settings = settings_for(texts, dataclasses.replace(request, options=options), is_linear=True)
    folds = choose_folds(texts, request.options.seed)
    data = make_examples(texts, texts, **settings.typos, folds=folds, progress=progress)
    linear = LinearPart(Plan(data, LinearHead(), PRIME, {}, settings), progress=progress)
    logits = linear.answer()
    factors, shift = mix_held_out({LINEAR: logits}, data.held_out.truth, data.scheme)
    probabilities = data.scheme.probabilities(factors[LINEAR] * logits[Way.CLEAN] + shift)
    outcome = Outcome(texts.texts, data.held_out.truth, probabilities, data.labels)
    return HeldOutAnswers(texts, tuple(texts.given_rows), {Way.CLEAN: outcome}, (*request.warnings,))


def _bars(progress: Progress) -> Progress:
    """Return what is told of the work alone: sentences of a training are about a file that is not made."""
    return lambda what, done, total: progress(what, done, total) if total else None


def make_plan(
    request: Request, fixed: FitSettings | None = None, progress: Progress = silent
) -> tuple[Plan, "HeldOutTexts"]:
    """Divide and read the texts, and choose what is fitted to them; arguments and errors as of `fit_classifier`."""
    seed = fixed.seed if fixed else request.options.seed
    training, held_out = divide(request, seed)
    # A network learns from texts that a teacher labels, but rare labels are still known by their names.
    few_labelled = are_few(len(request.training), training.multi_label)
    described = describe(training, few=few_labelled)
    # A word or two do not say in which language they are.
    spoken = language_shares(training.texts or [" ".join(described.texts)], seed)
    language = choose_language(request.meanings, spoken, request)
    if few_labelled and language.source:
        described = with_related(described, training.classes, training.label_counts, language.source, seed)
    else:  # nothing tells whether a name means what the texts of its label mean
        described = describe(training, few=False)
        if any(len({*described.labels, *(training.labels[row] for row in rows)}) < 2 for rows, _ in held_out.folds):
            held_out = HeldOutTexts(training.select(()))
    sentences = choose_sentences(request, spoken)
    settings = fixed or settings_for(training, request, is_linear=request.is_linear)
    others = other_languages(language.source, request.languages)
    data = make_examples(
        training,
        held_out.texts,
        **settings.typos,
        translation=Translation(language.source, others) if language.source and others else None,
        common_words=common_words(spoken),
        described=described,
        unlabelled=request.unlabelled,
        none_label=request.none_label,
        taught=bool(request.teacher),
        background=background_texts(language.source) if language.source and not held_out.texts else (),
        folds=held_out.folds,
        refit=held_out.refit,
        word_length=request.embedding.word_length if request.embedding else EncoderConfig.word_length,
        progress=progress,
    )
    budget = Budget.of(request, data)
    head = LinearHead.name if request.is_linear else request.options.head
    plan = choose_parts_of_file(head, budget, data, settings, language, others, sentences)
    pieces = None if language.source or not request.is_few else choose_pieces(spoken, request)
    if pieces and usual_kind(data.clean)[1] == pieces.longest:
        plan = dataclasses.replace(plan, pieces=pieces, meaning_facts={"pieces": pieces.language})
    if request.teacher:
        plan = dataclasses.replace(plan, teacher=make_teacher(request.teacher, data, progress, request.answers))
    shapes = budget.shapes(plan.head, plan.meaning.config if plan.meaning else None, plan.buckets)
    sizes = estimate_bytes(shapes, data.config, data.labels, budget.decision)
    progress(describe_sizes(sizes), 0, 0)
    return plan, held_out


class HeldOutTexts(NamedTuple):
    """Texts to be tested on, and their rows in the data; the folds, where they are the training texts; whether they are learned from in the end."""

    texts: Dataset
    rows: tuple[int, ...] = ()
    folds: Sequence[Split] = ()
    refit: bool = False


def divide(request: Request, seed: int) -> tuple[Dataset, HeldOutTexts]:
    """Return the texts to learn from, and those to be tested on.

    Raises:
        RetvecLiteError: for a share that leaves no texts, or texts to be tested on that all belong to no label.
    """
    training, validation = request.training, request.validation
    if validation is None and are_few(len(training)):
        folds = choose_folds(training, seed)
        tested = tuple(range(len(training) if folds else 0))
        return training, HeldOutTexts(training.select(tested), tested, folds)
    if isinstance(validation, Dataset):
        held_out = HeldOutTexts(validation)
    else:
        share = 0.1 if validation is None else validation
        rows, others = split_rows(training.groups, training.strata, share, seed)
        training, held_out = training.select(rows), HeldOutTexts(training.select(others), tuple(others), refit=True)
    if request.options.unknown_label is not None and set(held_out.texts.labels) == {request.options.unknown_label}:
        raise RetvecLiteError(
            f"All texts to be tested on have the unknown label {request.options.unknown_label!r}: pass others with more labels, or a larger share "
            "(validation)."
        )
    return training, held_out


def choose_parts_of_file(
    asked: str,
    budget: Budget,
    data: TrainingData,
    settings: FitSettings,
    language: Language,
    others: Sequence[MeaningFile],
    sentences: SentenceNetwork | None = None,
) -> Plan:
    """Choose the parts that fit into the file: what words mean, the head (`asked`, or one of "auto"), and n-grams in what is left.

    Raises:
        RetvecLiteError: where nothing fits into the budget.
    """
    source, facts = language.source, language.facts
    count = functools.cache(lambda: count_distinct(count_hashes(data, [data.clean], usual_kind(data.clean))[0]))

    # Words whose meaning there is room for. It is read beside n-grams, and gives way where it leaves them no room.
    spec = dataclasses.replace(sentences.head, vector=_SENTENCE_VECTOR) if sentences else None
    meaning, chosen = None, None
    if source:
        kilobytes = choose_meaning_kb(budget, data, asked, count, len(others), spec)
        meaning, more = make_reader(source, data, kilobytes, others, settings.seed)
        with contextlib.suppress(RetvecLiteError):
            chosen = choose_parts(budget, data, asked, count, meaning.config, spec)
        facts = {**facts, **more}
        if not chosen or not chosen[1]:
            meaning, chosen, facts = None, None, {**facts, "left_out": "the file has no room for it"}
    head, buckets = chosen or choose_parts(budget, data, asked, count, None, spec)
    # The sentence network, if there is room for it, comes with its own embedding.
    read = sentences if head == spec else None
    embedding = read.embedding_weights if read else budget.embedding
    return Plan(data, head, buckets, embedding, settings, meaning, facts, read)


def choose_sentences(request: Request, spoken: Mapping[str, float]) -> SentenceNetwork | None:
    """Return the sentence network for few texts of its language; None where something is asked for that it does not have.

    With many texts, a network of their own is as good on clean ones, and better on mistyped ones (docs/meaning.md). What it says of other
    languages costs more than it tells. `spoken` are the `language_shares` of the texts.
    """
    known = request.embedding
    language = max(spoken, key=lambda tag: spoken[tag], default=None)
    if not request.is_linear or request.options.head != "auto" or language != _OF_SENTENCES:
        return None
    return packaged_sentences() if known and known.digest == load_default_embedding().digest else None


def choose_folds(dataset: Dataset, seed: int) -> list[Split]:
    """Return rows to learn from and rows to be tested on, a similar share of every label in each; every text is tested on once.

    Copies of a text are in one fold, see `undivided`. There are none where too little would be left to learn from: two labels at least that
    have a text, or are described.
    """
    from sklearn.model_selection import StratifiedKFold

    units, strata = undivided(dataset.groups, dataset.strata)
    count = min(_FOLDS, max(Counter(strata).values(), default=0))
    if count == 1:  # nothing to be shared out
        strata, count = [""] * len(units), min(_FOLDS, len(units))
    if count < 2:
        return []
    with warnings.catch_warnings():
        # A label with two texts is missing in one fold of three: that fold is not tested on it.
        warnings.simplefilter("ignore", UserWarning)
        splits = StratifiedKFold(count, shuffle=True, random_state=seed).split(strata, strata)
        found = [(_rows(units, chosen), _rows(units, others)) for chosen, others in splits]
    described = set(describe(dataset, few=True).labels)
    is_enough = all(len(described | {dataset.labels[row] for row in rows}) > 1 for rows, _ in found)
    return found if is_enough else []


def _rows(units: Sequence[Sequence[int]], chosen: Rows) -> Rows:
    return np.sort([row for unit in chosen for row in units[unit]]).astype(np.int64)
