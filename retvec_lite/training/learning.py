"""Learning from more texts, from a trained classifier on: what its texts chose stays, and its linear part is fitted once to all of them.

What stays: which n-grams are read and what words mean, the directions of sentence vectors, a network, how much each part counts, and, but
for new labels, thresholds. The texts that were there are kept as they are (`data.kept`) or as what is read of them (`Vectors`).
"""

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from retvec_lite.contract import Floats, Ints
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.kept import Joined, join, joined_texts, text_keys
from retvec_lite.data.origin import data_hash, today
from retvec_lite.decision import Decision, known_characters
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.file_sizes import USUAL_KB
from retvec_lite.model.heads import LinearHead, PoolHead
from retvec_lite.model.meaning_file import language_file, packaged_languages
from retvec_lite.model.pieces_file import packaged_pieces
from retvec_lite.model.sentence_network import SentenceNetwork
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.ngrams import CODES, PRIME
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.budget import Budget
from retvec_lite.training.described import NOTHING, Described, describe, labels_of
from retvec_lite.training.examples import augmented_copies
from retvec_lite.training.kept_vectors import Vectors, joined_features
from retvec_lite.training.label_scheme import ONE_LABEL, SEVERAL_LABELS
from retvec_lite.training.languages import Translation, common_words
from retvec_lite.training.linear_features import Features, count_ngrams, fold_counts, mean_vectors
from retvec_lite.training.linear_model import LinearModel, codebooks_in
from retvec_lite.training.linear_part import TRANSLATED_SHARE, described_weights, solve
from retvec_lite.training.meaning_part import MeaningPart
from retvec_lite.training.plan import FitSettings
from retvec_lite.training.reading import TextReader
from retvec_lite.training.related import with_related
from retvec_lite.training.sentences import SentenceReader
from retvec_lite.training.stacking import LINEAR, NETWORK
from retvec_lite.training.wider_network import fit_columns
from retvec_lite.training.word_vectors import embed_words

Kept = Dataset | Vectors


def changes(kept: Kept, new: Dataset) -> Joined:
    """Return what newer texts change."""
    keys = text_keys(kept.texts) if isinstance(kept, Dataset) else kept.keys
    return join(keys, kept.labels, text_keys(new.texts), new.labels)


def learn(
    model: TrainedModel, kept: Kept, new: Dataset, found: Joined, right_before: float, progress: Progress = silent
) -> tuple[TrainedModel, Kept]:
    """Learn from labelled texts, and from what was kept of those before; return the classifier, and what to keep of all.

    Args:
        model: the earlier classifier.
        kept: what was kept of its texts.
        new: newer texts, with one label each if the classifier gives one.
        found: what they change, at least one text.
        right_before: share of these texts that the earlier classifier gets right, for the report.
        progress: told of "encoding texts", "embedding words" and "fitting n-grams".

    Raises:
        RetvecLiteError: for a classifier without n-grams, or new labels that it has no room for.
    """
    texts = new.select(found.new)
    labels = tuple(sorted({*model.labels, *texts.classes}))
    settings, wider = _settings(model, labels), _with_labels(model, labels)
    if isinstance(kept, Dataset):
        kept = joined_texts(kept, new, found)
        read = read_vectors(wider, kept, progress)
    else:
        kept = read = kept.select(found.stay).with_more(read_vectors(wider, texts, progress))
    trains = not isinstance(model.head, LinearHead) and "head/vector/kernel" not in model.weights
    if trains and labels != model.labels:
        wider = _with_columns(wider, model.labels, kept, settings, progress)
    linear = _fit(wider, read, settings, _described(wider, kept, settings, model.labels), progress)
    lesson = {
        "data": new.path.name or new.path.resolve().name,
        "learned_on": today(),
        "data_hash_before": model.training.get("data_hash", ""),
        "added": len(found.new) - found.corrected,
        "corrected": found.corrected,
        "new_labels": sorted(set(labels) - set(model.labels)),
        "right_before": right_before,
    }
    counts = read.targets.sum(axis=0) if model.multi_label else np.bincount(read.targets, minlength=len(labels))
    facts = {
        **model.training,
        "data_hash": _hash_of_both(model, texts),
        "training_texts": len(read),
        "smallest_label": [labels[counts.argmin()], int(counts.min())],
        "learned": [*model.training.get("learned", ()), lesson],
    }
    weights = {name: value for name, value in wider.weights.items() if not name.startswith("ngrams/")} | linear.weights
    weights["ngrams/bias"] = weights["ngrams/bias"] + np.float32(facts["linear"]["shift"])
    decision = _decision(model, labels, counts, texts)
    return dataclasses.replace(wider, weights=weights, decision=decision, training=facts), kept


