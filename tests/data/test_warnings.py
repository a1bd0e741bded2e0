"""What is wrong with training data without being an error: each kind is told once, with examples, and good data say nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from retvec_lite.data.dataset import Dataset, read_dataset
from retvec_lite.data.warnings import check_trainable, data_warnings
from retvec_lite.errors import RetvecLiteError

GOOD = [(f"{word} {number}", word) for word in ("alarm", "music") for number in range(6)]


def dataset(*rows: tuple[str, str]) -> Dataset:
    return Dataset(tuple(text for text, _ in rows), tuple(label for _, label in rows), Path("d.csv"))


def test_good_data_have_no_warning() -> None:
    assert data_warnings(dataset(*GOOD)) == []
    assert data_warnings(dataset(*GOOD), dataset(("play it", "music"))) == []


def test_many_copies_are_told_and_few_are_not() -> None:
    told = "12 of 24 texts repeat others, or nearly so: they count once, and teach little."
    assert data_warnings(dataset(*GOOD, *GOOD)) == [told]
    assert data_warnings(dataset(*GOOD, *[(text.upper() + "!", label) for text, label in GOOD])) == [told]
    assert data_warnings(dataset(*GOOD, GOOD[0])) == []


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("wake up", "alarm"), ("wake up", "music")], "1 text has several labels: 'wake up' ('alarm', 'music')."),
        (
            [("wake us", "alarm"), ("wake US", "music")],
            "1 text has several labels: 'wake us' ('alarm') and 'wake US' ('music').",
        ),
        (
            [
                *((f"t{row}", label) for row in range(4) for label in ("alarm", "music")),
                *((f"u{row}", "music") for row in range(30)),
            ],
            "4 texts have several labels: 't0' ('alarm', 'music'), 't1' ('alarm', 'music'), 't2' ('alarm', 'music') and more.",
        ),
        (
            [(f"a{row}", "Alarm") for row in range(5)],
            "Labels that look alike, or are one number: 'Alarm' and 'alarm'. Is each of them one label?",
        ),
        (
            [(f"{len(form)} {row}", form) for row in range(5) for form in ("café", "cafe\u0301")],
            "Labels that look alike, or are one number: 'cafe\u0301' and 'café'. Is each of them one label?",
        ),
        ([(" \u200b\ufeff", "alarm")], "1 text holds nothing but invisible characters: ' \\u200b\\ufeff' ('alarm')."),
        (
            [("don\ufffdt", "alarm")],
            "1 text lacks letters: 'don\ufffdt', with U+FFFD in their place. Export the file anew, as UTF-8.",
        ),
        ([("rain", "weather")], "1 label has fewer than 5 texts: 'weather' (1). Add some."),
        (
            [(f"{label}{row}", label) for label in "abcd" for row in range(2)],
            "4 labels have fewer than 5 texts: 'a' (2), 'b' (2), 'c' (2) and more. Add some.",
        ),
    ],
)
def test_each_fault_is_told(rows: list[tuple[str, str]], expected: str) -> None:
    assert data_warnings(dataset(*GOOD, *rows)) == [expected]


@pytest.mark.parametrize(
    "cell",
    ["#REF!", "#N/A", "#NAME?", "#DIV/0!", "#VALUE!", "#SPILL!", "#GETTING_DATA", "#BEZUG!", "#NV", "#ÜBERLAUF!", "#NOM?", "#¡REF!", "#¿NOMBRE?", "#N/D", "#ИМЯ?", "#Н/Д"],
)  # fmt: skip
def test_what_a_spreadsheet_shows_where_a_formula_fails_is_told(cell: str) -> None:
    told = "which spreadsheets show where a formula fails. Mend the sheet, or leave these rows out."
    assert data_warnings(dataset(*GOOD, (cell, "alarm"))) == [f"1 text reads {cell!r}, {told}"]
    rows = [(f"ring {row}", cell) for row in range(5)]
    assert data_warnings(dataset(*GOOD, *rows)) == [f"5 labels read {cell!r}, {told}"]


@pytest.mark.parametrize(
    "cell",
    ["=VLOOKUP(A1;B:B;2)", "=A2&B2", '="a"&B1', "=Sheet1!A1", "='My sheet'!B2", "=-A1", "=(A1+B1)", "=$A$1", "=ZÄHLENWENN(A1:A9)", "= SUM(A1)"],
)  # fmt: skip
def test_formulas_are_told(cell: str) -> None:
    (found,) = data_warnings(dataset(*GOOD, (cell, "alarm")))
    assert found == f"1 text is a formula: {cell!r}. Save the sheet with their values, as CSV UTF-8."


@pytest.mark.parametrize(
    "text",
    ["=)", "=D", "=== hi ===", "=> see above", "=1+1=2", "#wow!", "#Hilfe!", "#1", "#привет!", "# REF!", "-5 today", "@bob hi", "+1", "=B2B"],
)  # fmt: skip
def test_what_only_looks_like_a_formula_is_a_text(text: str) -> None:
    assert data_warnings(dataset(*GOOD, (text, "alarm"))) == []


def test_validation_texts_that_are_trained_on_are_told() -> None:
    found = data_warnings(dataset(*GOOD), dataset(("alarm 1", "alarm"), ("alarm 1", "alarm"), ("new", "alarm")))
    told = "in the training data as well, or nearly so, so accuracy will look too good"
    assert found == [f"1 validation text is {told}: 'alarm 1'."]
    rows = [("Please wake me up tomorrow at 7", "alarm"), ("wake me up at noon", "alarm"), ("music", "music")]
    found = data_warnings(dataset(*GOOD, *rows), dataset(("wake me up tomorow at 8!", "alarm"), ("MUSIC", "music")))
    assert found[-1] == f"2 validation texts are {told}: 'wake me up tomorow at 8!', 'MUSIC'."


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        *((f"al{chr(code)}arm", f"(with U+{code:04X})") for code in (0xAD, 0x200B, 0x200D, 0x2060, 0xFEFF, 0xFE0F, 0xE0100, 0x34F)),
        *((f"alarm{chr(code)}", f"(with U+{code:04X})") for code in (0x200B, 0xFEFF, 0x200E, 0x202C)),
    ],
)  # fmt: skip
def test_labels_that_differ_in_what_cannot_be_seen_are_told_by_code_point(odd: str, told: str) -> None:
    (found,) = data_warnings(dataset(*GOOD, *[(f"ring {row}", odd) for row in range(5)]))
    assert found.startswith("Labels that look alike") and told in found and f"{'alarm'!r} and " in found


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (("1", "1.0"), "'1' and '1.0'."),
        (("7", "007"), "'007' and '7'."),
        (("100000", "1E5"), "'100000' and '1E5'."),
        (("spam", "sраm"), "'spam' and 'sраm' (with U+0440, U+0430)."),
        (("Погода", "погода"), "'Погода' and 'погода'."),
        (("set alarm", "set\u00a0alarm"), "'set alarm' and 'set\\xa0alarm' (with U+00A0)."),
    ],
)
def test_labels_that_are_one_number_or_have_letters_that_look_alike_are_told(
    labels: tuple[str, str], told: str
) -> None:
    rows = [(f"{label} {row}", label) for row in range(5) for label in labels]
    assert told in data_warnings(dataset(*GOOD, *rows))[-1]


@pytest.mark.parametrize(
    "labels",
    [("1", "-1"), ("C", "C++"), ("nan0", "inf0"), ("2024-01-02", "2024-01-03"), ("да", "нет"), ("x", "x\u0301")],
)
def test_other_labels_are_not_alike(labels: tuple[str, str]) -> None:
    rows = [(f"{first}{last}", label) for label, first in zip(labels, "qx", strict=True) for last in "abcde"]
    assert data_warnings(dataset(*GOOD, *rows)) == []


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp1251"])
def test_utf8_that_was_read_as_another_encoding_is_told(encoding: str) -> None:
    word = {"cp1251": "привет, мир"}.get(encoding, "Grüße vom café – déjà vu")
    garbled = word.encode().decode(encoding)
    found = data_warnings(dataset(*GOOD, (garbled, "alarm")))
    assert [sentence.partition(": ")[0] for sentence in found] == ["1 text is garbled"]
    assert "is read as another encoding. Export the file anew, as UTF-8." in found[0]
    assert data_warnings(dataset(*GOOD, (word, "alarm"))) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("soooo good", "sooooo good"), ("call 12345678901234567", "call 98765432109876543210"), ("ask <EMAIL>", "ask <PHONE>"),
     ("5%50 x", "5P x"), ("fine" + 15 * "*", "fine" + 20 * "*"), ("**so** it is", "so it is")],
)  # fmt: skip
def test_texts_that_are_read_alike_and_have_other_labels_are_told(one: str, other: str) -> None:
    (told,) = data_warnings(dataset(*GOOD, (one, "alarm"), (other, "music")))
    assert told.startswith("No classifier tells apart ") and "('alarm') and " in told and "('music')" in told
    assert data_warnings(dataset(*GOOD, (one, "alarm"), (other, "alarm"))) == []


@pytest.mark.parametrize(
    "form", ["{text},{label}", "{label},{text}", '"{text}",{label}', "{label}\t{text}", "{text};{label}"]
)
def test_rows_that_an_open_quote_swallowed_are_told(tmp_path: Path, form: str) -> None:
    names, sign = {"text": "text", "label": "label"}, next(sign for sign in ",;\t" if sign in form)
    plain = form.replace('"', "")
    rows = [plain.format(**names), *(plain.format(text=text, label=label) for text, label in GOOD)]
    quoted = [
        f'"{cell}' if cell.startswith("alarm 2") or cell.endswith("alarm 2") else cell for cell in rows[3].split(sign)
    ]
    rows[3] = sign.join(quoted)
    rows[6] = rows[6].replace("alarm 5", 'a screen of 5"')
    (tmp_path / "d.csv").write_text("\n".join(rows) + "\n")
    data = read_dataset(tmp_path / "d.csv")
    assert len(data) == len(GOOD) - 3
    told = data_warnings(data)[0]
    assert told.startswith("1 text holds a line that looks like a row of its own, the first in row 2 (counted from 0")


def test_texts_of_several_lines_are_no_rows() -> None:
    letters = [
        (f"Dear Ann {row},\nplay it; no alarm, music\nor jazz,\nBob", label) for row, (_, label) in enumerate(GOOD)
    ]
    assert [told for told in data_warnings(dataset(*letters)) if "row of its own" in told] == []


def test_what_a_label_is_must_be_said_by_its_name_or_its_description() -> None:
    data = Dataset((), (), Path("d.csv"), descriptions=(("angry", "😡"), ("7", "seven pieces"), ("happy", "")))
    check_trainable(data)
    with pytest.raises(RetvecLiteError, match=r"the label '8' .*: its name has no word"):
        check_trainable(replace(data, descriptions=(*data.descriptions, ("8", "😡"))))
