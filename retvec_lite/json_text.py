"""Reading JSON that others wrote: the one place that knows what is wrong with some."""

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

from retvec_lite.errors import RetvecLiteError, reason, shown

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape that may be half of a character; a whole one takes two of them."""


def parse_json(
    content: str | bytes,
    place: object,
    *,
    finite: bool = True,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Return what JSON says; a number is one that a float can hold, and a text is valid Unicode.

    Args:
        content: the JSON; bytes in UTF-8, or UTF-16 or UTF-32 as RFC 4627 recognizes them.
        place: what messages call it.
        finite: whether NaN and infinity, which are no JSON, are refused. Checkpoints, which Python alone reads, may have them.
        pairs: makes a value of the names and values of an object; a dict by default.

    Raises:
        RetvecLiteError: for anything else, such as a value that is nested too deep or a number of 400 digits.

    Example:
        >>> from retvec_lite.json_text import parse_json
        >>> parse_json('{"labels": ["ham", "spam"]}', "golden.json")
        {'labels': ['ham', 'spam']}
    """
    numbers: dict[str, Any] = {}
    if finite:
        numbers = {"parse_float": _float, "parse_int": _integer, "parse_constant": _no_number}
    try:
        found = json.loads(content, object_pairs_hook=pairs, **numbers)
        if _SURROGATE.search(content if isinstance(content, str) else content.decode("ascii", "ignore")):
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError as error:
        raise RetvecLiteError(f"{place} is not valid JSON: it is nested too deep.") from error
    except UnicodeEncodeError as error:
        raise RetvecLiteError(
            f"{place} is not valid JSON: it has half of a character, an unpaired surrogate."
        ) from error
    except ValueError as error:
        raise RetvecLiteError(f"{place} is not valid JSON: {reason(error)}.") from error
    return found


def _float(text: str) -> float:
    found = float(text)
    return found if math.isfinite(found) else _no_number(text)


def _integer(text: str) -> int:
    _float(text)  # first: `int` takes long for many digits
    return int(text)


def _no_number(text: str) -> Any:
    raise ValueError(f"the number {shown(text)} is not finite, or too large")
