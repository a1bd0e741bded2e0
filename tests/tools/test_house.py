"""How large the project is: counted from the tree as it stands, and held below its ceilings."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools import house


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(house, "_ROOT", tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_counts_files_and_lines(root: Path) -> None:
    write(root / "retvec_lite/api.py", "a = 1\nb = 2\n\n")
    write(root / "converters/coreml/long.py", "a = 1\n" * 401)
    write(root / "engine/file.c", "\n" * 400)
    write(root / "engine/tables.h", "\n" * 9000)  # generated
    write(root / "bindings/go/file.c", "\n")
    found = house.count_files()
    assert (found["package: files"], found["package: lines"]) == (2, 404)
    assert (found["engine: files"], found["engine: lines"]) == (1, 400)
    assert found["other languages: lines"] == 1
    assert found["files over 400 lines"] == 1


def test_counts_constants_and_branches_of_the_training(root: Path) -> None:
    write(
        root / "retvec_lite/training/plan.py",
        "A: Final = 1\ndef f():\n    b: int = 2\n    if b: return 1 if A else 0\n",
    )
    write(root / "retvec_lite/data/rows.py", "A: Final = 1\n")
    assert house.count_branches() == {"training: constants": 1, "training: ifs": 2}


def test_counts_circles_that_type_checkers_and_functions_close(root: Path) -> None:
    write(root / "retvec_lite/__init__.py", "")
    write(root / "retvec_lite/a.py", "if TYPE_CHECKING:\n    from retvec_lite.b import B\n")
    write(root / "retvec_lite/b.py", "def f():\n    from retvec_lite.converters import c\n")
    write(root / "converters/c.py", "import retvec_lite.a\n")
    write(root / "retvec_lite/d.py", "from retvec_lite import a, numpy\n")
    assert house.count_circles() == {"circles of imports": 1, "modules in circles": 3}
    write(root / "converters/c.py", "import numpy\n")
    assert house.count_circles() == {"circles of imports": 0, "modules in circles": 0}


def kept(*raised: str, **ceilings: int) -> dict[str, Any]:
    return {"ceilings": ceilings, "raised": list(raised)}


def test_a_figure_stays_below_its_ceiling() -> None:
    assert house.faults_of({"commands": 16}, kept(commands=16), kept(commands=16)) == []
    assert house.faults_of({"commands": 17}, kept(commands=16), kept(commands=16)) == [
        "commands: 17 is above its ceiling of 16. Take something out instead."
    ]
    assert house.faults_of({"new": 1}, kept(commands=16), kept(commands=16)), "a figure without a ceiling"


def test_who_raises_a_ceiling_says_why() -> None:
    (fault,) = house.faults_of({"commands": 17}, kept(commands=17), kept(commands=16))
    assert fault.startswith("commands: the ceiling rose from 16 to 17.")
    line = "commands: `suggest` is new; `label` was deleted"
    assert house.faults_of({"commands": 17}, kept(line, commands=17), kept(commands=16)) == []
    assert house.faults_of({"commands": 18}, kept(line, commands=18), kept(line, commands=17)), "a line serves once"


def test_the_command_fails_above_a_ceiling_and_lowers_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "house.json"
    monkeypatch.setattr(house, "_FIGURES", figures)
    now = {**house.count_files(), **house.count_branches(), **house.count_circles(), **house.count_surface()}
    assert min(now.values()) >= 0
    assert now["modules that load imports"] > 20
    assert now["arguments of train"] > 10
    assert house.committed()["ceilings"].keys() == now.keys()
    monkeypatch.setattr(house, "committed", dict)
    monkeypatch.setattr(house, "count_files", lambda: now)
    for count in ("count_branches", "count_circles", "count_surface"):
        monkeypatch.setattr(house, count, dict)

    figures.write_text(json.dumps(kept(**{**now, "commands": now["commands"] - 1})))
    monkeypatch.setattr("sys.argv", ["house"])
    with pytest.raises(SystemExit, match=r"^commands: \d+ is above its ceiling of \d+\. Take something out instead\.$"):
        house.main()

    figures.write_text(json.dumps(kept(**{**now, "commands": now["commands"] + 5})))
    monkeypatch.setattr("sys.argv", ["house", "--lower"])
    house.main()
    assert f"commands: {now['commands'] + 5} -> {now['commands']}" in capsys.readouterr().out
    assert json.loads(figures.read_text())["ceilings"] == now
