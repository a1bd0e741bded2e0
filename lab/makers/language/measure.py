"""Measure the packaged language detector by length of the text and with typos, and say which languages are weak.

Texts: the test split of Tatoeba, the test texts of MASSIVE, and articles 6, 12, 18, 24 and 30 of the Declaration of Human Rights;
nothing here was trained on them.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import retvec_lite as rl
from benchmarks.common import result_path, write_results
from benchmarks.tables.cells import markdown_table
from makers.language.draw import UNSPACED
from makers.language.labels import COMMON, LABELS, UNKNOWN
from makers.language.sources import read_tests, words_of
from retvec_lite.data.typos import mistype_many

LENGTHS: Final = ("words", "pairs", "sentences")
RATES: Final = (0.0, 0.5, 1.0)
"""Shares of the words that are mistyped."""
TATOEBA_RATES: Final = (0.0, 0.2, 0.5, 1.0)
WEAK: Final = 0.8
"""A language with a smaller share of right answers on its own sentences is listed as weak."""
_EACH: Final = 60
"""Test sentences of each language and source."""


class Cut(NamedTuple):
    """Texts of one length, and the language of each."""

    texts: list[str]
    tags: list[str]


def measure(file: Path | str, data: Path, *, quick: bool) -> None:
    """Write the tables of Tatoeba and of weak languages, and print both with the accuracy by length.

    Args:
        file: the detector.
        data: folder of the data sets.
        quick: a few texts; its tables have names of their own.
    """
    detector = rl.load(file)

    def answers(texts: Sequence[str]) -> list[str]:
        return [found[0].label or UNKNOWN for found in detector.predict_many(texts, top=1)]

    tests = read_tests(data)
    found = cuts(tests.values(), 3 if quick else _EACH)
    for length in LENGTHS:
        shares = []
        for rate in RATES:
            right = shares_of(found[length].tags, answers(mistyped(found[length].texts, rate)))
            common = [share for tag, share in right.items() if plain(tag) in COMMON]
            shares.append(f"{sum(common) / len(common):.3f} / {sum(right.values()) / len(right):.3f}")
        print(
            f"{length}: common / all languages, {', '.join(map('{:.0%}'.format, RATES))} mistyped: {', '.join(shares)}"
        )
    sentences = found["sentences"]
    _write_weak(sentences.tags, answers(sentences.texts), quick=quick)
    pairs = [(text, tag) for tag, texts in sorted(tests["Tatoeba"].items()) for text in texts[: 5 if quick else None]]
    texts, tags = [text for text, _ in pairs], [plain(tag) for _, tag in pairs]
    rows = []
    for rate in TATOEBA_RATES[: 1 if quick else None]:
        labels = map(plain, answers(mistyped(texts, rate)))
        hits = sum(tag == label for tag, label in zip(tags, labels, strict=True))
        rows.append({"rate": rate, "accuracy": hits / len(tags)})
    header = ["Tatoeba, share of the words mistyped", *(f"{row['rate']:.0%}" for row in rows)]
    cells = [f"{len(set(tags))} languages, {len(tags):,} sentences", *(share_text(row["accuracy"]) for row in rows)]
    write_results(result_path("language_tatoeba", quick=quick), rows, markdown_table(header, [cells]))


def plain(tag: str) -> str:
    """Return a tag without its script.

    Example:
        >>> plain("zh-Hant"), plain("de")
        ('zh', 'de')
    """
    return tag.partition("-")[0]


def cuts(groups: Iterable[Mapping[str, Sequence[str]]], per_language: int) -> dict[str, Cut]:
    """Cut words, pairs and sentences out of sentences: one of each out of each.

    Args:
        groups: of each source, tag -> sentences.
        per_language: sentences of a language and source, at most.
    """
    found = {length: Cut([], []) for length in LENGTHS}
    for sentences_of in groups:
        rng = random.Random(0)
        for tag in sorted(sentences_of):
            sentences = sorted(sentences_of[tag])
            for text in rng.sample(sentences, min(per_language, len(sentences))):
                for length, part in zip(LENGTHS, _parts(tag, text, rng), strict=True):
                    if part:
                        found[length].texts.append(part)
                        found[length].tags.append(tag)
    return found


def _parts(tag: str, text: str, rng: random.Random) -> tuple[str, str, str]:
    """Return a word, a pair and the sentence; where there are no spaces, two and four characters stand for words."""
    if tag in UNSPACED:
        start = rng.randrange(max(1, len(text) - 3))
        return text[start : start + 2].strip(), text[start : start + 4].strip(), text
    words = words_of(text)
    start = rng.randrange(max(1, len(words) - 1))
    return (rng.choice(words), " ".join(words[start : start + 2]), text) if len(words) > 1 else ("", "", text)


def mistyped(texts: Sequence[str], rate: float) -> list[str]:
    """Return texts with a share of their words mistyped."""
    return mistype_many(texts, rate, 1) if rate else list(texts)


def shares_of(tags: Sequence[str], labels: Sequence[str]) -> dict[str, float]:
    """Return the share of right answers of each language; scripts do not count."""
    right: Counter[str] = Counter()
    for tag, label in zip(tags, labels, strict=True):
        right[tag] += plain(tag) == plain(label)
    return {tag: right[tag] / count for tag, count in Counter(tags).items()}


def _write_weak(tags: Sequence[str], labels: Sequence[str], *, quick: bool) -> None:
    """Write each language's share of right sentences, the weak ones first, with what was answered instead."""
    answered: dict[str, Counter[str]] = {tag: Counter() for tag in sorted(set(tags))}
    for tag, label in zip(tags, labels, strict=True):
        answered[tag][label] += 1
    rows: list[dict[str, Any]] = [
        {"tag": tag, "share": counts[tag] / counts.total(), "count": counts.total()} for tag, counts in answered.items()
    ]
    lines = []
    for row in sorted(rows, key=lambda row: row["share"]):
        if row["share"] < WEAK:
            others = [pair for pair in answered[row["tag"]].most_common(4) if pair[0] != row["tag"]][:3]
            instead = ", ".join(f"`{other}` {count / row['count']:.0%}" for other, count in others)
            lines.append([f"`{row['tag']}`", share_text(row["share"]), instead])
    strong = sum(row["share"] >= WEAK for row in rows)
    untested = sorted(set(LABELS) - set(answered) - {UNKNOWN})
    table = markdown_table(["weak languages", "right sentences", "answered instead"], lines)
    table += f"\n{strong} languages have at least {WEAK:.2f} of their sentences right."
    table += f" No test text: {', '.join(f'`{tag}`' for tag in untested)}.\n" if untested else "\n"
    write_results(result_path("language_weak", quick=quick), rows, table)


def share_text(share: float) -> str:
    """Return a share as tables have it, such as `.912`."""
    return f"{share:.3f}".lstrip("0")
