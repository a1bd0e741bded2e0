"""Hostile .retvec files under a right checksum: sound ones with something wrong in what they say."""

import json
import random
import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sound_files import layer, sound_file

from retvec_lite.converters.engine import ADDS_ROWS
from retvec_lite.runtime.retvec_file import SECTIONS, SETTINGS, aligned, checksum, to_file

NUMBERS: Final = (
    *(0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 65, 127, 128, 255, 256, 257, 4095, 4096, 65_520, 65_535, 65_536),
    *(99_999, 100_000, 100_001, 2**20, 2**26, 2**30, 2**31 - 1, 2**31, 2**32 - 64, 2**32 - 1),
)
"""What programs get wrong: the limits of the format, of types, and of what is padded."""

FLOATS: Final = (0.0, -0.0, 1e-45, 9e14, -9e14, 1e15, 3e38, -3e38, float("inf"), -float("inf"), float("nan"))

Parts = dict[str, bytearray]
"""Name of a section -> its content, in the file's order."""


class Attack(NamedTuple):
    """One thing that is wrong.

    Attributes:
        spoil: changes the parts, or returns a whole file in their place.
        is_sound: whether the engine must open the file; None where it depends on what was drawn.
    """

    spoil: Callable[[Parts, random.Random], bytes | None]
    is_sound: bool | None = None


class HostileFile(NamedTuple):
    """A file and what the engine must say about it.

    Attributes:
        kinds: what is wrong with it, keys of `ATTACKS`; empty for a sound file.
        content: all of it, under a right checksum.
        is_sound: whether the engine must open it; None where it may do either.
    """

    kinds: tuple[str, ...]
    content: bytes
    is_sound: bool | None


def hostile_file(draw: random.Random) -> HostileFile:
    """Draw a sound file, and from none to three things that are wrong with it."""
    parts = {name: bytearray(content) for name, content in sound_file(draw).parts().items()}
    kinds = tuple(draw.sample(sorted(ATTACKS), draw.choice((0, 1, 1, 1, 1, 1, 2, 3))))
    for kind in kinds:
        whole = ATTACKS[kind].spoil(parts, draw)
        if whole is not None:
            kinds = kinds[: kinds.index(kind) + 1]
            break
    else:
        whole = to_file({name: bytes(content) for name, content in parts.items()})
    # Of two wrongs, one may hide the other.
    is_sound = True if not kinds else ATTACKS[kinds[0]].is_sound if len(kinds) == 1 else None
    return HostileFile(kinds, mended(whole), is_sound)


