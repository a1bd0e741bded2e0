"""Texts in other languages than English that are hateful, offensive or neither."""

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
from makers.ready.source import Labelled, Reader, Source, cleaned, contrasts, github, table, typed
from makers.ready.statements import draw, fill, read

LANGUAGES: Final = {"de": "German", "es": "Spanish", "pt": "Portuguese"}
_EITHER: Final = "hate|offensive"
"""What a test says whose owner does not tell these apart as ours do: both are right."""
_DRAWN: Final = {"hate": 16_000, "none": 26_000, "offensive": 5_000}
"""How many statements there are of each label."""
_PREFIXED: Final = 0.2
"""Share of the statements that stand behind one of the list `before`, whatever the label."""
_PAIRS: Final = 30_000
_SEED: Final = 5
_WORDS: Final = range(3, 31)
"""How many words a translated sentence has."""
_NAMES: Final = re.compile(r"\b(Tom|Mary|Mar[ií]a|Johannes|Marie)s?\b")
"""Names that stand for anybody in translated sentences, which are all innocent."""


def _statements(language: str) -> Source:
    name = f"groups-{language}"

    def rows(_: Path) -> Iterator[Labelled]:
        rng, lists = random.Random(_SEED), read(name)[0]
        for text, label in draw(name, _DRAWN, _SEED):
            yield f"{fill('{before}', lists, rng)} {text}" if rng.random() < _PREFIXED else text, label

    return Source("statements", f"../../lab/makers/ready/statements/{name}.txt", "Apache-2.0", (), rows)


def _harmless(language: str) -> Source:
    """Return sentences whose English translation `toxicity` finds neither hateful nor offensive.

    They are read of files of pairs: English, a tab, the other language.
    """

    def rows(folder: Path) -> Iterator[Labelled]:
        lines = read_lines(translation_files(folder, language), lambda *_: None)
        pairs = [(english, cleaned(text)) for english, text in split_pairs(lines)]
        pairs = [pair for pair in pairs if len(pair[1].split()) in _WORDS and pair[1][-1] in ".?!"]
        pairs = [pair for pair in pairs if not _NAMES.search(pair[1])]
        drawn = random.Random(_SEED).sample(pairs, min(_PAIRS, len(pairs)))
        judge = rl.load(ROOT / "models" / "retvec_lite_models" / "toxicity.tflite")
        answers = judge.predict([english for english, _ in drawn], top=1)
        return ((text, "none") for (_, text), (answer,) in zip(drawn, answers, strict=True) if answer.label is None)

    return Source("translations", "../../retvec_lite/weights/README.md", "CC BY 2.0 FR and others", (), rows)


def _owned(owner: str, commit: str, path: str, read: Reader, licence: str = "CC BY 4.0") -> Source:
    name = owner.rpartition("/")[2].lower().replace("-", "_")
    return Source(name, f"https://github.com/{owner}", licence, github(owner, commit, path), read)


def _german_tweets(part: str, *, either: bool = False) -> Source:
    """Return tweets: abuse is said of groups."""
    meant = {"ABUSE": "hate", "INSULT": "offensive", "PROFANITY": "offensive", "OTHER": "none"}
    name = f"germeval2018.{part}.txt"

    def rows(folder: Path) -> Iterator[Labelled]:
        for line in (folder / name).read_text(encoding="utf-8-sig").splitlines():
            text, _, kind = line.split("\t")
            yield text, _EITHER if either and kind != "OTHER" else meant[kind]

    return _owned("uds-lsv/GermEval-2018-Data", "9877472d39523effd54cd079b4c61157ed141508", name, rows)


def _adversarial(folder: Path) -> Iterator[Labelled]:
    """Sentences that people wrote to mislead a classifier, and others that differ in little."""
    return ((row["text"], "hate" if row["label"] == "1" else "none") for row in table(folder / "gahd.csv"))


def _brazilian_tweets(*, tested: bool) -> Source:
    """Return tweets that three people judged: marked by none, or by two alike. Every fifth row is for tests."""

    def rows(folder: Path) -> Iterator[Labelled]:
        for place, row in enumerate(table(folder / "ToLD-BR.csv")):
            groups = [float(row[name]) for name in ("homophobia", "racism", "misogyny", "xenophobia")]
            votes = [*groups, float(row["obscene"]), float(row["insult"])]
            if (place % 5 == 0) == tested and max(votes) != 1:
                meant = "hate" if max(groups) >= 2 else "offensive"
                yield row["text"], "none" if not sum(votes) else _EITHER if tested else meant

    commit = "7804082d06a42b791c456b37a8a80ed9b731198c"
    return _owned("JAugusto97/ToLD-Br", commit, "ToLD-BR.csv", rows, "CC BY-SA 4.0")


_COLLECTED: Final = {
    "de": (
        _german_tweets("training"),
        _owned("jagol/gahd", "2a4e919d5208d99a885824c63583d898d02ca1a1", "gahd.csv", _adversarial),
    ),
    "es": (),
    "pt": (_brazilian_tweets(tested=False),),
}
_TWEETS: Final = {"de": _german_tweets("test", either=True), "pt": _brazilian_tweets(tested=True)}


def toxic_texts(language: str) -> list[Source]:
    """Return what a classifier of a language learns from."""
    return [_statements(language), contrasts(f"toxicity-{language}"), *_COLLECTED[language], _harmless(language)]


def toxicity_tests(language: str) -> dict[str, Source]:
    """Return what it is tested on."""
    name = f"hatecheck_cases_final_{LANGUAGES[language].lower()}.csv"
    commit, path = "a03f2caf2023a402d85064bda243e46d280408f0", f"MHC%20Final%20Cases/{name}"
    return {
        "functional tests": _owned("rewire-online/multilingual-hatecheck", commit, path, functional(name)),
        **({"tweets": _TWEETS[language]} if language in _TWEETS else {}),
        "typed comments": typed("comments", language),
    }
