"""German texts that are hateful, offensive or neither."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import retvec_lite as rl
from benchmarks.common import ROOT
from makers.meaning.corpus import read_lines
from makers.meaning.translations import split_pairs, translation_files
from makers.ready.abuse import functional
from makers.ready.source import Labelled, Reader, Source, cleaned, github, table, typed
from makers.ready.statements import draw, fill, read

_EITHER: Final = "hate|offensive"
"""What a test says whose owner does not tell these apart as ours do: both are right."""
_DRAWN: Final = {"hate": 16_000, "none": 26_000, "offensive": 5_000}
"""How many statements there are of each label."""
_PREFIXED: Final = 0.2
"""Share of the statements that stand behind one of `_BEFORE`."""
_PAIRS: Final = 30_000
_SEED: Final = 5
_WORDS: Final = range(3, 31)
"""How many words a translated sentence has."""
_BEFORE: Final = (
    "Hallo {name}, ",
    "@{name} ",
    "{name}, ",
    "Hallo, ",
    "Hallo ",
    "Bitte ",
    "Leute, ",
    "Ich sage: ",
    "Hey {name}, ",
)
"""What stands before some statements, whatever their label."""
_NAMES: Final = re.compile(r"\b(Tom|Mary|Maria|Johannes|Marie)s?\b")
"""Names that stand for anybody in translated sentences, which are all innocent."""


def _statements(_: Path) -> Iterator[Labelled]:
    rng, lists = random.Random(_SEED), read("groups-de")[0]
    for text, label in draw("groups-de", _DRAWN, _SEED):
        yield fill(rng.choice(_BEFORE), lists, rng) + text if rng.random() < _PREFIXED else text, label


def _tweets(part: str, *, either: bool = False) -> Source:
    """Return tweets: abuse is said of groups."""
    meant = {"ABUSE": "hate", "INSULT": "offensive", "PROFANITY": "offensive", "OTHER": "none"}
    name = f"germeval2018.{part}.txt"

    def read(folder: Path) -> Iterator[Labelled]:
        for line in (folder / name).read_text(encoding="utf-8-sig").splitlines():
            text, _, kind = line.split("\t")
            yield text, _EITHER if either and kind != "OTHER" else meant[kind]

    return _owned("uds-lsv/GermEval-2018-Data", "9877472d39523effd54cd079b4c61157ed141508", name, read)


def _owned(owner: str, commit: str, path: str, read: Reader) -> Source:
    name = owner.rpartition("/")[2].lower().replace("-", "_")
    return Source(name, f"https://github.com/{owner}", "CC BY 4.0", github(owner, commit, path), read)


def _adversarial(folder: Path) -> Iterator[Labelled]:
    """Sentences that people wrote to mislead a classifier, and others that differ in little."""
    return ((row["text"], "hate" if row["label"] == "1" else "none") for row in table(folder / "gahd.csv"))


def _harmless(folder: Path) -> Iterator[Labelled]:
    """Sentences whose English translation `toxicity` finds neither hateful nor offensive, from files of pairs: English, a tab, German."""
    lines = read_lines(translation_files(folder, "de"), lambda *_: None)
    pairs = [(english, cleaned(text)) for english, text in split_pairs(lines)]
    pairs = [pair for pair in pairs if len(pair[1].split()) in _WORDS and pair[1][-1] in ".?!"]
    pairs = [pair for pair in pairs if not _NAMES.search(pair[1])]
    drawn = random.Random(_SEED).sample(pairs, min(_PAIRS, len(pairs)))
    judge = rl.load(ROOT / "models" / "retvec_lite_models" / "toxicity.tflite")
    answers = judge.predict([english for english, _ in drawn], top=1)
    return ((text, "none") for (_, text), (answer,) in zip(drawn, answers, strict=True) if answer.label is None)


GERMAN_TOXICITY: Final = (
    Source("statements", "../../lab/makers/ready/statements/groups-de.txt", "Apache-2.0", (), _statements),
    _tweets("training"),
    _owned("jagol/gahd", "2a4e919d5208d99a885824c63583d898d02ca1a1", "gahd.csv", _adversarial),
    Source("translations", "../../retvec_lite/weights/README.md", "CC BY 2.0 FR and others", (), _harmless),
)
GERMAN_TOXICITY_TESTS: Final = {
    "functional tests": _owned(
        "rewire-online/multilingual-hatecheck",
        "a03f2caf2023a402d85064bda243e46d280408f0",
        "MHC%20Final%20Cases/hatecheck_cases_final_german.csv",
        functional("hatecheck_cases_final_german.csv"),
    ),
    "tweets": _tweets("test", either=True),
    "typed comments": typed("comments", "de"),
}
