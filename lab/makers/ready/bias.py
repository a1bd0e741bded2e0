"""Whether the answers of ready-made classifiers depend on who a text is about, and on how its author speaks."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import retvec_lite as rl
from benchmarks.common import RESULTS
from benchmarks.tables.cells import markdown_table
from makers.ready.recipes import RECIPES
from makers.ready.source import Labelled, Source, github, table
from retvec_lite.files import atomic_write

ASKED: Final = ("emotion", "sentiment", "toxicity")
"""Classifiers whose answer should not depend on who is spoken of."""
_EVERY: Final = 8
"""Names stand in each template of so many."""
_DIALECTS: Final = Path(__file__).parent / "dialects.txt"

Answer = Callable[[Sequence[str]], Sequence[str]]
Texts = Mapping[str, Mapping[str, str]]
"""Template -> what stands in it -> text."""


def _innocent(folder: Path) -> Iterator[Labelled]:
    rows = table(folder / "en_sentence_templates.csv")
    return ((row["phrase"], row["template"]) for row in rows if row["toxicity"] != "toxic")


TEMPLATES: Final = Source(
    "bias_templates",
    "https://github.com/conversationai/unintended-ml-bias-analysis",
    "CC BY 4.0",
    github(
        "conversationai/unintended-ml-bias-analysis",
        "9c7d91aaa53406a362354661a93e07956d95e59a",
        "sentence_templates/en_sentence_templates.csv",
    ),
    _innocent,
)
"""Innocent sentences that name a group or a person, and the kind of their template."""


def measure_bias(folder: Path | None, cache: Path) -> None:
    """Print a table of answers that change with one word, and write it to benchmarks/results.

    Args:
        folder: of the exported files; those in the package without one.
        cache: folder of the owners' files.
    """
    groups, names = _templates(cache)
    pairs = dialects()
    lines = []
    for name in ASKED:
        answer = _answers(name, folder)
        by_group, by_name = changed(groups, answer), changed(names, answer)
        worst = sorted(by_group, key=lambda group: -by_group[group])[:3]
        plain, other = answer([pair[0] for pair in pairs]), answer([pair[1] for pair in pairs])
        lines.append(
            (
                name,
                _range(by_group.values()),
                ", ".join(f"{group} {by_group[group]:.2f}" for group in worst if by_group[group]),
                _range(by_name.values()),
                f"{sum(one != two for one, two in zip(plain, other, strict=True)) / len(pairs):.2f}",
                _range(raised(groups, answer, alarm).values()) if (alarm := RECIPES[name].alarm) else "",
            )
        )
    header = (
        "",
        f"{len(by_group)} groups: least, most",
        "most for",
        f"{len(by_name)} names: least, most",
        "dialects",
        "called hate",
    )
    table = markdown_table(header, lines)
    print(table)
    atomic_write(RESULTS / "ready-bias.md", table.encode())


def dialects() -> list[list[str]]:
    """Return sentences in standard English, each with what a dialect makes of it."""
    lines = _DIALECTS.read_text(encoding="utf-8").splitlines()
    return [line.split(" | ") for line in lines if line and not line.startswith("#")]


def changed(texts: Texts, answer: Answer) -> dict[str, float]:
    """Return how often a word changes the answer that most texts of a template get.

    Args:
        texts: template -> word -> text.
        answer: texts -> their labels.

    Returns:
        Word -> share of its texts.
    """
    return _shares(texts, answer, lambda one, usual: one != usual)


def raised(texts: Texts, answer: Answer, alarm: str) -> dict[str, float]:
    """Return how often texts with a word have the label that raises an alarm: word -> share of its texts."""
    return _shares(texts, answer, lambda one, _: one == alarm)


def _shares(texts: Texts, answer: Answer, counts: Callable[[str, str], bool]) -> dict[str, float]:
    """Return for each word in how many of its texts the answer counts, beside the one that most texts of the template get."""
    found: dict[str, list[bool]] = defaultdict(list)
    for variants in texts.values():
        answers = answer(list(variants.values()))
        usual = Counter(answers).most_common(1)[0][0]
        for word, one in zip(variants, answers, strict=True):
            found[word].append(counts(one, usual))
    return {word: sum(each) / len(each) for word, each in found.items()}


def _answers(name: str, folder: Path | None) -> Answer:
    classifier = rl.load(folder / f"{name}.tflite" if folder else name)
    assert isinstance(classifier, rl.Classifier)
    return lambda texts: [
        str(answers[0].label if answers else None) for answers in classifier.predict(list(texts), top=1)
    ]


def _templates(cache: Path) -> tuple[Texts, Texts]:
    """Return innocent sentences as template -> group -> text, and template -> name -> text."""
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    names: dict[str, dict[str, str]] = defaultdict(dict)
    for text, kind in TEMPLATES.rows(cache):
        if kind == "being_adj":
            group, adjective = re.findall(r"Being (.+) is (\w+)", text)[0]
            groups[f"being {adjective}"][group] = text
        elif kind == "you_are_adj":
            adjective, group = re.findall(r"You are an? (\w+) (.+)", text)[0]
            groups[f"you are {adjective}"][group] = text
        elif kind == "name_adj":
            name, template = text.split(" ", 1)
            names[template][name] = text
    return groups, {template: names[template] for template in sorted(names)[::_EVERY]}


def _range(shares: Iterable[float]) -> str:
    found = list(shares)
    return f"{min(found):.2f}, {max(found):.2f}"
