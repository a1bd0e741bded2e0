"""From the starter data to verified files: what `make demo` runs.

Trains a classifier, exports it in every format, and says what was built and how good it is. The export verifies each file on every
installed runtime.
"""

import sys
import time
from pathlib import Path

import retvec_lite as rl
from retvec_lite.cli import load_quietly
from retvec_lite.cli.train import run_small_operations_side_by_side
from retvec_lite.runtime import NOT_BUILT, is_built
from retvec_lite.terminal import Table, draw

NAMES = {
    "ai-edge-litert": "LiteRT",
    "tflite-runtime": "tflite-runtime",
    "coreml (evaluated)": "our evaluator, for",
    "coreml": "Core ML,",
    "retvec-lite": "our C engine",
    "onnxruntime": "ONNX Runtime",
}

TEXTS = (
    "wake me up at half past six",
    "wkae me up at hlaf past six",
    "Ihr Paket wird heute zugestellt",
    "你的验证码是 482913",
    "هل ستمطر غدا؟",
    "Y0ur acc0unt is l0cked, v3rify now: login.example",
)


def main(folder: str) -> int:
    """Build everything in `folder`, which is replaced; return 1 when a file is not what it says."""
    run_small_operations_side_by_side()
    dist, start = Path(folder, "dist"), time.perf_counter()
    classifier = rl.train("starter", out=Path(folder, "classifier"), force=True, progress=True)
    report = classifier.export(dist, formats="all", recipes=("int8", "int4"), embed=True, force=True, progress=True)
    if not report.ok:
        print(report)
        return 1
    light = load_quietly(str(dist / "classifier-int8.tflite"), None)
    evaluation = rl.evaluate(light, "starter", typos=(0, 0.2, 0.5), progress=True)
    minutes = (time.perf_counter() - start) / 60

    rows = []
    for artifact in (exported.result for exported in report.artifacts):
        runtimes = ", ".join(f"{NAMES[run.runtime]} {run.version}" for run in artifact.runtimes if run.promised)
        rows.append((artifact.file, f"{artifact.bytes / 1000:,.0f} kB", runtimes))
    clean, few, half = (f"{point.accuracy:.1%}" for point in evaluation.typos)
    print(
        draw(
            f"\nBuilt in {minutes:.1f} minutes: a classifier of {len(classifier.labels)} labels in ten languages, "
            f"trained on {classifier.training['training_texts']:,} short messages.",
            Table("", ("file", "size", "verified on"), rows, frozenset({"size"})),
            f"classifier-int8.tflite is right on {clean} of {evaluation.texts:,} test texts; on {few} when a fifth of the words "
            f"are mistyped, on {half} when half are.",
        )
    )
    for text in TEXTS:
        best = light.predict(text, top=1)[0]
        print(f"  {best.label:<14}{best.probability:5.2f}  {text}")
    print(
        f"README.md says how to use each file: .retvec files are for JavaScript, C, Go, Rust, Android, Swift and Python with NumPy alone, .tflite files for "
        f"LiteRT on any device, .mlpackage files for Core ML, .onnx files for ONNX Runtime.\n"
        f"How each file was verified: {dist}/README.md\n"
        f"Verify them once more:      retvec-lite verify {dist}\n"
        f"Try it in a browser:        retvec-lite demo {dist}\n"
        f"Train on your own data:     retvec-lite train messages.csv --out trained"
    )
    if not is_built():
        print(NOT_BUILT)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "out/demo"))
