"""From labelled texts to training examples: mistyped variants, and all texts as word ids."""

import dataclasses
import functools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from retvec_lite.contract import EncoderConfig, Floats, Ints
from retvec_lite.data.copies import count_independent
from retvec_lite.data.dataset import Dataset
from retvec_lite.data.disguises import add_ending, disguise, surrounded
from retvec_lite.data.typos import Way, mistype, mistype_many
from retvec_lite.decision import known_characters
from retvec_lite.runtime.native import condense_texts
from retvec_lite.terminal import Progress, silent
from retvec_lite.training.described import NOTHING, Described, Origin, labels_of
from retvec_lite.training.label_scheme import ONE_LABEL, SEVERAL_LABELS, LabelScheme
from retvec_lite.training.languages import Translation
from retvec_lite.training.reading import LONGEST_COUNTED, TextReader
from retvec_lite.training.request import are_few

Rows = npt.NDArray[np.int64]

Split = tuple[Rows, Rows]
"""Training texts to learn from, and held-out texts to be tested on."""

_FEWEST_SLOTS: Final = 24
"""Word slots at least: users write whole sentences, however short the examples are. Beside 8 slots, a text takes a `.tflite` 0.1 ms more."""

_SHARE_DISGUISED: Final = 0.4
_MISTYPED: Final = 0.4
_ENDED: Final = 0.3
_SURROUNDED: Final = 0.15
"""Shares of a variant's texts that are disguised, mistyped, get an ending, and stand among common words."""


@dataclasses.dataclass(frozen=True)
class Examples:
    """What a network learns from: word ids of each variant, int32 `[texts, max_words]`, and `LabelScheme.targets`.

    The epochs take turns with the variants. `weights` say how much each text counts, float32 `[texts]`.
    """

    variants: Sequence[Ints]
    targets: Ints
    classes: int
    weights: Floats

    def chosen(self, rows: Rows) -> "Examples":
        """Return some of the texts."""
        variants = [variant[rows] for variant in self.variants]
        return Examples(variants, self.targets[rows], self.classes, self.weights[rows])


@dataclasses.dataclass(frozen=True)
class HeldOutExamples:
    """What models are tested on: word ids, int32 `[texts, max_words]`, by the way in which the texts are written, targets, weights.

    The latter count where these texts are learned from in the end. `independent`: how many texts without copies say as much, see
    `count_independent`.
    """

    ids: Mapping[Way, Ints]
    truth: Ints
    weights: Floats
    independent: float | None = None


