"""Texts that are hateful or offensive, and texts about the same things that are neither."""

import csv
import dataclasses
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from makers.ready.source import Labelled, Reader, Source, github, table, typed
from makers.ready.statements import draw, swapped
from makers.ready.topics import HEADLINES, HEADLINES_PAGE, headlines


def _davidson(folder: Path) -> Iterator[Labelled]:
    """Tweets that three or more people judged.

    Of what all of them found offensive, a quarter: these are far too many, and most of them only one word in passing.
    """
    offensive = 0
    for row in table(folder / "labeled_data.csv"):
        kind = {"0": "hate", "1": "offensive", "2": "none"}[row["class"]]
        offensive += kind == "offensive"
        if kind != "offensive" or (row["offensive_language"] == row["count"] and offensive % 4 == 0):
            yield row["tweet"], kind


def _sexism(folder: Path) -> Iterator[Labelled]:
    """Sexist posts, and others that speak of women: the rest may be toxic otherwise, and is left out."""
    for row in table(folder / "edos_labelled_aggregated.csv"):
        if row["label_sexist"] == "sexist":
            yield row["text"], "hate"
        elif re.search(r"(?i)\b(wom[ae]n|females?|girls?|ladies|lady|she|her|wife|mother)\b", row["text"]):
            yield row["text"], "none"


def _hatemoji(*splits: str) -> Reader:
    return lambda folder: (
        (row["text"], "hate" if row["label_gold"] == "1" else "none")
        for split in splits
        for row in table(folder / f"{split}.csv")
    )


def _safe(name: str) -> Reader:
    """Sentences about groups of people, which people judged."""
    return lambda folder: (
        (row["text"], "hate" if row["label"] == "hate" else "none")
        for row in json.loads((folder / name).read_text(encoding="utf-8"))
    )


def _stormfront(folder: Path) -> Iterator[Labelled]:
    """Sentences of a forum, each in a file of an archive; those that need their context for it, or have no label, are left out."""
    with zipfile.ZipFile(folder / f"{STORMFRONT}.zip") as archive:
        root = f"hate-speech-dataset-{STORMFRONT}"
        for row in csv.DictReader(io.StringIO(archive.read(f"{root}/annotations_metadata.csv").decode())):
            if row["label"] in ("hate", "noHate"):
                text = archive.read(f"{root}/all_files/{row['file_id']}.txt").decode()
                yield text, "hate" if row["label"] == "hate" else "none"


def _surge(folder: Path) -> Iterator[Labelled]:
    return (
        (row["text"], "offensive" if row["is_toxic"] == "Toxic" else "none")
        for row in table(folder / "toxicity_en.csv")
    )


def _jigsaw(folder: Path) -> Iterator[Labelled]:
    lines = csv.reader(io.StringIO((folder / "test.csv").read_text(encoding="utf-8", errors="replace")))
    return (
        (row[0].strip('" '), "offensive" if row[1] == "1" else "none")
        for row in lines
        if len(row) == 2 and row[1] in "01"
    )


def _wikipedia(folder: Path) -> Iterator[Labelled]:
    """Half of the comments: nearly all of them are harmless."""
    return ((row["text"], "offensive" if float(row["label"]) >= 0.5 else "none") for row in table(folder / "gn.csv"))


def _robots(*splits: str) -> Reader:
    """What people say to chat bots: offensive if most annotators found so."""

    def read(folder: Path) -> Iterator[Labelled]:
        for split in splits:
            for row in table(folder / f"ConvAbuseEMNLP{split}.csv"):
                degrees = [
                    degree
                    for annotator in range(1, 9)
                    for degree in (1, 0, -1, -2, -3)
                    if row.get(f"Annotator{annotator}_is_abuse.{degree}") in ("1", "1.0")
                ]
                if degrees:
                    yield (
                        row["user"],
                        "offensive" if 2 * sum(degree < 0 for degree in degrees) > len(degrees) else "none",
                    )

    return read


_ATTACKS: Final = {
    "Insult": "offensive",
    "Profane/Obscene": "offensive",
    "Threat": "offensive",
    "Identity based Attack": "hate",
}


def _civil(folder: Path) -> Iterator[Labelled]:
    """Comments that were found toxic: those in which most annotators marked what is."""
    kinds: dict[str, set[str]] = {}
    for row in table(folder / "spans.csv"):
        kinds.setdefault(row["annotation"], set()).add(_ATTACKS.get(row["type"], "offensive"))
    votes: dict[str, list[set[str]]] = {}
    for row in table(folder / "annotations.csv"):
        votes.setdefault(row["comment_id"], []).append(kinds.get(row["annotation"], set()))
    for row in table(folder / "comments.csv"):
        own = votes.get(row["comment_id"], [])
        if 2 <= len(own) <= 50 and 2 * sum(map(bool, own)) > len(own):
            yield row["comment_text"], "hate" if 2 * sum("hate" in vote for vote in own) >= len(own) else "offensive"


def _of_others(source: Source) -> Source:
    """Return a source that also says of other groups what it says of one."""
    return dataclasses.replace(source, read=lambda folder: swapped(source.read(folder), "groups", "nouns", "kind"))


def functional(name: str) -> Reader:
    """Return what reads HateCheck, in any language."""
    return lambda folder: (
        (row["test_case"], "hate" if row["label_gold"] == "hateful" else "none") for row in table(folder / name)
    )


def _ethos(folder: Path) -> Iterator[Labelled]:
    """Comments of which most annotators said whether they are hateful."""
    return (
        (row["comment"], "hate" if float(row["isHate"]) >= 0.5 else "none")
        for row in table(folder / "Ethos_Dataset_Binary.csv", ";")
    )


