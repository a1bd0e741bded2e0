"""What fits into a file of limited size: the head, what words mean, and the n-grams that fill the rest."""

import bisect
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from retvec_lite.contract import EncoderConfig, Floats
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.meaning import MeaningConfig, meaning_shapes
from retvec_lite.model.file_sizes import USUAL_KB, Shapes, estimate_files
from retvec_lite.model.heads import HEADS, CnnHead, HeadSpec, LinearHead, PoolHead, ngram_shapes, word_dimension
from retvec_lite.ngrams import MOST_BUCKETS, NgramConfig
from retvec_lite.runtime.retvec_file import ALIGN
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.linear_model import codebooks_in, is_crowded
from retvec_lite.training.request import Request, are_few

_MOST_WEIGHTS: Final = 800_000
"""Bytes of weights without what words mean: then the int4 file of the head cnn with 150 labels is below 600 kB."""
_SPARE: Final = 3_000
"""Bytes of a limit that are not planned for: estimates may be 2,500 too small, and do not count escapes in JSON."""

_FEWEST_BUCKETS: Final = 128

_MEANING_SHARE: Final = 4
"""What words mean gets a quarter of what a file has room for beside the network, and what n-grams leave."""
_LEAST_MEANING: Final = 40_000
_MOST_MEANING: Final = 250_000
"""Bytes that it gets at least and at most. Intents need few words, topics many (docs/meaning.md)."""
_BUCKETS_AN_NGRAM: Final = 2
"""Buckets for each n-gram of few texts, from which more of them gain nothing: one n-gram in five shares its bucket."""
_MEANING_A_LANGUAGE: Final = 45_000
"""Bytes of 3,000 words of another language: more of them gain little beside n-grams that have read translations."""
_MANY_LABELS: Final = 20
"""Labels from which n-grams may be worth more than a larger network: with few, the network tells more."""
_WORTH_A_NETWORK: Final = 2
"""Codebooks beside the head `cnn` that make it better than `pool` with more of them."""

_SMALLER: Final = (CnnHead.name, PoolHead.name, LinearHead.name)
"""The heads that are chosen from, largest first."""

_DIGITS: Final = 0.12345678901234568
"""A threshold of as many digits as any."""


