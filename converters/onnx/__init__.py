"""The format .onnx: the graph of the .tflite for ONNX Runtime, on servers, desktops and in browsers, with labels and contract inside.

It takes `codepoints`, int32 `[1, max_chars]`, and answers `probabilities`, float32 `[1, labels]`, as the signature `classify` does.
"""

import functools
import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from retvec_lite.converters.format import Draft, Format, OpenArtifact, about, details
from retvec_lite.converters.parity.examiner import stage_names
from retvec_lite.converters.recipes import Recipe
from retvec_lite.converters.tflite import format as tflite_format
from retvec_lite.converters.tflite import read_model
from retvec_lite.converters.tflite.quantize import quantize
from retvec_lite.errors import RetvecLiteError
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.artifact import LABELS_NAME, METADATA_NAME, SIGNATURES_KEY, classify_signature
from retvec_lite.runtime.onnx_file import RUNTIME, is_installed

if TYPE_CHECKING:
    from retvec_lite.converters.onnx.graph import GraphWriter

OLDEST: Final = "1.15.0"
"""The oldest ONNX Runtime on which a file answered its golden texts; by hand, once. `verify` runs the installed one."""


class ONNX(Format):
    """The .onnx; what its methods do stands in `Format`."""

    name = "onnx"
    suffix = ".onnx"
    runtimes: ClassVar[Mapping[str, str]] = {RUNTIME: f"{RUNTIME} is not installed"}

    def offers(self, classifier: TrainedModel, recipes: Sequence[Recipe]) -> bool:
        return bool(recipes) and is_installed()

    def check(self, recipes: Sequence[Recipe]) -> None:
        for package in ("onnx", RUNTIME):
            if importlib.util.find_spec(package) is None:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        super().check(recipes)

    def require_runtime(self) -> None:
        if not is_installed():
            raise RetvecLiteError(f"Nothing here runs .onnx files: pip install {RUNTIME}")

    def skipped(self) -> tuple[str, ...]:
        return () if is_installed() else (RUNTIME,)

    def open(self, path: Path) -> OpenArtifact:
        from retvec_lite.converters.onnx.file import ONNXFile

        return ONNXFile(path)

    def make(self, model: TrainedModel, recipes: Sequence[Recipe], embed: bool = False) -> Iterator[Draft]:
        from retvec_lite.converters.onnx.graph import GraphWriter

        graph = tflite_format.convert(model, False)
        for recipe in recipes:
            writer = GraphWriter(read_model(quantize(graph, recipe.name)), stage_names(model))
            yield Draft(recipe, {RUNTIME: OLDEST}, functools.partial(_write, writer, model, recipe))


def _write(writer: "GraphWriter", model: TrainedModel, recipe: Recipe, path: Path, oldest: Mapping[str, str]) -> None:
    described = about(model, recipe.name)
    facts = {**details(model, recipe.name, oldest), SIGNATURES_KEY: [classify_signature(model.encoder).to_dict()]}
    properties = {
        METADATA_NAME: json.dumps(facts, ensure_ascii=False, sort_keys=True),
        LABELS_NAME: "".join(f"{label}\n" for label in model.labels),
    }
    path.write_bytes(writer.to_bytes(f"{described.description} {described.output}", properties))
