"""Files of owners, written into the cache: nothing is fetched then."""

import io
import tarfile
import zipfile
from pathlib import Path

from makers.ready.source import Source


def put(cache: Path, source: Source, files: dict[str, bytes]) -> None:
    """Write the files of a source; nothing is fetched then."""
    for address in source.files:
        name = address.rpartition("/")[2]
        path = cache / source.name / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files.get(name, b""))


def archive(files: dict[str, str]) -> bytes:
    """Return a .tar.gz of texts by their names."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as packed:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            packed.addfile(member, io.BytesIO(text.encode()))
    return content.getvalue()


def packed(files: dict[str, str]) -> bytes:
    """Return a .zip of texts by their names."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()
