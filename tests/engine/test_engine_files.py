"""No file and no text makes the engine read or write outside of its bytes, and all machines answer the same bits."""

import ctypes
import os
import random
import shutil
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from engine_cases import CASES, engine_of, file_of, mutated
from engine_program import DRIVER, compile_driver, drive, texts
from hostile_files import mended
from sound_files import FIXED_SETTINGS

from retvec_lite.errors import RetvecLiteError
from retvec_lite.runtime.artifact import read_artifact
from retvec_lite.runtime.native import NativeEngine, load_library
from retvec_lite.runtime.retvec_file import HEADS, SECTIONS, SETTINGS, check_frame, check_sum, sections_of, to_file
from tools import engine_tables
from tools.build_engine import EXPORTED, FLAGS, SOURCE, build, zig

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = [file_of(name, bits) for name in CASES for bits in (8, 4)]
SOUND, NOT_RETVEC, VERSION, TRUNCATED, CHANGED, DAMAGED = range(6)

MACHINES = {
    "aarch64-linux-musl": "qemu-aarch64",
    "thumb-linux-musleabihf": "qemu-arm",
    "riscv64-linux-musl": "qemu-riscv64",
    "s390x-linux-musl": "qemu-s390x",
}
"""Targets of zig, and what runs their programs. The last one has the other byte order."""


def problem_of(content: bytes, library: Path) -> int:
    """What the engine itself says of a file, which Python may have refused before."""
    size, file = ctypes.c_size_t(), np.frombuffer(content, np.uint8).copy()
    return int(load_library(library).rvl_block_size(file.ctypes.data, file.size, 0, ctypes.byref(size)))


def test_the_tables_are_those_of_the_contract() -> None:
    assert engine_tables.header() == engine_tables.HEADER.read_text(encoding="ascii"), (
        "run python -m tools.engine_tables"
    )


def test_odd_texts_are_read_within_their_bytes(sanitized: Path, driver: Path) -> None:
    found = drive([str(sanitized)], FILES, texts(30, seed=1))
    assert [line.split()[0] for line in found] == ["0"] * len(FILES)
    assert found == drive([str(driver)], FILES, texts(30, seed=1))


def test_damaged_files_are_refused_or_harmless(sanitized: Path) -> None:
    _attack(sanitized, 120, seed=2)


@pytest.mark.exhaustive
def test_20_000_damaged_files_and_20_000_odd_texts(sanitized: Path) -> None:
    for seed in range(50):
        _attack(sanitized, 400, seed=1000 + seed)
        drive([str(sanitized)], FILES[seed % len(FILES) :][:1], texts(400, seed))


def _attack(driver: Path, count: int, seed: int) -> None:
    draw = random.Random(seed)
    files = [mutated(draw.choice(FILES), draw) for _ in range(count)]
    problems = [int(line.split()[0]) for line in drive([str(driver)], files, texts(4, seed))]
    assert len(problems) == count
    # Some get past all checks, such as those with another weight.
    assert {SOUND, VERSION, TRUNCATED, CHANGED, DAMAGED} <= set(problems)


def test_every_problem_has_its_code(driver: Path) -> None:
    whole = FILES[0]

    def changed(place: int, value: int) -> bytes:
        found = bytearray(whole)
        struct.pack_into("<I", found, place, value)
        return mended(found)

    files = [b"", whole[:7], b"PK" + whole[2:], whole[:40], whole[:-64], changed(8, 2), changed(12, 0x04030201)]
    files += [
        changed(16, len(whole) + 64),
        changed(20, 65),
        changed(64, 50),
        changed(68, len(whole)),
        changed(72, 2**32 - 1),
    ]
    files += [whole[:-1] + b"\x7f", whole]
    codes = [int(line.split()[0]) for line in drive([str(driver)], files, [])]
    assert codes == [NOT_RETVEC] * 3 + [TRUNCATED] * 2 + [VERSION] * 2 + [TRUNCATED] + [DAMAGED, VERSION] + [
        DAMAGED
    ] * 2 + [CHANGED, SOUND]


