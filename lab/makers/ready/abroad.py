"""Texts in other languages than English that are hateful, offensive or neither."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from makers.ready.source import Labelled, Reader, Source, github, table
from makers.ready.statements import draw

LANGUAGES: Final = ("de", "es", "fr", "it", "pt")
EITHER: Final = "hate|offensive"
"""What tests say where the owner's labels do not tell these apart as ours do: both are right."""
_DRAWN: Final = {"hate": 2_500, "none": 2_500, "offensive": 500}
_SEED: Final = 5
_TESTED: Final = 5
"""Where the owner has no split, one text of so many is for tests."""
_WORKBOOK: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def _statements(_: Path) -> Iterator[Labelled]:
    return (row for language in LANGUAGES for row in draw(f"groups-{language}", _DRAWN, _SEED))


def _part(read: Reader, *, test: bool) -> Reader:
    return lambda folder: (row for place, row in enumerate(read(folder)) if (place % _TESTED == 0) == test)


def _either(read: Reader) -> Reader:
    return lambda folder: ((text, label if label == "none" else EITHER) for text, label in read(folder))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()


def _german(name: str) -> Reader:
    """German tweets: abuse is said of groups."""
    meant = {"ABUSE": "hate", "INSULT": "offensive", "PROFANITY": "offensive", "OTHER": "none"}

    def read(folder: Path) -> Iterator[Labelled]:
        for line in _lines(folder / f"germeval2018.{name}.txt"):
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


def _arabic(folder: Path) -> Iterator[Labelled]:
    """Arabic comments on news, from a workbook."""
    with zipfile.ZipFile(folder / "Arabic_offensive_comment_detection_annotation_4000_selected.xlsx") as archive:
        strings = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
        sheet = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    shared = ["".join(part.text or "" for part in one.iter(f"{_WORKBOOK}t")) for one in strings]
    for row in list(sheet.iter(f"{_WORKBOOK}row"))[1:]:
        texts = [cell for cell in row if cell.get("t") == "s"]
        cells = {str(cell.get("r"))[0]: shared[int(cell.findtext(f"{_WORKBOOK}v", ""))] for cell in texts}
        kind = "hate" if cells.get("H") == "HS" else "offensive"
        yield cells["C"], kind if cells["D"] == "Offensive" else "none"


def _korean(name: str) -> Reader:
    """Korean comments on news of entertainers: hostile ones are hate where they show a bias."""
    return lambda folder: (
        (
            row["comments"],
            "none"
            if row["hate"] == "none"
            else "hate"
            if row["hate"] == "hate" and row["bias"] != "none"
            else "offensive",
        )
        for row in table(folder / f"{name}.tsv", "\t")
    )


def _polish(part: str) -> Reader:
    """Polish tweets: bullying is offence."""

    def read(folder: Path) -> Iterator[Labelled]:
        texts, kinds = (_lines(folder / f"{part}_set_clean_only_{what}.txt") for what in ("text", "tags"))
        return ((text, ("none", "offensive", "hate")[int(kind)]) for text, kind in zip(texts, kinds, strict=True))

    return read


def _turkish(folder: Path) -> Iterator[Labelled]:
    """Turkish tweets: all that are offensive, and half of the others."""
    for place, line in enumerate(_lines(folder / "offenseval-tr-training-v1.tsv")):
        _, text, kind = line.split("\t")
        if kind == "OFF" or (kind == "NOT" and place % 2):
            yield text, "offensive" if kind == "OFF" else "none"


def _turkish_test(folder: Path) -> Iterator[Labelled]:
    texts = dict(line.split("\t") for line in _lines(folder / "offenseval-tr-testset-v1.tsv"))
    kinds = dict(line.split(",") for line in _lines(folder / "offenseval-tr-labela-v1.tsv"))
    return (
        (texts[number], "offensive" if kind == "OFF" else "none") for number, kind in kinds.items() if number in texts
    )


def _russian(folder: Path) -> Iterator[Labelled]:
    rows = table(folder / "russian_distorted_toxicity.tsv", "\t")
    return ((row["comments"], "offensive" if row["toxicity"] == "1" else "none") for row in rows)


