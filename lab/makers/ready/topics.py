"""Headlines and posts by topic."""

import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from makers.ready.source import Labelled, Reader, Source, github, joined

_NUMBERED: Final = [
    "politics",
    "wellness",
    "entertainment",
    "travel",
    "style & beauty",
    "parenting",
    "healthy living",
    "queer voices",
    "food & drink",
    "business",
    "comedy",
    "sports",
    "black voices",
    "home & living",
    "parents",
    "the worldpost",
    "weddings",
    "women",
    "impact",
    "divorce",
    "crime",
    "media",
    "weird news",
    "green",
    "worldpost",
    "religion",
    "style",
    "science",
    "world news",
    "taste",
    "tech",
    "money",
    "arts",
    "fifty",
    "good news",
    "arts & culture",
    "environment",
    "college",
    "latino voices",
    "culture & arts",
    "education",
]
"""What a newspaper calls its categories, by the number that its file has for them."""

_MEANT: Final = {
    name: topic
    for topic, names in {
        "arts": "arts; arts & culture; culture & arts",
        "business": "business; money",
        "crime": "crime",
        "education": "college; education",
        "entertainment": "comedy; entertainment",
        "environment": "environment; green",
        "family": "divorce; weddings; parenting; parents",
        "food": "food & drink; taste",
        "health": "healthy living; wellness",
        "home": "home & living",
        "politics": "politics",
        "religion": "religion",
        "science": "science",
        "sports": "sports",
        "style": "style; style & beauty",
        "technology": "tech",
        "travel": "travel",
        "world": "the worldpost; worldpost; world news",
    }.items()
    for name in names.split("; ")
}
"""Category -> topic. Those that name who speaks or how, and not of what, have none."""

_GROUPS: Final[Mapping[str, str]] = {
    "rec.sport": "sports",
    "rec.": "vehicles",
    "comp.": "technology",
    "sci.crypt": "technology",
    "sci.electronics": "technology",
    "sci.med": "health",
    "sci.space": "science",
    "talk.politics": "politics",
    "talk.religion": "religion",
    "soc.religion": "religion",
    "alt.atheism": "religion",
}
"""What the name of a newsgroup begins with -> its topic; the first that fits."""


def headlines(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield headlines of a newspaper, in lower case, and their categories."""
    for line in (folder / HEADLINES[0].rpartition("/")[2]).read_text(encoding="utf-8").split("\n"):
        row: dict[str, Any] = json.loads(line or "{}")
        if row:
            yield joined(re.sub(r"(\w) ' (s|t|re|ve|ll|m|d)\b", r"\1'\2", row["raw"])), _NUMBERED[row["label"]]


def _by_topic(folder: Path) -> Iterator[Labelled]:
    return ((text, _MEANT[category]) for text, category in headlines(folder) if category in _MEANT)


def _posts(split: str) -> Reader:
    """Posts of newsgroups; of those about computers, which have five groups, a quarter."""

    def read(folder: Path) -> Iterator[Labelled]:
        with tarfile.open(folder / "20news-bydate.tar.gz") as archive:
            for number, member in enumerate(archive):
                _, name, *rest = (*member.name.split("/"), "")
                topic = next((topic for begin, topic in _GROUPS.items() if name.startswith(begin)), None)
                if not topic or split not in member.name or len(rest) < 2 or (name.startswith("comp.") and number % 4):
                    continue
                content = archive.extractfile(member)
                if content:
                    yield _own_words(content.read().decode("latin-1")), topic

    return read


def _own_words(post: str) -> str:
    """Return the subject and the text of a post without what it quotes and without the signature."""
    head, _, body = post.replace("\r", "").partition("\n\n")
    subject = re.search(r"(?m)^Subject:\s*(?:Re:\s*)*(.*)$", head)
    lines = re.split(r"\n--\s*\n", body)[0].split("\n")
    kept = [
        line for line in lines if not re.match(r"\s*[>|:]|[A-Za-z]{1,4}>|In article |.*(writes|wrote|says):?\s*$", line)
    ]
    return "\n".join([subject[1] if subject else "", *kept])


_STORIES: Final = {"b": "business", "e": "entertainment", "m": "health", "t": "technology"}


def _stories(folder: Path) -> Iterator[Labelled]:
    """Headlines of several agencies, without the number of an update in front."""
    for name in ("train", "valid", "test"):
        for line in (folder / f"{name}.txt").read_text(encoding="utf-8").split("\n"):
            fields = line.split("\t")
            if len(fields) > 4 and fields[4] in _STORIES:
                yield re.sub(r"^UPDATE \d+-", "", fields[1]), _STORIES[fields[4]]


HEADLINES: Final = github(
    "ws-jiang/MetaPrompter_public", "dea17d573a5eb4f31b3366ba1fe88b1beb865c50", "data/huffpost.json"
)
HEADLINES_PAGE: Final = "https://www.kaggle.com/datasets/rmisra/news-category-dataset"
_NEWSGROUPS: Final = ("http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",)
_PAGE: Final = "https://archive.ics.uci.edu/dataset/113/twenty+newsgroups"
TOPICS: Final = (
    Source(
        "huffpost",
        HEADLINES_PAGE,
        "CC BY 4.0",
        HEADLINES,
        _by_topic,
    ),
    Source("newsgroups", _PAGE, "CC BY 4.0", _NEWSGROUPS, _posts("train")),
    Source(
        "agencies",
        "https://archive.ics.uci.edu/dataset/359/news+aggregator",
        "CC BY 4.0",
        github(
            "kent0304/nlp100",
            "be74f5254f01d6cd8a94a244cf122b1010a19fc5",
            *(f"ch06/{name}.txt" for name in ("train", "valid", "test")),
        ),
        _stories,
    ),
)
TOPIC_TESTS: Final = {
    "posts of newsgroups, later ones": Source("newsgroups", _PAGE, "CC BY 4.0", _NEWSGROUPS, _posts("test")),
}
MEANT_BY_AG_NEWS: Final = {
    "Business": "business",
    "Sci/Tech": "science|technology",
    "Sports": "sports",
    "World": "world|politics|crime",
}
"""Label of AG News -> topics that are right for it."""
