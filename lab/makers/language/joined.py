"""Measure `detect_spans` on joined sentences of two languages, and on two of one language, which must stay one span.

Texts: those of `measure` in the common languages, with which nothing was chosen.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import retvec_lite as rl
from benchmarks.common import result_path, write_results
from benchmarks.tables.cells import markdown_table
from makers.language.labels import COMMON, ROMANIZED
from makers.language.measure import mistyped, plain, share_text
from makers.language.sources import read_tests
from retvec_lite.spans import LanguageSpan

RATES: Final = (0.0, 0.5)
_TEXTS, _QUICK = 2000, 10


class Joined(NamedTuple):
    """Two sentences with a blank between them.

    Attributes:
        first, second: the sentences.
        tags: of both, without scripts.
    """

    first: str
    second: str
    tags: tuple[str, str]


def joined(file: Path | str, data: Path, *, quick: bool) -> None:
    """Write the table `language_spans`.

    Args:
        file: the detector.
        data: folder of the data sets.
        quick: a few texts; its table has a name of its own.
    """
    sentences: dict[str, list[str]] = {tag: [] for tag in COMMON}
    for found in read_tests(data).values():
        for tag, texts in found.items():
            sentences.get(plain(tag), []).extend(texts)
    detector = rl.load(file)
    limit = [tag for tag in detector.labels if plain(tag) in COMMON and tag not in ROMANIZED]
    count = _QUICK if quick else _TEXTS
    rows: list[dict[str, Any]] = []
    for name, limited in (("all languages", detector), ("limited to these", rl.load(file, languages=limit))):
        for rate in RATES:
            two = _scores(limited, draw_joined(sentences, count, same=False), rate)
            one = _scores(limited, draw_joined(sentences, count, same=True), rate)
            rows.append(
                {"answers": name, "rate": rate, "right": two[0], "cut": two[1], "one": 1 - one[2], "one_right": one[0]}
            )
    header = [
        f"{len(COMMON)} languages, {count:,} texts each", "mistyped", "two languages: characters right", "cut in two", "one language: not cut",
        "characters right",
    ]  # fmt: skip
    names = ("right", "cut", "one", "one_right")
    cells = [[row["answers"], f"{row['rate']:.0%}", *(share_text(row[name]) for name in names)] for row in rows]
    write_results(result_path("language_spans", quick=quick), rows, markdown_table(header, cells))


def draw_joined(sentences: dict[str, list[str]], count: int, *, same: bool) -> list[Joined]:
    """Draw pairs of sentences, of two languages or of the same one; every language is as likely."""
    rng = random.Random(0)
    tags = sorted(tag for tag, texts in sentences.items() if texts)
    drawn = []
    for _ in range(count):
        first, second = rng.choices(rng.sample(tags, 1), k=2) if same else rng.sample(tags, 2)
        drawn.append(Joined(rng.choice(sentences[first]), rng.choice(sentences[second]), (first, second)))
    return drawn


def right_characters(text: Joined, spans: Sequence[LanguageSpan]) -> float:
    """Return the share of the characters whose span has their language; the blank between the sentences does not count."""
    edge, end = len(text.first), len(text.first) + 1 + len(text.second)
    right = 0
    for (start, stop), tag in zip(((0, edge), (edge + 1, end)), text.tags, strict=True):
        right += sum(
            max(0, min(stop, span.end) - max(start, span.start)) for span in spans if plain(span.label or "") == tag
        )
    return right / (end - 1)


def _scores(detector: rl.Classifier, texts: Sequence[Joined], rate: float) -> tuple[float, float, float]:
    """Return the mean share of right characters, and the shares of the texts with two spans, and with several."""
    firsts, seconds = mistyped([text.first for text in texts], rate), mistyped([text.second for text in texts], rate)
    right, counts = [], []
    for text, first, second in zip(texts, firsts, seconds, strict=True):
        spans = rl.detect_spans(f"{first} {second}", detector)
        right.append(right_characters(Joined(first, second, text.tags), spans))
        counts.append(len(spans))
    total = len(texts)
    return sum(right) / total, counts.count(2) / total, sum(count > 1 for count in counts) / total
