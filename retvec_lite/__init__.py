"""Typo-proof multilingual text classifiers as one sub-1 MB .tflite: raw code points in, label out.

Importing this package costs nothing; what it offers is imported on first use, and that needs NumPy and a LiteRT runtime
at most. Training and export live in `retvec_lite.training` and `retvec_lite.converters`.
"""

from typing import TYPE_CHECKING, Any, Final

__version__: Final = "0.1.0"

__all__ = ["EncoderConfig", "Prediction", "RetvecLiteError", "TextClassifier", "__version__", "mistype", "mistype_many"]

if TYPE_CHECKING:
    from retvec_lite.contract import EncoderConfig
    from retvec_lite.data.typos import mistype, mistype_many
    from retvec_lite.errors import RetvecLiteError
    from retvec_lite.runtime.text_classifier import Prediction, TextClassifier

_MODULES: Final = {
    "EncoderConfig": "contract",
    "Prediction": "runtime.text_classifier",
    "RetvecLiteError": "errors",
    "TextClassifier": "runtime.text_classifier",
    "mistype": "data.typos",
    "mistype_many": "data.typos",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
