"""Arguments of a command are those of a function: names, defaults, help, and what is read from the text of each."""

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest

from retvec_lite.cli import add_options


def brew(
    tea: str,
    cups: int = 2,
    milk_kb: int | None = None,
    strength: float | Literal["auto"] | Any = "auto",
    sweet: float | None = None,
    leaves: Literal["green", "black"] = "green",
    pot: Literal["own"] | str | os.PathLike[str] | Mapping[str, float] = "own",
    guests: Sequence[str] | None = None,
    spoon_name: str = "tea",
    decaf: bool = False,
    warm: bool = True,
    sugar: bool | None = None,
) -> None:
    """Brew tea.

    Args:
        tea: its name, which
            may go on.
        cups: how many to brew.
        milk_kb: of `milk`, 50 % or less (default: none).

    Returns:
        Nothing.
    """


def parser(*names: str, **changes: Any) -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="brew")
    add_options(found, brew, *names, **changes)
    return found


def test_defaults_are_those_of_the_function() -> None:
    assert vars(parser().parse_args(["mint"])) == {
        **{"tea": "mint", "cups": 2, "milk_kb": None, "strength": "auto", "sweet": None, "leaves": "green"},
        **{"pot": "own", "guests": None, "spoon_name": "tea", "decaf": False, "warm": True, "sugar": None},
    }


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        ("--cups 3", "cups", 3),
        ("--cups 1.5", "cups", "1.5"),
        ("--cups many", "cups", "many"),
        ("--strength 0.2", "strength", 0.2),
        ("--strength cup.csv", "strength", "cup.csv"),
        ("--sweet 1", "sweet", 1.0),
        ("--pot 7", "pot", "7"),
        ("--guests ann,bob,", "guests", ("ann", "bob")),
        ("--spoon-name soup", "spoon_name", "soup"),
        ("--leaves black", "leaves", "black"),
        ("--decaf", "decaf", True),
        ("--no-warm", "warm", False),
        ("--sugar", "sugar", True),
        ("--no-sugar", "sugar", False),
    ],
)
def test_texts_are_read_as_annotated_and_others_left_for_the_function_to_refuse(
    arguments: str, name: str, value: object
) -> None:
    found = getattr(parser().parse_args(["mint", *arguments.split()]), name)
    assert found == value and type(found) is type(value)


def test_help_is_the_docstring_s() -> None:
    told = " ".join(parser().format_help().split())
    for part in (
        "TEA its name, which may go on",
        "--cups N how many to brew (default: 2)",
        "--milk-kb KB of milk, 50 % or less (default: none)",
        "--strength auto|SHARE|FILE",
        "--pot own|FILE",
        "--guests NAME,...",
        "--spoon-name NAME",
        "--leaves {green,black}",
        "--decaf --warm, --no-warm",
    ):
        assert part in told, part


def test_some_are_chosen_and_changed() -> None:
    found = parser("cups", "pot", pot={"required": True, "metavar": "DIR"})
    assert vars(found.parse_args(["--pot", "x"])) == {"cups": 2, "pot": "x"} and "--pot DIR" in found.format_help()
    with pytest.raises(SystemExit):
        found.parse_args([])
