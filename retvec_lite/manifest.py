"""`manifest.json`: what an export holds, for apps that fetch a newer model. docs/updates.md says how they use it."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from retvec_lite import json_text as kind
from retvec_lite.contract import CONTRACT_VERSION
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.foreign import read_whole

MANIFEST_NAME: Final = "manifest.json"
SIGNATURE_NAME: Final = "manifest.json.sig"

FORMAT: Final = "retvec-lite-manifest"
MANIFEST_VERSION: Final = 1
"""Of the manifest. The number changes when apps that know the earlier one would read something wrong."""

RELEASE: Final = "release"
"""Fact of a classifier that is exported: the name and the version that its user gives the model."""

LARGEST_VERSION: Final = 2**31 - 1
"""Of a model: an `Int` of Kotlin, and exact in JavaScript."""

LARGEST: Final = 4 << 20
"""Bytes of a manifest, with 10,000 long labels."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", re.ASCII)
"""Of a model. Training leaves room for so many characters in every file."""

_FILE: Final = {
    "file": kind.TEXT,
    "format": kind.TEXT,
    "recipe": kind.TEXT,
    "bytes": kind.COUNT,
    "sha256": kind.TEXT,
}
_ANSWER: Final = {"text": kind.TEXT, "labels": kind.listed(kind.TEXT)}
_KINDS: Final[Mapping[str, kind.Kind]] = {
    "name": kind.either(kind.TEXT, kind.NOTHING),
    "version": kind.either(kind.COUNT, kind.NOTHING),
    "created_by": kind.TEXT,
    "contract_version": kind.COUNT,
    "labels": kind.listed(kind.TEXT),
    "figures": kind.mapped(kind.mapped(kind.Kind("a number", lambda value: type(value) in (int, float)))),
    "texts": kind.listed(kind.structured(_ANSWER, _ANSWER, "an object with a text and its labels")),
    "files": kind.listed(kind.structured(_FILE, _FILE, f"an object with {', '.join(_FILE)}")),
}


