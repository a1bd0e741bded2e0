"""Which heavy packages some code loads, told by a process of its own."""

import subprocess
import sys

HEAVY = ("tensorflow", "keras", "coremltools", "ai_edge_quantizer", "ai_edge_litert", "tflite_runtime", "safetensors", "matplotlib", "rich", "scipy")  # fmt: skip


def loaded_after(code: str) -> list[str]:
    """Which heavy packages a fresh interpreter has loaded after running `code`."""
    report = f"import sys; print(' '.join(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return done.stdout.split()
