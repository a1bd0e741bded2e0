"""Labelled texts of an owner: their address, their licence, and how their files are read."""

import csv
import dataclasses
import html
import io
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.data.prepare import fetch

LONGEST: Final = 1_000
"""Characters that are kept of a text."""

Labelled = tuple[str, str]
"""A text, and its label; several are joined by `|`."""

Reader = Callable[[Path], Iterable[Labelled]]

_ENDING: Final = re.compile(r"(?<![\s.!])[\s.!]*\Z")
"""What is behind the last letter, sign or question mark of a text."""

_AMONG_OTHERS: Final = 0.2
_SHORT: Final = 10
"""Words of a short text."""


@dataclasses.dataclass(frozen=True)
class Source:
    """Labelled texts of an owner.

    Attributes:
        name: of its folder in the cache.
        page: where the owner describes it.
        licence: as the owner states it.
        files: addresses.
        read: returns texts and labels from the folder of the fetched files.
        longest: characters that are kept of a text.
    """

    name: str
    page: str
    licence: str
    files: tuple[str, ...]
    read: Reader
    longest: int = LONGEST

    def rows(self, cache: Path) -> list[Labelled]:
        """Return texts and labels, each text once; those whose copies have different labels are left out.

        Args:
            cache: folder of owners' files: what is missing is fetched.

        Raises:
            UnavailableError: a file cannot be fetched.
        """
        folder = cache / self.name
        for address in self.files:
            fetch(address, folder / address.rpartition("/")[2])
        found: dict[str, str | None] = {}
        for text, label in self.read(folder):
            text = cleaned(text)[: self.longest]
            if re.search(r"\w", text):
                found[text] = label if found.get(text, label) == label else None
        return [(text, label) for text, label in found.items() if label is not None]


def cleaned(text: str) -> str:
    """Return a text without HTML entities, control characters and doubled blanks."""
    text = html.unescape(html.unescape(text))
    return re.sub(r"\s+", " ", re.sub(r"[\x00-\x1f\x7f\ufffd\xa0]", " ", text)).strip()


def written_alike(rows: Sequence[Labelled], seed: int) -> list[Labelled]:
    """Return texts with one another's endings and capitals, so that "!!!" and shouting say nothing about a label.

    Full stops and exclamation marks at the end of a text go to another one; so does being in capitals.
    """
    rng = random.Random(seed)
    endings = [_ENDING.search(text)[0] for text, _ in rows]  # type: ignore[index]
    shouted = [text.isupper() for text, _ in rows]
    rng.shuffle(endings)
    rng.shuffle(shouted)
    found = []
    for (text, label), ending, shouts in zip(rows, endings, shouted, strict=True):
        text = _ENDING.sub("", text) + ending
        found.append((text.upper() if shouts else text.lower() if text.isupper() else text, label))
    return found


def told_among_others(rows: Sequence[Labelled], harmless: str, seed: int) -> list[Labelled]:
    """Return texts, every fifth of them behind or in front of a short one with the label `harmless`, so that friendly words hide nothing."""
    rng = random.Random(seed)
    short = [text for text, label in rows if label == harmless and len(text.split()) <= _SHORT]
    found = []
    for text, label in rows:
        if rng.random() < _AMONG_OTHERS:
            parts = [text, rng.choice(short)]
            rng.shuffle(parts)
            text = " ".join(part if part[-1] in ".!?…" else f"{part}." for part in parts)
        found.append((text, label))
    return found


def github(repository: str, commit: str, *paths: str) -> tuple[str, ...]:
    """Return the addresses of files of a repository at a commit, so that what is fetched is what was measured."""
    return tuple(f"https://raw.githubusercontent.com/{repository}/{commit}/{path}" for path in paths)


def table(path: Path, delimiter: str = ",") -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file by the names in its first row."""
    csv.field_size_limit(1 << 28)
    return csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig", "replace")), delimiter=delimiter)


def typed(name: str, language: str) -> Source:
    """Return texts of a language that somebody typed to measure with, without a look at those that are learned: a file in the folder `typed`."""
    return _own(f"typed/{name}", language)


def contrasts(name: str) -> Source:
    """Return sentences that we wrote one by one, hateful ones next to harmless ones with the same words: a file in the folder `contrasts`."""
    return _own(f"contrasts/{name}")


def _own(name: str, language: str = "") -> Source:
    path = Path(__file__).parent / f"{name}.tsv"

    def read(_: Path) -> Iterator[Labelled]:
        return ((row["text"], row["label"]) for row in table(path, "\t") if row.get("language", "") == language)

    return Source(name.replace("/", "_"), f"../../lab/makers/ready/{name}.tsv", "Apache-2.0", (), read)


def joined(text: str) -> str:
    """Return a text whose marks were cut off its words as people write it."""
    return re.sub(r"(\w) (n't|'s|'re|'ve|'ll|'d|'m)\b", r"\1\2", re.sub(r" +([.,!?;:%)])", r"\1", text)).replace(
        "( ", "("
    )
