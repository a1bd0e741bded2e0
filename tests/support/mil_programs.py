"""Save tiny MIL programs as packages: `mil_programs.py FOLDER`; see `packages.py`."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import coremltools as ct
import numpy as np
from coremltools.converters.mil import Builder
from coremltools.converters.mil.mil import types
from mil_cases import CASES

KINDS = {"float32": types.fp32, "float16": types.fp16, "int32": types.int32}


def save(
    path: Path,
    inputs: Mapping[str, np.ndarray],
    body: Callable[[Any, dict[str, Any]], Any],
    target: str = "iOS16",
    passes: ct.PassPipeline = ct.PassPipeline.EMPTY,
    **config: Any,
) -> None:
    """Save a program whose `body` takes the builder and the inputs' variables by name, and gives its outputs."""
    version = getattr(ct.target, target)
    specs = [Builder.TensorSpec(value.shape, dtype=KINDS[value.dtype.name]) for value in inputs.values()]
    # The builder names inputs after the parameters of the function.
    namespace: dict[str, Any] = {"function": lambda *given: body(Builder, dict(zip(inputs, given, strict=True)))}
    exec(f"def program({', '.join(inputs)}): return function({', '.join(inputs)})", namespace)
    built = Builder.program(input_specs=specs, opset_version=version)(namespace["program"])
    ct.convert(
        built,
        minimum_deployment_target=version,
        compute_precision=ct.precision.FLOAT32,
        pass_pipeline=passes,
        skip_model_load=True,
        **config,
    ).save(str(path))


def save_cases(path: Path) -> None:
    """All cases as one program; input `x` of the case `gelu` is `gelu__x`, its first output `gelu__0`."""
    inputs = {f"{name}__{key}": value for name, case in CASES.items() for key, value in case.inputs.items()}

    def body(mb: Any, variables: dict[str, Any]) -> list[Any]:
        outputs = []
        for name, case in CASES.items():
            found = case.build(mb, {key: variables[f"{name}__{key}"] for key in case.inputs})
            for number, output in enumerate(found if isinstance(found, (list, tuple)) else [found]):
                output.set_name(f"{name}__{number}")
                # Models can give out only some types.
                is_plain = output.dtype in (types.fp32, types.fp16, types.int32)
                outputs.append(output if is_plain else mb.cast(x=output, dtype="int32"))
        return outputs

    save(path, inputs, body)


def save_classifier(path: Path, target: str = "iOS16") -> None:
    """A gather behind the default passes, stored weights, and labels."""
    rng = np.random.default_rng(1)

    def body(mb: Any, variables: dict[str, Any]) -> Any:
        table = (np.arange(0x110000) % 65521 % 251).astype(np.int32)
        codes = mb.cast(x=mb.gather(x=table, indices=variables["codepoints"], axis=0), dtype="fp32", name="codes")
        hidden = mb.linear(
            x=mb.cast(x=mb.mul(x=codes, y=np.float32(1 / 256)), dtype="fp16"),
            weight=rng.normal(0, 1, (64, 8)).astype(np.float16),
            bias=rng.normal(0, 1, 64).astype(np.float16),
        )
        hidden = mb.gelu(x=hidden, mode="EXACT", name="embedding")
        logits = mb.linear(x=hidden, weight=rng.normal(0, 0.3, (3, 64)).astype(np.float16))
        return mb.softmax(x=mb.cast(x=logits, dtype="fp32"), axis=-1, name="shares")

    labels = ct.ClassifierConfig(["one", "two", "drei 😀"], predicted_feature_name="label")
    codepoints = {"codepoints": np.zeros((1, 8), np.int32)}
    save(path, codepoints, body, target, ct.PassPipeline.DEFAULT, classifier_config=labels)


def main(folder: Path) -> None:
    save_cases(folder / "cases.mlpackage")
    save_classifier(folder / "classifier.mlpackage")
    save_classifier(folder / "newer.mlpackage", "iOS18")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