def _hash_of_both(model: TrainedModel, texts: Dataset) -> str:
    """Return 16 hexadecimal digits for the data of a classifier and texts that it learned since."""
    return hashlib.sha256(f"{model.training.get('data_hash')} {data_hash(texts)}".encode()).hexdigest()[:16]


def _settings(model: TrainedModel, labels: Sequence[str]) -> FitSettings:
    """Return the settings of the training; raises RetvecLiteError where they leave something open."""
    facts = model.training
    if model.ngrams is None or "linear" not in facts:
        raise RetvecLiteError(
            "This classifier was trained without n-grams, which alone can go on learning: train it again on all texts."
        )
    try:
        settings = FitSettings(**facts["settings"])
    except (KeyError, TypeError) as error:
        raise RetvecLiteError(f"This classifier does not tell how it was trained: {error}. Train it again.") from error
    weights = settings.class_weights
    if not isinstance(weights, str) and (missing := sorted(set(labels) - weights.keys())):
        raise RetvecLiteError(
            f"The class weights of the training name no {missing[0]!r}: train again on all texts, with a weight for it."
        )
    return settings


def _with_labels(model: TrainedModel, labels: tuple[str, ...]) -> TrainedModel:
    """Return a classifier with more labels, of which its network knows nothing yet, and as many n-grams as fit beside them.

    Raises:
        RetvecLiteError: where nothing fits into the kilobytes of the training.
    """
    if labels == model.labels:
        return model
    ngrams, weights = model.ngrams, dict(model.weights)
    assert ngrams is not None
    places = [labels.index(label) for label in model.labels]
    for name in ("head/logits/kernel", "head/logits/bias"):
        if name in weights:
            old = weights[name]
            wider = np.repeat(old.mean(axis=-1, keepdims=True), len(labels), axis=-1)
            wider[..., places] = old
            weights[name] = wider.astype(np.float32)
    embedding = {name: value for name, value in weights.items() if name.startswith("embedding/")}
    facts = model.training
    decision = dataclasses.replace(model.decision, thresholds=None, shares=(0.123456789,) * len(labels), threshold=0.5)
    kilobytes, of_ngrams = facts.get("max_kb", USUAL_KB), facts.get("options", {}).get("ngram_kb")
    budget = Budget(labels, model.encoder, embedding, kilobytes, of_ngrams, decision)
    buckets = budget.buckets(model.head, model.meaning)
    if ngrams.codebooks:
        books = min(ngrams.codebooks, codebooks_in(buckets, len(labels)))
        ngrams = dataclasses.replace(ngrams, codebooks=books, buckets=books * CODES) if books else None
    else:
        ngrams = dataclasses.replace(ngrams, buckets=min(ngrams.buckets, buckets)) if buckets else None
    if ngrams is None:
        raise RetvecLiteError(
            f"{len(labels):,} labels do not fit into {kilobytes:,} kB beside what this classifier knows: train again on all texts, "
            "with a larger --max-kb (max_kb)."
        )
    return dataclasses.replace(model, labels=labels, weights=weights, ngrams=ngrams)


def _with_columns(
    model: TrainedModel, before: Sequence[str], kept: Kept, settings: FitSettings, progress: Progress
) -> TrainedModel:
    """Return a classifier whose network knows its new labels; raises RetvecLiteError where no texts are kept to tell them from."""
    if not isinstance(kept, Dataset):
        raise RetvecLiteError(
            "New labels are told from the others by texts, of which this classifier keeps vectors alone: train it again on all texts."
        )
    copies = [list(kept.texts), _copies(model, kept.texts, settings)[0][-1]]
    reader = TextReader((text for copy in copies for text in copy), model.encoder, progress)
    scheme = SEVERAL_LABELS if model.multi_label else ONE_LABEL
    targets = np.concatenate([scheme.targets(kept, model.labels)] * len(copies))
    known = [model.labels.index(label) for label in before]
    texts = [text for copy in copies for text in copy]
    factor = model.training["factors"][NETWORK]
    layer = fit_columns(model, known, reader, texts, targets, scheme, settings, factor, progress)
    return dataclasses.replace(model, weights={**model.weights, **layer})


