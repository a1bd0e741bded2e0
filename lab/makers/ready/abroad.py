"""Texts in other languages than English that are hateful, offensive or neither."""

import csv
import io
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import retvec_lite as rl
from benchmarks.common import ROOT
from makers.meaning.corpus import read_lines
from makers.meaning.translations import split_pairs, translation_files
from makers.ready.abuse import typed
from makers.ready.source import Labelled, Reader, Source, cleaned, github, table
from makers.ready.statements import draw

LANGUAGES: Final = ("de", "es", "fr", "it", "pt")
EITHER: Final = "hate|offensive"
"""What tests say where the owner's labels do not tell these apart as ours do: both are right."""
_DRAWN: Final = {"hate": 10_000, "none": 16_000, "offensive": 3_000}
"""How many statements there are of each label, in each language."""
_SEED: Final = 5
_WORDS: Final = range(3, 31)
"""How many words a translated sentence has."""
_TESTED: Final = 5
"""Where the owner has no split, one text of so many is for tests."""


def _statements(_: Path) -> Iterator[Labelled]:
    return (row for language in LANGUAGES for row in draw(f"groups-{language}", _DRAWN, _SEED))


def harmless(folder: Path, language: str, count: int) -> list[str]:
    """Draw sentences whose English translation `toxicity` finds neither hateful nor offensive.

    Args:
        folder: of files of translations: English, a tab, the other language.
        language: of the sentences.
        count: how many pairs are drawn.

    Raises:
        RetvecLiteError: for a folder without translations of the language.
    """
    lines = read_lines(translation_files(folder, language), lambda *_: None)
    pairs = [(english, cleaned(text)) for english, text in split_pairs(lines)]
    pairs = [pair for pair in pairs if len(pair[1].split()) in _WORDS and pair[1][-1] in ".?!"]
    drawn = random.Random(_SEED).sample(pairs, min(count, len(pairs)))
    judge = rl.load(ROOT / "models" / "retvec_lite_models" / "toxicity.tflite")
    answers = judge.predict([english for english, _ in drawn], top=1)
    return [text for (_, text), (answer,) in zip(drawn, answers, strict=True) if answer.label is None]


def _part(read: Reader, *, test: bool) -> Reader:
    return lambda folder: (row for place, row in enumerate(read(folder)) if (place % _TESTED == 0) == test)


def _either(read: Reader) -> Reader:
    return lambda folder: ((text, label if label == "none" else EITHER) for text, label in read(folder))


def _german(name: str) -> Reader:
    """German tweets: abuse is said of groups."""
    meant = {"ABUSE": "hate", "INSULT": "offensive", "PROFANITY": "offensive", "OTHER": "none"}

    def read(folder: Path) -> Iterator[Labelled]:
        for line in (folder / f"germeval2018.{name}.txt").read_text(encoding="utf-8-sig").splitlines():
            text, _, kind = line.split("\t")
            yield text, meant[kind]

    return read


def _adversarial(folder: Path) -> Iterator[Labelled]:
    """German sentences that people wrote to mislead a classifier, and others that differ in little."""
    return ((row["text"], "hate" if row["label"] == "1" else "none") for row in table(folder / "gahd.csv"))


def _brazilian(folder: Path) -> Iterator[Labelled]:
    """Portuguese tweets that three people judged: those on which two agree."""
    for row in table(folder / "ToLD-BR.csv"):
        groups = [float(row[name]) for name in ("homophobia", "racism", "misogyny", "xenophobia")]
        votes = [*groups, float(row["obscene"]), float(row["insult"])]
        if max(votes) != 1:
            yield row["text"], "none" if not sum(votes) else "hate" if max(groups) >= 2 else "offensive"


def _french(folder: Path) -> Iterator[Labelled]:
    """French tweets, from an archive, where annotators found them normal, hateful or offensive."""
    with zipfile.ZipFile(folder / "hate_speech_mlma.zip") as archive:
        text = archive.read("hate_speech_mlma/fr_dataset.csv").decode("utf-8-sig")
    for row in csv.DictReader(io.StringIO(text)):
        kinds = row["sentiment"].split("_")
        label = "hate" if "hateful" in kinds else "offensive" if "offensive" in kinds else ""
        if label or kinds == ["normal"]:
            yield row["tweet"], label or "none"


def _functional(language: str) -> Source:
    def read(folder: Path) -> Iterator[Labelled]:
        rows = table(folder / f"hatecheck_cases_final_{language}.csv")
        return ((row["test_case"], "hate" if row["label_gold"] == "hateful" else "none") for row in rows)

    path = f"MHC%20Final%20Cases/hatecheck_cases_final_{language}.csv"
    return _owned(
        "rewire-online/multilingual-hatecheck", "CC BY 4.0", read, "a03f2caf2023a402d85064bda243e46d280408f0", path
    )


def _owned(owner: str, licence: str, read: Reader, commit: str, path: str) -> Source:
    """Return a file of an owner's repository at a commit."""
    name = owner.rpartition("/")[2].lower().replace("-", "_")
    return Source(name, f"https://github.com/{owner}", licence, github(owner, commit, path), read)


def _germeval(name: str, read: Reader) -> Source:
    commit = "9877472d39523effd54cd079b4c61157ed141508"
    return _owned("uds-lsv/GermEval-2018-Data", "CC BY 4.0", read, commit, f"germeval2018.{name}.txt")


def _told(read: Reader) -> Source:
    return _owned("JAugusto97/ToLD-Br", "CC BY-SA 4.0", read, "7804082d06a42b791c456b37a8a80ed9b731198c", "ToLD-BR.csv")


TOXICITY_ABROAD: Final = (
    Source("statements_abroad", "../../lab/makers/ready/statements", "Apache-2.0", (), _statements),
    _germeval("training", _german("training")),
    _owned("jagol/gahd", "CC BY 4.0", _adversarial, "2a4e919d5208d99a885824c63583d898d02ca1a1", "gahd.csv"),
    _told(_part(_brazilian, test=False)),
    _owned(
        "HKUST-KnowComp/MLMA_hate_speech",
        "MIT",
        _french,
        "479836984aebfbd8a0270ca92018980f745e4c44",
        "hate_speech_mlma.zip",
    ),
)
TOXICITY_TESTS_ABROAD: Final = {
    "de": _germeval("test", _either(_german("test"))),
    "pt": _told(_either(_part(_brazilian, test=True))),
    **{
        f"{code}, functional": _functional(language)
        for code, language in {
            "de": "german",
            "es": "spanish",
            "fr": "french",
            "it": "italian",
            "pt": "portuguese",
        }.items()
    },
    **{f"{language}, typed": typed(language) for language in LANGUAGES},
}
"""By language: texts of the owners above that nobody learned from, functional tests of others, and typed comments."""
