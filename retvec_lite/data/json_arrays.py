"""A JSON array of any size, an item at a time: what pandas and others write where JSON Lines would do."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Final

from retvec_lite.data.decoding import LONGEST

_PART: Final = 1 << 16
"""Characters that are read at a time, at least."""

_NEAR: Final = 16
"""Characters before the end of what has been read in which an error may come from what has not."""

_SPACE: Final = re.compile(r"\s*")


def array_items(head: str, read: Callable[[int], str]) -> Iterator[str]:
    """Yield the JSON of each item of an array, a few at a time; `head` is its beginning, and `read` returns more of it.

    Raises:
        ValueError: for what is no JSON.
    """
    decode = json.JSONDecoder().raw_decode
    buffer, place = head, head.index("[") + 1
    allowed = "]"  # what may stand here beside a value

    def has_more() -> bool:
        nonlocal buffer, place
        # Doubled each time, and never more than shows that an item is too long.
        more = read(min(max(_PART, len(buffer) - place), LONGEST + 1))
        buffer, place = buffer[place:] + more, 0
        return bool(more)

    while True:
        while (place := _end_of_space(buffer, place)) == len(buffer):
            if not has_more():
                raise ValueError("it does not end")
        character = buffer[place]
        if character in allowed:
            if character == "]":
                break
            place, allowed = place + 1, ""
            continue
        if "," in allowed:
            raise ValueError("Expecting ',' delimiter")
        try:
            _, end = decode(buffer, place)
        except json.JSONDecodeError as error:
            if len(buffer) - place > LONGEST:
                raise ValueError(f"longer than {LONGEST:,} characters") from error
            is_cut = error.msg.startswith("Unterminated") or error.pos > len(buffer) - _NEAR
            if is_cut and has_more():
                continue
            raise
        if end - place > LONGEST:
            raise ValueError(f"longer than {LONGEST:,} characters")
        if end == len(buffer) and has_more():
            continue
        yield buffer[place:end]
        place, allowed = end, ",]"
    if (buffer[place + 1 :] + read(_PART)).strip():
        raise ValueError("more follows behind its end")


def _end_of_space(buffer: str, place: int) -> int:
    found = _SPACE.match(buffer, place)
    return found.end() if found else place
