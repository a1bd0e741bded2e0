"""Whole products, which learn from a training file by themselves: the default file, SVMs, hashed n-grams, fastText of any size, MiniLM, SetFit, model2vec."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.common import read_results, result_path
from benchmarks.data.sets import Corpus
from benchmarks.systems import fasttext, fine_tuned, linear, networks, sentence_encoder
from benchmarks.systems.names import (
    BAYES,
    BGE,
    COMPARED,
    DEFAULT_FILE,
    ENCODER,
    FASTTEXT_LARGE,
    INBOX_ENCODERS,
    LINEAR,
    NGRAMS,
    NO_HEAD,
    NONE_OF_THESE,
    SETFIT,
    STATIC,
    SVM,
    WHOLE,
)
from benchmarks.systems.networks import Plan
from benchmarks.systems.ours import train_file
from benchmarks.systems.trained import Trained, digest, fingerprint
from retvec_lite.data.dataset import Dataset, read_dataset
from retvec_lite.model.weight_files import load_default_embedding

OURS: Final[Mapping[str, Mapping[str, Any]]] = {
    DEFAULT_FILE: {},
    INBOX_ENCODERS: {},
    NONE_OF_THESE: {"unknown_label": "oos"},
    NGRAMS: {"head": "linear"},
}
"""Our systems -> the options of `retvec_lite.train`."""
ENCODERS: Final = {BGE: sentence_encoder.BGE_SMALL, ENCODER: sentence_encoder.MINILM}
INBOX: Final = 10_000
"""Other texts of the training file, most, which `INBOX_ENCODERS` gets without their labels."""
SYSTEMS: Final = (*OURS, *linear.SVMS, LINEAR, BAYES, FASTTEXT_LARGE, ENCODER, BGE, STATIC, SETFIT)

PRODUCTS: Final = (DEFAULT_FILE, SVM, LINEAR, BAYES)
ATTACKED: Final = (DEFAULT_FILE, *COMPARED, *PRODUCTS[1:])
"""The systems of attacks: those of networks.py, and some of these products."""
WITHOUT_HEAD: Final = (*WHOLE, *SYSTEMS)


def fits(system: str, texts: Dataset) -> bool:
    """Say whether a data set has the unknown label that a system is trained with."""
    unknown = OURS.get(system, {}).get("unknown_label")
    return unknown is None or unknown in texts.classes


def settings_of(system: str) -> dict[str, Any]:
    """Return how a system is trained, JSON-ready."""
    if system in OURS:
        return {"options": dict(OURS[system]), **({"inbox": INBOX} if system == INBOX_ENCODERS else {})}
    encoders = {
        ENCODER: sentence_encoder.SETTINGS,
        BGE: sentence_encoder.SETTINGS,
        STATIC: fine_tuned.TABLE_SETTINGS,
        SETFIT: fine_tuned.SETFIT_SETTINGS,
    }
    if system in encoders:
        return dict(encoders[system])
    return fasttext.LARGE_SETTINGS if system == FASTTEXT_LARGE else linear.settings_of(system)


def train(
    system: str,
    texts: Dataset,
    seed: int = 0,
    chosen: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    inbox: Sequence[str] = (),
) -> Trained:
    """Train a system on these texts and nothing else, but for the one that learns from an inbox.

    Args:
        system: one of `SYSTEMS`.
        texts: to learn from.
        seed: of our training; the others have fixed seeds.
        chosen: the facts of an earlier training of an SVM or hashed n-grams on these texts: nothing is chosen again.
        folder: keeps ours, trained and exported.
        inbox: texts without labels.

    Raises:
        SystemExit: a rival's package is not installed.
        RetvecLiteError: an encoder cannot be fetched.
    """
    if system == INBOX_ENCODERS:
        teacher = [sentence_encoder.load_encoder(name) for name in ENCODERS.values()]
        taught = train_file(texts, folder, unlabelled=[*inbox], teacher=teacher, seed=seed)
        return dataclasses.replace(taught, guess=None)  # as of all others, the likeliest label counts
    if system in OURS:
        return train_file(texts, folder, **OURS[system], seed=seed)
    if system in ENCODERS:
        return sentence_encoder.train(texts, ENCODERS[system])
    tuned = {STATIC: fine_tuned.train_table, SETFIT: fine_tuned.train_setfit}
    if system in tuned:
        return tuned[system](texts)
    return fasttext.train_large(texts) if system == FASTTEXT_LARGE else linear.train(system, texts, chosen)


def victim_settings(system: str, head: str, plan: Plan, corpus: Corpus) -> dict[str, Any]:
    """Return everything that decides how one of `ATTACKED` or `SYSTEMS` is trained, JSON-ready."""
    if system in COMPARED:
        return networks.settings_of(system, head, plan, corpus)
    texts = fingerprint([*corpus.training.texts, *corpus.training.labels, *corpus.validation.texts])
    settings = {"system": system, "head": NO_HEAD, "texts": texts, **settings_of(system)}
    if system == DEFAULT_FILE:
        settings |= {"seed": plan.seed, "embedding": digest(load_default_embedding().weights)}
    return settings


def build_victim(system: str, head: str, corpus: Corpus, plan: Plan) -> Trained:
    """Train one of `ATTACKED` or `SYSTEMS`, or load it from the work folder.

    What `few_shot.py --shots 0` chose on the same texts is not chosen again, if its results have it.

    Raises:
        SystemExit: a rival's package or the file of RETVec v1 is missing.
    """
    if system in COMPARED:
        return networks.build(system, head, corpus, plan)
    texts = training_file(corpus)
    settings = json.dumps(victim_settings(system, head, plan, corpus), sort_keys=True)
    folder = plan.work / f"default-file-{plan.seed}-{fingerprint([settings])}"
    return train(system, texts, plan.seed, chosen_before(system, corpus.name, texts), folder)


def training_file(corpus: Corpus) -> Dataset:
    """Return the rows of the training file of which the corpus has its training and validation texts, in their order."""
    every = read_dataset(corpus.training.path)
    known = {*corpus.training.texts, *corpus.validation.texts}
    return every.select(row for row, text in enumerate(every.texts) if text in known)


def chosen_before(system: str, name: str, texts: Dataset) -> Mapping[str, Any] | None:
    """Return the row of `few_shot.py` of a system on exactly these texts; None if it has no such row."""
    settings = {**settings_of(system), "training": fingerprint([*texts.texts, *texts.labels])}
    wanted = json.loads(json.dumps(settings))
    for row in read_results(result_path("few_shot", quick=False)):
        same = all(row["settings"].get(setting) == value for setting, value in wanted.items())
        if same and (row["data"], row["system"], row["shots"]) == (name, system, 0):
            found: Mapping[str, Any] = row
            return found
    return None
