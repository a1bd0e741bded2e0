"""How large the project is: counted from the tree as it stands."""

from pathlib import Path

import pytest

from tools import house


def test_counts_the_modules_and_lines_of_an_area(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "retvec_lite/model").mkdir(parents=True)
    (tmp_path / "retvec_lite/api.py").write_text("def train(data, *, head=1, **reading): ...\ndef _hidden(): ...\n")
    (tmp_path / "retvec_lite/model/heads.py").write_text("a = 1\nb = 2\n\n")
    monkeypatch.setattr(house, "_ROOT", tmp_path)
    found = house.measure()
    assert (found["package: files"], found["package: lines"]) == (2, 5)
    assert found["parameters of train"] == 3
    assert "parameters of _hidden" not in found


def test_prints_what_the_last_release_had(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["house"])
    house.main()
    shown = capsys.readouterr().out
    assert "package: lines" in shown
    assert "16027" in shown or "16,027" in shown