@dataclasses.dataclass(frozen=True)
class TrainingData:
    """Everything a training needs of its texts.

    Attributes:
        reader: has read all of these texts.
        scheme: one label a text, or several.
        labels: class names in the order of the outputs.
        strata: int64 `[texts]`, the number of each text's stratum, see `Dataset.strata`.
        examples: what to learn from: labelled texts first, unlabelled ones last, what labels are called and mean between them.
        origins: of these texts, see `Origin`, uint8 `[texts]`.
        held_out: what to validate on.
        share_cut: share of the training texts with words beyond `max_words` or `max_chars`.
        clean_ids: word ids of what is learned from as it is, int32 `[texts, max_words]`.
        clean: what is learned from as it is.
        variant_texts: those of `examples.variants`; with a translation, every second variant is one.
        none: the number of the label of unlabelled texts that belong to no other.
        taught: a teacher labels the unlabelled texts.
        background: open texts of no label, which few texts are told from.
        background_ids: their word ids, int32 `[texts, max_words]`.
        held_out_texts: those of `held_out.ids`.
        splits: what is fitted to which texts, and tested on which. Cross-validated, the held-out texts are the training texts, and
            each of them is in one split; otherwise they are others, and there is one split of everything.
        refit: the held-out texts may be learned from as well, once they have decided what they were set aside for.
    """

    reader: TextReader
    scheme: LabelScheme
    labels: tuple[str, ...]
    strata: npt.NDArray[np.int64]
    examples: Examples
    origins: npt.NDArray[np.uint8]
    held_out: HeldOutExamples
    share_cut: float
    clean_ids: Ints
    clean: Sequence[str]
    variant_texts: Sequence[Sequence[str]]
    background: Sequence[str]
    background_ids: Ints
    held_out_texts: Mapping[Way, Sequence[str]]
    splits: Sequence[Split]
    refit: bool = False
    none: int | None = None
    taught: bool = False

    def count(self, origin: Origin) -> int:
        """Return how many texts that are learned from come from there."""
        return int(np.count_nonzero(self.origins == origin))

    @functools.cached_property
    def texts(self) -> int:
        """How many labelled texts there are to learn from, without names and descriptions."""
        return self.count(Origin.GIVEN)

    @functools.cached_property
    def sentences(self) -> Rows:
        """The rows of all that is learned from but texts of related words, which are no sentences."""
        return np.flatnonzero(self.origins != Origin.RELATED)

    @property
    def learned(self) -> int:
        """How many texts have a label, see `Request.learned`: those set aside are learned from in the end."""
        return self.texts + self.taught * self.count(Origin.UNLABELLED) + self.refit * len(self.held_out.truth)

    @property
    def are_few(self) -> bool:
        """Whether these are few, with one label each, see `Request.is_few`."""
        return are_few(self.learned, self.scheme.multi_label)

    @functools.cached_property
    def labelled(self) -> int:
        """How many texts there are to learn from whose label is known, names and descriptions among them."""
        return len(self.clean) - self.count(Origin.UNLABELLED)

    @property
    def config(self) -> EncoderConfig:
        """The encoder's parameters."""
        return self.reader.config

    @property
    def words(self) -> Ints:
        """All words by id, int32 `[distinct words, word_length]`; row 0 is the empty word."""
        return self.reader.words

    @property
    def spelled(self) -> Sequence[str]:
        """Texts with the letters of all languages that are learned: those of the training as they are, and held-out translations."""
        return [*self.clean, *self.held_out_texts.get(Way.TRANSLATED, ())]

    @functools.cached_property
    def characters(self) -> str:
        """The letters, digits and signs of these texts, as a `Decision` knows them."""
        return known_characters(self.spelled)

    @functools.cached_property
    def label_shares(self) -> tuple[float, ...] | None:
        """How common each label is, where a text has one, to three digits; None where all are alike."""
        if self.scheme.multi_label:
            return None
        # A label that is only described is as common as one with a text.
        counts = np.maximum(np.bincount(self.examples.targets[: self.texts], minlength=len(self.labels)), 1)
        shares = [float(f"{max(share, 1e-6):.3g}") for share in counts / counts.sum()]
        return None if len(set(shares)) == 1 else tuple(shares)

    @property
    def share_in_windows(self) -> float:
        """Share of the training texts that are read in several windows."""
        return float(np.mean([len(text) > self.config.max_chars for text in condense_texts(self.clean, self.config)]))

    @property
    def is_translated(self) -> bool:
        """Whether every second variant is a translation."""
        return Way.TRANSLATED in self.held_out_texts

    @property
    def folds(self) -> int:
        """In how many folds the texts are cross-validated; 0 where they are not."""
        return len(self.splits) if len(self.splits) > 1 else 0