@pytest.mark.parametrize(
    ("section", "place", "value"),
    [
        ("settings", 4, 0),
        ("settings", 8, 5000),
        ("settings", 56, 9),
        ("settings", 60, 99),
        ("numbers", 4, 0x7FF00000),
        ("head/logits", 4, 7),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    section: str, place: int, value: int, library: Path, tmp_path: Path
) -> None:
    found = bytearray(FILES[0])
    struct.pack_into("<I", found, bytes(found).index(sections_of(FILES[0])[section]) + place, value)
    assert problem_of(mended(found), library) in (VERSION, DAMAGED)
    with pytest.raises(RetvecLiteError, match=r"m\.retvec"):
        engine_of(mended(found), tmp_path, library)


def with_setting(content: bytes, name: str, value: int) -> bytes:
    """A file that says something else in its settings, under a right checksum."""
    found = bytearray(content)
    struct.pack_into("<I", found, content.index(sections_of(content)["settings"]) + 4 * SETTINGS.index(name), value)
    return mended(found)


def setting(content: bytes, name: str) -> int:
    return int(struct.unpack_from("<I", sections_of(content)["settings"], 4 * SETTINGS.index(name))[0])


@pytest.mark.parametrize("name", FIXED_SETTINGS)
def test_rules_that_only_older_releases_wrote_are_refused(name: str, library: Path) -> None:
    """Settings with one value, of each head."""
    for content in FILES:
        for value in {0, 1, 2, 3, 2**32 - 1} - {setting(content, name)}:
            assert problem_of(with_setting(content, name, value), library) == VERSION


def test_regions_of_several_words_and_of_other_heads_are_refused(library: Path) -> None:
    for content in FILES:
        is_cnn = setting(content, "head") == HEADS.index("cnn")
        for value in (1, 2, 3, 2**32 - 1)[is_cnn:]:
            assert problem_of(with_setting(content, "region", value), library) == VERSION


@pytest.mark.parametrize("name", ["pool", "pool, a vector", "pool, two blocks", "cnn", "linear", "ngrams"])
def test_blocks_must_be_there_and_no_more_than_there_are(name: str, library: Path) -> None:
    """Only a `cnn` has some, with a region or, as `pool` with blocks is written, without; nothing is passed over."""
    content = file_of(name)
    blocks = setting(content, "blocks")
    assert blocks == getattr(CASES[name].head, "blocks", 0)
    assert (setting(content, "head") == HEADS.index("cnn")) == (blocks > 0)
    for value in {0, 1, 2, 3, 16, 17, 63, 64, 2**31, 2**32 - 1}:
        sound = value == blocks or 0 < value < blocks
        assert problem_of(with_setting(content, "blocks", value), library) == (SOUND if sound else DAMAGED), value
    for head in HEADS:
        problem = problem_of(with_setting(content, "head", HEADS.index(head)), library)
        if blocks:
            assert problem == (SOUND if head == "cnn" else VERSION if setting(content, "region") else DAMAGED), head


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        ({"inputs": 33}, DAMAGED),
        ({"inputs": 35}, DAMAGED),
        ({"inputs": 0}, DAMAGED),
        ({"outputs": 7}, DAMAGED),
        ({"outputs": 11}, DAMAGED),
        ({"outputs": 0}, DAMAGED),
        ({"outputs": 100_001}, DAMAGED),
        ({"outputs": 2**32 - 1}, DAMAGED),
        ({"bits": 7}, DAMAGED),
        ({"bias": 2.0**60}, DAMAGED),
        ({"bias": float("nan")}, DAMAGED),
        ({"number": 24}, VERSION),  # as the vector's is to engines that know none
        ({"number": 0x8001}, DAMAGED),
        ({"number": 21}, DAMAGED),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["pool, a vector", "meaning"])
def test_a_vector_must_fit_the_layers_around_it(
    name: str, spoil: dict[str, float], problem: int, library: Path
) -> None:
    content = file_of(name)
    found, start = bytearray(content), content.index(sections_of(content)["head/vector"])
    entry = next(place for place in range(64, 2000, 16) if struct.unpack_from("<I", found, place)[0] == 23)
    for part, value in spoil.items():
        places = {"inputs": start, "outputs": start + 4, "bits": start + 8, "bias": start + 128, "number": entry}
        struct.pack_into("<f" if part == "bias" else "<I", found, places[part], value)
    assert problem_of(mended(found), library) == problem
    assert problem_of(content, library) == SOUND


def test_a_vector_is_no_layer_to_leave_out(library: Path) -> None:
    """Where it has as many numbers as it is made of, the sizes of the layers do not tell."""
    sections = sections_of(file_of("pool, a vector"))
    assert problem_of(to_file(sections), library) == SOUND
    assert (
        problem_of(to_file({name: part for name, part in sections.items() if name != "head/vector"}), library)
        == DAMAGED
    )


