"""What each ready-made classifier is trained on, and what it is for."""

import dataclasses
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.data.prepare import CACHE
from benchmarks.data.sets import read_part
from makers.ready.abroad import LANGUAGES, toxic_texts, toxicity_tests
from makers.ready.abuse import TOXICITY, TOXICITY_TESTS
from makers.ready.messages import SPAM, SPAM_TESTS, SPAM_TESTS_ABROAD
from makers.ready.moods import EMOTION_TESTS, EMOTIONS, OPINION_TESTS, OPINIONS
from makers.ready.source import Labelled, Source, told_among_others, written_alike
from makers.ready.takeovers import TAKEOVER_TESTS, TAKEOVERS
from makers.ready.topics import MEANT_BY_AG_NEWS, TOPIC_TESTS, TOPICS

Options = Mapping[str, Any]

_PREPARED: Final = {
    "Banking77": ("https://github.com/PolyAI-LDN/task-specific-datasets", "CC BY 4.0"),
    "CLINC150": ("https://github.com/clinc/oos-eval", "CC BY 3.0"),
    "MASSIVE": ("https://github.com/alexa/massive", "CC BY 4.0"),
    "SMS spam": ("https://archive.ics.uci.edu/dataset/228/sms+spam+collection", "CC BY 4.0"),
}
"""Data sets that `benchmarks.data.prepare` makes: page and licence."""
_ORDINARY: Final = ("Banking77", "CLINC150", "SMS spam", "MASSIVE")
_SEED: Final = 1
_MOST: Final = 26_000


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How to make a classifier.

    Attributes:
        about: what it tells, in one sentence.
        not_for: what it must not decide.
        sources: texts of owners, fetched.
        sets: data sets of `benchmarks.data.prepare`; their test texts are tests.
        tests: texts of other owners that nobody trains on, by what they are.
        abroad: such texts in other languages, by language.
        others: data sets of `benchmarks.data.prepare` that test it and have labels of their own: name -> their label -> ours; "" stands for the others.
        options: of `retvec_lite.train`.
        alarm: the label that matters, where one raises an alarm.
        plain: data sets of `benchmarks.data.prepare` whose training texts all have the unknown label.
        drawn: how many texts are drawn of each of them; 0: all.
        language: of the texts of `plain`; "" for all.
        alike: how texts end, and whether they shout, is dealt anew (`written_alike`).
        among_others: every fifth text stands next to a harmless one (`told_among_others`).
    """

    about: str
    not_for: str
    sources: Sequence[Source] = ()
    sets: Sequence[str] = ()
    tests: Mapping[str, Source] = dataclasses.field(default_factory=dict)
    others: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    abroad: Mapping[str, Source] = dataclasses.field(default_factory=dict)
    options: Options = dataclasses.field(default_factory=dict)
    alarm: str = ""
    plain: Sequence[str] = ()
    drawn: int = 0
    language: str = ""
    alike: bool = False
    among_others: bool = False

    def owners(self) -> list[tuple[str, str, str]]:
        """Return name, page and licence of all that it is trained on."""
        return [
            *((source.name, source.page, source.licence) for source in self.sources),
            *((name, *_PREPARED[name]) for name in (*self.sets, *self.plain)),
        ]

    def training_texts(self, data: Path, cache: Path = CACHE) -> list[Labelled]:
        """Return texts and labels in random order, each text once and none that is tested on.

        Args:
            data: folder that `benchmarks.data.prepare` wrote.
            cache: folder of the owners' files.
        """
        tested = {
            _plain(text) for source in (*self.tests.values(), *self.abroad.values()) for text, _ in source.rows(cache)
        }
        tested |= {_plain(text) for name in (*self.sets, *self.others) for text in read_part(data, name, "test").texts}
        found: dict[str, Labelled] = {}
        for text, label in self._all(data, cache):
            key = _plain(text)
            if len(key) > 2 and key not in tested:
                found.setdefault(key, (text, label))
        rows = list(found.values())
        random.Random(_SEED).shuffle(rows)
        rows = told_among_others(rows, str(self.options.get("unknown_label")), _SEED) if self.among_others else rows
        return written_alike(rows, _SEED) if self.alike else rows

    def _all(self, data: Path, cache: Path) -> list[Labelled]:
        fetched = [row for source in self.sources for row in source.rows(cache)]
        prepared = [read_part(data, name, "train") for name in self.sets]
        labelled = [row for part in prepared for row in zip(part.texts, part.labels, strict=True)]
        unknown = str(self.options.get("unknown_label"))
        ordinary = [read_part(data, name, "train", self.drawn, language=self.language) for name in self.plain]
        plain = [(text, unknown) for part in ordinary for text in _some(part.texts)]
        return [*fetched, *labelled, *plain]


def _some(texts: Sequence[str]) -> Sequence[str]:
    """Return all texts, or 26,000 of them."""
    return random.Random(_SEED).sample(texts, _MOST) if len(texts) > _MOST else texts


def _plain(text: str) -> str:
    """Return the letters and digits of a text: copies differ in the rest."""
    return re.sub(r"\W+", "", text.lower())


RECIPES: Final[Mapping[str, Recipe]] = {
    "assistant": Recipe(
        "which of 60 things somebody asks of an assistant, in 52 languages",
        "It knows commands and questions to an assistant at home.",
        sets=("MASSIVE",),
    ),
    "emotion": Recipe(
        "which of 27 emotions a post expresses, or that it is neutral",
        "It does not know how a person feels: it knows what posts on Reddit look like to those who read them.",
        sources=(EMOTIONS,),
        tests=EMOTION_TESTS,
        options={"multi_label": True},
    ),
    "guard": Recipe(
        "whether a text tries to take over a language model: to change its instructions, learn them, or give it a role without rules",
        "Do not let it stand alone between strangers and what sends, pays or deletes: who tries often enough gets past it. It reads no comments and "
        "attributes of HTML, which a model may see: ask it those apart. Give it prompts and short messages: of harmless mails of 300 words, it takes a quarter for attacks, and mistyped ones all. It does not tell whether a request is harmful.",
        sources=TAKEOVERS,
        tests=TAKEOVER_TESTS,
        # So that one ordinary text in a hundred raises a false alarm: without it, fewer do, and more attacks are missed.
        options={"unknown_label": "none", "class_weights": {"attack": 5, "none": 1}},
        alarm="attack",
        plain=_ORDINARY,
        others={name: {"": "none"} for name in _ORDINARY},
        drawn=2_000,
    ),
    "sentiment": Recipe(
        "whether a text is positive or negative, or neither",
        "It knows reviews of films and products, and posts. It does not know of what a text speaks well.",
        sources=OPINIONS,
        tests=OPINION_TESTS,
        options={"unknown_label": "neutral"},
    ),
    "spam": Recipe(
        "whether a message, a mail or a comment is spam",
        "Do not delete what it calls spam: it misses new kinds, and calls some messages of companies spam. It reads English, French, German, Indonesian, Italian, "
        "Portuguese, Spanish and Turkish; elsewhere it finds little.",
        sources=SPAM,
        sets=("SMS spam",),
        tests=SPAM_TESTS,
        abroad=SPAM_TESTS_ABROAD,
        # Who filters needs an answer: what is unsure has the more probable label.
        options={"reject_at": 0.9999},
        alarm="spam",
    ),
    "support": Recipe(
        "which of 227 things somebody asks of a bank or an assistant, or none",
        "It knows the intents of two data sets, in English. Train your own on what your users ask.",
        sets=("Banking77", "CLINC150"),
        options={"unknown_label": "oos"},
    ),
    "topics": Recipe(
        "which of 19 topics a headline or a post is about",
        "Its topics are those of an American newspaper and of newsgroups in the nineties.",
        sources=TOPICS,
        tests=TOPIC_TESTS,
        others={"AG News": MEANT_BY_AG_NEWS},
    ),
    "toxicity": Recipe(
        "whether a text is hateful, offensive, or neither",
        "Do not punish people by it, and do not let it decide alone: it misses what is hateful only to those who know more than the text, and takes "
        "part of what is said within a group, or against hate, for hate.",
        sources=TOXICITY,
        tests=TOXICITY_TESTS,
        options={"unknown_label": "none"},
        alarm="hate",
        plain=("Banking77", "CLINC150", "SMS spam"),
        alike=True,
    ),
    **{
        f"toxicity-{code}": Recipe(
            f"whether a text in {language} is hateful, offensive, or neither",
            "Do not punish people by it, and do not let it decide alone: it misses much of what people find abusive, more behind a harmless sentence, and takes part of what is "
            "said against hate for hate.",
            sources=toxic_texts(code),
            tests=toxicity_tests(code),
            options={"unknown_label": "none"},
            alarm="hate",
            plain=("MASSIVE",),
            drawn=6_000,
            language=code,
            alike=True,
            among_others=True,
        )
        for code, language in LANGUAGES.items()
    },
}
"""The classifiers of `retvec-lite-models`, by name."""
