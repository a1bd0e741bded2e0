"""The one exception that users should see, and how it quotes others."""

import difflib
from collections.abc import Iterable
from typing import Final


class RetvecLiteError(Exception):
    """Bad input or a failed operation. The message says what is wrong and how to fix it.

    The command line prints the message and exits with status 2. Any other exception that reaches a user is a bug.

    Example:
        >>> import retvec_lite as rl
        >>> try:
        ...     rl.load("missing.tflite")
        ... except rl.RetvecLiteError as error:
        ...     print(error)
        Cannot read missing.tflite: No such file or directory.
    """


class SystematicError(RetvecLiteError):
    """What is wrong with a row and most likely with many others, so that leaving rows out would not help."""


def reason(error: object) -> str:
    """Return what is wrong, which may span several lines, in one line without a full stop."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def install(what: str) -> str:
    """Return how to install a part of this project, such as ".[sign]" or "./models": nothing is published yet."""
    return f'`pip install "{what}"` in your checkout of retvec-lite'


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return the question to ask behind an error about a name that does not exist, with a space in front; nothing where none is like it."""
    near = difflib.get_close_matches(word, list(names), 1)
    return f" Did you mean {near[0]}?" if near else ""


_SHOWN: Final = 60
"""Characters of a wrong value that an error shows."""


def shown(value: object, most: int = _SHOWN) -> str:
    """Return a value for an error, in one line of at most so many characters."""
    try:
        found = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # an integer of too many digits, or a value that is nested too deep
        found = f"a value of the type {type(value).__name__}"
    return found if len(found) <= most else f"{found[: most - 3]}..."
