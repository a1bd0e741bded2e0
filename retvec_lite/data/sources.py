"""Which files are meant: by paths, patterns and folders."""

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from retvec_lite.data.rows import TEXT_SUFFIX, check_suffix, endings, format_of
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import require_writable

_CLASSIFIERS: Final = (".safetensors", ".tflite", ".retvec", ".mlpackage", ".onnx")

_ADDRESS: Final = re.compile(r"\w[\w+.-]+:/+", re.ASCII)
"""How an address begins; one letter before the colon is a disk of Windows."""

_ABOUT: Final = ("readme", "license", "licence")
"""Names of texts in a folder that are about its files."""

_FEW: Final = 5
"""Text files of a label that look like documents; fewer may have a text a line."""


def names_of_files(data: Any) -> Sequence[str | os.PathLike[str]] | None:
    """Return the paths that data are if they are one, or a list of path objects; strings in a list are texts."""
    if isinstance(data, str | os.PathLike):
        return (data,)
    is_paths = isinstance(data, list | tuple) and data and all(isinstance(name, os.PathLike) for name in data)
    return data if is_paths else None


def given_files(data: Any) -> Sequence[str | os.PathLike[str]]:
    """Return the paths that data are, strings in a list among them; raises RetvecLiteError for a table, texts or anything else."""
    given = (data,) if isinstance(data, str | os.PathLike) else data
    if isinstance(given, list | tuple) and all(isinstance(name, str | os.PathLike) for name in given):
        return given
    raise RetvecLiteError(
        f"Files are read by their paths, and this is a {type(data).__name__}. Pass a table, or texts and labels, to `train`, `check` or "
        "`evaluate` as they are."
    )


def refuse_address(path: str | os.PathLike[str]) -> None:
    """Raise RetvecLiteError for the address of something on a network."""
    name = os.fspath(path)
    if _ADDRESS.match(name) and not os.path.lexists(name):
        raise RetvecLiteError(f"{name} is an address, and files are read from disk: download it first.")


def refuse_input(output: str | os.PathLike[str], data: Any) -> None:
    """Raise RetvecLiteError for an output that is one of the files of some data."""
    for given in names_of_files(data) or ():
        name = os.fspath(given)
        files = Path(name).rglob("*") if os.path.isdir(name) else (name, *glob.iglob(name, recursive=True))
        if same := next((file for file in files if os.path.realpath(file) == os.path.realpath(output)), None):
            raise RetvecLiteError(f"{same} is an input, too. Choose another output.")


def check_output(
    output: str | os.PathLike[str] | None, force: bool, suffixes: tuple[str, ...], what: str, *inputs: Any
) -> None:
    """Refuse, before long work and with RetvecLiteError, an output of another format, that exists, cannot be written or is an input.

    `what` is said like "Suggestions are".
    """
    if output is None:
        return
    if not os.fspath(output).lower().endswith(suffixes):
        raise RetvecLiteError(f"{what} written as {' or '.join(suffixes)}, not as {os.fspath(output)}.")
    require_writable(output, force)
    for given in inputs:
        refuse_input(output, given)


def data_files(
    inputs: Iterable[str | os.PathLike[str]], suffixes: Sequence[str], what: str = "an input file"
) -> list[Path]:
    """Return the files of some formats that paths, patterns and folders name, in their order, none twice.

    Raises:
        RetvecLiteError: for the name of a file of another format, an address, a pattern or folder without files, or the folder of a
            classifier.
    """
    found: dict[str, Path] = {}
    for given in inputs:
        if not isinstance(given, str | os.PathLike):
            raise RetvecLiteError(f"The name of a file must be a string or a path, not {given!r:.40}.")
        name = os.fspath(given)
        refuse_address(name)
        if os.path.isdir(name):
            files = _in_folder(Path(name), suffixes)
        elif glob.has_magic(name) and not os.path.lexists(name):
            files = [path for path in map(Path, sorted(glob.glob(name, recursive=True))) if not path.is_dir()]
            if not files:
                raise RetvecLiteError(f"No file matches {name}.")
        else:
            files = [Path(name)]
        for file in files:
            if file.suffix in _CLASSIFIERS:
                raise RetvecLiteError(f"{file} is a classifier, where data belong: name a file with texts.")
            check_suffix(file, suffixes, what)
            found.setdefault(os.path.realpath(file), file)
    if not found:
        raise RetvecLiteError("No input files.")
    return list(found.values())


