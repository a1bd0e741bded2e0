"""A classifier as a Core ML package, its graph built by coremltools' MIL builder straight from the NumPy weights.

No graph pass runs over it: what is written is what is built here, every data type explicit. coremltools' default passes would
move the code points to 16 bits (design, section 3), and fuse or rename what `verify` looks for.
"""

import collections
import contextlib
import logging
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from retvec_lite.converters.coreml.storage import Storage
from retvec_lite.converters.tflite.metadata import About
from retvec_lite.model.weight_files import TrainedModel
from retvec_lite.runtime.interpreters import silent_standard_error

Var = Any  # a value of a MIL program

PROBABILITY_VALUES: Final = "probability_values"
"""The tensor that becomes label and probabilities."""


def load_coremltools() -> Any:
    """Import coremltools without its notes on versions of other packages that it was not tested with.

    Raises:
        ModuleNotFoundError: when it is not installed.
    """
    with silent_standard_error(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import coremltools

        logging.getLogger("coremltools").setLevel(logging.ERROR)
    return coremltools


def build_package(
    classifier: TrainedModel, storage: Storage, about: About, details: dict[str, Any]
) -> dict[str, bytes]:
    """The files of a package, the same bytes for the same arguments.

    Args:
        classifier: what is exported.
        storage: how the weights are stored, and for which iOS.
        about: the words about the model.
        details: JSON-ready user-defined metadata.

    Returns:
        Path inside the package -> content.

    Raises:
        RetvecLiteError: for a text, a head or a block that Core ML's graph cannot have.
    """
    load_coremltools()
    with silent_standard_error(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _build(classifier, storage, about, details)


def _build(classifier: TrainedModel, storage: Storage, about: About, details: dict[str, Any]) -> dict[str, bytes]:
    from coremltools.converters.mil.backend.mil.load import load

    from retvec_lite.converters.coreml.package import WEIGHTS_FILE, model_description, package_files

    encoder = classifier.encoder
    told = (
        f"The text's Unicode code points: the first {encoder.max_chars}, zeros behind them.",
        "The most likely label.",
        f"The probability of each of the {len(classifier.labels)} labels.",
    )
    description = model_description(about, encoder.max_chars, told, details)
    target = _target(storage)
    with _fresh_names():
        program = _program(classifier, storage)
        with tempfile.TemporaryDirectory() as folder:
            model = load(program, folder, specification_version=target.value, model_description=description)
            weights = (Path(folder) / WEIGHTS_FILE).read_bytes()
    return package_files(model, weights)


def _program(classifier: TrainedModel, storage: Storage) -> Any:
    from coremltools.converters.mil import Builder as mb
    from coremltools.converters.mil.mil import Function, Program, mil_list, types

    from retvec_lite.converters.coreml.package import INPUT, LABEL, PROBABILITIES

    given = mb.placeholder(shape=(1, classifier.encoder.max_chars), dtype=types.int32)
    with Function({INPUT: given}, opset_version=_target(storage)) as function:
        values = graph(function.inputs[INPUT], classifier, storage)
        label, shares = mb.classify(probabilities=values, classes=mb.const(val=mil_list(list(classifier.labels))))
        label.name, shares.name = LABEL, PROBABILITIES
        function.set_outputs([label, shares])
    program = Program()
    program.add_function("main", function)
    return program


def graph(codepoints: Var, classifier: TrainedModel, storage: Storage) -> Var:
    """The whole classifier, inside the function that is being built.

    Besides its result, the values `words`, `bits` and (but for RETVec-raw) `embedding` bear their names in the program.

    Args:
        codepoints: int32 `[1, max_chars]`.
        classifier: contract parameters, head and weights.
        storage: how the weights are stored.

    Returns:
        float32 `[1, classes]`, called `probability_values`.

    Raises:
        RetvecLiteError: for a text, a head or a block that Core ML's graph cannot have.
    """
    from retvec_lite.converters.coreml.encoder import check_length, encode_words, word_bits, word_mask
    from retvec_lite.converters.coreml.network import Network

    check_length(classifier.encoder)
    network = Network(classifier.weights, storage)
    words = encode_words(codepoints, classifier.encoder)
    bits = word_bits(words)
    vectors = network.word_vectors(bits, network.embed(bits))
    return network.classify(vectors, word_mask(words), classifier.head)


def _target(storage: Storage) -> Any:
    import coremltools

    return getattr(coremltools.target, f"iOS{storage.target}")


@contextlib.contextmanager
def _fresh_names() -> Iterator[None]:
    """The builder numbers values without a name of their own from zero again, whatever was built before in this process."""
    from coremltools.converters.mil import Builder

    before = Builder.name_count
    Builder.name_count = collections.defaultdict(int)
    try:
        yield
    finally:
        Builder.name_count = before