def mended(content: bytes) -> bytes:
    """The same with a right checksum, as far as there is place for one."""
    whole = bytearray(content[: len(content) // 4 * 4])
    if len(whole) >= 32:
        struct.pack_into("<Q", whole, 24, checksum(bytes(whole)))
    return bytes(whole)


# --- Sections -----------------------------------------------------------------------------------------------------------------------


def _whole(entries: list[tuple[int, bytes]], places: dict[int, tuple[int, int]] | None = None) -> bytes:
    """A file of sections by number; `places`: entry -> start and length that the table says instead."""
    table, body = b"", b""
    start = len(aligned(bytes(64 + 16 * len(entries))))
    for place, (number, content) in enumerate(entries):
        table += struct.pack("<IIII", number, *(places or {}).get(place, (start + len(body), len(content))), 0)
        body += aligned(content)
    header = struct.pack("<8sIIIIQ32x", b"RETVEC\r\n", 1, 0x01020304, start + len(body), len(entries), 0)
    return aligned(header + table) + body


def _entries(parts: Parts) -> list[tuple[int, bytes]]:
    return [(SECTIONS[name], bytes(content)) for name, content in parts.items()]


def _twice(parts: Parts, draw: random.Random) -> bytes:
    entries = _entries(parts)
    number, content = draw.choice(entries)
    way = draw.randrange(3)
    other = content if way == 0 else content[: len(content) // 2] if way == 1 else draw.choice(entries)[1]
    entries.insert(draw.randrange(len(entries) + 1), (number, other))
    return _whole(entries)


def _absent(parts: Parts, draw: random.Random) -> None:
    # Without these a file is sound, if not the same.
    optional = {"metadata", "characters_known", "shares"}
    del parts[draw.choice([name for name in parts if name not in optional])]


def _emptied(parts: Parts, draw: random.Random) -> None:
    del parts[draw.choice([*parts])][:]


def _resized(parts: Parts, draw: random.Random) -> None:
    content = parts[draw.choice([*parts])]
    size = draw.choice((1, 2, 3, 4, 8, 12, 64, 128, len(content) // 2))
    if draw.random() < 0.5:
        del content[max(0, len(content) - size) :]
    else:
        content += bytes(size)


def _renumbered(parts: Parts, draw: random.Random) -> bytes:
    entries = _entries(parts)
    place = draw.randrange(len(entries))
    entries[place] = (draw.choice([*SECTIONS.values(), *NUMBERS, 5, 24, 45, 96, 0x8001]), entries[place][1])
    return _whole(entries)


def _shuffled(parts: Parts, draw: random.Random) -> bytes:
    """Sections in another order of bytes, which a table in ascending order allows."""
    entries = _entries(parts)
    draw.shuffle(entries)
    return _whole(entries)


def _overlapping(parts: Parts, draw: random.Random) -> bytes:
    """One section begins where another does, so that they share bytes or stand in another order."""
    entries = _entries(parts)
    starts = [struct.unpack_from("<II", _whole(entries), 64 + 16 * place + 4) for place in range(len(entries))]
    place, other = draw.sample(range(len(entries)), 2)
    own, found = starts[place], starts[other]
    return _whole(entries, {place: draw.choice(((found[0], own[1]), found)), other: draw.choice((own, found))})


def _frame(parts: Parts, draw: random.Random) -> bytes:
    """Other numbers in the header or the table."""
    whole = bytearray(_whole(_entries(parts)))
    for _ in range(draw.choice((1, 1, 2))):
        place = draw.choice((16, 20, *range(64, 64 + 16 * len(parts), 4)))
        struct.pack_into("<I", whole, place, _number(struct.unpack_from("<I", whole, place)[0], draw))
    return bytes(whole)


def _anywhere(parts: Parts, draw: random.Random) -> bytes:
    whole = bytearray(_whole(_entries(parts)))
    for _ in range(draw.choice((1, 2, 8))):
        struct.pack_into("<I", whole, draw.randrange(16, len(whole) // 4) * 4, draw.randrange(2**32))
    return bytes(whole)


def _number(old: int, draw: random.Random) -> int:
    near = (old + 1, old - 1, 2 * old, old // 2, old ^ 1 << draw.randrange(32))
    return draw.choice((*NUMBERS, *near, draw.randrange(2**32))) % 2**32


# --- Settings and layers ----------------------------------------------------------------------------------------------------------------


def _settings(parts: Parts, draw: random.Random) -> None:
    found = parts.get("settings")
    for _ in range(draw.choice((1, 1, 1, 2, 3))) if found else ():
        place = 4 * draw.randrange(len(SETTINGS))
        if found is not None and len(found) >= place + 4:
            struct.pack_into("<I", found, place, _number(struct.unpack_from("<I", found, place)[0], draw))


def _layers(parts: Parts) -> list[str]:
    ends = ("dense_0", "dense_1", "dense_2", "word", "region", "vector", "logits", "projection", "pointwise")
    return [name for name, content in parts.items() if name.endswith(ends) and len(content) >= 12]


def _layer_header(parts: Parts, draw: random.Random) -> None:
    """Another number of inputs, outputs or bits, with the same integers behind it."""
    for name in draw.sample(_layers(parts), min(1, len(_layers(parts)))):
        place = draw.choice((0, 4, 8, 8))
        old = struct.unpack_from("<I", parts[name], place)[0]
        struct.pack_into("<I", parts[name], place, 12 - old if place == 8 and old in (4, 8) else _number(old, draw))


def _other_layer(parts: Parts, draw: random.Random) -> None:
    """A layer that is sound by itself, of other sizes than the ones around it expect."""
    for name in draw.sample(_layers(parts), min(1, len(_layers(parts)))):
        inputs, outputs = struct.unpack_from("<II", parts[name])
        sizes = [draw.choice((old, old, old + 1, max(1, old - 1), 2 * old, 300)) for old in (inputs, outputs)]
        sizes = [max(1, min(size, 400)) for size in sizes]
        parts[name] = bytearray(layer(draw, *sizes, draw.choice((4, 8)), adds_rows=name in ADDS_ROWS))


def _floats(parts: Parts, draw: random.Random) -> None:
    """Numbers that are none, or too large, in scales, biases and thresholds."""
    names = [*_layers(parts), *(name for name in parts if name.endswith(("depthwise", "scales", "bias")))]
    for name in draw.sample(names, min(len(names), draw.choice((1, 1, 2)))):
        start = 64 if name in _layers(parts) else 0
        for _ in range(draw.choice((1, 4, 40))):
            if len(parts[name]) >= start + 4:
                place = start + 4 * draw.randrange(min(80, (len(parts[name]) - start) // 4))
                struct.pack_into("<f", parts[name], place, draw.choice(FLOATS))
    for name in ("numbers", "thresholds", "shares"):
        if draw.random() < 0.2 and len(parts.get(name, b"")) >= 8:
            struct.pack_into("<d", parts[name], 0, draw.choice((*FLOATS, 0.5, 1e300, -1.0)))


def _largest(parts: Parts, draw: random.Random) -> None:
    """All weights of a layer or table as large as they can be: their sums are the largest, too."""
    names = [*_layers(parts), *(name for name in parts if name in ("ngrams/table", "meaning/codebooks"))]
    value = draw.choice((b"\x80", b"\x7f", b"\xff", b"\0"))
    for name in names:
        outputs = min(struct.unpack_from("<I", parts[name], 4)[0], 1000) if name in _layers(parts) else 0
        start = 64 + 2 * len(aligned(bytes(4 * outputs))) if name in _layers(parts) else 0
        parts[name][start:] = value * (len(parts[name]) - start)


# --- Tables ---------------------------------------------------------------------------------------------------------------------------


def _known(parts: Parts, draw: random.Random) -> None:
    """Ranges of characters in no order, some that end before they begin."""
    count = draw.choice((1, 2, 5))
    parts["characters_known"] = bytearray(
        b"".join(struct.pack("<I", draw.choice((0, 97, 122, *NUMBERS))) for _ in range(2 * count))
    )


def _meaning_rows(parts: Parts, draw: random.Random) -> None:
    """Words that are not there, in any row."""
    rows = parts.get("meaning/rows", bytearray())
    for place in range(0, len(rows) - 2, 3):
        if draw.random() < 0.5:
            low = struct.unpack_from("<H", rows, place)[0]
            number = draw.choice((0x3FFE, 0x3FFF, draw.randrange(0x4000), len(parts.get("meaning/codes", b"")) // 8))
            struct.pack_into("<H", rows, place, low & 0xC000 | number & 0x3FFF)


def _meaning_sizes(parts: Parts, draw: random.Random) -> None:
    for name in ("displacements", "rows", "codes", "codebooks"):
        if f"meaning/{name}" in parts and draw.random() < 0.5:
            parts[f"meaning/{name}"] = bytearray(draw.choice((0, 1, 3, 8, 24, 240, 16_384, 131_064, 196_611)))


# --- Labels ---------------------------------------------------------------------------------------------------------------------------


def _labels_of(parts: Parts) -> list[bytes]:
    """The labels as the section of a file with so many ends has them; two where it is spoiled already."""
    found = bytes(parts.get("labels", b""))
    count = struct.unpack_from("<I", parts.get("settings", b"").ljust(64, b"\0"), 4 * SETTINGS.index("labels"))[0]
    labels = found[4 * count :].split(b"\0")[:-1] if count < 1000 else []
    return labels if len(labels) > 1 else [b"a", b"b"]


def _labels(parts: Parts, labels: list[bytes], ends: list[int] | None = None) -> None:
    body = b"".join(label + b"\0" for label in labels)
    ends = ends or [sum(len(label) + 1 for label in labels[: place + 1]) for place in range(len(labels))]
    parts["labels"] = bytearray(struct.pack(f"<{len(ends)}I", *ends) + body)


def _other_label(labels: tuple[bytes, ...]) -> Callable[[Parts, random.Random], None]:
    def spoil(parts: Parts, draw: random.Random) -> None:
        found = _labels_of(parts)
        place = draw.choice((0, len(found) - 1, draw.randrange(len(found))))
        found[place] = draw.choice(labels)
        _labels(parts, found)

    return spoil


def _repeated_label(parts: Parts, draw: random.Random) -> None:
    found = _labels_of(parts)
    one, other = draw.sample(range(len(found)), 2)
    found[one] = found[other]
    _labels(parts, found)


def _label_ends(parts: Parts, draw: random.Random) -> None:
    """Labels that end before or behind where their section does, inside of each other, or in no order."""
    found = _labels_of(parts)
    ends = [sum(len(label) + 1 for label in found[: place + 1]) for place in range(len(found))]
    place = draw.choice((0, len(ends) - 1, draw.randrange(len(ends))))
    ends[place] = (ends[place] + draw.choice((-2, -1, 1, 2, 5, 2**31, -ends[place]))) % 2**32
    _labels(parts, found, ends)


def _labels_behind(parts: Parts, draw: random.Random) -> None:
    """Bytes behind the last label, a whole one mostly."""
    parts.setdefault("labels", bytearray()).extend(draw.choice((b"\0", b"more\0", b"x", b"\0\0\0\0")))


# --- Metadata -------------------------------------------------------------------------------------------------------------------------


def _lies(parts: Parts, draw: random.Random) -> None:
    """Metadata that tell other sizes or labels than the settings, or are none: nothing that the engine reads."""
    try:
        found: dict[str, Any] = json.loads(bytes(parts.get("metadata", b"")))
    except ValueError:
        found = {"encoder": {}, "signatures": [{}], "labels": []}
    way = draw.randrange(5)
    if way == 0:
        parts["metadata"] = bytearray(draw.choice((b"", b"{", b"[]", b"\xff\xfe", b"null", b"[" * 5000)))
        return
    if way == 1:
        found["labels"] = draw.choice((found["labels"][1:], [*found["labels"], "more"], found["labels"][::-1], 7))
    else:
        name = draw.choice(("max_chars", "max_words", "word_length", "dimension", "word_dimension"))
        value = draw.choice((1, 2, 4096, 2**31, -1, 10**30, 1.5, "9", None))
        for place in (found["encoder"], *found["signatures"]):
            if name in place or way == 2:
                place[name] = value
    parts["metadata"] = bytearray(json.dumps(found).encode())


ATTACKS: Final = {
    "section twice": Attack(_twice, False),
    "section absent": Attack(_absent, False),
    "section empty": Attack(_emptied),
    "section resized": Attack(_resized),
    "section renumbered": Attack(_renumbered),
    "sections shuffled": Attack(_shuffled, True),
    "sections overlapping": Attack(_overlapping),
    "frame": Attack(_frame),
    "anywhere": Attack(_anywhere),
    "settings": Attack(_settings),
    "layer header": Attack(_layer_header),
    "other layer": Attack(_other_layer),
    "floats": Attack(_floats),
    "largest weights": Attack(_largest, True),
    "known characters": Attack(_known),
    "meaning rows": Attack(_meaning_rows),
    "meaning sizes": Attack(_meaning_sizes),
    "label empty": Attack(_other_label((b"",)), False),
    "label no UTF-8": Attack(
        _other_label((b"\xff", b"a\xc0\x80", b"\xed\xa0\x80", b"\xf0\x9f\x99", b"\xc3", b"\x80")), False
    ),
    "label steers": Attack(
        _other_label((b"a\nb", b"\t", b"\x1b[2J", b"a\x7f", "\x85".encode(), "a\x9b".encode())), False
    ),
    "label repeated": Attack(_repeated_label, False),
    "label strange": Attack(_other_label(("\ufffd".encode(), "\u0301".encode(), b" ", "\U0010ffff".encode())), True),
    "label with a zero": Attack(_other_label((b"a\0b", b"a\0", b"\0")), False),
    "label ends": Attack(_label_ends, False),
    "labels behind": Attack(_labels_behind, False),
    "metadata": Attack(_lies, True),
}
"""What may be wrong, by name."""