def make_examples(
    training: Dataset,
    validation: Dataset,
    *,
    variants: int,
    typo_rate: float,
    seed: int,
    folds: Sequence[Split] = (),
    refit: bool = False,
    config: EncoderConfig | None = None,
    word_length: int = EncoderConfig.word_length,
    translation: Translation | None = None,
    common_words: Sequence[Sequence[str]] = (),
    described: Described = NOTHING,
    background: Sequence[str] = (),
    unlabelled: Sequence[str] = (),
    none_label: str | None = None,
    taught: bool = False,
    progress: Progress = silent,
) -> TrainingData:
    """Mistype and encode the texts of a training: those to learn from, in `write_variants`, and those to test on.

    With a `translation`, each mistyped variant is followed by one in words of other languages.

    Without a `config`, the encoder gets words of `word_length` code points, and sizes that fit the training texts, see `choose_sizes`.
    `folds` are the splits of a cross-validation. What labels are called and mean, `described`, is learned from like the training texts, and
    in every fold, and so are `unlabelled` texts, of which some may get a label that no other text has, the `none_label`. Progress is told of "encoding texts".
    """
    labels, scheme = training.classes, SEVERAL_LABELS if training.multi_label else ONE_LABEL
    labels = labels if none_label is None or none_label in labels else (*labels, none_label)
    clean = (*training.texts, *described.texts, *unlabelled)
    ways: dict[str, Any] = {"variants": variants, "typo_rate": typo_rate, "common_words": common_words}
    variant_texts = _variants_of_all(training.texts, described, unlabelled, seed, ways)
    held_out = _mistyped(validation.texts, typo_rate, seed + 1)
    if translation:
        translated = translation.variants(clean, len(variant_texts), seed)
        variant_texts = [variant for pair in zip(variant_texts, translated, strict=True) for variant in pair]
        (held_out[Way.TRANSLATED],) = translation.variants(validation.texts, 1, seed + 1)
    targets, truth = (scheme.targets(texts, labels) for texts in (training, validation))
    targets = np.concatenate([targets, labels_of(described, labels)]) if described.texts else targets
    # No label is known until a teacher is asked.
    targets = np.concatenate([targets, np.full(len(unlabelled), -1, targets.dtype)]) if unlabelled else targets
    groups = [clean, *variant_texts, *held_out.values(), background]
    rules = config or EncoderConfig(word_length=word_length)
    asked = count_uncut_words(clean, rules)
    config = config or choose_sizes(clean, asked, rules)
    reader = TextReader((text for group in groups for text in group), config, progress)
    ids = [reader.word_ids(group) for group in groups]
    split = len(ids) - len(held_out) - 1
    always = np.arange(len(training), len(clean))
    origins = [*[Origin.GIVEN] * len(training), *described.origins, *[Origin.UNLABELLED] * len(unlabelled)]
    return TrainingData(
        reader=reader,
        scheme=scheme,
        labels=labels,
        strata=np.unique(training.strata, return_inverse=True)[1],
        examples=Examples(ids[1:split], targets, len(labels), _weights(training, training, len(always))),
        origins=np.array(origins, np.uint8),
        held_out=HeldOutExamples(
            dict(zip(held_out, ids[split:-1], strict=True)),
            truth,
            _weights(validation, training),
            count_independent(validation.groups),
        ),
        share_cut=float(np.mean((ids[0] != 0).sum(axis=1) < asked)),
        clean_ids=ids[0],
        clean=clean,
        variant_texts=variant_texts,
        background=background,
        background_ids=ids[-1],
        held_out_texts=held_out,
        splits=[(np.concatenate([rows, always]), others) for rows, others in folds]
        or [(np.arange(len(clean)), np.arange(len(validation)))],
        refit=refit,
        none=None if none_label is None else labels.index(none_label),
        taught=taught,
    )


def _variants_of_all(
    texts: Sequence[str], described: Described, unlabelled: Sequence[str], seed: int, ways: Mapping[str, Any]
) -> list[Sequence[str]]:
    """Return variants of everything that is learned from, see `write_variants`."""
    # A name is a word or two, of which little would be left.
    names = [text for text, origin in zip(described.texts, described.origins, strict=True) if origin is Origin.NAME]
    others = (*described.texts[len(names) :], *unlabelled)
    pairs = zip(write_variants(texts, seed=seed, **ways), write_variants(others, seed=seed + 2, **ways), strict=True)
    return [(*written, *names, *more) for written, more in pairs]


def _mistyped(texts: Sequence[str], typo_rate: float, seed: int) -> dict[Way, Sequence[str]]:
    """Return held-out texts in each of the ways but that of a translation, disguised only where a training is, too."""
    found: dict[Way, Sequence[str]] = {way: mistype_many(texts, way.rate, seed) for way in Way if way.rate is not None}
    if typo_rate:
        draw = random.Random(seed).random
        found[Way.DISGUISED] = [(disguise if draw() < 0.5 else add_ending)(text, draw) for text in texts]
    return found


