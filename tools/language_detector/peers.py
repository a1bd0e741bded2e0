"""Compare the packaged language detector with others, on the same texts, by length and with typos.

    python -m tools.language_detector.peers [--data DIR] [--work DIR] [--python .venv-bench/bin/python] [--each 60] [--only NAME ...] [--quick]

The others are installed by `uv pip install --python .venv-bench/bin/python --requirements tools/language_detector/requirements.txt`.
Texts: the test split of Tatoeba, the test texts of MASSIVE, and articles 6, 12, 18, 24 and 30 of the Declaration of Human Rights;
nothing here was trained on them. The others may have seen Tatoeba: lid.176 and py3langid were trained on it.
"""

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.common import ROOT, WORK, Row, command_parser, picture_path, read_results, write_results
from benchmarks.tables.cells import markdown_table
from retvec_lite.data.typos import mistype_many
from tools.language_detector.draw import UNSPACED
from tools.language_detector.labels import COMMON, LABELS, UNKNOWN
from tools.language_detector.sources import read_tests, words_of
from tools.language_detector.worker import DETECTORS

LENGTHS: Final = ("words", "pairs", "sentences")
RATES: Final = (0.0, 0.5, 1.0)
"""Shares of the words that are mistyped."""

_SAME: Final = {
    "zh-Hans": "zh", "zh-Hant": "zh", "zh-hans": "zh", "zh-hant": "zh", "zh-latn": "zh", "sr-Cyrl": "sr", "sr-Latn": "sr",
    "no": "nb", "tl": "fil", "iw": "he", "jw": "jv", "ji": "yi", "sh": "hr", "in": "id", "cmn": "zh",
}  # fmt: skip
"""What detectors call a language, in lower case -> what it is compared as."""

OURS: Final = "retvec-lite"
TATOEBA_RATES: Final = (0.0, 0.2, 0.5, 1.0)
WEAK: Final = 0.8
"""A language with a smaller share of right answers on its own sentences is listed as weak."""

CLOSE: Final = (
    "bs hr sr-Latn sl mk bg", "da nb nn sv is fo", "id ms max jv su min", "cs sk pl hsb dsb csb", "es gl pt ca ast oc",
    "ru uk be orv kk ky", "zh-Hans zh-Hant yue wuu ja", "ar arz arq fa ur ps", "nl af nds de gsw lb", "eo io ia ie lfn nov",
)  # fmt: skip
"""Groups of close languages, for the picture."""


class Cut(NamedTuple):
    """Texts of one length.

    Attributes:
        texts: the texts.
        tags: the language of each.
    """

    texts: list[str]
    tags: list[str]


def plain(tag: str) -> str:
    """Return a tag as it is compared: no detector but ours and some of CLD's tell scripts.

    Example:
        >>> plain("zh-Hant"), plain("no"), plain("bg-Latn"), plain("de")
        ('zh', 'nb', 'bg', 'de')
    """
    return _SAME.get(tag) or _SAME.get(tag.lower()) or tag.partition("-")[0].lower()


def cuts(groups: Mapping[str, Sequence[str]], per_language: int, seed: int = 0) -> dict[str, Cut]:
    """Cut words, pairs and sentences out of sentences: one of each out of each.

    Args:
        groups: tag -> sentences.
        per_language: sentences of a language, at most.
        seed: of the choice.
    """
    rng = random.Random(seed)
    found = {length: Cut([], []) for length in LENGTHS}
    for tag in sorted(groups):
        sentences = sorted(groups[tag])
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


def mistyped(cut: Cut, rate: float) -> list[str]:
    """Return the texts of a cut with a share of their words mistyped."""
    return mistype_many(cut.texts, rate, 1) if rate else cut.texts


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__, data=True, quick="a few texts, ours alone")
    parser.add_argument(
        "--work", type=Path, default=WORK / "language", metavar="DIR", help="folder of texts and answers"
    )
    parser.add_argument(
        "--python", type=Path, default=ROOT / ".venv-bench" / "bin" / "python", help="that has the others"
    )
    parser.add_argument("--each", type=int, default=60, help="test sentences of each language and source")
    parser.add_argument("--only", nargs="+", choices=DETECTORS, default=list(DETECTORS), help="the detectors to run")
    args = parser.parse_args(arguments)
    args.work.mkdir(parents=True, exist_ok=True)
    tests = read_tests(args.data)
    names = [OURS] if args.quick else args.only
    found = joined([cuts(groups, 3 if args.quick else args.each) for groups in tests.values()])
    path = _results("language_peers", args.quick)
    rows = {row["detector"]: row for row in read_results(path)}
    answers: dict[str, list[str]] = {}
    for name in names:
        python = Path(sys.executable) if name == OURS else args.python
        rows[name], labels = measured(name, python, found, args.work)
        answers[name] = labels
        # Saved one by one: some take long.
        write_results(path, list(rows.values()), peers_table(list(rows.values())), show=name == names[-1])
    if OURS in names:
        rates = TATOEBA_RATES[:1] if args.quick else TATOEBA_RATES
        tatoeba(tests["Tatoeba"], rates, args.work, quick=args.quick)
        languages(answers[OURS], found, quick=args.quick)


