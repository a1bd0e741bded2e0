"""Put an exported model into the assets of an Android project, and what its tests compare with into their resources."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from retvec_lite.contract import EncoderConfig
from retvec_lite.converters.parity.golden import golden_bytes, golden_texts
from retvec_lite.converters.verify import GOLDEN_NAME
from retvec_lite.decision import Decision
from retvec_lite.errors import RetvecLiteError
from retvec_lite.files import atomic_write, explain_os_error, refuse_existing

MODEL_NAME: Final = "classifier.tflite"
"""The asset's name for any recipe: `TextClassifier.kt` opens it by default."""

_MODULES: Final = ("app", ".")
"""Where the module is in the folder that the user names: the usual place in a project, or the folder itself."""


class AndroidFiles(NamedTuple):
    """The paths of a project's files: the app's model, and the golden texts of its tests."""

    model: Path
    golden: Path


def find_android_files(project: str | Path, recipes: Sequence[str], *, force: bool = False) -> AndroidFiles:
    """Check, before any work is done, that a model can be put into an Android project; return where.

    Args:
        project: the folder of the Gradle project, or of one of its modules.
        recipes: what is exported; there must be one.
        force: replace existing files.

    Raises:
        RetvecLiteError: for a folder that is not an Android project, several recipes, or files that exist without `force`.
    """
    names = list(dict.fromkeys(recipes))
    if len(names) != 1:
        raise RetvecLiteError(f"An Android app opens one model: choose one recipe out of {', '.join(names) or 'none'}.")
    manifest = Path("src", "main", "AndroidManifest.xml")
    module = next((Path(project, name) for name in _MODULES if Path(project, name, manifest).is_file()), None)
    if module is None:
        raise RetvecLiteError(
            f"{project} is not an Android project: {Path('app', manifest)} is not in it. Name the Gradle project's folder."
        )
    files = AndroidFiles(module / "src/main/assets" / MODEL_NAME, module / "src/test/resources" / GOLDEN_NAME)
    for file in files:
        refuse_existing(file, force)
    return files


def write_android_assets(dist: str | Path, recipe: str, files: AndroidFiles) -> None:
    """Copy the `.tflite` of one recipe out of an export, and `golden.json` with only the answers of that recipe.

    Args:
        dist: the folder that export wrote.
        recipe: whose file to take.
        files: from `find_android_files`.

    Raises:
        RetvecLiteError: when the export has no such file, or the project cannot be written.
    """
    source = Path(dist, f"classifier-{recipe}.tflite")
    try:
        model, golden = source.read_bytes(), Path(dist, GOLDEN_NAME).read_bytes()
    except FileNotFoundError as error:
        raise RetvecLiteError(f"{error.filename} does not exist: export the recipe {recipe} again.") from error
    except OSError as error:
        raise explain_os_error(error, source) from error
    told = _golden_of(golden, recipe)
    # The texts first: after a write that was cut off between the two, the app's tests fail.
    atomic_write(files.golden, told)
    atomic_write(files.model, model)


def _golden_of(golden: bytes, recipe: str) -> bytes:
    """Return `golden.json` as an export of that recipe alone writes it."""
    document = json.loads(golden)
    config = EncoderConfig.from_dict(document["encoder"])
    table = np.array([case["probabilities"][recipe] for case in document["cases"]], np.float32)
    tolerance = {recipe: document["tolerance"][recipe]}
    decision = Decision.from_dict(document.get("decision"))
    return golden_bytes(config, document["labels"], golden_texts(config), {recipe: table}, tolerance, decision=decision)
