"""What `_PLACES` in `__init__.py` says, for type checkers; tests/test_public_names.py compares them."""

from retvec_lite import sklearn
from retvec_lite.api import check, load, train
from retvec_lite.classifier import Classifier
from retvec_lite.comparing import compare
from retvec_lite.contract import EncoderConfig
from retvec_lite.converters.export_report import IncompleteExportError
from retvec_lite.converters.info import info
from retvec_lite.converters.verify import verify
from retvec_lite.data.comparison import Comparison
from retvec_lite.data.dataset import Dataset, read_dataset
from retvec_lite.data.scores import Evaluation
from retvec_lite.data.suspects import Check
from retvec_lite.data.texts import read_texts
from retvec_lite.data.typos import mistype, mistype_many
from retvec_lite.errors import RetvecLiteError
from retvec_lite.manifest import Manifest, ModelFile, UpdateError
from retvec_lite.playground import demo
from retvec_lite.runtime.answers import Explanation, Prediction, Span
from retvec_lite.runtime.memory import Memory
from retvec_lite.scale.batches import BatchClassifier
from retvec_lite.scale.classify_files import FilesReport, classify_files
from retvec_lite.searching import Duplicates, Match, duplicates, nearest
from retvec_lite.signing import make_key
from retvec_lite.spans import LanguageSpan, detect_spans
from retvec_lite.suggesting import Suggestion, suggest
from retvec_lite.updates import Update, check_update
from retvec_lite.version import __version__

__all__ = [
    "BatchClassifier",
    "Check",
    "Classifier",
    "Comparison",
    "Dataset",
    "Duplicates",
    "EncoderConfig",
    "Evaluation",
    "Explanation",
    "FilesReport",
    "IncompleteExportError",
    "LanguageSpan",
    "Manifest",
    "Match",
    "Memory",
    "ModelFile",
    "Prediction",
    "RetvecLiteError",
    "Span",
    "Suggestion",
    "Update",
    "UpdateError",
    "__version__",
    "check",
    "check_update",
    "classify_files",
    "compare",
    "demo",
    "detect_spans",
    "duplicates",
    "info",
    "load",
    "make_key",
    "mistype",
    "mistype_many",
    "nearest",
    "read_dataset",
    "read_texts",
    "sklearn",
    "suggest",
    "train",
    "verify",
]
