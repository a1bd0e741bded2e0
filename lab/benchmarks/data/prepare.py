"""Build the data sets of all benchmarks from the files that their owners publish.

    python -m benchmarks.data.prepare --out DIR              # all
    python -m benchmarks.data.prepare banking77 --out DIR    # some

Owners' files are kept in a cache: what is there is not fetched again, and what cannot be fetched can be put there by hand.
Every file is compared with the one that all figures were measured on, by SHA-256 and number of rows (data_files.csv).
"""

import csv
import dataclasses
import hashlib
import io
import sys
import tarfile
import urllib.request
import zipfile
import zlib
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Final

from benchmarks.common import RESULTS, ROOT, command_parser
from benchmarks.data.converters import AG_NEWS_ROWS, HASH_BYTES, Row, sha1
from benchmarks.data.sources import SOURCES, Source
from benchmarks.tables.cells import markdown_table
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write

CACHE: Final = ROOT / "out" / "data-sources"
MEASURED: Final = Path(__file__).resolve().parent / "files.csv"
"""The files that all figures were measured on: their rows, how many of them are also in training, and their SHA-256."""

_SECONDS: Final = 60
_BROKEN: Final = (
    *(ValueError, KeyError, IndexError, TypeError, AttributeError, EOFError, OSError),
    *(csv.Error, tarfile.TarError, zipfile.BadZipFile, zlib.error),
)
"""What a converter raises for a file in another format. (Wrong UTF-8 and JSON are ValueErrors.)"""