class UpdateError(RetvecLiteError):
    """A model that must not take the place of the installed one.

    Attributes:
        code: why, as in every package of retvec-lite: "UPDATE_KEY" (no public key, or one for which anybody can sign),
            "UPDATE_SIGNATURE" (signed with another key, or changed), "UPDATE_MANIFEST" (none, or one of a newer release), "UPDATE_NAME"
            (of another model), "UPDATE_OLD" (not newer than the installed one), "UPDATE_CONTRACT" (needs a newer release), "UPDATE_FILE"
            (not listed, half, other bytes, or a link), "UPDATE_ANSWERS" (a golden text is answered otherwise) or "UPDATE_INSTALLED" (the
            installed version is no whole number).

    Example:
        >>> import retvec_lite as rl
        >>> from retvec_lite.manifest import UpdateError
        >>> key = rl.make_key("update.key")
        >>> report = rl.load("classifier").export("dist", formats="engine", name="router", model_version=7, sign="update.key")
        >>> try:
        ...     rl.check_update("dist", key, "router", installed=7)
        ... except UpdateError as error:
        ...     print(error.code)
        UPDATE_OLD
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return UpdateError, (self.code, str(self))


@dataclass(frozen=True)
class ModelFile:
    """A file of an export.

    Attributes:
        file: its name in the folder of the manifest.
        format: its format, such as "engine".
        recipe: how its weights are stored.
        bytes: its size.
        sha256: its SHA-256 in hexadecimal; see `fingerprint` for folders.
    """

    file: str
    format: str
    recipe: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What an export holds.

    Attributes:
        name: of the model, which stays the same over its versions; None where the export named none.
        version: of the model, which grows; None where the export named none.
        created_by: the release that wrote it.
        contract_version: what an app must know to read the files.
        labels: the classes, in the order of the probabilities.
        figures: what validation measured, by share of mistyped words.
        texts: golden texts and their labels, by which an app tries a file: the same in all files.
        files: the files.

    Example:
        >>> from pathlib import Path
        >>> import retvec_lite as rl
        >>> report = rl.load("classifier").export("release", formats="engine")
        >>> manifest = Manifest.from_bytes(Path("release/manifest.json").read_bytes())
        >>> [file.file for file in manifest.files]
        ['classifier-int8.retvec']
    """

    name: str | None
    version: int | None
    created_by: str
    contract_version: int
    labels: Sequence[str]
    figures: Mapping[str, Mapping[str, float]]
    texts: Sequence[tuple[str, tuple[str, ...]]]
    files: Sequence[ModelFile]

    def to_bytes(self) -> bytes:
        """Return `manifest.json`: the same bytes for equal manifests."""
        fields = {
            **vars(self),
            "format": FORMAT,
            "manifest_version": MANIFEST_VERSION,
            "labels": list(self.labels),
            "texts": [{"text": text, "labels": list(labels)} for text, labels in self.texts],
            "files": [asdict(file) for file in self.files],
        }
        return (json.dumps(fields, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> "Manifest":
        """Read `manifest.json`; fields that this release does not know are left out.

        Raises:
            UpdateError: for anything else ("UPDATE_MANIFEST"), and for files of a contract that this release does not know ("UPDATE_CONTRACT").
        """
        try:
            fields = kind.parse_json(content, MANIFEST_NAME)
            if not isinstance(fields, dict) or fields.get("format") != FORMAT:
                raise RetvecLiteError(f"{MANIFEST_NAME} is not what export writes: its format is not {FORMAT!r}.")
            if fields.get("manifest_version") != MANIFEST_VERSION:
                raise RetvecLiteError(
                    f"{MANIFEST_NAME} is of version {shown(fields.get('manifest_version'))}, and this release reads {MANIFEST_VERSION}. Update it."
                )
            # Before the rest, which a newer contract may have changed.
            version = fields.get("contract_version")
            if type(version) is int and version != CONTRACT_VERSION:
                raise UpdateError(
                    "UPDATE_CONTRACT",
                    f"The files follow version {version} of the contract, and this release reads {CONTRACT_VERSION}. Update retvec-lite, or export them again.",
                )
            fields = {"name": None, "version": None, **fields}
            if missing := next((name for name in _KINDS if name not in fields), None):
                raise RetvecLiteError(f"{MANIFEST_NAME} is not what export writes: it has no {missing}.")
            kind.check_fields(fields, _KINDS)
        except UpdateError:
            raise
        except RetvecLiteError as error:
            raise UpdateError("UPDATE_MANIFEST", str(error)) from error
        read = {name: fields[name] for name in _KINDS}
        return cls(
            **{
                **read,
                "texts": [(item["text"], tuple(item["labels"])) for item in read["texts"]],
                "files": [ModelFile(**{name: item[name] for name in _FILE}) for item in read["files"]],
            }
        )

    def check(self, name: str, size: int, sha256: str | None = None) -> None:
        """Check that a file is the one of this manifest, byte for byte; by its size alone before there is its SHA-256.

        Raises:
            UpdateError: where it is not listed, of another size, or of another SHA-256 ("UPDATE_FILE").
        """
        listed_file = next((file for file in self.files if file.file == name), None)
        if listed_file is None:
            known = shown([file.file for file in self.files])
            raise UpdateError("UPDATE_FILE", f"{name} is not in the manifest, which lists {known}.")
        if size != listed_file.bytes:
            raise UpdateError(
                "UPDATE_FILE", f"{name} has {size:,} bytes instead of {listed_file.bytes:,}. Download it again."
            )
        if sha256 not in (None, listed_file.sha256):
            raise UpdateError("UPDATE_FILE", f"{name} is another file than the manifest lists. Download it again.")

    def try_texts(self, name: str, labels_of: Callable[[str], Iterable[str]]) -> None:
        """Check that a file answers the golden texts as it did when it was exported, in any order of the labels.

        Raises:
            UpdateError: for the first text that has other labels ("UPDATE_ANSWERS").
        """
        for text, labels in self.texts:
            found = sorted(labels_of(text))
            if found != sorted(labels):
                raise UpdateError(
                    "UPDATE_ANSWERS",
                    f"{name} answers {shown(found)} to the golden text {shown(text)}, and not {shown(list(labels))}. Keep the installed model.",
                )


def check_release(name: str | None, version: int | None) -> None:
    """Raise RetvecLiteError unless a model has both a name and a version that manifests can hold, or neither."""
    if (name is None) != (version is None):
        raise RetvecLiteError(
            "Name and version of a model go together: give both --name (name) and --model-version (model_version)."
        )
    if name is not None and not _NAME.fullmatch(name):
        raise RetvecLiteError(
            f"The name of a model has up to 40 letters, digits, dots, dashes and underscores, and starts with a letter or digit; not {shown(name)}."
        )
    if version is not None and not 1 <= version <= LARGEST_VERSION:
        raise RetvecLiteError(
            f"The version of a model is a number from 1 to {LARGEST_VERSION:,}, not {shown(version)}."
        )


def files_of(path: Path) -> list[Path]:
    """Return the files of an artifact: itself, or all in its folder."""
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]


def size_of(path: Path) -> int:
    """Return the bytes of an artifact, which may be a folder."""
    return sum(file.stat().st_size for file in files_of(path))


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of an artifact, in hexadecimal.

    The hash of a folder is the hash of its files' hashes and names, as `sha256sum` lists them, sorted by name.
    """
    if path.is_file():
        return hashlib.sha256(read_whole(path)).hexdigest()
    named = sorted((file.relative_to(path).as_posix(), file) for file in files_of(path))
    lines = (f"{hashlib.sha256(read_whole(file)).hexdigest()}  {name}\n" for name, file in named)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
