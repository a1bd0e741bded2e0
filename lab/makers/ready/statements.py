"""Draw sentences of our own, which differ in little and have different labels: what collected texts lack.

Collected texts that name a group are mostly hateful, so a classifier that learns from them alone takes the group for the hate; collected
spam is old. Sentences that deny, quote or answer hate next to those that say it, and messages of banks next to those that pretend to be,
show what matters (counterfactual augmentation: Sen et al. 2022, https://aclanthology.org/2022.naacl-main.347).
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

Lists = Mapping[str, Sequence[str]]


def draw(name: str, counts: Mapping[str, int], seed: int) -> Iterator[tuple[str, str]]:
    """Yield sentences and their labels; some are the same.

    Args:
        name: of a file in the folder `statements`: one in another language than English ends in `-` and its code.
        counts: label -> how many.
        seed: of the draw.
    """
    lists, frames = read(name)
    english = "-" not in name
    rng = random.Random(seed)
    for label, count in counts.items():
        for _ in range(count):
            text = fill(rng.choice(frames[label]), lists, rng)
            text = with_article(text) if english else text
            if rng.random() < 0.5:
                text = text[0].upper() + text[1:]
            if rng.random() < 0.5 and text[-1] not in '.?!"':
                text += rng.choice("..!")
            yield text.lower() if rng.random() < 0.1 else text, label


def read(name: str) -> tuple[Lists, Mapping[str, Sequence[str]]]:
    """Read a file of statements: name -> what stands for it, and label -> frames with names in braces.

    A file in another language than English has the lists of the English one as well.
    """
    english, abroad, _ = name.partition("-")
    lists = {**read(english)[0]} if abroad else {}
    frames: dict[str, list[str]] = {}
    into: list[str] | None = None
    for line in (Path(__file__).parent / "statements" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("> "):
            into = frames.setdefault(line[2:], [])
        elif into is not None and line:
            into.append(line)
        elif line and not line.startswith("#"):
            key, _, words = line.partition(": ")
            lists[key] = words.split("; ")
    return lists, frames


def swapped(rows: Iterable[tuple[str, str]], name: str, *lists: str, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield texts and labels, and behind a text that names groups the same about another one: who is spoken of says nothing about the label.

    Args:
        rows: texts and labels.
        name: of a file of statements.
        lists: those of its lists that have names of groups, in the order in which they are looked for.
        seed: of the draw.
    """
    rng, groups = random.Random(seed), read(name)[0]
    # The longest name first: "African American" before "African".
    found = {
        key: re.compile(rf"(?i)\b(?:{'|'.join(sorted(map(re.escape, groups[key]), key=len, reverse=True))})\b")
        for key in lists
    }
    for text, label in rows:
        yield text, label
        key = next((key for key in lists if found[key].search(text)), None)
        if key:
            named = {group.lower() for group in found[key].findall(text)}
            others = dict(zip(sorted(named), rng.sample(groups[key], len(named)), strict=True))
            yield with_article(found[key].sub(lambda group, others=others: others[group[0].lower()], text)), label


def with_article(text: str) -> str:
    """Return an English text with "an" before a vowel where "a" stands, and "a" before other letters."""
    text = re.sub(r"\b([Aa]) (?=[AEIOUaeiou])", r"\1n ", text)
    return re.sub(r"\b([Aa])n (?=[BCDFGJKLPQRSTVWXYZbcdfgjklpqrstvwxyz])", r"\1 ", text)


def fill(frame: str, lists: Lists, rng: random.Random) -> str:
    """Return a frame in which a drawn word or phrase stands for every name."""
    while "{" in frame:
        frame = re.sub(r"\{(\w+)\}", lambda name: rng.choice(lists[name[1]]), frame)
    return frame
