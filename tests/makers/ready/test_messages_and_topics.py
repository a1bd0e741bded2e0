"""Spam and topics: what is read of owners' archives."""

import io
import json
import tarfile
from pathlib import Path

from support.owners import put

from makers.ready.messages import SPAM, SPAM_TESTS
from makers.ready.topics import TOPIC_TESTS, TOPICS


def archive(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as packed:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            packed.addfile(member, io.BytesIO(text.encode()))
    return content.getvalue()


MAIL = """From x@y Thu
Subject: Re: [list] Lunch
Content-Type: text/plain

On Monday Ann wrote:
> shall we?
Yes, at noon.
"""
RICH = """Subject: Win
Content-Type: text/html

<html><head><title>no</title></head><p>Click <b>here</b></p></html>
"""


def test_mails_are_subject_and_own_words(tmp_path: Path) -> None:
    comments, mails = SPAM
    put(tmp_path, comments, {"Youtube01-Psy.csv": "CONTENT,CLASS\nsubscribe!,1\nnice song,0\n".encode("utf-8-sig")})
    (address,) = mails.files
    packed = {
        "package/data/easy-ham-1/1.json": json.dumps({"group": "easy-ham-1", "text": MAIL}),
        "package/data/spam-2/2.json": json.dumps({"group": "spam-2", "text": RICH}),
        "package/data/list.json": "[]",
        "package/README.md": "no",
    }
    put(tmp_path, mails, {address.rpartition("/")[2]: archive(packed)})
    assert comments.rows(tmp_path) == [("subscribe!", "spam"), ("nice song", "ham")]
    assert mails.rows(tmp_path) == [("Lunch Yes, at noon.", "ham"), ("Win Click here", "spam")]


def test_mails_of_a_company(tmp_path: Path) -> None:
    (company,) = SPAM_TESTS.values()
    empty = archive({})
    files = {f"enron{part}.tar.gz": empty for part in range(2, 7)}
    texts = {
        "enron1/ham/1.txt": "Subject: gas , please",
        "enron1/spam/2.txt": "Subject: pills",
        "enron1/Summary.txt": "no",
    }
    put(tmp_path, company, {**files, "enron1.tar.gz": archive(texts)})
    assert company.rows(tmp_path) == [("gas, please", "ham"), ("pills", "spam")]


def test_topics_of_headlines_and_posts(tmp_path: Path) -> None:
    headlines, posts, agencies = TOPICS
    lines = [{"raw": "cat ' s win , again", "label": 11}, {"raw": "dropped", "label": 7}, {"raw": "a bill", "label": 0}]
    put(tmp_path, headlines, {"huffpost.json": "\n".join(map(json.dumps, lines)).encode()})
    post = "From: x\nSubject: Re: engine\n\nIn article 1 he said\n> quoted\nIt knocks.\n--\nme"
    groups = {
        "20news-bydate-train/rec.autos/1": post,
        "20news-bydate-train/rec.sport.hockey/2": "Subject: goal\n\nwhat a game",
        "20news-bydate-train/misc.forsale/3": "Subject: tv\n\n$5",
        "20news-bydate-test/sci.space/4": "Subject: moon\n\nfar",
    }
    put(tmp_path, posts, {"20news-bydate.tar.gz": archive(groups)})
    (later,) = TOPIC_TESTS.values()
    row = "1\tUPDATE 2-Shares fall\tu\tReuters\tb\ts\th\tx\n2\tno category\tu\tp\tz\n"
    put(tmp_path, agencies, {"train.txt": row.encode()})
    assert headlines.rows(tmp_path) == [("cat's win, again", "sports"), ("a bill", "politics")]
    assert posts.rows(tmp_path) == [("engine It knocks.", "vehicles"), ("goal what a game", "sports")]
    assert later.rows(tmp_path) == [("moon far", "science")]
    assert agencies.rows(tmp_path) == [("Shares fall", "business")]
