"""Texts in other languages than English that are hateful, offensive or neither."""

import csv
import io
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from makers.ready.source import Labelled, Reader, Source, github, table
from makers.ready.statements import draw

LANGUAGES: Final = ("de", "es", "fr", "it", "pt")
"""Those in which we wrote sentences."""
_DRAWN: Final = {"hate": 2_500, "none": 2_500, "offensive": 500}
"""How many statements there are of each label in a language."""
_SEED: Final = 5
_TESTED: Final = 5
"""Where the owner has no split, one text of so many is for tests."""
EITHER: Final = "hate|offensive"
"""What tests say where the owner's labels do not tell these apart as ours do: both are right."""


def _statements(_: Path) -> Iterator[Labelled]:
    return (row for language in LANGUAGES for row in draw(f"groups-{language}", _DRAWN, _SEED))


def _tested(read: Reader, *, test: bool) -> Reader:
    """Return a reader of the part for tests or of the other part; hate is hate or offence in tests."""

    def rows(folder: Path) -> Iterator[Labelled]:
        for place, (text, label) in enumerate(read(folder)):
            if (place % _TESTED == 0) == test:
                yield text, label if not test or label == "none" else EITHER

    return rows


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()


def _germeval(name: str, *, test: bool) -> Reader:
    """German tweets: what is said of a group is hate, insults and profanity are offence."""
    meant = {"ABUSE": "hate", "INSULT": "offensive", "PROFANITY": "offensive", "OTHER": "none"}

    def read(folder: Path) -> Iterator[Labelled]:
        for line in _lines(folder / name):
            text, _, kind = line.split("\t")
            yield text, EITHER if test and kind != "OTHER" else meant[kind]

    return read


def _adversarial(*splits: str) -> Reader:
    """German sentences that people wrote to mislead a classifier, and others that differ in little."""
    return lambda folder: (
        (row["text"], "hate" if row["label"] == "1" else "none")
        for row in table(folder / "gahd.csv")
        if row["split"] in splits
    )


_GROUPS: Final = ("homophobia", "racism", "misogyny", "xenophobia")


def _told(folder: Path) -> Iterator[Labelled]:
    """Portuguese tweets of Brazil that three people judged: those on which two or three agree."""
    for row in table(folder / "ToLD-BR.csv"):
        votes = {name: float(row[name]) for name in (*_GROUPS, "obscene", "insult")}
        if max(votes[name] for name in _GROUPS) >= 2:
            yield row["text"], "hate"
        elif max(votes.values()) >= 2:
            yield row["text"], "offensive"
        elif not sum(votes.values()):
            yield row["text"], "none"


def _aspects(language: str) -> Reader:
    """Tweets that were found by words: kinds of hostility, several a tweet."""

    def read(folder: Path) -> Iterator[Labelled]:
        with zipfile.ZipFile(folder / "hate_speech_mlma.zip") as archive:
            content = archive.read(f"hate_speech_mlma/{language}_dataset.csv").decode("utf-8-sig", "replace")
        for row in csv.DictReader(io.StringIO(content)):
            kinds = set(row["sentiment"].split("_"))
            if "hateful" in kinds:
                yield row["tweet"], "hate"
            elif kinds & {"offensive", "abusive"}:
                yield row["tweet"], "offensive"
            elif kinds == {"normal"}:
                yield row["tweet"], "none"

    return read


def _comments(folder: Path) -> Iterator[Labelled]:
    """Arabic comments on news, from a workbook: hate, vulgar, or what else is offensive."""
    ns = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(folder / "Arabic_offensive_comment_detection_annotation_4000_selected.xlsx") as archive:
        strings = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
        sheet = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    shared = ["".join(part.text or "" for part in one.iter(f"{ns}t")) for one in strings]
    for row in list(sheet.iter(f"{ns}row"))[1:]:
        cells = {
            (cell.get("r") or "")[0]: shared[int(value)]
            for cell in row
            if cell.get("t") == "s" and (value := cell.findtext(f"{ns}v"))
        }
        kind = "hate" if cells.get("H") == "HS" else "offensive"
        yield cells["C"], "none" if cells["D"].startswith("Non") or cells["D"].startswith("NOT") else kind


