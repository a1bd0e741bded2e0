"""What `_PLACES` in `__init__.py` says, for type checkers; tests/test_public_names.py compares them."""

from retvec_lite.api import check, train
from retvec_lite.classifier import Classifier
from retvec_lite.comparing import compare
from retvec_lite.converters.info import info
from retvec_lite.converters.verify import verify
from retvec_lite.data.dataset import Dataset, read_dataset
from retvec_lite.data.texts import read_texts
from retvec_lite.data.typos import mistype
from retvec_lite.errors import RetvecLiteError
from retvec_lite.evaluating import evaluate
from retvec_lite.loading import load
from retvec_lite.playground import demo
from retvec_lite.scale import BatchClassifier
from retvec_lite.scale.classify_files import classify_files
from retvec_lite.searching import duplicates, nearest
from retvec_lite.signing import make_key
from retvec_lite.spans import detect_spans
from retvec_lite.suggesting import suggest
from retvec_lite.trained import TrainedClassifier
from retvec_lite.updates import check_update
from retvec_lite.version import __version__

__all__ = [
    "BatchClassifier",
    "Classifier",
    "Dataset",
    "RetvecLiteError",
    "TrainedClassifier",
    "__version__",
    "check",
    "check_update",
    "classify_files",
    "compare",
    "demo",
    "detect_spans",
    "duplicates",
    "evaluate",
    "info",
    "load",
    "make_key",
    "mistype",
    "nearest",
    "read_dataset",
    "read_texts",
    "suggest",
    "train",
    "verify",
]
