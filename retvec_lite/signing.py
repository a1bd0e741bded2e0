"""Ed25519 signatures of manifests, with the package `cryptography`, which the extra `sign` brings."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retvec_lite.arguments import checked
from retvec_lite.errors import RetvecLiteError, reason, shown
from retvec_lite.files import atomic_write, refuse_existing
from retvec_lite.foreign import read_file
from retvec_lite.manifest import MANIFEST_NAME, UpdateError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PUBLIC_SUFFIX: Final = ".pub"

_PUBLIC: Final = re.compile(r"[0-9a-f]{64}( [0-9a-f]{64})*", re.ASCII)
_LOW_ORDER: Final = re.compile(
    "0[01](00){30}[08]0|26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc[08]5"
    "|c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03[7f]a|(e[c-f]|f.)(ff){30}[7f]f"
)
"""Public keys for which anybody can sign: the eight points whose order divides the cofactor, in every encoding of them (Chalkias and others, "Taming
the many EdDSAs", 2020), and all other encodings of numbers that are no residues. An unset key, of zeros, is one of them."""

_LONGEST: Final = 10_000
"""Bytes of a file with keys."""


@checked
def make_key(path: str | os.PathLike[str], *, force: bool = False) -> str:
    """Make the key pair that signs updates: a private key, and beside it the public one in a file of the same name with .pub.

    Whoever has the private key can give any model to every app that has the public one: keep it secret and keep a copy of it. Another
    private key of Ed25519 in PEM, such as `openssl genpkey -algorithm ed25519` writes, does as well.

    Args:
        path: file for the private key.
        force: replace both files if they exist. Apps with the old public key refuse all that is signed with the new one.

    Returns:
        The public key, 64 hexadecimal digits: what apps are built with.

    Raises:
        RetvecLiteError: for files that exist without `force`, or cannot be written.
        ModuleNotFoundError: without the extra `sign`.

    Example:
        >>> import retvec_lite as rl
        >>> len(rl.make_key("update.key"))
        64
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    place = Path(os.path.realpath(path))
    beside = place.with_name(f"{place.name}{PUBLIC_SUFFIX}")
    for file in (place, beside):
        refuse_existing(file, force)
    key = Ed25519PrivateKey.generate()
    usual = os.umask(0o077)  # nobody else may read it, not even for a moment
    try:
        if place.exists():  # what takes its place has its rights
            os.chmod(place, 0o600)
        atomic_write(place, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    finally:
        os.umask(usual)
    atomic_write(beside, f"{public_key(key)}\n".encode())
    return public_key(key)


def read_private_key(path: str | os.PathLike[str]) -> "Ed25519PrivateKey":
    """Read a private key, in PEM and not encrypted.

    Raises:
        RetvecLiteError: for a file that is missing or holds something else.
        ModuleNotFoundError: without the extra `sign`.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = read_file(Path(path), _LONGEST)
    try:
        key = load_pem_private_key(content, None)
    except TypeError as error:
        raise RetvecLiteError(
            f"{os.fspath(path)} is encrypted. Decrypt it first: openssl pkey -in {os.fspath(path)} -out update.key"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _no_private_key(path) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_private_key(path)
    return key


def public_key(key: "Ed25519PrivateKey") -> str:
    """Return the public key of a private one, 64 hexadecimal digits."""
    return key.public_key().public_bytes_raw().hex()


def check_signature(manifest: bytes, signature: bytes, key: str | os.PathLike[str]) -> None:
    """Check that a manifest was signed with the private key of a public one.

    Args:
        manifest: the exact bytes of `manifest.json`.
        signature: those of `manifest.json.sig`, 64 bytes.
        key: the public key, 64 hexadecimal digits, or the file that has them; of several with spaces between them, any may have signed.

    Raises:
        UpdateError: for another signature ("UPDATE_SIGNATURE"), and for what is no public key, or one for which anybody can sign
            ("UPDATE_KEY").
        ModuleNotFoundError: without the extra `sign`.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    for digits in _public_keys(key):
        try:
            return Ed25519PublicKey.from_public_bytes(bytes.fromhex(digits)).verify(signature, manifest)
        except InvalidSignature:
            continue
        except ValueError as error:
            raise UpdateError("UPDATE_KEY", f"The public key is none of Ed25519: {reason(error)}.") from error
    raise UpdateError(
        "UPDATE_SIGNATURE",
        f"{MANIFEST_NAME} was not signed with this key, or was changed since. Do not use its files.",
    )


def _public_keys(key: str | os.PathLike[str]) -> list[str]:
    text = _joined(os.fspath(key))
    if not _PUBLIC.fullmatch(text) and os.path.isfile(key):
        text = _joined(read_file(Path(key), _LONGEST).decode("ascii", "replace"))
    if not _PUBLIC.fullmatch(text):
        raise UpdateError(
            "UPDATE_KEY",
            f"{shown(os.fspath(key))} is neither a public key, 64 hexadecimal digits, nor a file with one: `retvec-lite make-key` writes it beside the private key, with .pub behind.",
        )
    keys = text.split()
    if any(map(_LOW_ORDER.fullmatch, keys)):
        raise UpdateError(
            "UPDATE_KEY", "Anybody can sign for this public key. Build with the one that `retvec-lite make-key` wrote."
        )
    return keys


def _joined(text: str) -> str:
    return " ".join(text.lower().split())


def _no_private_key(path: str | os.PathLike[str]) -> RetvecLiteError:
    return RetvecLiteError(
        f"{os.fspath(path)} has no private key of Ed25519 in PEM. `retvec-lite make-key` writes one: the file without .pub."
    )
