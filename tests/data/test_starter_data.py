"""The starter data are what their README says: sizes, split, no doubles, nobody's domain or telephone number."""

import csv
import re
import unicodedata
from collections import Counter
from typing import NamedTuple

import pytest

from retvec_lite.contract import SEPARATORS
from retvec_lite.data.dataset import read_dataset, starter_file
from retvec_lite.data.warnings import check_trainable
from retvec_lite.errors import RetvecLiteError

LANGUAGES = ("ar", "de", "en", "es", "fr", "hi", "ja", "pt", "ru", "zh")
LABELS = (
    "alarm",
    "appointment",
    "chat",
    "delivery",
    "directions",
    "music",
    "one_time_code",
    "payment",
    "spam",
    "weather",
)


class Row(NamedTuple):
    text: str
    label: str
    lang: str


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Row]]:
    found = {}
    for split in ("train", "test"):
        with starter_file(split).open(encoding="utf-8", newline="") as file:
            header, *records = csv.reader(file, strict=True)
        assert header == ["text", "label", "lang"]
        found[split] = [Row(*record) for record in records]
    return found


def test_every_language_and_label_is_there_as_often_as_the_readme_says(rows: dict[str, list[Row]]) -> None:
    for split, english, other in (("train", 83, 74), ("test", 21, 18)):
        counts = Counter((row.lang, row.label) for row in rows[split])
        for lang in LANGUAGES:
            for label in LABELS:
                assert abs(counts[lang, label] - (english if lang == "en" else other)) <= 2, (split, lang, label)
    assert (len(rows["train"]), len(rows["test"])) == (7479, 1830)


def test_the_readme_names_these_sizes() -> None:
    readme = (starter_file("train").parent / "README.md").read_text(encoding="utf-8")
    for number in ("9,309", "7,479", "1,830"):
        assert number in readme
    assert all(f"`{label}`" in readme for label in LABELS)


def test_near_doubles_stand_on_one_side(rows: dict[str, list[Row]]) -> None:
    """Of every language the first ten texts of the test split, against all of its training texts."""
    for lang in LANGUAGES:
        training = [_trigrams(row.text) for row in rows["train"] if row.lang == lang]
        for row in [row for row in rows["test"] if row.lang == lang][:10]:
            own = _trigrams(row.text)
            assert all(len(own & other) <= 0.55 * len(own | other) for other in training), row.text


def _trigrams(text: str) -> set[str]:
    letters = _letters(text)
    return {letters[start : start + 3] for start in range(max(1, len(letters) - 2))}


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if unicodedata.category(char).startswith(("L", "M")))


def test_no_two_texts_are_the_same_but_for_case_digits_and_punctuation(rows: dict[str, list[Row]]) -> None:
    seen: dict[str, str] = {}
    for row in rows["train"] + rows["test"]:
        assert seen.setdefault(_letters(row.text) or row.text, row.text) == row.text
    assert len(seen) == len(rows["train"]) + len(rows["test"])


def test_the_files_are_plain_utf8_with_line_feeds() -> None:
    for path in map(starter_file, ("train", "test")):
        data = path.read_bytes()
        assert not data.startswith(b"\xef\xbb\xbf")
        assert b"\r" not in data
        assert data.endswith(b"\n")


def test_texts_are_clean(rows: dict[str, list[Row]]) -> None:
    white = "".join(map(chr, SEPARATORS))
    for row in rows["train"] + rows["test"]:
        assert row.text == unicodedata.normalize("NFC", row.text).strip(white)
        assert 1 <= len(row.text) <= 300
        assert not {unicodedata.category(character) for character in row.text} & {"Cc", "Co", "Cs"}
        assert "\ufffd" not in row.text


def test_domains_and_telephone_numbers_belong_to_nobody(rows: dict[str, list[Row]]) -> None:
    text = "\n".join(row.text for row in rows["train"] + rows["test"])
    domains = re.findall(r"[a-z0-9-]+\.([a-z]{2,})\b", text)
    assert set(domains) == {"example", "test"}  # RFC 2606
    # 555-0100 to 555-0199 are kept free for fiction; the other numbers that are to be called consist of noughts.
    assert all(number.startswith("01") for number in re.findall(r"\b555-(\d{4})\b", text))
    assert not re.findall(r"\+[1-9]\d?[ -]?\(?\d{3}", text)  # shorter ones, +17, are degrees


def test_both_splits_have_every_label() -> None:
    for split in ("train", "test"):
        dataset = read_dataset(starter_file(split))
        assert dataset.classes == LABELS
        check_trainable(dataset)


def test_another_split_is_refused() -> None:
    with pytest.raises(RetvecLiteError, match="train and test, not 'dev'"):
        starter_file("dev")
