"""A line, a cell and a row end somewhere: what is longer is refused while it is read, in every format and packing."""

import bz2
import gzip
import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from retvec_lite.data import lines, rows
from retvec_lite.data.lines import Skipped
from retvec_lite.data.texts import read_texts
from retvec_lite.errors import RetvecLiteError

LIMIT = 1 << 16

BOMBS = {
    "line.txt": ("hi\n", "x", ""),
    "cell.csv": ("text\nhi\n", "x", ""),
    "header.csv": ("", "x", ""),
    "quoted.csv": ('text\nhi\n"', "x", '"\n'),
    "cell.tsv": ("text\tn\nhi\t1\n", "x", "\t2\n"),
    "line.jsonl": ('{"text":"hi"}\n{"text":"', "x", '"}\n'),
    "first.jsonl": ('{"text":"', "x", '"}\n'),
    "line.ndjson": ('{"text":"hi"}\n', "[", ""),
    "array.json": ('[{"text":"hi"},{"text":"', "x", '"}]'),
    "list.json": ('[{"text":"hi","n":[', "1,", "1]}]"),
}  # fmt: skip


def _arrow(name: str) -> Callable[[bytes], bytes]:
    def pack(data: bytes) -> bytes:
        return bytes(pytest.importorskip("pyarrow").compress(data, name, asbytes=True))

    return pack


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": _arrow("zstd"),
}


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("name", BOMBS)
def test_what_is_too_long_is_refused_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, packing: str
) -> None:
    """No more than a few times the limit is taken from the stream, of which there is twenty times as much."""
    for module in (lines, rows):
        monkeypatch.setattr(module, "LONGEST", LIMIT)
    taken = 0
    open_lines = rows.open_lines

    def counted(stream: object, *rest: object) -> object:
        return Counting(open_lines(stream, *rest))  # type: ignore[arg-type]

    class Counting:
        def __init__(self, found: object) -> None:
            self.found = found

        def _count(self, text: str) -> str:
            nonlocal taken
            taken += len(text)
            return text

        def readline(self, size: int) -> str:
            return self._count(self.found.readline(size))  # type: ignore[attr-defined]

        def read(self, size: int) -> str:
            return self._count(self.found.read(size))  # type: ignore[attr-defined]

        def __enter__(self) -> "Counting":
            return self

        def __exit__(self, *_: object) -> None:
            self.found.close()  # type: ignore[attr-defined]

    monkeypatch.setattr(rows, "open_lines", counted)
    start, part, end = BOMBS[name]
    whole = start + part * (20 * LIMIT // len(part)) + end
    file = tmp_path / f"{name}{packing}"
    file.write_bytes(PACKED[packing](whole.encode()))
    with pytest.raises(
        RetvecLiteError, match=r"^[^\n]*(longer than \d+,\d+ characters|field larger than field limit)[^\n]*$"
    ):
        list(read_texts(file, skipped=Skipped(bad_rows=True)))
    assert LIMIT < taken < 6 * LIMIT


def test_what_is_as_long_as_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (lines, rows):
        monkeypatch.setattr(module, "LONGEST", LIMIT)
    text = "x" * (LIMIT - 20)
    for name, content in {
        "a.txt": text,
        "a.csv": f"text\n{text}",
        "a.jsonl": f'{{"text":"{text}"}}',
        "a.json": f'[{{"text":"{text}"}},{{"text":"{text}"}}]',
    }.items():
        (tmp_path / name).write_text(content)
        assert set(read_texts(tmp_path / name)) == {text}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="measured by the peak that Linux reports")
@pytest.mark.parametrize("name", ["cell.csv.gz", "line.txt.gz", "array.json.gz"])
def test_a_real_bomb_takes_little_memory(tmp_path: Path, name: str) -> None:
    """600 MB in one cell, read in a process that may take as much beside its own size."""
    import subprocess

    start, part, end = BOMBS[name.removesuffix(".gz")]
    block = (part * (1 << 20)).encode()
    with gzip.open(tmp_path / name, "wb", 1) as file:
        file.write(start.encode())
        for _ in itertools.repeat(None, 600):
            file.write(block)
        file.write(end.encode())
    code = (
        "import resource, sys; from retvec_lite.data.texts import read_texts; from retvec_lite import RetvecLiteError\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: list(read_texts(sys.argv[1]))\n"
        "except RetvecLiteError: pass\n"
        "else: sys.exit('read')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / name)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 500_000, done.stdout
