"""Write updates.json: updates that Python, JavaScript and Kotlin must take or refuse alike. `python tests/data/make_updates.py`."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from retvec_lite.contract import CONTRACT_VERSION
from retvec_lite.manifest import LARGEST_VERSION, Manifest, ModelFile
from retvec_lite.signing import public_key

OWN, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2))

FILES: Final = {"classifier-int8.retvec": "the bytes of a model", "classifier-int4.retvec": "the bytes of others!"}
"""Name -> content, in place of models; both have as many bytes."""

TEXTS: Final = {"where is my parcel": ["delivery"], "Größe XL und 🎁 bitte": ["größe", "gift"], "\u4f60\u597d": []}


def manifest_fields() -> dict[str, Any]:
    """A right manifest, as JSON-ready fields."""
    manifest = Manifest(
        name="router",
        version=7,
        created_by="retvec-lite 0.2.0",
        contract_version=CONTRACT_VERSION,
        labels=["delivery", "gift", "größe"],
        figures={"0": {"accuracy": 0.9375}},
        texts=[(text, tuple(labels)) for text, labels in TEXTS.items()],
        files=[
            ModelFile(name, "engine", "int8", len(content), hashlib.sha256(content.encode()).hexdigest())
            for name, content in FILES.items()
        ],
    )
    fields: dict[str, Any] = json.loads(manifest.to_bytes())
    return fields


def case(name: str, code: str | None, **changes: Any) -> dict[str, Any]:
    """A case: the right update but for some changes. `fields` change what is signed, `signed` is signed as it is."""
    fields: Mapping[str, Any] = {**manifest_fields(), **changes.pop("fields", {})}
    text = changes.pop("signed", json.dumps({key: value for key, value in fields.items() if value != "absent"}))
    signer = changes.pop("signer", OWN)
    right = {
        "manifest": text,
        "signature": signer.sign(text.encode()).hex(),
        "key": public_key(OWN),
        "model": "router",
        "installed": 6,
        "file": "classifier-int8.retvec",
        "content": FILES["classifier-int8.retvec"],
        "answers": TEXTS,
    }
    return {"name": name, "code": code, **right, **changes}


PRIME: Final = 2**255 - 19


def keys_of_low_order() -> list[str]:
    """The encodings of the eight points (x, y) of Edwards25519 with 8 (x, y) = (0, 1), canonical or not: RFC 8032, sections 5.1 and 5.1.3.

    On the curve -x^2 + y^2 = 1 + d x^2 y^2, they have y = 1, y = -1, y = 0, or a double with y = 0.
    """
    d = -121665 * pow(121666, -1, PRIME) % PRIME
    root = pow(2, (PRIME - 1) // 4, PRIME)  # of -1
    # 2 (x, y) has y = 0 where x^2 = -y^2, so that d y^4 + 2 y^2 - 1 = 0.
    found = {0, 1, PRIME - 1}
    for sign in (1, -1):
        square = (-1 + sign * _root(1 + d, root)) * pow(d, -1, PRIME) % PRIME
        if pow(square, (PRIME - 1) // 2, PRIME) == 1:
            found |= {_root(square, root), -_root(square, root) % PRIME}
    written = found | {y + PRIME for y in found if y + PRIME < 2**255}
    return [(y + sign * 2**255).to_bytes(32, "little").hex() for y in sorted(written) for sign in (0, 1)]


def _root(square: int, of_minus_one: int) -> int:
    """A square root in the field of Curve25519."""
    root = pow(square, (PRIME + 3) // 8, PRIME)
    return root if root * root % PRIME == square % PRIME else root * of_minus_one % PRIME


def cases() -> Iterator[dict[str, Any]]:
    text = json.dumps(manifest_fields(), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    signature = OWN.sign(text.encode()).hex()
    whole = FILES["classifier-int8.retvec"]
    yield case("newer", None, signed=text)
    yield case("nothing installed", None, installed=0)
    yield case("key in capitals", None, key=public_key(OWN).upper())
    yield case("largest version", None, fields={"version": LARGEST_VERSION}, installed=LARGEST_VERSION - 1)
    yield case("older contract", "UPDATE_CONTRACT", fields={"contract_version": CONTRACT_VERSION - 1})
    yield case("fields of a newer release", None, fields={"minutes": 5, "texts": [*manifest_fields()["texts"], {"text": "a", "labels": [], "new": 1}]}, answers={**TEXTS, "a": []})  # fmt: skip
    yield case("no golden texts", None, fields={"texts": []})
    yield case("labels in another order", None, answers={**TEXTS, "Größe XL und 🎁 bitte": ["gift", "größe"]})

    yield case("half a file", "UPDATE_FILE", content=whole[: len(whole) // 2])
    yield case("empty file", "UPDATE_FILE", content="")
    yield case("one byte more", "UPDATE_FILE", content=f"{whole}\n")
    yield case("one byte changed", "UPDATE_FILE", content=whole.replace("model", "modem"))
    yield case("swapped files", "UPDATE_FILE", content=FILES["classifier-int4.retvec"])
    yield case("file that is not listed", "UPDATE_FILE", file="classifier-int8.tflite")

    yield case("installed version", "UPDATE_OLD", installed=7)
    yield case("older version", "UPDATE_OLD", installed=8)

    for installed in (-1, 2**53, 6.5, "6", "x", None, True, [], {}):
        code = "UPDATE_OLD" if installed == 2**53 else "UPDATE_INSTALLED"
        yield case(f"installed is {json.dumps(installed)}", code, installed=installed)

    keys = [public_key(one) for one in (OWN, OTHER)]
    for name, key in (
        ("first", " ".join(keys)),
        ("second", " ".join(reversed(keys))),
        ("second, in lines", f"\n{keys[1]}\r\n {keys[0]}\n"),
    ):
        yield case(f"signed with the {name} of two keys", None, key=key)
    yield case("signed with neither of two keys", "UPDATE_SIGNATURE", signer=Ed25519PrivateKey.from_private_bytes(bytes(32)), key=" ".join(keys))  # fmt: skip
    for second in ("x" * 64, keys[1][:62], "0" * 64):
        yield case(f"{second[:2]}... beside the right key", "UPDATE_KEY", key=f"{keys[0]} {second}")

    yield case("app with another key", "UPDATE_SIGNATURE", key=public_key(OTHER))
    yield case("signed with another key", "UPDATE_SIGNATURE", signer=OTHER)
    yield case("version changed", "UPDATE_SIGNATURE", manifest=text.replace('"version": 7', '"version": 9'), signature=signature)  # fmt: skip
    yield case("line added", "UPDATE_SIGNATURE", manifest=f"{text}\n", signature=signature)
    yield case("half a manifest", "UPDATE_SIGNATURE", manifest=text[: len(text) // 2], signature=signature)
    yield case("empty manifest", "UPDATE_SIGNATURE", manifest="", signature=signature)
    yield case("half a signature", "UPDATE_SIGNATURE", manifest=text, signature=signature[:64])
    yield case("no signature", "UPDATE_SIGNATURE", manifest=text, signature="")
    yield case("signature with a byte more", "UPDATE_SIGNATURE", manifest=text, signature=f"{signature}00")
    yield case("signature of zeros", "UPDATE_SIGNATURE", manifest=text, signature="00" * 64)

    yield case("short key", "UPDATE_KEY", key=public_key(OWN)[:62])
    yield case("key of other characters", "UPDATE_KEY", key="x" * 64)
    yield case("no key", "UPDATE_KEY", key="")
    for key in keys_of_low_order():
        # Anybody's signature: with S = 0 and R = 1, the equation R + hA = 0 holds for one manifest in eight, or for all.
        for written in (key, key.upper()) if key != key.upper() else (key,):
            yield case(f"key {written[:8]}...{written[-2:]}", "UPDATE_KEY", key=written, signature="01" + "00" * 63)
    for number in range(2, 19):
        yield case(f"key not canonical {number}", "UPDATE_KEY", key=(PRIME + number).to_bytes(32, "little").hex())

    yield case("another model of the same key", "UPDATE_NAME", model="spam")
    yield case("no name", "UPDATE_NAME", fields={"name": None})
    yield case("without name", "UPDATE_NAME", fields={"name": "absent"})

    newest = CONTRACT_VERSION
    yield case("newer contract", "UPDATE_CONTRACT", fields={"contract_version": newest + 1})
    yield case("newer contract that changes the manifest", "UPDATE_CONTRACT", fields={"contract_version": newest + 1, "labels": {"0": "a"}, "files": "absent"})  # fmt: skip

    yield case("newer manifest", "UPDATE_MANIFEST", fields={"manifest_version": 2})
    yield case("something else", "UPDATE_MANIFEST", fields={"format": "retvec-lite-report"})
    yield case("no JSON", "UPDATE_MANIFEST", signed="version: 7")
    yield case("a list", "UPDATE_MANIFEST", signed="[]")
    for field in ("version", "contract_version", "labels", "texts", "files"):
        yield case(f"without {field}", "UPDATE_MANIFEST", fields={field: "absent"})
    for version in (None, 0, -7, LARGEST_VERSION + 1, 7.5, "7", True):
        yield case(f"version {json.dumps(version)}", "UPDATE_MANIFEST", fields={"version": version})
    for field, value in (("name", 7), ("contract_version", "3"), ("labels", "delivery"), ("texts", [["a", "b"]]), ("files", [{"file": "a"}]), ("files", [7])):  # fmt: skip
        yield case(f"{field} is {json.dumps(value)}", "UPDATE_MANIFEST", fields={field: value})

    yield case("another answer", "UPDATE_ANSWERS", answers={**TEXTS, "where is my parcel": ["gift"]})
    yield case("an answer for none", "UPDATE_ANSWERS", answers={**TEXTS, "\u4f60\u597d": ["gift"]})
    yield case("none for an answer", "UPDATE_ANSWERS", answers={**TEXTS, "where is my parcel": []})
    yield case("one label too few", "UPDATE_ANSWERS", answers={**TEXTS, "Größe XL und 🎁 bitte": ["gift"]})


def content() -> str:
    """What the file must hold."""
    lines = ",\n".join(json.dumps(found, ensure_ascii=False) for found in cases())
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    Path(__file__).with_name("updates.json").write_text(content(), encoding="utf-8")
