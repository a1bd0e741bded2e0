"""Hostile files of a memory under a right checksum: sound ones with something wrong in what they say."""

import random
import struct
from collections.abc import Callable
from typing import Final

from hostile_files import NUMBERS, mended

from retvec_lite.runtime.memory import MOST_BYTES

_TEXTS: Final = (
    "feed the cat",
    "walk the dog",
    "чай",
    "我的包裹",
    "x" * MOST_BYTES,
    "é" * (MOST_BYTES // 2),
    "a\nb",
    "\u200b",
    "&amp;",
)
_LABELS: Final = ("pets", "plants", "x" * (MOST_BYTES - 1), "7", "мяу", "taught")
_WRONG: Final = (
    b"",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98",
    b"a\nb",
    b"\x7f",
    b"y" * MOST_BYTES,
    b"y" * (MOST_BYTES + 1),
    b"z" * 5000,
)
"""What no text, no label, or neither may be."""

Pairs = list[tuple[bytes, bytes]]


def sound_memory(draw: random.Random) -> bytes:
    return written(_pairs(draw))


def hostile_memory(draw: random.Random) -> bytes:
    """Draw a sound memory, and one thing that is wrong with it."""
    return mended(ATTACKS[draw.choice(sorted(ATTACKS))](draw))


def written(pairs: Pairs, count: int | None = None, behind: bytes = b"") -> bytes:
    body = b"".join(part + b"\0" for pair in pairs for part in pair) + behind
    body += bytes(-len(body) % 4)
    header = struct.pack("<8sIIIIQ", b"RVLMEM\r\n", 1, 32 + len(body), len(pairs) if count is None else count, 0, 0)
    return mended(header + body)


def _pairs(draw: random.Random) -> Pairs:
    return [(draw.choice(_TEXTS).encode(), draw.choice(_LABELS).encode()) for _ in range(draw.choice((0, 1, 3, 9, 14)))]


def _strings(draw: random.Random) -> bytes:
    pairs = [*_pairs(draw), (b"a", b"b")]
    place, wrong = draw.randrange(len(pairs)), draw.choice(_WRONG)
    pairs[place] = (wrong, pairs[place][1]) if draw.random() < 0.5 else (pairs[place][0], wrong)
    return written(pairs)


def _count(draw: random.Random) -> bytes:
    pairs = _pairs(draw)
    return written(pairs, draw.choice((*NUMBERS, len(pairs) + 1, max(0, len(pairs) - 1))))


def _header(draw: random.Random) -> bytes:
    whole = bytearray(written(_pairs(draw)))
    struct.pack_into("<I", whole, draw.choice((0, 4, 8, 12, 16, 20)), draw.choice(NUMBERS))
    return bytes(whole)


def _cut(draw: random.Random) -> bytes:
    """Ends inside of a string or a header, under a right length and checksum."""
    whole = bytearray(written(_pairs(draw)))
    del whole[draw.randrange(len(whole)) // 4 * 4 :]
    if len(whole) >= 16:
        struct.pack_into("<I", whole, 12, len(whole))
    return bytes(whole)


def _behind(draw: random.Random) -> bytes:
    return written(_pairs(draw), behind=draw.choice((b"x", b"\0\0\0\0", b"more\0", bytes(100))))


def _no_end(draw: random.Random) -> bytes:
    """No zero behind the last string."""
    whole = bytearray(written([*_pairs(draw), (b"abc", b"defg")]).rstrip(b"\0"))
    del whole[len(whole) // 4 * 4 :]
    struct.pack_into("<I", whole, 12, len(whole))
    return bytes(whole)


def _many(draw: random.Random) -> bytes:
    """More texts than there is room for, in few bytes."""
    return written(
        [
            (b"t%d" % number, b"l%d" % (number % draw.choice((1, 5, 999))))
            for number in range(draw.choice((12, 13, 29, 300)))
        ]
    )


def _anywhere(draw: random.Random) -> bytes:
    whole = bytearray(written(_pairs(draw)))
    for _ in range(draw.choice((1, 2, 8))):
        whole[draw.randrange(len(whole))] = draw.randrange(256)
    return bytes(whole)


ATTACKS: Final[dict[str, Callable[[random.Random], bytes]]] = {
    "strings": _strings,
    "count": _count,
    "header": _header,
    "cut": _cut,
    "behind": _behind,
    "no end": _no_end,
    "many": _many,
    "anywhere": _anywhere,
}
"""What is wrong -> a file with it."""
