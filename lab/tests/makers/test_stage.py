"""One way to go on after a kill: a stage belongs to its settings, and a damaged one is named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from makers.stage import Arrays, Stage
from retvec_lite.errors import RetvecLiteError

SETTINGS = {"seed": 0, "rates": (0.5, None)}


class Adding:
    """Adds its steps up."""

    def __init__(self) -> None:
        self.total = 0

    def state(self) -> Arrays:
        return {"total": np.asarray(self.total)}

    def restore(self, state: Arrays) -> None:
        self.total = int(state["total"])


def test_steps_go_on_behind_the_last_that_was_kept(tmp_path: Path) -> None:
    stage, first = Stage(tmp_path / "deep" / "a.npz", SETTINGS), Adding()
    for number in stage.steps(first, 10, 3):
        if number == 7:
            break
        first.total += number
    again = Adding()
    left = []
    for number in stage.steps(again, 10, 3):
        left.append(number)
        again.total += number
    assert left == [6, 7, 8, 9] and again.total == sum(range(10))
    assert list(stage.steps(third := Adding(), 10, 3)) == [] and third.total == again.total


def test_once_makes_arrays_a_single_time(tmp_path: Path) -> None:
    made = []

    def make() -> Arrays:
        made.append(1)
        return {"text": np.asarray("é"), "half": np.ones(2, np.float16)}

    for _ in range(2):
        found = Stage(tmp_path / "a.npz", SETTINGS).once(make, dict)
        assert str(found["text"]) == "é" and found["half"].dtype == np.float16
    assert len(made) == 1


def test_other_settings_are_told_one_by_one(tmp_path: Path) -> None:
    Stage(tmp_path / "a.npz", SETTINGS).write({})
    with pytest.raises(RetvecLiteError) as caught:
        Stage(tmp_path / "a.npz", {"seed": 1, "rates": (0.5, None), "words": "new"}).once(dict, dict)
    assert str(caught.value) == (
        f"The run in {tmp_path} has seed=0, words=None, not seed=1, words=new: name another folder with --out."
    )


def damage(content: bytes) -> list[bytes]:
    """Ways in which a file may be damaged."""
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    return [b"", b"PK", content[:middle], content[:-1], flipped, bytes(len(content))]


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "a.npz", SETTINGS)
    stage.write({"total": np.arange(1000), "done": np.asarray(3)})
    for content in damage(stage.path.read_bytes()):
        stage.path.write_bytes(content)
        with pytest.raises(RetvecLiteError) as caught:
            list(stage.steps(Adding(), 10, 3))
        message = str(caught.value)
        assert message.startswith(f"{stage.path} is damaged (") and message.endswith("). Remove it to begin again.")
        assert "\n" not in message


@pytest.mark.parametrize(
    "arrays",
    [
        {"settings": np.asarray("[1]"), "total": np.asarray(1), "done": np.asarray(1)},
        {"settings": np.asarray({"a": 1}, object)},
        {"total": np.asarray(1)},
        {"settings": np.asarray('{"seed": 0, "rates": [0.5, null]}'), "total": np.asarray("x"), "done": np.asarray(1)},
        {"settings": np.asarray('{"seed": 0, "rates": [0.5, null]}'), "total": np.asarray(1)},
    ],
    ids=["a list", "objects", "nothing", "a text", "no number"],
)
def test_a_file_of_something_else_is_one_sentence(tmp_path: Path, arrays: dict[str, Any]) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(RetvecLiteError, match=r"a\.npz is damaged \("):
        list(Stage(tmp_path / "a.npz", SETTINGS).steps(Adding(), 10, 3))
