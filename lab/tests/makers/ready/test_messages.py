"""Messages, mails and comments: what is read of owners' files."""

import io
import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from owners import archive, put

from makers.ready.messages import SPAM, SPAM_LANGUAGES, SPAM_TESTS, SPAM_TESTS_ABROAD

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


def test_comments_and_mails_are_spam_or_not(tmp_path: Path) -> None:
    _, comments, mails = SPAM
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


def test_messages_collected_later_do_not_repeat_the_collection(tmp_path: Path) -> None:
    later = SPAM_TESTS["messages collected later"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("SMSSpamCollection", "ham\tSee you\nspam\tWINNER! You have won a prize, call 090 now")
    rows = "LABEL,TEXT\nham,see you :)\nspam,Winner you have won a prize. Call 080 today\nSmishing,Your parcel waits\nham,Ok\n"
    put(tmp_path, later, {"DatasetCombined.csv": rows.encode(), "sms+spam+collection.zip": packed.getvalue()})
    assert later.rows(tmp_path) == [("Your parcel waits", "spam"), ("Ok", "ham")]


@pytest.mark.parametrize(
    ("language", "content"),
    [
        ("id", "Teks,label\nbad,promo\nworse,penipuan\ngood,normal\n"),
        ("tr", "Message;GroupText\nbad;Spam\ngood;Normal\n"),
    ],
)
def test_messages_are_spam_or_ham(tmp_path: Path, language: str, content: str) -> None:
    source = SPAM_TESTS_ABROAD[language]
    (address,) = source.files
    put(tmp_path, source, {address.rpartition("/")[2]: content.encode()})
    assert dict(source.rows(tmp_path)) in (
        {"bad": "spam", "worse": "spam", "good": "ham"},
        {"bad": "spam", "good": "ham"},
    )


def test_as_much_spam_as_ham_is_typed_in_every_language(tmp_path: Path) -> None:
    for source in (SPAM_TESTS["typed messages"], *(SPAM_TESTS_ABROAD[f"{each}, typed"] for each in SPAM_LANGUAGES)):
        assert Counter(label for _, label in source.rows(tmp_path)) == {"spam": 60, "ham": 60}


def test_translations_of_learned_messages_are_no_tests(tmp_path: Path) -> None:
    rows = "".join(f"spam,{number},b{number}\n" for number in range(40))
    put(tmp_path, SPAM_TESTS_ABROAD["de"], {"data-en-hi-de-fr.csv": f"labels,text,text_de\n{rows}".encode()})
    assert 0 < len(SPAM_TESTS_ABROAD["de"].rows(tmp_path)) < 40
