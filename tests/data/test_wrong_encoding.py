"""Files in the encodings of older programs: the error shows what each makes of a word, the right one among them."""

from pathlib import Path

import pytest
from refusals import refusal

from retvec_lite.data.dataset import read_dataset
from retvec_lite.data.wrong_encoding import readings
from retvec_lite.errors import RetvecLiteError

WRITTEN = {
    "GB18030": ("我的包裹", "退款", "请问，我的订单什么时候到？"),
    "BIG5": ("我的包裹在哪裡", "退款"),
    "CP932": ("荷物はどこですか", "返金してください", "テストです"),
    "EUC-JP": ("荷物はどこですか",),
    "CP949": ("소포는 어디에 있나요", "환불 해주세요"),
    "CP1252": ("café", "Grüße – danke", "¿Dónde está?", "l’été “ici”", "naïve", "ÄRGER"),
    "MACINTOSH": ("café", "Grüße an Päule", "¿Dónde está?", "naïve", "l’été"),
    "CP1250": ("łódź żółw", "příliš žluťoučký"),
    "CP1251": ("где моя посылка", "СРОЧНО", "Где Она"),
    "KOI8-R": ("где моя посылка", "Привет"),
    "CP1253": ("πού είναι το δέμα",),
    "CP1254": ("kargom nerede şimdi",),
    "CP1255": ("איפה החבילה",),
    "CP1256": ("أين طردي",),
    "CP874": ("พัสดุอยู่ที่ไหน",),
    "CP850": ("Päckchen Grüße",),
    "CP852": ("proszę pieniędzy",),
    "CP866": ("где моя посылка",),
    "CP1257": ("žalias ačiū",),
    "ISO8859-2": ("pieniądze źle",),
    "ISO8859-5": ("где моя посылка",),
}


@pytest.mark.parametrize(("encoding", "text"), [(name, text) for name, texts in WRITTEN.items() for text in texts])
def test_what_was_written_is_among_the_readings_and_no_encoding_alone_is_advised(
    tmp_path: Path, encoding: str, text: str
) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(f"text,label\nhi,a\n{text},b\n".encode(encoding))
    told = refusal(read_dataset, path)
    assert told.startswith(f"{path}, line 3: the byte 0x") and "iconv -f NAME -t UTF-8" in told and "CSV UTF-8" in told
    # The word that was written is one that converting from the encoding named beside it brings back.
    found = readings(text.encode(encoding).decode("utf-8", "surrogateescape"))
    (name,) = [name for name, word in found.items() if word in text.split()]
    assert f"{name} {found[name]!r}" in told and path.read_bytes().decode(name).splitlines()[2] == f"{text},b"


def test_latin_letters_are_not_read_as_others() -> None:
    for text in ("café", "Grüße", "déjà vu"):
        found = readings(text.encode("cp1252").decode("utf-8", "surrogateescape"))
        assert found["CP1252"] in text and not {"GB18030", "CP932", "CP1251", "KOI8-R", "MACINTOSH"} & found.keys()


def test_bytes_of_no_text_are_told_with_what_was_tried(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b"text,label\n\x81\x8d\x8f\xff\xffA\x9d\xfe,a\n")
    with pytest.raises(
        RetvecLiteError, match=r"No other encoding makes words of it: .*GB18030, .*were tried\)"
    ) as caught:
        read_dataset(path)
    assert "iconv" not in str(caught.value)


@pytest.mark.parametrize("rest", [b"\0", b" \0 ", "é".encode(), b"\xed\xa0\x80"])
def test_what_else_a_line_holds_is_no_obstacle(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b'{"text": "caf\xe9' + rest + b'", "label": "a"}\n')
    with pytest.raises(RetvecLiteError, match=r"d\.jsonl, line 1: the byte 0xE9 is not UTF-8"):
        read_dataset(path)
