"""Texts in other languages: what is read of owners' files, and which of them are kept for tests."""

import io
import zipfile
from pathlib import Path

import pytest
from owners import put

from makers.ready.abroad import EITHER, TOXICITY_ABROAD, TOXICITY_TESTS_ABROAD
from makers.ready.messages import SPAM_TESTS_ABROAD


def packed(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


SHEET = "<x xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'>{}</x>"
STRINGS = ["first", "vile", "rude", "fine", "Offensive", "Non-Offensive", "HS", "-"]
ROWS = [
    "".join(f"<c r='{cell}' t='s'><v>{text}</v></c>" for cell, text in zip("CDH", row, strict=True))
    for row in ("000", "047", "146", "247", "357")
]
FILES = {
    "germeval2018.training.txt": b"vile\tOFFENSE\tABUSE\nrude\tOFFENSE\tINSULT\nfine\tOTHER\tOTHER\n",
    "germeval2018.test.txt": b"vile\tOFFENSE\tABUSE\nfine\tOTHER\tOTHER\n",
    "gahd.csv": b"text,label\nvile,1\nfine,0\n",
    "ToLD-BR.csv": b"text,homophobia,obscene,insult,racism,misogyny,xenophobia\n"
    b"first,0,3,0,0,0,0\nvile,2,3,0,0,0,0\nrude,1,2,0,0,0,0\nfine,0,0,0,0,0,0\nunclear,0,1,0,0,0,0\n",
    "hate_speech_mlma.zip": packed(
        {
            "hate_speech_mlma/fr_dataset.csv": "tweet,sentiment\nfirst,abusive\nvile,fearful_hateful\nrude,offensive\nfine,normal\nunclear,fearful\n"
        }
    ),
    "Arabic_offensive_comment_detection_annotation_4000_selected.xlsx": packed(
        {
            "xl/sharedStrings.xml": SHEET.format("".join(f"<si><t>{text}</t></si>" for text in STRINGS)),
            "xl/worksheets/sheet1.xml": SHEET.format("".join(f"<row>{row}</row>" for row in ROWS)),
        }
    ),
    "train.tsv": b"comments\tbias\thate\nvile\tgender\thate\nrude\tnone\thate\nfine\tothers\tnone\n",
    "dev.tsv": b"comments\tbias\thate\nvile\tgender\thate\nfine\tnone\tnone\n",
    "training_set_clean_only_text.txt": b"vile\nrude\nfine\n",
    "training_set_clean_only_tags.txt": b"2\r\n1\r\n0\r\n",
    "test_set_clean_only_text.txt": b"vile\nfine\n",
    "test_set_clean_only_tags.txt": b"1\n0\n",
    "offenseval-tr-training-v1.tsv": b"1\trude\tOFF\n2\tfine\tNOT\n3\tleft out\tNOT\n",
    "offenseval-tr-testset-v1.tsv": b"1\tvile\n2\tfine\n",
    "offenseval-tr-labela-v1.tsv": b"1,OFF\n2,NOT\n",
    "russian_distorted_toxicity.tsv": b"comments\ttoxicity\nfirst\t1\nrude\t1\nfine\t0\n",
}
LEARNED = {"vile": "hate", "rude": "offensive", "fine": "none"}
TESTED = {"first": EITHER, "vile": EITHER, "fine": "none"}


def test_every_owner_says_hate_offence_or_none_and_tests_do_not_tell_hate_from_offence(tmp_path: Path) -> None:
    owned = [source for source in TOXICITY_ABROAD if source.files]
    tests = [source for language, source in TOXICITY_TESTS_ABROAD.items() if "functional" not in language]
    for meant, sources in ((LEARNED, owned), (TESTED, tests)):
        for source in sources:
            put(tmp_path, source, FILES)
            found = source.rows(tmp_path)
            assert found and found == [(text, meant[text]) for text, _ in found], source.name


def test_functional_tests_are_hate_or_none(tmp_path: Path) -> None:
    source = TOXICITY_TESTS_ABROAD["es, functional"]
    (address,) = source.files
    put(tmp_path, source, {address.rpartition("/")[2]: b"test_case,label_gold\nbad,hateful\ngood,non-hateful\n"})
    assert source.rows(tmp_path) == [("bad", "hate"), ("good", "none")]


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


def test_translations_of_learned_messages_are_no_tests(tmp_path: Path) -> None:
    rows = "".join(f"spam,{number},b{number}\n" for number in range(40))
    put(tmp_path, SPAM_TESTS_ABROAD["de"], {"data-en-hi-de-fr.csv": f"labels,text,text_de\n{rows}".encode()})
    assert 0 < len(SPAM_TESTS_ABROAD["de"].rows(tmp_path)) < 40
