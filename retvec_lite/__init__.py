"""Typo-proof multilingual text classifiers as one sub-1 MB .tflite: raw code points in, label out.

>>> import retvec_lite as rl
>>> texts = ["wake me at six", "alarm at noon", "where is my parcel", "track my order"] * 5
>>> classifier = rl.train(texts, ["alarm", "alarm", "delivery", "delivery"] * 5, epochs=4)
>>> report = classifier.export("dist")                              # every file is run before it is kept
>>> rl.load("dist/classifier-int8.tflite").predict("wkae me at six", top=1)[0].label
'alarm'

Importing this package costs nothing: every name is imported on first use. Classifying with an exported file needs NumPy and
a LiteRT runtime only.
"""

from typing import TYPE_CHECKING, Any, Final

from retvec_lite.version import __version__

if TYPE_CHECKING:
    from retvec_lite import sklearn
    from retvec_lite.api import load, train
    from retvec_lite.classifier import Classifier
    from retvec_lite.contract import EncoderConfig
    from retvec_lite.converters.tflite.format import info
    from retvec_lite.converters.verify import verify
    from retvec_lite.data.dataset import Dataset, read_dataset
    from retvec_lite.data.scores import Evaluation
    from retvec_lite.data.texts import read_texts
    from retvec_lite.data.typos import mistype, mistype_many
    from retvec_lite.errors import RetvecLiteError
    from retvec_lite.playground import demo
    from retvec_lite.pretraining.evaluation import evaluate_embedding
    from retvec_lite.pretraining.import_v1 import import_embedding
    from retvec_lite.pretraining.pretrain import pretrain_embedding as pretrain
    from retvec_lite.runtime.explanation import Explanation, Span
    from retvec_lite.runtime.predictor import Prediction
    from retvec_lite.runtime.text_classifier import TextClassifier
    from retvec_lite.scale.batches import BatchClassifier
    from retvec_lite.scale.files import FilesReport, classify_files

_PLACES: Final = {
    "BatchClassifier": "scale.batches.BatchClassifier",
    "Classifier": "classifier.Classifier",
    "Dataset": "data.dataset.Dataset",
    "EncoderConfig": "contract.EncoderConfig",
    "Evaluation": "data.scores.Evaluation",
    "Explanation": "runtime.explanation.Explanation",
    "FilesReport": "scale.files.FilesReport",
    "Prediction": "runtime.predictor.Prediction",
    "RetvecLiteError": "errors.RetvecLiteError",
    "Span": "runtime.explanation.Span",
    "TextClassifier": "runtime.text_classifier.TextClassifier",
    "classify_files": "scale.files.classify_files",
    "demo": "playground.demo",
    "evaluate_embedding": "pretraining.evaluation.evaluate_embedding",
    "import_embedding": "pretraining.import_v1.import_embedding",
    "info": "converters.tflite.format.info",
    "load": "api.load",
    "mistype": "data.typos.mistype",
    "mistype_many": "data.typos.mistype_many",
    "pretrain": "pretraining.pretrain.pretrain_embedding",
    "read_dataset": "data.dataset.read_dataset",
    "read_texts": "data.texts.read_texts",
    "train": "api.train",
    "verify": "converters.verify.verify",
}
"""Public name -> where it is defined."""

__all__ = [
    "BatchClassifier",
    "Classifier",
    "Dataset",
    "EncoderConfig",
    "Evaluation",
    "Explanation",
    "FilesReport",
    "Prediction",
    "RetvecLiteError",
    "Span",
    "TextClassifier",
    "__version__",
    "classify_files",
    "demo",
    "evaluate_embedding",
    "import_embedding",
    "info",
    "load",
    "mistype",
    "mistype_many",
    "pretrain",
    "read_dataset",
    "read_texts",
    "sklearn",
    "train",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    import importlib

    if name == "sklearn":
        return importlib.import_module(f"{__name__}.sklearn")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _PLACES[name].rpartition(".")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