# --- what is read of texts ---


def read_vectors(model: TrainedModel, texts: Dataset, progress: Progress = silent) -> Vectors:
    """Return what the linear part of a trained classifier reads of texts and of their copies."""
    settings = _settings(model, model.labels)
    copies, shares = _copies(model, texts.texts, settings)
    reader = TextReader((text for copy in copies for text in copy), model.encoder, progress)
    features = _features(model, reader, copies, progress)
    scheme = SEVERAL_LABELS if model.multi_label else ONE_LABEL
    targets = scheme.targets(texts, model.labels)
    weights = np.array(texts.weights, np.float32) if texts.weights else None
    return Vectors(features, shares, text_keys(texts.texts), targets, model.labels, weights)


def _copies(
    model: TrainedModel, texts: Sequence[str], settings: FitSettings
) -> tuple[list[Sequence[str]], tuple[float, ...]]:
    """Return the texts as they are, if they are read, and their copies as in the training; and how much each counts."""
    facts = model.training
    meaning = facts.get("meaning", {})
    own = meaning.get("language")
    spoken = meaning.get("spoken") or ({own: 1.0} if own else {})
    count, rate, seed = settings.linear_copies, settings.typo_rate, settings.seed
    mistyped = augmented_copies(texts, copies=count, typo_rate=rate, seed=seed, common_words=common_words(spoken))
    # Of equal settings there are equally many copies, whatever chance makes of a few texts.
    read: list[tuple[Sequence[str], float]] = [(copy, 1.0) for copy in mistyped if rate]
    if others := [tag for tag in meaning.get("languages", {}) if tag != own]:
        translation = Translation(language_file(own), [language_file(tag) for tag in others])
        read += [(copy, TRANSLATED_SHARE) for copy in translation.copies(texts, len(mistyped), seed)]
    if facts["linear"]["clean"]:
        read.insert(0, (texts, 1.0))
    return [copy for copy, _ in read], tuple(share for _, share in read)


def _features(
    model: TrainedModel, reader: TextReader, copies: Sequence[Sequence[str]], progress: Progress = silent
) -> list[Features]:
    """Return what the linear part reads of texts, its n-grams as hashes."""
    assert model.ngrams is not None
    counts = count_ngrams(reader, copies, dataclasses.replace(model.ngrams, buckets=PRIME, codebooks=0))
    vectors, meanings = _text_vectors(model, reader, copies, progress), _meanings(model, reader, copies)
    return [Features(*read) for read in zip(counts, vectors, meanings, strict=True)]


def _text_vectors(
    model: TrainedModel, reader: TextReader, copies: Sequence[Sequence[str]], progress: Progress
) -> list[Floats | None]:
    """Return the vector of each text that is read beside n-grams: of the sentence network, or the mean of its words."""
    ids = [reader.word_ids(copy) for copy in copies]
    if isinstance(model.head, PoolHead) and model.head.vector:
        read = _sentence_reader(model, reader, progress).vectors
        return [read(each) for each in ids]
    if isinstance(model.head, LinearHead):
        embedding = {name: value for name, value in model.weights.items() if name.startswith("embedding/")}
        words = embed_words(reader.words, embedding, progress)
        return [mean_vectors(each, words) for each in ids]
    return [None] * len(copies)


def _sentence_reader(model: TrainedModel, reader: TextReader, progress: Progress) -> SentenceReader:
    """Return a reader by the sentence network of a trained classifier, whose last layer makes the vectors that it reads."""
    assert isinstance(model.head, PoolHead)
    own = ("head/vector/", "head/logits/", "ngrams/", "meaning/")
    weights = {name: value for name, value in model.weights.items() if not name.startswith(own)}
    kernel, bias = (model.weights[f"head/vector/{part}"] for part in ("kernel", "bias"))
    network = SentenceNetwork(dataclasses.replace(model.head, vector=0), weights, kernel, bias, {})
    return SentenceReader(network, model.head, reader.words, None, progress)


def _meanings(model: TrainedModel, reader: TextReader, copies: Sequence[Sequence[str]]) -> list[Floats | None]:
    if model.meaning is None:
        return [None] * len(copies)
    part = MeaningPart(model.meaning, model.weights)
    return [part.vectors(reader, copy) for copy in copies]


