"""Options that stand once: what a field says is what the command line takes, Python checks and both document."""

import argparse
import dataclasses

import pytest

from retvec_lite.errors import RetvecLiteError
from retvec_lite.option_fields import Options, choice, integer, number, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Brew(Options):
    cups: int = option(2, "how many to brew (default: 2)", integer(1, 9))
    minutes: int | str = option("auto", "how long", integer(1, word="auto"), metavar="auto|N")
    milk: float | None = option(None, "share of milk", number(lambda share: 0 <= share <= 1, "a share from 0 to 1"))
    kind: str = option("green", "which leaves", choice("green", "black"))
    decaf: bool = option(False, "without caffeine")
    warm: bool = option(True, "warm the pot")
    sugar: bool | None = option(None, "with sugar")
    guests: tuple[str, ...] = option((), "who comes", nargs="*")


@Brew.document
def brew(tea: str, **options: object) -> Brew:
    """Brew tea.

    Args:
        tea: its name.
        options: see `Brew`.

    Returns:
        What was asked for.
    """
    return Brew.of({**locals(), **options})


def parsed(*arguments: str, names: tuple[str, ...] = ()) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    Brew.add_arguments(parser, *names)
    return vars(parser.parse_args(arguments))


def test_the_command_line_has_the_fields_defaults_and_types() -> None:
    assert Brew(**parsed()) == Brew()
    given = ("--cups", "3", "--minutes", "4", "--milk", "0.5", "--kind", "black", "--decaf", "--no-warm", "--no-sugar")
    expected = Brew(cups=3, minutes=4, milk=0.5, kind="black", decaf=True, warm=False, sugar=False, guests=["a", "b"])
    assert Brew(**parsed(*given, "--guests", "a", "b")) == expected
    assert parsed("--minutes", "auto", names=("minutes",)) == {"minutes": "auto"}


@pytest.mark.parametrize(
    ("arguments", "what"),
    [(("--cups", "many"), "integer"), (("--milk", "some"), "float"), (("--kind", "red"), "choice")],
)
def test_argparse_refuses_other_types(
    arguments: tuple[str, str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parsed(*arguments)
    assert f"invalid {what}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cups": 0}, "cups must be an integer from 1 to 9, not 0."),
        ({"cups": True}, "cups must be an integer from 1 to 9, not True."),
        ({"cups": None}, "cups must be an integer from 1 to 9, not None."),
        ({"minutes": "long"}, "minutes must be 'auto' or an integer of at least 1, not 'long'."),
        ({"milk": float("nan")}, "milk must be a share from 0 to 1, not nan."),
        ({"kind": "red"}, "Unknown kind 'red': choose from green, black."),
    ],
)
def test_a_value_out_of_its_limits_is_one_sentence(values: dict[str, object], message: str) -> None:
    with pytest.raises(RetvecLiteError) as caught:
        Brew(**values)
    assert str(caught.value) == message


def test_a_function_takes_over_options_and_their_help() -> None:
    assert brew("Sencha", cups=3) == Brew(cups=3)
    assert "    tea: its name.\n        cups: how many to brew (default: 2).\n        minutes: how long.\n" in (
        brew.__doc__ or ""
    )
    assert "`Brew`" not in (brew.__doc__ or "") and "who comes.\n\n    Returns:" in (brew.__doc__ or "")
