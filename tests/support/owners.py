"""Files of owners, written into the cache: nothing is fetched then."""

from pathlib import Path

from makers.ready.source import Source


def put(cache: Path, source: Source, files: dict[str, bytes]) -> None:
    """Write the files of a source; nothing is fetched then."""
    for address in source.files:
        name = address.rpartition("/")[2]
        path = cache / source.name / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files.get(name, b""))