def _korean(name: str, *, test: bool) -> Reader:
    """Korean comments on news of entertainers: hostile ones are hate where they show a bias."""

    def read(folder: Path) -> Iterator[Labelled]:
        for row in table(folder / name, "\t"):
            kind = "hate" if row["hate"] == "hate" and row["bias"] != "none" else "offensive"
            yield row["comments"], "none" if row["hate"] == "none" else EITHER if test else kind

    return read


def _polish(part: str, *, test: bool) -> Reader:
    """Polish tweets: bullying is offence."""

    def read(folder: Path) -> Iterable[Labelled]:
        texts, kinds = (_lines(folder / f"{part}_set_clean_only_{what}.txt") for what in ("text", "tags"))
        for text, kind in zip(texts, kinds, strict=True):
            yield text, "none" if kind == "0" else EITHER if test else {"1": "offensive", "2": "hate"}[kind]

    return read


def _turkish(folder: Path) -> Iterator[Labelled]:
    """Turkish tweets: all that are offensive, and half of the others."""
    for place, line in enumerate(_lines(folder / "offenseval-tr-training-v1.tsv")):
        _, text, kind = line.split("\t")
        if kind == "OFF" or (kind == "NOT" and place % 2):
            yield text, "offensive" if kind == "OFF" else "none"


def _turkish_test(folder: Path) -> Iterator[Labelled]:
    kinds = dict(line.split(",") for line in _lines(folder / "offenseval-tr-labela-v1.tsv"))
    for line in _lines(folder / "offenseval-tr-testset-v1.tsv"):
        number, text = line.split("\t")
        if number in kinds:
            yield text, EITHER if kinds[number] == "OFF" else "none"


def _russian(folder: Path) -> Iterator[Labelled]:
    return (
        (row["comments"], "offensive" if row["toxicity"] == "1" else "none")
        for row in table(folder / "russian_distorted_toxicity.tsv", "\t")
    )


def _functional(language: str) -> Reader:
    return lambda folder: (
        (row["test_case"], "hate" if row["label_gold"] == "hateful" else "none")
        for row in table(folder / f"hatecheck_cases_final_{language}.csv")
    )


_GERMEVAL: Final = ("uds-lsv/GermEval-2018-Data", "9877472d39523effd54cd079b4c61157ed141508")
_TOLD: Final = github("JAugusto97/ToLD-Br", "7804082d06a42b791c456b37a8a80ed9b731198c", "ToLD-BR.csv")
_MLMA: Final = github(
    "HKUST-KnowComp/MLMA_hate_speech", "479836984aebfbd8a0270ca92018980f745e4c44", "hate_speech_mlma.zip"
)
_MPOLD: Final = github(
    "shammur/Arabic-Offensive-Multi-Platform-SocialMedia-Comment-Dataset",
    "7c5a7d23ac03adffedc907ea4a3aef5f01375c5c",
    "data/Arabic_offensive_comment_detection_annotation_4000_selected.xlsx",
)
_KOREAN: Final = ("kocohub/korean-hate-speech", "f8d05dce2b22007bb149e5139c0060c68ad8f94b")
_TURKISH: Final = ("Nickisdope/11785_Baseline_Implementation", "284e7696fa58705f3dce6020049b731d2ac8d04e")
_RUSSIAN: Final = github(
    "alla-g/toxicity-detection-thesis",
    "651159350f42fef6187c87af732835d46b1ccf60",
    "toxicity_corpus/russian_distorted_toxicity.tsv",
)


def _poleval(part: str) -> tuple[str, ...]:
    """The owner has numbers of tweets and their kinds; the texts lie elsewhere."""
    return (
        *github(
            "amarie-51/projekt_NLP", "6c22ca4ec0d50722cd628378868140effa5f7977", f"data/{part}_set_clean_only_text.txt"
        ),
        *github(
            "ptaszynski/cyberbullying-Polish",
            "f0181daf068833376954488e3b9e7360dd0891ef",
            f"task%2002/{part}_set_clean_only_tags.txt",
        ),
    )