def _news(folder: Path) -> Iterator[Labelled]:
    """Headlines, which name groups and crimes and attack nobody."""
    return ((text, "none") for text, _ in headlines(folder))


def _statements(_: Path) -> Iterator[Labelled]:
    return draw("groups", _DRAWN, _SEED)


_DRAWN: Final = {"hate": 42_000, "none": 70_000, "offensive": 15_000}
"""How many statements there are of each label."""
_SEED: Final = 5


STORMFRONT: Final = "b802137e8314c38a8d4faa965f9908d6c8e7a84d"
_SAFE: Final = ("microsoft/SafeNLP", "e351b6cb892284cf843b88e363b1a6dbaded584e")
_HATEMOJI: Final = ("HannahKirk/Hatemoji", "a626f63216158748d072e581efc00267031f4404")
_CONVABUSE: Final = github(
    "amandacurry/convabuse",
    "c0a9469f48956e868276c605d499010ea3c7c0d0",
    *(f"2_splits/ConvAbuseEMNLP{split}.csv" for split in ("train", "valid", "test")),
)

_COLLECTED: Final = (
    Source("huffpost", HEADLINES_PAGE, "CC BY 4.0", HEADLINES, _news),
    Source(
        "davidson",
        "https://github.com/t-davidson/hate-speech-and-offensive-language",
        "MIT",
        github(
            "t-davidson/hate-speech-and-offensive-language",
            "cb50f7e9eb855a99abc51423bf40df0e26d6fe30",
            "data/labeled_data.csv",
        ),
        _davidson,
    ),
    Source(
        "edos",
        "https://github.com/rewire-online/edos",
        "CC0 1.0",
        github("rewire-online/edos", "b1f1fbcca9d42de0395432ada8fcfb5c35f68c77", "data/edos_labelled_aggregated.csv"),
        _sexism,
    ),
    Source(
        "hatemoji",
        "https://github.com/HannahKirk/Hatemoji",
        "CC BY 4.0",
        github(*_HATEMOJI, *(f"HatemojiBuild/{split}.csv" for split in ("train", "validation"))),
        _hatemoji("train", "validation"),
    ),
    *(
        Source(name, "https://github.com/microsoft/SafeNLP", licence, github(*_SAFE, f"data/{file}"), _safe(file))
        for name, licence, file in (
            ("toxigen", "MIT, CDLA-Permissive-2.0", "toxiGen.json"),
            ("implicit_hate", "MIT", "implicitHate.json"),
        )
    ),
    Source(
        "stormfront",
        "https://github.com/Vicomtech/hate-speech-dataset",
        "CC BY-SA 3.0",
        (f"https://github.com/Vicomtech/hate-speech-dataset/archive/{STORMFRONT}.zip",),
        _stormfront,
    ),
    Source(
        "surge",
        "https://github.com/surge-ai/toxicity",
        "MIT",
        github("surge-ai/toxicity", "ea80324b95ed7e3cc787bdb6faeb763fcc0ae258", "toxicity_en.csv"),
        _surge,
    ),
    Source(
        "jigsaw",
        "https://github.com/thunlp/RobTest",
        "CC0 1.0 (labels), CC BY-SA 3.0 (comments of Wikipedia)",
        github("thunlp/RobTest", "5e9cd37d8a57746093f12b56a3d5e9190a5785ba", "datasets/jigsaw/test.csv"),
        _jigsaw,
    ),
    Source(
        "wikipedia",
        "https://github.com/ipavlopoulos/context_toxicity",
        "Apache-2.0 (labels), CC BY-SA 3.0 (comments of Wikipedia)",
        github(
            "ipavlopoulos/context_toxicity",
            "5df49c294e6a41f0ba351e65fda7c315aa4cc168",
            "data/CAT_LARGE/gn.csv",
        ),
        _wikipedia,
    ),
    Source("convabuse", "https://github.com/amandacurry/convabuse", "CC BY 4.0", _CONVABUSE, _robots("train", "valid")),
    Source(
        "civil_comments",
        "https://github.com/ipavlopoulos/toxic_spans",
        "CC0 1.0",
        github(
            "ipavlopoulos/toxic_spans",
            "beaf170538df8275c3447b2e26070f2f82e55272",
            *(f"data/{name}.csv" for name in ("comments", "annotations", "spans")),
        ),
        _civil,
    ),
)
TOXICITY: Final = (
    Source("statements", "../../lab/makers/ready/statements/groups.txt", "Apache-2.0", (), _statements),
    *map(_of_others, _COLLECTED),
)
TOXICITY_TESTS: Final = {
    "HateCheck": Source(
        "hatecheck",
        "https://github.com/paul-rottger/hatecheck-data",
        "CC BY 4.0",
        github("paul-rottger/hatecheck-data", "d84302298ceeb34f4b0dde2d8a1f4932c2caa612", "test_suite_cases.csv"),
        functional("test_suite_cases.csv"),
    ),
    "HatemojiCheck": Source(
        "hatemojicheck",
        "https://github.com/HannahKirk/Hatemoji",
        "CC BY 4.0",
        github(*_HATEMOJI, "HatemojiCheck/test.csv"),
        _hatemoji("test"),
    ),
    "ETHOS": Source(
        "ethos",
        "https://github.com/intelligence-csd-auth-gr/Ethos-Hate-Speech-Dataset",
        "GPL-3.0: for measuring only",
        github(
            "intelligence-csd-auth-gr/Ethos-Hate-Speech-Dataset",
            "705258e118ce9611ebbd5ab2a4841b0066547293",
            "ethos/ethos_data/Ethos_Dataset_Binary.csv",
        ),
        _ethos,
    ),
    "typed comments": typed("comments", "en"),
}