@pytest.mark.parametrize(
    ("shares", "problem"),
    [
        ((1.0, 1e-300, 0.5), SOUND),
        ((1.0, 0.5), DAMAGED),
        ((0.5, 0.0, 0.5), DAMAGED),
        ((0.5, -0.1, 0.5), DAMAGED),
        ((0.5, 1.1, 0.5), DAMAGED),
        ((float("nan"), 0.5, 0.5), DAMAGED),
    ],
)
def test_shares_are_those_of_the_labels(shares: Sequence[float], problem: int, library: Path) -> None:
    sections = sections_of(file_of("pool"))
    assert problem_of(to_file(sections), library) == SOUND
    assert problem_of(to_file({**sections, "shares": struct.pack(f"<{len(shares)}d", *shares)}), library) == problem


def test_character_features_are_refused(library: Path) -> None:
    found = bytearray(FILES[0])
    (count,) = struct.unpack_from("<I", found, 20)
    struct.pack_into("<I", found, 64 + 16 * (count - 1), 19)  # in place of the metadata
    assert problem_of(mended(found), library) == VERSION


MEANT = file_of("meaning")


@pytest.mark.parametrize(
    ("section", "number", "length"),
    [
        ("meaning/rows", 40, 3),
        ("meaning/codes", 42, 8),
        ("meaning/codes", 42, 1),
        ("meaning/rows", 41, 1),
        ("meaning/displacements", 40, 0),
        ("meaning/codebooks", 43, 64),
        ("meaning/projection", 44, 4),
    ],
)
def test_tables_of_meaning_that_do_not_fit_are_refused(
    section: str, number: int, length: int, library: Path, tmp_path: Path
) -> None:
    """A section that is shorter, or has the number of another."""
    found = bytearray(MEANT)
    count = struct.unpack_from("<I", found, 20)[0]
    entries = {struct.unpack_from("<I", found, 64 + 16 * place)[0]: 64 + 16 * place for place in range(count)}
    at = entries[SECTIONS[section]]
    struct.pack_into("<I", found, at, number)
    struct.pack_into("<I", found, at + 8, length)
    assert problem_of(mended(found), library) == DAMAGED
    with pytest.raises(RetvecLiteError, match=r"m\.retvec"):
        engine_of(mended(found), tmp_path, library)


def test_rows_that_name_words_beyond_the_table_are_refused(library: Path, tmp_path: Path) -> None:
    rows, words = sections_of(MEANT)["meaning/rows"], len(sections_of(MEANT)["meaning/codes"]) // 8
    start = MEANT.index(rows)
    for number, is_sound in ((words - 1, True), (words, False), (0x3FFE, False), (0x3FFF, True)):
        found = bytearray(MEANT)
        found[start + len(rows) - 3 : start + len(rows) - 1] = struct.pack("<H", number)
        if is_sound:
            engine_of(mended(found), tmp_path, library)
            continue
        with pytest.raises(RetvecLiteError, match=r"m\.retvec: The file is damaged"):
            engine_of(mended(found), tmp_path, library)


def test_python_refuses_with_a_sentence(tmp_path: Path) -> None:
    whole = FILES[0]
    for content, words in (
        (b"", "is not a .retvec file"),
        (whole[:40], "is truncated"),
        (whole[:-64], "bytes instead of"),
        (whole[:-1] + b"\x7f", "was changed after its export"),
        (mended(bytearray(whole[:8] + b"\2" + whole[9:])), "is of version 2"),
    ):
        with pytest.raises(RetvecLiteError, match=words):
            check_frame(content, "a.retvec")
            check_sum(content, "a.retvec")
    with pytest.raises(RetvecLiteError, match=r"Cannot read .*none\.retvec"):
        read_artifact(tmp_path / "none.retvec")


def test_the_engine_needs_no_library(cc: Sequence[str], tmp_path: Path) -> None:
    options = ("-DRVL_FREESTANDING", "-ffreestanding", "-fno-builtin", "-nostdlib")
    flags = [flag for flag in FLAGS if flag != "-shared"]
    object_file = tmp_path / "engine.o"
    subprocess.run([*cc, *flags, EXPORTED, *options, "-c", "-o", str(object_file), str(SOURCE)], check=True)
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    found = subprocess.run(["nm", "-u", str(object_file)], check=True, capture_output=True, text=True).stdout
    assert [line for line in found.split() if line not in ("U", "_GLOBAL_OFFSET_TABLE_")] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", MACHINES)
