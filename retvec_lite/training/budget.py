"""What a training makes room for in a file of limited size: the head, and the n-grams that fit beside it."""

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
from retvec_lite.training.codebooks import codebooks_in, is_crowded
from retvec_lite.training.examples import TrainingData
from retvec_lite.training.request import Request
from retvec_lite.training.settings import FEW

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


def choose_parts(
    data: TrainingData,
    request: Request,
    embedding: Mapping[str, Floats],
    count: Callable[[], int],
    meaning: MeaningConfig | None = None,
    pretrained: HeadSpec | None = None,
) -> tuple[HeadSpec, int]:
    """Return the head, and how many buckets of n-grams there is room for beside it and a table of what words mean.

    A `pretrained` head comes first. Otherwise few texts get the head `pool`, many get `cnn`. Many languages with many labels are better
    off with `pool` as well: the bytes that it saves are worth more as codebooks (docs/benchmarks.md). What does not fit into
    `request.max_kb` gives way to a smaller head. `count` counts the different n-grams of the texts, which takes time.

    Raises:
        RetvecLiteError: where nothing fits, or for the head linear without room for n-grams.
    """
    head, labels, multi_label = request.head, data.labels, data.scheme.multi_label
    decision = planned_decision(data)

    def shapes_of(head: HeadSpec) -> Shapes:
        return network_shapes(head, embedding, len(labels), data.config, meaning)

    if head == "auto":
        head = _usual_head(data)
        # Where the size of the table is given, a smaller head leaves it no more room.
        if head == CnnHead.name and len(labels) >= _MANY_LABELS and not multi_label and request.ngram_kb is None:
            buckets = choose_buckets(shapes_of(CnnHead()), data.config, labels, request, decision)
            if codebooks_in(buckets, len(labels)) < _WORTH_A_NETWORK and is_crowded(count(), buckets):
                head = PoolHead.name
    heads = _SMALLER[_SMALLER.index(head) :] if request.head == "auto" else (head,)
    needed = {}
    for spec in (*([pretrained] if pretrained else []), *(HEADS[name]() for name in heads)):
        shapes = shapes_of(spec)
        buckets = choose_buckets(shapes, data.config, labels, request, decision)
        if isinstance(spec, LinearHead) and not buckets:
            continue
        needed[spec] = _largest_file(with_ngrams(shapes, buckets, len(labels)), data.config, labels, decision)
        if needed[spec] <= 1000 * request.max_kb:
            return spec, buckets
    if not needed:
        raise RetvecLiteError(
            f"The head linear needs n-grams: for {len(labels):,} labels "
            f"{_least_room(shapes_of(LinearHead()), data.config, labels, request, decision)} (now {request.max_kb if request.ngram_kb is None else request.ngram_kb:,}), "
            "have fewer labels, or choose another head."
        )
    least = min(needed, key=lambda spec: needed[spec])
    raise RetvecLiteError(
        f"{len(labels):,} labels with the head {least.name} take up to {needed[least] / 1000:,.0f} kB in an int8 file, but max_kb is "
        f"{request.max_kb:,}. Raise --max-kb (max_kb) to {math.ceil(needed[least] / 1000):,}, have fewer labels, or choose a smaller "
        "--head, --ngram-kb or --embedding."
    )


def planned_decision(data: TrainingData) -> Decision:
    """Return a decision that takes as many bytes as that of the trained classifier."""
    digits = 0.12345678901234568
    if data.scheme.multi_label:
        return Decision(characters=data.characters, thresholds=(digits,) * len(data.labels))
    return Decision(threshold=digits, characters=data.characters)


def _largest_file(shapes: Shapes, encoder: EncoderConfig, labels: Sequence[str], decision: Decision) -> int:
    """Return the bytes of the largest file with integer weights, of all formats, and what is spared."""
    return max(estimate_files(shapes, encoder, labels, decision).values()) + _SPARE


