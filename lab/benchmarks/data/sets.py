"""The data sets of the comparisons: training, validation and test texts."""

import csv
import random
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.common import require_data
from retvec_lite.data.dataset import Dataset, read_dataset, starter_file

FOLDERS: Final[Mapping[str, str]] = {
    "AG News": "ag_news",
    "SMS spam": "sms_spam",
    "Banking77": "banking77",
    "CLINC150": "clinc150",
    "MASSIVE": "massive",
    "Tatoeba": "tatoeba_langid",
}
"""Name -> folder. Sets in `MULTILINGUAL` have a column `lang`; the others may have a `dev.csv`."""

STARTER: Final = "starter data"
MULTILINGUAL: Final = ("MASSIVE", "Tatoeba")
VALIDATION_SHARE: Final = 0.1


@dataclass(frozen=True)
class Corpus:
    """A data set, the same for every system.

    Attributes:
        name: a key of `FOLDERS`, or `STARTER`.
        training: labelled texts to learn from.
        validation: labelled texts for early stopping and tuning: the data set's own, or a tenth of its training file.
        test: the test split.
        languages: the language of each test text; empty for data of one language.
    """

    name: str
    training: Dataset
    validation: Dataset
    test: Dataset
    languages: tuple[str, ...] = ()


def read_part(data: Path, name: str, part: str, rows: int = 0, *, language: str = "", **columns: Any) -> Dataset:
    """Read a file of a data set; the starter data come with the package.

    Args:
        data: the folder of all data sets.
        name: a key of `FOLDERS`, or `STARTER`.
        part: train, test or dev.
        rows: draw so many; 0 for all.
        language: what the column `lang` of the texts begins with, for a set of `MULTILINGUAL`; "" for all.
        **columns: of `read_dataset`.

    Raises:
        SystemExit: the file is missing.
    """
    if name == STARTER:
        found = read_dataset(starter_file(part))
    else:
        path = data / FOLDERS.get(name, name) / f"{part}.csv"
        require_data(path)
        found, languages = _read(path, name, **columns)
        if language:
            found = found.select([row for row, tag in enumerate(languages) if tag.startswith(language)])
    return found.select(sampled(len(found), rows))


def load_corpus(data: Path, name: str, *, per_language: int = 0, rows: int = 0, test_rows: int = 0) -> Corpus:
    """Read a data set.

    Args:
        data: the folder of all data sets.
        name: a key of `FOLDERS`, or `STARTER`.
        per_language: most training texts of each language of a multilingual data set; 0 for all.
        rows: most training texts; 0 for all.
        test_rows: most test texts; 0 for all.

    Raises:
        SystemExit: a file is missing, or a label of the test or dev split has no training text.
    """
    if name == STARTER:
        training, validation = read_part(data, name, "train", rows).split(VALIDATION_SHARE, 0)
        return Corpus(name, training, validation, read_part(data, name, "test", test_rows))
    folder = data / FOLDERS[name]
    for file in ("train.csv", "test.csv"):
        require_data(folder / file)
    training, languages = _read(folder / "train.csv", name)
    if per_language and languages:
        training = training.select(sampled_of_each(languages, per_language))
    training = training.select(sampled(len(training), rows))
    test, test_languages = _read(folder / "test.csv", name)
    chosen = sampled(len(test), test_rows)
    dev = folder / "dev.csv"
    validation = read_dataset(dev) if dev.is_file() else None
    unseen = sorted({*test.labels, *(validation.labels if validation else ())} - set(training.labels))
    if unseen:
        raise SystemExit(
            f"Label {unseen[0]!r} of {folder} has no text among the {len(training)} training texts, only in test or dev."
        )
    if validation is None:
        # One split for all seeds and systems: seeds measure the spread of training alone.
        training, validation = training.split(VALIDATION_SHARE, 0)
    return Corpus(
        name, training, validation, test.select(chosen), tuple(test_languages[row] for row in chosen if test_languages)
    )


def _read(path: Path, name: str, **columns: Any) -> tuple[Dataset, list[str]]:
    """Read texts and labels, checked as the product checks them, and languages if the set has them."""
    dataset = read_dataset(path, **columns)
    if name not in MULTILINGUAL:
        return dataset, []
    with path.open(encoding="utf-8", newline="") as file:
        languages = [row["lang"] for row in csv.DictReader(file)]
    if len(languages) != len(dataset):
        raise SystemExit(f"{path} has {len(dataset)} texts but {len(languages)} languages.")
    return dataset, languages


def sampled(count: int, at_most: int, seed: int = 0) -> list[int]:
    """Return row numbers drawn at random, in the order of the file; all of them for `at_most` 0."""
    if not at_most or count <= at_most:
        return list(range(count))
    # Python promises only that `random()` gives the same numbers in every version.
    draw = random.Random(seed).random
    return sorted(sorted(range(count), key=lambda _: draw())[:at_most])


def sampled_of_each(groups: Sequence[str], at_most: int, seed: int = 0) -> list[int]:
    """Return row numbers with at most so many of each group, in the order of the file; all of them for `at_most` 0.

    Each group has its own draw: MASSIVE's locales are translations of the same sentences, and with one draw for all a rare
    intent could be missing in every locale. Each seed draws anew.
    """
    members: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    return sorted(
        rows[place]
        for own_seed, rows in enumerate((members[group] for group in sorted(members)), seed * len(members))
        for place in sampled(len(rows), at_most, own_seed)
    )


def script_of(texts: Sequence[str]) -> str:
    """Return the script of most letters, as in Unicode character names: Latin, Cyrillic, Cjk; `None` without letters."""
    letters = Counter(character for text in texts for character in text if character.isalpha())
    scripts: Counter[str] = Counter()
    for character, count in letters.items():
        scripts[unicodedata.name(character, "UNKNOWN").split(" ")[0].split("-")[0]] += count
    return scripts.most_common(1)[0][0].capitalize() if scripts else "None"
