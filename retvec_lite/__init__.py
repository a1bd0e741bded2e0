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

import importlib
from typing import Any, Final

_PLACES: Final = {
    "BatchClassifier": "scale:BatchClassifier",
    "Classifier": "classifier:Classifier",
    "Dataset": "data.dataset:Dataset",
    "RetvecLiteError": "errors:RetvecLiteError",
    "TrainedClassifier": "trained:TrainedClassifier",
    "__version__": "version:__version__",
    "check": "api:check",
    "check_update": "updates:check_update",
    "classify_files": "scale.classify_files:classify_files",
    "compare": "comparing:compare",
    "demo": "playground:demo",
    "detect_spans": "spans:detect_spans",
    "duplicates": "searching:duplicates",
    "evaluate": "evaluating:evaluate",
    "info": "converters.info:info",
    "load": "loading:load",
    "make_key": "signing:make_key",
    "mistype": "data.typos:mistype",
    "nearest": "searching:nearest",
    "read_dataset": "data.dataset:read_dataset",
    "read_texts": "data.texts:read_texts",
    "suggest": "suggesting:suggest",
    "train": "api:train",
    "verify": "converters.verify:verify",
}
"""Public name -> where it is defined: a module and what it calls it, or a module. `__init__.pyi` says the same to type checkers."""

__all__ = list(_PLACES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _PLACES[name].partition(":")
    found = importlib.import_module(f"{__name__}.{module}")
    value = globals()[name] = getattr(found, attribute) if attribute else found
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
