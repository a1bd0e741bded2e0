"""No .retvec makes the engine read or write outside of its bytes, whatever it says under a right checksum."""

import os
import random
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from engine_program import compile_driver, drive, texts
from hostile_files import ATTACKS, hostile_file
from sound_files import FIXED_SETTINGS, layer, sound_file

from retvec_lite.runtime.retvec_file import HEADS, SETTINGS, to_file
from tools.build_engine import zig
from tools.fuzz_engine import SEVERAL, SOUND, attack

OPENED, DAMAGED = 0, 5


@pytest.mark.slow
def test_hostile_files_are_refused_or_answered(sanitized: Path) -> None:
    counts, faults = attack([str(sanitized)], 300, seed=2)
    assert faults == []
    assert set(counts) == {*ATTACKS, SOUND, SEVERAL}
    opened = sum(found["opened"] for found in counts.values())
    # Files that are refused at once find nothing.
    assert opened > 90 and sum(found["too large"] for found in counts.values()) < 10


def test_each_layer_may_have_other_bits_than_the_others(sanitized: Path) -> None:
    """What a layer needs is taken into account whichever it is: each is once the only one with 4 bits, and by far the largest."""
    draw, files = random.Random(4), []
    while len(files) < 60:
        file = sound_file(draw)
        if (
            file.settings["head"] == HEADS.index("cnn")
            and file.settings["rank"]
            and "meaning/projection" in file.sections
        ):
            names = [
                name
                for name, content in file.sections.items()
                if _is_layer(name) and not name.startswith("embedding/dense_0")
            ]
            for chosen in names:
                eight = {name: _with_bits(file.sections[name], 4 if name == chosen else 8, draw) for name in names}
                files.append(to_file({**file.parts(), **eight}))
    asked = [b"money for nothing, and a second text", "我的包裹在哪里".encode()]
    assert {line.split()[0] for line in drive([str(sanitized)], files, asked)} == {"0"}


def _is_layer(name: str) -> bool:
    return name.endswith(("dense_1", "dense_2", "word", "region", "logits", "projection", "pointwise"))


def _with_bits(section: bytes, bits: int, draw: random.Random) -> bytes:
    inputs, outputs = struct.unpack_from("<II", section)
    return layer(draw, inputs, outputs, bits)


def ngram_file(labels: Sequence[bytes], buckets: int, table: bytes) -> bytes:
    """N-grams of one column before the labels' bias, as the table says."""
    settings = (
        dict.fromkeys(SETTINGS, 0)
        | FIXED_SETTINGS
        | {
            **{"max_chars": 48, "max_words": 1, "word_length": 16, "labels": len(labels)},
            **{"head": 3, "buckets": buckets, "longest": 2, "shortest": 1},
        }
    )
    found = sound_file(random.Random(0))
    found.settings, found.labels = settings, list(labels)
    numbers = bytes(4 * len(labels))
    found.sections = {"numbers": bytes(16), "ngrams/table": table, "ngrams/scales": numbers, "ngrams/bias": numbers}
    return to_file(found.parts())


def test_as_many_labels_as_there_may_be(driver: Path) -> None:
    """100,000 labels are told apart, in any order; the last two are once the same."""
    names = [b"label %d" % number for number in range(100_000)]
    long = [b"x" * 500 + name for name in names[:2000]]
    random.Random(1).shuffle(names)
    files = []
    for labels in (names, sorted(names, reverse=True), long):
        table = bytes(len(labels) + 1)
        files += [ngram_file(labels, 1, table), ngram_file([*labels[:-1], labels[-2]], 1, table)]
        files.append(ngram_file([*labels[:-1], labels[0]], 1, table))
    codes = [int(line.split()[0]) for line in drive([str(driver)], files, [])]
    assert codes == [OPENED, DAMAGED, DAMAGED] * 3


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The driver for 32-bit machines, which this one runs."""
    command = zig("x86-linux-musl")
    if command is None or os.uname().machine != "x86_64":
        pytest.skip("ziglang is not installed, or this machine runs no 32-bit programs")
    return [str(compile_driver(command, tmp_path_factory.mktemp("small") / "driver", "-O1", "-static"))]


@pytest.mark.exhaustive
def test_sizes_do_not_wrap_around_on_32_bits(sanitized: Path, small: list[str]) -> None:
    """42,950 rows of 100,000 bytes are 32,704 bytes modulo 2**32."""
    file = ngram_file([b"%d" % number for number in range(99_999)], 42_950, bytes(32_704))
    for driver in ([str(sanitized)], small):
        assert drive(driver, [file], [])[0].split()[0] == str(DAMAGED)
    draw, asked = random.Random(5), texts(2, seed=5)
    files = [hostile_file(draw).content for _ in range(200)]
    assert drive(small, files, asked) == drive([str(sanitized)], files, asked)
