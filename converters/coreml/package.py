"""A Core ML package as bytes: what the model says about itself, and the files of the folder, the same for the same weights.

coremltools writes packages with a date, random identifiers and maps in any order; so the folder is put together here.
"""

import itertools
import json
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from coremltools import proto

from retvec_lite.converters.tflite.metadata import About

INPUT: Final = "codepoints"
LABEL: Final = "label"
PROBABILITIES: Final = "probabilities"

_AUTHOR: Final = "com.apple.CoreML"
_MODEL_PATH: Final = f"{_AUTHOR}/model.mlmodel"
_WEIGHTS_PATH: Final = f"{_AUTHOR}/weights"
_MODEL_FILE: Final = f"Data/{_MODEL_PATH}"
WEIGHTS_FILE: Final = "weight.bin"

_IOS_OF_OPSET: Final = {"CoreML6": 16, "CoreML7": 17, "CoreML8": 18}


def model_description(
    about: About, max_chars: int, head: Sequence[str], details: Mapping[str, Any]
) -> "proto.Model_pb2.ModelDescription":
    """The interface of a classifier and what is told about it.

    Args:
        about: the words.
        max_chars: length of the input.
        head: one line for the input, the label and the probabilities each.
        details: JSON-ready values for the user-defined metadata; those that are no strings become JSON.
    """
    description = proto.Model_pb2.ModelDescription()
    codepoints, label, probabilities = head
    given = description.input.add(name=INPUT, shortDescription=codepoints)
    array = proto.FeatureTypes_pb2.ArrayFeatureType
    given.type.multiArrayType.CopyFrom(array(shape=[1, max_chars], dataType=array.ArrayDataType.INT32))
    found = description.output.add(name=LABEL, shortDescription=label)
    found.type.stringType.SetInParent()
    shares = description.output.add(name=PROBABILITIES, shortDescription=probabilities)
    shares.type.dictionaryType.stringKeyType.SetInParent()
    description.predictedFeatureName = LABEL
    description.predictedProbabilitiesName = PROBABILITIES

    metadata = description.metadata
    metadata.shortDescription = about.description
    metadata.versionString = about.version
    metadata.author = about.author
    metadata.license = about.license
    for key, value in details.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        metadata.userDefined[key] = text
    return description


def package_files(model: "proto.Model_pb2.Model", weights: bytes) -> dict[str, bytes]:
    """The files of a package by their paths inside it.

    Args:
        model: the specification, which names `WEIGHTS_FILE`.
        weights: that file's content.
    """
    identifiers = {
        path: str(uuid.uuid5(uuid.NAMESPACE_URL, f"retvec-lite:{path}")) for path in (_MODEL_PATH, _WEIGHTS_PATH)
    }
    manifest = {
        "fileFormatVersion": "1.0.0",
        "itemInfoEntries": {
            identifiers[path]: {"author": _AUTHOR, "description": description, "name": Path(path).name, "path": path}
            for path, description in (
                (_MODEL_PATH, "CoreML Model Specification"),
                (_WEIGHTS_PATH, "CoreML Model Weights"),
            )
        },
        "rootModelIdentifier": identifiers[_MODEL_PATH],
    }
    return {
        "Manifest.json": (json.dumps(manifest, indent=4, sort_keys=True) + "\n").encode(),
        _MODEL_FILE: model.SerializeToString(deterministic=True),
        f"Data/{_WEIGHTS_PATH}/{WEIGHTS_FILE}": weights,
    }


def write_package(files: Mapping[str, bytes], path: Path) -> None:
    """Write a package as the folder `path`, which must not exist; whoever calls it makes that atomic."""
    for name, content in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def package_sizes(files: Mapping[str, bytes]) -> dict[str, int]:
    """Bytes of a package by part: `encoder`, `embedding` and `head` constants, `metadata`, `graph` (the rest).

    Character features count as part of the head, which alone reads them.

    Args:
        files: from `package_files`, of a program that `coreml.graph` built.
    """
    model = proto.Model_pb2.Model.FromString(files[_MODEL_FILE])
    parts = dict.fromkeys(("encoder", "embedding", "head", "graph", "metadata"), 0)
    own = "encoder"
    for operation in _operations(model):
        name = operation.outputs[0].name
        part = next((part for part in ("embedding", "head") if name.startswith(f"{part}_")), own)
        parts[part] += sum(_stored_bytes(value) for value in _values(operation))
        # Constants without a name of their own belong to the operators around them.
        own = "head" if name == "bits" else own
    parts["metadata"] = len(files["Manifest.json"]) + model.description.ByteSize()
    parts["graph"] = sum(map(len, files.values())) - sum(parts.values())
    return parts


def package_operators(files: Mapping[str, bytes]) -> list[tuple[str, int, int]]:
    """Every kind of operator but constants: name, the iOS whose set of operators it is from, how many; by name."""
    model = proto.Model_pb2.Model.FromString(files[_MODEL_FILE])
    (opset,) = (function.opset for function in model.mlProgram.functions.values())
    counts = Counter(operation.type for operation in _operations(model) if operation.type != "const")
    return [(name, _IOS_OF_OPSET[opset], count) for name, count in sorted(counts.items())]


def _operations(model: "proto.Model_pb2.Model") -> list[Any]:
    (function,) = model.mlProgram.functions.values()
    return list(function.block_specializations[function.opset].operations)


def _values(operation: Any) -> list[Any]:
    """The values that stand in an operation itself, not in another one's output."""
    bound = itertools.chain.from_iterable(argument.arguments for argument in operation.inputs.values())
    return [*operation.attributes.values(), *(item.value for item in bound if item.WhichOneof("binding") == "value")]


def _stored_bytes(value: Any) -> int:
    """How many bytes of the weight file a value takes; 0 for one that stands in the model file."""
    if value.WhichOneof("value") != "blobFileValue":
        return 0
    kind = value.type.tensorType
    elements = 1
    for dimension in kind.dimensions:
        elements *= dimension.constant.size
    bits = int("".join(filter(str.isdigit, proto.MIL_pb2.DataType.Name(kind.dataType))))
    return (elements * bits + 7) // 8