def _weights(texts: Dataset, training: Dataset, others: int = 0) -> Floats:
    """Return how much each text counts, float32 `[texts + others]`, with a mean of 1 over the training texts; others count 1."""
    if not texts.weights:
        return np.ones(len(texts) + others, np.float32)
    # Only their ratios matter, and the largest may be near the end of a float.
    most = max(training.weights)
    shares: Floats = np.array(texts.weights) / most / np.mean(np.array(training.weights) / most)
    return np.concatenate([shares, np.ones(others)]).astype(np.float32)


def write_variants(
    texts: Sequence[str], *, variants: int, typo_rate: float, seed: int, common_words: Sequence[Sequence[str]] = ()
) -> list[list[str]]:
    """Write the texts otherwise, so many times; return one variant, the texts themselves, when `typo_rate` is 0.

    Of each variant, two texts in ten stay as they are, four are disguised (see `data.disguises`), and four are mistyped: a share of the
    words up to twice `typo_rate`, drawn for each text, so that a classifier sees clean and hopeless texts alike. Three in ten, whichever,
    get an ending, and 15 in 100 stand among words of one of the lists of `common_words`. Chance alone decides, whatever the label, so how a
    text is written, or what stands around it, is no evidence for a label.
    """
    if typo_rate == 0.0:
        return [list(texts)]
    rng = random.Random(seed)
    draw = rng.random

    def rewrite(text: str) -> str:
        way = draw()
        if way < _SHARE_DISGUISED:
            text = disguise(text, draw)
        elif way < _SHARE_DISGUISED + _MISTYPED:
            text = mistype(text, min(2.0 * typo_rate * draw(), 1.0), rng)
        text = add_ending(text, draw) if draw() < _ENDED else text
        return (
            surrounded(text, common_words[int(draw() * len(common_words))], draw)
            if common_words and draw() < _SURROUNDED
            else text
        )

    return [[rewrite(text) for text in texts] for _ in range(variants)]


def count_uncut_words(texts: Sequence[str], rules: EncoderConfig) -> npt.NDArray[np.int64]:
    """Return how many words each text has in its first 4,096 code points, int64 `[texts]`; the sizes in `rules` do not matter."""
    longest = dataclasses.replace(rules, max_chars=LONGEST_COUNTED, max_words=LONGEST_COUNTED)
    return TextReader(texts, longest).count_words(texts)


def read_lengths(texts: Sequence[str], rules: EncoderConfig) -> npt.NDArray[np.int64]:
    """Return how many code points are read of each text, 4,096 at most, int64 `[texts]`; the sizes in `rules` do not matter."""
    longest = dataclasses.replace(rules, max_chars=LONGEST_COUNTED)
    return np.array([min(len(text), LONGEST_COUNTED) for text in condense_texts(texts, longest)], np.int64)


def choose_sizes(texts: Sequence[str], counts: npt.NDArray[np.int64], rules: EncoderConfig) -> EncoderConfig:
    """Choose `max_words` (99th percentile of the texts' words, at least 24) and a `max_chars` that rarely cuts before it.

    Both are rounded up to a multiple of 8, which costs little and lets slightly longer texts fit. `counts` are the words of each text.
    """
    slots = max(_FEWEST_SLOTS, min(_round_up(math.ceil(float(np.percentile(counts, 99, method="lower")))), 4096))
    lengths = read_lengths(texts, rules)
    # What the texts that fit the slots need in code points, and what full slots of this data's words would.
    fits = counts <= slots
    needed = float(np.percentile(lengths[fits], 99.5)) if fits.any() else 0.0
    per_word = float(np.percentile(lengths[counts > 0] / counts[counts > 0], 90)) if counts.any() else 1.0
    chars = max(needed, min(per_word, rules.word_length + 1.0) * slots)
    return dataclasses.replace(rules, max_words=slots, max_chars=min(_round_up(math.ceil(chars)), 4096))


def _round_up(value: int) -> int:
    return max(8, -(-value // 8) * 8)
