"""The program that runs files in C, `engine_driver.c`, and texts for it."""

import random
import struct
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from patience import PATIENCE

from tools.build_engine import SOURCE

DRIVER = Path(__file__).with_name("engine_driver.c")

SANITIZERS = (
    *("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    *("-include", "sanitizer/asan_interface.h", "-DRVL_GUARD=__asan_poison_memory_region"),
)
"""Options under which any finding ends the program. The parts of an engine's block are guarded from each other."""


MARKUP = (
    ("<b>", "</p >", "<a href=", "<!--", "-->", ">", "<", "&amp;", "&#65;", "&#x1F600;", "&#", ";", "&"),
    ("%20", "%C3%A9", "%F0%9F%98%80", "%", "\\u0041", "\\ud83d\\ude00", "\\u", "C3", "9" * 17),
    ("[", "](", ")", "](a)", "*", "**", "_", "~~", "`", " ", "a"),
    (
        "a",
        "б",
        "\u05b0",
        "\u0485",
        "\u093f",
        "\U0001d165",
        "\u0301",
        "\u0344",
        "\u1100",
        "\u1161",
        "\ufa32",
        "\U0002f800",
    ),
    ("\b", "\u202e", "\u202d", "\u202c", "\u2066", "\u2069", "\n", "a", "b!", "א"),
    ("a ", "b-", "c . ", "1 ", "!!!!", "   ", "\u3000", "🙂"),
)
"""What condensing replaces or leaves out, whole and in parts."""


def compile_driver(command: Sequence[str], to: Path, *options: str) -> Path:
    flags = ("-std=c99", "-g", "-ffp-contract=off", "-I", str(SOURCE.parent), *options)
    subprocess.run(
        [*command, *flags, "-o", str(to), str(DRIVER), str(SOURCE)], check=True, capture_output=True, timeout=PATIENCE
    )
    return to


def drive(command: Sequence[str], files: Iterable[bytes], texts: Iterable[bytes]) -> list[str]:
    """The lines that the driver prints; an error with what a sanitizer says when it fails."""

    def items(contents: Iterable[bytes]) -> bytes:
        return b"".join(struct.pack("<I", len(item)) + item for item in contents) + b"\xff" * 4

    done = subprocess.run(
        command, input=items(texts) + items(files), capture_output=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    return done.stdout.decode().splitlines()


def texts(count: int, seed: int) -> list[bytes]:
    """Odd texts: valid UTF-8 of all scripts, broken UTF-8, and bytes."""
    draw = random.Random(seed)
    pools = (
        "abc DEF.!? ",
        "Ｆгее м.o.n.e.y 𝐇ⓞᴀ",
        "我的包裹在哪里",
        "สวัสดี ありがとう",
        "e\u0301a\u0323\u0302 각 क़",
        "🙂👩🏽‍🚀\u200b\u0336",
        *MARKUP,
    )
    found = [
        b"",
        b"\0\0",
        b"\xff\xfe",
        b"a" * 200,
        "é".encode() * 300,
        b"f.r.e.e m.o.n.e.y",
        b"\xf0\x9f\x98",
        b"\xed\xa0\x80\xc0\xaf",
    ]
    for _ in range(count):
        text = "".join(draw.choice(draw.choice(pools)) for _ in range(draw.choice((3, 20, 60, 60, 500))))
        content = bytearray(text.encode())
        for _ in range(draw.choice((0, 0, 0, 1, 5)) if content else 0):
            content[draw.randrange(len(content))] = draw.randrange(256)
        found.append(bytes(content))
    return found