def label_in_name(file: Path, kind: str) -> str:
    """Return the label that a file says by its name, without endings, or else by that of its "folder".

    Example:
        >>> from pathlib import Path
        >>> from retvec_lite.data.sources import label_in_name
        >>> label_in_name(Path("mails/delivery.csv.gz"), "file"), label_in_name(Path("mails/spam/1.txt"), "folder")
        ('delivery', 'spam')
    """
    if kind == "folder":
        return Path(os.path.abspath(file)).parent.name
    return Path(file.stem).stem if format_of(file)[1] else file.stem


def check_files(
    inputs: Iterable[str | os.PathLike[str]], texts: Mapping[Path, Sequence[Any]], are_documents: bool
) -> list[str]:
    """Return what to say of the files that were read, and of those in given folders that were not; hidden ones are not counted.

    Args:
        inputs: paths, patterns and folders.
        texts: those of each file that was read.
        are_documents: a text file is one text, see `_check_documents`.

    Raises:
        RetvecLiteError: where each folder has one such file, which leaves one text a label.
    """
    found = []
    for folder in filter(Path.is_dir, map(Path, inputs)):
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not _is_hidden(path, folder))
        if others := [path for path in files if path not in texts]:
            several = f"{len(others):,} files of {folder} are not read, such as"
            found.append(f"{several if others[1:] else f'One file of {folder} is not read:'} {others[0]}.")
    return found + (_check_documents(texts) if are_documents else [])


def _check_documents(texts: Mapping[Path, Sequence[Any]]) -> list[str]:
    """Return what to say where text files lie beside folders of others or two folders are of one name, or few may hold a text a line."""
    found = {file: text for file, rows in texts.items() for text in rows if format_of(file)[0] == TEXT_SUFFIX}
    folders = {file.parent for file in found}
    above = {folder.parent for folder in folders}
    if beside := [file for file in found if file.parent in above]:
        return [f"{beside[0]} lies beside the folders of other labels, so its label is {beside[0].parent.name!r}."]
    if len({folder.name for folder in folders}) < len(
        folders
    ):  # delivery/2024 and refund/2024, or train/spam and test/spam
        return [f"The label of a text is its innermost folder, such as {min(folders).name!r} of {min(folders)}."]
    if len(found) >= _FEW * len(folders) or not all("\n" in text for text in found.values()):
        return []
    lines = (
        "If each line is one, name the files by the labels (spam.txt) and pass --labels-from file (labels_from='file')"
    )
    if len(found) == len(folders):
        raise RetvecLiteError(
            f"Each folder has one text file, such as {min(found)}, and a text file is one text where folders name the labels. {lines}; "
            "otherwise add more files, or use a table."
        )
    return [f"The {len(found):,} text files are one text each. {lines}."]


def _in_folder(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    if classifier := next((path for path in sorted(folder.glob("*")) if path.suffix in _CLASSIFIERS), None):
        raise RetvecLiteError(
            f"{folder} is the folder of a classifier ({classifier.name}), where data belong: name a file with texts."
        )
    files = sorted(path for path in folder.rglob("*") if path.is_file() and _is_data(path, folder, suffixes))
    if not files:
        hint = " --labels-from (labels_from) reads .txt files." if any(folder.rglob("*.txt")) else ""
        raise RetvecLiteError(f"The folder {folder} has no file whose name ends in {endings(suffixes)}.{hint}")
    return files


def _is_data(path: Path, folder: Path, suffixes: Sequence[str]) -> bool:
    is_about = path.suffix == TEXT_SUFFIX and path.stem.lower() in _ABOUT
    return not _is_hidden(path, folder) and format_of(path)[0] in suffixes and not is_about


def _is_hidden(path: Path, folder: Path) -> bool:
    # Spark and others leave _SUCCESS, _temporary and .crc files beside their parts.
    return any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)
