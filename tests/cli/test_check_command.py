"""`retvec-lite check`: from a messy file to the list of what is doubtful in it; the same from Python, and after a training."""

import csv
from pathlib import Path

import pytest
from tiny_data import tiny_dataset

import retvec_lite as rl
from retvec_lite.__main__ import main
from retvec_lite.training import request
from retvec_lite.training import train as training


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 texts, some of them copies, the header in their midst, and two wrong labels."""
    data = tiny_dataset(12)
    rows = list(zip(data.texts, data.labels, strict=True))
    wrong = [place for place, (_, label) in enumerate(rows) if label == "music"][:2]
    for place in wrong:
        rows[place] = (rows[place][0], "weather")
    path = tmp_path_factory.mktemp("check") / "messy.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows[:9], ("text", "label"), *rows[9:]])
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def printed(messy: Path) -> str:
    """What the command prints; its list is beside the data."""
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        patch.setattr("builtins.print", lambda *parts, **_: lines.append(" ".join(map(str, parts))))
        assert main(["check", str(messy), "--output", str(messy.with_name("found.csv"))]) == 0
    return "\n".join(lines)


@pytest.mark.slow
def test_the_command_lists_wrong_labels_with_their_rows(messy: Path, printed: str) -> None:
    data, found = rows_of(messy), rows_of(messy.with_name("found.csv"))
    assert list(found[0]) == ["row", "label", "suggestion", "score", "text"]
    for each in found:
        assert data[int(each["row"])] == {"text": each["text"], "label": each["label"]}
    assert ("weather", "music") in {(each["label"], each["suggestion"]) for each in found[:2]}
    assert "48 texts" in printed and "taken for 'music'" in printed and "found.csv" in printed


@pytest.mark.slow
def test_python_and_a_training_say_the_same(messy: Path, printed: str) -> None:
    classifier = rl.train(messy)
    assert classifier.held_out is not None
    found = classifier.held_out.check
    assert str(found) in printed and "Rows are counted from 0, without the header." in printed
    assert found.warnings == tuple(classifier.training["warnings"]) and "1 row skipped that holds" in found.warnings[0]
    assert all(f"- {warning}" in printed for warning in found.warnings)
    assert classifier.training["doubtful"] == len(found.suspects) >= 1
    assert classifier.training["copies"] == {"texts": found.repeats, "groups": len(found.copies)}


@pytest.mark.slow
def test_many_texts_are_checked_by_n_grams_all_of_them(messy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "FEW", 40)
    monkeypatch.setattr(training, "fit_classifier", lambda *_, **__: pytest.fail("that costs a training"))
    data, found = rows_of(messy), rl.check(messy)
    assert "1 row skipped that holds" in found.warnings[0]
    assert found.texts == 48 and [suspect.suggestion for suspect in found.suspects[:3]].count("music") == 2, (
        "both wrong ones"
    )
    assert all(data[suspect.row]["text"] == suspect.text for suspect in found.suspects)


def test_what_cannot_be_written_is_told_before_any_work(
    messy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(training, "answer_all", lambda *_, **__: pytest.fail("too late"))
    before = messy.read_bytes()
    for arguments, told in (([], "already exists"), (["--force"], "is an input, too")):
        assert main(["check", str(messy), "--output", str(messy), *arguments]) == 2
        assert told in capsys.readouterr().err and messy.read_bytes() == before
    assert main(["check", str(messy), "--output", str(messy.parent / "doubtful.xlsx")]) == 2
    assert "written as .csv or .html" in capsys.readouterr().err
