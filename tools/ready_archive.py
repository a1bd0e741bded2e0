"""Write an archive of each ready-made classifier for apps without Python: `.tflite`, `.retvec`, `.mlpackage` and its model card.

Run `python -m tools.ready_archive [--out FOLDER]`. The `.mlpackage` is exported here, and its answers are compared: it is not in git.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Final

import retvec_lite as rl
from retvec_lite.runtime.artifact import READY
from retvec_lite.version import __version__
from tools.c_archive import ROOT, write_zip

MODELS: Final = ROOT / "models" / "retvec_lite_models"


def write(folder: Path, name: str, models: Path = MODELS) -> Path:
    """Write the archive of a classifier into a folder and return its path.

    Raises:
        RetvecLiteError: for a package that does not answer as its weights do.
    """
    files = {f"{name}{suffix}": (models / f"{name}{suffix}").read_bytes() for suffix in (".md", ".tflite", ".retvec")}
    with tempfile.TemporaryDirectory() as place:
        rl.load(models / f"{name}.safetensors").export(Path(place, "dist"), formats=["coreml"])
        (package,) = Path(place, "dist").glob("*.mlpackage")
        for path in sorted(path for path in package.rglob("*") if path.is_file()):
            files[f"{name}.mlpackage/{path.relative_to(package).as_posix()}"] = path.read_bytes()
    license_ = (ROOT / "LICENSE").read_bytes()
    return write_zip(folder / f"retvec-lite-{name}-{__version__}.zip", {**files, "LICENSE": license_})


def main() -> None:
    """Write the archives of this version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder (dist)")
    folder = parser.parse_args().out
    for name in READY:
        written = write(folder, name)
        print(f"{written}: {written.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