def test_another_machine_answers_the_same_bits(target: str, driver: Path, tmp_path: Path) -> None:
    command, emulator = zig(target), MACHINES[target]
    if command is None or shutil.which(emulator) is None:
        pytest.skip(f"ziglang or {emulator} is not installed")
    # QEMU before version 9 multiplies floats to doubles wrongly on s390x (MDEBR); without optimization, no compiler uses that.
    level = "-O0" if target.startswith("s390x") else "-O2"
    other = compile_driver(command, tmp_path / "driver", level, "-static")
    odd = texts(40, seed=7)
    assert drive([emulator, str(other)], FILES, odd) == drive([str(driver)], FILES, odd)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="instructions of x86")
def test_wide_instructions_answer_the_same_bits(cc: Sequence[str], driver: Path, tmp_path: Path) -> None:
    wide = drive([str(driver)], FILES, texts(30, seed=9))
    for less in ("-DRVL_PLAIN_ONLY", "-DRVL_WIDEST=AVX2"):
        assert drive([str(compile_driver(cc, tmp_path / less, "-O1", less))], FILES, texts(30, seed=9)) == wide


def test_no_flag_changes_a_bit(cc: Sequence[str], driver: Path, tmp_path: Path) -> None:
    """Whoever compiles the source without our flags: with fused multiply-add, and at a level at which GCC makes few vectors."""
    bare = tmp_path / "bare"
    flags = ("-std=gnu99", "-O1", *(["-march=native"] if os.uname().machine == "x86_64" else []))
    subprocess.run([*cc, *flags, "-I", str(SOURCE.parent), "-o", str(bare), str(DRIVER), str(SOURCE)], check=True)
    odd = texts(10, seed=11)
    assert drive([str(bare)], FILES, odd) == drive([str(driver)], FILES, odd)


@pytest.mark.exhaustive
def test_no_flag_changes_the_speed(cc: Sequence[str], library: Path, tmp_path: Path) -> None:
    least = {}
    for name, path in (("usual", library), ("O2", build(cc, tmp_path / "slow.so", "-O2"))):
        engine = NativeEngine(read_artifact(GOLDEN / "plain.retvec"), path)
        times = []
        for _ in range(30):
            started = time.process_time()
            engine.probabilities([f"{word}{number} of the words" for number in range(20) for word in "abc"])
            times.append(time.process_time() - started)
        least[name] = min(times)
    assert least["O2"] < 1.5 * least["usual"]


def test_functions_of_numbers_are_near_enough(cc: Sequence[str], tmp_path: Path) -> None:
    """The rational functions behind GELU and tanh, and exp, log and sqrt, against Python's."""
    import ctypes
    import math

    source = tmp_path / "functions.c"
    names = ("exp_of", "log_of", "sqrt_of")
    lines = [
        f'#include "{SOURCE}"',
        "float gelu_at(float x) { return gelu(x); }",
        "float tanh_at(float x) { return tanh_of(x); }",
    ]
    source.write_text(
        "\n".join([*lines, *(f"double {name}_at(double x) {{ return {name}(x); }}" for name in names)]) + "\n"
    )
    target = tmp_path / "functions.so"
    flags = [flag for flag in FLAGS if flag != "-fvisibility=hidden"]
    subprocess.run([*cc, *flags, "-O1", "-o", str(target), str(source)], check=True)
    library = ctypes.CDLL(str(target))

    def table(name: str, kind: type, values: np.ndarray) -> np.ndarray:
        function = getattr(library, f"{name}_at")
        function.restype, function.argtypes = kind, [kind]
        return np.array([function(value) for value in values.tolist()])

    near = np.linspace(-12, 12, 4001).astype(np.float32)
    right = [0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in near.tolist()]
    np.testing.assert_allclose(table("gelu", ctypes.c_float, near), right, atol=2e-6, rtol=2e-7)
    np.testing.assert_allclose(table("tanh", ctypes.c_float, near), np.tanh(near.astype(np.float64)), atol=4e-7)
    low = np.concatenate([np.linspace(-690, 0, 999), [0.3, 1e-9, -1e-300]])
    np.testing.assert_allclose(table("exp_of", ctypes.c_double, low), np.exp(low), rtol=1e-13)
    wide = np.concatenate([np.logspace(-300, 300, 999), np.linspace(0.5, 2, 99)])
    np.testing.assert_allclose(table("log_of", ctypes.c_double, wide), np.log(wide), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(table("sqrt_of", ctypes.c_double, wide), np.sqrt(wide), rtol=1e-15)