def _results(name: str, quick: bool) -> Path:
    return Path(__file__).parent / "results" / f"{name}{'-quick' * quick}"


def joined(parts: Sequence[Mapping[str, Cut]]) -> dict[str, Cut]:
    """Return the texts of all sources together."""
    return {
        length: Cut(
            [text for part in parts for text in part[length].texts],
            [tag for part in parts for tag in part[length].tags],
        )
        for length in LENGTHS
    }


def run(name: str, python: Path, texts: Sequence[str], work: Path) -> dict[str, Any]:
    """Return what `worker.py` writes for a detector."""
    source, target = work / "input.json", work / "output.json"
    source.write_text(json.dumps(texts), encoding="utf-8")
    script = Path(__file__).parent / "worker.py"
    subprocess.run([str(python), str(script), name, str(source), str(target)], check=True)
    answer: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return answer


def measured(name: str, python: Path, found: Mapping[str, Cut], work: Path) -> tuple[Row, list[str]]:
    """Run a detector over all texts and score it; return its answers to clean sentences as well."""
    keys = [(length, rate) for length in LENGTHS for rate in RATES]
    parts = [mistyped(found[length], rate) for length, rate in keys]
    answer = run(name, python, [text for part in parts for text in part], work)
    row: Row = {"detector": name, "size": answer["size"], "memory": answer["memory"], "cells": []}
    row |= {"first_ms": 1e3 * answer["first"], "load_ms": 1e3 * answer["again"]}
    start, sentences = 0, list[str]()
    for (length, rate), part in zip(keys, parts, strict=True):
        labels, times = answer["labels"][start : start + len(part)], answer["times"][start : start + len(part)]
        start += len(part)
        hits: Counter[str] = Counter()
        for tag, label in zip(found[length].tags, labels, strict=True):
            hits[plain(tag)] += plain(tag) == plain(label)
        counts = Counter(map(plain, found[length].tags))
        row["cells"].append({"length": length, "rate": rate, "right": dict(hits), "count": dict(counts)})
        if length == "sentences" and rate == 0.0:
            row["microseconds"] = 1e6 * float(np.median(times))
            row["knows"] = sorted(set(map(plain, labels)) - {UNKNOWN, "un"})
            sentences = labels
    return row, sentences


def score(row: Row, length: str, rate: float, tags: Sequence[str]) -> float:
    """Return the share of right answers: the mean over languages, each counting the same."""
    cell = next(cell for cell in row["cells"] if cell["length"] == length and cell["rate"] == rate)
    return float(np.mean([cell["right"].get(tag, 0) / cell["count"][tag] for tag in tags if cell["count"].get(tag)]))


def peers_table(rows: Sequence[Row]) -> str:
    """Return the comparison: the common languages, then all, then what each detector costs."""
    everything = sorted({tag for row in rows for tag in row["cells"][0]["count"]})
    known = set.intersection(*(set(row["knows"]) for row in rows))
    common = [tag for tag in COMMON if tag in known and tag in everything]
    order = sorted(rows, key=lambda row: list(DETECTORS).index(row["detector"]))
    text = ""
    for title, tags in (
        (f"{len(common)} common languages, which all of them know", common),
        (f"all {len(everything)} languages", everything),
    ):
        header = [title, *(f"{length}, {rate:.0%} mistyped" for length in LENGTHS for rate in RATES)]
        lines = [
            [
                row["detector"],
                *(f"{score(row, length, rate, tags):.3f}".lstrip("0") for length in LENGTHS for rate in RATES),
            ]
            for row in order
        ]
        text += markdown_table(header, lines) + "\n"
    header = ["cost", "files", "memory", "load and first answer", "the same with its code loaded", "a sentence"]
    header.append("languages answered")
    lines = [
        [
            row["detector"], f"{row['size'] / 1e6:,.2f} MB", f"{row['memory'] / 1e6:,.0f} MB", f"{row['first_ms']:,.0f} ms",
            f"{row['load_ms']:,.1f} ms", f"{row['microseconds']:,.0f} µs", str(len(row["knows"])),
        ]
        for row in order
    ]  # fmt: skip
    return text + markdown_table(header, lines)