def _least_room(
    network: Shapes, encoder: EncoderConfig, labels: Sequence[str], request: Request, decision: Decision
) -> str:
    """Return which option makes room for the fewest n-grams, and with how many kilobytes."""
    if request.ngram_kb is not None:
        return f"raise --ngram-kb (ngram_kb) to {math.ceil(_FEWEST_BUCKETS * (len(labels) + 1) / 1000):,}"
    limits = range(request.max_kb, 100_001)

    def has_room(kilobytes: int) -> bool:
        wider = dataclasses.replace(request, max_kb=kilobytes)
        return choose_buckets(network, encoder, labels, wider, decision) > 0

    place = bisect.bisect_left(limits, True, key=has_room)
    if place < len(limits):
        return f"raise --max-kb (max_kb) to {limits[place]:,}"
    return f"even --max-kb {limits[-1]:,} is too small"


def network_shapes(
    head: HeadSpec,
    embedding: Mapping[str, Floats],
    classes: int,
    encoder: EncoderConfig,
    meaning: MeaningConfig | None = None,
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all weights of a file but those of n-grams, which get what these leave."""
    shapes = dict(head.shapes(word_dimension(embedding, encoder.word_length), classes, encoder.max_words))
    shapes |= meaning_shapes(meaning, classes) if meaning else {}
    return shapes | {name: value.shape for name, value in embedding.items()}


def with_ngrams(network: Shapes, buckets: int, classes: int) -> Shapes:
    """Return the shapes of all weights of a file."""
    return {**network, **ngram_shapes(NgramConfig(buckets=buckets), classes)} if buckets else network


def choose_meaning_kb(
    data: TrainingData,
    request: Request,
    embedding: Mapping[str, Floats],
    count: Callable[[], int],
    others: int = 0,
    pretrained: HeadSpec | None = None,
) -> int:
    """Return how many kilobytes (1,000 bytes) what words mean gets beside a head, with words of so many other languages.

    `count` counts the different n-grams of the texts: few texts cannot use all buckets.
    """
    head = pretrained or HEADS[_usual_head(data) if request.head == "auto" else request.head]()
    network = network_shapes(head, embedding, len(data.labels), data.config)
    room = _ngram_room(network, data.config, data.labels, request, planned_decision(data))
    buckets = min(MOST_BUCKETS, _BUCKETS_AN_NGRAM * count()) if len(data.clean) <= FEW else MOST_BUCKETS
    left = room - buckets * (len(data.labels) + 1)
    least = _LEAST_MEANING + others * _MEANING_A_LANGUAGE
    return min(max(room // _MEANING_SHARE, left, least), _MOST_MEANING) // 1000


def _usual_head(data: TrainingData) -> str:
    return PoolHead.name if not data.scheme.multi_label and len(data.clean) <= FEW else CnnHead.name


def choose_buckets(
    network: Shapes,
    encoder: EncoderConfig,
    labels: Sequence[str],
    request: Request,
    decision: Decision = Decision(),  # noqa: B008
) -> int:
    """Return how many buckets of n-grams there is room for beside a network; 0 for none.

    Their table takes `ngram_kb` kilobytes (1,000 bytes); None fills the largest file, of all formats, up to `max_kb`.
    """
    buckets = min(_ngram_room(network, encoder, labels, request, decision) // (len(labels) + 1), MOST_BUCKETS)
    return buckets if buckets >= _FEWEST_BUCKETS else 0


def _ngram_room(
    network: Shapes, encoder: EncoderConfig, labels: Sequence[str], request: Request, decision: Decision
) -> int:
    """Return the bytes that there is room for in a table of n-grams."""
    if request.ngram_kb is not None:
        return 1000 * request.ngram_kb
    table = _FEWEST_BUCKETS * (len(labels) + 1)
    least = with_ngrams(network, _FEWEST_BUCKETS, len(labels))
    # A larger table may be padded by a few bytes more.
    room = 1000 * request.max_kb - (_largest_file(least, encoder, labels, decision) - table) - 2 * ALIGN
    if "meaning/rows" in network:
        return room
    # A byte for each weight of a matrix; vectors and positions are float32.
    matrices = {name for name, shape in network.items() if len(shape) > 1 and name != "head/positions"}
    weights = sum(math.prod(shape) * (1 if name in matrices else 4) for name, shape in network.items())
    return min(room, _MOST_WEIGHTS + 1000 * max(request.max_kb - USUAL_KB, 0) - weights)