# --- the fit ---


def _described(model: TrainedModel, kept: Kept, settings: FitSettings, before: Sequence[str]) -> Described:
    """Return names of labels that told something in the training, those of labels that are new since, all descriptions, and related words."""
    if model.multi_label:
        return NOTHING
    few, called = model.training["linear"]["few"], {*model.training["linear"]["names"]}
    if few:
        called |= set(model.labels) - set(before)
    texts = kept if isinstance(kept, Dataset) else Dataset((), (), Path(), False)
    every = dataclasses.replace(texts, descriptions=(*texts.descriptions, *((label, "") for label in model.labels)))
    found = describe(every, few=few)
    telling = [place for place, label in enumerate(found.labels) if place >= found.names or label in called]
    found = Described(
        tuple(found.texts[place] for place in telling),
        tuple(found.labels[place] for place in telling),
        sum(place < found.names for place in telling),
    )
    counts = Counter(kept.labels)
    language = model.training.get("meaning", {}).get("language")
    if few and model.meaning and language in packaged_languages():
        return with_related(found, model.labels, counts, language_file(language), settings.seed)
    return found


def _fit(
    model: TrainedModel, read: Vectors, settings: FitSettings, described: Described, progress: Progress
) -> LinearModel:
    """Fit the linear part to everything that was read, and to what labels are called and mean."""
    ngrams = model.ngrams
    assert ngrams is not None
    own = np.ones(len(read), np.float32) if read.weights is None else read.weights / read.weights.mean()
    parts, targets = list(read.copies), [read.targets] * len(read.copies)
    counted, weights = list(targets), [np.float32(share) * own for share in read.shares]
    if described.texts:
        # A name is a word or two, of which little would be left.
        names = described.texts[: described.names]
        copies = [[*names, *copy] for copy in _copies(model, described.texts[described.names :], settings)[0]]
        parts += _features(model, TextReader((text for copy in copies for text in copy), model.encoder), copies)
        of_labels, texts = labels_of(described, model.labels), np.bincount(read.targets, minlength=len(model.labels))
        found = described_weights(of_labels, described.related, texts, sum(read.shares))
        targets += [of_labels] * len(copies)
        counted += [np.unique(of_labels)] * len(copies)
        weights += [np.float32(share) * found for share in read.shares]
    progress("fitting n-grams", 0, 1)
    sentences = "head/vector/kernel" in model.weights
    factor = model.training["factors"][LINEAR]
    features = joined_features(parts)
    if not ngrams.codebooks:
        features = dataclasses.replace(features, counts=fold_counts([features.counts], ngrams.buckets)[0])
    pieces = packaged_pieces(model.training.get("meaning", {}).get("pieces", ""))
    solved = solve(
        features,
        np.concatenate(targets),
        np.concatenate(weights).astype(np.float32),
        model.labels,
        settings,
        ngrams,
        sentences=sentences,
        pieces=pieces.table(features.counts.buckets) if pieces else None,
        counted=np.concatenate(counted),
    )
    progress("fitting n-grams", 1, 1)
    return solved.scaled(factor)


# --- the classifier ---


def _decision(model: TrainedModel, labels: tuple[str, ...], counts: Ints, new: Dataset) -> Decision:
    """Return the decision, by how many texts each label has: thresholds lie as far from chance to certainty as before; new labels get a usual one."""
    old = model.decision
    characters = "".join(sorted({*old.characters, *known_characters(new.texts)})) if old.characters else ""
    if old.thresholds is not None:
        usual = float(np.mean(old.thresholds))
        by_label = dict(zip(model.labels, old.thresholds, strict=True))
        return dataclasses.replace(
            old, characters=characters, thresholds=tuple(by_label.get(label, usual) for label in labels)
        )
    shares = tuple(float(f"{max(share, 1e-6):.3g}") for share in counts / counts.sum())
    threshold = old.threshold
    if threshold is not None and len(labels) > len(model.labels) and not old.unknown_power:
        before, now = 1 / len(model.labels), 1 / len(labels)
        threshold = max(now + (threshold - before) * (1 - now) / (1 - before), 1e-6)
    return dataclasses.replace(
        old, characters=characters, shares=None if len(set(shares)) == 1 else shares, threshold=threshold
    )
