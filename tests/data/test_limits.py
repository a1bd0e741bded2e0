"""A line, a cell and a row end somewhere: what is longer is refused while it is read, in every format and packing."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from retvec_lite.data import lines
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


PACKED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress}


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("name", BOMBS)
def test_what_is_too_long_is_refused_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, packing: str
) -> None:
    """No more than a few times the limit is taken from the stream, of which there is twenty times as much."""
    monkeypatch.setattr(lines, "LONGEST", LIMIT)
    taken = [0]

    class Counting(io.TextIOWrapper):
        def readline(self, size: int = -1) -> str:  # type: ignore[override]
            text = super().readline(size)
            taken[0] += len(text)
            return text

        def read(self, size: int | None = -1) -> str:
            text = super().read(size)
            taken[0] += len(text)
            return text

    monkeypatch.setattr(lines.io, "TextIOWrapper", Counting)
    start, part, end = BOMBS[name]
    whole = start + part * (20 * LIMIT // len(part)) + end
    file = tmp_path / f"{name}{packing}"
    file.write_bytes(PACKED[packing](whole.encode()))
    with pytest.raises(
        RetvecLiteError, match=r"^[^\n]*(longer than \d+,\d+ characters|field larger than field limit)[^\n]*$"
    ):
        list(read_texts(file, skipped=Skipped(bad_rows=True)))
    assert LIMIT < taken[0] < 6 * LIMIT


def test_what_is_as_long_as_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", LIMIT)
    text = "x" * (LIMIT - 20)
    for name, content in {
        "a.txt": text,
        "a.csv": f"text\n{text}",
        "a.jsonl": f'{{"text":"{text}"}}',
        "a.json": f'[{{"text":"{text}"}},{{"text":"{text}"}}]',
    }.items():
        (tmp_path / name).write_text(content)
        assert set(read_texts(tmp_path / name)) == {text}