_PAGES: Final = {
    "germeval": ("https://github.com/uds-lsv/GermEval-2018-Data", "CC BY 4.0"),
    "told": ("https://github.com/JAugusto97/ToLD-Br", "CC BY-SA 4.0"),
    "mlma": ("https://github.com/HKUST-KnowComp/MLMA_hate_speech", "MIT"),
    "mpold": (
        "https://github.com/shammur/Arabic-Offensive-Multi-Platform-SocialMedia-Comment-Dataset",
        "Apache-2.0",
    ),
    "beep": ("https://github.com/kocohub/korean-hate-speech", "CC BY-SA 4.0"),
    "poleval": ("https://github.com/ptaszynski/cyberbullying-Polish", "BSD-3-Clause"),
    "offenseval_tr": ("https://coltekin.github.io/offensive-turkish/", "CC BY"),
    "distorted": ("https://github.com/alla-g/toxicity-detection-thesis", "MIT"),
}


def _from(name: str, files: tuple[str, ...], read: Reader) -> Source:
    return Source(name, *_PAGES[name], files, read)


TOXICITY_ABROAD: Final = (
    Source("statements_abroad", "../../lab/makers/ready/statements", "Apache-2.0", (), _statements),
    _from(
        "germeval",
        github(*_GERMEVAL, "germeval2018.training.txt"),
        _germeval("germeval2018.training.txt", test=False),
    ),
    Source(
        "gahd",
        "https://github.com/jagol/gahd",
        "CC BY 4.0",
        github("jagol/gahd", "2a4e919d5208d99a885824c63583d898d02ca1a1", "gahd.csv"),
        _adversarial("train", "dev", "test"),
    ),
    _from("told", _TOLD, _tested(_told, test=False)),
    _from("mlma", _MLMA, _tested(_aspects("fr"), test=False)),
    _from("mpold", _MPOLD, _tested(_comments, test=False)),
    _from("beep", github(*_KOREAN, "labeled/train.tsv"), _korean("train.tsv", test=False)),
    _from("poleval", _poleval("training"), _polish("training", test=False)),
    _from("offenseval_tr", github(*_TURKISH, "offenseval-tr-training-v1.tsv"), _turkish),
    _from("distorted", _RUSSIAN, _tested(_russian, test=False)),
)
TOXICITY_TESTS_ABROAD: Final = {
    "ar": _from("mpold", _MPOLD, _tested(_comments, test=True)),
    "de": _from(
        "germeval", github(*_GERMEVAL, "germeval2018.test.txt"), _germeval("germeval2018.test.txt", test=True)
    ),
    "fr": _from("mlma", _MLMA, _tested(_aspects("fr"), test=True)),
    "ko": _from("beep", github(*_KOREAN, "labeled/dev.tsv"), _korean("dev.tsv", test=True)),
    "pl": _from("poleval", _poleval("test"), _polish("test", test=True)),
    "pt": _from("told", _TOLD, _tested(_told, test=True)),
    "ru": _from("distorted", _RUSSIAN, _tested(_russian, test=True)),
    "tr": _from(
        "offenseval_tr",
        github(*_TURKISH, "offenseval-tr-testset-v1.tsv", "offenseval-tr-labela-v1.tsv"),
        _turkish_test,
    ),
    **{
        f"{code}, functional": Source(
            "multilingual_hatecheck",
            "https://github.com/rewire-online/multilingual-hatecheck",
            "CC BY 4.0",
            github(
                "rewire-online/multilingual-hatecheck",
                "a03f2caf2023a402d85064bda243e46d280408f0",
                f"MHC%20Final%20Cases/hatecheck_cases_final_{language}.csv",
            ),
            _functional(language),
        )
        for code, language in {
            "ar": "arabic",
            "de": "german",
            "es": "spanish",
            "fr": "french",
            "hi": "hindi",
            "it": "italian",
            "pl": "polish",
            "pt": "portuguese",
        }.items()
    },
}
"""By language: texts of the owners above that nobody learned from, and functional tests of others."""