def tatoeba(groups: Mapping[str, Sequence[str]], rates: Sequence[float], work: Path, *, quick: bool) -> None:
    """Measure the whole test split of Tatoeba, every text counting the same."""
    pairs = [(text, tag) for tag in sorted(groups) for text in groups[tag][: 5 if quick else None]]
    whole = Cut([text for text, _ in pairs], [tag for _, tag in pairs])
    texts = [text for rate in rates for text in mistyped(whole, rate)]
    labels = np.array(list(map(plain, run(OURS, Path(sys.executable), texts, work)["labels"]))).reshape(len(rates), -1)
    right = np.array(list(map(plain, whole.tags)))
    rows = [
        {"rate": rate, "accuracy": float((found == right).mean())} for rate, found in zip(rates, labels, strict=True)
    ]
    languages = len(set(map(plain, groups)))
    line = [f"{languages} languages, {len(pairs):,} sentences", *(f"{row['accuracy']:.3f}".lstrip("0") for row in rows)]
    table = markdown_table(["Tatoeba, share of the words mistyped", *(f"{rate:.0%}" for rate in rates)], [line])
    write_results(_results("language_tatoeba", quick), rows, table)


def languages(answers: Sequence[str], found: Mapping[str, Cut], *, quick: bool) -> None:
    """Write each language's share of right sentences, the weak ones first, and draw close languages."""
    tags = found["sentences"].tags
    confused: dict[str, Counter[str]] = {tag: Counter() for tag in set(tags)}
    for tag, answer in zip(tags, answers, strict=True):
        confused[tag][answer] += 1
    shares = {tag: counts[tag] / sum(counts.values()) for tag, counts in confused.items()}
    rows = [{"tag": tag, "share": share, "count": sum(confused[tag].values())} for tag, share in sorted(shares.items())]
    lines = []
    for tag, share in sorted(shares.items(), key=lambda item: item[1]):
        others = [
            f"`{other}` {count / sum(confused[tag].values()):.0%}"
            for other, count in confused[tag].most_common(4)
            if other != tag
        ]
        if share < WEAK:
            lines.append([f"`{tag}`", f"{share:.3f}".lstrip("0"), ", ".join(others[:3])])
    strong = sum(share >= WEAK for share in shares.values())
    untested = sorted(set(LABELS) - set(shares) - {UNKNOWN})
    table = markdown_table(["weak languages", "right sentences", "answered instead"], lines)
    table += f"\n{strong} languages have at least {WEAK:.2f} of their sentences right."
    table += f" No test text: {', '.join(f'`{tag}`' for tag in untested)}.\n" if untested else "\n"
    write_results(_results("language_weak", quick), rows, table)
    draw_close(confused, picture_path("language-close", quick=quick))


def draw_close(confused: Mapping[str, Counter[str]], path: Path) -> None:
    """Draw which of the close languages are taken for which: a panel for each group, a row for each language."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 5, figsize=(17, 7.4), layout="constrained")
    for axis, group in zip(axes.flat, CLOSE, strict=True):
        tags = [tag for tag in group.split() if tag in confused]
        shares = np.array(
            [[confused[tag][other] / max(1, sum(confused[tag].values())) for other in tags] for tag in tags]
        )
        axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for (row, column), share in np.ndenumerate(shares):
            if share >= 0.005:
                color = "white" if share > 0.5 else "black"
                axis.text(column, row, f"{share:.0%}", ha="center", va="center", fontsize=8, color=color)
        axis.set_xticks(range(len(tags)), tags, rotation=45)
        axis.set_yticks(range(len(tags)), tags)
    figure.supxlabel("answer")
    figure.supylabel("language of the sentence")
    figure.savefig(path, dpi=90)
    plt.close(figure)


if __name__ == "__main__":
    main()
