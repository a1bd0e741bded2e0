"""Write updates.json: updates that Python, JavaScript and Kotlin must take or refuse alike. `python tests/data/make_updates.py`."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from retvec_lite.contract import CONTRACT_VERSIONS
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
        contract_version=CONTRACT_VERSIONS[-1],
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


def cases() -> Iterator[dict[str, Any]]:
    text = json.dumps(manifest_fields(), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    signature = OWN.sign(text.encode()).hex()
    whole = FILES["classifier-int8.retvec"]
    yield case("newer", None, signed=text)
    yield case("nothing installed", None, installed=0)
    yield case("key in capitals", None, key=public_key(OWN).upper())
    yield case("largest version", None, fields={"version": LARGEST_VERSION}, installed=LARGEST_VERSION - 1)
    yield case("oldest contract", None, fields={"contract_version": CONTRACT_VERSIONS[0]})
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

    yield case("another model of the same key", "UPDATE_NAME", model="spam")
    yield case("no name", "UPDATE_NAME", fields={"name": None})
    yield case("without name", "UPDATE_NAME", fields={"name": "absent"})

    newest = CONTRACT_VERSIONS[-1]
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
