"""Texts with emotions, and with opinions."""

import re
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from makers.ready.source import Labelled, Reader, Source, github, joined


def _emotions(*splits: str) -> Reader:
    def read(folder: Path) -> Iterator[Labelled]:
        names = (folder / "labels.txt").read_text().split()
        for split in splits:
            for line in (folder / f"{split}.tsv").read_text(encoding="utf-8").split("\n"):
                if "\t" in line:
                    text, numbers, *_ = line.split("\t")
                    yield (
                        text.strip('"').replace('""', '"'),
                        "|".join(names[int(number)] for number in numbers.split(",")),
                    )

    return read


_FEELINGS: Final = {
    **dict.fromkeys(
        [
            "admiration",
            "amusement",
            "approval",
            "caring",
            "desire",
            "excitement",
            "gratitude",
            "joy",
            "love",
            "optimism",
            "pride",
            "relief",
        ],
        "positive",
    ),
    **dict.fromkeys(
        [
            "anger",
            "annoyance",
            "disappointment",
            "disapproval",
            "disgust",
            "embarrassment",
            "fear",
            "grief",
            "nervousness",
            "remorse",
            "sadness",
        ],
        "negative",
    ),
    "neutral": "neutral",
}
"""What emotions say of an opinion, as the owners group them; confusion, curiosity, realization and surprise may be either."""


def _feelings(folder: Path) -> Iterator[Labelled]:
    """Posts whose emotions are all good, all bad, or none."""
    for text, emotions in _emotions("train", "dev")(folder):
        kinds = {_FEELINGS.get(emotion) for emotion in emotions.split("|")}
        if len(kinds) == 1 and (kind := kinds.pop()):
            yield text, kind


def _pros_and_cons(folder: Path) -> Iterator[Labelled]:
    with zipfile.ZipFile(folder / "pros_cons.zip") as archive:
        for name, label in (("Pros", "positive"), ("Cons", "negative")):
            content = archive.read(f"pros_cons/Integrated{name}.txt").decode("latin-1")
            yield from ((text, label) for text in re.findall(rf"<{name}>(.*?)</{name}>", content, re.DOTALL))


def _films(folder: Path) -> Iterator[Labelled]:
    with zipfile.ZipFile(folder / "sentence_polarity.zip") as archive:
        for name, label in (("pos", "positive"), ("neg", "negative")):
            content = archive.read(f"sentence_polarity/rt-polarity.{name}").decode("latin-1")
            yield from ((joined(line), label) for line in content.split("\n"))


def _products(folder: Path) -> Iterator[Labelled]:
    """Sentences about products: those in which all that is judged is judged alike."""
    for path in sorted(folder.glob("product_reviews_*.zip")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                for line in (
                    archive.read(name).decode("latin-1").split("\n")
                    if name.endswith(".txt") and "README" not in name
                    else ()
                ):
                    aspects, found, text = line.partition("##")
                    signs = Counter(re.findall(r"\[([+-])\d\]", aspects))
                    if found and len(signs) == 1:
                        yield joined(text), "positive" if "+" in signs else "negative"


def _sentences(folder: Path) -> Iterator[Labelled]:
    for path in sorted(folder.glob("*_labelled.txt")):
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            text, found, label = line.strip().rpartition("\t")
            if found and label in ("0", "1"):
                yield text, "positive" if label == "1" else "negative"


def _tweets(folder: Path) -> Iterator[Labelled]:
    """Tweets that twenty people judged: those that are clearly good or bad."""
    with tarfile.open(folder / "hutto_ICWSM_2014.tar.gz") as archive:
        content = archive.extractfile("hutto_ICWSM_2014/tweets_GroundTruth.txt")
        for line in content.read().decode("utf-8", "replace").split("\n") if content else ():
            _, mean, *words = line.strip().split("\t") if line.count("\t") > 1 else ("", "0")
            if abs(float(mean)) >= _CLEAR:
                yield " ".join(words), "positive" if float(mean) > 0 else "negative"


_CLEAR: Final = 0.5
"""Of -4 to 4."""
_NLTK: Final = ("nltk/nltk_data", "5db857e6f7df11eabb5e5665836db9ec8df07e28")
_GOEMOTIONS: Final = github(
    "monologg/GoEmotions-pytorch",
    "b75f9d3a8b76bc1060687925b04ca98a1b8ea66b",
    *(f"data/original/{name}" for name in ("labels.txt", "train.tsv", "dev.tsv", "test.tsv")),
)
EMOTIONS: Final = Source(
    "goemotions",
    "https://github.com/google-research/google-research/tree/master/goemotions",
    "Apache-2.0 (the repository), CC BY 4.0 (the data)",
    _GOEMOTIONS,
    _emotions("train", "dev"),
)
OPINIONS: Final = (
    Source("goemotions", EMOTIONS.page, EMOTIONS.licence, _GOEMOTIONS, _feelings),
    Source(
        "pros_cons",
        "https://www.cs.uic.edu/~liub/FBS/sentiment-analysis.html",
        "CC BY 4.0",
        github(*_NLTK, "packages/corpora/pros_cons.zip"),
        _pros_and_cons,
    ),
    Source(
        "films",
        "https://www.cs.cornell.edu/people/pabo/movie-review-data/",
        "CC BY 4.0",
        github(*_NLTK, "packages/corpora/sentence_polarity.zip"),
        _films,
    ),
    Source(
        "products",
        "https://www.cs.uic.edu/~liub/FBS/sentiment-analysis.html",
        "CC BY 4.0",
        github(*_NLTK, "packages/corpora/product_reviews_1.zip", "packages/corpora/product_reviews_2.zip"),
        _products,
    ),
)
EMOTION_TESTS: Final = {
    "GoEmotions, official split": Source("goemotions", EMOTIONS.page, EMOTIONS.licence, _GOEMOTIONS, _emotions("test"))
}
OPINION_TESTS: Final = {
    "sentences of reviews (Amazon, IMDb, Yelp)": Source(
        "sentences",
        "https://archive.ics.uci.edu/dataset/331/sentiment+labelled+sentences",
        "CC BY 4.0",
        github(
            "kvrao/sentiment_analysis",
            "462f7304ab341f1b5014e6eae56100bfe35d703a",
            *(f"sentiment%20labelled%20sentences/{site}_labelled.txt" for site in ("amazon_cells", "imdb", "yelp")),
        ),
        _sentences,
    ),
    "tweets": Source(
        "tweets",
        "https://github.com/cjhutto/vaderSentiment",
        "MIT",
        github(
            "cjhutto/vaderSentiment",
            "44fc044cd877310ee8278a0eadf34bcd50d41d06",
            "additional_resources/hutto_ICWSM_2014.tar.gz",
        ),
        _tweets,
    ),
}