@dataclasses.dataclass(frozen=True)
class Budget:
    """The bytes of a file, and what takes them whatever is chosen.

    Attributes:
        labels: of the classifier.
        encoder: its sizes.
        embedding: `embedding/...` weights, empty for RETVec-raw.
        max_kb: most kilobytes (1,000 bytes) of the largest file with integer weights, of all formats.
        ngram_kb: kilobytes for n-grams; None for all that there is room for.
        decision: one that takes as many bytes as that of the trained classifier.
    """

    labels: Sequence[str]
    encoder: EncoderConfig
    embedding: Mapping[str, Floats]
    max_kb: int = USUAL_KB
    ngram_kb: int | None = None
    decision: Decision = dataclasses.field(default_factory=Decision)

    @classmethod
    def of(cls, request: Request, data: TrainingData) -> "Budget":
        """Return the budget of a training."""
        thresholds = (_DIGITS,) * len(data.labels) if data.scheme.multi_label else None
        decision = Decision(
            characters=data.characters,
            shares=data.label_shares,
            thresholds=thresholds,
            threshold=None if thresholds else _DIGITS,
        )
        embedding = request.embedding.weights if request.embedding else {}
        return cls(data.labels, data.config, embedding, request.options.max_kb, request.options.ngram_kb, decision)

    def shapes(self, head: HeadSpec, meaning: MeaningConfig | None = None, buckets: int = 0) -> Shapes:
        """Return the shapes of all weights of a file, by name."""
        classes, inputs = len(self.labels), word_dimension(self.embedding, self.encoder.word_length)
        return {
            **head.shapes(inputs, classes, self.encoder.max_words),
            **(meaning_shapes(meaning, classes) if meaning else {}),
            **{name: value.shape for name, value in self.embedding.items()},
            **(ngram_shapes(NgramConfig(buckets=buckets), classes) if buckets else {}),
        }

    def largest_file(self, shapes: Shapes) -> int:
        """Return the bytes of the largest file with integer weights, of all formats, and what is spared."""
        return max(estimate_files(shapes, self.encoder, self.labels, self.decision).values()) + _SPARE

    def ngram_room(self, head: HeadSpec, meaning: MeaningConfig | None = None) -> int:
        """Return the bytes that there is room for in a table of n-grams: `ngram_kb`, or what fills the largest file."""
        if self.ngram_kb is not None:
            return 1000 * self.ngram_kb
        table = _FEWEST_BUCKETS * (len(self.labels) + 1)
        least = self.largest_file(self.shapes(head, meaning, _FEWEST_BUCKETS))
        # A larger table may be padded by a few bytes more.
        room = 1000 * self.max_kb - (least - table) - 2 * ALIGN
        if meaning:
            return room
        # A byte for each weight of a matrix; vectors are float32.
        weights = sum(math.prod(shape) * (1 if len(shape) > 1 else 4) for shape in self.shapes(head).values())
        return min(room, _MOST_WEIGHTS + 1000 * max(self.max_kb - USUAL_KB, 0) - weights)

    def buckets(self, head: HeadSpec, meaning: MeaningConfig | None = None) -> int:
        """Return how many buckets of n-grams there is room for beside a head and a table of what words mean; 0 for none."""
        found = min(self.ngram_room(head, meaning) // (len(self.labels) + 1), MOST_BUCKETS)
        return found if found >= _FEWEST_BUCKETS else 0


def choose_parts(
    budget: Budget,
    data: TrainingData,
    head: str,
    count: Callable[[], int],
    meaning: MeaningConfig | None = None,
    sentences: HeadSpec | None = None,
) -> tuple[HeadSpec, int]:
    """Return the head, and how many buckets of n-grams there is room for beside it and a table of what words mean.

    Args:
        budget: of the file.
        data: the texts.
        head: its name, or "auto". Then the head of the sentence network comes first, if any. Otherwise few texts get the head `pool`, many get `cnn`. Many
            languages with many labels are better off with `pool` as well: the bytes that it saves are worth more as codebooks
            (docs/benchmarks.md). What does not fit gives way to a smaller head.
        count: counts the different n-grams of the texts, which takes time.
        meaning: the table of what words mean, if any.
        sentences: the head of the sentence network, if the linear part reads it.

    Raises:
        RetvecLiteError: where nothing fits, or for the head linear without room for n-grams.
    """
    heads: Sequence[str] = (head,)
    if head == "auto":
        usual = _usual_head(data)
        # Where the size of the table is given, a smaller head leaves it no more room.
        may_shrink = len(data.labels) >= _MANY_LABELS and not data.scheme.multi_label and budget.ngram_kb is None
        if usual == CnnHead.name and may_shrink:
            buckets = budget.buckets(CnnHead(), meaning)
            if codebooks_in(buckets, len(data.labels)) < _WORTH_A_NETWORK and is_crowded(count(), buckets):
                usual = PoolHead.name
        heads = _SMALLER[_SMALLER.index(usual) :]
    needed = {}
    for spec in (*([sentences] if sentences else []), *(HEADS[name]() for name in heads)):
        buckets = budget.buckets(spec, meaning)
        # These two are nothing without n-grams.
        if (spec == sentences or isinstance(spec, LinearHead)) and not buckets:
            continue
        needed[spec] = budget.largest_file(budget.shapes(spec, meaning, buckets))
        if needed[spec] <= 1000 * budget.max_kb:
            return spec, buckets
    if not needed:
        raise RetvecLiteError(
            f"The head linear needs n-grams: for {len(data.labels):,} labels {_least_room(budget, meaning)} "
            f"(now {budget.max_kb if budget.ngram_kb is None else budget.ngram_kb:,}), have fewer labels, or choose another head."
        )
    least = min(needed, key=lambda spec: needed[spec])
    kilobytes = f"{math.ceil(needed[least] / 1000):,}"
    raise RetvecLiteError(
        f"{len(data.labels):,} labels with the head {least.name} take up to {kilobytes} kB in an int8 file, but max_kb is "
        f"{budget.max_kb:,}. Raise --max-kb (max_kb) to {kilobytes}, have fewer labels, or choose a smaller "
        "--head, --ngram-kb or --embedding (head, ngram_kb, embedding)."
    )


def choose_meaning_kb(
    budget: Budget,
    data: TrainingData,
    head: str,
    count: Callable[[], int],
    others: int = 0,
    sentences: HeadSpec | None = None,
) -> int:
    """Return how many kilobytes (1,000 bytes) what words mean gets beside a head, with words of so many other languages.

    Arguments as of `choose_parts`: few texts cannot use all buckets.
    """
    spec = sentences or HEADS[_usual_head(data) if head == "auto" else head]()
    room = budget.ngram_room(spec)
    buckets = min(MOST_BUCKETS, _BUCKETS_AN_NGRAM * count()) if are_few(data.learned) else MOST_BUCKETS
    left = room - buckets * (len(data.labels) + 1)
    least = _LEAST_MEANING + others * _MEANING_A_LANGUAGE
    return min(max(room // _MEANING_SHARE, left, least), _MOST_MEANING) // 1000


def _usual_head(data: TrainingData) -> str:
    return PoolHead.name if data.are_few else CnnHead.name


def _least_room(budget: Budget, meaning: MeaningConfig | None) -> str:
    """Return which option makes room for the fewest n-grams beside the head linear, and with how many kilobytes."""
    if budget.ngram_kb is not None:
        return f"raise --ngram-kb (ngram_kb) to {math.ceil(_FEWEST_BUCKETS * (len(budget.labels) + 1) / 1000):,}"
    limits = range(budget.max_kb, 100_001)
    place = bisect.bisect_left(
        limits, True, key=lambda limit: dataclasses.replace(budget, max_kb=limit).buckets(LinearHead(), meaning) > 0
    )
    if place < len(limits):
        return f"raise --max-kb (max_kb) to {limits[place]:,}"
    return f"even --max-kb (max_kb) {limits[-1]:,} is too small"
