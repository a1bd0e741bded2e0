"""Updates of a model in a shipped app: check what was downloaded before it takes the place of the installed model."""

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retvec_lite.arguments import checked
from retvec_lite.classifier import Classifier
from retvec_lite.errors import shown
from retvec_lite.foreign import read_file
from retvec_lite.loading import load
from retvec_lite.manifest import (
    LARGEST,
    LARGEST_VERSION,
    MANIFEST_NAME,
    SIGNATURE_NAME,
    Manifest,
    UpdateError,
    fingerprint,
    size_of,
)
from retvec_lite.signing import check_signature

_RUN: Final = (".retvec", ".tflite")
"""Suffixes of the files that are tried; others need runtimes that apps bring."""


@dataclass(frozen=True)
class Update:
    """An update that may take the place of the installed model. `print(update)` says in lines what was checked.

    Attributes:
        manifest: what it holds, as signed.
        files: the listed files that were there, in the order of the manifest, checked.
        tried: those of them that answered the golden texts.
    """

    manifest: Manifest
    files: tuple[Path, ...]
    tried: tuple[Path, ...]

    def __str__(self) -> str:
        count = len(self.manifest.texts)
        lines = [f"{self.manifest.name} {self.manifest.version}: signed with this key."]
        for file in self.files:
            answered = f", {count} golden {'text' if count == 1 else 'texts'} answered as expected"
            lines.append(f"{file}: whole and unchanged{answered if file in self.tried else ''}.")
        return "\n".join(lines)


@checked
def check_update(
    folder: str | os.PathLike[str], key: str | os.PathLike[str], name: str, *, installed: int = 0
) -> Update:
    """Check what was downloaded of a signed export: signature, name, version, every byte, and the answers to the golden texts.

    Args:
        folder: where `manifest.json`, `manifest.json.sig` and at least one of the listed files are; not all need to be there.
        key: the public key, 64 hexadecimal digits, or a file that has them; of several with spaces between them, any may have signed.
        name: of the model, as it was exported: no other model of the same key can take its place.
        installed: version of the installed model, 0 for none; the update must be newer.

    Returns:
        What was checked. Use no other file of the folder.

    Raises:
        UpdateError: where anything is wrong; its `code` says what.
        RetvecLiteError: for a folder or key that cannot be read, and where a runtime is missing.
        ModuleNotFoundError: without the extra `sign`.

    Example:
        >>> import retvec_lite as rl
        >>> key = rl.make_key("update.key")
        >>> report = rl.load("classifier").export("dist", formats="engine", name="router", model_version=7, sign="update.key")
        >>> rl.check_update("dist", key, "router", installed=6).manifest.version
        7
    """
    place = Path(folder)
    content = read_file(place / MANIFEST_NAME, LARGEST)
    if not os.path.lexists(place / SIGNATURE_NAME):
        raise UpdateError(
            "UPDATE_FILE",
            f"{place / SIGNATURE_NAME} is missing: it was not downloaded, or the export was not signed (`retvec-lite export --sign`).",
        )
    signature = read_file(place / SIGNATURE_NAME, LARGEST)
    manifest = open_manifest(content, signature, key, name, installed)
    files = [place / file.file for file in manifest.files if Path(file.file).name == file.file]
    found = tuple(file for file in files if os.path.lexists(file))
    if not found:
        raise UpdateError(
            "UPDATE_FILE", f"None of the files that the manifest lists is in {place}. Download one of them."
        )
    for file in found:
        if link := next((path for path in (file, *file.rglob("*")) if path.is_symlink()), None):
            raise UpdateError(
                "UPDATE_FILE", f"{link} is a link, and what it names may change. Download the file itself."
            )
        manifest.check(file.name, size_of(file))
        manifest.check(file.name, size_of(file), fingerprint(file))
    tried = tuple(file for file in found if file.suffix in _RUN)
    for file in tried:
        manifest.try_texts(str(file), functools.partial(_labels, load(file)))
    return Update(manifest, found, tried)


def open_manifest(
    manifest: bytes, signature: bytes, key: str | os.PathLike[str], name: str, installed: int
) -> Manifest:
    """Return a manifest whose signature, name and version are right; arguments as for `check_update`.

    Raises:
        UpdateError: where anything is wrong. What is not signed is not read.
    """
    if type(installed) is not int or installed < 0:
        raise UpdateError(
            "UPDATE_INSTALLED", f"The installed version is a whole number, 0 for none, not {shown(installed)}."
        )
    check_signature(manifest, signature, key)
    found = Manifest.from_bytes(manifest)
    if found.name != name:
        raise UpdateError("UPDATE_NAME", f"The update is of the model {shown(found.name)}, not of {shown(name)}.")
    if found.version is None or not 1 <= found.version <= LARGEST_VERSION:
        raise UpdateError("UPDATE_MANIFEST", f"{MANIFEST_NAME} has no version of the model.")
    if found.version <= installed:
        raise UpdateError(
            "UPDATE_OLD", f"The update is version {found.version} of {name}, and {installed} is installed."
        )
    return found


def _labels(classifier: Classifier, text: str) -> list[str]:
    """Return the labels of a text: one, none, or any number where there may be several."""
    answers = classifier.predict(text, None if classifier.decision.multi_label else 1)
    return [answer.label for answer in answers if answer.label is not None]
