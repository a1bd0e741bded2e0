"""Run code in a Python process of its own, and tell which heavy packages it loads."""

import subprocess
import sys

HEAVY = ("tensorflow", "keras", "coremltools", "ai_edge_quantizer", "ai_edge_litert", "tflite_runtime", "safetensors", "matplotlib", "rich", "scipy", "sklearn", "pandas")  # fmt: skip


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run code in a new process with `sys.argv[1:]` as given; the caller checks how it ended."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def loaded_after(code: str) -> list[str]:
    """Which heavy packages a fresh interpreter has loaded after running `code`."""
    report = f"import sys; print(' '.join(name for name in {HEAVY!r} if name in sys.modules))"
    done = run_python(f"{code}\n{report}")
    assert done.returncode == 0, done.stderr
    return done.stdout.split()