def _functional(language: str) -> Source:
    def read(folder: Path) -> Iterator[Labelled]:
        rows = table(folder / f"hatecheck_cases_final_{language}.csv")
        return ((row["test_case"], "hate" if row["label_gold"] == "hateful" else "none") for row in rows)

    path = f"MHC%20Final%20Cases/hatecheck_cases_final_{language}.csv"
    return _owned(
        "rewire-online/multilingual-hatecheck", "CC BY 4.0", read, "a03f2caf2023a402d85064bda243e46d280408f0", path
    )


def _owned(owner: str, licence: str, read: Reader, commit: str, *paths: str, page: str = "") -> Source:
    """Return files of an owner's repository at a commit, which is also the page without another."""
    page = page or f"https://github.com/{owner}"
    name = page.rpartition("/")[2].lower().replace("-", "_")
    return Source(name, page, licence, github(owner, commit, *paths), read)


def _germeval(name: str, read: Reader) -> Source:
    commit = "9877472d39523effd54cd079b4c61157ed141508"
    return _owned("uds-lsv/GermEval-2018-Data", "CC BY 4.0", read, commit, f"germeval2018.{name}.txt")


def _told(read: Reader) -> Source:
    return _owned("JAugusto97/ToLD-Br", "CC BY-SA 4.0", read, "7804082d06a42b791c456b37a8a80ed9b731198c", "ToLD-BR.csv")


def _mpold(read: Reader) -> Source:
    path = "data/Arabic_offensive_comment_detection_annotation_4000_selected.xlsx"
    owner = "shammur/Arabic-Offensive-Multi-Platform-SocialMedia-Comment-Dataset"
    return _owned(owner, "Apache-2.0", read, "7c5a7d23ac03adffedc907ea4a3aef5f01375c5c", path)


def _beep(name: str, read: Reader) -> Source:
    commit = "f8d05dce2b22007bb149e5139c0060c68ad8f94b"
    return _owned("kocohub/korean-hate-speech", "CC BY-SA 4.0", read, commit, f"labeled/{name}.tsv")


def _poleval(part: str, read: Reader) -> Source:
    """The owner has numbers of tweets and their kinds; the texts lie elsewhere."""
    owner = ("ptaszynski/cyberbullying-Polish", "f0181daf068833376954488e3b9e7360dd0891ef")
    texts = ("amarie-51/projekt_NLP", "6c22ca4ec0d50722cd628378868140effa5f7977")
    files = (
        *github(*texts, f"data/{part}_set_clean_only_text.txt"),
        *github(*owner, f"task%2002/{part}_set_clean_only_tags.txt"),
    )
    return Source("poleval", f"https://github.com/{owner[0]}", "BSD-3-Clause", files, read)


def _offenseval(read: Reader, *names: str) -> Source:
    commit, page = "284e7696fa58705f3dce6020049b731d2ac8d04e", "https://coltekin.github.io/offensive-turkish"
    paths = [f"offenseval-tr-{name}-v1.tsv" for name in names]
    return _owned("Nickisdope/11785_Baseline_Implementation", "CC BY", read, commit, *paths, page=page)


def _distorted(read: Reader) -> Source:
    commit, path = "651159350f42fef6187c87af732835d46b1ccf60", "toxicity_corpus/russian_distorted_toxicity.tsv"
    return _owned("alla-g/toxicity-detection-thesis", "MIT", read, commit, path)


TOXICITY_ABROAD: Final = (
    Source("statements_abroad", "../../lab/makers/ready/statements", "Apache-2.0", (), _statements),
    _germeval("training", _german("training")),
    _owned("jagol/gahd", "CC BY 4.0", _adversarial, "2a4e919d5208d99a885824c63583d898d02ca1a1", "gahd.csv"),
    _told(_part(_brazilian, test=False)),
    _mpold(_part(_arabic, test=False)),
    _beep("train", _korean("train")),
    _poleval("training", _polish("training")),
    _offenseval(_turkish, "training"),
    _distorted(_part(_russian, test=False)),
)
TOXICITY_TESTS_ABROAD: Final = {
    "ar": _mpold(_either(_part(_arabic, test=True))),
    "de": _germeval("test", _either(_german("test"))),
    "ko": _beep("dev", _either(_korean("dev"))),
    "pl": _poleval("test", _either(_polish("test"))),
    "pt": _told(_either(_part(_brazilian, test=True))),
    "ru": _distorted(_either(_part(_russian, test=True))),
    "tr": _offenseval(_either(_turkish_test), "testset", "labela"),
    **{
        f"{code}, functional": _functional(language)
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