class UnavailableError(RetvecLiteError):
    """A data set cannot be built: an owner's file is missing, or has another format."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """One file of a data set.

    Attributes:
        rows: number of rows without the header.
        repeated: rows whose text is also in train.csv; 0 for train.csv itself and where there is none.
        different: different texts among these.
        sha256: hexadecimal, of the whole file.
    """

    rows: int
    repeated: int
    different: int
    sha256: str


def fetch(address: str, path: Path) -> None:
    """Fetch a file, whole or not at all, unless it is there.

    Raises:
        UnavailableError: the address does not answer.
        RetvecLiteError: the file cannot be written.
    """
    if path.is_file():
        return
    print(f"fetching {address}", file=sys.stderr)
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
            content = answer.read()
    except (OSError, HTTPException) as error:
        # The text of most URLErrors is a repr of their reason.
        reason = getattr(error, "reason", None) or error
        raise UnavailableError(
            f"Cannot fetch {address} ({reason}): fetch it by other means and put it at {path}, then run this again."
        ) from error
    atomic_write(path, content)


def build(name: str, source: Source, cache: Path) -> dict[str, list[Row]]:
    """Fetch what is missing and return the rows of each file.

    Args:
        name: the data set, which has a folder of this name in the cache.
        source: its source.
        cache: folder of the owners' files.

    Raises:
        UnavailableError: a file cannot be fetched, or has another format.
    """
    folder = cache / name
    for file, address in source.files.items():
        fetch(address, folder / file)
    try:
        return dict(source.convert(folder))
    except _BROKEN as error:
        raise UnavailableError(
            f"A file in {folder} is not in its owner's format ({type(error).__name__}: {error}): delete it, and it will be fetched again."
        ) from error


def content_of(columns: Row, rows: Sequence[Row]) -> bytes:
    """Return a CSV file as RFC 4180 has it: UTF-8, CRLF, a header."""
    text = io.StringIO()
    csv.writer(text).writerows([columns, *rows])
    return text.getvalue().encode()


def measure(columns: Row, tables: dict[str, list[Row]]) -> dict[str, Measured]:
    """Return rows, repeated texts and SHA-256 of each file of a data set."""
    training = {row[0] for row in tables.get("train.csv", [])}
    measured = {}
    for file, rows in tables.items():
        repeated = [row[0] for row in rows if row[0] in training] if file != "train.csv" else []
        digest = hashlib.sha256(content_of(columns, rows)).hexdigest()
        measured[file] = Measured(len(rows), len(repeated), len(set(repeated)), digest)
    return measured


def read_measured(path: Path) -> dict[str, dict[str, Measured]]:
    """Read `MEASURED`: data set -> file -> what was measured."""
    found: dict[str, dict[str, Measured]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, _, own = row["file"].partition("/")
            numbers = (int(row[field]) for field in ("rows", "repeated", "different"))
            found.setdefault(name, {})[own] = Measured(*numbers, row["sha256"])
    return found


def read_rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


def record(folder: Path) -> None:
    """Write `MEASURED` and `AG_NEWS_ROWS` from the data sets of a folder: those that the figures are measured on.

    Raises:
        SystemExit: a file differs from what its rows give, so that no source could give it.
    """
    lines: list[Row] = [("file", *(field.name for field in dataclasses.fields(Measured)))]
    for name, source in SOURCES.items():
        tables = {path.name: read_rows(path) for path in sorted((folder / name).glob("*.csv"))}
        for file, own in measure(source.columns, tables).items():
            path = folder / name / file
            if hashlib.sha256(path.read_bytes()).hexdigest() != own.sha256:
                raise SystemExit(f"{path} is not a CSV file with the header {','.join(source.columns)} and CRLF.")
            lines.append((f"{name}/{file}", *map(str, dataclasses.astuple(own))))
    hashes = (sha1(text)[:HASH_BYTES] for text, _ in read_rows(folder / "ag_news" / "train.csv"))
    atomic_write(AG_NEWS_ROWS, b"".join(hashes))
    atomic_write(MEASURED, "".join(f"{','.join(line)}\n" for line in lines).encode())


def report(name: str, tables: dict[str, list[Row]], expected: dict[str, Measured]) -> bool:
    """Print for each file whether it is the one that was measured, and which texts are in training too.

    Returns:
        Whether all files are identical.
    """
    source = SOURCES[name]
    print(f"{name} ({source.licence}; split: {source.split})")
    built = measure(source.columns, tables)
    for file, own in built.items():
        verdict = "was not measured"
        if file in expected:
            differs = f"DIFFERS from the file that was measured, which has {expected[file].rows:,} rows"
            verdict = "identical" if own == expected[file] else differs
        print(f"  {file}: {own.rows:,} rows, {verdict}")
        if "train.csv" in tables and file != "train.csv":
            print(f"  {file}: {own.repeated:,} texts ({own.different:,} different ones) are also in train.csv")
    if source.difference:
        print(f"  known difference: {source.difference}")
    return built == expected


def table(measured: dict[str, dict[str, Measured]]) -> str:
    lines = []
    for name, source in SOURCES.items():
        files = measured[name]
        rows = sum(own.rows for own in files.values())
        content = f"{len(files)} files, {rows:,}"
        if len(files) <= 3:
            content = ", ".join(f"{Path(file).stem} {own.rows:,}" for file, own in sorted(files.items(), reverse=True))
        repeated = f"{files['test.csv'].repeated:,}" if "test.csv" in files else "-"
        page = f"[`{name}`]({source.page})"
        lines.append(
            (page, source.licence, f"`{','.join(source.columns)}`", content, repeated, source.split, source.again)
        )
    header = ("data set", "licence", "columns", "rows", "test texts also in training", "split")
    return markdown_table((*header, "owner's files that gave our rows"), lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"data sets: {', '.join(SOURCES)} (default: all)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write: what other commands take as --data")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="folder of the owners' files")
    parser.add_argument("--table", action="store_true", help="only write the table of sources for the documentation")
    parser.add_argument(
        "--record", type=Path, metavar="DIR", help="only note that figures are measured on this folder's files"
    )
    args = parser.parse_args(arguments)
    unknown = [name for name in args.sets if name not in SOURCES]
    if unknown:
        raise SystemExit(f"No data set {unknown[0]}; there are {', '.join(SOURCES)}.")
    if args.record:
        record(args.record)
    if args.table:
        atomic_write(RESULTS / "data.md", table(read_measured(MEASURED)).encode())
    if args.record or args.table:
        return
    if not args.out:
        raise SystemExit("Name the folder to write with --out DIR.")
    measured = read_measured(MEASURED)
    failed, different = [], []
    for name in args.sets or SOURCES:
        try:
            tables = build(name, SOURCES[name], args.cache)
            for file, rows in tables.items():
                atomic_write(args.out / name / file, content_of(SOURCES[name].columns, rows))
        except RetvecLiteError as error:
            print(error, file=sys.stderr)
            failed.append(name)
            continue
        if not report(name, tables, measured.get(name, {})) and not SOURCES[name].difference:
            different.append(name)
    if failed:
        raise SystemExit(f"Not built: {', '.join(failed)}.")
    if different:
        raise SystemExit(f"Not the files that figures were measured on: {', '.join(different)}.")


if __name__ == "__main__":
    main()
