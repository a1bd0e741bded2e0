"""Where a classifier came from: a hash of its data, the day, and the versions of what trained it."""

import datetime
import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from typing import Final

import numpy as np

from retvec_lite.data.dataset import Dataset
from retvec_lite.errors import RetvecLiteError, shown
from retvec_lite.version import __version__

_CLOCK: Final = "SOURCE_DATE_EPOCH"
"""Variable of the environment that says the time, in seconds since 1970, for files that shall be the same on another day:
https://reproducible-builds.org/specs/source-date-epoch/."""


def data_hash(dataset: Dataset) -> str:
    """Return 16 hexadecimal digits for texts, labels, weights and descriptions in their order, whatever file they stood in."""
    digest = hashlib.sha256(str(dataset.multi_label).encode())
    # Only the ratios of weights matter.
    most = max(dataset.weights, default=1.0)
    weights = [repr(weight / most) for weight in dataset.weights] if len(set(dataset.weights)) > 1 else []
    described = (
        ["descriptions", *(cell for row in dataset.descriptions for cell in row)] if dataset.descriptions else []
    )
    for cell in (*dataset.texts, *dataset.labels, *weights, *described):
        content = cell.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:16]


def today() -> str:
    """Return the day (UTC) as YYYY-MM-DD, or that of SOURCE_DATE_EPOCH; raises RetvecLiteError where that is no time."""
    said = os.environ.get(_CLOCK)
    if not said:
        return datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    try:
        return datetime.datetime.fromtimestamp(int(said), datetime.timezone.utc).date().isoformat()
    except (ValueError, OverflowError, OSError) as error:
        raise RetvecLiteError(f"{_CLOCK} must be a number of seconds since 1970, not {shown(said)}.") from error


def versions() -> Mapping[str, str]:
    """Return the versions of what a training used; TensorFlow is there if it was loaded."""
    found = {"retvec-lite": __version__, "numpy": np.__version__, "python": platform.python_version()}
    tensorflow = getattr(sys.modules.get("tensorflow"), "__version__", None)
    return found if tensorflow is None else {**found, "tensorflow": tensorflow}
